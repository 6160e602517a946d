//! Canonical JSON of requests and exchanges: no white space, keys in order, one form for each value.
//!
//! Keys are sorted by their bytes, with one exception: the properties of a JSON Schema stand in the order of its
//! `required`, then by their bytes. Servers that constrain an answer write its fields in that order, and a judge that
//! writes its score before its reasons is another judge. Strings and numbers are written as `serde_json` does.

use serde_json::{Map, Value};

/// Canonical text of data.
///
/// ```
/// # use parthack_model::canonical::data;
/// assert_eq!(data(&serde_json::json!({"b": [1, null], "a": "\u{e9}\n"})), r#"{"a":"é\n","b":[1,null]}"#);
/// ```
#[must_use]
pub fn data(value: &Value) -> String {
    let mut text = String::new();
    write(value, Kind::Data, &mut text);
    text
}

/// Canonical text of a JSON Schema.
///
/// ```
/// # use parthack_model::canonical::schema;
/// let value = serde_json::json!({"required": ["score", "reason"], "properties": {"reason": {}, "score": {}}});
/// assert_eq!(schema(&value), r#"{"properties":{"score":{},"reason":{}},"required":["score","reason"]}"#);
/// ```
#[must_use]
pub fn schema(value: &Value) -> String {
    let mut text = String::new();
    write(value, Kind::Schema, &mut text);
    text
}

/// Canonical text of a request body: data, but for the schema in its `response_format`.
#[must_use]
pub fn request(body: &Value) -> String {
    let mut text = String::new();
    write(body, Kind::Request, &mut text);
    text
}

/// Canonical text of an object that holds a request body under `request`.
#[must_use]
pub fn with_request(value: &Value) -> String {
    let mut text = String::new();
    write(value, Kind::Envelope, &mut text);
    text
}

/// What a value is, which decides what its members are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    /// An object whose `request` is a request body.
    Envelope,
    Request,
    /// The value of `response_format`.
    ResponseFormat,
    /// The value of `json_schema`.
    NamedSchema,
    Schema,
    /// A map from names to schemas, or an array of schemas.
    Schemas,
}

impl Kind {
    /// The kind of a member.
    fn of_member(self, key: &str) -> Kind {
        match (self, key) {
            (Kind::Envelope, "request") => Kind::Request,
            (Kind::Request, "response_format") => Kind::ResponseFormat,
            (Kind::ResponseFormat, "json_schema") => Kind::NamedSchema,
            (Kind::NamedSchema, "schema") | (Kind::Schema, "items" | "additionalProperties" | "not") => Kind::Schema,
            (Kind::Schema, "properties" | "$defs" | "definitions" | "anyOf" | "oneOf" | "allOf") => Kind::Schemas,
            (Kind::Schemas, _) => Kind::Schema,
            _ => Kind::Data,
        }
    }
}

fn write(value: &Value, kind: Kind, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort_unstable();
            write_object(members, &keys, kind, out);
        }
        Value::Array(elements) => {
            let kind = if kind == Kind::Schemas { Kind::Schema } else { Kind::Data };
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(element, kind, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn write_object(members: &Map<String, Value>, keys: &[&String], kind: Kind, out: &mut String) {
    out.push('{');
    for (index, key) in keys.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&Value::from(key.as_str()).to_string());
        out.push(':');
        let value = &members[key.as_str()];
        match value {
            Value::Object(properties) if kind == Kind::Schema && *key == "properties" => {
                let keys = property_order(properties, members.get("required"));
                write_object(properties, &keys, Kind::Schemas, out);
            }
            _ => write(value, kind.of_member(key), out),
        }
    }
    out.push('}');
}

/// The names of an object schema's properties: those of `required` first, as they stand there.
fn property_order<'p>(properties: &'p Map<String, Value>, required: Option<&Value>) -> Vec<&'p String> {
    let required = required.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let place = |name: &String| required.iter().position(|of| of.as_str() == Some(name)).unwrap_or(usize::MAX);
    let mut names: Vec<&String> = properties.keys().collect();
    names.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.cmp(b)));
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(required: &[&str]) -> Value {
        json!({
            "type": "object",
            "required": required,
            "properties": {"properties": {"type": "string"}, "a": {"enum": [{"b": 1, "a": 2}]}},
        })
    }

    #[test]
    fn properties_follow_required_at_every_depth() {
        let inner = r#"{"properties":{"properties":{"type":"string"},"a":{"enum":[{"a":2,"b":1}]}},"required":["properties","a"],"type":"object"}"#;
        assert_eq!(schema(&object(&["properties", "a"])), inner);
        assert_eq!(schema(&json!({"anyOf": [object(&["properties", "a"])]})), format!("{{\"anyOf\":[{inner}]}}"));
        assert_eq!(schema(&json!({"items": object(&["properties", "a"])})), format!("{{\"items\":{inner}}}"));
        let body = json!({"response_format": {"json_schema": {"schema": object(&["properties", "a"])}}});
        assert_eq!(request(&body), format!("{{\"response_format\":{{\"json_schema\":{{\"schema\":{inner}}}}}}}"));
        // Elsewhere the same object is data.
        assert!(data(&object(&["properties", "a"])).contains(r#""properties":{"a":"#));
    }

    #[test]
    fn canonical_text_is_a_fixed_point() {
        let body =
            json!({"response_format": {"json_schema": {"schema": object(&["properties"])}}, "messages": [1.5, -0.0]});
        let text = request(&body);
        let again: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(request(&again), text);
    }
}
