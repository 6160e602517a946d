//! P's own tables, rebuilt from P's own per-task values, and what those values can't be.
//!
//! Published and recomputed results stay apart: each aggregate is labelled `recomputed` or `printed only`, each printed
//! one stands beside ours with what came of the comparison, and the printed inflations that no trajectory could have
//! produced are listed. Nothing is tuned to meet a printed number.

pub mod attainable;
pub mod compare;
pub mod data;
mod findings;
pub mod recompute;
pub mod retained;
mod tables;
mod verdicts;

use crate::exact::ExactError;
use crate::statistics::{Bootstrap, MetricError};
use crate::table::{self, Format, Table, TableError};

pub use attainable::{Attainability, RankAttainability};
pub use compare::{Comparison, Status};
pub use retained::RetainedBounds;

/// Why the report could not be made. All variants but the last are faults of the embedded data.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    /// A malformed embedded file.
    #[error("data/published/{file}")]
    Data {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A number that is none.
    #[error("a printed number")]
    Exact(#[from] ExactError),
    /// A fraction that is none.
    #[error("found {found:?}, expected a printed fraction such as \"10/15\"")]
    Fraction {
        /// The text.
        found: String,
    },
    /// A ledger without P's denominators.
    #[error("the printed ledger")]
    Metric(#[from] MetricError),
    /// A task of Table B.1 that Table A.2 lacks.
    #[error("found task {task} in Table B.1, expected a task of Table A.2")]
    UnknownTask {
        /// The task.
        task: String,
    },
    /// An evaluator without per-task values.
    #[error("found evaluator {evaluator} among printed aggregates, expected per-task values for it")]
    UnknownEvaluator {
        /// The evaluator.
        evaluator: String,
    },
    /// Nothing to derive bounds from.
    #[error("found no {what}, expected at least one")]
    Empty {
        /// What there is none of.
        what: &'static str,
    },
    /// A row that does not fit its table, which is a bug.
    #[error("a published table")]
    Table(#[from] TableError),
}

/// Everything that `parthack published` prints.
#[derive(Debug, Clone)]
pub struct PublishedReport {
    /// Tables 1, 2, 3, 6.1, A.1–A.5, B.1–B.6, C.1, then `comparison`, `attainability`, `attainability-ranked`,
    /// `rollback-bounds`, `retained-credit`.
    pub tables: Vec<Table>,
    /// Each printed aggregate beside ours.
    pub comparisons: Vec<Comparison>,
    /// Each printed per-task inflation of a historical rule, and whether any trajectory has it.
    pub attainability: Vec<Attainability>,
    /// The same for the printed ranks of historical targets, over all tasks.
    pub rank_attainability: Vec<RankAttainability>,
    /// What retained rollback credit can be.
    pub retained: RetainedBounds,
}

/// Rebuilds P's tables with 10,000 resamples at seed 0.
///
/// # Errors
/// [`PublishedError`].
pub fn published_report() -> Result<PublishedReport, PublishedError> {
    published_report_with(&Bootstrap::with_seed(0))
}

/// Rebuilds P's tables with given resamples.
///
/// # Errors
/// [`PublishedError`].
pub fn published_report_with(bootstrap: &Bootstrap) -> Result<PublishedReport, PublishedError> {
    let published = data::Published::load()?;
    let recomputed = recompute::Recomputed::new(&published, bootstrap)?;
    let comparisons = findings::comparisons(&published, &recomputed)?;
    let attainability = attainable::attainability(&published)?;
    let rank_attainability = attainable::rank_attainability(&published)?;
    let retained = RetainedBounds::new(&published)?;
    let mut tables = tables::tables(&published, &recomputed)?;
    tables.push(verdicts::comparison_table(&comparisons)?);
    tables.push(verdicts::attainability_table(&attainability)?);
    tables.push(verdicts::rank_attainability_table(&rank_attainability)?);
    tables.push(verdicts::rollback_bounds_table(&retained)?);
    tables.push(verdicts::retained_table(&published, &retained)?);
    Ok(PublishedReport { tables, comparisons, attainability, rank_attainability, retained })
}

/// Renders the whole report; CSV as [`table::render`] says.
pub fn render(report: &PublishedReport, format: Format) -> String {
    table::render(&report.tables, format)
}
