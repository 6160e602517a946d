//! Paired tests of two evaluators on the same tasks: sign, Wilcoxon signed-rank, sign-flip permutation.
//!
//! All are two-sided. P reports none in its tables and calls its analysis exploratory; so are these
//! ([`crate::statistics::EXPLORATORY`]).

use serde::Serialize;

use crate::statistics::random::StreamKey;
use crate::statistics::scaled::Scaled;
use crate::statistics::score::Score;

/// How a p-value came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Every equally likely outcome was counted.
    Exact,
    /// Normal approximation with continuity correction (and tie correction where ranks tie).
    Normal,
    /// A fixed number of random sign patterns from our own stream.
    Sampled,
}

/// Sign test: is a difference as often positive as negative? Zeros are left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SignTest {
    /// Tasks with a positive difference.
    pub positive: usize,
    /// Tasks with a negative difference.
    pub negative: usize,
    /// Tasks without a difference.
    pub ties: usize,
    /// Two-sided p-value in (0, 1]; exact up to 120 non-zero differences.
    pub p_value: f64,
    /// How it came about.
    pub method: Method,
}

/// Wilcoxon signed-rank test: zeros are left out, tied magnitudes share their mean rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WilcoxonTest {
    /// Non-zero differences.
    pub n: usize,
    /// Sum of the ranks of positive differences.
    pub rank_sum_positive: f64,
    /// Two-sided p-value in (0, 1]; exact up to 120 non-zero differences, ties included.
    pub p_value: f64,
    /// How it came about.
    pub method: Method,
}

/// Sign-flip permutation test of the mean difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PermutationTest {
    /// Differences, zeros included.
    pub n: usize,
    /// Two-sided p-value in (0, 1]; exact up to 25 non-zero differences.
    pub p_value: f64,
    /// How it came about.
    pub method: Method,
}

/// Most non-zero differences for which all 2^n sign patterns are counted in 128 bits.
const COUNTED: usize = 120;
/// Most non-zero differences for which sign patterns are enumerated.
const ENUMERATED: usize = 25;
/// Random sign patterns beyond that; the observed one is counted too.
const SAMPLED: u32 = 99_999;

/// Sign test of per-task differences.
pub fn sign_test(differences: &[Score]) -> SignTest {
    let count = |sign: i128| differences.iter().filter(|score| score.value().numerator().signum() == sign).count();
    let (positive, negative, ties) = (count(1), count(-1), count(0));
    let (n, fewer) = (positive + negative, positive.min(negative));
    let (p_value, method) = match n {
        0 => (1.0, Method::Exact),
        1..=COUNTED => {
            let mut term = 1_u128;
            let mut tail = 0_u128;
            for k in 0..=fewer {
                tail += term;
                term = term * (n - k) as u128 / (k as u128 + 1);
            }
            (2.0 * tail as f64 / 2_f64.powi(n as i32), Method::Exact)
        }
        _ => {
            let z = ((fewer as f64 + 0.5) - n as f64 / 2.0) / (n as f64 / 4.0).sqrt();
            (2.0 * normal_below(z), Method::Normal)
        }
    };
    SignTest { positive, negative, ties, p_value: p_value.min(1.0), method }
}

/// Wilcoxon signed-rank test of per-task differences.
pub fn wilcoxon_test(differences: &[Score]) -> WilcoxonTest {
    let mut nonzero: Vec<Score> = differences.iter().copied().filter(|score| !score.value().is_zero()).collect();
    nonzero.sort_by(|a, b| a.magnitude().compare(b.magnitude()));
    let doubled = doubled_ranks(&nonzero);
    let positive: usize =
        (nonzero.iter().zip(&doubled)).filter(|(score, _)| score.value().numerator() > 0).map(|(_, rank)| rank).sum();
    let total: usize = doubled.iter().sum();
    let smaller = positive.min(total - positive);
    let n = nonzero.len();
    let (p_value, method) = match n {
        0 => (1.0, Method::Exact),
        1..=COUNTED => {
            let patterns = patterns_by_rank_sum(&doubled, total);
            let tail: u128 = patterns[..=smaller].iter().sum();
            (2.0 * tail as f64 / 2_f64.powi(n as i32), Method::Exact)
        }
        _ => {
            // Doubled ranks have twice the mean and four times the variance of ranks.
            let variance: f64 = doubled.iter().map(|rank| (rank * rank) as f64).sum::<f64>() / 4.0;
            let z = (smaller as f64 + 1.0 - total as f64 / 2.0) / variance.sqrt();
            (2.0 * normal_below(z), Method::Normal)
        }
    };
    let rank_sum_positive = positive as f64 / 2.0;
    WilcoxonTest { n, rank_sum_positive, p_value: p_value.min(1.0), method }
}

/// Twice the mean rank of each magnitude, for magnitudes in ascending order.
fn doubled_ranks(ascending: &[Score]) -> Vec<usize> {
    let mut doubled = Vec::with_capacity(ascending.len());
    for group in ascending.chunk_by(|a, b| a.magnitude() == b.magnitude()) {
        let (first, last) = (doubled.len() + 1, doubled.len() + group.len());
        doubled.extend(std::iter::repeat_n(first + last, group.len()));
    }
    doubled
}

/// For each doubled rank sum, how many sign patterns give it.
fn patterns_by_rank_sum(doubled: &[usize], total: usize) -> Vec<u128> {
    let mut patterns = vec![0_u128; total + 1];
    patterns[0] = 1;
    for rank in doubled {
        for sum in (*rank..=total).rev() {
            patterns[sum] += patterns[sum - rank];
        }
    }
    patterns
}

/// Sign-flip permutation test of the mean of per-task differences; `seed` serves only beyond 25 non-zero ones.
pub fn permutation_test(differences: &[Score], seed: u64) -> PermutationTest {
    let n = differences.len();
    let mut units = Scaled::new(differences).units;
    units.retain(|unit| *unit != 0);
    let observed: i64 = units.iter().sum::<i64>().abs();
    let (p_value, method) = match units.len() {
        0 => (1.0, Method::Exact),
        1..=ENUMERATED => (enumerated(&units, observed), Method::Exact),
        _ => (sampled(&units, observed, seed), Method::Sampled),
    };
    PermutationTest { n, p_value, method }
}

/// Walks the sign patterns in Gray-code order, one flip a step; the first sign stays, as the test is two-sided.
fn enumerated(units: &[i64], observed: i64) -> f64 {
    let flippable = &units[1..];
    let mut signed = flippable.to_vec();
    let mut sum: i64 = units.iter().sum();
    let patterns = 1_u64 << flippable.len();
    let mut as_large = u64::from(sum.abs() >= observed);
    for step in 1..patterns {
        let flipped = step.trailing_zeros() as usize;
        signed[flipped] = -signed[flipped];
        sum += 2 * signed[flipped];
        as_large += u64::from(sum.abs() >= observed);
    }
    as_large as f64 / patterns as f64
}

fn sampled(units: &[i64], observed: i64, seed: u64) -> f64 {
    let mut stream = StreamKey::root(seed).child("sign-flip").child(&format!("tasks={}", units.len())).stream();
    let mut as_large = 1_u32;
    for _ in 0..SAMPLED {
        let mut sum = 0_i64;
        for block in units.chunks(64) {
            let mut bits = stream.next_u64();
            for unit in block {
                sum += if bits & 1 == 1 { *unit } else { -unit };
                bits >>= 1;
            }
        }
        as_large += u32::from(sum.abs() >= observed);
    }
    f64::from(as_large) / f64::from(SAMPLED + 1)
}

/// P(Z ≤ z) for z ≤ 0 and a little above, by erfc's continued-fraction-free rational fit (error below 1.2e-7).
fn normal_below(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    // Numerical Recipes' Chebyshev fit of erfc.
    let coefficients = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let polynomial = coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient);
    let upper = 0.5 * t * (-x * x + polynomial).exp();
    if z <= 0.0 { upper } else { 1.0 - upper }
}
