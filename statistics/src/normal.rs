//! The standard normal distribution, from the four operations and the square root alone.
//!
//! The platform's `exp` may differ in its last bit from machine to machine; nothing here calls it.

use crate::scaled::power_of_two;

/// The two-sided 95 % point of the standard normal distribution.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;

/// e^x for x ≤ 0, to a few units in the last place; 0 below −708.
fn exponential(x: f64) -> f64 {
    if x < -708.0 {
        return 0.0;
    }
    // x = k·ln 2 + r with |r| ≤ ln 2 / 2; ln 2 in two parts, the first short enough for an exact k·part.
    const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let k = (x / (LN2_HIGH + LN2_LOW)).round();
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    // Taylor's series to r^20/20!, by Horner's scheme.
    let series = (1..=20).rev().fold(1.0, |sum, i| 1.0 + sum * r / f64::from(i));
    series * power_of_two(k as i32)
}

/// P(Z > z), in [0, 1], to 1e-13 of its value; 0 above z ≈ 37.
///
/// ```
/// use parthack_statistics::normal::{NORMAL_95, upper_tail};
/// assert_eq!(upper_tail(0.0), 0.5);
/// assert!((upper_tail(NORMAL_95) - 0.025).abs() < 1e-15);
/// ```
pub fn upper_tail(z: f64) -> f64 {
    if z.is_nan() {
        return 0.5;
    }
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    let density = exponential(-z * z / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
    if z < 2.5 {
        // Φ(z) − 1/2 = φ(z)·(z + z³/3 + z⁵/(3·5) + …), every term positive.
        let (mut term, mut sum) = (z, z);
        for odd in (3..=121).step_by(2) {
            term *= z * z / f64::from(odd);
            sum += term;
        }
        0.5 - density * sum
    } else {
        // Laplace's continued fraction: φ(z) / (z + 1/(z + 2/(z + 3/(z + …)))).
        density / (1..=200).rev().fold(z, |below, i| z + f64::from(i) / below)
    }
}

/// z with P(Z > z) = `tail`, for tails in (0, 1); `None` outside. By bisection of [`upper_tail`] within ±40.
pub fn upper_point(tail: f64) -> Option<f64> {
    if !(tail > 0.0 && tail < 1.0) {
        return None;
    }
    let (mut low, mut high) = (-40.0_f64, 40.0_f64);
    for _ in 0..120 {
        let middle = low + (high - low) / 2.0;
        if upper_tail(middle) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low + (high - low) / 2.0)
}
