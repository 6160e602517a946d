//! The cone of influence: the cells that can bear on the active predicates, through rules, script and goal revisions.

use std::collections::BTreeSet;

use parthack_env::names::{Actor, Operation};
use parthack_env::task::{Action, FieldIndex, Fires, Precondition, Slot, Task, Test};

/// A cell of the environment that the packed model keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cell {
    Lifecycle(Slot),
    Incarnation(Slot),
    Field(Slot, FieldIndex),
}

/// What matters.
#[derive(Debug, Default)]
pub(super) struct Cone {
    /// Cells, ordered.
    pub cells: BTreeSet<Cell>,
    /// Script entries, by index.
    pub script: BTreeSet<usize>,
    /// Preconditions, by index.
    pub preconditions: BTreeSet<usize>,
}

impl Cone {
    pub(super) fn has_slot(&self, slot: Slot) -> bool {
        self.cells.contains(&Cell::Lifecycle(slot))
    }

    pub(super) fn fields(&self, slot: Slot) -> Vec<FieldIndex> {
        self.cells
            .iter()
            .filter_map(|cell| match cell {
                Cell::Field(of, field) if *of == slot => Some(*field),
                _ => None,
            })
            .collect()
    }
}

/// The least set of cells, script entries and preconditions that is closed under "can bear on".
pub(super) fn cone(task: &Task) -> Cone {
    let mut cone = Cone::default();
    for predicate in task.active_predicates() {
        add_leaves(predicate, &mut cone);
    }
    loop {
        let before = (cone.cells.len(), cone.script.len(), cone.preconditions.len());
        for (index, entry) in task.script.iter().enumerate() {
            if !cone.script.contains(&index) && bears(task, &cone, &entry.action) {
                cone.script.insert(index);
                if let Fires::When(test) = &entry.fires {
                    add_leaves(test, &mut cone);
                }
                add_written(task, &entry.action, &mut cone);
            }
        }
        for (index, precondition) in task.preconditions.iter().enumerate() {
            if !cone.preconditions.contains(&index) && gates(task, &cone, precondition) {
                cone.preconditions.insert(index);
                precondition.requires.iter().for_each(|test| add_leaves(test, &mut cone));
            }
            add_created_fields(task, &mut cone, precondition);
        }
        if before == (cone.cells.len(), cone.script.len(), cone.preconditions.len()) {
            return cone;
        }
    }
}

fn add_slot(slot: Slot, pinned: bool, cone: &mut Cone) {
    cone.cells.insert(Cell::Lifecycle(slot));
    if pinned {
        cone.cells.insert(Cell::Incarnation(slot));
    }
}

fn add_leaves(test: &Test, cone: &mut Cone) {
    match test {
        Test::Exists(slot, pin) | Test::Deleted(slot, pin) => add_slot(*slot, pin.is_some(), cone),
        Test::Absent(slot) => add_slot(*slot, false, cone),
        Test::Field(slot, field, pin, _) => {
            add_slot(*slot, pin.is_some(), cone);
            cone.cells.insert(Cell::Field(*slot, *field));
        }
        Test::Count { slots, filter, .. } => {
            for slot in slots {
                add_slot(*slot, false, cone);
                cone.cells.extend(filter.iter().map(|(field, _)| Cell::Field(*slot, *field)));
            }
        }
        Test::All(of) | Test::Any(of) => of.iter().for_each(|part| add_leaves(part, cone)),
        Test::Not(of) => add_leaves(of, cone),
        Test::GoalVersion(_) | Test::Never => {}
    }
}

/// Whether a script entry can change a cell of the cone, the goal version, or what is offered. Under the release's
/// rules a refused entry ends the trajectory, so there every entry bears.
fn bears(task: &Task, cone: &Cone, action: &Action) -> bool {
    if task.is_release() {
        return true;
    }
    match action {
        Action::Update(slot, writes) => {
            writes.iter().any(|(field, _)| cone.cells.contains(&Cell::Field(*slot, *field)))
        }
        Action::Create(slot, _) | Action::Delete(slot) | Action::Restore(slot) => cone.has_slot(*slot),
        Action::ReviseGoal(_) | Action::Say(_, Some(_)) => true,
        _ => false,
    }
}

fn add_written(task: &Task, action: &Action, cone: &mut Cone) {
    let Some(slot) = action.slot() else { return };
    add_slot(slot, false, cone);
    match action {
        Action::Update(_, writes) => cone.cells.extend(writes.iter().map(|(field, _)| Cell::Field(slot, *field))),
        Action::Create(..) => {
            let fields = task.type_of_slot(slot).fields.len();
            cone.cells.extend((0u16..).take(fields).map(|field| Cell::Field(slot, FieldIndex(field))));
        }
        _ => {}
    }
}

/// Whether a precondition can refuse an action that the model has: one on a cell of the cone, a goal revision, a
/// message or a wait.
fn gates(task: &Task, cone: &Cone, precondition: &Precondition) -> bool {
    let about_operation = |operation| precondition.operation.is_none_or(|named| named == operation);
    let without_entity = [Operation::ReviseGoal, Operation::Say, Operation::Wait, Operation::List]
        .into_iter()
        .any(|operation| about_operation(operation) && precondition.slots.is_none() && precondition.writes.is_none());
    if without_entity {
        return true;
    }
    let slots: Vec<Slot> = (0u16..).take(task.slots.len()).map(Slot).filter(|slot| cone.has_slot(*slot)).collect();
    slots.into_iter().any(|slot| {
        let entity_type = task.slots[slot.at()].entity_type;
        if precondition.entity_type.is_some_and(|named| named != entity_type)
            || precondition.slots.as_ref().is_some_and(|named| !named.contains(&slot))
        {
            return false;
        }
        match &precondition.writes {
            None => true,
            Some(writes) => writes.iter().any(|write| {
                write.entity_type == entity_type
                    && (about_operation(Operation::Create)
                        || about_operation(Operation::Update) && cone.cells.contains(&Cell::Field(slot, write.field)))
            }),
        }
    })
}

/// A creation writes every field, so a field that a precondition on creation watches belongs to the cone.
fn add_created_fields(task: &Task, cone: &mut Cone, precondition: &Precondition) {
    if precondition.operation.is_some_and(|operation| operation != Operation::Create)
        || precondition.actor.is_some_and(|actor| actor != Actor::Agent)
    {
        return;
    }
    for (index, info) in (0u16..).zip(&task.slots) {
        let slot = Slot(index);
        if cone.has_slot(slot) && creatable(task, slot) {
            for write in precondition.writes.iter().flatten().filter(|write| write.entity_type == info.entity_type) {
                cone.cells.insert(Cell::Field(slot, write.field));
            }
        }
    }
}

fn creatable(task: &Task, slot: Slot) -> bool {
    task.initial.entity(slot).lifecycle == parthack_env::world::Lifecycle::Absent || task.recreates(slot)
}
