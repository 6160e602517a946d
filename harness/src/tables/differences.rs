//! Where Historical Milestone and Predicate-Max part (SPEC §14.1): P reports them as output-identical.

use crate::ledger::Subject;
use crate::run::error::RunError;
use crate::run::manifest::ROLLBACK_SETS;
use crate::table::{Cell, Column, Table};
use crate::tables::view::LedgerView;

const RULES: [&str; 2] = ["historical-milestone", "predicate-max"];

/// One row a trajectory on which the two rules differ, over all tasks; the note says how many were compared.
pub(super) fn table(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("task", "Task"),
        Column::words("trajectory", "Trajectory"),
        Column::numbers(RULES[0], "Historical Milestone"),
        Column::numbers(RULES[1], "Predicate-Max"),
    ];
    let table = Table::new("differences", "Where Historical Milestone and Predicate-Max part", columns);
    if !RULES.iter().all(|rule| view.has_evaluator(rule)) {
        return Ok(table.with_note("One of the two rules is not among the evaluators."));
    }
    let (mut compared, mut rows) = (0, Vec::new());
    for task in &view.manifest.tasks {
        for subject in subjects(view, &task.id)? {
            compared += 1;
            let score = |rule: &str| view.score(&task.id, &subject, rule);
            let (historical, predicate) = (score(RULES[0])?, score(RULES[1])?);
            if historical != predicate {
                rows.push([
                    ("task", Cell::text(&task.id)),
                    ("trajectory", Cell::text(subject.to_string())),
                    (RULES[0], historical.into()),
                    (RULES[1], predicate.into()),
                ]);
            }
        }
    }
    let mut table = table.with_note(format!("{} of {compared} trajectories differ.", rows.len()));
    for row in rows {
        table.push(row)?;
    }
    Ok(table)
}

fn subjects(view: &LedgerView<'_>, task: &str) -> Result<Vec<Subject>, RunError> {
    let mut subjects = vec![Subject::Honest {}];
    for target in &view.manifest.targets {
        if view.is_matched(task, target)? {
            subjects.push(Subject::Adversary { target: target.clone() });
        }
    }
    for set in ROLLBACK_SETS {
        for rollback in view.rollbacks(task, set) {
            subjects.push(Subject::Rollback { set: set.to_owned(), index: rollback.index });
        }
    }
    Ok(subjects)
}
