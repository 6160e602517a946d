//! Development tasks, listed apart: no aggregate includes them.

use crate::ledger::{AttemptRecord, Subject};
use crate::run::error::RunError;
use crate::run::manifest::{FrozenAttacker, FrozenEvaluator, FrozenTask, ratio_at};
use crate::statistics::SuiteShape;
use crate::statistics::budget::budget_curve;
use crate::table::{Cell, Column, Missing, Table, layout};
use crate::tables::budgets::{attempts_on, first_unrecorded};
use crate::tables::summaries::{attack_cell, inflation_cell, rollback_cell};
use crate::tables::tasks::family;
use crate::tables::view::LedgerView;

/// One row a development task and evaluator: its honest score, its inflation on A_ref and on its own adversary, and rollback detection.
pub(super) fn table(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("task", "Task"),
        Column::words("family", "Family"),
        Column::numbers("m", "m"),
        Column::numbers("p_state_honest", "P_state(H)"),
        Column::words("evaluator", "Evaluator"),
        Column::numbers("honest_score", "f(H)"),
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
                Ok(inflation_cell(attack_cell(view, &task.id, target, &evaluator.id)?.outcome))
            };
            let own = match view.manifest.targets.contains(&evaluator.id) {
                true => inflation(&evaluator.id)?,
                false => Cell::Missing(Missing::NotApplicable),
            };
            let detected = match view.rollbacks(&task.id, "least").first() {
                None => Cell::Missing(Missing::Excluded),
                Some(_) if !covered => Cell::Missing(Missing::NotRecorded),
                Some(rollback) => {
                    let cell = rollback_cell(view, &task.id, rollback, &evaluator.id)?;
                    let why = if cell.unrecorded { Missing::NotRecorded } else { Missing::NothingScored };
                    cell.detected().map_or(Cell::Missing(why), Cell::Flag)
                }
            };
            table.push([
                ("task", Cell::text(&task.id)),
                ("family", Cell::text(family(&task.family))),
                ("m", Cell::Integer(i64::from(task.m))),
                ("p_state_honest", Cell::Ratio(ratio_at("/tasks/p_state_honest", &task.p_state_honest)?)),
                ("evaluator", Cell::named(&evaluator.id, &evaluator.title)),
                ("honest_score", honest_score(view, task, evaluator)?),
                ("shared_inflation", inflation(&view.manifest.reference_target)?),
                ("own_inflation", own),
                ("rollback_detected", detected),
            ])?;
        }
    }
    Ok(table)
}

/// f(H), which stands beside certified progress.
fn honest_score(view: &LedgerView<'_>, task: &FrozenTask, evaluator: &FrozenEvaluator) -> Result<Cell, RunError> {
    if !evaluator.covers(&task.id) {
        return Ok(Cell::Missing(Missing::NotRecorded));
    }
    let recorded = &view.score_record(&task.id, &Subject::Honest {}, &evaluator.id)?.score;
    let why = if recorded.is_unrecorded() { Missing::NotRecorded } else { Missing::NothingScored };
    Ok(recorded.score().map_or(Cell::Missing(why), Cell::Number))
}

const NOT_HELD_OUT: &str = "Development tasks: counts alone, and no aggregate of another table includes them.";

/// Whether the attacker tries a task several times, so that its attempts on development tasks are worth accounting for.
fn tries_often(view: &LedgerView<'_>) -> bool {
    matches!(view.manifest.attacker, FrozenAttacker::Patterns { .. } | FrozenAttacker::Llm { .. })
}

/// Table A.5 of development tasks; of a run of patterns or of a model alone.
pub(super) fn table_a5(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let mut table = layout::table_a5().with_note(NOT_HELD_OUT);
    table.id = "A.5.development".to_owned();
    table.title = "Candidate accounting by target, development tasks".to_owned();
    if !tries_often(view) || view.development().next().is_none() {
        return Ok(table);
    }
    for target in &view.manifest.targets {
        let attempts = || view.development().flat_map(|task| view.attempts(&task.id, target).iter().copied());
        let count = |of: fn(&AttemptRecord) -> bool| Cell::count(attempts().filter(|attempt| of(attempt)).count());
        let (mut matched, mut successful, mut scored) = (0, 0, false);
        for task in view.development() {
            matched += usize::from(view.is_matched(&task.id, target)?);
            if view.is_scored(target, &task.id) {
                scored = true;
                let outcome = attack_cell(view, &task.id, target, target)?.outcome;
                successful += usize::from(outcome.inflation().is_some_and(|score| score.exceeds(view.threshold)));
            }
        }
        table.push([
            ("target", Cell::named(target, view.title(target))),
            ("generated", count(AttemptRecord::is_generated)),
            ("protocol_valid", count(AttemptRecord::is_protocol_valid)),
            ("matched_tasks", Cell::count(matched)),
            ("successful", if scored { Cell::count(successful) } else { Cell::Missing(Missing::NotRecorded) }),
        ])?;
    }
    Ok(table)
}

/// Figure B.1's counts on development tasks: one row a target and budget; of a run of patterns or of a model alone.
pub(super) fn figure_b1(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("target", "Target"),
        Column::numbers("budget", "K"),
        Column::numbers("coverage", "Coverage"),
        Column::numbers("successful", "Successful"),
        Column::numbers("no_verdict", "No verdict"),
    ];
    let mut table = Table::new("figure-B.1.development", "Coverage and success by budget, development tasks", columns)
        .with_note(NOT_HELD_OUT);
    if !tries_often(view) || view.development().next().is_none() {
        return Ok(table);
    }
    let shape = SuiteShape::new(view.development().map(|task| task.id.clone()).collect(), Vec::new())?;
    for target in &view.manifest.targets {
        let (cells, budget) = attempts_on(view, target, view.development())?;
        let unrecorded = first_unrecorded(view, target, view.development());
        for point in budget_curve(&shape, &cells, budget, view.threshold, &view.bootstrap)? {
            let is_recorded = point.budget < unrecorded;
            let counted = |cell: Cell| if is_recorded { cell } else { Cell::Missing(Missing::NotRecorded) };
            table.push([
                ("target", Cell::named(target, view.title(target))),
                ("budget", Cell::count(point.budget as usize)),
                ("coverage", counted(point.summary.coverage.into())),
                ("successful", counted(point.summary.end_to_end_yield.into())),
                ("no_verdict", counted(Cell::count(point.summary.no_verdict))),
            ])?;
        }
    }
    Ok(table)
}
