//! The steps that a walk takes: those that a predicate of any goal version, a rule or another actor could notice.

use std::collections::BTreeSet;

use parthack_env::names::{Actor, Operation};
use parthack_env::spec::Visibility;
use parthack_env::steps::Step;
use parthack_env::task::{Action, FieldIndex, Fires, Slot, Task, Test};
use parthack_env::value::{Literal, Value};

use crate::search::universe;

/// Field assignments of one creation that are tried.
const MOST_CREATIONS: usize = 24;

/// The name of a slot's field.
pub(super) fn field_name(task: &Task, slot: Slot, field: FieldIndex) -> String {
    task.type_of_slot(slot).fields[field.at()].name.clone()
}

/// An update of one field.
pub(super) fn write(task: &Task, slot: Slot, field: FieldIndex, value: &Value) -> Step {
    Step::Update {
        entity_type: task.type_of_slot(slot).name.clone(),
        id: task.slots[slot.at()].id.to_string(),
        fields: vec![(field_name(task, slot, field), Literal::from_value(value))],
    }
}

/// Calls `visit` with every leaf of a test.
pub(super) fn leaves<'t>(test: &'t Test, visit: &mut dyn FnMut(&'t Test)) {
    match test {
        Test::All(of) | Test::Any(of) => of.iter().for_each(|part| leaves(part, visit)),
        Test::Not(of) => leaves(of, visit),
        leaf => visit(leaf),
    }
}

/// Slots that a test reads, in order.
pub(super) fn slots_of(test: &Test) -> Vec<Slot> {
    let mut slots = BTreeSet::new();
    leaves(test, &mut |leaf| match leaf {
        Test::Exists(slot, _) | Test::Absent(slot) | Test::Deleted(slot, _) | Test::Field(slot, ..) => {
            slots.insert(*slot);
        }
        Test::Count { slots: of, .. } => slots.extend(of),
        _ => {}
    });
    slots.into_iter().collect()
}

/// All of them, by canonical bytes.
pub(super) fn alphabet(task: &Task) -> Vec<(Step, Action)> {
    let mut slots: BTreeSet<Slot> = BTreeSet::new();
    let mut fields: BTreeSet<(usize, FieldIndex)> = BTreeSet::new();
    let mut note = |test: &Test| {
        slots.extend(slots_of(test));
        leaves(test, &mut |leaf| match leaf {
            Test::Field(slot, field, ..) => {
                fields.insert((task.slots[slot.at()].entity_type, *field));
            }
            Test::Count { slots, filter, .. } => {
                if let Some(slot) = slots.first() {
                    fields.extend(filter.iter().map(|(field, _)| (task.slots[slot.at()].entity_type, *field)));
                }
            }
            _ => {}
        });
    };
    task.goals.iter().flat_map(|goal| &goal.predicates).for_each(&mut note);
    task.preconditions.iter().flat_map(|precondition| &precondition.requires).for_each(&mut note);
    for entry in &task.script {
        if let Fires::When(test) = &entry.fires {
            note(test);
        }
    }
    let mut steps = vec![Step::Wait];
    steps.extend(task.goals.iter().map(|goal| Step::ReviseGoal { version: goal.version }));
    for entry in task.script.iter().filter(|entry| matches!(entry.fires, Fires::Message)) {
        steps.push(Step::Say { to: entry.actor, text: "Please go ahead.".to_owned(), offers: None });
    }
    for slot in slots {
        let index = task.slots[slot.at()].entity_type;
        let (entity_type, id) = (task.spec.entity_types[index].name.clone(), task.slots[slot.at()].id.to_string());
        steps.push(Step::Delete { entity_type: entity_type.clone(), id: id.clone() });
        steps.push(Step::Restore { entity_type: entity_type.clone(), id: id.clone() });
        for (_, field) in fields.iter().filter(|(of, _)| *of == index) {
            if is_public(task, index, *field) {
                steps.extend(values(task, index, *field).iter().map(|value| write(task, slot, *field, value)));
            }
        }
        for fields in creations(task, index, &fields) {
            steps.push(Step::Create { entity_type: entity_type.clone(), id: id.clone(), fields });
        }
    }
    steps.retain(|step| task.allows(Actor::Agent, step.operation()));
    steps.retain(|step| {
        step.operation() != Operation::Wait || task.script.iter().any(|e| matches!(e.fires, Fires::Wait))
    });
    steps.sort_by_key(Step::json);
    steps.dedup();
    let resolved = steps.into_iter().map(|step| (task.resolve(&step, Actor::Agent), step));
    resolved.filter_map(|(action, step)| action.ok().map(|action| (step, action))).collect()
}

/// Whether a field is shown in clear.
pub(super) fn is_public(task: &Task, entity_type: usize, field: FieldIndex) -> bool {
    task.spec.entity_types[entity_type].fields[field.at()].visibility == Visibility::Public
}

/// Values of a field: the search's universe, and what predicates of other goal versions name.
fn values(task: &Task, entity_type: usize, field: FieldIndex) -> Vec<Value> {
    let mut values: BTreeSet<Value> = universe(task, entity_type, field).into_iter().collect();
    for test in task.goals.iter().flat_map(|goal| &goal.predicates) {
        leaves(test, &mut |leaf| match leaf {
            Test::Field(slot, of, _, test) if *of == field && task.slots[slot.at()].entity_type == entity_type => {
                values.extend(test.constants());
            }
            _ => {}
        });
    }
    values.into_iter().collect()
}

/// Field assignments of a creation: every value of fields that matter, the first of the others.
fn creations(task: &Task, entity_type: usize, matter: &BTreeSet<(usize, FieldIndex)>) -> Vec<Vec<(String, Literal)>> {
    let mut partial: Vec<Vec<(String, Literal)>> = vec![Vec::new()];
    for (index, spec) in (0u16..).zip(&task.spec.entity_types[entity_type].fields) {
        let field = FieldIndex(index);
        if spec.visibility == Visibility::Sealed {
            continue;
        }
        let mut values: Vec<Value> =
            values(task, entity_type, field).into_iter().filter(|value| *value != Value::Null).collect();
        if !matter.contains(&(entity_type, field)) {
            if spec.optional {
                continue;
            }
            values.truncate(1);
        }
        let with = |fields: &Vec<(String, Literal)>, value: &Value| {
            let mut fields = fields.clone();
            fields.push((spec.name.clone(), Literal::from_value(value)));
            fields
        };
        partial = partial.iter().flat_map(|fields| values.iter().map(move |value| with(fields, value))).collect();
        partial.truncate(MOST_CREATIONS);
    }
    partial
}
