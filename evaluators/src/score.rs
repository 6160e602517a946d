//! Scores, and the absence of one.

use std::cmp::Ordering;
use std::fmt;

/// An exact score in [0, 1]: `numerator / denominator`, not reduced.
#[derive(Debug, Clone, Copy)]
pub struct ExactScore {
    /// At most the denominator.
    pub numerator: u32,
    /// At least 1.
    pub denominator: u32,
}

impl ExactScore {
    /// `numerator / denominator`; a zero denominator counts as 0 of 1.
    #[must_use]
    pub fn new(numerator: u32, denominator: u32) -> Self {
        if denominator == 0 {
            return ExactScore { numerator: 0, denominator: 1 };
        }
        debug_assert!(numerator <= denominator);
        ExactScore { numerator, denominator }
    }

    /// The nearest double.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// Numerator and denominator in lowest terms.
    #[must_use]
    pub fn reduced(self) -> (u32, u32) {
        let (mut a, mut b) = (self.numerator, self.denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        (self.numerator / a.max(1), self.denominator / a.max(1))
    }
}

impl PartialEq for ExactScore {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ExactScore {}

impl PartialOrd for ExactScore {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ExactScore {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u64::from(self.numerator) * u64::from(other.denominator);
        let right = u64::from(other.numerator) * u64::from(self.denominator);
        left.cmp(&right)
    }
}

impl fmt::Display for ExactScore {
    /// `1/2`, `0`, `1`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reduced() {
            (numerator, 1) => write!(out, "{numerator}"),
            (numerator, denominator) => write!(out, "{numerator}/{denominator}"),
        }
    }
}

/// Why there is no score. No verdict is never 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoVerdict {
    /// One sentence.
    pub reason: String,
}

/// What an evaluator says of a payload.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// A score in [0, 1].
    Score {
        /// The value.
        value: f64,
        /// The value as a ratio, where there is one.
        exact: Option<ExactScore>,
    },
    /// No score.
    NoVerdict(NoVerdict),
}

impl Verdict {
    /// A verdict with an exact score.
    #[must_use]
    pub fn exact(score: ExactScore) -> Verdict {
        Verdict::Score { value: score.to_f64(), exact: Some(score) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_display() {
        assert_eq!(ExactScore::new(2, 4), ExactScore::new(1, 2));
        assert!(ExactScore::new(2, 5) < ExactScore::new(1, 2));
        assert_eq!(ExactScore::new(2, 4).to_string(), "1/2");
        assert_eq!(ExactScore::new(4, 4).to_string(), "1");
        assert_eq!(ExactScore::new(0, 4).to_string(), "0");
    }
}
