//! P's tables from a run's manifest and ledger: nothing else is read, and nothing is assumed that can be counted.
//!
//! Aggregates are over held-out tasks; development tasks are listed apart. Denominators are the suite's own counts and
//! are checked; for `pb-cste-1` they are 18 and 14 (SPEC §15.11).

mod attacks;
mod development;
mod differences;
mod mechanism;
mod positions;
mod rollbacks;
mod summaries;
mod tasks;
mod view;

use std::collections::BTreeMap;

use crate::ledger::Ledger;
use crate::run::error::RunError;
use crate::run::manifest::Manifest;
use crate::table::{Format, Table, render};

pub use summaries::{EvaluatorSummary, Summaries, TargetSummary};
pub use view::LedgerView;

/// Semantic evaluators of P that a run without recordings prints as "not recorded": id and title.
pub const SEMANTIC: [(&str, &str); 2] = [("llm-judge", "LLM judge"), ("idj", "IDJ")];

/// Ids of the tables that a run prints when it ends.
pub const CORE: [&str; 5] = ["2", "B.2", "B.3", "B.5", "6.1"];

/// Every table of a run: 1, 2, 3, 6.1, A.1–A.3, A.5, B.1–B.6, C.1, then what P has no table for: `B.5.sets` (rollbacks
/// by set), `differences` (where the two historical rules part), `development`, `audits`.
///
/// # Errors
/// [`RunError::Metric`] if a denominator is not what the suite says, [`RunError::Incomplete`] for a missing record.
pub fn build_tables(manifest: &Manifest, ledger: &Ledger) -> Result<Vec<Table>, RunError> {
    let view = LedgerView::new(manifest, ledger)?;
    let summaries = Summaries::compute(&view)?;
    Ok(vec![
        positions::table_1(&view)?,
        attacks::table_2(&view, &summaries)?,
        attacks::table_3(&view, &summaries)?,
        mechanism::table_6_1(&view, &summaries)?,
        tasks::table_a1(&view)?,
        tasks::table_a2(&view)?,
        positions::table_a3(&view)?,
        attacks::table_a5(&view, &summaries)?,
        attacks::table_b1(&view, &summaries)?,
        attacks::table_b2(&view, &summaries)?,
        attacks::table_b3(&view, &summaries)?,
        attacks::table_b4(&view, &summaries)?,
        rollbacks::table_b5(&view, &summaries)?,
        attacks::table_b6(&view, &summaries)?,
        positions::table_c1(&view)?,
        rollbacks::by_set(&view, &summaries)?,
        differences::table(&view)?,
        development::table(&view)?,
        positions::audits(&view)?,
    ])
}

/// The files of `tables/`: every table in each of the five formats.
#[must_use]
pub fn files(tables: &[Table]) -> BTreeMap<String, Vec<u8>> {
    let formats = [
        ("tables.csv", Format::Csv),
        ("tables.json", Format::Json),
        ("tables.md", Format::Markdown),
        ("tables.tex", Format::Latex),
        ("tables.txt", Format::Text),
    ];
    formats.into_iter().map(|(name, format)| (name.to_owned(), render(tables, format).into_bytes())).collect()
}
