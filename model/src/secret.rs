//! Keys of providers, which no text may show.

use std::fmt;

use reqwest::header::HeaderValue;

use crate::writings::Writings;

/// What stands in place of a key.
pub(crate) const REDACTED: &str = "***";

/// A key with fewer bytes is no secret but a placeholder, such as `x` or `token`, that a server of one's own is satisfied with. It is not
/// looked for: taking it out would destroy ordinary words.
pub(crate) const LEAST_SECRET_BYTES: usize = 8;

/// A provider's key. It prints as `***`, and only the Authorization header gets at it.
#[derive(Clone)]
pub(crate) struct ApiKey {
    key: String,
    /// `None` for a placeholder.
    writings: Option<Writings>,
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(REDACTED)
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(REDACTED)
    }
}

impl ApiKey {
    /// A key from a variable's value; `None` where it is blank or can't stand in a header.
    pub(crate) fn new(text: &str) -> Option<ApiKey> {
        let key = text.trim();
        let sound = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        let writings = (key.len() >= LEAST_SECRET_BYTES).then(|| Writings::of(key));
        sound.then(|| ApiKey { key: key.to_owned(), writings })
    }

    /// The value of the Authorization header, marked as sensitive.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.key)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Whether a text shows the key, in whatever writing.
    pub(crate) fn stands_in(&self, text: &str) -> bool {
        self.writings.as_ref().is_some_and(|writings| !writings.spans(text).is_empty())
    }
}

/// A text without the key, wherever and however it stood there.
pub(crate) fn redact(key: Option<&ApiKey>, mut text: String) -> String {
    redact_pieces(key, &mut [&mut text]);
    text
}

/// Takes the key out of a text that comes in pieces, such as tokens, also where it stands across several.
pub(crate) fn redact_pieces(key: Option<&ApiKey>, pieces: &mut [&mut String]) {
    let Some(writings) = key.and_then(|key| key.writings.as_ref()) else { return };
    let spans = match pieces {
        [piece] => writings.spans(piece),
        _ => writings.spans(&pieces.iter().map(|piece| piece.as_str()).collect::<String>()),
    };
    if spans.is_empty() {
        return;
    }
    let mut start = 0;
    for piece in pieces {
        let end = start + piece.len();
        // From the last one, so that earlier places stay where they are.
        for span in spans.iter().rev().filter(|span| span.start < end && span.end > start) {
            let shown = if span.start >= start { REDACTED } else { "" };
            piece.replace_range(span.start.max(start) - start..span.end.min(end) - start, shown);
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_print_as_stars() {
        let key = ApiKey::new(" sk-12345 \n").expect("a key");
        assert_eq!(format!("{key} {key:?}"), "*** ***");
        assert_eq!(redact(Some(&key), "a sk-12345 b sk\\u002d12345".to_owned()), "a *** b ***");
        let header = key.header().expect("a header");
        assert!(header.is_sensitive());
        assert_eq!(header, "Bearer sk-12345");
        assert!(ApiKey::new(" ").is_none() && ApiKey::new("a\nb").is_none() && ApiKey::new("schlüssel").is_none());
    }

    #[test]
    fn keys_that_stand_across_pieces_are_taken_out() {
        let key = ApiKey::new("sk-12345").expect("a key");
        let mut pieces = ["a sk", "-1", "", "2345 b", "é", "sk-12345sk-", "12345"].map(str::to_owned);
        redact_pieces(Some(&key), &mut pieces.each_mut());
        assert_eq!(pieces, ["a ***", "", "", " b", "é", "***", ""]);
    }

    #[test]
    fn placeholders_are_no_secrets() {
        for text in ["x", "token", "EMPTY", "1234567"] {
            let key = ApiKey::new(text).expect("a key");
            assert!(!key.stands_in(text), "{text}");
            assert_eq!(redact(Some(&key), text.to_owned()), text);
            assert_eq!(key.header().expect("a header"), format!("Bearer {text}"));
        }
        assert!(ApiKey::new("12345678").is_some_and(|key| key.stands_in("12345678")));
    }
}
