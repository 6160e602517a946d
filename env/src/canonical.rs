//! Canonical JSON (RFC 8785 restricted to integers and strings) and the labelled hashes over it.

use std::fmt;

use crate::json::Json;

/// A BLAKE3 hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Hash of `label`, a zero byte, and `bytes`.
    ///
    /// ```
    /// # use parthack_env::canonical::Hash;
    /// assert_ne!(Hash::of("task", b"{}"), Hash::of("suite", b"{}"));
    /// ```
    #[must_use]
    pub fn of(label: &str, bytes: &[u8]) -> Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(label.as_bytes());
        hasher.update(&[0]);
        hasher.update(bytes);
        Hash(*hasher.finalize().as_bytes())
    }

    /// Hash of a buffer that already begins with label and zero byte.
    pub(crate) fn of_labelled(buffer: &[u8]) -> Hash {
        Hash(*blake3::hash(buffer).as_bytes())
    }

    /// The hash in 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> String {
        let mut out = Vec::with_capacity(64);
        push_hex(&mut out, &self.0);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Reads 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Hash> {
        let bytes = text.as_bytes();
        if bytes.len() != 64 {
            return None;
        }
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut out = [0; 32];
        for (index, pair) in bytes.chunks_exact(2).enumerate() {
            out[index] = digit(pair[0])? * 16 + digit(pair[1])?;
        }
        Some(Hash(out))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Hash({})", &self.hex()[..12])
    }
}

/// Appends hexadecimal digits.
pub fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// Appends an integer.
pub fn push_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_u64(out, value.unsigned_abs());
}

/// Appends an integer.
pub fn push_u64(out: &mut Vec<u8>, mut value: u64) {
    if let Ok(digit @ 0..10) = u8::try_from(value) {
        out.push(b'0' + digit);
        return;
    }
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a string in double quotes, with the shortest escapes.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let is_plain = |byte: &u8| (*byte >= 0x20) & (*byte != b'"') & (*byte != b'\\');
    // Without an early end, so that many bytes are looked at together; most strings need no escape.
    if bytes.iter().fold(true, |plain, byte| plain & is_plain(byte)) {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    let mut run = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if is_plain(byte) {
            continue;
        }
        out.extend_from_slice(&bytes[run..at]);
        run = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x09 => out.extend_from_slice(b"\\t"),
            0x0a => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            0x0d => out.extend_from_slice(b"\\r"),
            control => {
                out.extend_from_slice(b"\\u00");
                push_hex(out, &[*control]);
            }
        }
    }
    out.extend_from_slice(&bytes[run..]);
    out.push(b'"');
}

/// Appends a document: keys sorted by UTF-16 code units, no white space. Numbers keep their text, so the result is
/// canonical for documents whose numbers are integers.
pub fn push_json(out: &mut Vec<u8>, json: &Json<'_>) {
    match json {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(text) => out.extend_from_slice(text.as_bytes()),
        Json::String(text) => push_string(out, text),
        Json::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                push_json(out, item);
            }
            out.push(b']');
        }
        Json::Object(entries) => push_object(out, entries.iter().map(|(key, value)| (key.as_ref(), value))),
    }
}

fn push_object<'j, 'a: 'j>(out: &mut Vec<u8>, entries: impl Iterator<Item = (&'j str, &'j Json<'a>)>) {
    let mut sorted: Vec<_> = entries.collect();
    sorted.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
    out.push(b'{');
    for (index, (key, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push_string(out, key);
        out.push(b':');
        push_json(out, value);
    }
    out.push(b'}');
}

/// Canonical bytes of a document.
#[must_use]
pub fn canonical_bytes(json: &Json<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    push_json(&mut out, json);
    out
}

/// Canonical bytes of an object without some of its keys.
#[must_use]
pub fn canonical_bytes_without(json: &Json<'_>, left_out: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    match json {
        Json::Object(entries) => push_object(
            &mut out,
            entries
                .iter()
                .filter(|(key, _)| !left_out.contains(&key.as_ref()))
                .map(|(key, value)| (key.as_ref(), value)),
        ),
        other => push_json(&mut out, other),
    }
    out
}

/// Appends `"key":`, preceded by a comma where needed; keys must come sorted.
pub fn push_key(out: &mut Vec<u8>, key: &str) {
    if !matches!(out.last(), Some(b'{')) {
        out.push(b',');
    }
    push_string(out, key);
    out.push(b':');
}

/// Appends `"key":"text"`.
pub fn push_text_entry(out: &mut Vec<u8>, key: &str, text: &str) {
    push_key(out, key);
    push_string(out, text);
}

/// Appends `"key":number`.
pub fn push_number_entry(out: &mut Vec<u8>, key: &str, number: u64) {
    push_key(out, key);
    push_u64(out, number);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_form() {
        let text = "{ \"b\" : [1, -2 ,\"\\u00e9\\u0001\\n\\\"\\/\"], \"a\":{}, \"\u{1F600}\":1, \"\u{fb33}\":null, \"é\":true }";
        let json = Json::parse(text.as_bytes()).expect("valid");
        let bytes = canonical_bytes(&json);
        assert_eq!(
            String::from_utf8(bytes).expect("UTF-8"),
            "{\"a\":{},\"b\":[1,-2,\"é\\u0001\\n\\\"/\"],\"é\":true,\"\u{1F600}\":1,\"\u{fb33}\":null}"
        );
        assert_eq!(canonical_bytes_without(&json, &["a", "b", "é"]), "{\"\u{1F600}\":1,\"\u{fb33}\":null}".as_bytes());
    }

    #[test]
    fn golden_hash() {
        assert_eq!(Hash::of("task", b"{}").hex(), blake3::hash(b"task\0{}").to_hex().to_string());
        assert_eq!(Hash::from_hex(&Hash::of("task", b"{}").hex()), Some(Hash::of("task", b"{}")));
        assert_eq!(Hash::from_hex("zz"), None);
    }

    #[test]
    fn integers() {
        for value in [0, 7, -1, 10, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            push_i64(&mut out, value);
            assert_eq!(String::from_utf8(out).expect("ASCII"), value.to_string());
        }
    }
}
