//! Canonical bytes of serializable values, and strict reading of them.

use parthack_env::canonical::{canonical_bytes, push_string};
use parthack_env::input::InputError;
use parthack_env::json::Json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Canonical JSON of a value of ours: keys sorted by UTF-16 code units, no white space.
///
/// Our own types hold integers and strings only; a float would be written in its shortest form.
///
/// # Panics
/// If a type of ours does not serialize to JSON, which is a bug.
#[must_use]
pub fn canonical_of<T: Serialize>(value: &T) -> Vec<u8> {
    let value = serde_json::to_value(value).expect("a record of ours is JSON");
    canonical_value(&value)
}

/// Canonical JSON of a document.
#[must_use]
pub fn canonical_value(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    push(&mut out, value);
    out
}

fn push(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::String(text) => push_string(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                push(out, item);
            }
            out.push(b']');
        }
        Value::Object(entries) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
            out.push(b'{');
            for (index, (key, item)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                push_string(out, key);
                out.push(b':');
                push(out, item);
            }
            out.push(b'}');
        }
    }
}

/// Reads a value that must stand in canonical form, without unknown or duplicate keys.
///
/// # Errors
/// Not JSON, not canonical, or not the shape of `T`.
pub fn read_strict<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, InputError> {
    let json = Json::parse(bytes)?;
    if canonical_bytes(&json) != bytes {
        return Err(InputError::at("", "JSON that is not canonical", "sorted keys and no white space"));
    }
    serde_json::from_slice(bytes).map_err(|error| InputError::at("", error.to_string(), "a record of this format"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_agrees_with_the_environments() {
        let text = r#"{"b":[1,-2,"é\n"],"a":{"z":null,"y":true},"c":18446744073709551615}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        let json = Json::parse(text.as_bytes()).expect("JSON");
        assert_eq!(canonical_value(&value), canonical_bytes(&json));
    }

    #[test]
    fn strict_reading_refuses_other_spellings() {
        assert_eq!(read_strict::<Vec<u32>>(b"[1,2]"), Ok(vec![1, 2]));
        for text in ["[1, 2]", "[1,2", "[1,-2]", "{\"a\":1,\"a\":1}"] {
            assert!(read_strict::<Vec<u32>>(text.as_bytes()).is_err(), "{text}");
        }
    }
}
