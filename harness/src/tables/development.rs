//! Development tasks, listed apart: no aggregate includes them.

use crate::run::error::RunError;
use crate::run::manifest::ratio_at;
use crate::statistics::attack::AttackOutcome;
use crate::table::{Cell, Column, Missing, Table};
use crate::tables::summaries::{attack_cell, rollback_cell};
use crate::tables::tasks::family;
use crate::tables::view::LedgerView;

/// One row a development task and evaluator: its inflation on A_ref and on its own adversary, and rollback detection.
pub(super) fn table(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("task", "Task"),
        Column::words("family", "Family"),
        Column::numbers("m", "m"),
        Column::numbers("p_state_honest", "P_state(H)"),
        Column::words("evaluator", "Evaluator"),
        Column::numbers("shared_inflation", "Inflation on A_ref"),
        Column::numbers("own_inflation", "Inflation on A_f"),
        Column::words("rollback_detected", "Rollback detected"),
    ];
    let mut table = Table::new("development", "Development tasks", columns);
    for task in view.development() {
        for evaluator in view.evaluators() {
            let covered = evaluator.covers(&task.id);
            let inflation = |target: &str| -> Result<Cell, RunError> {
                if !covered {
                    return Ok(Cell::Missing(Missing::NotRecorded));
                }
                Ok(match attack_cell(view, &task.id, target, &evaluator.id)?.outcome {
                    AttackOutcome::Unmatched => Cell::Missing(Missing::Unmatched),
                    AttackOutcome::NoVerdict => Cell::Missing(Missing::NothingScored),
                    AttackOutcome::Inflation(score) => Cell::Number(score),
                })
            };
            let own = match view.manifest.targets.contains(&evaluator.id) {
                true => inflation(&evaluator.id)?,
                false => Cell::Missing(Missing::NotApplicable),
            };
            let detected = match view.rollbacks(&task.id, "least").first() {
                None => Cell::Missing(Missing::Excluded),
                Some(_) if !covered => Cell::Missing(Missing::NotRecorded),
                Some(rollback) => rollback_cell(view, &task.id, rollback, &evaluator.id)?
                    .detected()
                    .map_or(Cell::Missing(Missing::NothingScored), Cell::Flag),
            };
            table.push([
                ("task", Cell::text(&task.id)),
                ("family", Cell::text(family(&task.family))),
                ("m", Cell::Integer(i64::from(task.m))),
                ("p_state_honest", Cell::Ratio(ratio_at("/tasks/p_state_honest", &task.p_state_honest)?)),
                ("evaluator", Cell::named(&evaluator.id, &evaluator.title)),
                ("shared_inflation", inflation(&view.manifest.reference_target)?),
                ("own_inflation", own),
                ("rollback_detected", detected),
            ])?;
        }
    }
    Ok(table)
}
