//! Finds a secret in a text, in whatever usual way it is written there.
//!
//! A text is read as it stands and then with its escapes undone, layer after layer: those of JSON (`\/`, `\u0073`, `\x73`), of
//! URLs (`%73`) and of HTML (`&#115;`), in any mixture. In each layer the secret is looked for as it is, in base64 (both
//! alphabets, at any place in what was encoded, so that `Bearer KEY` and `USER:KEY` are found too) and in hexadecimal.

use std::collections::BTreeSet;
use std::ops::Range;

/// The most layers of escapes that are undone.
const MOST_LAYERS: usize = 8;

/// The alphabets of base64 differ in their last two characters.
const LAST_OF_BASE64: [[u8; 2]; 2] = [*b"+/", *b"-_"];

/// The forms in which one secret is looked for. They are as secret as it is, so this does not print.
#[derive(Clone)]
pub(crate) struct Writings {
    forms: BTreeSet<String>,
}

impl Writings {
    /// The forms of a secret of printable ASCII, eight bytes or more.
    pub(crate) fn of(secret: &str) -> Writings {
        let mut forms = BTreeSet::from([secret.to_owned()]);
        // A secret that itself looks escaped loses those escapes wherever others are undone.
        let mut plain = secret.to_owned();
        for _ in 0..MOST_LAYERS {
            let Some((text, _)) = unescaped(&plain) else { break };
            plain = text;
            if plain.len() >= secret.len() / 2 {
                forms.insert(plain.clone());
            }
        }
        for offset in 0..3 {
            for last in LAST_OF_BASE64 {
                forms.insert(within_base64(secret.as_bytes(), offset, last));
            }
        }
        let hexadecimal: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        forms.insert(hexadecimal.to_ascii_uppercase());
        forms.insert(hexadecimal);
        Writings { forms }
    }

    /// Where the secret stands: byte ranges of the text, in order, apart from each other.
    pub(crate) fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        self.look(text, |place| place, &mut spans);
        let mut layer = unescaped(text);
        for _ in 1..MOST_LAYERS {
            let Some((plain, starts)) = layer else { break };
            self.look(&plain, |place| starts.get(place).copied().unwrap_or(text.len()), &mut spans);
            layer = unescaped(&plain).map(|(next, places)| {
                let places = places.into_iter().map(|place| starts.get(place).copied().unwrap_or(text.len()));
                (next, places.collect())
            });
        }
        spans.sort_unstable_by_key(|span| (span.start, span.end));
        let mut apart: Vec<Range<usize>> = Vec::new();
        for span in spans {
            match apart.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => apart.push(span),
            }
        }
        apart
    }

    /// Adds where the forms stand in one layer; `source` says where a place of it stands in the text.
    fn look(&self, layer: &str, source: impl Fn(usize) -> usize, spans: &mut Vec<Range<usize>>) {
        for form in &self.forms {
            spans.extend(layer.match_indices(form.as_str()).map(|(at, _)| source(at)..source(at + form.len())));
        }
    }
}

/// The characters of base64 that a secret alone decides, wherever it begins in what is encoded: `offset` bytes after a multiple of
/// three.
fn within_base64(secret: &[u8], offset: usize, last: [u8; 2]) -> String {
    let bits = |byte: usize| secret.get(byte.wrapping_sub(offset)).copied().unwrap_or_default();
    let character = |index: usize| {
        let (byte, shift) = (index * 6 / 8, index * 6 % 8);
        let pair = u16::from_be_bytes([bits(byte), bits(byte + 1)]);
        match ((pair >> (10 - shift)) & 63) as u8 {
            six @ 0..=25 => b'A' + six,
            six @ 26..=51 => b'a' + (six - 26),
            six @ 52..=61 => b'0' + (six - 52),
            62 => last[0],
            _ => last[1],
        }
    };
    ((offset * 8).div_ceil(6)..(offset + secret.len()) * 8 / 6).map(|index| char::from(character(index))).collect()
}

/// A text with one layer of escapes undone, and where each of its bytes, and its end, stood before; `None` where there is no escape.
fn unescaped(text: &str) -> Option<(String, Vec<usize>)> {
    let first = text.find(['\\', '%', '&'])?;
    let (mut plain, mut starts) = (String::with_capacity(text.len()), Vec::with_capacity(text.len() + 1));
    plain.push_str(&text[..first]);
    starts.extend(0..first);
    let (mut at, mut any) = (first, false);
    while let Some(character) = text[at..].chars().next() {
        let (shown, length) = match escape(&text[at..]) {
            Some(found) => {
                any = true;
                found
            }
            None => (character, character.len_utf8()),
        };
        plain.push(shown);
        starts.extend(std::iter::repeat_n(at, shown.len_utf8()));
        at += length;
    }
    starts.push(at);
    any.then_some((plain, starts))
}

/// The escape at the start of a text: what it stands for, and its length.
fn escape(text: &str) -> Option<(char, usize)> {
    let hexadecimal = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    match text.as_bytes() {
        [b'\\', b'u', b'{', ..] => {
            let end = text.bytes().take(12).position(|byte| byte == b'}')?;
            Some((hexadecimal(text.get(3..end)?)?, end + 1))
        }
        [b'\\', b'u', ..] => Some((hexadecimal(text.get(2..6)?)?, 6)),
        [b'\\', b'x', ..] => Some((hexadecimal(text.get(2..4)?)?, 4)),
        [b'\\', other, ..] if other.is_ascii_punctuation() => Some((char::from(*other), 2)),
        [b'%', ..] => Some((hexadecimal(text.get(1..3)?).filter(char::is_ascii)?, 3)),
        [b'&', ..] => {
            let end = text.bytes().take(12).position(|byte| byte == b';')?;
            let name = text.get(1..end)?;
            let character = match name {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                _ => match name.strip_prefix("#x").or_else(|| name.strip_prefix("#X")) {
                    Some(digits) => hexadecimal(digits)?,
                    None => name.strip_prefix('#')?.parse().ok().and_then(char::from_u32)?,
                },
            };
            Some((character, end + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "sk-a/b+c?d%41&9\"e";

    fn taken_out(text: &str) -> String {
        let mut rest = text.to_owned();
        for span in Writings::of(SECRET).spans(text).into_iter().rev() {
            rest.replace_range(span, "*");
        }
        rest
    }

    /// Each way of writing one character.
    const WAYS: [fn(char) -> String; 8] = [
        |of| of.to_string(),
        |of| format!("\\u{:04x}", of as u32),
        |of| format!("\\u{:04X}", of as u32),
        |of| format!("%{:02X}", of as u32),
        |of| format!("%{:02x}", of as u32),
        |of| format!("&#{};", of as u32),
        |of| format!("&#x{:x};", of as u32),
        |of| if of.is_ascii_punctuation() { format!("\\{of}") } else { of.to_string() },
    ];

    #[test]
    fn base64_at_any_place_of_what_was_encoded() {
        let found = |encoded: &str, key: &str| !Writings::of(key).spans(encoded).is_empty();
        // `base64` of "Bearer sk-planted??>>0123", of the key alone and of "me:" before it.
        let key = "sk-planted??>>0123";
        for text in
            ["QmVhcmVyIHNrLXBsYW50ZWQ/Pz4+MDEyMw==", "c2stcGxhbnRlZD8/Pj4wMTIz", "eHg6c2stcGxhbnRlZD8/Pj4wMTIzIQ=="]
        {
            assert!(found(text, key), "{text}");
            assert!(found(&text.replace('+', "-").replace('/', "_"), key), "{text}");
            assert!(found(&text.replace('+', "%2B").replace('/', "\\/"), key), "{text}");
            assert!(!found(text, "sk-planted??>>0124"), "{text}");
        }
        assert!(found("736b2d706c616e7465643f3f3e3e30313233", key));
    }

    #[test]
    fn texts_without_it_stay() {
        for text in [
            "",
            "\\",
            "\\u",
            "\\u12",
            "%",
            "%4",
            "%zz",
            "&",
            "&#;",
            "&#x110000;",
            "\\u{",
            "é\\ué%é&é;",
            SECRET.split_at(9).0,
        ] {
            assert_eq!(taken_out(text), text);
        }
    }

    proptest! {
        /// Whatever way each character is written, once or within another escape, nothing is left and nothing else goes.
        #[test]
        fn every_writing_is_found(
            ways in prop::collection::vec(prop::collection::vec(0..WAYS.len(), 1..4), SECRET.len()..=SECRET.len()),
            before in "[a-z{}: é]{0,8}", after in "[a-z{}: é]{0,8}",
        ) {
            let mut written = String::new();
            for (character, ways) in SECRET.chars().zip(&ways) {
                let mut text = character.to_string();
                for way in ways {
                    text = text.chars().map(WAYS[*way]).collect();
                }
                written.push_str(&text);
            }
            prop_assert_eq!(taken_out(&format!("{before}{written}{after}")), format!("{before}*{after}"));
        }
    }
}
