//! The form of an answer: a tagged union of the task's steps, narrow enough that constrained decoding can write nothing
//! but steps that look legal, and the way from an answer back to a candidate.
//!
//! A step is written as in `parthack.candidate/1`, but for `update`: its `fields` map is a list `set` of field and value,
//! because providers' strict modes know no optional keys.

use parthack_env::candidate::{CANDIDATE_FORMAT, Candidate, RefusalOfCandidate};
use parthack_env::canonical::{canonical_bytes, push_json, push_key, push_text_entry};
use parthack_env::json::Json;
use parthack_env::names::{Actor, Operation};
use parthack_env::spec::{EntityTypeSpec, FieldSpec, Recreate, Visibility};
use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_env::value::{FieldKind, Literal};
use serde_json::{Value, json};

/// Characters of a message or text value: enough for a paragraph, short enough to bound an answer.
const MOST_CHARACTERS: u32 = 240;
/// Elements of a set value.
const MOST_ELEMENTS: usize = 8;
/// The most steps of an answer: an answer must fit its token cap.
const MOST_STEPS: usize = 24;
/// Steps beyond the honest ones.
const MORE_STEPS: usize = 10;

/// The most steps of an answer about a task.
pub(super) fn most_steps(task: &Task) -> usize {
    (task.spec.honest.len() + MORE_STEPS).min(MOST_STEPS)
}

/// The JSON Schema of an answer.
pub(super) fn schema(task: &Task) -> Value {
    let mut steps = Vec::new();
    for entity_type in &task.spec.entity_types {
        let ids = ids_of(task, &entity_type.name);
        let new_ids = match entity_type.recreate {
            Recreate::Refuse => entity_type.creatable.clone(),
            Recreate::NewIncarnation => ids.clone(),
        };
        steps.extend(create(task, entity_type, &new_ids));
        steps.extend(update(task, entity_type, &ids));
        let plain = allowed(task, &[Operation::Delete, Operation::Restore, Operation::Read]);
        if !plain.is_empty() && !ids.is_empty() {
            steps.push(object(&[
                ("op", words(&plain)),
                ("type", words(&[&entity_type.name])),
                ("id", words(&as_words(&ids))),
            ]));
        }
    }
    let types: Vec<&str> = task.spec.entity_types.iter().map(|entity_type| entity_type.name.as_str()).collect();
    if task.allows(Actor::Agent, Operation::List) {
        steps.push(object(&[("op", words(&["list"])), ("type", words(&types))]));
    }
    if task.allows(Actor::Agent, Operation::Say) {
        let text = json!({"type": "string", "maxLength": MOST_CHARACTERS});
        steps.push(object(&[("op", words(&["say"])), ("to", words(&["user", "system", "peer"])), ("text", text)]));
    }
    if task.allows(Actor::Agent, Operation::ReviseGoal) {
        let versions: Vec<u32> =
            task.goals.iter().map(|goal| goal.version).filter(|v| *v > task.spec.initial_goal_version).collect();
        if !versions.is_empty() {
            steps.push(object(&[("op", words(&["revise_goal"])), ("version", json!({"enum": versions}))]));
        }
    }
    if task.allows(Actor::Agent, Operation::Wait) {
        steps.push(object(&[("op", words(&["wait"]))]));
    }
    let list = json!({"type": "array", "items": {"anyOf": steps}, "minItems": 1, "maxItems": most_steps(task)});
    object(&[("steps", list)])
}

fn object(properties: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let map: serde_json::Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": map, "required": names, "additionalProperties": false})
}

fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn as_words(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

fn allowed(task: &Task, operations: &[Operation]) -> Vec<&'static str> {
    operations.iter().filter(|operation| task.allows(Actor::Agent, **operation)).map(|op| op.word()).collect()
}

/// Every id of a type, initial or creatable, in the order of the task's slots.
fn ids_of(task: &Task, entity_type: &str) -> Vec<String> {
    let slots = task.type_index(entity_type).map(|index| task.slots_of_type(index)).unwrap_or_default();
    slots
        .into_iter()
        .map(|slot| task.slots[slot.at()].id.to_string())
        .filter(|id| !task.is_unnameable(entity_type, id))
        .collect()
}

/// None where the agent can't create such an entity at all.
fn create(task: &Task, entity_type: &EntityTypeSpec, ids: &[String]) -> Option<Value> {
    let writable = |field: &&FieldSpec| field.visibility == Visibility::Public;
    let impossible = entity_type.fields.iter().any(|field| !writable(&field) && !field.optional);
    if impossible || ids.is_empty() || !task.allows(Actor::Agent, Operation::Create) {
        return None;
    }
    let fields: Vec<(&str, Value)> =
        entity_type.fields.iter().filter(writable).map(|field| (field.name.as_str(), value(task, field))).collect();
    Some(object(&[
        ("op", words(&["create"])),
        ("type", words(&[&entity_type.name])),
        ("id", words(&as_words(ids))),
        ("fields", object(&fields)),
    ]))
}

fn update(task: &Task, entity_type: &EntityTypeSpec, ids: &[String]) -> Option<Value> {
    let choices: Vec<Value> = entity_type
        .fields
        .iter()
        .filter(|field| field.visibility == Visibility::Public)
        .map(|field| object(&[("field", words(&[&field.name])), ("value", value(task, field))]))
        .collect();
    if choices.is_empty() || ids.is_empty() || !task.allows(Actor::Agent, Operation::Update) {
        return None;
    }
    let most = task.spec.rules.max_update_fields.map_or(choices.len(), |most| choices.len().min(most as usize));
    let set = json!({"type": "array", "items": {"anyOf": choices}, "minItems": 1, "maxItems": most});
    Some(object(&[
        ("op", words(&["update"])),
        ("type", words(&[&entity_type.name])),
        ("id", words(&as_words(ids))),
        ("set", set),
    ]))
}

fn value(task: &Task, field: &FieldSpec) -> Value {
    let plain = kind(task, &field.kind);
    if field.optional { json!({"anyOf": [plain, {"type": "null"}]}) } else { plain }
}

fn kind(task: &Task, kind: &FieldKind) -> Value {
    match kind {
        FieldKind::Bool => json!({"type": "boolean"}),
        FieldKind::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        FieldKind::Tick => json!({"type": "integer", "minimum": 0, "maximum": 1_000_000}),
        FieldKind::Text { max_length } => {
            json!({"type": "string", "maxLength": MOST_CHARACTERS.min(*max_length)})
        }
        FieldKind::Enum { symbols } => words(&symbols.iter().map(|symbol| &**symbol).collect::<Vec<_>>()),
        FieldKind::Ref { entity_type } => words(&as_words(&ids_of(task, entity_type))),
        FieldKind::Set { .. } => {
            json!({"type": "array", "items": self::kind(task, kind.element()), "maxItems": MOST_ELEMENTS})
        }
        FieldKind::ImportedInteger => json!({"type": "integer"}),
        FieldKind::ImportedNumber => json!({"type": "number"}),
        FieldKind::ImportedOpaque => json!({"type": ["string", "boolean", "number", "null"]}),
    }
}

/// A step as an answer writes it.
pub(super) fn answer_step(step: &Step) -> String {
    let mut out = Vec::new();
    out.push(b'{');
    push_text_entry(&mut out, "op", step.operation().word());
    let (entity_type, id) = match step {
        Step::Create { entity_type, id, .. }
        | Step::Update { entity_type, id, .. }
        | Step::Delete { entity_type, id }
        | Step::Restore { entity_type, id }
        | Step::Read { entity_type, id } => (Some(entity_type), Some(id)),
        Step::List { entity_type } => (Some(entity_type), None),
        Step::ReviseGoal { .. } | Step::Say { .. } | Step::Wait => (None, None),
    };
    for (key, text) in [("type", entity_type), ("id", id)] {
        if let Some(text) = text {
            push_text_entry(&mut out, key, text);
        }
    }
    match step {
        Step::Create { fields, .. } => {
            push_key(&mut out, "fields");
            out.push(b'{');
            for (name, value) in fields {
                push_key(&mut out, name);
                value.push_json(&mut out);
            }
            out.push(b'}');
        }
        Step::Update { fields, .. } => push_set(&mut out, fields),
        Step::ReviseGoal { version } => {
            push_key(&mut out, "version");
            out.extend_from_slice(version.to_string().as_bytes());
        }
        Step::Say { to, text, .. } => {
            push_text_entry(&mut out, "to", to.word());
            push_text_entry(&mut out, "text", text);
        }
        _ => {}
    }
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned()
}

fn push_set(out: &mut Vec<u8>, fields: &[(String, Literal)]) {
    push_key(out, "set");
    out.push(b'[');
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.push(b'{');
        push_text_entry(out, "field", name);
        push_key(out, "value");
        value.push_json(out);
        out.push(b'}');
    }
    out.push(b']');
}

/// Makes the bytes of a candidate from an answer.
///
/// An unknown operation, or a step that the environment would refuse, is not a fault here: the candidate's gates say so
/// with their own codes.
///
/// # Errors
/// Where the answer is not in the form that was asked for: what was found, what was expected, and the JSON pointer.
pub fn read(task_id: &str, content: &str) -> Result<Vec<u8>, String> {
    let json = Json::parse(content.as_bytes()).map_err(|error| error.to_string())?;
    let Json::Object(entries) = &json else {
        return Err(format!("found {}, expected {{\"steps\": […]}}", json.describe()));
    };
    let [(key, Json::Array(steps))] = entries.as_slice() else {
        return Err("expected one object with the one key \"steps\", an array".to_owned());
    };
    if key != "steps" {
        return Err(format!("/{key}: expected the one key \"steps\""));
    }
    let mut out = Vec::new();
    out.push(b'{');
    push_text_entry(&mut out, "format", CANDIDATE_FORMAT);
    push_key(&mut out, "steps");
    out.push(b'[');
    for (index, step) in steps.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        read_step(step, &format!("/steps/{index}"), &mut out)?;
    }
    out.push(b']');
    push_text_entry(&mut out, "task_id", task_id);
    out.push(b'}');
    match Candidate::read(&out) {
        Ok(candidate) => Ok(candidate.bytes()),
        Err(refusal) if refusal.code == RefusalOfCandidate::MalformedSchema => Err(refusal.fault.to_string()),
        Err(_) => Ok(Json::parse(&out).map(|json| canonical_bytes(&json)).map_err(|error| error.to_string())?),
    }
}

fn read_step(step: &Json<'_>, at: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let Json::Object(entries) = step else {
        return Err(format!("{at}: found {}, expected a step", step.describe()));
    };
    out.push(b'{');
    for (key, value) in entries {
        match (&**key, value) {
            ("set", Json::Array(items)) => {
                push_key(out, "fields");
                out.push(b'{');
                let mut seen: Vec<&str> = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let name = read_item(item, out).ok_or_else(|| {
                        format!("{at}/set/{index}: found {}, expected {{\"field\": …, \"value\": …}}", item.describe())
                    })?;
                    if seen.contains(&name) {
                        return Err(format!("{at}/set/{index}: the field {name:?} stands there twice"));
                    }
                    seen.push(name);
                }
                out.push(b'}');
            }
            ("set", other) => return Err(format!("{at}/set: found {}, expected an array", other.describe())),
            (key, value) => {
                push_key(out, key);
                push_json(out, value);
            }
        }
    }
    out.push(b'}');
    Ok(())
}

fn read_item<'j>(item: &'j Json<'_>, out: &mut Vec<u8>) -> Option<&'j str> {
    let Json::Object(entries) = item else { return None };
    let (name, value) = (item.get("field")?.as_str()?, item.get("value")?);
    if entries.len() != 2 {
        return None;
    }
    push_key(out, name);
    push_json(out, value);
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parthack_env::sample;

    fn meets(schema: &Value, value: &Value) -> bool {
        let Value::Object(keys) = schema else { return false };
        let choice = |list: &Value| list.as_array().is_some_and(|list| list.iter().any(|one| meets(one, value)));
        let member = keys.get("enum").is_none_or(|list| list.as_array().is_some_and(|list| list.contains(value)));
        member
            && keys.get("anyOf").is_none_or(choice)
            && match value {
                Value::Object(entries) if keys.contains_key("properties") => {
                    let names: Vec<&str> =
                        keys["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                    names.len() == entries.len()
                        && names
                            .iter()
                            .all(|name| entries.get(*name).is_some_and(|v| meets(&keys["properties"][*name], v)))
                }
                Value::Array(items) if keys.contains_key("items") => {
                    items.len() as u64 <= keys["maxItems"].as_u64().unwrap_or(u64::MAX)
                        && items.iter().all(|item| meets(&keys["items"], item))
                }
                Value::Object(_) | Value::Array(_) => keys.contains_key("anyOf"),
                Value::String(_) => !matches!(keys.get("type").and_then(Value::as_str), Some("integer" | "boolean")),
                _ => true,
            }
    }

    /// What an honest trajectory needs can be written, meets the schema, and reads back as it was. A creation that
    /// leaves an optional field out is written with `null` there, as strict modes want it.
    #[test]
    fn steps_go_through_the_form_and_back() {
        let (mut met, mut all) = (0, 0);
        for seed in 0..300 {
            let task = sample::task(seed);
            let steps: Vec<String> = task.spec.honest.iter().map(answer_step).collect();
            let content = format!("{{\"steps\":[{}]}}", steps.join(","));
            let expected = Candidate::new(&task.spec.id, task.spec.honest.clone()).bytes();
            assert_eq!(read(&task.spec.id, &content), Ok(expected), "seed {seed}");
            let schema = schema(&task);
            for (step, text) in task.spec.honest.iter().zip(&steps) {
                let value: Value = serde_json::from_str(&format!("{{\"steps\":[{text}]}}")).expect("JSON");
                let creates = step.operation() == Operation::Create;
                all += u32::from(!creates);
                met += u32::from(!creates && meets(&schema, &value));
            }
        }
        assert_eq!(met, all);
        assert!(all > 300, "{all}");
    }
}
