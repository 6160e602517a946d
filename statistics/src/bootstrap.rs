//! The percentile bootstrap over whole clusters (G §4.1: 2,000 task-clustered resamples, fixed seed).
//!
//! A resample draws as many clusters as there are, with replacement, and takes all observations of each as often as it
//! was drawn. The draws are integers of the stream (seed, `bootstrap`, `tasks=n`): resample r over n clusters is a
//! function of seed, n and r alone. So all statistics over the same clusters share their resamples, a difference of two
//! is resampled in pairs, and neither the order of asking nor the number of threads that ask can matter. The draws are
//! those of the harness: up to [`PAIRED_DRAWS`] clusters, one number below n² draws two (quotient and remainder by n),
//! with a single draw at the end of an odd row; beyond, each is drawn by itself.
//!
//! **Percentile.** Linear interpolation between order statistics (type 7 of Hyndman and Fan, numpy's default): with B
//! sorted values and tail p, h = (B − 1)·p counted from 0, the bound is x[⌊h⌋] + (h − ⌊h⌋)·(x[⌊h⌋+1] − x[⌊h⌋]).

use serde::Serialize;

use crate::clusters::Clusters;
use crate::exact::Ratio;
use crate::quantiles::{position, quantile_of_floats};
use crate::random::StreamKey;

/// The most clusters whose draws come in pairs.
pub const PAIRED_DRAWS: usize = 64;

/// How to resample; goes into the record of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BootstrapPlan {
    /// Resamples, from 2 to 1,000,000; G uses 2,000.
    pub resamples: u32,
    /// Seed of the tree of streams.
    pub seed: u64,
    /// Probability left out on each side, in (0, 1/2), denominator up to 10^9; 1/40 gives 95 % intervals.
    pub tail: Ratio,
}

impl Default for BootstrapPlan {
    /// 2,000 resamples, seed 0, 95 %.
    fn default() -> BootstrapPlan {
        BootstrapPlan { resamples: 2_000, seed: 0, tail: Ratio::fraction(1, 40) }
    }
}

/// Why nothing was resampled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    /// A plan outside its ranges.
    #[error(
        "found {resamples} resamples and tail {tail}, expected 2 to 1000000 resamples and a tail between 0 and 1/2 with a denominator of at most 1000000000"
    )]
    Plan {
        /// Resamples asked for.
        resamples: u32,
        /// Tail asked for.
        tail: Ratio,
    },
    /// More clusters than an index can name.
    #[error("found {found} clusters, expected at most 4294967295")]
    TooManyClusters {
        /// Clusters given.
        found: usize,
    },
}

/// What a statistic did over the resamples on which it is defined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Resampled {
    /// Lower bound of the percentile interval.
    pub low: f64,
    /// Upper bound of the percentile interval.
    pub high: f64,
    /// Mean over the resamples.
    pub mean: f64,
    /// Median over the resamples.
    pub median: f64,
    /// Clusters that were resampled; of one cluster, the interval is a point and says nothing.
    pub clusters: usize,
    /// Resamples on which the statistic is defined.
    pub defined: u32,
    /// Resamples on which it is not (no failed log was drawn, say); they are left out of all else.
    pub undefined: u32,
    /// Defined resamples on which it is above zero (G §4.2 reports their share for ΔAUC).
    pub positive: u32,
    /// Defined resamples on which it is below zero.
    pub negative: u32,
}

impl Resampled {
    /// Share of the defined resamples on which the statistic is above zero, in [0, 1].
    pub fn share_positive(&self) -> f64 {
        f64::from(self.positive) / f64::from(self.defined)
    }
}

/// The resamples of one plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrap {
    plan: BootstrapPlan,
}

impl Bootstrap {
    /// The resamples of `plan`.
    ///
    /// # Errors
    /// [`BootstrapError::Plan`].
    pub fn new(plan: BootstrapPlan) -> Result<Bootstrap, BootstrapError> {
        let BootstrapPlan { resamples, tail, .. } = plan;
        let fits = (2..=1_000_000).contains(&resamples)
            && tail > Ratio::ZERO
            && tail < Ratio::fraction(1, 2)
            && tail.denominator() <= 1_000_000_000;
        if fits { Ok(Bootstrap { plan }) } else { Err(BootstrapError::Plan { resamples, tail }) }
    }

    /// The resamples of G: 2,000, 95 %, at `seed`.
    pub fn with_seed(seed: u64) -> Bootstrap {
        Bootstrap { plan: BootstrapPlan { seed, ..BootstrapPlan::default() } }
    }

    /// The plan.
    pub const fn plan(&self) -> BootstrapPlan {
        self.plan
    }

    /// Calls `visit` with the drawn cluster indices of each resample, in order; never, of no clusters.
    ///
    /// # Errors
    /// [`BootstrapError::TooManyClusters`].
    pub fn for_each(&self, clusters: usize, mut visit: impl FnMut(&[u32])) -> Result<(), BootstrapError> {
        let n = u32::try_from(clusters).map_err(|_| BootstrapError::TooManyClusters { found: clusters })?;
        if n == 0 {
            return Ok(());
        }
        let mut stream = StreamKey::root(self.plan.seed).child("bootstrap").child(&format!("tasks={n}")).stream();
        let mut draws = vec![0_u32; clusters];
        for _ in 0..self.plan.resamples {
            if clusters > PAIRED_DRAWS {
                draws.iter_mut().for_each(|draw| *draw = stream.below(n));
            } else {
                for two in draws.chunks_mut(2) {
                    match two {
                        [first, second] => {
                            let code = stream.below(n * n);
                            (*first, *second) = (code / n, code % n);
                        }
                        single => single.fill(stream.below(n)),
                    }
                }
            }
            visit(&draws);
        }
        Ok(())
    }

    /// What any statistic does over the resamples; `None` where no resample defines it, or of no clusters.
    ///
    /// `statistic` gets the indices of the drawn clusters, in the order drawn, and answers `None` where it is undefined;
    /// a float that is not finite counts as that.
    ///
    /// ```
    /// use parthack_statistics::Bootstrap;
    /// let units = [0.0, 0.25, 0.5, 0.75, 1.0];
    /// let mean = |draws: &[u32]| Some(draws.iter().map(|i| units[*i as usize]).sum::<f64>() / 5.0);
    /// let resampled = Bootstrap::with_seed(0).statistic(5, mean).unwrap().unwrap();
    /// assert!(resampled.low < 0.5 && 0.5 < resampled.high);
    /// assert_eq!((resampled.defined, resampled.undefined), (2000, 0));
    /// ```
    ///
    /// # Errors
    /// [`BootstrapError::TooManyClusters`].
    pub fn statistic(
        &self,
        clusters: usize,
        mut statistic: impl FnMut(&[u32]) -> Option<f64>,
    ) -> Result<Option<Resampled>, BootstrapError> {
        let mut values = Vec::with_capacity(self.plan.resamples as usize);
        self.for_each(clusters, |draws| values.extend(statistic(draws).filter(|value| value.is_finite())))?;
        Ok(self.summary(clusters, values))
    }

    /// The same for a statistic of the drawn observations themselves, each as often as its cluster was drawn.
    ///
    /// # Errors
    /// [`BootstrapError::TooManyClusters`].
    pub fn over<K, T: Clone>(
        &self,
        clusters: &Clusters<K, T>,
        mut statistic: impl FnMut(&[T]) -> Option<f64>,
    ) -> Result<Option<Resampled>, BootstrapError> {
        let mut drawn = Vec::new();
        self.statistic(clusters.len(), |draws| {
            drawn.clear();
            drawn.extend(clusters.drawn(draws).cloned());
            statistic(&drawn)
        })
    }

    fn summary(&self, clusters: usize, mut values: Vec<f64>) -> Option<Resampled> {
        if values.is_empty() {
            return None;
        }
        let count = |wanted: fn(f64) -> bool| values.iter().filter(|value| wanted(**value)).count() as u32;
        let (positive, negative) = (count(|value| value > 0.0), count(|value| value < 0.0));
        let defined = values.len() as u32;
        // Summed in ascending order, so that the mean depends on the values alone.
        values.sort_unstable_by(f64::total_cmp);
        let tail = self.plan.tail;
        let upper = Ratio::ONE.difference(tail);
        let [low, median, high] =
            [tail, Ratio::fraction(1, 2), upper].map(|p| quantile_of_floats(&values, position(values.len(), p)));
        Some(Resampled {
            low,
            high,
            mean: values.iter().sum::<f64>() / f64::from(defined),
            median,
            clusters,
            defined,
            undefined: self.plan.resamples - defined,
            positive,
            negative,
        })
    }
}
