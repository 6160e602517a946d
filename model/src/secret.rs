//! Keys of providers, which no text may show.

use std::fmt;

use reqwest::header::HeaderValue;

/// What stands in place of a key.
pub(crate) const REDACTED: &str = "***";

/// A provider's key. It prints as `***`, and only the Authorization header gets at it.
#[derive(Clone)]
pub(crate) struct ApiKey(String);

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
        let text = text.trim();
        let sound = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        sound.then(|| ApiKey(text.to_owned()))
    }

    /// The value of the Authorization header, marked as sensitive.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Whether a text shows the key.
    pub(crate) fn stands_in(&self, text: &str) -> bool {
        text.contains(&self.0)
    }
}

/// A text without the key, wherever it stood.
pub(crate) fn redact(key: Option<&ApiKey>, text: String) -> String {
    match key {
        Some(key) if key.stands_in(&text) => text.replace(&key.0, REDACTED),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_print_as_stars() {
        let key = ApiKey::new(" sk-1 \n").expect("a key");
        assert_eq!(format!("{key} {key:?}"), "*** ***");
        assert_eq!(redact(Some(&key), "a sk-1 b sk-1".to_owned()), "a *** b ***");
        let header = key.header().expect("a header");
        assert!(header.is_sensitive());
        assert_eq!(header, "Bearer sk-1");
        assert!(ApiKey::new(" ").is_none() && ApiKey::new("a\nb").is_none());
    }
}
