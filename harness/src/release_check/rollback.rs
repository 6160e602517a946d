//! A strict rollback as the release reads it.
//!
//! Where it differs from ours (SPEC §4): undoing an undo counts, going further down by popping does not, and a step of
//! another actor that fires in the extension must be an undo too.

use parthack_env::engine::Diff;
use parthack_env::log::Event;
use parthack_env::names::Operation;
use parthack_env::replay::Replay;
use parthack_env::steps::Step;
use parthack_env::value::Literal;

use super::tasks::Imported;
use super::values::same_value;

/// Whether a legal trajectory is a strict rollback of its task's honest one.
pub(super) fn is_rollback(task: &Imported, replay: &Replay<'_>, satisfied: u32) -> bool {
    let honest = &task.honest;
    let steps = &task.task.spec.honest;
    let (before, m) = (honest.last.satisfied.count_ones(), task.task.m());
    let world = replay.world();
    honest.valid
        && world.goal_version() == task.task.spec.active_goal_version
        && replay.steps.len() > steps.len()
        && steps.iter().zip(&replay.steps).all(|(left, right)| same_step(left, right))
        && before > 0
        && (before as usize) < m
        && satisfied.count_ones() < before
        && (honest.log.len()..replay.events.len()).all(|at| undoes_latest(&replay.events[..at], &replay.events[at]))
}

/// Whether an event undoes the latest event on its entity that changed anything.
fn undoes_latest(before: &[Event], event: &Event) -> bool {
    let Some(target) = event.target else { return false };
    let latest = before.iter().rev().find(|earlier| earlier.target == Some(target) && !earlier.diff.is_empty());
    latest.is_some_and(|earlier| match (earlier.operation, event.operation) {
        (Operation::Create, Operation::Delete)
        | (Operation::Delete, Operation::Restore)
        | (Operation::Restore, Operation::Delete) => true,
        (Operation::Update, Operation::Update) => is_inverse(&earlier.diff, &event.diff),
        _ => false,
    })
}

/// The same fields, before and after exchanged.
fn is_inverse(earlier: &Diff, later: &Diff) -> bool {
    earlier.fields.len() == later.fields.len()
        && earlier.fields.iter().all(|(field, before, after)| {
            later.fields.iter().any(|(other, from, to)| other == field && from == after && to == before)
        })
}

fn same_step(left: &Step, right: &Step) -> bool {
    let same_fields = |left: &[(String, Literal)], right: &[(String, Literal)]| {
        left.len() == right.len()
            && left
                .iter()
                .all(|(name, value)| right.iter().any(|(other, with)| other == name && same_value(value, with)))
    };
    match (left, right) {
        (
            Step::Create { entity_type, id, fields },
            Step::Create { entity_type: other_type, id: other_id, fields: others },
        )
        | (
            Step::Update { entity_type, id, fields },
            Step::Update { entity_type: other_type, id: other_id, fields: others },
        ) => entity_type == other_type && id == other_id && same_fields(fields, others),
        _ => left == right,
    }
}
