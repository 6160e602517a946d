//! Scores on one integer scale, so that a resampled sum is an integer sum.

use crate::exact::Ratio;
use crate::statistics::score::Score;

/// `values[i] = units[i] / denominator`, with room for a sum of as many units as there are values.
#[derive(Debug, Clone)]
pub(crate) struct Scaled {
    pub(crate) units: Vec<i64>,
    pub(crate) denominator: i128,
    /// Whether every unit is the score's exact value and every score is exact.
    pub(crate) exact: bool,
}

impl Scaled {
    /// Puts scores on the scale of their common denominator.
    ///
    /// Where that scale leaves no room for a sum in 64 bits, scores are rounded to the finest power of ten that does
    /// (1e-15 for up to some 9,000 scores in [−1, 1]), which only scores of more than 15 decimals can need.
    pub(crate) fn new(scores: &[Score]) -> Scaled {
        let common = common_denominator(scores);
        if let Some((denominator, units)) =
            common.and_then(|denominator| Some((denominator, units_at(scores, denominator)?)))
        {
            let exact = scores.iter().all(|score| score.is_exact());
            return Scaled { units, denominator, exact };
        }
        let mut denominator = 1_000_000_000_000_000_i128;
        while rounded_bound(scores, denominator) > i64::MAX as f64 && denominator > 1 {
            denominator /= 10;
        }
        let units = scores.iter().map(|score| (score.to_f64() * denominator as f64).round() as i64).collect();
        Scaled { units, denominator, exact: false }
    }
}

fn common_denominator(scores: &[Score]) -> Option<i128> {
    let mut common = 1_i128;
    for score in scores {
        let denominator = score.value().denominator();
        // Reduced, common/denominator is (common/g)/(denominator/g).
        let reduced = Ratio::new(common, denominator).ok()?;
        common = reduced.numerator().checked_mul(denominator)?;
    }
    Some(common)
}

fn units_at(scores: &[Score], denominator: i128) -> Option<Vec<i64>> {
    let room = i128::from(i64::MAX) / i128::try_from(scores.len().max(1)).ok()?;
    let mut units = Vec::with_capacity(scores.len());
    for score in scores {
        let value = score.value();
        let unit = value.numerator().checked_mul(denominator / value.denominator())?;
        if unit.abs() > room {
            return None;
        }
        units.push(i64::try_from(unit).ok()?);
    }
    Some(units)
}

/// An upper bound of a resampled sum's magnitude, with a margin for rounding.
fn rounded_bound(scores: &[Score], denominator: i128) -> f64 {
    let largest = scores.iter().map(|score| score.to_f64().abs()).fold(0.0, f64::max);
    (largest * denominator as f64 + 1.0) * scores.len() as f64 * 1.01
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_scale_is_the_least_one() {
        let scores: Vec<Score> = ["1/4", "1/3", "2/5"].iter().map(|text| Score::exact(text.parse().unwrap())).collect();
        let scaled = Scaled::new(&scores);
        assert_eq!((scaled.denominator, scaled.units), (60, vec![15, 20, 24]));
        assert!(scaled.exact);
    }

    #[test]
    fn long_decimals_are_rounded_where_a_sum_would_not_fit() {
        let scores = vec![Score::measured(1.0 / 3.0).unwrap(); 3000];
        let scaled = Scaled::new(&scores);
        assert!(!scaled.exact);
        assert_eq!(scaled.denominator, 1_000_000_000_000_000);
        assert_eq!(scaled.units[0], 333_333_333_333_333);
    }

    #[test]
    fn units_of_any_scores_sum_in_64_bits() {
        let scores = vec![Score::measured(0.999_999_999_999_999_9).unwrap(); 100_000];
        let sum: i128 = Scaled::new(&scores).units.iter().map(|unit| i128::from(*unit)).sum();
        assert!(i64::try_from(sum).is_ok());
    }
}
