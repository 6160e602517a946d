//! Strict rollbacks: does a score fall when certified progress falls? (P §3.3, §5.5, B.4)

use serde::Serialize;

use crate::exact::Ratio;
use crate::statistics::bootstrap::{Bootstrap, MeanEstimate, StatisticInterval};
use crate::statistics::mechanism::PerTask;
use crate::statistics::proportion::Proportion;
use crate::statistics::score::Score;
use crate::statistics::suite::{MetricError, SuiteShape, align};

/// One rollback pair of one evaluator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackCell {
    /// Task id.
    pub task: String,
    /// f(H); `None` for no verdict.
    pub honest: Option<Score>,
    /// f(R); `None` for no verdict.
    pub rollback: Option<Score>,
    /// Whether a replay has no recording of one of the two.
    pub unrecorded: bool,
    /// P_state(H).
    pub p_state_honest: Ratio,
    /// P_state(R), strictly less.
    pub p_state_rollback: Ratio,
}

impl RollbackCell {
    /// Whether f(R) < f(H); `None` without both verdicts.
    pub fn detected(&self) -> Option<bool> {
        Some(self.rollback?.compare(self.honest?).is_lt())
    }

    /// Retained false credit; `None` without both verdicts.
    ///
    /// On a miss, what f(R) claims beyond the progress that is left: max(0, f(R) − P_state(R)). On a detection, 0: P
    /// prints .018 across 14 pairs for a judge with .125 across its two misses, so that detections count as nothing.
    pub fn retained(&self) -> Option<Score> {
        let excess = self.rollback?.minus(Score::exact(self.p_state_rollback));
        match self.detected()? {
            false if excess.exceeds(Ratio::ZERO) => Some(excess),
            _ => Some(Score::derived(Ratio::ZERO, excess.is_exact())),
        }
    }
}

/// Detection and retained false credit over the suite's rollback tasks.
///
/// `detected + missed + no_verdict` is the number of pairs but for those without a recording, and each rate has all pairs
/// below it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RollbackSummary {
    /// Pairs without a verdict on H or R: neither detected nor missed.
    pub no_verdict: usize,
    /// Pairs with f(R) < f(H), over all pairs.
    pub detected: Proportion,
    /// Pairs with f(R) ≥ f(H), over all pairs: the miss rate.
    pub missed: Proportion,
    /// Mean retained false credit over pairs with verdicts.
    pub retained_all: Option<MeanEstimate>,
    /// Mean retained false credit over misses; `None` without a miss.
    pub retained_misses: Option<Score>,
    /// Interval of the mean over misses: pairs are resampled, misses among them averaged.
    #[serde(skip)]
    pub retained_misses_interval: Option<StatisticInterval>,
}

/// Summarizes one evaluator on one rollback set; `cells` holds exactly one cell for each rollback task, in any order.
///
/// # Errors
/// [`MetricError::Denominator`] unless it does; [`MetricError::NotStrict`] if a pair does not lose progress;
/// [`MetricError::Bootstrap`].
pub fn summarize(
    shape: &SuiteShape,
    cells: &[RollbackCell],
    bootstrap: &Bootstrap,
) -> Result<RollbackSummary, MetricError> {
    let cells = align("rollback detection", shape.rollback_tasks(), cells, |cell| &cell.task)?;
    for cell in &cells {
        if cell.p_state_rollback >= cell.p_state_honest {
            return Err(MetricError::NotStrict {
                task: cell.task.clone(),
                honest: cell.p_state_honest.to_string(),
                rollback: cell.p_state_rollback.to_string(),
            });
        }
    }
    let scored: Vec<(bool, Score)> = cells.iter().filter_map(|cell| cell.detected().zip(cell.retained())).collect();
    let all: Vec<Score> = scored.iter().map(|(_, retained)| *retained).collect();
    let misses: Vec<Score> = scored.iter().filter(|(detected, _)| !detected).map(|(_, retained)| *retained).collect();
    let missed: Vec<bool> = scored.iter().map(|(detected, _)| !detected).collect();
    let retained_misses_interval = bootstrap.mean_of_counted(&all, &missed)?;
    let pairs = cells.len();
    Ok(RollbackSummary {
        no_verdict: cells.iter().filter(|cell| cell.detected().is_none() && !cell.unrecorded).count(),
        detected: Proportion::new(scored.len() - misses.len(), pairs),
        missed: Proportion::new(misses.len(), pairs),
        retained_all: bootstrap.mean(&all)?,
        retained_misses: Score::mean(&misses),
        retained_misses_interval,
    })
}

/// Each pair's retained false credit, for a paired difference between evaluators (P §6.1).
pub fn retained_per_task(cells: &[RollbackCell]) -> Vec<PerTask> {
    cells.iter().map(|cell| PerTask { task: cell.task.clone(), value: cell.retained() }).collect()
}
