//! The percentile bootstrap over tasks (P §4.2, B.1): 10,000 resamples, the task as the unit.
//!
//! A resample draws as many tasks as there are, with replacement, by integers from the stream
//! (seed, `bootstrap`, `tasks=n`). All statistics over the same number of tasks share their resamples, so paired
//! differences are resampled in pairs and nothing depends on the order in which metrics are asked for, nor on threads.
//! Up to [`PAIRED_DRAWS`] tasks, one number below n² draws two tasks (quotient and remainder by n), with a single draw
//! at the end of an odd row: half the draws, and half the additions by a table of the sums of two. Beyond, each task is
//! drawn by itself.
//!
//! **Percentile.** Linear interpolation between order statistics, numpy's default: with B sorted statistics and tail p,
//! the position is h = (B − 1)·p counted from 0, and the bound is x[⌊h⌋] + (h − ⌊h⌋)·(x[⌊h⌋+1] − x[⌊h⌋]). Of a mean, the
//! bound is computed on integers and is an exact ratio wherever the scores are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Serialize, Serializer};

use crate::exact::Ratio;
use crate::statistics::random::{RandomStream, StreamKey};
use crate::statistics::scaled::Scaled;
use crate::statistics::score::Score;

/// How to resample; recorded in a run's manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootstrapPlan {
    /// Resamples, from 2 to 1,000,000; P uses 10,000.
    pub resamples: u32,
    /// Seed of the tree of streams.
    pub seed: u64,
    /// Probability left out on each side, in (0, 1/2); 1/40 gives 95 % intervals.
    pub tail: Ratio,
}

impl Default for BootstrapPlan {
    /// 10,000 resamples, seed 0, 95 %.
    fn default() -> BootstrapPlan {
        BootstrapPlan { resamples: 10_000, seed: 0, tail: Ratio::fraction(1, 40) }
    }
}

/// Why there is no interval.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    /// A plan outside its ranges.
    #[error(
        "found {resamples} resamples and tail {tail}, expected 2 to 1000000 resamples and a tail between 0 and 1/2"
    )]
    Plan {
        /// Resamples asked for.
        resamples: u32,
        /// Tail asked for.
        tail: Ratio,
    },
    /// More tasks than an index can name.
    #[error("found {found} tasks, expected at most 4294967295")]
    TooManyTasks {
        /// Tasks given.
        found: usize,
    },
}

/// An interval with its two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Lower bound.
    pub low: Score,
    /// Upper bound.
    pub high: Score,
}

impl Serialize for Interval {
    /// `[low, high]`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.low, self.high].serialize(serializer)
    }
}

/// A mean over tasks with its bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MeanEstimate {
    /// The mean; exact where the scores are.
    pub mean: Score,
    /// The number of tasks it is over.
    pub n: usize,
    /// The percentile interval at the plan's tails.
    pub ci95: Interval,
}

/// A statistic's interval where some resamples may leave it undefined (a mean over misses, say).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StatisticInterval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Resamples on which the statistic was undefined; they are left out.
    pub undefined: u32,
}

/// The most tasks whose draws come in pairs and are kept for reuse (at most 640 kB a task count at 10,000 resamples).
pub const PAIRED_DRAWS: usize = 64;

/// The resamples of a plan, drawn once for each number of tasks.
#[derive(Debug)]
pub struct Bootstrap {
    plan: BootstrapPlan,
    cache: Mutex<BTreeMap<u16, Arc<Vec<u16>>>>,
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
        match fits {
            true => Ok(Bootstrap { plan, cache: Mutex::new(BTreeMap::new()) }),
            false => Err(BootstrapError::Plan { resamples, tail }),
        }
    }

    /// The resamples of P: 10,000, 95 %, at `seed`.
    pub fn with_seed(seed: u64) -> Bootstrap {
        let plan = BootstrapPlan { seed, ..BootstrapPlan::default() };
        Bootstrap { plan, cache: Mutex::new(BTreeMap::new()) }
    }

    /// The plan.
    pub const fn plan(&self) -> BootstrapPlan {
        self.plan
    }

    /// Mean and interval; `None` of no scores.
    ///
    /// For differences of two evaluators, give the per-task differences: tasks are then resampled in pairs.
    ///
    /// # Errors
    /// [`BootstrapError::TooManyTasks`].
    pub fn mean(&self, scores: &[Score]) -> Result<Option<MeanEstimate>, BootstrapError> {
        let Some(mean) = Score::mean(scores) else {
            return Ok(None);
        };
        let scaled = Scaled::new(scores);
        let mut sums = self.sums(&scaled.units)?;
        let bounds = [self.plan.tail, self.upper()].map(|p| self.integer_bound(&mut sums, p, &scaled));
        let [low, high] = bounds;
        Ok(Some(MeanEstimate { mean, n: scores.len(), ci95: Interval { low, high } }))
    }

    /// Interval of any statistic of the drawn tasks; `None` where no resample defines it (or there are no tasks).
    ///
    /// `statistic` gets the indices of the drawn tasks, in the order drawn. A clustered bootstrap is this with
    /// clusters as the tasks.
    ///
    /// # Errors
    /// [`BootstrapError::TooManyTasks`].
    pub fn statistic(
        &self,
        tasks: usize,
        mut statistic: impl FnMut(&[u32]) -> Option<f64>,
    ) -> Result<Option<StatisticInterval>, BootstrapError> {
        let mut values = Vec::with_capacity(self.plan.resamples as usize);
        if tasks > 0 {
            self.for_each(tasks, |draws| {
                values.extend(statistic(draws).filter(|value| value.is_finite()));
            })?;
        }
        Ok(self.defined_interval(values))
    }

    /// Interval of the mean of the drawn tasks' scores that are counted: Σ scores / Σ counted over a resample.
    ///
    /// For means over a part that varies with the draw, such as misses. A score that is not counted is ignored;
    /// resamples without a counted task are left out. `None` where none has one.
    ///
    /// # Errors
    /// [`BootstrapError::TooManyTasks`].
    ///
    /// # Panics
    /// If there are not as many marks as scores.
    pub fn mean_of_counted(
        &self,
        scores: &[Score],
        counted: &[bool],
    ) -> Result<Option<StatisticInterval>, BootstrapError> {
        assert_eq!(scores.len(), counted.len(), "one mark a score");
        if scores.is_empty() {
            return Ok(None);
        }
        let kept = scores.iter().zip(counted).map(|(score, counted)| if *counted { *score } else { Score::ZERO });
        let scaled = Scaled::new(&kept.collect::<Vec<_>>());
        let marks: Vec<i64> = counted.iter().map(|counted| i64::from(*counted)).collect();
        let (sums, counts) = (self.sums(&scaled.units)?, self.sums(&marks)?);
        let denominator = scaled.denominator as f64;
        let means = (sums.iter().zip(&counts))
            .filter(|(_, count)| **count > 0)
            .map(|(sum, count)| *sum as f64 / (*count as f64 * denominator));
        Ok(self.defined_interval(means.collect()))
    }

    /// The interval of the resamples on which a statistic is defined.
    fn defined_interval(&self, mut values: Vec<f64>) -> Option<StatisticInterval> {
        if values.is_empty() {
            return None;
        }
        let undefined = self.plan.resamples - values.len() as u32;
        let [low, high] = [self.plan.tail, self.upper()].map(|p| {
            let (index, rest) = position(values.len(), p);
            let (_, below, above) = values.select_nth_unstable_by(index, f64::total_cmp);
            let above = above.iter().copied().min_by(f64::total_cmp).unwrap_or(*below);
            interpolate(*below, above, rest, p)
        });
        Some(StatisticInterval { low, high, undefined })
    }

    fn upper(&self) -> Ratio {
        let tail = self.plan.tail;
        // tail = a/b with 0 < a < b, so 1 − tail = (b − a)/b, in lowest terms as a/b is.
        Ratio::new(tail.denominator() - tail.numerator(), tail.denominator()).unwrap_or(Ratio::ONE)
    }

    /// One bound of the resampled means whose sums are given, by exact interpolation.
    fn integer_bound(&self, sums: &mut [i64], p: Ratio, scaled: &Scaled) -> Score {
        let (index, rest) = position(sums.len(), p);
        let (_, below, above) = sums.select_nth_unstable(index);
        let below = *below;
        let above = above.iter().min().copied().unwrap_or(below);
        // Fewer than 2^63 · 10^9 in magnitude, so 128 bits hold every product but the last denominator.
        let numerator = i128::from(below) * (p.denominator() - rest) + i128::from(above) * rest;
        let tasks = scaled.units.len() as i128;
        let bound = (scaled.denominator.checked_mul(tasks * p.denominator()))
            .and_then(|denominator| Ratio::new(numerator, denominator).ok());
        match bound {
            Some(bound) => Score::derived(bound, scaled.exact),
            None => {
                let sum = numerator as f64 / p.denominator() as f64;
                Score::measured(sum / tasks as f64 / scaled.denominator as f64).unwrap_or(Score::ZERO)
            }
        }
    }

    /// The sum of the drawn tasks' units, for each resample.
    fn sums(&self, units: &[i64]) -> Result<Vec<i64>, BootstrapError> {
        let n = units.len();
        if n > PAIRED_DRAWS {
            let mut sums = Vec::with_capacity(self.plan.resamples as usize);
            self.for_each(n, |draws| {
                sums.push(draws.iter().map(|task| units[*task as usize]).sum());
            })?;
            return Ok(sums);
        }
        let pairs = units.iter().flat_map(|first| units.iter().map(move |second| first + second));
        let table: Vec<i64> = pairs.chain(units.iter().copied()).collect();
        let codes = self.cached(n as u16);
        let row = |codes: &[u16]| codes.iter().map(|code| table[usize::from(*code)]).sum();
        Ok(codes.chunks_exact(n.div_ceil(2)).map(row).collect())
    }

    /// Calls `visit` with the drawn task indices of each resample, in order.
    fn for_each(&self, tasks: usize, mut visit: impl FnMut(&[u32])) -> Result<(), BootstrapError> {
        let count = u32::try_from(tasks).map_err(|_| BootstrapError::TooManyTasks { found: tasks })?;
        assert!(count > 0, "a resample of no tasks");
        let mut draws = vec![0_u32; tasks];
        if tasks > PAIRED_DRAWS {
            let mut stream = self.stream(tasks);
            for _ in 0..self.plan.resamples {
                draws.iter_mut().for_each(|draw| *draw = stream.below(count));
                visit(&draws);
            }
            return Ok(());
        }
        for codes in self.cached(count as u16).chunks_exact(tasks.div_ceil(2)) {
            for (two, code) in draws.chunks_mut(2).zip(codes) {
                // A pair's code is first·n + second; a single's is n² + task.
                match two {
                    [first, second] => {
                        (*first, *second) = (u32::from(*code) / count, u32::from(*code) % count);
                    }
                    [single] => *single = u32::from(*code) - count * count,
                    _ => {}
                }
            }
            visit(&draws);
        }
        Ok(())
    }

    fn stream(&self, tasks: usize) -> RandomStream {
        StreamKey::root(self.plan.seed).child("bootstrap").child(&format!("tasks={tasks}")).stream()
    }

    /// The codes of all resamples of at most [`PAIRED_DRAWS`] tasks, ⌈n/2⌉ a resample.
    fn cached(&self, tasks: u16) -> Arc<Vec<u16>> {
        let n = u32::from(tasks);
        let draw = || {
            let mut stream = self.stream(usize::from(tasks));
            let mut codes = Vec::new();
            for _ in 0..self.plan.resamples {
                codes.extend((0..n / 2).map(|_| stream.below(n * n) as u16));
                codes.extend((0..n % 2).map(|_| (n * n + stream.below(n)) as u16));
            }
            Arc::new(codes)
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(cache.entry(tasks).or_insert_with(draw))
    }
}

/// `(⌊h⌋, (h − ⌊h⌋)·denominator)` for h = (count − 1)·p.
fn position(count: usize, p: Ratio) -> (usize, i128) {
    let product = (count as i128 - 1) * p.numerator();
    let (index, rest) = (product / p.denominator(), product % p.denominator());
    (index as usize, rest)
}

/// The percentile of sorted values by linear interpolation (numpy's default method).
///
/// # Panics
/// If there are no values.
pub fn percentile(sorted: &[f64], p: Ratio) -> f64 {
    let (index, rest) = position(sorted.len(), p);
    let below = sorted[index];
    let above = sorted.get(index + 1).copied().unwrap_or(below);
    interpolate(below, above, rest, p)
}

fn interpolate(below: f64, above: f64, rest: i128, p: Ratio) -> f64 {
    below + (above - below) * (rest as f64 / p.denominator() as f64)
}
