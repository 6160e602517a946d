//! Reading models' answers: strict JSON, every fault with its JSON pointer. Nothing is believed because a schema was asked for.

use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use parthack_model::answer::Answer;
use parthack_model::prompt::{AnswerForm, Prompt};
use serde_json::{Map, Value, json};

/// The most tokens of an answer.
pub(crate) const ANSWER_TOKENS: u32 = 4_096;

/// Reads an answer's JSON with a reader of cursors.
///
/// # Errors
/// What is wrong and where, in one sentence.
pub(crate) fn read<T>(
    answer: &Answer,
    reader: impl FnOnce(&Cursor<'_, '_>) -> Result<T, InputError>,
) -> Result<T, String> {
    let json = Json::parse(answer.content.as_bytes()).map_err(|error| format!("not strict JSON: {error}"))?;
    reader(&Cursor::root(&json)).map_err(|error| error.to_string())
}

/// A prompt that asks for an object.
pub(crate) fn prompt(name: &str, system: String, user: String, schema: Value) -> Prompt {
    let form = AnswerForm { name: name.to_owned(), schema, token_probabilities: false };
    Prompt { system, user, form, max_tokens: ANSWER_TOKENS }
}

/// The schema of an object with exactly these fields, in this order.
pub(crate) fn object(fields: Vec<(&str, Value)>) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let required = json!(required);
    let properties: Map<String, Value> = fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The schema of a text.
pub(crate) fn text(most: usize) -> Value {
    json!({"type": "string", "maxLength": most})
}

/// The schema of one of some words.
pub(crate) fn word(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// The schema of a list.
pub(crate) fn list(items: Value, least: usize, most: usize) -> Value {
    json!({"type": "array", "items": items, "minItems": least, "maxItems": most})
}

/// The canonical bytes of a value without fractions.
pub(crate) fn canonical(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    match Json::parse(text.as_bytes()) {
        Ok(json) => parthack_env::canonical::canonical_bytes(&json),
        Err(_) => text.into_bytes(),
    }
}
