//! Quantiles (type 7), five-number summaries and means.

use serde::Serialize;

use crate::exact::Ratio;
use crate::scaled::Scaled;

/// Where a quantile lies among `count` sorted values: the index ⌊h⌋ and the part h − ⌊h⌋, for h = (count − 1)·p.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    index: usize,
    part: Ratio,
}

/// The position of the quantile at `p` in [0, 1] (held within it); `p` with a denominator of at most 2^62.
pub(crate) fn position(count: usize, p: Ratio) -> Position {
    let p = p.clamp(Ratio::ZERO, Ratio::ONE);
    let product = (count.max(1) as i128 - 1).saturating_mul(p.numerator());
    let (index, rest) = (product / p.denominator(), product % p.denominator());
    Position { index: index as usize, part: Ratio::new(rest, p.denominator()).unwrap_or(Ratio::ZERO) }
}

/// The quantile of sorted floats; there is at least one.
pub(crate) fn quantile_of_floats(sorted: &[f64], Position { index, part }: Position) -> f64 {
    let below = sorted[index];
    let above = sorted.get(index + 1).copied().unwrap_or(below);
    below + (above - below) * part.to_f64()
}

/// The quantile at `p` by linear interpolation between order statistics (Hyndman and Fan's type 7, numpy's default).
///
/// h = (n − 1)·p counted from 0; the quantile is x[⌊h⌋] + (h − ⌊h⌋)·(x[⌊h⌋+1] − x[⌊h⌋]), exact before it is rounded to
/// a double. `None` of no values, or of `p` outside [0, 1]. Values in any order.
///
/// ```
/// use parthack_statistics::{Ratio, quantile};
/// let values = [4, 1, 3, 2].map(Ratio::integer);
/// assert_eq!(quantile(&values, Ratio::fraction(1, 4)), Some(1.75));
/// assert_eq!(quantile(&[], Ratio::fraction(1, 2)), None);
/// ```
pub fn quantile(values: &[Ratio], p: Ratio) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    quantile_of_sorted(&sorted, p)
}

fn quantile_of_sorted(sorted: &[Ratio], p: Ratio) -> Option<f64> {
    if !(Ratio::ZERO..=Ratio::ONE).contains(&p) {
        return None;
    }
    let Position { index, part } = position(sorted.len(), p);
    let below = *sorted.get(index)?;
    let above = sorted.get(index + 1).copied().unwrap_or(below);
    let exact = above.difference(below).checked_mul(part).and_then(|step| below.checked_add(step));
    Some(exact.map_or_else(|| below.to_f64() + (above.to_f64() - below.to_f64()) * part.to_f64(), Ratio::to_f64))
}

/// The arithmetic mean, rounded once where 128 bits hold the sum (always for scores of one checklist or decimals); the
/// order of the values does not matter. `None` of no values.
pub fn mean(values: &[Ratio]) -> Option<f64> {
    let scaled = Scaled::for_sums(values);
    scaled.mean(scaled.units.iter().sum(), values.len())
}

/// The median: [`quantile`] at one half.
pub fn median(values: &[Ratio]) -> Option<f64> {
    quantile(values, Ratio::fraction(1, 2))
}

/// A distribution in seven numbers; quartiles by [`quantile`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of values; at least 1.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Least value.
    pub minimum: f64,
    /// Quantile at 1/4.
    pub lower_quartile: f64,
    /// Quantile at 1/2.
    pub median: f64,
    /// Quantile at 3/4.
    pub upper_quartile: f64,
    /// Greatest value.
    pub maximum: f64,
}

/// The distribution of the values; `None` of no values.
pub fn distribution(values: &[Ratio]) -> Option<Distribution> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let at = |p| quantile_of_sorted(&sorted, p);
    Some(Distribution {
        n: values.len(),
        mean: mean(values)?,
        minimum: at(Ratio::ZERO)?,
        lower_quartile: at(Ratio::fraction(1, 4))?,
        median: at(Ratio::fraction(1, 2))?,
        upper_quartile: at(Ratio::fraction(3, 4))?,
        maximum: at(Ratio::ONE)?,
    })
}
