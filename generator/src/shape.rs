//! The shape of a task: its file without names, numbers and words, so that two tasks of one shape are found.

use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::json::Json;
use serde_json::Value;

/// Keys whose text is a name, a value or prose.
const MASKED: [&str; 13] = [
    "id",
    "target",
    "value",
    "equals",
    "text",
    "message",
    "description",
    "title",
    "instructions",
    "environment_revision",
    "token",
    "creatable",
    "universe",
];

/// Hash, label `shape`, of a public file with every id, value, number and sentence masked: domain, family, types and fields,
/// entities by type, rules, script, predicates and honest steps are left.
pub(crate) fn shape_hash(public: &Value) -> Hash {
    let text = masked(public, false).to_string();
    Json::parse(text.as_bytes())
        .map_or_else(|_| Hash::of("shape", text.as_bytes()), |json| Hash::of("shape", &canonical_bytes(&json)))
}

fn masked(value: &Value, inside_fields: bool) -> Value {
    match value {
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| {
                let masks = inside_fields || MASKED.contains(&key.as_str());
                let value = if masks && !matches!(value, Value::Object(_)) {
                    Value::Null
                } else {
                    masked(value, key == "fields" && value.is_object())
                };
                (key.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| masked(item, inside_fields)).collect(),
        Value::Number(_) => Value::Null,
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_numbers_do_not_count() {
        let task = |id: &str, worth: i64, op: &str| json!({"id": id, "honest": [{"op": op, "type": "claim", "id": id, "fields": {"reserve": worth}}], "n": worth});
        assert_eq!(shape_hash(&task("a", 1, "update")), shape_hash(&task("b", 2, "update")));
        assert_ne!(shape_hash(&task("a", 1, "update")), shape_hash(&task("a", 1, "create")));
    }
}
