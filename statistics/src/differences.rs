//! Differences of scores: how many improve or regress by more than a threshold, and same-task wins, ties and losses.

use serde::Serialize;

use crate::exact::Ratio;
use crate::paired::{SignTest, WilcoxonTest, sign_test_of_counts, wilcoxon};
use crate::proportion::Proportion;
use crate::quantiles::{Distribution, distribution, median};

/// A material change of a score: more than 0.10 (G §4.4).
pub const MATERIAL_CHANGE: Ratio = Ratio::fraction(1, 10);
/// The test–retest noise floor of a score: 0.037 (G §4.4).
pub const NOISE_FLOOR: Ratio = Ratio::fraction(37, 1000);

/// Shares of differences on either side of a threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shares {
    /// The threshold, at least 0.
    pub threshold: Ratio,
    /// Differences above the threshold, strictly.
    pub improved: Proportion,
    /// Its 95 % Wilson interval; differences of one task are not independent, so it is a lower bound of uncertainty.
    pub improved_wilson: Option<[f64; 2]>,
    /// Differences below minus the threshold, strictly.
    pub regressed: Proportion,
    /// Its 95 % Wilson interval.
    pub regressed_wilson: Option<[f64; 2]>,
    /// Differences within the threshold, the bounds included.
    pub within: Proportion,
}

/// Shares at one threshold; a negative threshold counts as its magnitude.
///
/// ```
/// use parthack_statistics::{Ratio, differences::{MATERIAL_CHANGE, shares}};
/// let tenth = Ratio::measured(0.4).unwrap().difference(Ratio::measured(0.3).unwrap());
/// let shares = shares(&[tenth, Ratio::fraction(1, 9), Ratio::fraction(2, 9).negated()], MATERIAL_CHANGE);
/// assert_eq!((shares.improved.count(), shares.regressed.count(), shares.within.count()), (1, 1, 1));
/// ```
pub fn shares(differences: &[Ratio], threshold: Ratio) -> Shares {
    let threshold = threshold.magnitude();
    let improved = Proportion::of_those(differences, |difference| *difference > threshold);
    let regressed = Proportion::of_those(differences, |difference| *difference < threshold.negated());
    Shares {
        threshold,
        improved,
        improved_wilson: improved.wilson(),
        regressed,
        regressed_wilson: regressed.wilson(),
        within: Proportion::of_those(differences, |difference| difference.magnitude() <= threshold),
    }
}

/// What can be said about differences of scores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DifferenceSummary {
    /// The distribution; `None` of no differences.
    pub distribution: Option<Distribution>,
    /// Shares, a row a threshold, in the order of the thresholds given.
    pub shares: Vec<Shares>,
    /// Sign test; zeros are ties.
    pub sign_test: SignTest,
    /// Wilcoxon's signed-rank test.
    pub wilcoxon: WilcoxonTest,
}

/// Distribution, shares and tests of differences.
pub fn summarize_differences(differences: &[Ratio], thresholds: &[Ratio]) -> DifferenceSummary {
    DifferenceSummary {
        distribution: distribution(differences),
        shares: thresholds.iter().map(|threshold| shares(differences, *threshold)).collect(),
        sign_test: crate::paired::sign_test(differences),
        wilcoxon: wilcoxon(differences),
    }
}

/// Two logs of one task whose scores are compared; a score is `None` where nothing was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SameTaskPair {
    /// Score of the log that should win (the passed one, in G §4.6).
    pub first: Option<Ratio>,
    /// Score of the other.
    pub second: Option<Ratio>,
}

/// Same-task wins, ties and losses (G §4.6).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WinTieLoss {
    /// Differences up to this magnitude, included, are ties.
    pub tie_threshold: Ratio,
    /// Pairs with both scores.
    pub decidable: usize,
    /// Pairs without.
    pub undecidable: usize,
    /// The first scores above the second by more than the threshold.
    pub wins: usize,
    /// The scores are within the threshold.
    pub ties: usize,
    /// The first scores below the second by more than the threshold.
    pub losses: usize,
    /// Median difference, first minus second, over all decidable pairs; `None` of none.
    pub median_difference: Option<f64>,
    /// Sign test of wins against losses.
    pub sign_test: SignTest,
}

/// Counts wins, ties and losses; one pair a task, so that pairs are independent. A negative threshold counts as its
/// magnitude; 0 makes equal scores the only ties.
pub fn win_tie_loss(pairs: &[SameTaskPair], tie_threshold: Ratio) -> WinTieLoss {
    let difference = |pair: &SameTaskPair| Some(pair.first?.difference(pair.second?));
    let differences: Vec<Ratio> = pairs.iter().filter_map(difference).collect();
    let shares = shares(&differences, tie_threshold);
    let (wins, ties, losses) = (shares.improved.count(), shares.within.count(), shares.regressed.count());
    WinTieLoss {
        tie_threshold: shares.threshold,
        decidable: differences.len(),
        undecidable: pairs.len() - differences.len(),
        wins,
        ties,
        losses,
        median_difference: median(&differences),
        sign_test: sign_test_of_counts(wins, losses, ties),
    }
}
