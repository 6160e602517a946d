//! Krippendorff's α: agreement of any number of raters beyond chance, with missing ratings (Krippendorff, 2011).
//!
//! A unit is what is rated (a log, a criterion); its ratings come from any raters, and which rater gave which does not
//! matter. A unit with fewer than two ratings is not pairable and left out. With m_u ratings of unit u, n of all pairable
//! units, and n_c of them at value c:
//!
//! α = 1 − (n − 1) · (Σ_u Σ_{i≠j in u} δ²(v_i, v_j) / (m_u − 1)) / (Σ_{c,k} n_c n_k δ²(c, k))
//!
//! δ² is 1 for different values (nominal); the squared difference of mid-ranks among all pairable ratings (ordinal, the
//! same as Krippendorff's Σ n_g − (n_c + n_k)/2); or the squared difference (interval). α is 1 for perfect agreement, 0
//! for chance, and down to −1 and a little below. It is undefined where nothing is pairable or all pairable ratings are
//! equal: nothing says then what chance would give.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::exact::Ratio;
use crate::ranks::{doubled_mid_ranks, levels};
use crate::scaled::Scaled;

/// α and what it is over.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Alpha {
    /// Krippendorff's α, at most 1.
    pub alpha: f64,
    /// Units with at least two ratings.
    pub units: usize,
    /// Their ratings.
    pub ratings: usize,
}

/// α for labels without order.
///
/// ```
/// use parthack_statistics::alpha_nominal;
/// let units = [vec![Some("yes"), Some("yes")], vec![Some("no"), Some("no")], vec![Some("no"), None]];
/// assert_eq!(alpha_nominal(&units).unwrap().alpha, 1.0);
/// assert_eq!(alpha_nominal(&units[..1]), None);
/// ```
pub fn alpha_nominal<T: Ord + Clone, U: AsRef<[Option<T>]>>(units: &[U]) -> Option<Alpha> {
    let (ratings, sizes) = pairable(units);
    let (levels, count) = levels(&ratings);
    let unlike = |levels: &[u32]| {
        let mut counts: BTreeMap<u32, i128> = BTreeMap::new();
        levels.iter().for_each(|level| *counts.entry(*level).or_default() += 1);
        let size = levels.len() as i128;
        size * size - counts.values().map(|count| count * count).sum::<i128>()
    };
    (count > 0).then(|| alpha(&levels, &sizes, unlike)).flatten()
}

/// α for values of which only the order counts.
pub fn alpha_ordinal<T: Ord + Clone, U: AsRef<[Option<T>]>>(units: &[U]) -> Option<Alpha> {
    let (ratings, sizes) = pairable(units);
    alpha(&doubled_mid_ranks(&ratings), &sizes, squares)
}

/// α for numbers whose differences count.
///
/// Numbers without a common scale of moderate size are rounded to about 2^−(62 − log2 n) of their spread.
pub fn alpha_interval<U: AsRef<[Option<Ratio>]>>(units: &[U]) -> Option<Alpha> {
    let (ratings, sizes) = pairable(units);
    alpha(&Scaled::for_products(&ratings).units, &sizes, squares)
}

/// The ratings of the pairable units, one after the other, and how many each has.
fn pairable<T: Clone, U: AsRef<[Option<T>]>>(units: &[U]) -> (Vec<T>, Vec<usize>) {
    let (mut ratings, mut sizes) = (Vec::new(), Vec::new());
    for unit in units {
        let given = unit.as_ref().iter().flatten();
        let size = given.clone().count();
        if size >= 2 {
            ratings.extend(given.cloned());
            sizes.push(size);
        }
    }
    (ratings, sizes)
}

/// Σ (v_i − v_j)² over ordered pairs.
fn squares(values: &[i128]) -> i128 {
    let (sum, square) = values.iter().fold((0_i128, 0_i128), |(sum, square), v| (sum + v, square + v * v));
    2 * (values.len() as i128 * square - sum * sum)
}

/// α from the sum of δ² over all ordered pairs of some values.
fn alpha<V>(values: &[V], sizes: &[usize], disagreement: impl Fn(&[V]) -> i128) -> Option<Alpha> {
    let expected = disagreement(values);
    if expected <= 0 {
        return None;
    }
    // Integer sums for each number of ratings, so that the order of units does not matter.
    let mut observed: BTreeMap<usize, i128> = BTreeMap::new();
    let mut rest = values;
    for size in sizes {
        let (unit, after) = rest.split_at(*size);
        *observed.entry(*size).or_default() += disagreement(unit);
        rest = after;
    }
    let observed: f64 = observed.iter().map(|(size, sum)| *sum as f64 / (*size as f64 - 1.0)).sum();
    let chance = expected as f64 / (values.len() as f64 - 1.0);
    Some(Alpha { alpha: 1.0 - observed / chance, units: sizes.len(), ratings: values.len() })
}
