//! One number of the ledger: an exact ratio, or a measured decimal.

use std::cmp::Ordering;

use serde::{Serialize, Serializer};

use crate::exact::{Decimal3, ExactError, Ratio};

/// A score, a difference of scores, or a mean of them.
///
/// Rule evaluators give exact ratios. A judge gives a float, which counts as the shortest decimal that reads back
/// as it, kept to 18 decimals: `0.4 − 0.3` is then exactly `0.1`, and a strict threshold of .10 is not passed by a
/// rounding error (P B.1: Δ = .10 is unsuccessful). A result is *exact* if everything it came from is.
///
/// ```
/// use parthack::exact::Ratio;
/// use parthack::statistics::Score;
/// let difference = Score::measured(0.4).unwrap().minus(Score::measured(0.3).unwrap());
/// assert!(!difference.exceeds(Ratio::fraction(1, 10)));
/// assert_eq!(difference.to_f64(), 0.1);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Score {
    value: Ratio,
    exact: bool,
}

/// Decimals kept of a measured score.
const MEASURED_DECIMALS: i128 = 1_000_000_000_000_000_000;

impl Score {
    /// Exactly zero.
    pub const ZERO: Score = Score { value: Ratio::ZERO, exact: true };

    /// An exact ratio.
    pub const fn exact(value: Ratio) -> Score {
        Score { value, exact: true }
    }

    /// A measured float; any finite magnitude up to 1e15. Scores lie in [0, 1], their differences in [−1, 1].
    ///
    /// # Errors
    /// [`ExactError::NotFinite`], or [`ExactError::Overflow`] beyond 1e15.
    pub fn measured(value: f64) -> Result<Score, ExactError> {
        if value.abs() > 1e15 {
            return Err(ExactError::Overflow { operation: "a measured score" });
        }
        let shortest = Ratio::from_shortest_decimal(value);
        let value = match shortest {
            Ok(ratio) if ratio.denominator() <= MEASURED_DECIMALS => ratio,
            Err(error @ ExactError::NotFinite { .. }) => return Err(error),
            _ => format!("{value:.18}").parse()?,
        };
        Ok(Score { value, exact: false })
    }

    /// A decimal as printed in a publication: exact in value, but a rounding of something unknown.
    pub const fn printed(value: Ratio) -> Score {
        Score { value, exact: false }
    }

    /// The value as a ratio; for a measured score, its decimal.
    pub const fn value(self) -> Ratio {
        self.value
    }

    /// The ratio, where the score is exact.
    pub fn exact_ratio(self) -> Option<Ratio> {
        self.exact.then_some(self.value)
    }

    /// Whether the score is exact.
    pub const fn is_exact(self) -> bool {
        self.exact
    }

    /// Nearest double.
    pub fn to_f64(self) -> f64 {
        self.value.to_f64()
    }

    /// Difference; where 128 bits do not hold it, the measured difference of the nearest doubles.
    pub fn minus(self, other: Score) -> Score {
        match self.value.checked_sub(other.value) {
            Ok(value) => Score { value, exact: self.exact && other.exact },
            Err(_) => nearest(self.to_f64() - other.to_f64()),
        }
    }

    /// Magnitude.
    pub const fn magnitude(self) -> Score {
        Score { value: self.value.magnitude(), exact: self.exact }
    }

    /// Whether the score is strictly greater than `threshold`.
    pub fn exceeds(self, threshold: Ratio) -> bool {
        self.value > threshold
    }

    /// Numerical order, exact.
    pub fn compare(self, other: Score) -> Ordering {
        self.value.cmp(&other.value)
    }

    /// Mean of the scores; `None` of none.
    pub fn mean(scores: &[Score]) -> Option<Score> {
        if scores.is_empty() {
            return None;
        }
        let values: Vec<Ratio> = scores.iter().map(|score| score.value).collect();
        let exact = scores.iter().all(|score| score.exact);
        let mean = match Ratio::mean(&values) {
            Ok(value) => Score { value, exact },
            Err(_) => {
                let sum: f64 = scores.iter().map(|score| score.to_f64()).sum();
                nearest(sum / scores.len() as f64)
            }
        };
        Some(mean)
    }

    /// A value that came out of arithmetic on scores, with the exactness of its inputs.
    pub(crate) const fn derived(value: Ratio, exact: bool) -> Score {
        Score { value, exact }
    }
}

/// The fallback where 128 bits do not hold an exact result, within the bounds of a measured score.
fn nearest(value: f64) -> Score {
    let bounded = if value.is_nan() { 0.0 } else { value.clamp(-1e15, 1e15) };
    Score::measured(bounded).unwrap_or(Score { value: Ratio::ZERO, exact: false })
}

impl PartialEq for Score {
    /// Numerical equality; where a number came from does not matter.
    fn eq(&self, other: &Score) -> bool {
        self.value == other.value
    }
}

impl Eq for Score {}

impl From<Ratio> for Score {
    fn from(value: Ratio) -> Score {
        Score::exact(value)
    }
}

impl From<Score> for Decimal3 {
    fn from(score: Score) -> Decimal3 {
        Decimal3::from(score.value)
    }
}

impl Serialize for Score {
    /// A JSON number, the nearest double.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}
