//! A public task file as it is put together, and the values that its parts are made of.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

/// A field of an entity type.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FieldDraft {
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(rename = "type")]
    pub(crate) kind: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<String>,
    pub(crate) optional: bool,
    pub(crate) visibility: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) universe: Option<Vec<Value>>,
}

impl FieldDraft {
    /// A public field that always has a value.
    pub(crate) fn new(name: &str, description: &str, kind: Value) -> FieldDraft {
        FieldDraft {
            name: name.to_owned(),
            description: description.to_owned(),
            kind,
            unit: None,
            optional: false,
            visibility: "public",
            universe: None,
        }
    }

    pub(crate) fn optional(self) -> FieldDraft {
        FieldDraft { optional: true, ..self }
    }

    pub(crate) fn unit(self, unit: &str) -> FieldDraft {
        FieldDraft { unit: (!unit.is_empty()).then(|| unit.to_owned()), ..self }
    }

    pub(crate) fn sealed(self) -> FieldDraft {
        FieldDraft { visibility: "sealed", ..self }
    }

    /// The closed list of values that search explores, each once.
    pub(crate) fn universe(self, values: &[Value]) -> FieldDraft {
        let mut universe: Vec<Value> = Vec::new();
        for value in values {
            if !universe.contains(value) {
                universe.push(value.clone());
            }
        }
        FieldDraft { universe: Some(universe), ..self }
    }

    /// The type that its values, or their elements, name entities of.
    pub(crate) fn refers_to(&self) -> Option<&str> {
        let element = self.kind.get("of").unwrap_or(&self.kind);
        element.get("entity_type").and_then(Value::as_str)
    }
}

/// An entity type.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TypeDraft {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) recreate: &'static str,
    pub(crate) creatable: Vec<String>,
    pub(crate) fields: Vec<FieldDraft>,
}

/// An entity of the initial state.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EntityDraft {
    #[serde(rename = "type")]
    pub(crate) entity_type: String,
    pub(crate) id: String,
    pub(crate) lifecycle: &'static str,
    pub(crate) fields: Map<String, Value>,
}

/// Operations by actor class.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Allowlist {
    pub(crate) agent: Vec<&'static str>,
    pub(crate) user: Vec<&'static str>,
    pub(crate) system: Vec<&'static str>,
    pub(crate) peer: Vec<&'static str>,
}

impl Allowlist {
    /// Allows an operation to a class.
    pub(crate) fn allow(&mut self, actor: &str, operation: &'static str) {
        let list = match actor {
            "agent" => &mut self.agent,
            "user" => &mut self.user,
            "system" => &mut self.system,
            _ => &mut self.peer,
        };
        if !list.contains(&operation) {
            list.push(operation);
        }
    }
}

/// Rules.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Rules {
    pub(crate) max_update_fields: Option<u32>,
    pub(crate) field_transitions: Vec<Value>,
    pub(crate) preconditions: Vec<Value>,
}

/// A goal predicate.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Goal {
    pub(crate) id: String,
    pub(crate) description: String,
    pub(crate) predicate: Value,
}

/// A goal version.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GoalVersion {
    pub(crate) version: u32,
    pub(crate) offered: bool,
    pub(crate) predicates: Vec<Goal>,
}

/// The public file, in the order of its keys.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Draft {
    pub(crate) format: &'static str,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) domain: String,
    pub(crate) split: &'static str,
    pub(crate) family: &'static str,
    pub(crate) goal_form: &'static str,
    pub(crate) tags: Vec<&'static str>,
    pub(crate) rollback_metric: bool,
    pub(crate) initial_goal_version: u32,
    pub(crate) active_goal_version: u32,
    pub(crate) instructions: BTreeMap<String, String>,
    pub(crate) entity_types: Vec<TypeDraft>,
    pub(crate) initial_state: Vec<EntityDraft>,
    pub(crate) allowlist: Allowlist,
    pub(crate) rules: Rules,
    pub(crate) script: Vec<Value>,
    pub(crate) goal_versions: Vec<GoalVersion>,
    pub(crate) honest: Vec<Value>,
    pub(crate) environment_revision: String,
}

impl Draft {
    /// Every (type, id) that can exist, in the order of the file.
    pub(crate) fn ids(&self) -> Vec<(String, String)> {
        let there = self.initial_state.iter().map(|entity| (entity.entity_type.clone(), entity.id.clone()));
        let creatable = self
            .entity_types
            .iter()
            .flat_map(|entity_type| entity_type.creatable.iter().map(|id| (entity_type.name.clone(), id.clone())));
        there.chain(creatable).collect()
    }

    pub(crate) fn field(&self, entity_type: &str, field: &str) -> Option<&FieldDraft> {
        let entity_type = self.entity_types.iter().find(|known| known.name == entity_type)?;
        entity_type.fields.iter().find(|known| known.name == field)
    }
}

/// Field types.
pub(crate) mod kinds {
    use serde_json::{Value, json};

    pub(crate) fn text(max_length: u32) -> Value {
        json!({"kind": "text", "max_length": max_length})
    }

    pub(crate) fn integer(min: i64, max: i64) -> Value {
        json!({"kind": "integer", "min": min, "max": max})
    }

    pub(crate) fn boolean() -> Value {
        json!({"kind": "bool"})
    }

    pub(crate) fn tick() -> Value {
        json!({"kind": "tick"})
    }

    pub(crate) fn symbols(symbols: &[&str]) -> Value {
        json!({"kind": "enum", "symbols": symbols})
    }

    pub(crate) fn reference(entity_type: &str) -> Value {
        json!({"kind": "ref", "entity_type": entity_type})
    }

    pub(crate) fn set_of(of: Value) -> Value {
        json!({"kind": "set", "of": of})
    }
}

/// Predicates.
pub(crate) mod holds {
    use serde_json::{Value, json};

    pub(crate) fn exists(entity_type: &str, id: &str) -> Value {
        json!({"kind": "exists", "type": entity_type, "id": id})
    }

    pub(crate) fn exists_as(entity_type: &str, id: &str, incarnation: u32) -> Value {
        json!({"kind": "exists", "type": entity_type, "id": id, "incarnation": incarnation})
    }

    pub(crate) fn absent(entity_type: &str, id: &str) -> Value {
        json!({"kind": "absent", "type": entity_type, "id": id})
    }

    pub(crate) fn deleted(entity_type: &str, id: &str) -> Value {
        json!({"kind": "deleted", "type": entity_type, "id": id})
    }

    pub(crate) fn equals(entity_type: &str, id: &str, field: &str, value: &Value) -> Value {
        json!({"kind": "field_equals", "type": entity_type, "id": id, "field": field, "value": value})
    }

    pub(crate) fn one_of(entity_type: &str, id: &str, field: &str, values: &[Value]) -> Value {
        json!({"kind": "field_in", "type": entity_type, "id": id, "field": field, "values": values})
    }

    pub(crate) fn at_least(entity_type: &str, id: &str, field: &str, value: i64) -> Value {
        json!({"kind": "field_at_least", "type": entity_type, "id": id, "field": field, "value": value})
    }

    pub(crate) fn at_most(entity_type: &str, id: &str, field: &str, value: i64) -> Value {
        json!({"kind": "field_at_most", "type": entity_type, "id": id, "field": field, "value": value})
    }

    pub(crate) fn refers(entity_type: &str, id: &str, field: &str, target: &str) -> Value {
        json!({"kind": "refers_to", "type": entity_type, "id": id, "field": field, "target": target})
    }

    pub(crate) fn contains(entity_type: &str, id: &str, field: &str, value: &Value) -> Value {
        json!({"kind": "set_contains", "type": entity_type, "id": id, "field": field, "value": value})
    }

    pub(crate) fn all(of: Vec<Value>) -> Value {
        json!({"kind": "all", "of": of})
    }

    pub(crate) fn any(of: Vec<Value>) -> Value {
        json!({"kind": "any", "of": of})
    }

    pub(crate) fn not(of: Value) -> Value {
        json!({"kind": "not", "of": of})
    }

    pub(crate) fn goal_version(version: u32) -> Value {
        json!({"kind": "goal_version", "version": version})
    }
}

/// Steps.
pub(crate) mod steps {
    use serde_json::{Map, Value, json};

    pub(crate) fn update(entity_type: &str, id: &str, field: &str, value: &Value) -> Value {
        json!({"op": "update", "type": entity_type, "id": id, "fields": {field: value}})
    }

    pub(crate) fn create(entity_type: &str, id: &str, fields: &Map<String, Value>) -> Value {
        json!({"op": "create", "type": entity_type, "id": id, "fields": fields})
    }

    /// `delete`, `restore` or `read`.
    pub(crate) fn on(operation: &str, entity_type: &str, id: &str) -> Value {
        json!({"op": operation, "type": entity_type, "id": id})
    }

    pub(crate) fn list(entity_type: &str) -> Value {
        json!({"op": "list", "type": entity_type})
    }

    pub(crate) fn say(to: &str, text: &str) -> Value {
        json!({"op": "say", "to": to, "text": text})
    }

    pub(crate) fn wait() -> Value {
        json!({"op": "wait"})
    }

    pub(crate) fn revise(version: u32) -> Value {
        json!({"op": "revise_goal", "version": version})
    }
}

/// A token in a public value.
pub(crate) fn token(token: &str) -> Value {
    json!({ "token": token })
}
