//! Search for private strings in public bytes, in the encodings in which they could slip through (SPEC §3, §4).

use parthack_env::canonical::{canonical_bytes, push_hex};
use parthack_env::json::Json;

/// How a private string was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encoding {
    /// As it is, or in other case.
    Plain,
    /// Backward, in whatever case.
    Reversed,
    /// Hexadecimal digits of its UTF-8 bytes, in whatever case.
    Hexadecimal,
    /// Base64 of its UTF-8 bytes, standard or URL alphabet, at any of the three alignments.
    Base64,
}

impl Encoding {
    /// All encodings.
    pub const ALL: [Encoding; 4] = [Encoding::Plain, Encoding::Reversed, Encoding::Hexadecimal, Encoding::Base64];

    /// The word in notes.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Encoding::Plain => "plain",
            Encoding::Reversed => "reversed",
            Encoding::Hexadecimal => "hexadecimal",
            Encoding::Base64 => "base64",
        }
    }

    /// The byte strings that betray `secret` in this encoding; lower case unless base64.
    #[must_use]
    pub fn traces(self, secret: &str) -> Vec<Vec<u8>> {
        match self {
            Encoding::Plain => vec![fold(secret.as_bytes())],
            Encoding::Reversed => vec![fold(secret.chars().rev().collect::<String>().as_bytes())],
            Encoding::Hexadecimal => {
                let mut out = Vec::new();
                push_hex(&mut out, secret.as_bytes());
                vec![out]
            }
            Encoding::Base64 => (0..3).flat_map(|lead| base64_traces(secret.as_bytes(), lead)).collect(),
        }
    }
}

/// Fewest bytes of a trace that is worth looking for: shorter ones occur by chance.
const MIN_TRACE: usize = 6;

pub(crate) fn fold(bytes: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(bytes).to_lowercase().into_bytes()
}

/// Base64 of `bytes` after `lead` unknown bytes, less the characters that those bytes or what follows take part in.
fn base64_traces(bytes: &[u8], lead: usize) -> Vec<Vec<u8>> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut padded = vec![0; lead];
    padded.extend_from_slice(bytes);
    let bits = padded.len() * 8;
    // Characters whose six bits all lie within the secret.
    let (first, last) = ((lead * 8).div_ceil(6), bits / 6);
    let character = |index: usize| {
        let bit = index * 6;
        let high = u16::from(padded[bit / 8]) << 8 | u16::from(padded.get(bit / 8 + 1).copied().unwrap_or(0));
        ALPHABET[usize::from(high >> (10 - bit % 8) & 63)]
    };
    let standard: Vec<u8> = (first..last).map(character).collect();
    let url = standard.iter().map(|byte| match byte {
        b'+' => b'-',
        b'/' => b'_',
        other => *other,
    });
    let url: Vec<u8> = url.collect();
    if url == standard { vec![standard] } else { vec![standard, url] }
}

/// A public text, prepared for many searches.
pub struct Haystack {
    exact: Vec<u8>,
    folded: Vec<u8>,
}

impl Haystack {
    /// Public bytes; where they are JSON, also their canonical form, so that `\u` escapes hide nothing.
    #[must_use]
    pub fn new(public: &[u8]) -> Haystack {
        let mut exact = public.to_vec();
        if let Ok(json) = Json::parse(public) {
            exact.push(b'\n');
            exact.extend_from_slice(&canonical_bytes(&json));
        }
        Haystack { folded: fold(&exact), exact }
    }

    /// The encodings in which a secret stands in it.
    #[must_use]
    pub fn find(&self, secret: &str) -> Vec<Encoding> {
        let stands = |encoding: Encoding| {
            let text = if encoding == Encoding::Base64 { &self.exact } else { &self.folded };
            let traces = encoding.traces(secret);
            traces.iter().any(|trace| trace.len() >= MIN_TRACE && contains(text, trace))
        };
        Encoding::ALL.into_iter().filter(|encoding| stands(*encoding)).collect()
    }
}

/// Whether `needle` occurs in `haystack`.
pub(crate) fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    let Some(first) = needle.first() else { return false };
    let mut rest = haystack;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        if rest[at..].starts_with(needle) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_is_found() {
        let secret = "PHC-canary-0123";
        for (text, expected) in [
            ("nothing here", vec![]),
            ("a PHC-canary-0123 b", vec![Encoding::Plain]),
            ("a phc-CANARY-0123 b", vec![Encoding::Plain]),
            ("3210-yranac-CHP", vec![Encoding::Reversed]),
            ("504843 5048432d63616e6172792d30313233", vec![Encoding::Hexadecimal]),
            ("504843 5048432D63616E6172792D30313233", vec![Encoding::Hexadecimal]),
            // Base64 of the secret, of "x" + secret + "y" and of "xy" + secret + "z".
            ("UEhDLWNhbmFyeS0wMTIz", vec![Encoding::Base64]),
            ("eFBIQy1jYW5hcnktMDEyM3k=", vec![Encoding::Base64]),
            ("eHlQSEMtY2FuYXJ5LTAxMjN6", vec![Encoding::Base64]),
            (r#"{"a":"PHC-c\u0061nary-0123"}"#, vec![Encoding::Plain]),
        ] {
            assert_eq!(Haystack::new(text.as_bytes()).find(secret), expected, "{text}");
        }
    }

    #[test]
    fn contains_overlapping_starts() {
        assert!(
            contains(b"aaab", b"aab") && contains(b"ab", b"ab") && !contains(b"ab", b"abc") && !contains(b"", b"a")
        );
    }
}
