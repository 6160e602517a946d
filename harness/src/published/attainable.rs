//! Which printed per-task inflations any trajectory could have produced.
//!
//! A Historical or CAPE-Max score is k/m. An eligible adversary ends at H's vectors, so its running maximum is at least
//! P_state(H) (P_agent(H) is the same on the honest set), and H itself scores P_state(H) as honest MAE is 0. So
//! Δ = k/m − P_state(H) for a whole k with P_state(H) ≤ k/m ≤ 1. Values are compared at the three decimals printed.

use crate::exact::{Ratio, decimal};
use crate::published::PublishedError;
use crate::published::data::{Published, Task};

/// A printed per-task inflation of Table B.1 and what its task allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attainability {
    /// `historical` or `cape-max`.
    pub evaluator: &'static str,
    /// Task id.
    pub task: String,
    /// Number of goal predicates.
    pub m: u32,
    /// P_state(H).
    pub p_state_honest: Ratio,
    /// Printed Δ.
    pub published: Ratio,
    /// Every Δ that a trajectory could have, ascending.
    pub attainable: Vec<Ratio>,
    /// Whether the printed Δ is one of them at three decimals.
    pub is_attainable: bool,
}

/// A printed inflation of Table B.4, which names no task, and the tasks that allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankAttainability {
    /// `historical` or `cape-max`.
    pub target: &'static str,
    /// Rank, from 1.
    pub rank: usize,
    /// Printed Δ.
    pub published: Ratio,
    /// Held-out tasks of which some trajectory has this Δ at three decimals.
    pub tasks: Vec<String>,
}

/// Every Δ that a Historical or CAPE-Max score allows on a task, ascending.
///
/// # Errors
/// [`PublishedError::Exact`] if `m` is 0.
pub fn attainable_inflations(m: u32, p_state_honest: Ratio) -> Result<Vec<Ratio>, PublishedError> {
    let mut inflations = Vec::new();
    for k in 0..=m {
        let inflation = Ratio::new(i128::from(k), i128::from(m))?.checked_sub(p_state_honest)?;
        if inflation >= Ratio::ZERO {
            inflations.push(inflation);
        }
    }
    Ok(inflations)
}

/// Whether two numbers print alike at three decimals.
pub(crate) fn prints_as(value: Ratio, printed: Ratio) -> bool {
    decimal(value) == decimal(printed)
}

/// Table B.1's Historical column (and CAPE-Max, which equals it) against what each task allows.
///
/// # Errors
/// [`PublishedError::UnknownTask`] if Table B.1 names a task that Table A.2 lacks; [`PublishedError::Exact`].
pub fn attainability(published: &Published) -> Result<Vec<Attainability>, PublishedError> {
    let mut rows = Vec::new();
    for evaluator in ["historical", "cape-max"] {
        for row in &published.ledger.shared {
            let task = find(published, &row.task)?;
            let attainable = attainable_inflations(task.m, task.p_state_honest)?;
            let is_attainable = attainable.iter().any(|value| prints_as(*value, row.historical));
            rows.push(Attainability {
                evaluator,
                task: row.task.clone(),
                m: task.m,
                p_state_honest: task.p_state_honest,
                published: row.historical,
                attainable,
                is_attainable,
            });
        }
    }
    Ok(rows)
}

/// Table B.4's Historical and CAPE-Max columns against what any held-out task allows.
///
/// # Errors
/// [`PublishedError::Exact`].
pub fn rank_attainability(published: &Published) -> Result<Vec<RankAttainability>, PublishedError> {
    let tasks: Vec<(&Task, Vec<Ratio>)> = (published.manifest.tasks.iter())
        .map(|task| Ok((task, attainable_inflations(task.m, task.p_state_honest)?)))
        .collect::<Result<_, PublishedError>>()?;
    let ranked = &published.ledger.ranked;
    let mut rows = Vec::new();
    for (target, values) in [("historical", &ranked.historical), ("cape-max", &ranked.cape_max)] {
        for (place, value) in values.iter().enumerate() {
            let allows = |allowed: &[Ratio]| allowed.iter().any(|other| prints_as(*other, *value));
            let tasks = tasks.iter().filter(|(_, allowed)| allows(allowed));
            rows.push(RankAttainability {
                target,
                rank: place + 1,
                published: *value,
                tasks: tasks.map(|(task, _)| task.task.clone()).collect(),
            });
        }
    }
    Ok(rows)
}

fn find<'a>(published: &'a Published, id: &str) -> Result<&'a Task, PublishedError> {
    let mut tasks = published.manifest.tasks.iter();
    tasks.find(|task| task.task == id).ok_or_else(|| PublishedError::UnknownTask { task: id.to_owned() })
}
