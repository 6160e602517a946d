//! What attempts gave: coverage and success by budget (P B.5, Figure B.1), and the profile of each strategy.

use std::collections::BTreeMap;

use crate::ledger::{AttemptRecord, RecordedScore, Subject};
use crate::run::error::RunError;
use crate::run::manifest::FrozenAttacker;
use crate::run::manifest::FrozenTask;
use crate::statistics::Score;
use crate::statistics::attack::AttackOutcome;
use crate::statistics::budget::{AttemptCell, budget_curve};
use crate::table::{Cell, Column, Missing, Table};
use crate::tables::summaries::outcome_of;
use crate::tables::view::{LedgerView, NOT_RECORDED, push_not_recorded};

/// Figure B.1's data: one row a target and budget.
pub(super) fn figure_b1(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("target", "Target"),
        Column::numbers("budget", "K"),
        Column::numbers("coverage", "Coverage"),
        Column::numbers("successful", "Successful"),
        Column::estimates("mean_inflation", "Mean inflation [95% CI]", "ci95"),
    ];
    let mut table = Table::new("figure-B.1", "Coverage and success by budget", columns)
        .with_note("Figure B.1's data: what the first K attempts of each task would have given.");
    for target in &view.manifest.targets {
        if !view.is_aggregated(target) {
            push_not_recorded(&mut table, [("target", Cell::named(target, view.title(target)))])?;
            continue;
        }
        let (cells, budget) = attempts_on(view, target, view.held_out())?;
        let unrecorded = first_unrecorded(view, target, view.held_out());
        // Files may differ in number from task to task: then there is no common budget.
        if view.held_out().any(|task| view.manifest.attempts(&task.id, target) != budget) || budget == 0 {
            continue;
        }
        for point in budget_curve(&view.shape, &cells, budget, view.threshold, &view.bootstrap)? {
            let is_recorded = point.budget < unrecorded;
            let counted = |cell: Cell| if is_recorded { cell } else { NOT_RECORDED };
            table.push([
                ("target", Cell::named(target, view.title(target))),
                ("budget", Cell::count(point.budget as usize)),
                ("coverage", counted(point.summary.coverage.into())),
                ("successful", counted(point.summary.end_to_end_yield.into())),
                ("mean_inflation", counted(point.summary.mean_inflation.into())),
            ])?;
        }
    }
    for (id, title) in view.untargeted() {
        push_not_recorded(&mut table, [("target", Cell::named(id, title))])?;
    }
    Ok(table)
}

/// The number of the first attempt that a replay has no recording of on some task: from there on nothing is known of a budget.
pub(super) fn first_unrecorded<'l>(
    view: &LedgerView<'l>,
    target: &str,
    tasks: impl Iterator<Item = &'l FrozenTask>,
) -> u32 {
    let attempts = tasks.flat_map(|task| view.attempts(&task.id, target));
    attempts.filter(|attempt| attempt.is_unrecorded()).map(|attempt| attempt.attempt).min().unwrap_or(u32::MAX)
}

/// A target's attempts on tasks, and the greatest number of them on one.
pub(super) fn attempts_on<'l>(
    view: &LedgerView<'l>,
    target: &str,
    tasks: impl Iterator<Item = &'l FrozenTask>,
) -> Result<(Vec<AttemptCell>, u32), RunError> {
    let (mut cells, mut budget) = (Vec::new(), 0);
    for task in tasks {
        let honest = match view.is_scored(target, &task.id) {
            true => Some(&view.score_record(&task.id, &Subject::Honest {}, target)?.score),
            false => None,
        };
        budget = view.manifest.attempts(&task.id, target).max(budget);
        let of_task = view.attempts(&task.id, target).iter();
        cells.extend(of_task.map(|attempt| cell_of(&task.id, attempt, honest)));
    }
    Ok((cells, budget))
}

/// An attempt as a cell of a budget curve.
fn cell_of(task: &str, attempt: &AttemptRecord, honest: Option<&RecordedScore>) -> AttemptCell {
    let outcome = match (attempt.eligible, honest, &attempt.score) {
        (false, ..) => AttackOutcome::Unmatched,
        (true, Some(honest), Some(score)) => outcome_of(honest, score),
        // A target that the run does not ask about the task.
        (true, ..) => AttackOutcome::NotRecorded,
    };
    AttemptCell { task: task.to_owned(), attempt: attempt.attempt, outcome }
}

/// The vulnerability profile: what each strategy gives against each target, over all tasks of the run.
pub(super) fn strategies(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("target", "Target"),
        Column::words("strategy", "Strategy"),
        Column::numbers("tasks", "Tasks"),
        Column::numbers("candidates", "Candidates"),
        Column::numbers("eligible", "Eligible"),
        Column::numbers("scored", "Scored"),
        Column::numbers("successful", "Successful"),
        Column::numbers("mean_inflation", "Mean inflation"),
        Column::numbers("largest", "Largest inflation"),
    ];
    let mut table = Table::new("strategies", "Vulnerability profile by strategy", columns).with_note(
        "Over all tasks of the run, development tasks too; a strategy that does not fit a task has no candidate. Success and inflation are of the scored: eligible candidates with a score, against an honest trajectory with one.",
    );
    let (FrozenAttacker::Patterns { strategies } | FrozenAttacker::Search { fallback: strategies, .. }) =
        &view.manifest.attacker
    else {
        return Ok(table);
    };
    for target in &view.manifest.targets {
        for (number, strategy) in (1..).zip(strategies) {
            let (mut tasks, mut candidates, mut eligible) = (0, 0, 0);
            let mut inflations: BTreeMap<&str, Score> = BTreeMap::new();
            for task in &view.manifest.tasks {
                let attempts = view.attempts(&task.id, target).iter();
                let of_strategy = |attempt: &&&AttemptRecord| {
                    attempt.attempt == number && attempt.name.as_deref() == Some(strategy.as_str())
                };
                let Some(attempt) = attempts.into_iter().find(of_strategy) else { continue };
                tasks += 1;
                candidates += usize::from(attempt.candidate.is_some());
                eligible += usize::from(attempt.eligible);
                let covered = view.manifest.evaluator(target).is_some_and(|evaluator| evaluator.covers(&task.id));
                if covered && attempt.eligible {
                    let honest = &view.score_record(&task.id, &Subject::Honest {}, target)?.score;
                    if let Some(inflation) = cell_of(&task.id, attempt, Some(honest)).outcome.inflation() {
                        inflations.insert(&task.id, inflation);
                    }
                }
            }
            if tasks == 0 {
                continue;
            }
            let scores: Vec<Score> = inflations.into_values().collect();
            let largest = scores.iter().copied().max_by(|left, right| left.compare(*right));
            let counted = match scores.is_empty() {
                true => Cell::Missing(Missing::NothingScored),
                false => Cell::count(scores.iter().filter(|score| score.exceeds(view.threshold)).count()),
            };
            table.push([
                ("target", Cell::named(target, view.title(target))),
                ("strategy", Cell::text(strategy)),
                ("tasks", Cell::count(tasks)),
                ("candidates", Cell::count(candidates)),
                ("eligible", Cell::count(eligible)),
                ("scored", Cell::count(scores.len())),
                ("successful", counted),
                ("mean_inflation", Score::mean(&scores).into()),
                ("largest", largest.into()),
            ])?;
        }
    }
    Ok(table)
}
