//! Two-sided tests of paired differences: sign test, McNemar's test, Wilcoxon's signed-rank test.
//!
//! A test without a difference to test has p = 1: the one possible outcome is as extreme as itself.

use serde::{Deserialize, Serialize};

use crate::binomial::at_most_of_fair;
use crate::exact::Ratio;
use crate::normal::upper_tail;
use crate::ranks::doubled_mid_ranks;

/// Sign test: is a difference as often positive as negative? Ties are left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SignTest {
    /// Positive differences.
    pub positive: usize,
    /// Negative differences.
    pub negative: usize,
    /// Ties.
    pub ties: usize,
    /// min(1, 2·P(X ≤ fewer)) for X of Binomial(positive + negative, 1/2): exact at any number, in [0, 1]; 0 only below
    /// about 1e-300.
    pub p_value: f64,
}

/// Sign test of differences; zeros are ties.
pub fn sign_test(differences: &[Ratio]) -> SignTest {
    let count = |sign| differences.iter().filter(|difference| difference.signum() == sign).count();
    sign_test_of_counts(count(1), count(-1), count(0))
}

/// Sign test of differences that were counted.
///
/// ```
/// use parthack_statistics::sign_test_of_counts;
/// // G §4.6: 40 of 69 pairs higher, two lower, 27 the same.
/// assert!(sign_test_of_counts(40, 2, 27).p_value < 1e-9);
/// ```
pub fn sign_test_of_counts(positive: usize, negative: usize, ties: usize) -> SignTest {
    let fewer = positive.min(negative) as u64;
    let p_value = (2.0 * at_most_of_fair(fewer, positive as u64 + negative as u64)).min(1.0);
    SignTest { positive, negative, ties, p_value }
}

/// McNemar's exact test of two binary outcomes of the same cases: the sign test of those that differ.
///
/// `(before, after)` each; a change to true counts as positive.
pub fn mcnemar(pairs: &[(bool, bool)]) -> SignTest {
    let count = |wanted| pairs.iter().filter(|pair| **pair == wanted).count();
    let (gained, lost) = (count((false, true)), count((true, false)));
    sign_test_of_counts(gained, lost, pairs.len() - gained - lost)
}

/// How a p-value came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Every sign pattern of the ranks, ties kept as they are, was counted.
    Exact,
    /// Normal approximation with the variance of the tied ranks and half a rank's continuity correction.
    NormalCorrected,
    /// The same without continuity correction.
    Normal,
}

/// Wilcoxon's signed-rank test: zeros are left out, tied magnitudes share their mid-rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WilcoxonTest {
    /// Differences other than zero.
    pub n: usize,
    /// Zeros.
    pub zeros: usize,
    /// Sum of the ranks of positive differences.
    pub positive_rank_sum: f64,
    /// Sum of the ranks of negative differences.
    pub negative_rank_sum: f64,
    /// Two-sided, in [0, 1].
    pub p_value: f64,
    /// How it came about.
    pub method: Method,
}

/// Most differences of which all 2^n sign patterns are counted in 128 bits.
pub const WILCOXON_COUNTED: usize = 120;

/// Wilcoxon's test: exact up to [`WILCOXON_COUNTED`] differences other than zero (tied or not), beyond it
/// [`Method::NormalCorrected`].
pub fn wilcoxon(differences: &[Ratio]) -> WilcoxonTest {
    wilcoxon_by(differences, Method::Exact)
}

/// The same by a method of the caller's choice; [`Method::Exact`] gives way to [`Method::NormalCorrected`] beyond
/// [`WILCOXON_COUNTED`].
pub fn wilcoxon_by(differences: &[Ratio], method: Method) -> WilcoxonTest {
    let nonzero: Vec<Ratio> = differences.iter().copied().filter(|difference| difference.signum() != 0).collect();
    let ranks = doubled_mid_ranks(&nonzero.iter().map(|difference| difference.magnitude()).collect::<Vec<_>>());
    let total: i128 = ranks.iter().sum();
    let positive: i128 =
        nonzero.iter().zip(&ranks).filter(|(difference, _)| difference.signum() > 0).map(|(_, rank)| rank).sum();
    let smaller = positive.min(total - positive);
    let n = nonzero.len();
    let method = if method == Method::Exact && n > WILCOXON_COUNTED { Method::NormalCorrected } else { method };
    let p_value = match method {
        _ if n == 0 => 1.0,
        Method::Exact => 2.0 * exact_tail(&ranks, total, smaller),
        // Doubled ranks have twice the mean and four times the variance of ranks; half a rank is 1 of them.
        Method::NormalCorrected => 2.0 * normal_tail(&ranks, total, smaller, 1.0),
        Method::Normal => 2.0 * normal_tail(&ranks, total, smaller, 0.0),
    };
    WilcoxonTest {
        n,
        zeros: differences.len() - n,
        positive_rank_sum: positive as f64 / 2.0,
        negative_rank_sum: (total - positive) as f64 / 2.0,
        p_value: p_value.min(1.0),
        method,
    }
}

/// The share of sign patterns whose positive doubled ranks sum to at most `smaller`; at most 120 ranks.
fn exact_tail(ranks: &[i128], total: i128, smaller: i128) -> f64 {
    let mut patterns = vec![0_u128; total as usize + 1];
    patterns[0] = 1;
    let mut reached = 0;
    for rank in ranks.iter().map(|rank| *rank as usize) {
        reached += rank;
        for sum in (rank..=reached).rev() {
            patterns[sum] += patterns[sum - rank];
        }
    }
    let below: u128 = patterns[..=smaller as usize].iter().sum();
    below as f64 / (1_u128 << ranks.len()) as f64
}

fn normal_tail(ranks: &[i128], total: i128, smaller: i128, correction: f64) -> f64 {
    let squares: i128 = ranks.iter().map(|rank| rank * rank).sum();
    let distance = (total as f64 / 2.0 - smaller as f64 - correction).max(0.0);
    upper_tail(distance / (squares as f64 / 4.0).sqrt())
}
