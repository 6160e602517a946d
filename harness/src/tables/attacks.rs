//! Tables 2, 3, A.5, B.1–B.4 and B.6: inflation on the shared set and on each target's own.

use crate::run::error::RunError;
use crate::statistics::attack::{AttackSummary, threshold_counts};
use crate::statistics::{Proportion, Score};
use crate::table::layout::{self, Heading, THRESHOLD_KEYS};
use crate::table::{Cell, Column, Missing, Table};
use crate::tables::summaries::{EvaluatorSummary, Summaries, TargetSummary, inflation_cell};
use crate::tables::view::{LedgerView, NOT_RECORDED, push_not_recorded};

/// Rows of what the run has no numbers of: evaluators that don't cover the held-out tasks; the paper's judges as targets.
fn push_others(view: &LedgerView<'_>, table: &mut Table, head: &str) -> Result<(), RunError> {
    let others = if head == "target" { view.untargeted() } else { view.not_recorded() };
    others.into_iter().try_for_each(|(id, title)| push_not_recorded(table, [(head, Cell::named(id, title))]))
}

/// Targets without numbers of their own, id and title: those of the run that don't cover the held-out tasks, and the paper's
/// judges that it does not attack.
fn not_recorded_targets<'v>(view: &'v LedgerView<'_>, summaries: &'v Summaries) -> Vec<Heading<'v>> {
    let partial = summaries.targets.iter().filter(|target| target.cells.is_none());
    let mut targets: Vec<Heading<'_>> = partial.map(|target| (target.id.as_str(), view.title(&target.id))).collect();
    targets.extend(view.untargeted());
    targets
}

fn no_verdict_column() -> Column {
    Column::numbers("no_verdict", "No verdict")
}

fn attack_parts(attack: &AttackSummary) -> [(&'static str, Cell); 4] {
    [
        ("mean_inflation", attack.mean_inflation.into()),
        ("conditional_asr", attack.conditional_asr.into()),
        ("end_to_end_yield", attack.end_to_end_yield.into()),
        ("no_verdict", Cell::count(attack.no_verdict)),
    ]
}

fn target_row(view: &LedgerView<'_>, target: &TargetSummary) -> Vec<(&'static str, Cell)> {
    let mut cells = vec![("target", Cell::named(&target.id, view.title(&target.id)))];
    match &target.attack {
        Some(attack) => {
            cells.push(("coverage", attack.coverage.into()));
            cells.extend(attack_parts(attack));
        }
        None => {
            let keys = ["coverage", "mean_inflation", "conditional_asr", "end_to_end_yield", "no_verdict"];
            cells.extend(keys.map(|key| (key, NOT_RECORDED)));
        }
    }
    cells
}

/// Table 2: targeted attacks, with candidate validity.
pub(super) fn table_2(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let mut table = layout::table_2()
        .with_column_after("", no_verdict_column())
        .with_note("Rules that are functions of the certified vectors are zero by Proposition 1; search confirms it.");
    for target in &summaries.targets {
        let mut cells = target_row(view, target);
        cells.push(("valid", Proportion::new(target.protocol_valid, target.generated).into()));
        table.push(cells)?;
    }
    push_others(view, &mut table, "target")?;
    Ok(table)
}

/// Table B.3: targeted attacks.
pub(super) fn table_b3(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let mut table = layout::table_b3().with_column_after("", no_verdict_column());
    for target in &summaries.targets {
        table.push(target_row(view, target))?;
    }
    push_others(view, &mut table, "target")?;
    Ok(table)
}

/// Table A.5: candidate accounting.
pub(super) fn table_a5(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let mut table = layout::table_a5();
    for target in &summaries.targets {
        let counted =
            |of: fn(&AttackSummary) -> usize| target.attack.as_ref().map_or(NOT_RECORDED, |a| Cell::count(of(a)));
        table.push([
            ("target", Cell::named(&target.id, view.title(&target.id))),
            ("generated", Cell::count(target.generated)),
            ("protocol_valid", Cell::count(target.protocol_valid)),
            ("matched_tasks", counted(|attack| attack.coverage.k)),
            ("successful", counted(|attack| attack.end_to_end_yield.k)),
        ])?;
    }
    push_others(view, &mut table, "target")?;
    Ok(table)
}

/// Table 3: the shared set in short.
pub(super) fn table_3(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let mut table = layout::table_3().with_note(REFERENCE_NOTE);
    for evaluator in &summaries.evaluators {
        table.push([
            ("evaluator", Cell::named(&evaluator.id, view.title(&evaluator.id))),
            ("honest_mae", mean(evaluator.honest.honest_mae.map(|estimate| estimate.mean))),
            ("mean_inflation", mean(evaluator.attack.mean_inflation.map(|estimate| estimate.mean))),
            ("rollback", rollback(evaluator)),
        ])?;
    }
    push_others(view, &mut table, "evaluator")?;
    Ok(table)
}

const REFERENCE_NOTE: &str = "Rollbacks of the set `least`; Terminal Outcome's are auxiliary (it is 0 on every honest \
                              trajectory and can't fall).";

fn mean(score: Option<Score>) -> Cell {
    score.into()
}

fn rollback(evaluator: &EvaluatorSummary) -> Cell {
    evaluator.rollbacks.get("least").map_or(NOT_RECORDED, |summary| summary.detected.into())
}

/// Table B.2: the shared set.
pub(super) fn table_b2(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let mut table = layout::table_b2().with_column_after("", no_verdict_column()).with_note(REFERENCE_NOTE);
    for evaluator in &summaries.evaluators {
        let mut cells = vec![
            ("evaluator", Cell::named(&evaluator.id, view.title(&evaluator.id))),
            ("honest_mae", mean(evaluator.honest.honest_mae.map(|estimate| estimate.mean))),
            ("rollback", rollback(evaluator)),
        ];
        cells.extend(attack_parts(&evaluator.attack));
        table.push(cells)?;
    }
    push_others(view, &mut table, "evaluator")?;
    Ok(table)
}

/// Table B.1: per-task inflation on the shared set.
pub(super) fn table_b1(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let mut headings: Vec<Heading<'_>> = headings(view, summaries.evaluators.iter().map(|e| e.id.as_str()));
    let others = view.not_recorded();
    headings.extend(&others);
    let not_recorded = || others.iter().map(|(id, _)| (*id, NOT_RECORDED));
    let mut table = layout::table_b1(&headings);
    for (place, task) in view.shape.tasks().iter().enumerate() {
        let mut cells = vec![("task", Cell::text(task))];
        cells.extend(summaries.evaluators.iter().map(|e| (e.id.as_str(), inflation_cell(e.shared[place].outcome))));
        cells.extend(not_recorded());
        table.push(cells)?;
    }
    let of = |title: &str, cell: fn(&AttackSummary) -> Cell| {
        let mut cells = vec![("task", Cell::text(title))];
        cells.extend(summaries.evaluators.iter().map(|e| (e.id.as_str(), cell(&e.attack))));
        cells.extend(not_recorded());
        cells
    };
    table.push(of("Mean", |attack| attack.mean_inflation.map(|estimate| estimate.mean).into()))?;
    table.push(of("ASR", |attack| attack.conditional_asr.into()))?;
    Ok(table)
}

fn headings<'h>(view: &'h LedgerView<'_>, ids: impl Iterator<Item = &'h str>) -> Vec<Heading<'h>> {
    ids.map(|id| (id, view.title(id))).collect()
}

/// Table B.4: inflation by rank within each target.
pub(super) fn table_b4(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let ranked: Vec<(&str, Vec<Score>)> = (summaries.targets.iter())
        .filter_map(|target| {
            let cells = target.cells.as_ref()?;
            let mut scores: Vec<Score> = cells.iter().filter_map(|cell| cell.outcome.inflation()).collect();
            scores.sort_by(|left, right| right.compare(*left));
            Some((target.id.as_str(), scores))
        })
        .collect();
    let others = not_recorded_targets(view, summaries);
    let mut headings = headings(view, ranked.iter().map(|(id, _)| *id));
    headings.extend(&others);
    let mut table = layout::table_b4(&headings)
        .with_note("Values are sorted within a target; a row names no task and no common candidate.");
    let ranks = ranked.iter().map(|(_, scores)| scores.len()).max().unwrap_or(0);
    for place in 0..ranks {
        let cell = |scores: &[Score]| scores.get(place).map_or(Cell::Missing(Missing::Unmatched), |s| Cell::Number(*s));
        let mut cells = vec![("rank", Cell::count(place + 1))];
        cells.extend(ranked.iter().map(|(id, scores)| (*id, cell(scores))));
        cells.extend(others.iter().map(|(id, _)| (*id, NOT_RECORDED)));
        table.push(cells)?;
    }
    Ok(table)
}

/// Table B.6: successes under strict thresholds.
pub(super) fn table_b6(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let mut table = layout::table_b6();
    let shared = summaries.evaluators.iter().map(|e| ("shared", &e.id, &e.shared));
    let own = summaries.targets.iter().filter_map(|t| Some(("target", &t.id, t.cells.as_ref()?)));
    for (set, id, cells) in shared.chain(own) {
        let counts = threshold_counts(&view.shape, cells, &view.sensitivity)?;
        let mut row = vec![("set", Cell::text(set)), ("evaluator", Cell::named(id, view.title(id)))];
        row.extend(THRESHOLD_KEYS.into_iter().zip(counts.into_iter().map(Cell::count)));
        table.push(row)?;
    }
    for (set, others) in [("shared", view.not_recorded()), ("target", not_recorded_targets(view, summaries))] {
        for (id, title) in others {
            push_not_recorded(&mut table, [("set", Cell::text(set)), ("evaluator", Cell::named(id, title))])?;
        }
    }
    Ok(table)
}
