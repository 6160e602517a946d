//! The private package of a task: its own ids and values, tests, canaries and keys, all from the secret tree.

use std::collections::BTreeMap;

use parthack_certifier::package::{MIN_CANARIES, PRIVATE_FORMAT};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::compose::Composed;
use crate::draft::Draft;
use crate::plan::{Expect, HiddenTest};
use crate::seed::Secrets;

#[derive(Serialize)]
struct Package<'p> {
    format: &'static str,
    task_id: &'p str,
    public_hash: &'p str,
    redaction_key: String,
    private_ids: Map<String, Value>,
    sealed_values: Vec<Value>,
    predicates: BTreeMap<String, Vec<Value>>,
    hidden_tests: &'p [HiddenTest],
    expected_honest: &'p Expect,
    canaries: Vec<String>,
}

/// The package, as a value to be written.
pub(crate) fn package(composed: &Composed, public_hash: &str, secrets: &Secrets) -> serde_json::Result<String> {
    let draft = &composed.draft;
    let mut private_ids = Map::new();
    for (entity_type, id) in draft.ids() {
        let name = format!("{entity_type}/{id}");
        let private = format!("pv-{}", secrets.word(&format!("private id {name}"), 18));
        private_ids.insert(name, private.into());
    }
    let raw: BTreeMap<&str, &str> =
        composed.sealed.iter().map(|sealed| (sealed.token.as_str(), sealed.value.as_str())).collect();
    let twin = Twin { draft, private_ids: &private_ids, raw };
    let predicates = draft
        .goal_versions
        .iter()
        .map(|goal| {
            let own =
                goal.predicates.iter().map(|goal| json!({"id": goal.id, "predicate": twin.predicate(&goal.predicate)}));
            (goal.version.to_string(), own.collect())
        })
        .collect();
    let sealed_values = composed
        .sealed
        .iter()
        .map(|sealed| json!({"type": sealed.entity_type, "field": sealed.field, "value": sealed.value, "token": sealed.token}))
        .collect();
    let extra = usize::from(secrets.bytes("number of canaries")[0] % 3);
    let canaries = (0..MIN_CANARIES + extra)
        .map(|index| format!("PHC-{}-{}", draft.id, secrets.hex(&format!("canary {index}"), 24)))
        .collect();
    let package = Package {
        format: PRIVATE_FORMAT,
        task_id: &draft.id,
        public_hash,
        redaction_key: secrets.hex("redaction key", 64),
        private_ids,
        sealed_values,
        predicates,
        hidden_tests: &composed.plan.tests,
        expected_honest: &composed.plan.expect,
        canaries,
    };
    let mut text = serde_json::to_string_pretty(&package)?;
    text.push('\n');
    Ok(text)
}

/// What private twins are made with.
struct Twin<'t> {
    draft: &'t Draft,
    private_ids: &'t Map<String, Value>,
    raw: BTreeMap<&'t str, &'t str>,
}

impl Twin<'_> {
    /// A predicate over private ids and raw values.
    fn predicate(&self, public: &Value) -> Value {
        let mut private = public.clone();
        match private["of"].clone() {
            Value::Array(parts) => private["of"] = parts.iter().map(|part| self.predicate(part)).collect(),
            Value::Null => {}
            one => private["of"] = self.predicate(&one),
        }
        let entity_type = public["type"].as_str().unwrap_or_default();
        if let Some(id) = public["id"].as_str() {
            private["id"] = self.id(entity_type, id);
        }
        let field = public["field"].as_str().unwrap_or_default();
        for key in ["value", "values", "target"] {
            if let Some(value) = public.get(key) {
                private[key] = self.value(entity_type, field, value);
            }
        }
        if let Some(filter) = private.get_mut("filter").and_then(Value::as_array_mut) {
            for term in filter {
                let field = term["field"].as_str().unwrap_or_default().to_owned();
                for key in ["equals", "in", "contains"] {
                    if let Some(value) = term.get(key).map(|value| self.value(entity_type, &field, value)) {
                        term[key] = value;
                    }
                }
            }
        }
        private
    }

    fn id(&self, entity_type: &str, id: &str) -> Value {
        self.private_ids.get(&format!("{entity_type}/{id}")).cloned().unwrap_or_else(|| id.into())
    }

    fn value(&self, entity_type: &str, field: &str, value: &Value) -> Value {
        if let Some(items) = value.as_array() {
            return items.iter().map(|item| self.value(entity_type, field, item)).collect();
        }
        if let Some(raw) = value["token"].as_str().and_then(|token| self.raw.get(token)) {
            return (*raw).into();
        }
        let target = self.draft.field(entity_type, field).and_then(|field| field.refers_to());
        match (target, value.as_str()) {
            (Some(target), Some(id)) => self.id(target, id),
            _ => value.clone(),
        }
    }
}
