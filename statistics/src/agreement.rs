//! Raw agreement, Cohen's κ and Fleiss' κ, as exact ratios.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::exact::Ratio;
use crate::ranks::levels;

/// Share of the pairs whose two labels are equal, in [0, 1]; `None` of no pairs.
pub fn raw_agreement<T: PartialEq>(pairs: &[(T, T)]) -> Option<Ratio> {
    let equal = pairs.iter().filter(|(first, second)| first == second).count();
    Ratio::new(equal as i128, pairs.len() as i128).ok()
}

/// How far two different labels are apart, for Cohen's κ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// Equally far, all of them.
    Unweighted,
    /// By as many places as lie between them in the order of the labels that occur.
    Linear,
    /// By the square of that.
    Quadratic,
}

/// Cohen's κ of two raters who labelled the same things, at most 1.
///
/// κ = 1 − n·Σ w·o / Σ w·a·b, with o the counts of label pairs, a and b each rater's counts, and w the weights. `None` of
/// no pairs, and where both give one and the same label throughout (chance alone would agree fully). For weights, the
/// labels' order is that of the type, and labels that neither rater uses take no place in it.
///
/// ```
/// use parthack_statistics::{Ratio, Weights, cohen_kappa};
/// let pairs = [(1, 1), (1, 1), (0, 0), (1, 0)];
/// assert_eq!(cohen_kappa(&pairs, Weights::Unweighted), Some(Ratio::fraction(1, 2)));
/// assert_eq!(cohen_kappa(&[(1, 1), (1, 1)], Weights::Unweighted), None);
/// ```
pub fn cohen_kappa<T: Ord + Clone>(pairs: &[(T, T)], weights: Weights) -> Option<Ratio> {
    let labels: Vec<T> = pairs.iter().flat_map(|(first, second)| [first.clone(), second.clone()]).collect();
    let (places, count) = levels(&labels);
    let weight = |one: usize, other: usize| {
        let apart = one.abs_diff(other) as i128;
        match weights {
            Weights::Unweighted => i128::from(apart != 0),
            Weights::Linear => apart,
            Weights::Quadratic => apart * apart,
        }
    };
    let (mut firsts, mut seconds) = (vec![0_i128; count], vec![0_i128; count]);
    let mut observed = 0_i128;
    for pair in places.chunks_exact(2) {
        let (first, second) = (pair[0] as usize, pair[1] as usize);
        firsts[first] += 1;
        seconds[second] += 1;
        observed += weight(first, second);
    }
    let mut expected = 0_i128;
    for (first, of_first) in firsts.iter().enumerate() {
        for (second, of_second) in seconds.iter().enumerate() {
            expected += weight(first, second) * of_first * of_second;
        }
    }
    Ratio::new(expected - pairs.len() as i128 * observed, expected).ok()
}

/// Why Fleiss' κ can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FleissError {
    /// Units with different numbers of ratings.
    #[error("unit {unit} (counted from 0) has {found} ratings, expected {expected} as in unit 0, and at least 2")]
    Unequal {
        /// The unit.
        unit: usize,
        /// Its ratings.
        found: usize,
        /// The ratings of the first unit.
        expected: usize,
    },
}

/// Fleiss' κ of units with equally many ratings each, at most 1.
///
/// κ = (P̄ − Pₑ) / (1 − Pₑ), with P̄ the mean share of agreeing pairs of ratings in a unit and Pₑ the sum of squared
/// shares of the labels. `None` of no units, where all ratings are equal, or where 128 bits do not hold the ratio.
///
/// # Errors
/// [`FleissError::Unequal`]; Krippendorff's α takes such units.
pub fn fleiss_kappa<T: Ord, U: AsRef<[T]>>(units: &[U]) -> Result<Option<Ratio>, FleissError> {
    let Some(expected) = units.first().map(|unit| unit.as_ref().len()) else {
        return Ok(None);
    };
    let mut totals: BTreeMap<&T, i128> = BTreeMap::new();
    let mut agreeing = 0_i128;
    for (unit, ratings) in units.iter().enumerate() {
        let found = ratings.as_ref().len();
        if found != expected || found < 2 {
            return Err(FleissError::Unequal { unit, found, expected });
        }
        let mut counts: BTreeMap<&T, i128> = BTreeMap::new();
        ratings.as_ref().iter().for_each(|label| *counts.entry(label).or_default() += 1);
        for (label, count) in counts {
            agreeing += count * (count - 1);
            *totals.entry(label).or_default() += count;
        }
    }
    let (n, raters) = (units.len() as i128, expected as i128);
    let all = n * raters;
    let squares: i128 = totals.values().map(|total| total * total).sum();
    let kappa = || {
        // P̄ = agreeing / (n·m·(m − 1)) and Pₑ = squares / (n·m)².
        let observed = Ratio::new(agreeing, all * (raters - 1)).ok()?;
        let chance = Ratio::new(squares, all * all).ok()?;
        let below = Ratio::ONE.checked_add(chance.negated())?;
        observed.checked_add(chance.negated())?.checked_mul(Ratio::new(below.denominator(), below.numerator()).ok()?)
    };
    Ok(kappa())
}
