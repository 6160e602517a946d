//! A count over a count, with Wilson's and Clopper and Pearson's intervals.

use serde::Serialize;

use crate::binomial::at_most;
use crate::exact::Ratio;
use crate::normal::{NORMAL_95, upper_point};

/// `count` of `of`.
///
/// Invariant: `count ≤ of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Proportion {
    count: usize,
    of: usize,
}

impl Proportion {
    /// `count` of `of`; `None` if there are more than `of`.
    pub const fn new(count: usize, of: usize) -> Option<Proportion> {
        if count <= of { Some(Proportion { count, of }) } else { None }
    }

    /// How many of `values` there are for which `wanted` holds.
    pub fn of_those<T>(values: &[T], wanted: impl Fn(&T) -> bool) -> Proportion {
        Proportion { count: values.iter().filter(|value| wanted(value)).count(), of: values.len() }
    }

    /// The numerator.
    pub const fn count(self) -> usize {
        self.count
    }

    /// The denominator.
    pub const fn of(self) -> usize {
        self.of
    }

    /// The share, in [0, 1]; `None` of 0.
    pub fn ratio(self) -> Option<Ratio> {
        Ratio::new(self.count as i128, self.of as i128).ok()
    }

    /// The 95 % Wilson score interval, within [0, 1]; `None` of 0.
    ///
    /// ```
    /// use parthack_statistics::Proportion;
    /// let [low, high] = Proportion::new(10, 15).unwrap().wilson().unwrap();
    /// assert_eq!(format!("{low:.3} {high:.3}"), "0.417 0.848");
    /// ```
    pub fn wilson(self) -> Option<[f64; 2]> {
        self.wilson_with(NORMAL_95)
    }

    /// The Wilson score interval that leaves out `tail` on each side, in (0, 1/2); `None` of 0 or outside.
    pub fn wilson_at(self, tail: f64) -> Option<[f64; 2]> {
        self.wilson_with(upper_point(tail).filter(|z| *z > 0.0)?)
    }

    fn wilson_with(self, z: f64) -> Option<[f64; 2]> {
        if self.of == 0 {
            return None;
        }
        let (k, n) = (self.count as f64, self.of as f64);
        let square = z * z;
        let centre = (k + square / 2.0) / (n + square);
        let half = z / (n + square) * (k * (n - k) / n + square / 4.0).sqrt();
        // At no and at all successes a bound is 0 or 1 exactly, which rounding would miss.
        let low = if self.count == 0 { 0.0 } else { centre - half };
        let high = if self.count == self.of { 1.0 } else { centre + half };
        Some([low, high])
    }

    /// The Clopper–Pearson interval that leaves out at most `tail` on each side, in (0, 1/2); `None` of 0 or outside.
    ///
    /// The bounds are the p at which P(X ≥ count) and P(X ≤ count) are `tail`, by bisection on binomial tails.
    pub fn clopper_pearson(self, tail: f64) -> Option<[f64; 2]> {
        if self.of == 0 || !(tail > 0.0 && tail < 0.5) {
            return None;
        }
        let (k, n) = (self.count as u64, self.of as u64);
        let low = if k == 0 { 0.0 } else { bisect(|p| at_most(n - k, n, 1.0 - p) < tail) };
        let high = if k == n { 1.0 } else { bisect(|p| at_most(k, n, p) > tail) };
        Some([low, high])
    }
}

/// Where `below` turns from true to false, in (0, 1).
fn bisect(below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}
