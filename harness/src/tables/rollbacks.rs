//! Table B.5 and its three sets: does a score fall when certified progress falls?

use std::collections::BTreeMap;

use crate::run::error::RunError;
use crate::run::manifest::ROLLBACK_SETS;
use crate::statistics::rollback::RollbackCell;
use crate::statistics::{Proportion, Score};
use crate::table::{Cell, Column, Table, layout};
use crate::tables::summaries::{EvaluatorSummary, Summaries};
use crate::tables::view::{LedgerView, NOT_RECORDED, push_not_recorded};

/// Detection and retained credit over the pairs of a set.
struct SetResult {
    detected: Proportion,
    missed: usize,
    no_verdict: usize,
    retained_all: Option<Score>,
    retained_misses: Option<Score>,
}

impl SetResult {
    fn of(cells: &[RollbackCell]) -> SetResult {
        let scored: Vec<(bool, Score)> = cells.iter().filter_map(|c| c.detected().zip(c.retained())).collect();
        let all: Vec<Score> = scored.iter().map(|(_, credit)| *credit).collect();
        let misses: Vec<Score> = scored.iter().filter(|(found, _)| !found).map(|(_, credit)| *credit).collect();
        SetResult {
            detected: Proportion::new(scored.len() - misses.len(), cells.len()),
            missed: misses.len(),
            no_verdict: cells.iter().filter(|cell| cell.detected().is_none() && !cell.unrecorded).count(),
            retained_all: Score::mean(&all),
            retained_misses: Score::mean(&misses),
        }
    }
}

/// The share of pairs that were missed: all but those detected and those without two verdicts.
fn miss_rate(result: &SetResult) -> Cell {
    Proportion::new(result.missed, result.detected.n).ratio().map(Score::exact).into()
}

/// The pairs of a set; none of a set that the evaluator is not asked about.
fn cells_of<'s>(evaluator: &'s EvaluatorSummary, set: &str) -> Option<&'s [RollbackCell]> {
    match set {
        "all" => evaluator.all_rollbacks.as_deref(),
        set => evaluator.rollback_cells.get(set).map(Vec::as_slice),
    }
}

fn row(view: &LedgerView<'_>, evaluator: &EvaluatorSummary, cells: &[RollbackCell]) -> Vec<(&'static str, Cell)> {
    let result = SetResult::of(cells);
    vec![
        ("evaluator", Cell::named(&evaluator.id, view.title(&evaluator.id))),
        ("miss_rate", miss_rate(&result)),
        ("detected", result.detected.into()),
        ("retained_all", result.retained_all.into()),
        ("retained_misses", result.retained_misses.into()),
    ]
}

/// Table B.5 on the set `least`, with detections of `all` and `deepest` beside it.
pub(super) fn table_b5(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let mut table = layout::table_b5()
        .with_column_after("", Column::numbers("detected_all", "Detected (all)"))
        .with_column_after("", Column::numbers("retained_all_all", "Retained (all)"))
        .with_column_after("", Column::numbers("detected_deepest", "Detected (deepest)"))
        .with_column_after("", Column::numbers("retained_all_deepest", "Retained (deepest)"))
        .with_note(
            "The first columns are of the set `least` (lowest-index satisfied predicate, shortest inverse); `all` has \
             one rollback a satisfied predicate, `deepest` undoes as many predicates as legal inverses reach. GoalPatch \
             tasks are out of the metric.",
        );
    for evaluator in &summaries.evaluators {
        let Some(least) = cells_of(evaluator, "least") else { continue };
        let mut cells = row(view, evaluator, least);
        for (set, detected, retained) in
            [("all", "detected_all", "retained_all_all"), ("deepest", "detected_deepest", "retained_all_deepest")]
        {
            let result = cells_of(evaluator, set).map(SetResult::of);
            cells.push((detected, result.as_ref().map_or(NOT_RECORDED, |result| result.detected.into())));
            cells.push((retained, result.map_or(NOT_RECORDED, |result| result.retained_all.into())));
        }
        table.push(cells)?;
    }
    for (id, title) in view.not_recorded() {
        push_not_recorded(&mut table, [("evaluator", Cell::named(id, title))])?;
    }
    Ok(table)
}

/// The three sets in full, one row an evaluator and set.
pub(super) fn by_set(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("set", "Set"),
        Column::words("evaluator", "Evaluator"),
        Column::numbers("detected", "Detected"),
        Column::numbers("miss_rate", "Miss rate"),
        Column::estimates("retained_all", "Retained, all pairs [95% CI]", "retained_all_ci95"),
        Column::estimates("retained_misses", "Retained, misses [95% CI]", "retained_misses_ci95"),
        Column::numbers("no_verdict", "No verdict"),
    ];
    let mut table = Table::new("B.5.sets", "Strict rollbacks by set", columns)
        .with_note("Intervals resample tasks; a task's rollbacks of the set `all` stay together.");
    for set in ROLLBACK_SETS {
        for evaluator in &summaries.evaluators {
            let Some(cells) = cells_of(evaluator, set) else { continue };
            let result = SetResult::of(cells);
            let mut row = row(view, evaluator, cells);
            row.retain(|(key, _)| !key.starts_with("retained"));
            row.extend([
                ("set", Cell::text(set)),
                ("no_verdict", Cell::count(result.no_verdict)),
                ("retained_all", estimate(view, cells, result.retained_all, false)?),
                ("retained_misses", estimate(view, cells, result.retained_misses, true)?),
            ]);
            table.push(row)?;
        }
        let unasked = summaries.evaluators.iter().filter(|evaluator| cells_of(evaluator, set).is_none());
        let unasked = unasked.map(|evaluator| (evaluator.id.as_str(), view.title(&evaluator.id)));
        for (id, title) in unasked.chain(view.not_recorded()) {
            push_not_recorded(&mut table, [("set", Cell::text(set)), ("evaluator", Cell::named(id, title))])?;
        }
    }
    Ok(table)
}

/// A mean over pairs with an interval that resamples tasks, each with all its pairs.
fn estimate(
    view: &LedgerView<'_>,
    cells: &[RollbackCell],
    mean: Option<Score>,
    misses_only: bool,
) -> Result<Cell, RunError> {
    let Some(mean) = mean else { return Ok(None::<Score>.into()) };
    let mut by_task: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
    for cell in cells {
        let sums = by_task.entry(&cell.task).or_default();
        let missed = cell.detected().zip(cell.retained()).filter(|(detected, _)| !(misses_only && *detected));
        if let Some((_, credit)) = missed {
            sums.0 += credit.to_f64();
            sums.1 += 1;
        }
    }
    let clusters: Vec<(f64, u32)> = by_task.into_values().collect();
    let interval = view.bootstrap.statistic(clusters.len(), |draws| {
        let drawn = draws.iter().map(|task| clusters[*task as usize]);
        let (sum, pairs) = drawn.fold((0.0, 0), |(sum, pairs), (credit, count)| (sum + credit, pairs + count));
        (pairs > 0).then(|| sum / f64::from(pairs))
    });
    let interval = interval.map_err(|error| RunError::Metric(error.into()))?;
    let bound = |value: f64| Score::measured(value).ok();
    let interval = interval.and_then(|interval| bound(interval.low).zip(bound(interval.high)));
    let interval = interval.map(|(low, high)| crate::statistics::Interval { low, high });
    Ok(Cell::Estimate { mean, interval })
}
