//! Validates answers against the JSON Schema that was asked for.
//!
//! A small validator of our own: what providers enforce is a small subset of JSON Schema, a full validator would more
//! than double the build of this crate, and a keyword that is not checked must be an error, not an annotation. A test
//! compares it with the full validator.

use regex_lite::Regex;
use serde_json::{Map, Value};

/// Keywords that say nothing about validity.
const ANNOTATIONS: [&str; 5] = ["$schema", "title", "description", "default", "examples"];

/// Checks that a schema keeps to the subset.
///
/// The subset: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties` (a boolean), `items` (one
/// schema), `minItems`, `maxItems`, `uniqueItems`, `minLength`, `maxLength`, `pattern`, `minimum`, `maximum`,
/// `exclusiveMinimum`, `exclusiveMaximum`, `anyOf`, and annotations.
///
/// # Errors
/// The JSON pointer of the first keyword outside it, or of one with a wrong value.
pub fn check(schema: &Value) -> Result<(), String> {
    check_at(schema, "")
}

fn check_at(schema: &Value, at: &str) -> Result<(), String> {
    let Value::Object(keywords) = schema else { return Err(format!("schema {at}/: expected an object")) };
    for (keyword, value) in keywords {
        let here = format!("{at}/{keyword}");
        let sound = match keyword.as_str() {
            "type" => types(value).is_some_and(|types| types.iter().all(|name| TYPES.contains(name))),
            "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
            "const" => true,
            "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
            "additionalProperties" | "uniqueItems" => value.is_boolean(),
            "minItems" | "maxItems" | "minLength" | "maxLength" => value.is_u64(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "pattern" => value.as_str().is_some_and(|pattern| Regex::new(pattern).is_ok()),
            "items" => return_checked(check_at(value, &here))?,
            "anyOf" => match value.as_array() {
                Some(schemas) if !schemas.is_empty() => {
                    for (index, schema) in schemas.iter().enumerate() {
                        check_at(schema, &format!("{here}/{index}"))?;
                    }
                    true
                }
                _ => false,
            },
            "properties" => match value.as_object() {
                Some(schemas) => {
                    for (name, schema) in schemas {
                        check_at(schema, &format!("{here}/{name}"))?;
                    }
                    true
                }
                None => false,
            },
            other if ANNOTATIONS.contains(&other) => true,
            _ => return Err(format!("schema {here}: this keyword is not checked here, so it must not be used")),
        };
        if !sound {
            return Err(format!("schema {here}: {value} is no value of this keyword"));
        }
    }
    Ok(())
}

fn return_checked(result: Result<(), String>) -> Result<bool, String> {
    result.map(|()| true)
}

const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

fn types(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => names.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// Validates a value against a schema of the subset.
///
/// ```
/// # use serde_json::json;
/// # use parthack_model::schema;
/// let form = json!({"type": "object", "properties": {"score": {"type": "number", "maximum": 1}}});
/// assert_eq!(schema::validate(&form, &json!({"score": 1})), Ok(()));
/// assert_eq!(
///     schema::validate(&form, &json!({"score": 1.2})),
///     Err("/score: found 1.2, expected at most 1".to_owned())
/// );
/// ```
///
/// # Errors
/// The JSON pointer of the first place that is wrong, what was found and what was expected.
pub fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    validate_at(schema, value, "")
}

fn validate_at(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Value::Object(keywords) = schema else { return wrong(at, value, "a schema that is an object") };
    if let Some(types) = keywords.get("type").and_then(types)
        && !types.iter().any(|name| has_type(value, name))
    {
        return wrong(at, value, &format!("type {}", types.join(" or ")));
    }
    if let Some(Value::Array(allowed)) = keywords.get("enum")
        && !allowed.iter().any(|one| equal(one, value))
    {
        return wrong(at, value, &format!("one of {}", short(&Value::from(allowed.clone()))));
    }
    if let Some(only) = keywords.get("const")
        && !equal(only, value)
    {
        return wrong(at, value, &short(only));
    }
    if let Some(Value::Array(choices)) = keywords.get("anyOf") {
        validate_any(choices, value, at)?;
    }
    match value {
        Value::Object(members) => validate_object(keywords, members, value, at),
        Value::Array(elements) => validate_array(keywords, elements, value, at),
        Value::String(text) => validate_string(keywords, text, value, at),
        Value::Number(_) => validate_number(keywords, value, at),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

/// The choice whose error lies deepest is the one that was meant.
fn validate_any(choices: &[Value], value: &Value, at: &str) -> Result<(), String> {
    let mut deepest = (0, format!("{at}/: no choice"));
    for choice in choices {
        match validate_at(choice, value, at) {
            Ok(()) => return Ok(()),
            Err(error) => {
                let depth = error.split(": ").next().unwrap_or_default().matches('/').count();
                if depth > deepest.0 {
                    deepest = (depth, error);
                }
            }
        }
    }
    Err(format!("{} (the nearest of {} choices)", deepest.1, choices.len()))
}

fn validate_object(
    keywords: &Map<String, Value>,
    members: &Map<String, Value>,
    value: &Value,
    at: &str,
) -> Result<(), String> {
    for name in keywords.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            return wrong(at, value, &format!("key {name:?}"));
        }
    }
    let properties = keywords.get("properties").and_then(Value::as_object);
    for (name, member) in members {
        let here = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        match properties.and_then(|properties| properties.get(name)) {
            Some(schema) => validate_at(schema, member, &here)?,
            None if keywords.get("additionalProperties") == Some(&Value::Bool(false)) => {
                return wrong(&here, member, "no such key");
            }
            None => {}
        }
    }
    Ok(())
}

fn validate_array(keywords: &Map<String, Value>, elements: &[Value], value: &Value, at: &str) -> Result<(), String> {
    let count = elements.len() as u64;
    if let Some(least) = keywords.get("minItems").and_then(Value::as_u64).filter(|least| count < *least) {
        return wrong(at, value, &format!("at least {least} elements"));
    }
    if let Some(most) = keywords.get("maxItems").and_then(Value::as_u64).filter(|most| count > *most) {
        return wrong(at, value, &format!("at most {most} elements"));
    }
    if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
        for (index, element) in elements.iter().enumerate() {
            if elements[..index].iter().any(|before| equal(before, element)) {
                return wrong(&format!("{at}/{index}"), element, "elements that differ");
            }
        }
    }
    let Some(schema) = keywords.get("items") else { return Ok(()) };
    elements.iter().enumerate().try_for_each(|(index, element)| validate_at(schema, element, &format!("{at}/{index}")))
}

fn validate_string(keywords: &Map<String, Value>, text: &str, value: &Value, at: &str) -> Result<(), String> {
    let length = text.chars().count() as u64;
    if let Some(least) = keywords.get("minLength").and_then(Value::as_u64).filter(|least| length < *least) {
        return wrong(at, value, &format!("at least {least} characters"));
    }
    if let Some(most) = keywords.get("maxLength").and_then(Value::as_u64).filter(|most| length > *most) {
        return wrong(at, value, &format!("at most {most} characters"));
    }
    if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str)
        && !Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
    {
        return wrong(at, value, &format!("a text that matches {pattern}"));
    }
    Ok(())
}

fn validate_number(keywords: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let bounds = [
        ("minimum", [Greater, Equal], "at least"),
        ("maximum", [Less, Equal], "at most"),
        ("exclusiveMinimum", [Greater, Greater], "more than"),
        ("exclusiveMaximum", [Less, Less], "less than"),
    ];
    for (keyword, allowed, words) in bounds {
        let Some(bound) = keywords.get(keyword) else { continue };
        if !compare(value, bound).is_some_and(|order| allowed.contains(&order)) {
            return wrong(at, value, &format!("{words} {bound}"));
        }
    }
    Ok(())
}

/// Compares numbers: as integers where both are, else as doubles.
fn compare(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn whole(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

/// Equality of JSON Schema: `1` and `1.0` are the same number.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => compare(a, b) == Some(std::cmp::Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => whole(value).is_some() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

fn wrong(at: &str, found: &Value, expected: &str) -> Result<(), String> {
    let at = if at.is_empty() { "/" } else { at };
    Err(format!("{at}: found {}, expected {expected}", short(found)))
}

/// A value's text, cut to a size for messages.
pub(crate) fn short(value: &Value) -> String {
    const MOST: usize = 80;
    let text = value.to_string();
    if text.chars().count() <= MOST {
        return text;
    }
    format!("{}…", text.chars().take(MOST).collect::<String>())
}
