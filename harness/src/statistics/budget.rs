//! Coverage and success under alternative search budgets (P B.5, Figure B.1).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::exact::Ratio;
use crate::statistics::attack::{AttackCell, AttackOutcome, AttackSummary, summarize};
use crate::statistics::bootstrap::Bootstrap;
use crate::statistics::score::Score;
use crate::statistics::suite::{MetricError, SuiteShape};

/// One attempt against one target; [`AttackOutcome::Unmatched`] means that its candidate was not eligible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptCell {
    /// Task id.
    pub task: String,
    /// Place in the order of attempts, from 1.
    pub attempt: u32,
    /// Δ of the target on this candidate, or why there is none.
    pub outcome: AttackOutcome,
}

/// The target's results had the search stopped after `budget` attempts a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetPoint {
    /// Attempts a task.
    pub budget: u32,
    /// Results at that budget.
    pub summary: AttackSummary,
}

/// The candidate that a search over `attempts` selects: the largest Δ, the earliest among equals (P A.5).
///
/// f(H) is the same for all, so the largest Δ is the largest public score. Eligible candidates without a verdict are
/// selected only if no other is eligible.
pub fn select(attempts: &[(u32, AttackOutcome)]) -> AttackOutcome {
    let mut ordered: Vec<&(u32, AttackOutcome)> = attempts.iter().collect();
    ordered.sort_by_key(|(attempt, _)| *attempt);
    let mut best: Option<Score> = None;
    for score in ordered.iter().filter_map(|(_, outcome)| outcome.inflation()) {
        if best.is_none_or(|best| score.compare(best).is_gt()) {
            best = Some(score);
        }
    }
    let unscored = || {
        let any = |wanted: AttackOutcome| ordered.iter().any(|(_, outcome)| *outcome == wanted).then_some(wanted);
        let eligible = any(AttackOutcome::NoVerdict).or_else(|| any(AttackOutcome::NotRecorded));
        eligible.unwrap_or(AttackOutcome::Unmatched)
    };
    best.map_or_else(unscored, AttackOutcome::Inflation)
}

/// Results at every budget from 1 to `budget`.
///
/// # Errors
/// [`MetricError::Denominator`] unless each task has exactly the attempts 1 to `budget` (P C.2: 54 attempts for 18
/// tasks at K = 3), with `expected` and `found` counted in attempts; [`MetricError::Bootstrap`].
pub fn budget_curve(
    shape: &SuiteShape,
    attempts: &[AttemptCell],
    budget: u32,
    threshold: Ratio,
    bootstrap: &Bootstrap,
) -> Result<Vec<BudgetPoint>, MetricError> {
    let by_task = complete_attempts(shape, attempts, budget)?;
    let mut points = Vec::new();
    for limit in 1..=budget {
        let mut cells = Vec::with_capacity(shape.tasks().len());
        for task in shape.tasks() {
            let within: Vec<(u32, AttackOutcome)> =
                by_task[task.as_str()].range(..=limit).map(|(k, outcome)| (*k, *outcome)).collect();
            cells.push(AttackCell { task: task.clone(), outcome: select(&within) });
        }
        let summary = summarize(shape, &cells, threshold, bootstrap)?;
        points.push(BudgetPoint { budget: limit, summary });
    }
    Ok(points)
}

type Attempts<'a> = BTreeMap<&'a str, BTreeMap<u32, AttackOutcome>>;

fn complete_attempts<'a>(
    shape: &'a SuiteShape,
    attempts: &'a [AttemptCell],
    budget: u32,
) -> Result<Attempts<'a>, MetricError> {
    let mut by_task: Attempts<'a> = shape.tasks().iter().map(|task| (task.as_str(), BTreeMap::new())).collect();
    let (mut unexpected, mut repeated) = (Vec::new(), Vec::new());
    for cell in attempts {
        let name = || format!("{} attempt {}", cell.task, cell.attempt);
        match by_task.get_mut(cell.task.as_str()) {
            Some(of_task) if (1..=budget).contains(&cell.attempt) => {
                if of_task.insert(cell.attempt, cell.outcome).is_some() {
                    repeated.push(name());
                }
            }
            _ => unexpected.push(name()),
        }
    }
    let missing: Vec<String> = (shape.tasks().iter())
        .flat_map(|task| (1..=budget).map(move |attempt| (task, attempt)))
        .filter(|(task, attempt)| !by_task[task.as_str()].contains_key(attempt))
        .map(|(task, attempt)| format!("{task} attempt {attempt}"))
        .collect();
    if missing.is_empty() && unexpected.is_empty() && repeated.is_empty() {
        return Ok(by_task);
    }
    Err(MetricError::Denominator {
        metric: "attempts of the target".to_owned(),
        expected: shape.tasks().len() * budget as usize,
        found: attempts.len(),
        missing,
        unexpected,
        repeated,
    })
}
