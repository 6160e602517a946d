//! A count over a count, and its Wilson interval (P §4.2).

use std::fmt;

use serde::Serialize;

use crate::exact::Ratio;

/// The two-sided 95 % point of the standard normal distribution.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;

/// `k` of `n`; `k ≤ n`. Printed as P does, `10/15`, never reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Proportion {
    /// Successes.
    pub k: usize,
    /// Trials; 0 where nothing was there to be counted.
    pub n: usize,
}

impl Proportion {
    /// `k` of `n`.
    ///
    /// # Panics
    /// If `k > n`: the caller counted wrong.
    pub fn new(k: usize, n: usize) -> Proportion {
        assert!(k <= n, "{k} successes of {n}");
        Proportion { k, n }
    }

    /// The value; `None` of 0 trials.
    pub fn ratio(self) -> Option<Ratio> {
        Ratio::new(self.k as i128, self.n as i128).ok()
    }

    /// The 95 % Wilson score interval, within [0, 1]; `None` of 0 trials.
    ///
    /// ```
    /// use parthack::statistics::Proportion;
    /// let [low, high] = Proportion::new(10, 15).wilson().unwrap();
    /// assert_eq!(format!("{low:.3} {high:.3}"), "0.417 0.848");
    /// ```
    pub fn wilson(self) -> Option<[f64; 2]> {
        if self.n == 0 {
            return None;
        }
        let (k, n) = (self.k as f64, self.n as f64);
        let square = NORMAL_95 * NORMAL_95;
        let centre = (k + square / 2.0) / (n + square);
        let half = NORMAL_95 / (n + square) * (k * (n - k) / n + square / 4.0).sqrt();
        // At k = 0 and k = n a bound is 0 or 1 exactly, which rounding would miss.
        let low = if self.k == 0 { 0.0 } else { centre - half };
        let high = if self.k == self.n { 1.0 } else { centre + half };
        Some([low, high])
    }
}

impl fmt::Display for Proportion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.k, self.n)
    }
}
