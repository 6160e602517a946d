//! The suite's task lists, against which every denominator is checked (P C.2's automated assertions).

use std::collections::{BTreeMap, BTreeSet};

use crate::statistics::bootstrap::BootstrapError;

/// Why a metric was not computed. Every variant is a fault of the ledger, not of an evaluator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// A ledger without exactly one cell for each task that the denominator counts.
    #[error(
        "{metric}: found {found} cells, expected {expected}{}{}{}",
        listed("missing", missing),
        listed("unexpected", unexpected),
        listed("repeated", repeated)
    )]
    Denominator {
        /// The metric or quantity.
        metric: String,
        /// The denominator of P B.1 for this suite.
        expected: usize,
        /// Cells found.
        found: usize,
        /// Tasks without a cell.
        missing: Vec<String>,
        /// Cells of tasks that the denominator does not count.
        unexpected: Vec<String>,
        /// Tasks with more than one cell.
        repeated: Vec<String>,
    },
    /// A suite whose task count is not the one asserted (18 and 14 for `pb-cste-1`).
    #[error("suite: found {found} {counted}, expected {expected}")]
    SuiteCount {
        /// What was counted.
        counted: &'static str,
        /// The asserted count.
        expected: usize,
        /// The suite's count.
        found: usize,
    },
    /// A task listed twice, or a rollback task that is no task of the suite.
    #[error("suite: task {task} {fault}")]
    Suite {
        /// The task.
        task: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A rollback pair without strict progress loss: P_state(R) ≥ P_state(H).
    #[error("rollback of {task}: found P_state(R) = {rollback}, expected less than P_state(H) = {honest}")]
    NotStrict {
        /// The task.
        task: String,
        /// P_state(H).
        honest: String,
        /// P_state(R).
        rollback: String,
    },
    /// No interval could be made.
    #[error("intervals")]
    Bootstrap(#[from] BootstrapError),
}

fn listed(label: &str, tasks: &[String]) -> String {
    match tasks {
        [] => String::new(),
        tasks => format!("; {label}: {}", tasks.join(", ")),
    }
}

/// The held-out tasks of a suite, and those of them that claim a strict rollback.
///
/// Order is the suite's; it is the order of every per-task listing and of resampling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteShape {
    tasks: Vec<String>,
    rollback_tasks: Vec<String>,
}

impl SuiteShape {
    /// A suite of these tasks; `rollback_tasks` is a part of `tasks`.
    ///
    /// # Errors
    /// [`MetricError::Suite`] for a repeated task or a rollback task outside `tasks`.
    pub fn new(tasks: Vec<String>, rollback_tasks: Vec<String>) -> Result<SuiteShape, MetricError> {
        let known = distinct(&tasks)?;
        let rollbacks = distinct(&rollback_tasks)?;
        if let Some(task) = rollbacks.difference(&known).next() {
            let task = (*task).to_owned();
            return Err(MetricError::Suite { task, fault: "claims a rollback but is no task" });
        }
        Ok(SuiteShape { tasks, rollback_tasks })
    }

    /// Asserts the counts that P names for a suite: 18 and 14 for `pb-cste-1`.
    ///
    /// # Errors
    /// [`MetricError::SuiteCount`].
    pub fn expect_counts(&self, tasks: usize, rollback_tasks: usize) -> Result<(), MetricError> {
        let counts = [
            ("held-out tasks", tasks, self.tasks.len()),
            ("rollback tasks", rollback_tasks, self.rollback_tasks.len()),
        ];
        match counts.into_iter().find(|(_, expected, found)| expected != found) {
            None => Ok(()),
            Some((counted, expected, found)) => Err(MetricError::SuiteCount { counted, expected, found }),
        }
    }

    /// The held-out tasks: the denominator of coverage, yield and honest MAE.
    pub fn tasks(&self) -> &[String] {
        &self.tasks
    }

    /// The rollback tasks: the denominator of detection and miss rate.
    pub fn rollback_tasks(&self) -> &[String] {
        &self.rollback_tasks
    }
}

fn distinct(tasks: &[String]) -> Result<BTreeSet<&str>, MetricError> {
    let mut seen = BTreeSet::new();
    for task in tasks {
        if !seen.insert(task.as_str()) {
            return Err(MetricError::Suite { task: task.clone(), fault: "is listed twice" });
        }
    }
    Ok(seen)
}

/// Puts cells into the order of `tasks`, after checking that each task has exactly one.
///
/// # Errors
/// [`MetricError::Denominator`] with every task at fault.
pub(crate) fn align<'a, C>(
    metric: &str,
    tasks: &[String],
    cells: &'a [C],
    task_of: impl Fn(&C) -> &str,
) -> Result<Vec<&'a C>, MetricError> {
    let expected: BTreeSet<&str> = tasks.iter().map(String::as_str).collect();
    let mut by_task: BTreeMap<&str, &'a C> = BTreeMap::new();
    let mut unexpected = Vec::new();
    let mut repeated = Vec::new();
    for cell in cells {
        let task = task_of(cell);
        match expected.get(task) {
            None => unexpected.push(task.to_owned()),
            Some(task) => {
                if by_task.insert(task, cell).is_some() {
                    repeated.push((*task).to_owned());
                }
            }
        }
    }
    let missing: Vec<String> = tasks.iter().filter(|task| !by_task.contains_key(task.as_str())).cloned().collect();
    if missing.is_empty() && unexpected.is_empty() && repeated.is_empty() {
        return Ok(tasks.iter().map(|task| by_task[task.as_str()]).collect());
    }
    Err(MetricError::Denominator {
        metric: metric.to_owned(),
        expected: tasks.len(),
        found: cells.len(),
        missing,
        unexpected,
        repeated,
    })
}
