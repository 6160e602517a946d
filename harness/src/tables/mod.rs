//! P's tables from a run's manifest and ledger: nothing else is read, and nothing is assumed that can be counted.
//!
//! Aggregates are over held-out tasks; development tasks are listed apart. Denominators are the suite's own counts and
//! are checked; for `pb-cste-1` they are 18 and 14 (SPEC §15.11).

mod attacks;
mod budgets;
mod checklists;
mod development;
mod differences;
mod mechanism;
mod positions;
mod rollbacks;
mod semantic;
mod summaries;
mod tasks;
mod view;

use std::collections::BTreeMap;

use crate::ledger::Ledger;
use crate::run::error::RunError;
use crate::run::manifest::{FrozenAttacker, Manifest};
use crate::table::{Cell, Format, Row, Table, render};

pub use summaries::{EvaluatorSummary, Summaries, TargetSummary};
pub use view::LedgerView;

/// Semantic evaluators of P that a run without recordings prints as "not recorded": id and title.
pub const SEMANTIC: [(&str, &str); 2] = [("llm-judge", "LLM Judge"), ("idj", "IDJ")];

/// Ids of the tables that a run prints when it ends.
pub const CORE: [&str; 5] = ["2", "B.2", "B.3", "B.5", "6.1"];

/// Every table of a run: 1, 2, 3, 6.1, A.1–A.5, B.1–B.6, C.1, then what P has no table for: `B.5.sets` (rollbacks by set),
/// `figure-B.1` (Figure B.1's data), `strategies` (profile by pattern), `noise` (noise floor and order sensitivity of
/// judges), `aggregates` (of repeated judgements), `checklists`, `alignment` (of checklists with the goal), `differences` (where the two historical rules part), `development`,
/// `A.5.development` and `figure-B.1.development` (attempts of patterns or a model there), `audits`.
///
/// # Errors
/// [`RunError::Metric`] if a denominator is not what the suite says, [`RunError::Incomplete`] for a missing record.
pub fn build_tables(manifest: &Manifest, ledger: &Ledger) -> Result<Vec<Table>, RunError> {
    let view = LedgerView::new(manifest, ledger)?;
    let summaries = Summaries::compute(&view)?;
    let mut tables = vec![
        positions::table_1(&view)?,
        attacks::table_2(&view, &summaries)?,
        attacks::table_3(&view, &summaries)?,
        mechanism::table_6_1(&view, &summaries)?,
        tasks::table_a1(&view)?,
        tasks::table_a2(&view)?,
        positions::table_a3(&view)?,
        semantic::table_a4(&view)?,
        attacks::table_a5(&view, &summaries)?,
        attacks::table_b1(&view, &summaries)?,
        attacks::table_b2(&view, &summaries)?,
        attacks::table_b3(&view, &summaries)?,
        attacks::table_b4(&view, &summaries)?,
        rollbacks::table_b5(&view, &summaries)?,
        attacks::table_b6(&view, &summaries)?,
        positions::table_c1(&view)?,
        rollbacks::by_set(&view, &summaries)?,
        budgets::figure_b1(&view)?,
        budgets::strategies(&view)?,
        semantic::noise(&view, &summaries)?,
        semantic::aggregates(&view)?,
        checklists::conditions(&view)?,
        checklists::alignment(&view)?,
        differences::table(&view)?,
        development::table(&view)?,
        development::table_a5(&view)?,
        development::figure_b1(&view)?,
        positions::audits(&view)?,
    ];
    // What a run has no part for leaves no empty table.
    tables.retain(|table| !OPTIONAL.contains(&table.id.as_str()) || !table.rows.is_empty());
    for table in &mut tables {
        let judges = judges_of(table, &view);
        let attacked = speaks_of_attacked(table, manifest);
        if !attacked && judges.is_empty() {
            continue;
        }
        let of_checklists = CHECKLISTS.contains(&table.id.as_str());
        let Some(models) = semantic::models_note(manifest, &judges, of_checklists) else { continue };
        let note = table.note.take().map(|note| format!("{note} {models}"));
        table.note = Some(note.unwrap_or(models));
    }
    Ok(tables)
}

/// Tables of what was made before anything was judged.
const CHECKLISTS: [&str; 2] = ["checklists", "alignment"];

/// Tables that a run has only if it has rows for them.
const OPTIONAL: [&str; 7] =
    ["strategies", "noise", "aggregates", "checklists", "alignment", "A.5.development", "figure-B.1.development"];

/// Columns of numbers that say what a row is about, or how much of it is missing.
const DESCRIBING: [&str; 4] = ["budget", "m", "no_verdict", "p_state_honest"];

/// Whether a cell is a result: no name, no words, neither missing nor a share of nothing.
fn is_result(key: &str, cell: &Cell) -> bool {
    let is_none = match cell {
        Cell::Named { .. } | Cell::Text(_) | Cell::Missing(_) => true,
        Cell::Fraction { n, .. } => *n == 0,
        _ => false,
    };
    !is_none && !DESCRIBING.contains(&key)
}

/// Whether a table has results in a row or a column of this id.
fn has_results(table: &Table, id: &str) -> bool {
    let named = |cell: &Cell| matches!(cell, Cell::Named { id: of, .. } if of == id);
    let of_row = |row: &Row| row.values().any(named) && row.iter().any(|(key, cell)| is_result(key, cell));
    let of_column = |row: &Row| row.get(id).is_some_and(|cell| is_result(id, cell));
    table.rows.iter().any(|row| of_row(row) || of_column(row))
}

/// The semantic judges that a table has results of, among those that were asked at all.
fn judges_of<'m>(table: &Table, view: &LedgerView<'m>) -> Vec<&'m str> {
    let asked = |id: &str| {
        view.judgements().iter().any(|judgement| judgement.evaluator == id && !judgement.exchanges.is_empty())
            || view.checklists().iter().any(|checklist| checklist.evaluator == id && !checklist.exchanges.is_empty())
    };
    let judges = view.manifest.judges().map(|(id, _)| id);
    judges.filter(|id| asked(id) && has_results(table, id)).collect()
}

/// Whether a table has results of a target that a model attacked.
fn speaks_of_attacked(table: &Table, manifest: &Manifest) -> bool {
    let attacked = matches!(manifest.attacker, FrozenAttacker::Llm { .. });
    attacked && manifest.targets.iter().any(|target| has_results(table, target))
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
