//! Histograms with exact edges, for the figures' data.

use serde::Serialize;

use crate::exact::Ratio;

/// Why there is no histogram.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// No bins, too many, or an empty range.
    #[error("found {bins} bins from {low} to {high}, expected 1 to 1000000 bins and a range from low to higher")]
    Range {
        /// Bins asked for.
        bins: u32,
        /// Lower edge asked for.
        low: Ratio,
        /// Upper edge asked for.
        high: Ratio,
    },
}

/// Values counted in bins of equal width.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Histogram {
    /// Edges, one more than bins; bin i is [edge i, edge i+1), the last bin with its upper edge.
    pub edges: Vec<f64>,
    /// Values in each bin.
    pub counts: Vec<usize>,
    /// Values below the first edge.
    pub below: usize,
    /// Values above the last edge.
    pub above: usize,
}

/// Counts values in `bins` bins of equal width from `low` to `high`, a value on an inner edge in the bin above it.
///
/// ```
/// use parthack_statistics::{Ratio, histogram};
/// let values = [0.0, 0.3, 0.1, 1.0].map(|value| Ratio::measured(value).unwrap());
/// assert_eq!(histogram(&values, Ratio::ZERO, Ratio::ONE, 10).unwrap().counts, [1, 1, 0, 1, 0, 0, 0, 0, 0, 1]);
/// ```
///
/// # Errors
/// [`HistogramError::Range`].
pub fn histogram(values: &[Ratio], low: Ratio, high: Ratio, bins: u32) -> Result<Histogram, HistogramError> {
    let edge = |index: u32| {
        let part = Ratio::new(i128::from(index), i128::from(bins)).ok()?;
        low.checked_add(high.difference(low).checked_mul(part)?)
    };
    let edges: Option<Vec<Ratio>> =
        if low < high && (1..=1_000_000).contains(&bins) { (0..=bins).map(edge).collect() } else { None };
    let Some(edges) = edges else {
        return Err(HistogramError::Range { bins, low, high });
    };
    let (mut counts, mut below, mut above) = (vec![0; bins as usize], 0, 0);
    for value in values {
        // Edges at or below the value; the first of them is edge 0.
        let place = match edges.partition_point(|edge| edge <= value) {
            0 => &mut below,
            _ if *value > high => &mut above,
            at_or_below => &mut counts[(at_or_below - 1).min(bins as usize - 1)],
        };
        *place += 1;
    }
    Ok(Histogram { edges: edges.into_iter().map(Ratio::to_f64).collect(), counts, below, above })
}
