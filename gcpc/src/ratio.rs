//! Exact ratios: scores are kept as two integers and become decimals only where they are printed.

use std::cmp::Ordering;
use std::fmt;

/// A ratio of two counts, the lower one above zero. It is not reduced: 3/9 says that nine things were counted.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    numerator: u64,
    /// Invariant: above zero.
    denominator: u64,
}

impl Ratio {
    /// `None` where the ratio is undefined: nothing was counted.
    ///
    /// ```
    /// # use parthack_gcpc::ratio::Ratio;
    /// assert_eq!(Ratio::new(9, 10).map(|ratio| ratio.decimal(3)), Some("0.900".to_owned()));
    /// assert_eq!(Ratio::new(0, 0), None);
    /// ```
    #[must_use]
    pub fn new(numerator: u64, denominator: u64) -> Option<Ratio> {
        (denominator > 0).then_some(Ratio { numerator, denominator })
    }

    /// Of two counts of things in memory.
    #[must_use]
    pub fn of(numerator: usize, denominator: usize) -> Option<Ratio> {
        Ratio::new(numerator as u64, denominator as u64)
    }

    /// What was counted above the line.
    #[must_use]
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// What was counted below the line, above zero.
    #[must_use]
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// Decimal digits, the last one rounded half up.
    #[must_use]
    pub fn decimal(self, places: u32) -> String {
        let places = places.min(15);
        let scale = 10_u128.pow(places);
        let (above, below) = (u128::from(self.numerator), u128::from(self.denominator));
        let scaled = (2 * above * scale + below) / (2 * below);
        if places == 0 {
            return scaled.to_string();
        }
        format!("{}.{:0width$}", scaled / scale, scaled % scale, width = places as usize)
    }

    /// The nearest double, for JSON numbers.
    #[must_use]
    pub fn number(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts of items and logs are far below 2^53")]
        let quotient = self.numerator as f64 / self.denominator as f64;
        quotient
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.numerator, self.denominator)
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.numerator) * u128::from(other.denominator);
        let right = u128::from(other.numerator) * u128::from(self.denominator);
        left.cmp(&right)
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_half_up() {
        let decimal = |above, below, places| Ratio::new(above, below).expect("defined").decimal(places);
        assert_eq!(decimal(1, 3, 3), "0.333");
        assert_eq!(decimal(2, 3, 3), "0.667");
        assert_eq!(decimal(1, 2, 0), "1");
        assert_eq!(decimal(1, 16, 3), "0.063");
        assert_eq!(decimal(9, 9, 3), "1.000");
        assert_eq!(decimal(29_999, 10_000, 3), "3.000");
    }

    #[test]
    fn equal_means_equal_in_value() {
        assert_eq!(Ratio::new(3, 9), Ratio::new(1, 3));
        assert!(Ratio::new(3, 9) < Ratio::new(5, 14));
        assert_eq!(Ratio::new(3, 9).map(|ratio| ratio.to_string()), Some("3/9".to_owned()));
    }
}
