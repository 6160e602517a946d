//! Equality tokens of sealed values (SPEC §5, §15.2; `docs/formats.md`).

use parthack_env::canonical::{push_hex, push_string};

/// The key of a task's tokens.
pub type RedactionKey = [u8; 32];

/// The token of a raw value: `tok_` and the first 32 hexadecimal digits of BLAKE3, keyed with the redaction key, over
/// `token`, a zero byte, and canonical JSON of `[task id, type, field, kind, value]`.
///
/// `kind` is the word of the value's kind (of an element's kind, for sets); `value` is canonical JSON of the raw value.
#[must_use]
pub fn token(key: &RedactionKey, task_id: &str, entity_type: &str, field: &str, kind: &str, value: &[u8]) -> String {
    let mut bytes = b"token\0[".to_vec();
    for part in [task_id, entity_type, field, kind] {
        push_string(&mut bytes, part);
        bytes.push(b',');
    }
    bytes.extend_from_slice(value);
    bytes.push(b']');
    let mut out = b"tok_".to_vec();
    push_hex(&mut out, &blake3::keyed_hash(key, &bytes).as_bytes()[..16]);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let base = token(&[7; 32], "T", "room", "code", "text", b"\"a\"");
        assert_eq!(base.len(), 36);
        let others = [
            token(&[8; 32], "T", "room", "code", "text", b"\"a\""),
            token(&[7; 32], "U", "room", "code", "text", b"\"a\""),
            token(&[7; 32], "T", "hall", "code", "text", b"\"a\""),
            token(&[7; 32], "T", "room", "name", "text", b"\"a\""),
            token(&[7; 32], "T", "room", "code", "enum", b"\"a\""),
            token(&[7; 32], "T", "room", "code", "text", b"\"b\""),
        ];
        assert!(others.iter().all(|other| *other != base));
    }
}
