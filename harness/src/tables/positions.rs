//! Tables 1, A.3 and C.1, and the audits: what was frozen, and what was checked.

use crate::run::error::RunError;
use crate::run::manifest::FrozenAttacker;
use crate::table::{Cell, Column, Table, layout};
use crate::tables::SEMANTIC;
use crate::tables::semantic::described;
use crate::tables::view::LedgerView;

/// Table 1: time, attribution, decomposition.
pub(super) fn table_1(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let short = |rule: &str| {
        match rule {
            "historical maximum" => "historical",
            "terminal current state" => "current",
            "terminal success" => "terminal",
            other => return other.to_owned(),
        }
        .to_owned()
    };
    positions(view, layout::table_1(), "time", short)
}

/// Table A.3: temporal rule, attribution, decomposition.
pub(super) fn table_a3(view: &LedgerView<'_>) -> Result<Table, RunError> {
    positions(view, layout::table_a3(), "temporal_rule", str::to_owned)
}

fn positions(
    view: &LedgerView<'_>,
    mut table: Table,
    time: &str,
    word: impl Fn(&str) -> String,
) -> Result<Table, RunError> {
    for evaluator in view.evaluators() {
        table.push([
            ("evaluator", Cell::named(&evaluator.id, &evaluator.title)),
            (time, Cell::text(word(&evaluator.temporal_rule))),
            ("attribution", Cell::text(&evaluator.attribution)),
            ("decomposition", Cell::text(&evaluator.decomposition)),
        ])?;
    }
    let decompositions = ["public schema", "independent checklist"];
    for ((id, title), decomposition) in SEMANTIC.into_iter().zip(decompositions) {
        if !view.has_evaluator(id) {
            table.push([
                ("evaluator", Cell::named(id, title)),
                (time, Cell::text("semantic")),
                ("attribution", Cell::text("prompted")),
                ("decomposition", Cell::text(decomposition)),
            ])?;
        }
    }
    Ok(table)
}

/// Table C.1: the frozen record.
pub(super) fn table_c1(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let manifest = view.manifest;
    let held_out = view.held_out().count();
    let development = view.development().count();
    let search = match &manifest.attacker {
        FrozenAttacker::Search { max_steps, max_states, .. } => {
            let length = max_steps.map_or("any length".to_owned(), |steps| format!("at most {steps} steps"));
            format!("exact search, {length}, at most {max_states} states, one attempt a task and target")
        }
        FrozenAttacker::Patterns { strategies } => {
            format!("{} patterns, one attempt each: {}", strategies.len(), strategies.join(", "))
        }
        FrozenAttacker::Llm { budget, feedback, prompts, role } => {
            format!("{}, K = {budget}, feedback {feedback}, prompts {prompts}", described(role))
        }
        FrozenAttacker::File { candidates } => format!("{} candidate files, one attempt each", candidates.len()),
    };
    let evaluators: Vec<String> =
        manifest.evaluators.iter().map(|evaluator| format!("{} v{}", evaluator.id, evaluator.version)).collect();
    let bootstrap = &manifest.bootstrap;
    let rows = [
        ("Environment", format!("{}, parthack {}", manifest.serializer, manifest.versions.parthack)),
        (
            "Tasks",
            format!(
                "suite {} {}, hash {}; {development} development and {held_out} held-out tasks",
                manifest.suite.id, manifest.suite.version, manifest.suite.hash
            ),
        ),
        ("Attack search", format!("{search}; ties by attempt order; reference target {}", manifest.reference_target)),
        ("Evaluators", evaluators.join(", ")),
        (
            "Certification",
            format!("{}, rollback sets {}", manifest.versions.certifier_protocol, manifest.rollback_sets.join(", ")),
        ),
        (
            "Analysis",
            format!(
                "success above {}, percentile bootstrap of {} resamples, seed {}, tail {}",
                manifest.thresholds.attack, bootstrap.resamples, bootstrap.seed, bootstrap.tail
            ),
        ),
        ("Manifest", manifest.hash().hex()),
    ];
    let mut table = layout::table_c1();
    for (component, record) in rows {
        table.push([("component", Cell::text(component)), ("record", Cell::text(record))])?;
    }
    Ok(table)
}

/// The audits of P §4.3 that a run records.
pub(super) fn audits(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("audit", "Audit"),
        Column::numbers("checked", "Checked"),
        Column::numbers("faults", "Faults"),
    ];
    let mut table = Table::new("audits", "Integrity audits", columns);
    for audit in view.audits() {
        let count = |count: u64| Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX));
        table.push([
            ("audit", Cell::text(&audit.name)),
            ("checked", count(audit.checked)),
            ("faults", count(audit.faults)),
        ])?;
    }
    Ok(table)
}
