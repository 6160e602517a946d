//! Exact rational numbers, and the three-decimal form in which P prints them.
//!
//! A score of a rule evaluator is a count over a count, so means, differences and threshold tests can be
//! exact until the edge where a number is printed. Nothing here panics: what does not fit is an error.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why an exact number could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExactError {
    /// A denominator of zero, or a division by zero.
    #[error("division by zero")]
    ZeroDenominator,
    /// A reduced numerator or denominator outside ±(2^127 − 1).
    #[error("an exact result does not fit 128 bits while computing {operation}")]
    Overflow {
        /// The operation that did not fit.
        operation: &'static str,
    },
    /// A text that is neither `a/b`, an integer, nor a decimal number.
    #[error("found {found:?}, expected a ratio such as \"1/4\", an integer, or a decimal such as \".252\"")]
    Syntax {
        /// The text as found.
        found: String,
    },
    /// A float that is infinite or not a number.
    #[error("found {found}, expected a finite number")]
    NotFinite {
        /// The float as printed by `Display`.
        found: String,
    },
    /// The mean of nothing.
    #[error("the mean of no values")]
    Empty,
}

/// A signed rational number in lowest terms.
///
/// Range: numerator and denominator lie within ±(2^127 − 1); operations that leave it return
/// [`ExactError::Overflow`]. Serialized as the text `"1/4"` (integers as `"1"`).
///
/// ```
/// use parthack::exact::Ratio;
/// let quarter: Ratio = "1/4".parse().unwrap();
/// let sum = quarter.checked_add(Ratio::new(1, 2).unwrap()).unwrap();
/// assert_eq!(sum.to_string(), "3/4");
/// assert_eq!(".252".parse::<Ratio>().unwrap().to_string(), "63/250");
/// ```
///
/// Invariant: `denominator > 0`, `gcd(|numerator|, denominator) = 1`, `numerator > i128::MIN`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: i128,
    denominator: i128,
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The greatest common divisor of two positive numbers; it divides both, so it fits.
fn gcd_positive(a: i128, b: i128) -> i128 {
    gcd(a.unsigned_abs(), b.unsigned_abs()) as i128
}

impl Ratio {
    /// Zero.
    pub const ZERO: Ratio = Ratio { numerator: 0, denominator: 1 };
    /// One.
    pub const ONE: Ratio = Ratio { numerator: 1, denominator: 1 };

    /// `numerator / denominator` in lowest terms.
    ///
    /// # Errors
    /// [`ExactError::ZeroDenominator`]; [`ExactError::Overflow`] if a reduced part is −2^127.
    pub fn new(numerator: i128, denominator: i128) -> Result<Ratio, ExactError> {
        if denominator == 0 {
            return Err(ExactError::ZeroDenominator);
        }
        let overflow = || ExactError::Overflow { operation: "a ratio" };
        let divisor = gcd(numerator.unsigned_abs(), denominator.unsigned_abs());
        let magnitude = i128::try_from(numerator.unsigned_abs() / divisor).map_err(|_| overflow())?;
        let denominator_magnitude = i128::try_from(denominator.unsigned_abs() / divisor).map_err(|_| overflow())?;
        let negative = (numerator < 0) != (denominator < 0);
        Ok(Ratio { numerator: if negative { -magnitude } else { magnitude }, denominator: denominator_magnitude })
    }

    /// `count / of`, for constants: panics at compile time (in a `const`) where `of` is zero.
    pub const fn fraction(count: u32, of: u32) -> Ratio {
        assert!(of > 0, "a fraction of zero");
        let (mut a, mut b) = (count, of);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Ratio { numerator: (count / a) as i128, denominator: (of / a) as i128 }
    }

    /// An integer.
    pub const fn integer(value: i64) -> Ratio {
        Ratio { numerator: value as i128, denominator: 1 }
    }

    /// The shortest decimal number that reads back as `value`, exactly: `0.1` gives 1/10.
    ///
    /// # Errors
    /// [`ExactError::NotFinite`]; [`ExactError::Overflow`] for magnitudes above about 1e38 or with more than 38
    /// decimals.
    pub fn from_shortest_decimal(value: f64) -> Result<Ratio, ExactError> {
        if !value.is_finite() {
            return Err(ExactError::NotFinite { found: value.to_string() });
        }
        parse_decimal(&format!("{value:e}"))
    }

    /// Numerator in lowest terms; carries the sign.
    pub const fn numerator(self) -> i128 {
        self.numerator
    }

    /// Denominator in lowest terms; at least 1.
    pub const fn denominator(self) -> i128 {
        self.denominator
    }

    /// Sum.
    ///
    /// # Errors
    /// [`ExactError::Overflow`].
    pub fn checked_add(self, other: Ratio) -> Result<Ratio, ExactError> {
        let common = gcd_positive(self.denominator, other.denominator);
        let left = self.numerator.checked_mul(other.denominator / common);
        let right = other.numerator.checked_mul(self.denominator / common);
        let denominator = (self.denominator / common).checked_mul(other.denominator);
        let parts = left
            .zip(right)
            .and_then(|(left, right)| left.checked_add(right))
            .zip(denominator)
            .ok_or(ExactError::Overflow { operation: "a sum" })?;
        Ratio::new(parts.0, parts.1)
    }

    /// Difference.
    ///
    /// # Errors
    /// [`ExactError::Overflow`].
    pub fn checked_sub(self, other: Ratio) -> Result<Ratio, ExactError> {
        self.checked_add(other.negated())
    }

    /// Product.
    ///
    /// # Errors
    /// [`ExactError::Overflow`].
    pub fn checked_mul(self, other: Ratio) -> Result<Ratio, ExactError> {
        let first = Ratio::new(self.numerator, other.denominator)?;
        let second = Ratio::new(other.numerator, self.denominator)?;
        let parts = first
            .numerator
            .checked_mul(second.numerator)
            .zip(first.denominator.checked_mul(second.denominator))
            .ok_or(ExactError::Overflow { operation: "a product" })?;
        Ratio::new(parts.0, parts.1)
    }

    /// Quotient.
    ///
    /// # Errors
    /// [`ExactError::ZeroDenominator`] where `other` is zero; [`ExactError::Overflow`].
    pub fn checked_div(self, other: Ratio) -> Result<Ratio, ExactError> {
        self.checked_mul(Ratio::new(other.denominator, other.numerator)?)
    }

    /// Arithmetic mean, exact.
    ///
    /// # Errors
    /// [`ExactError::Empty`] of no values; [`ExactError::Overflow`].
    pub fn mean(values: &[Ratio]) -> Result<Ratio, ExactError> {
        if values.is_empty() {
            return Err(ExactError::Empty);
        }
        let mut sum = Ratio::ZERO;
        for value in values {
            sum = sum.checked_add(*value)?;
        }
        sum.checked_div(Ratio::new(values.len() as i128, 1)?)
    }

    /// The number with the opposite sign.
    pub const fn negated(self) -> Ratio {
        Ratio { numerator: -self.numerator, denominator: self.denominator }
    }

    /// Magnitude.
    pub const fn magnitude(self) -> Ratio {
        Ratio { numerator: self.numerator.abs(), denominator: self.denominator }
    }

    /// Whether this is zero.
    pub const fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// Nearest double, correctly rounded, so that a decimal read from a float gives that float back.
    pub fn to_f64(self) -> f64 {
        let (magnitude, denominator) = (self.numerator.unsigned_abs(), self.denominator.unsigned_abs());
        let rounded = match magnitude.max(denominator) <= 1 << 53 {
            true => magnitude as f64 / denominator as f64,
            false => divide_rounded(magnitude, denominator),
        };
        if self.numerator < 0 { -rounded } else { rounded }
    }
}

/// Long division to 64 significant bits; a rest sets the last bit, which is below any half unit of a double.
fn divide_rounded(magnitude: u128, denominator: u128) -> f64 {
    let (mut quotient, mut rest) = (magnitude / denominator, magnitude % denominator);
    let mut halvings = 0_u64;
    while rest != 0 && quotient >> 63 == 0 {
        // rest < denominator < 2^127, so the double fits.
        rest *= 2;
        quotient = quotient * 2 + u128::from(rest >= denominator);
        rest -= if rest >= denominator { denominator } else { 0 };
        halvings += 1;
    }
    let rounded = (quotient | u128::from(rest != 0)) as f64;
    // 2^−halvings, at most 63 + 127 of them.
    rounded * f64::from_bits((1023 - halvings) << 52)
}

impl Ord for Ratio {
    /// Compares continued fractions term by term, so that no product can overflow.
    fn cmp(&self, other: &Ratio) -> Ordering {
        let (mut a, mut b) = (self.numerator, self.denominator);
        let (mut c, mut d) = (other.numerator, other.denominator);
        loop {
            let whole = a.div_euclid(b).cmp(&c.div_euclid(d));
            if whole != Ordering::Equal {
                return whole;
            }
            let (rest, other_rest) = (a.rem_euclid(b), c.rem_euclid(d));
            if rest == 0 || other_rest == 0 {
                return rest.cmp(&other_rest);
            }
            // rest/b against other_rest/d is d/other_rest against b/rest.
            (a, b, c, d) = (d, other_rest, b, rest);
        }
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(formatter, "{}", self.numerator),
            denominator => write!(formatter, "{}/{denominator}", self.numerator),
        }
    }
}

impl fmt::Debug for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Ratio {
    type Err = ExactError;

    /// Reads `a/b`, an integer, or a decimal (`.252`, `-0.5`, `1e-3`), exactly.
    fn from_str(text: &str) -> Result<Ratio, ExactError> {
        let syntax = || ExactError::Syntax { found: text.to_owned() };
        match text.split_once('/') {
            None => parse_decimal(text),
            Some((numerator, denominator)) => {
                if !denominator.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(syntax());
                }
                let numerator = numerator.parse::<i128>().map_err(|_| syntax())?;
                let denominator = denominator.parse::<i128>().map_err(|_| syntax())?;
                Ratio::new(numerator, denominator)
            }
        }
    }
}

/// Reads `[-]digits[.digits][e[-]digits]`, with digits before or after the point.
fn parse_decimal(text: &str) -> Result<Ratio, ExactError> {
    let syntax = || ExactError::Syntax { found: text.to_owned() };
    let overflow = || ExactError::Overflow { operation: "a decimal" };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (negative, unsigned) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, decimals) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = [whole, decimals].concat();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(syntax());
    }
    let exponent = exponent.parse::<i32>().map_err(|_| syntax())?;
    let decimals = i32::try_from(decimals.len()).map_err(|_| overflow())?;
    let magnitude = digits.parse::<i128>().map_err(|_| overflow())?;
    let signed = if negative { -magnitude } else { magnitude };
    let power = exponent.checked_sub(decimals).ok_or_else(overflow)?;
    if signed == 0 {
        return Ok(Ratio::ZERO);
    }
    let scale = 10_i128.checked_pow(power.unsigned_abs()).ok_or_else(overflow)?;
    match power >= 0 {
        true => Ratio::new(signed.checked_mul(scale).ok_or_else(overflow)?, 1),
        false => Ratio::new(signed, scale),
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ratio, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A number rounded to three decimals, half to even on its exact value (floats count as their shortest decimal).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal3 {
    /// Exactly zero, which P prints as `0`.
    Zero,
    /// Any other number, in thousandths.
    Thousandths {
        /// Sign before rounding.
        negative: bool,
        /// Magnitude in thousandths.
        magnitude: u128,
    },
    /// Infinite, not a number, or too large for three exact decimals.
    Unprintable,
}

impl From<Ratio> for Decimal3 {
    fn from(value: Ratio) -> Decimal3 {
        if value.is_zero() {
            return Decimal3::Zero;
        }
        let denominator = value.denominator.unsigned_abs();
        let magnitude = value.numerator.unsigned_abs();
        let (whole, rest) = (magnitude / denominator, magnitude % denominator);
        let Some((thousandths, scaled)) = whole.checked_mul(1000).zip(rest.checked_mul(1000)) else {
            return Decimal3::Unprintable;
        };
        let (quotient, remainder) = (scaled / denominator, scaled % denominator);
        // remainder < denominator <= 2^127 − 1, so the doubled remainder fits.
        let up = match (2 * remainder).cmp(&denominator) {
            Ordering::Less => 0,
            Ordering::Greater => 1,
            Ordering::Equal => quotient % 2,
        };
        match thousandths.checked_add(quotient + up) {
            Some(magnitude) => Decimal3::Thousandths { negative: value.numerator < 0, magnitude },
            None => Decimal3::Unprintable,
        }
    }
}

impl From<f64> for Decimal3 {
    fn from(value: f64) -> Decimal3 {
        match Ratio::from_shortest_decimal(value) {
            Ok(ratio) => Decimal3::from(ratio),
            Err(_) if value.abs() < 0.000_4 => Decimal3::Thousandths { negative: value < 0.0, magnitude: 0 },
            Err(_) => Decimal3::Unprintable,
        }
    }
}

/// Three decimals in P's style: `.252`, `-.100`, `1.000`; exactly zero is `0`, a rounded zero `.000`.
///
/// ```
/// use parthack::exact::{Ratio, paper_decimal};
/// assert_eq!(paper_decimal(Ratio::new(1, 3).unwrap()), ".333");
/// assert_eq!(paper_decimal(0.0), "0");
/// assert_eq!(paper_decimal(1.0), "1.000");
/// ```
pub fn paper_decimal(value: impl Into<Decimal3>) -> String {
    match value.into() {
        Decimal3::Zero => "0".to_owned(),
        other => {
            let text = decimal(other);
            match text.strip_prefix("-0.") {
                Some(rest) => format!("-.{rest}"),
                None => text.strip_prefix('0').unwrap_or(&text).to_owned(),
            }
        }
    }
}

/// Three decimals with a leading zero: `0.252`, `-0.100`, `1.000`, `0.000`.
pub fn decimal(value: impl Into<Decimal3>) -> String {
    match value.into() {
        Decimal3::Zero => "0.000".to_owned(),
        Decimal3::Unprintable => "unprintable".to_owned(),
        Decimal3::Thousandths { negative, magnitude } => {
            let sign = if negative && magnitude > 0 { "-" } else { "" };
            format!("{sign}{}.{:03}", magnitude / 1000, magnitude % 1000)
        }
    }
}
