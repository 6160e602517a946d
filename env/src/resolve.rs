//! From a step over names to an action over indexes.

use crate::names::Actor;
use crate::refusal::{Refusal, RefusalCode};
use crate::spec::Visibility;
use crate::steps::Step;
use crate::task::{Action, FieldIndex, ResolveFault, Slot, Task};
use crate::value::{FieldKind, Literal, Value, ValueFault};

pub(crate) fn resolve(task: &Task, step: &Step, actor: Actor) -> Result<Action, ResolveFault> {
    Ok(match step {
        Step::Create { entity_type, id, fields } => {
            let (index, slot) = entity(task, entity_type, id)?;
            let writes = resolve_fields(task, index, fields, actor)?;
            let specs = &task.spec.entity_types[index].fields;
            let mut values = vec![Value::Null; specs.len()];
            let mut given = vec![false; specs.len()];
            for (field, value) in writes {
                given[field.at()] = true;
                values[field.at()] = value;
            }
            if let Some((spec, _)) = specs.iter().zip(given).find(|(spec, given)| !given && !spec.optional) {
                return refuse(
                    RefusalCode::MissingField,
                    format!("a new {entity_type} needs the field {:?}", spec.name),
                );
            }
            Action::Create(slot, values.into())
        }
        Step::Update { entity_type, id, fields } => {
            let (index, slot) = entity(task, entity_type, id)?;
            if fields.is_empty() {
                return refuse(RefusalCode::EmptyUpdate, "an update names at least one field");
            }
            Action::Update(slot, resolve_fields(task, index, fields, actor)?)
        }
        Step::Delete { entity_type, id } => Action::Delete(entity(task, entity_type, id)?.1),
        Step::Restore { entity_type, id } => Action::Restore(entity(task, entity_type, id)?.1),
        Step::Read { entity_type, id } => Action::Read(entity(task, entity_type, id)?.1),
        Step::List { entity_type } => Action::List(type_index(task, entity_type)?),
        Step::ReviseGoal { version } => Action::ReviseGoal(*version),
        Step::Say { to, offers, .. } => {
            if *to == actor {
                return refuse(RefusalCode::Recipient, "a message goes to another actor");
            }
            Action::Say(*to, *offers)
        }
        Step::Wait => Action::Wait,
    })
}

fn refuse<T>(code: RefusalCode, message: impl Into<String>) -> Result<T, ResolveFault> {
    Err(ResolveFault::Refused(Refusal::new(code, message)))
}

fn type_index(task: &Task, name: &str) -> Result<usize, ResolveFault> {
    match task.type_index(name) {
        Some(index) => Ok(index),
        None => refuse(RefusalCode::UnknownType, format!("there is no entity type {name:?}")),
    }
}

fn entity(task: &Task, entity_type: &str, id: &str) -> Result<(usize, Slot), ResolveFault> {
    let index = type_index(task, entity_type)?;
    match task.slot(index, id).filter(|_| !task.is_unnameable(entity_type, id)) {
        Some(slot) => Ok((index, slot)),
        None => {
            refuse(RefusalCode::UnknownEntity, format!("there is no {entity_type} {id:?}, and none can be created"))
        }
    }
}

fn resolve_fields(
    task: &Task,
    entity_type: usize,
    fields: &[(String, Literal)],
    actor: Actor,
) -> Result<Vec<(FieldIndex, Value)>, ResolveFault> {
    let mut writes = Vec::with_capacity(fields.len());
    for (name, literal) in fields {
        let specs = &task.spec.entity_types[entity_type].fields;
        let field = task.field_index(entity_type, name);
        let Some(field) = field.filter(|field| specs[field.at()].kind != FieldKind::ImportedOpaque) else {
            return refuse(RefusalCode::UnknownField, format!("there is no field {name:?}"));
        };
        if actor == Actor::Agent && specs[field.at()].visibility == Visibility::Sealed {
            return refuse(RefusalCode::SealedField, format!("the field {name:?} is sealed: an agent cannot write it"));
        }
        match task.admit(entity_type, field, literal) {
            Ok(value) => writes.push((field, value)),
            Err(ValueFault::WrongType { found, expected }) => {
                return Err(ResolveFault::WrongType { field: name.clone(), found, expected });
            }
            Err(ValueFault::OutOfRange { found, expected }) => {
                return refuse(RefusalCode::ValueOutOfRange, format!("{name:?} takes {expected}, not {found}"));
            }
        }
    }
    writes.sort_by_key(|(field, _)| *field);
    Ok(writes)
}
