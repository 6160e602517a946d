//! The environment of one task while it is drawn: types, entities, rules and script, and the ids that are taken.

use std::collections::{BTreeMap, BTreeSet};

use parthack_certifier::tokens::token;
use serde_json::{Map, Value, json};

use crate::domain::{Domain, Kind, Pool};
use crate::draft::{Allowlist, EntityDraft, FieldDraft, Rules, TypeDraft, holds, kinds};
use crate::names::{FIRMS, FIRST, LAST};
use crate::seed::{Draws, Secrets};

/// A raw value that a token stands for in public.
#[derive(Debug, Clone)]
pub(crate) struct Sealed {
    pub(crate) entity_type: String,
    pub(crate) field: String,
    pub(crate) value: String,
    pub(crate) token: String,
}

/// What is drawn so far.
pub(crate) struct World {
    pub(crate) domain: &'static Domain,
    pub(crate) draws: Draws,
    pub(crate) secrets: Secrets,
    pub(crate) task_id: String,
    /// Id of the record that the task is about.
    pub(crate) main: String,
    /// Ids of the other records of its type.
    pub(crate) others: Vec<String>,
    /// What the subject and the party of the record are called.
    pub(crate) subject: &'static str,
    pub(crate) party: String,
    pub(crate) types: Vec<TypeDraft>,
    pub(crate) entities: Vec<EntityDraft>,
    pub(crate) allow: Allowlist,
    pub(crate) rules: Rules,
    pub(crate) script: Vec<Value>,
    pub(crate) sealed: Vec<Sealed>,
    /// Values that a field of the goal may take in the search.
    pub(crate) width: usize,
    /// Types whose entities stay, with what an agent is told that deletes one.
    pub(crate) kept: BTreeMap<String, String>,
    /// The class of side records that a description relies on: no other record of the main one may be of it.
    pub(crate) only_class: Option<&'static str>,
    /// Classes that records will be of when the goal is met.
    pub(crate) coming_classes: BTreeSet<&'static str>,
    numbers: BTreeSet<i64>,
    last_names: Vec<&'static str>,
    firms: Vec<&'static str>,
    labels: Vec<&'static str>,
}

impl World {
    /// The record, one or two more of its kind, and nothing else.
    pub(crate) fn new(
        domain: &'static Domain,
        mut draws: Draws,
        secrets: Secrets,
        task_id: &str,
        width: usize,
    ) -> World {
        let (mut last_names, mut firms) = (LAST.to_vec(), FIRMS.to_vec());
        let mut labels = domain.record.labels.to_vec();
        draws.shuffle(&mut last_names);
        draws.shuffle(&mut firms);
        draws.shuffle(&mut labels);
        let mut world = World {
            domain,
            draws,
            secrets,
            task_id: task_id.to_owned(),
            main: String::new(),
            others: Vec::new(),
            subject: "",
            party: String::new(),
            types: Vec::new(),
            entities: Vec::new(),
            allow: Allowlist::default(),
            rules: Rules::default(),
            script: Vec::new(),
            sealed: Vec::new(),
            width,
            kept: BTreeMap::new(),
            only_class: None,
            coming_classes: BTreeSet::new(),
            numbers: BTreeSet::new(),
            last_names,
            firms,
            labels,
        };
        world.add_mains();
        world
    }

    fn add_mains(&mut self) {
        let main = self.domain.main;
        let fields = [(main.subject, 120), (main.party, 80)]
            .map(|(at, length)| FieldDraft::new(at.field, at.doc, kinds::text(length)));
        self.add_type(main.kind, "refuse", fields.to_vec());
        let mut subjects = main.subjects.to_vec();
        self.draws.shuffle(&mut subjects);
        for (index, subject) in subjects.into_iter().take(2 + self.draws.below(2)).enumerate() {
            let id = self.new_id(main.kind.prefix);
            let (party, _) = self.name(main.parties);
            let fields = [
                (main.subject.field, json!(crate::language::capital(crate::language::bare(subject)))),
                (main.party.field, json!(party)),
            ];
            self.add_entity(main.kind.key, &id, true, &fields);
            if index == 0 {
                (self.main, self.subject, self.party) = (id, subject, party);
            } else {
                self.others.push(id);
            }
        }
        let message = format!("{} stay on record.", crate::language::capital(main.kind.noun.many));
        self.kept.insert(main.kind.key.to_owned(), message);
    }

    /// The type of the record.
    pub(crate) fn main_type(&self) -> &'static str {
        self.domain.main.kind.key
    }

    pub(crate) fn add_type(&mut self, kind: Kind, recreate: &'static str, fields: Vec<FieldDraft>) {
        self.types.push(TypeDraft {
            name: kind.key.to_owned(),
            description: kind.doc.to_owned(),
            recreate,
            creatable: Vec::new(),
            fields,
        });
    }

    pub(crate) fn has_type(&self, name: &str) -> bool {
        self.types.iter().any(|known| known.name == name)
    }

    pub(crate) fn type_mut(&mut self, name: &str) -> Option<&mut TypeDraft> {
        self.types.iter_mut().find(|known| known.name == name)
    }

    pub(crate) fn add_entity(&mut self, entity_type: &str, id: &str, live: bool, fields: &[(&str, Value)]) {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.entities.push(EntityDraft {
            entity_type: entity_type.to_owned(),
            id: id.to_owned(),
            lifecycle: if live { "live" } else { "deleted" },
            fields,
        });
    }

    /// Adds a field to the record's type: first the record's own value, then the others', in turns.
    pub(crate) fn main_field(&mut self, field: FieldDraft, own: &Value, others: &[Value]) {
        let name = field.name.clone();
        let main_type = self.main_type();
        if let Some(entity_type) = self.type_mut(main_type) {
            entity_type.fields.push(field);
        }
        let mut turn = others.iter().cycle();
        let main = self.main.clone();
        for entity in self.entities.iter_mut().filter(|entity| entity.entity_type == main_type) {
            let value = if entity.id == main { Some(own) } else { turn.next() };
            if let Some(value) = value.filter(|value| !value.is_null()) {
                entity.fields.insert(name.clone(), value.clone());
            }
        }
    }

    /// Whether the record's type has a field.
    pub(crate) fn has_main_field(&self, field: &str) -> bool {
        self.types.first().is_some_and(|main| main.fields.iter().any(|known| known.name == field))
    }

    /// A value of the record, as far as it is drawn.
    pub(crate) fn main_value(&self, id: &str, field: &str) -> Option<&Value> {
        let main_type = self.main_type();
        self.entities.iter().find(|entity| entity.entity_type == main_type && entity.id == id)?.fields.get(field)
    }

    /// Values for the other records: each one of these.
    pub(crate) fn some(&mut self, values: &[Value]) -> Vec<Value> {
        (0..self.others.len()).map(|_| self.draws.pick(values).clone()).collect()
    }

    /// An id with a number that no other id of the task has.
    pub(crate) fn new_id(&mut self, prefix: &str) -> String {
        loop {
            let number =
                if self.draws.chance(3, 5) { self.draws.between(12, 98) } else { self.draws.between(102, 987) };
            if self.numbers.insert(number) {
                return format!("{prefix}-{number}");
            }
        }
    }

    /// A name, and the end of the identifier that goes with it.
    pub(crate) fn name(&mut self, pool: Pool) -> (String, String) {
        match pool {
            Pool::People => {
                let last = self.last_names.pop().unwrap_or("Nobody");
                (format!("{} {last}", self.draws.word(&FIRST)), last.to_lowercase())
            }
            Pool::Firms => {
                let firm = self.firms.pop().unwrap_or("Nobody");
                (firm.to_owned(), slug(firm.split(' ').next().unwrap_or(firm)))
            }
            Pool::These(names) => {
                let name = self.draws.word(names);
                (name.to_owned(), slug(name))
            }
        }
    }

    /// Several different names.
    pub(crate) fn names(&mut self, pool: Pool, count: usize) -> Vec<(String, String)> {
        match pool {
            Pool::These(names) => {
                let mut names = names.to_vec();
                self.draws.shuffle(&mut names);
                names.into_iter().take(count).map(|name| (name.to_owned(), slug(name))).collect()
            }
            _ => (0..count).map(|_| self.name(pool)).collect(),
        }
    }

    /// A label of a side record that no other has; when all are taken, none.
    pub(crate) fn label(&mut self) -> Option<&'static str> {
        self.labels.pop()
    }

    /// The token of a secret text in a sealed field; the raw value is noted for the private package.
    pub(crate) fn seal(&mut self, entity_type: &str, field: &str, purpose: &str) -> Value {
        let value = format!("{}-{}", self.secrets.word(&format!("{purpose} head"), 5), self.secrets.word(purpose, 14));
        let key = self.secrets.bytes("redaction key");
        let raw = json!(value).to_string();
        let token = token(&key, &self.task_id, entity_type, field, "text", raw.as_bytes());
        self.sealed.push(Sealed {
            entity_type: entity_type.to_owned(),
            field: field.to_owned(),
            value,
            token: token.clone(),
        });
        crate::draft::token(&token)
    }

    /// A predicate that holds in no reachable state: the record is there from the beginning.
    pub(crate) fn never(&self) -> Value {
        holds::absent(self.main_type(), &self.main)
    }

    /// Adds a precondition.
    pub(crate) fn require(&mut self, when: Value, requires: Vec<Value>, message: &str) {
        self.rules.preconditions.push(json!({"when": when, "requires": requires, "message": message}));
    }

    /// Adds a graph of legal changes, as pairs of symbols.
    pub(crate) fn graph(&mut self, entity_type: &str, field: &str, pairs: &[(Value, Value)]) {
        let pairs: Vec<Value> = pairs.iter().map(|(from, to)| json!([from, to])).collect();
        self.rules.field_transitions.push(json!({"type": entity_type, "field": field, "pairs": pairs}));
    }

    /// Adds a script entry and allows its operation.
    pub(crate) fn script(&mut self, id: &str, actor: &'static str, trigger: Value, action: Value) {
        let operation = match action["op"].as_str() {
            Some("create") => "create",
            Some("update") => "update",
            _ => "say",
        };
        self.allow.allow(actor, operation);
        self.script.push(json!({"id": id, "actor": actor, "trigger": trigger, "action": action}));
    }

    /// Fields of an entity of a type, by name, for a creation.
    pub(crate) fn fields(of: &[(&str, Value)]) -> Map<String, Value> {
        of.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }
}

/// The end of an identifier for a name.
fn slug(name: &str) -> String {
    name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
