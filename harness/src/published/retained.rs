//! What Table A.2 alone says about retained rollback credit, printed as .504 (Historical) and .448 (CAPE-Max).
//!
//! R goes on from H, whose running maximum is P_state(H) for both rules (no transient peak, P_state = P_agent on the
//! honest set). If the inverse steps make no new peak, both rules give R the score P_state(H), and the retained credit
//! of a pair is P_state(H) − P_state(R): some j/m with 1/m ≤ j/m ≤ P_state(H), the same for both rules.

use std::collections::BTreeSet;

use crate::exact::Ratio;
use crate::published::PublishedError;
use crate::published::attainable::prints_as;
use crate::published::data::Published;

/// The retained credits that one task's strict rollbacks can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskBounds {
    /// Task id.
    pub task: String,
    /// Number of goal predicates.
    pub m: u32,
    /// P_state(H).
    pub p_state_honest: Ratio,
    /// Possible retained credits, ascending: 1/m, 2/m, …, P_state(H).
    pub possible: Vec<Ratio>,
}

/// The means over all rollback tasks that one rollback a task can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetainedBounds {
    /// Each task of the rollback metric.
    pub tasks: Vec<TaskBounds>,
    /// Every possible mean, ascending.
    pub means: Vec<Ratio>,
}

impl RetainedBounds {
    /// Derives the bounds.
    ///
    /// # Errors
    /// [`PublishedError::Exact`] if a task has no predicate; [`PublishedError::Empty`] if no task has a rollback.
    pub fn new(published: &Published) -> Result<RetainedBounds, PublishedError> {
        let mut tasks = Vec::new();
        for task in published.manifest.tasks.iter().filter(|task| task.rollback_metric) {
            let mut possible = Vec::new();
            for j in 1..=task.m {
                let credit = Ratio::new(i128::from(j), i128::from(task.m))?;
                if credit <= task.p_state_honest {
                    possible.push(credit);
                }
            }
            let (m, p_state_honest) = (task.m, task.p_state_honest);
            tasks.push(TaskBounds { task: task.task.clone(), m, p_state_honest, possible });
        }
        let means = possible_means(&tasks)?;
        match means.is_empty() {
            true => Err(PublishedError::Empty { what: "rollback tasks of Table A.2" }),
            false => Ok(RetainedBounds { tasks, means }),
        }
    }

    /// The least possible mean: every rollback loses one predicate.
    pub fn least(&self) -> Ratio {
        self.means[0]
    }

    /// The largest possible mean: every rollback loses all.
    pub fn largest(&self) -> Ratio {
        self.means[self.means.len() - 1]
    }

    /// The possible means that print as `printed` at three decimals.
    pub fn printing_as(&self, printed: Ratio) -> Vec<Ratio> {
        self.means.iter().copied().filter(|mean| prints_as(*mean, printed)).collect()
    }
}

/// Every mean of one possible credit a task: sums are built up task by task.
fn possible_means(tasks: &[TaskBounds]) -> Result<Vec<Ratio>, PublishedError> {
    let mut sums = BTreeSet::from([Ratio::ZERO]);
    for task in tasks {
        let mut next = BTreeSet::new();
        for sum in &sums {
            for credit in &task.possible {
                next.insert(sum.checked_add(*credit)?);
            }
        }
        sums = next;
    }
    let count = Ratio::integer(tasks.len() as i64);
    sums.iter().map(|sum| Ok(sum.checked_div(count)?)).collect()
}
