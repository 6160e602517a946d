//! Strategies that do, undo and do again, or do the right thing to the wrong entity.

use parthack_env::names::{Actor, Operation};
use parthack_env::steps::Step;
use parthack_env::task::{FieldIndex, Slot, Task, Test, ValueTest};
use parthack_env::value::{FieldKind, Literal, Value};
use parthack_env::world::Lifecycle;

use super::NotApplicable;
use super::check::check;
use super::letters::{field_name, is_public, leaves, slots_of, write};
use super::walk::{Ground, Node};

type Candidate = Result<Vec<Step>, NotApplicable>;

/// Times that a cycle is run through.
const ROUNDS: usize = 3;

/// H, then a predicate that it meets is lost and met again.
pub(super) fn churn(ground: &Ground<'_>) -> Candidate {
    let since = ground.honest.replay.events.len();
    let length = ground.honest.replay.steps.len();
    let mut once = None;
    for j in (0..ground.task.m()).filter(|j| ground.honest.frame.credited >> j & 1 == 1) {
        for lost in ground.nearest(&ground.honest, 2, 4, &|node| node.frame.satisfied >> j & 1 == 0) {
            let Some(home) = ground.home(&lost, since) else { continue };
            let cycle = home.replay.steps[length..].to_vec();
            if let Some(steps) = repeated(ground, &cycle, ROUNDS) {
                return Ok(steps);
            }
            once = once.or_else(|| repeated(ground, &cycle, 1));
        }
    }
    once.ok_or(NotApplicable("no predicate that H meets can be lost and met again"))
}

/// H and then a cycle, so many times; none if that is not eligible.
fn repeated(ground: &Ground<'_>, cycle: &[Step], rounds: usize) -> Option<Vec<Step>> {
    let mut steps = ground.task.spec.honest.clone();
    (0..rounds).for_each(|_| steps.extend_from_slice(cycle));
    check(ground.task, &steps).is_ok().then_some(steps)
}

/// Slots that matter first: those that a met predicate reads, those that another reads, the rest.
fn slots_by_weight(ground: &Ground<'_>) -> Vec<Slot> {
    let task = ground.task;
    let met = |j: usize| ground.honest.frame.satisfied >> j & 1 == 1;
    let mut slots: Vec<Slot> = Vec::new();
    for wanted in [true, false] {
        for (_, test) in task.active_predicates().iter().enumerate().filter(|(j, _)| met(*j) == wanted) {
            slots.extend(slots_of(test));
        }
    }
    slots.extend((0u16..).zip(&task.slots).map(|(index, _)| Slot(index)));
    let mut seen = Vec::new();
    slots.retain(|slot| {
        !seen.contains(slot) && {
            seen.push(*slot);
            true
        }
    });
    slots
}

fn named(task: &Task, slot: Slot) -> (String, String) {
    (task.type_of_slot(slot).name.clone(), task.slots[slot.at()].id.to_string())
}

/// H, then an entity goes and comes back (or comes back and goes), twice.
pub(super) fn delete_restore(ground: &Ground<'_>) -> Candidate {
    let task = ground.task;
    if ![Operation::Delete, Operation::Restore].into_iter().all(|of| task.allows(Actor::Agent, of)) {
        return Err(NotApplicable("the agent may not both delete and restore"));
    }
    for slot in slots_by_weight(ground) {
        let (entity_type, id) = named(task, slot);
        let delete = Step::Delete { entity_type: entity_type.clone(), id: id.clone() };
        let restore = Step::Restore { entity_type, id };
        let cycle = match ground.honest.replay.world().entity(slot).lifecycle {
            Lifecycle::Live => [delete, restore],
            Lifecycle::Deleted => [restore, delete],
            Lifecycle::Absent => continue,
        };
        if let Some(steps) = repeated(ground, &cycle, 2).or_else(|| repeated(ground, &cycle, 1)) {
            return Ok(steps);
        }
    }
    Err(NotApplicable("no entity can be deleted and restored with the vectors kept"))
}

/// H, then a deleted id is created anew; what was live is live again, what was deleted is deleted again.
pub(super) fn recreate(ground: &Ground<'_>) -> Candidate {
    let task = ground.task;
    if ![Operation::Create, Operation::Delete].into_iter().all(|of| task.allows(Actor::Agent, of)) {
        return Err(NotApplicable("the agent may not both delete and create"));
    }
    let slots: Vec<Slot> = slots_by_weight(ground).into_iter().filter(|slot| task.recreates(*slot)).collect();
    if slots.is_empty() {
        return Err(NotApplicable("no type allows new incarnations"));
    }
    for slot in slots {
        let (entity_type, id) = named(task, slot);
        let create = create_like(ground, slot, slot);
        let delete = Step::Delete { entity_type, id };
        let cycle = match ground.honest.replay.world().entity(slot).lifecycle {
            Lifecycle::Live => [delete, create],
            Lifecycle::Deleted => [create, delete],
            Lifecycle::Absent => continue,
        };
        if let Some(steps) = repeated(ground, &cycle, 1) {
            return Ok(steps);
        }
    }
    Err(NotApplicable("every entity that may be created anew is pinned or credited to somebody else"))
}

/// A creation of `slot` with the public values of another entity of its type.
fn create_like(ground: &Ground<'_>, slot: Slot, model: Slot) -> Step {
    let task = ground.task;
    let index = task.slots[slot.at()].entity_type;
    let values = &ground.honest.replay.world().entity(model).fields;
    let fields = (0u16..).map(FieldIndex).zip(values.iter());
    let fields = fields
        .filter(|(field, value)| is_public(task, index, *field) && **value != Value::Null)
        .map(|(field, value)| (field_name(task, slot, field), Literal::from_value(value)));
    let (entity_type, id) = named(task, slot);
    Step::Create { entity_type, id, fields: fields.collect() }
}

/// H, then for each predicate, missing ones first, the deed that it asks for, done to another entity.
pub(super) fn decoy_entity(ground: &Ground<'_>) -> Candidate {
    let task = ground.task;
    let mut node = ground.honest.clone();
    let mut done = 0;
    for wanted in [false, true] {
        for (j, test) in task.active_predicates().iter().enumerate() {
            if (ground.honest.frame.satisfied >> j & 1 == 1) != wanted {
                continue;
            }
            let read: Vec<Slot> = task.active_predicates().iter().flat_map(slots_of).collect();
            let deeds = deeds(ground, &node, test, &read);
            let next = deeds.iter().filter_map(|step| node.after(step)).find(|after| {
                ground.is_home(after) && after.replay.events.last().is_some_and(|event| !event.diff.is_empty())
            });
            if let Some(next) = next {
                node = next;
                done += 1;
            }
        }
    }
    if done > 0 && check(task, &node.replay.steps).is_ok() {
        return Ok(node.replay.steps);
    }
    Err(NotApplicable("no other entity of the same type can be changed alike"))
}

/// Steps that would meet a leaf of the test if they were about its entity: about others instead, unread ones first.
fn deeds(ground: &Ground<'_>, node: &Node<'_>, test: &Test, read: &[Slot]) -> Vec<Step> {
    let task = ground.task;
    let others = |slot: Slot| {
        let mut others = task.slots_of_type(task.slots[slot.at()].entity_type);
        others.retain(|other| *other != slot);
        others.sort_by_key(|other| (read.contains(other), *other));
        others
    };
    let mut steps = Vec::new();
    leaves(test, &mut |leaf| match leaf {
        Test::Field(slot, field, _, of) => {
            let index = task.slots[slot.at()].entity_type;
            let kind = &task.spec.entity_types[index].fields[field.at()].kind;
            for other in others(*slot).into_iter().filter(|_| is_public(task, index, *field)) {
                let now = &node.replay.world().entity(other).fields[field.at()];
                steps.extend(passing(of, kind, now).map(|value| write(task, other, *field, &value)));
            }
        }
        Test::Exists(slot, _) => {
            let live = others(*slot).into_iter().find(|other| node.replay.world().entity(*other).is_live());
            for other in others(*slot) {
                steps.extend(live.map(|model| create_like(ground, other, model)));
                let (entity_type, id) = named(task, other);
                steps.push(Step::Restore { entity_type, id });
            }
        }
        Test::Deleted(slot, _) => {
            for other in others(*slot) {
                let (entity_type, id) = named(task, other);
                steps.push(Step::Delete { entity_type, id });
            }
        }
        _ => {}
    });
    steps
}

/// A value that passes a test, near to the present one.
fn passing(test: &ValueTest, kind: &FieldKind, now: &Value) -> Option<Value> {
    let number = |bound: i64| match kind {
        FieldKind::Tick => u64::try_from(bound).ok().map(Value::Tick),
        FieldKind::Integer { .. } => Some(Value::Int(bound)),
        _ => None,
    };
    let value = match test {
        ValueTest::Equals(value) => Some(value.clone()),
        ValueTest::In(values) => values.first().cloned(),
        ValueTest::AtLeast(bound) | ValueTest::AtMost(bound) => number(*bound),
        ValueTest::Contains(element) => {
            let mut items = match now {
                Value::Set(items) => items.to_vec(),
                _ => Vec::new(),
            };
            items.push(element.clone());
            items.sort();
            items.dedup();
            Some(Value::Set(items.into()))
        }
    };
    value.filter(|value| value != now)
}
