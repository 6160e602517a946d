//! Reads a model's text as JSON, strictly: one value and nothing else, no key twice, no number that isn't finite.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads one JSON value.
///
/// ```
/// # use parthack_model::strict;
/// assert_eq!(strict::read(" {\"a\": 1} "), Ok(serde_json::json!({"a": 1})));
/// assert!(strict::read(r#"{"a": 1, "a": 2}"#).is_err_and(|error| error.contains("key \"a\" stands twice")));
/// assert!(strict::read(r#"{"score": NaN}"#).is_err());
/// assert!(strict::read(r#"{"score": 1e999}"#).is_err());
/// assert!(strict::read(r#"{"a": 1} {"a": 2}"#).is_err_and(|error| error.contains("trailing characters")));
/// ```
///
/// # Errors
/// What is wrong and where (line and column), in one sentence. Nesting deeper than 128 is an error.
pub fn read(text: &str) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| format!("the text is not one JSON value: {error}"))
}

#[derive(Clone, Copy)]
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element_seed(Strict)? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(Strict)?;
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("key {key:?} stands twice in one object")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}
