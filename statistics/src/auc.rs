//! How well scores tell passed logs from failed ones: AUC with ties, mean separation, and both over resampled tasks.
//!
//! AUC is the probability that a passed log, drawn at random, scores above a failed one, ties counted one half (G §4.1;
//! Mann and Whitney's U over the number of pairs): an exact ratio. It is undefined without a passed or without a failed
//! log.

use serde::{Deserialize, Serialize};

use crate::clusters::Clusters;
use crate::exact::Ratio;
use crate::quantiles::mean;
use crate::ranks::levels;
use crate::scaled::Scaled;

/// A log's score and its official outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scored {
    /// The score, on any scale; higher says better.
    pub score: Ratio,
    /// Whether the official outcome is PASS.
    pub passed: bool,
}

/// Two scores of the same log, and its official outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairedScored {
    /// The score by the first method.
    pub first: Ratio,
    /// The score by the second method.
    pub second: Ratio,
    /// Whether the official outcome is PASS.
    pub passed: bool,
}

impl PairedScored {
    fn of_first(&self) -> Scored {
        Scored { score: self.first, passed: self.passed }
    }

    fn of_second(&self) -> Scored {
        Scored { score: self.second, passed: self.passed }
    }
}

/// AUC of the scores, in [0, 1]; 1/2 of scores that say nothing. `None` without a passed or without a failed log.
///
/// ```
/// use parthack_statistics::{Ratio, Scored, auc};
/// let scored = |count, passed| Scored { score: Ratio::fraction(count, 9), passed };
/// let logs = [scored(3, false), scored(5, false), scored(5, true), scored(9, true)];
/// assert_eq!(auc(&logs), Some(Ratio::fraction(7, 8)));
/// assert_eq!(auc(&logs[..2]), None);
/// ```
pub fn auc(logs: &[Scored]) -> Option<Ratio> {
    let scores: Vec<Ratio> = logs.iter().map(|log| log.score).collect();
    let (levels, count) = levels(&scores);
    let mut tally = Tally::new(count);
    for (level, log) in levels.iter().zip(logs) {
        tally.add(*level, log.passed, 1);
    }
    tally.auc()
}

/// Passed and failed logs at each level of the score.
struct Tally {
    levels: Vec<[u64; 2]>,
}

impl Tally {
    fn new(levels: usize) -> Tally {
        Tally { levels: vec![[0, 0]; levels] }
    }

    fn add(&mut self, level: u32, passed: bool, times: u64) {
        self.levels[level as usize][usize::from(passed)] += times;
    }

    fn auc(&self) -> Option<Ratio> {
        let (mut fails, mut passes, mut doubled_wins) = (0_i128, 0_i128, 0_i128);
        for [failed, passed] in &self.levels {
            let (failed, passed) = (i128::from(*failed), i128::from(*passed));
            doubled_wins += passed * (2 * fails + failed);
            fails += failed;
            passes += passed;
        }
        Ratio::new(doubled_wins, 2 * passes * fails).ok()
    }
}

/// Two AUCs on the same logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PairedAuc {
    /// AUC of the first method.
    pub first: Ratio,
    /// AUC of the second method.
    pub second: Ratio,
    /// First minus second, in [−1, 1].
    pub difference: Ratio,
}

/// The AUCs of two methods on the same logs, and their difference; `None` as for [`auc`].
pub fn paired_auc(logs: &[PairedScored]) -> Option<PairedAuc> {
    let of = |score: fn(&PairedScored) -> Scored| auc(&logs.iter().map(score).collect::<Vec<_>>());
    PairedAuc::of(of(PairedScored::of_first)?, of(PairedScored::of_second)?)
}

impl PairedAuc {
    fn of(first: Ratio, second: Ratio) -> Option<PairedAuc> {
        Some(PairedAuc { first, second, difference: first.difference(second) })
    }
}

/// Mean scores of passed and of failed logs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Separation {
    /// Passed logs; at least 1.
    pub passes: usize,
    /// Failed logs; at least 1.
    pub fails: usize,
    /// Mean score of the passed logs.
    pub pass_mean: f64,
    /// Mean score of the failed logs.
    pub fail_mean: f64,
    /// Pass minus fail, on the scale of the scores.
    pub difference: f64,
}

/// PASS–FAIL mean separation (G §4.1, Table 3 B); `None` without a passed or without a failed log.
pub fn separation(logs: &[Scored]) -> Option<Separation> {
    let of = |passed| -> Vec<Ratio> {
        logs.iter().filter(|log| log.passed == passed).map(|log| log.score).collect::<Vec<_>>()
    };
    let (passed, failed) = (of(true), of(false));
    let (pass_mean, fail_mean) = (mean(&passed)?, mean(&failed)?);
    Some(Separation {
        passes: passed.len(),
        fails: failed.len(),
        pass_mean,
        fail_mean,
        difference: pass_mean - fail_mean,
    })
}

/// AUC over resampled clusters: scores are ranked once, and a resample only counts.
#[derive(Debug, Clone)]
pub struct ClusteredAuc {
    /// Of each cluster, each log's level and whether it passed.
    clusters: Vec<Vec<(u32, bool)>>,
    levels: usize,
}

impl ClusteredAuc {
    /// Ranks the logs.
    pub fn new<K>(logs: &Clusters<K, Scored>) -> ClusteredAuc {
        let scores: Vec<Ratio> = logs.all().map(|log| log.score).collect();
        let (of_each, count) = levels(&scores);
        let mut of_each = of_each.into_iter();
        let clusters = logs.iter().map(|(_, members)| {
            members.iter().zip(of_each.by_ref()).map(|(log, level)| (level, log.passed)).collect::<Vec<_>>()
        });
        ClusteredAuc { clusters: clusters.collect(), levels: count }
    }

    /// AUC of the logs of the drawn clusters, each as often as it was drawn; `None` as for [`auc`].
    ///
    /// Indices beyond the last cluster draw nothing.
    pub fn of(&self, draws: &[u32]) -> Option<Ratio> {
        let mut times = vec![0_u64; self.clusters.len()];
        for draw in draws {
            if let Some(times) = times.get_mut(*draw as usize) {
                *times += 1;
            }
        }
        let mut tally = Tally::new(self.levels);
        for (cluster, times) in self.clusters.iter().zip(times).filter(|(_, times)| *times > 0) {
            for (level, passed) in cluster {
                tally.add(*level, *passed, times);
            }
        }
        tally.auc()
    }
}

/// Two AUCs over resampled clusters.
#[derive(Debug, Clone)]
pub struct ClusteredPairedAuc {
    first: ClusteredAuc,
    second: ClusteredAuc,
}

impl ClusteredPairedAuc {
    /// Ranks the logs by both scores.
    pub fn new<K: Ord + Clone>(logs: &Clusters<K, PairedScored>) -> ClusteredPairedAuc {
        ClusteredPairedAuc {
            first: ClusteredAuc::new(&logs.filter_map(|log| Some(log.of_first()))),
            second: ClusteredAuc::new(&logs.filter_map(|log| Some(log.of_second()))),
        }
    }

    /// Both AUCs of the logs of the drawn clusters; `None` as for [`auc`].
    pub fn of(&self, draws: &[u32]) -> Option<PairedAuc> {
        PairedAuc::of(self.first.of(draws)?, self.second.of(draws)?)
    }
}

/// Mean separation over resampled clusters: scores are summed once a cluster.
#[derive(Debug, Clone)]
pub struct ClusteredSeparation {
    scale: Scaled,
    /// Of each cluster, sum and number of the failed logs, then of the passed ones.
    sums: Vec<[(i128, usize); 2]>,
}

impl ClusteredSeparation {
    /// Sums the logs.
    pub fn new<K>(logs: &Clusters<K, Scored>) -> ClusteredSeparation {
        let scores: Vec<Ratio> = logs.all().map(|log| log.score).collect();
        // Room for a resample in which the largest cluster stands in every place.
        let largest = logs.iter().map(|(_, members)| members.len()).max().unwrap_or(0);
        let scale = Scaled::for_resampled_sums(&scores, largest.saturating_mul(logs.len()));
        let mut units = scale.units.iter();
        let mut sums = Vec::with_capacity(logs.len());
        for (_, members) in logs.iter() {
            let mut of_outcome = [(0_i128, 0_usize); 2];
            for (log, unit) in members.iter().zip(units.by_ref()) {
                let (sum, count) = &mut of_outcome[usize::from(log.passed)];
                (*sum, *count) = (*sum + unit, *count + 1);
            }
            sums.push(of_outcome);
        }
        ClusteredSeparation { scale, sums }
    }

    /// Pass mean minus fail mean over the drawn clusters; `None` as for [`separation`].
    pub fn of(&self, draws: &[u32]) -> Option<f64> {
        let mut total = [(0_i128, 0_usize); 2];
        for drawn in draws.iter().filter_map(|draw| self.sums.get(*draw as usize)) {
            for (total, (sum, count)) in total.iter_mut().zip(drawn) {
                *total = (total.0 + sum, total.1 + count);
            }
        }
        let [fail_mean, pass_mean] = total.map(|(sum, count)| self.scale.mean(sum, count));
        Some(pass_mean? - fail_mean?)
    }
}
