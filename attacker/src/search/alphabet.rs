//! The agent's alphabet: every step that can change a state of the model, in the order of canonical bytes.

use parthack_env::names::{Actor, Operation};
use parthack_env::spec::{FieldSpec, Visibility};
use parthack_env::steps::Step;
use parthack_env::task::{Action, FieldIndex, Fires, Slot, Task};
use parthack_env::value::{FieldKind, Literal, Value};
use parthack_env::world::Lifecycle;

use super::SearchError;
use super::cone::Cone;
use super::layout::{FieldDomain, Layout};
use super::universe;

/// Steps of the largest alphabet.
const MAX_LETTERS: usize = 16_384;

/// A step of the alphabet.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    pub step: Step,
    pub action: Action,
}

/// Every letter, by canonical bytes.
pub(super) fn alphabet(task: &Task, cone: &Cone, layout: &Layout) -> Result<Vec<Letter>, SearchError> {
    let mut builder = Builder { task, letters: Vec::new() };
    for (slot, ..) in &layout.lifecycles {
        if task.is_unnameable(&task.type_of_slot(*slot).name, &task.slots[slot.at()].id) {
            continue;
        }
        builder.updates(*slot, layout)?;
        builder.creations(*slot, cone, layout)?;
        let (entity_type, id) = builder.name(*slot);
        builder.push(Step::Delete { entity_type: entity_type.clone(), id: id.clone() })?;
        builder.push(Step::Restore { entity_type, id })?;
    }
    for goal in &task.goals {
        builder.push(Step::ReviseGoal { version: goal.version })?;
    }
    builder.visible(cone)?;
    if layout.last_count > 0 {
        builder.padding(layout)?;
    }
    let mut keyed: Vec<(String, Letter)> = builder.letters.into_iter().map(|l| (l.step.json(), l)).collect();
    keyed.sort_by(|left, right| left.0.as_bytes().cmp(right.0.as_bytes()));
    keyed.dedup_by(|left, right| left.0 == right.0);
    Ok(keyed.into_iter().map(|(_, letter)| letter).collect())
}

struct Builder<'t> {
    task: &'t Task,
    letters: Vec<Letter>,
}

impl Builder<'_> {
    fn push(&mut self, step: Step) -> Result<(), SearchError> {
        if !self.task.allows(Actor::Agent, step.operation()) {
            return Ok(());
        }
        if self.letters.len() >= MAX_LETTERS {
            return Err(SearchError::TooManySteps(MAX_LETTERS));
        }
        if let Ok(action) = self.task.resolve(&step, Actor::Agent) {
            self.letters.push(Letter { step, action });
        }
        Ok(())
    }

    fn name(&self, slot: Slot) -> (String, String) {
        (self.task.type_of_slot(slot).name.clone(), self.task.slots[slot.at()].id.to_string())
    }

    fn spec(&self, slot: Slot, field: FieldIndex) -> &FieldSpec {
        &self.task.type_of_slot(slot).fields[field.at()]
    }

    /// Every combination of up to `max_update_fields` relevant fields.
    fn updates(&mut self, slot: Slot, layout: &Layout) -> Result<(), SearchError> {
        let domains: Vec<&FieldDomain> = layout
            .fields
            .iter()
            .filter(|domain| domain.slot == slot && writable(self.spec(slot, domain.field)))
            .collect();
        let most = self.task.spec.rules.max_update_fields.map_or(usize::MAX, |most| most as usize);
        let mut partial: Vec<Vec<(String, Literal)>> = vec![Vec::new()];
        for domain in domains {
            let name = self.spec(slot, domain.field).name.clone();
            let mut extended = Vec::new();
            for fields in partial.iter().filter(|fields| fields.len() < most) {
                for value in representatives(domain) {
                    let mut fields = fields.clone();
                    fields.push((name.clone(), value));
                    extended.push(fields);
                }
            }
            partial.extend(extended);
            if partial.len() > MAX_LETTERS {
                return Err(SearchError::TooManySteps(MAX_LETTERS));
            }
        }
        let (entity_type, id) = self.name(slot);
        for fields in partial.into_iter().filter(|fields| !fields.is_empty()) {
            self.push(Step::Update { entity_type: entity_type.clone(), id: id.clone(), fields })?;
        }
        Ok(())
    }

    /// Every combination of relevant fields; the others take their least value.
    fn creations(&mut self, slot: Slot, cone: &Cone, layout: &Layout) -> Result<(), SearchError> {
        let possible = layout.lifecycle(slot).is_some_and(|(_, values)| values.contains(&Lifecycle::Absent));
        if !possible && !self.task.recreates(slot) {
            return Ok(());
        }
        let relevant = cone.fields(slot);
        let mut partial: Vec<Vec<(String, Literal)>> = vec![Vec::new()];
        for (index, spec) in (0u16..).zip(&self.task.type_of_slot(slot).fields) {
            let field = FieldIndex(index);
            let domain = layout.field(slot, field).filter(|_| relevant.contains(&field));
            let values: Vec<Option<Literal>> = match domain {
                _ if !writable(spec) => vec![None],
                None if spec.optional => vec![None],
                None => vec![Some(self.least_value(slot, field))],
                // An optional field that is left out is null; writing null as well would only lengthen the step.
                Some(domain) => {
                    let optional = spec.optional;
                    let some =
                        representatives(domain).into_iter().filter(|value| !(optional && *value == Literal::Null));
                    some.map(Some).chain(optional.then_some(None)).collect()
                }
            };
            let mut extended = Vec::new();
            for fields in &partial {
                for value in &values {
                    let mut fields = fields.clone();
                    fields.extend(value.clone().map(|value| (spec.name.clone(), value)));
                    extended.push(fields);
                }
            }
            partial = extended;
            if partial.len() > MAX_LETTERS {
                return Err(SearchError::TooManySteps(MAX_LETTERS));
            }
        }
        let (entity_type, id) = self.name(slot);
        for fields in partial {
            self.push(Step::Create { entity_type: entity_type.clone(), id: id.clone(), fields })?;
        }
        Ok(())
    }

    /// The value of an irrelevant field with the least canonical bytes.
    fn least_value(&self, slot: Slot, field: FieldIndex) -> Literal {
        let entity_type = self.task.slots[slot.at()].entity_type;
        let mut values = universe::universe(self.task, entity_type, field);
        values.retain(|value| *value != Value::Null && !matches!(value, Value::Opaque(_)));
        if let FieldKind::Text { .. } = self.spec(slot, field).kind {
            values.push(Value::Text("".into()));
        }
        if let FieldKind::Set { .. } = self.spec(slot, field).kind {
            values.push(Value::Set(Vec::new().into()));
        }
        values.sort_by_key(Value::json);
        values.first().map_or(Literal::Null, Literal::from_value)
    }

    /// Messages and waits, where the script listens.
    fn visible(&mut self, cone: &Cone) -> Result<(), SearchError> {
        for index in &cone.script {
            let entry = &self.task.script[*index];
            match entry.fires {
                Fires::Message => self.push(Step::Say { to: entry.actor, text: String::new(), offers: None })?,
                Fires::Wait => self.push(Step::Wait)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Steps that only let the step counter run, for tasks whose script counts: a listing where the task has it, else a
    /// wait, else an update that changes nothing.
    fn padding(&mut self, layout: &Layout) -> Result<(), SearchError> {
        if self.task.allows(Actor::Agent, Operation::List)
            && let Some(entity_type) = self.task.spec.entity_types.iter().map(|t| &t.name).min()
        {
            return self.push(Step::List { entity_type: entity_type.clone() });
        }
        if self.task.allows(Actor::Agent, Operation::Wait) {
            return self.push(Step::Wait);
        }
        for (slot, entity) in self.task.initial.entities() {
            let (entity_type, id) = self.name(slot);
            let type_index = self.task.slots[slot.at()].entity_type;
            for (index, value) in (0u16..).zip(&entity.fields) {
                let field = FieldIndex(index);
                let graphed = self.task.transitions.iter().any(|g| g.entity_type == type_index && g.field == field);
                let spec = self.spec(slot, field);
                if graphed || !writable(spec) || layout.field(slot, field).is_some() || *value == Value::Null {
                    continue;
                }
                let fields = vec![(spec.name.clone(), Literal::from_value(value))];
                self.push(Step::Update { entity_type: entity_type.clone(), id: id.clone(), fields })?;
                break;
            }
        }
        Ok(())
    }
}

/// The literal with the least canonical bytes of each class.
fn representatives(domain: &FieldDomain) -> Vec<Literal> {
    let least = |class: &Vec<Value>| class.iter().map(Literal::from_value).min_by_key(literal_bytes);
    domain.classes.iter().filter_map(least).collect()
}

fn literal_bytes(literal: &Literal) -> Vec<u8> {
    let mut out = Vec::new();
    literal.push_json(&mut out);
    out
}

fn writable(spec: &FieldSpec) -> bool {
    spec.visibility == Visibility::Public && spec.kind != FieldKind::ImportedOpaque
}
