//! Paired differences between evaluators, and the controlled 2×2 of temporal accounting and attribution (P §6.1).

use serde::Serialize;

use crate::statistics::attack::{AttackCell, AttackOutcome};
use crate::statistics::bootstrap::{Bootstrap, MeanEstimate};
use crate::statistics::paired::{PermutationTest, SignTest, WilcoxonTest, permutation_test, sign_test, wilcoxon_test};
use crate::statistics::score::Score;
use crate::statistics::suite::{MetricError, align};

/// One number of one evaluator on one task; `None` for no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerTask {
    /// Task id.
    pub task: String,
    /// The number: an inflation, a retained false credit, an absolute error.
    pub value: Option<Score>,
}

/// The inflation on each matched task; unmatched tasks have no pair to differ on.
pub fn inflation_per_task(cells: &[AttackCell]) -> Vec<PerTask> {
    (cells.iter())
        .filter(|cell| cell.outcome != AttackOutcome::Unmatched)
        .map(|cell| PerTask { task: cell.task.clone(), value: cell.outcome.inflation() })
        .collect()
}

/// The mean of per-task differences, tasks resampled in pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PairedDifference {
    /// Tasks that both evaluators have a cell for.
    pub pairs: usize,
    /// Tasks on which either has no verdict; they leave the mean.
    pub no_verdict: usize,
    /// Mean of `before − after`; `None` if no pair has both verdicts.
    pub mean: Option<MeanEstimate>,
}

/// Two evaluators on the same tasks; exploratory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedComparison {
    /// Mean of `before − after` and its interval.
    pub difference: PairedDifference,
    /// Sign test of the differences.
    pub sign: SignTest,
    /// Wilcoxon signed-rank test of the differences.
    pub wilcoxon: WilcoxonTest,
    /// Sign-flip permutation test of their mean.
    pub permutation: PermutationTest,
}

/// Per-task `before − after`, in the order of `before`, and how many tasks there are.
///
/// # Errors
/// [`MetricError::Denominator`] unless both hold exactly the same tasks, once each.
fn differences(before: &[PerTask], after: &[PerTask]) -> Result<(usize, Vec<Score>), MetricError> {
    let tasks: Vec<String> = before.iter().map(|cell| cell.task.clone()).collect();
    let before = align("paired difference", &tasks, before, |cell| &cell.task)?;
    let after = align("paired difference", &tasks, after, |cell| &cell.task)?;
    let differences =
        (before.iter().zip(&after)).filter_map(|(before, after)| Some(before.value?.minus(after.value?))).collect();
    Ok((tasks.len(), differences))
}

/// The mean reduction from `before` to `after`, positive where `after` is smaller.
///
/// # Errors
/// [`MetricError::Denominator`] unless both hold exactly the same tasks, once each; [`MetricError::Bootstrap`].
pub fn paired_difference(
    before: &[PerTask],
    after: &[PerTask],
    bootstrap: &Bootstrap,
) -> Result<PairedDifference, MetricError> {
    let (pairs, differences) = differences(before, after)?;
    let no_verdict = pairs - differences.len();
    Ok(PairedDifference { pairs, no_verdict, mean: bootstrap.mean(&differences)? })
}

/// Compares two evaluators on the same tasks.
///
/// # Errors
/// As [`paired_difference`].
pub fn compare(before: &[PerTask], after: &[PerTask], bootstrap: &Bootstrap) -> Result<PairedComparison, MetricError> {
    let difference = paired_difference(before, after, bootstrap)?;
    let (_, differences) = differences(before, after)?;
    Ok(PairedComparison {
        difference,
        sign: sign_test(&differences),
        wilcoxon: wilcoxon_test(&differences),
        permutation: permutation_test(&differences, bootstrap.plan().seed),
    })
}

/// The four evaluators of the 2×2, each with one number a task.
#[derive(Debug, Clone, Copy)]
pub struct Factorial<'a> {
    /// Historical, no attribution: Predicate-Max.
    pub historical: &'a [PerTask],
    /// Historical, with attribution: CAPE-Max.
    pub historical_attributed: &'a [PerTask],
    /// Current state, no attribution: CSPS.
    pub current: &'a [PerTask],
    /// Current state, with attribution: Lightweight CAPE.
    pub current_attributed: &'a [PerTask],
}

/// The four edges of the 2×2, each a paired reduction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MechanismReduction {
    /// Temporal accounting without attribution: Predicate-Max → CSPS.
    pub temporal: PairedDifference,
    /// Temporal accounting with attribution: CAPE-Max → Lightweight CAPE.
    pub temporal_attributed: PairedDifference,
    /// Attribution under historical accounting: Predicate-Max → CAPE-Max.
    pub attribution_historical: PairedDifference,
    /// Attribution under current-state accounting: CSPS → Lightweight CAPE.
    pub attribution_current: PairedDifference,
}

/// The 2×2 of P §6.1 on inflations or on retained false credits.
///
/// # Errors
/// As [`paired_difference`], for any edge.
pub fn mechanism_reduction(factorial: Factorial<'_>, bootstrap: &Bootstrap) -> Result<MechanismReduction, MetricError> {
    let edge = |before, after| paired_difference(before, after, bootstrap);
    Ok(MechanismReduction {
        temporal: edge(factorial.historical, factorial.current)?,
        temporal_attributed: edge(factorial.historical_attributed, factorial.current_attributed)?,
        attribution_historical: edge(factorial.historical, factorial.historical_attributed)?,
        attribution_current: edge(factorial.current, factorial.current_attributed)?,
    })
}
