//! Table 6.1: the controlled 2×2 of temporal accounting and attribution (P §6.1), exploratory.

use crate::run::error::RunError;
use crate::statistics::EXPLORATORY;
use crate::statistics::mechanism::{PairedDifference, PerTask, inflation_per_task, paired_difference};
use crate::statistics::rollback::retained_per_task;
use crate::table::{Cell, Missing, Table, layout};
use crate::tables::summaries::{EvaluatorSummary, Summaries};
use crate::tables::view::LedgerView;

/// Contrasts: key, name, from, to.
const CONTRASTS: [(&str, &str, &str, &str); 4] = [
    ("temporal", "Predicate-Max → CSPS", "predicate-max", "csps"),
    ("temporal_attributed", "CAPE-Max → Lightweight CAPE", "cape-max", "lightweight-cape"),
    ("attribution_historical", "Predicate-Max → CAPE-Max", "predicate-max", "cape-max"),
    ("attribution_current", "CSPS → Lightweight CAPE", "csps", "lightweight-cape"),
];

/// Table 6.1, with the four edges of the 2×2.
pub(super) fn table_6_1(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let mut table = layout::table_6_1().with_note(format!(
        "Mean reduction of false credit on A_ref and on rollbacks of the set `least`; {EXPLORATORY}."
    ));
    for (key, name, from, to) in CONTRASTS {
        let pair = summaries.evaluator(from).zip(summaries.evaluator(to));
        table.push([
            ("contrast", Cell::named(key, name)),
            ("attacks", reduction(view, pair, |evaluator| inflation_per_task(&evaluator.shared))?),
            (
                "rollbacks",
                reduction(view, pair, |evaluator| {
                    retained_per_task(evaluator.rollback_cells.get("least").map(Vec::as_slice).unwrap_or_default())
                })?,
            ),
        ])?;
    }
    Ok(table)
}

fn reduction(
    view: &LedgerView<'_>,
    pair: Option<(&EvaluatorSummary, &EvaluatorSummary)>,
    per_task: impl Fn(&EvaluatorSummary) -> Vec<PerTask>,
) -> Result<Cell, RunError> {
    let Some((from, to)) = pair else { return Ok(Cell::Missing(Missing::NotRecorded)) };
    let PairedDifference { mean, .. } = paired_difference(&per_task(from), &per_task(to), &view.bootstrap)?;
    Ok(mean.into())
}
