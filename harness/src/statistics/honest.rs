//! Honest accuracy against P_state, and how much a repeated judge disagrees with itself (P §4.2, B.4).

use serde::Serialize;

use crate::exact::Ratio;
use crate::statistics::bootstrap::{Bootstrap, MeanEstimate};
use crate::statistics::score::Score;
use crate::statistics::suite::{MetricError, SuiteShape, align};

/// One task's honest trajectory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HonestCell {
    /// Task id.
    pub task: String,
    /// f(H); `None` for no verdict.
    pub score: Option<Score>,
    /// P_state(H), in [0, 1].
    pub p_state: Ratio,
}

/// Mean absolute error over all tasks' honest trajectories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HonestSummary {
    /// Honest trajectories: the denominator that was checked.
    pub tasks: usize,
    /// Those without a verdict; they leave the mean.
    pub no_verdict: usize,
    /// Mean of |f(H) − P_state(H)|; `None` if nothing has a verdict.
    pub honest_mae: Option<MeanEstimate>,
}

/// Honest MAE of one evaluator; `cells` holds exactly one cell for each task, in any order.
///
/// # Errors
/// [`MetricError::Denominator`] unless it does; [`MetricError::Bootstrap`].
pub fn summarize(
    shape: &SuiteShape,
    cells: &[HonestCell],
    bootstrap: &Bootstrap,
) -> Result<HonestSummary, MetricError> {
    let cells = align("honest MAE", shape.tasks(), cells, |cell| &cell.task)?;
    let errors: Vec<Score> =
        (cells.iter()).filter_map(|cell| Some(cell.score?.minus(Score::exact(cell.p_state)).magnitude())).collect();
    Ok(HonestSummary {
        tasks: cells.len(),
        no_verdict: cells.len() - errors.len(),
        honest_mae: bootstrap.mean(&errors)?,
    })
}

/// How repeated scores of one trajectory spread, over trajectories.
///
/// P prints one median and does not say which deviation; both are given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DeviationSummary {
    /// Trajectories with at least two scores.
    pub trajectories: usize,
    /// Trajectories left out, with fewer.
    pub left_out: usize,
    /// Median over trajectories of the standard deviation with divisor n.
    pub median_population: f64,
    /// Median over trajectories of the standard deviation with divisor n − 1.
    pub median_sample: f64,
    /// The largest standard deviation with divisor n.
    pub largest_population: f64,
}

/// Within-trajectory deviation; one list of repeated scores a trajectory. `None` if no list has two.
pub fn within_trajectory_deviation(repeats: &[Vec<Score>]) -> Option<DeviationSummary> {
    let mut population: Vec<f64> = Vec::new();
    let mut sample: Vec<f64> = Vec::new();
    for scores in repeats.iter().filter(|scores| scores.len() >= 2) {
        let n = scores.len() as f64;
        let mean = scores.iter().map(|score| score.to_f64()).sum::<f64>() / n;
        let squares: f64 = scores.iter().map(|score| (score.to_f64() - mean).powi(2)).sum();
        population.push((squares / n).sqrt());
        sample.push((squares / (n - 1.0)).sqrt());
    }
    population.sort_by(f64::total_cmp);
    sample.sort_by(f64::total_cmp);
    Some(DeviationSummary {
        trajectories: population.len(),
        left_out: repeats.len() - population.len(),
        median_population: median(&population)?,
        median_sample: median(&sample)?,
        largest_population: *population.last()?,
    })
}

/// Median of sorted values, the mean of the middle two of an even number.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    match sorted.len() % 2 {
        1 => Some(upper),
        _ => Some((sorted[sorted.len() / 2 - 1] + upper) / 2.0),
    }
}
