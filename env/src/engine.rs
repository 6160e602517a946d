//! The transition: pure, total, without IO (SPEC §2).

use crate::names::{Actor, Operation};
use crate::refusal::{Refusal, RefusalCode};
use crate::spec::Recreate;
use crate::task::{Action, FieldIndex, Precondition, Slot, Task, WriteMatch, WrittenValue};
use crate::value::Value;
use crate::world::{Entity, Lifecycle, World};

/// What one event changed; at most one entity, or the goal version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// The goal version before and after.
    pub goal: Option<(u32, u32)>,
    /// The incarnation before and after.
    pub incarnation: Option<(u32, u32)>,
    /// The lifecycle before and after.
    pub lifecycle: Option<(Lifecycle, Lifecycle)>,
    /// Fields with their values before and after, by field index.
    pub fields: Vec<(FieldIndex, Value, Value)>,
}

impl Diff {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.goal.is_none() && self.incarnation.is_none() && self.lifecycle.is_none() && self.fields.is_empty()
    }
}

/// What an action did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The world changed, or could have: an event of the log.
    Applied {
        /// The state after it.
        world: World,
        /// What changed.
        diff: Diff,
    },
    /// Accepted, and only the transcript (and whoever listens) knows.
    Noted {
        /// The same state, perhaps with an offer more.
        world: World,
    },
    /// Nothing changed.
    Refused(Refusal),
}

/// One step of one actor.
///
/// `buffer` is scratch space for hashing; its content does not matter.
#[must_use]
pub fn step(task: &Task, world: &World, action: &Action, actor: Actor, buffer: &mut Vec<u8>) -> Outcome {
    match apply(task, world, action, actor, buffer) {
        Ok(outcome) => outcome,
        Err(refusal) => Outcome::Refused(refusal),
    }
}

fn refuse<T>(code: RefusalCode, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(code, message))
}

fn apply(task: &Task, world: &World, action: &Action, actor: Actor, buffer: &mut Vec<u8>) -> Result<Outcome, Refusal> {
    if !task.allows(actor, action.operation()) {
        return refuse(
            RefusalCode::OperationNotAllowed,
            format!("the {actor} may not use the operation {:?} in this task", action.operation().word()),
        );
    }
    let gated = action.operation() != Operation::Create || !task.is_release();
    let applied = match action {
        Action::Create(slot, fields) => create(task, world, *slot, fields)?,
        Action::Update(slot, writes) => update(task, world, *slot, writes)?,
        Action::Delete(slot) => {
            let entity = live(task, world, *slot)?;
            let mut after = entity.clone();
            after.lifecycle = Lifecycle::Deleted;
            let diff = Diff { lifecycle: Some((Lifecycle::Live, Lifecycle::Deleted)), ..Diff::default() };
            Some((*slot, after, diff))
        }
        Action::Restore(slot) => {
            let entity = world.entity(*slot);
            if entity.lifecycle != Lifecycle::Deleted {
                return refuse(RefusalCode::EntityNotDeleted, format!("{} is not deleted", name(task, *slot)));
            }
            let mut after = entity.clone();
            after.lifecycle = Lifecycle::Live;
            let diff = Diff { lifecycle: Some((Lifecycle::Deleted, Lifecycle::Live)), ..Diff::default() };
            Some((*slot, after, diff))
        }
        Action::ReviseGoal(version) => {
            check_revision(task, world, *version)?;
            None
        }
        Action::Read(slot) => {
            live(task, world, *slot)?;
            None
        }
        Action::List(_) | Action::Say(..) | Action::Wait => None,
    };
    if gated {
        check_preconditions(task, world, action, actor)?;
    }
    Ok(match (applied, action) {
        (Some((_, _, diff)), _) if diff.is_empty() => Outcome::Applied { world: world.clone(), diff },
        (Some((slot, after, diff)), _) => {
            Outcome::Applied { world: world.with_entity(task, slot, after, buffer), diff }
        }
        (None, Action::ReviseGoal(version)) => Outcome::Applied {
            world: world.with_goal(task, *version, buffer),
            diff: Diff { goal: Some((world.goal_version(), *version)), ..Diff::default() },
        },
        (None, Action::Say(_, Some(version))) => Outcome::Noted { world: world.with_offer(*version) },
        (None, _) => Outcome::Noted { world: world.clone() },
    })
}

fn name(task: &Task, slot: Slot) -> String {
    format!("{} {:?}", task.type_of_slot(slot).name, &*task.slots[slot.at()].id)
}

fn live<'w>(task: &Task, world: &'w World, slot: Slot) -> Result<&'w Entity, Refusal> {
    let entity = world.entity(slot);
    if entity.is_live() {
        return Ok(entity);
    }
    refuse(RefusalCode::EntityNotLive, format!("{} is not there ({})", name(task, slot), entity.lifecycle.word()))
}

type Change = Option<(Slot, Entity, Diff)>;

fn create(task: &Task, world: &World, slot: Slot, fields: &[Value]) -> Result<Change, Refusal> {
    let before = world.entity(slot);
    let recreated =
        before.lifecycle == Lifecycle::Deleted && task.type_of_slot(slot).recreate == Recreate::NewIncarnation;
    if before.lifecycle != Lifecycle::Absent && !recreated {
        return refuse(
            RefusalCode::EntityExists,
            format!("{} exists already ({})", name(task, slot), before.lifecycle.word()),
        );
    }
    let mut diff = Diff {
        lifecycle: Some((before.lifecycle, Lifecycle::Live)),
        incarnation: Some((before.incarnation, before.incarnation + 1)),
        ..Diff::default()
    };
    for (index, (old, new)) in (0u16..).zip(before.fields.iter().zip(fields)) {
        if old != new {
            diff.fields.push((FieldIndex(index), old.clone(), new.clone()));
        }
    }
    let mut after = before.clone();
    after.lifecycle = Lifecycle::Live;
    after.incarnation += 1;
    after.fields = fields.into();
    Ok(Some((slot, after, diff)))
}

fn update(task: &Task, world: &World, slot: Slot, writes: &[(FieldIndex, Value)]) -> Result<Change, Refusal> {
    let before = live(task, world, slot)?;
    if let Some(most) = task.spec.rules.max_update_fields
        && writes.len() > most as usize
    {
        return refuse(RefusalCode::TooManyFields, format!("one update may change at most {most} field(s)"));
    }
    let entity_type = task.slots[slot.at()].entity_type;
    let mut diff = Diff { fields: Vec::with_capacity(writes.len()), ..Diff::default() };
    let mut after = before.clone();
    for (field, new) in writes {
        let old = &before.fields[field.at()];
        check_transition(task, entity_type, *field, old, new)?;
        if old != new {
            diff.fields.push((*field, old.clone(), new.clone()));
            after.fields[field.at()] = new.clone();
        }
    }
    Ok(Some((slot, after, diff)))
}

fn check_transition(
    task: &Task,
    entity_type: usize,
    field: FieldIndex,
    old: &Value,
    new: &Value,
) -> Result<(), Refusal> {
    if old == new && !task.is_release() {
        return Ok(());
    }
    for graph in &task.transitions {
        let about = graph.entity_type == entity_type && graph.field == field;
        if about && !graph.pairs.iter().any(|(from, to)| from == old && to == new) {
            let field = &task.spec.entity_types[entity_type].fields[field.at()].name;
            return refuse(
                RefusalCode::IllegalTransition,
                format!("{field:?} cannot go from {} to {}", old.json(), new.json()),
            );
        }
    }
    Ok(())
}

fn check_revision(task: &Task, world: &World, version: u32) -> Result<(), Refusal> {
    let Some(goal) = task.goal(version) else {
        return refuse(RefusalCode::GoalNotDeclared, format!("there is no goal version {version}"));
    };
    if version <= world.goal_version() {
        return refuse(
            RefusalCode::GoalNotHigher,
            format!("the goal version is {} and can only rise", world.goal_version()),
        );
    }
    if goal.offered && !world.is_offered(version) {
        return refuse(RefusalCode::GoalNotOffered, format!("nobody has offered goal version {version}"));
    }
    Ok(())
}

fn check_preconditions(task: &Task, world: &World, action: &Action, actor: Actor) -> Result<(), Refusal> {
    for precondition in &task.preconditions {
        if precondition.is_about(task, action, actor) && !precondition.requires.iter().all(|test| world.holds(test)) {
            return refuse(RefusalCode::Precondition, precondition.message.clone());
        }
    }
    Ok(())
}

impl Precondition {
    /// Whether an action of an actor needs this precondition.
    #[must_use]
    pub fn is_about(&self, task: &Task, action: &Action, actor: Actor) -> bool {
        if self.operation.is_some_and(|operation| operation != action.operation())
            || self.actor.is_some_and(|named| named != actor)
        {
            return false;
        }
        let entity_type = match action {
            Action::List(entity_type) => Some(*entity_type),
            other => other.slot().map(|slot| task.slots[slot.at()].entity_type),
        };
        if self.entity_type.is_some() && self.entity_type != entity_type {
            return false;
        }
        if let Some(slots) = &self.slots
            && !action.slot().is_some_and(|slot| slots.contains(&slot))
        {
            return false;
        }
        match &self.writes {
            None => true,
            Some(writes) => writes.iter().any(|write| write.is_in(task, action)),
        }
    }
}

impl WriteMatch {
    fn is_in(&self, task: &Task, action: &Action) -> bool {
        let Some(slot) = action.slot() else { return false };
        if task.slots[slot.at()].entity_type != self.entity_type {
            return false;
        }
        let written = match action {
            Action::Create(_, fields) => Some(&fields[self.field.at()]).filter(|value| **value != Value::Null),
            Action::Update(_, writes) => writes.iter().find(|(field, _)| *field == self.field).map(|(_, value)| value),
            _ => None,
        };
        match (&self.value, written) {
            (_, None) | (WrittenValue::Impossible, _) => false,
            (WrittenValue::Any, Some(_)) => true,
            (WrittenValue::Exactly(expected), Some(value)) => value == expected,
        }
    }
}
