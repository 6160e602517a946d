//! What rule evaluators see of a trajectory: after each event, which active predicates hold and which of them are
//! credited to the agent (P §3.2, A.3).

use crate::engine::Diff;
use crate::names::Actor;
use crate::replay::Replay;
use crate::task::{Slot, Test};
use crate::world::{Lifecycle, World, passes_filter};

/// One moment: bit j stands for active predicate j.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Frame {
    /// Predicates that hold.
    pub satisfied: u32,
    /// Predicates that hold and whose latest cause is the agent.
    pub credited: u32,
    /// The goal version in force.
    pub goal_version: u32,
}

/// The frame of the initial state and one after each event. Predicates are the active goal version's on every state
/// (SPEC §15.1).
#[must_use]
pub fn frames(replay: &Replay<'_>) -> Vec<Frame> {
    let task = replay.task();
    let predicates = task.active_predicates();
    let mut before = &task.initial;
    let mut frame = Frame { satisfied: before.satisfied(predicates), credited: 0, goal_version: before.goal_version() };
    let mut frames = Vec::with_capacity(replay.events.len() + 1);
    frames.push(frame);
    for (event, after) in replay.events.iter().zip(&replay.snapshots) {
        for (index, predicate) in predicates.iter().enumerate() {
            if projection_changes(predicate, event.target, &event.diff, before, after) {
                let bit = 1 << index;
                let holds = after.holds(predicate);
                frame.satisfied = if holds { frame.satisfied | bit } else { frame.satisfied & !bit };
                let credited = holds && event.actor == Actor::Agent;
                frame.credited = if credited { frame.credited | bit } else { frame.credited & !bit };
            }
        }
        frame.goal_version = after.goal_version();
        frames.push(frame);
        before = after;
    }
    frames
}

/// Whether an event changes the tuple of typed values that a predicate reads (SPEC §15.3): all leaves, never
/// short-circuited; an entity that is not live has no field values; a count reads the count.
#[must_use]
pub fn projection_changes(test: &Test, target: Option<Slot>, diff: &Diff, before: &World, after: &World) -> bool {
    let about = |slot: &Slot| target == Some(*slot);
    let liveness = diff.lifecycle.is_some_and(|(from, to)| (from == Lifecycle::Live) != (to == Lifecycle::Live));
    match test {
        Test::Exists(slot, pinned) => about(slot) && (liveness || pinned.is_some() && diff.incarnation.is_some()),
        Test::Absent(slot) => about(slot) && diff.lifecycle.is_some(),
        Test::Deleted(slot, pinned) => {
            about(slot) && (diff.lifecycle.is_some() || pinned.is_some() && diff.incarnation.is_some())
        }
        Test::Field(slot, field, pinned, _) => {
            about(slot)
                && (liveness
                    || pinned.is_some() && diff.incarnation.is_some()
                    || before.entity(*slot).is_live() && diff.fields.iter().any(|(changed, ..)| changed == field))
        }
        Test::Count { slots, filter, .. } => target.is_some_and(|slot| {
            slots.contains(&slot)
                && passes_filter(before.entity(slot), filter) != passes_filter(after.entity(slot), filter)
        }),
        Test::GoalVersion(_) => diff.goal.is_some(),
        Test::All(of) | Test::Any(of) => of.iter().any(|part| projection_changes(part, target, diff, before, after)),
        Test::Not(of) => projection_changes(of, target, diff, before, after),
        Test::Never => false,
    }
}
