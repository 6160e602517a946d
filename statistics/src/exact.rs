//! Exact rational numbers: scores, their differences, and the thresholds they are held against.
//!
//! A checklist score is a count over a count, and a holistic score a tenth. As floats, 0.4 − 0.3 exceeds 0.1; as ratios
//! it does not. So everything here that depends on an order, a tie or a threshold is decided on ratios, and a float
//! only comes out at the edge. A float that comes in (a rating, a judge's decimal) counts as the shortest decimal that
//! reads back as it.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why an exact number could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExactError {
    /// A denominator of zero.
    #[error("found a denominator of 0, expected another")]
    ZeroDenominator,
    /// A numerator or denominator outside ±(2^127 − 1).
    #[error("found {found:?}, expected a number whose numerator and denominator fit 128 bits")]
    Overflow {
        /// The number as found.
        found: String,
    },
    /// A text that is no number.
    #[error("found {found:?}, expected a ratio such as \"1/4\", an integer, or a decimal such as \"0.25\"")]
    Syntax {
        /// The text as found.
        found: String,
    },
    /// A float that is infinite or not a number.
    #[error("found {found}, expected a finite number")]
    NotFinite {
        /// The float as printed.
        found: String,
    },
}

/// A rational number in lowest terms; numerator and denominator lie within ±(2^127 − 1).
///
/// Serialized as text (`"1/4"`); read from such a text or from a JSON number, which counts as the decimal it is.
///
/// ```
/// use parthack_statistics::Ratio;
/// let (with, without) = (Ratio::measured(0.4).unwrap(), Ratio::measured(0.3).unwrap());
/// assert_eq!(with.difference(without), Ratio::fraction(1, 10));
/// assert_eq!("7/9".parse::<Ratio>().unwrap().to_f64(), 7.0 / 9.0);
/// ```
///
/// Invariant: `denominator > 0`, `gcd(|numerator|, denominator) = 1`, `numerator > i128::MIN`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: i128,
    denominator: i128,
}

/// Denominator to which a measured float is rounded where its shortest decimal is finer.
const MEASURED_DENOMINATOR: i128 = 1_000_000_000_000_000_000;
/// Largest magnitude of a measured float.
const MEASURED_LIMIT: f64 = 1e15;

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
        let divisor = gcd(numerator.unsigned_abs(), denominator.unsigned_abs());
        let part = |value: i128| i128::try_from(value.unsigned_abs() / divisor).ok();
        match (part(numerator), part(denominator)) {
            (Some(magnitude), Some(below)) => {
                let negative = (numerator < 0) != (denominator < 0);
                Ok(Ratio { numerator: if negative { -magnitude } else { magnitude }, denominator: below })
            }
            _ => Err(ExactError::Overflow { found: format!("{numerator}/{denominator}") }),
        }
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

    /// A measured float of magnitude up to 1e15, as its shortest decimal, rounded to 18 decimals where that is finer.
    ///
    /// # Errors
    /// [`ExactError::NotFinite`]; [`ExactError::Overflow`] beyond 1e15.
    pub fn measured(value: f64) -> Result<Ratio, ExactError> {
        if !value.is_finite() {
            return Err(ExactError::NotFinite { found: value.to_string() });
        }
        if value.abs() > MEASURED_LIMIT {
            return Err(ExactError::Overflow { found: value.to_string() });
        }
        match parse_decimal(&format!("{value:e}")) {
            Ok(shortest) if shortest.denominator <= MEASURED_DENOMINATOR => Ok(shortest),
            _ => parse_decimal(&format!("{value:.18}")),
        }
    }

    /// Numerator in lowest terms; carries the sign.
    pub const fn numerator(self) -> i128 {
        self.numerator
    }

    /// Denominator in lowest terms; at least 1.
    pub const fn denominator(self) -> i128 {
        self.denominator
    }

    /// Sum; `None` where it does not fit.
    pub fn checked_add(self, other: Ratio) -> Option<Ratio> {
        let common = gcd(self.denominator.unsigned_abs(), other.denominator.unsigned_abs()) as i128;
        let left = self.numerator.checked_mul(other.denominator / common)?;
        let right = other.numerator.checked_mul(self.denominator / common)?;
        let denominator = (self.denominator / common).checked_mul(other.denominator)?;
        Ratio::new(left.checked_add(right)?, denominator).ok()
    }

    /// Product; `None` where it does not fit.
    pub fn checked_mul(self, other: Ratio) -> Option<Ratio> {
        let first = Ratio::new(self.numerator, other.denominator).ok()?;
        let second = Ratio::new(other.numerator, self.denominator).ok()?;
        let numerator = first.numerator.checked_mul(second.numerator)?;
        Ratio::new(numerator, first.denominator.checked_mul(second.denominator)?).ok()
    }

    /// `self − other`, exact wherever it fits (always for scores of up to 10^18 decisions, and for decimals); else the
    /// difference of the nearest doubles, as a measured float held within ±1e15.
    pub fn difference(self, other: Ratio) -> Ratio {
        self.checked_add(other.negated()).unwrap_or_else(|| {
            let nearest = (self.to_f64() - other.to_f64()).clamp(-MEASURED_LIMIT, MEASURED_LIMIT);
            Ratio::measured(nearest).unwrap_or(Ratio::ZERO)
        })
    }

    /// The number with the opposite sign.
    pub const fn negated(self) -> Ratio {
        Ratio { numerator: -self.numerator, denominator: self.denominator }
    }

    /// Magnitude.
    pub const fn magnitude(self) -> Ratio {
        Ratio { numerator: self.numerator.abs(), denominator: self.denominator }
    }

    /// −1, 0 or 1.
    pub const fn signum(self) -> i128 {
        self.numerator.signum()
    }

    /// Nearest double, correctly rounded.
    pub fn to_f64(self) -> f64 {
        let (magnitude, denominator) = (self.numerator.unsigned_abs(), self.denominator.unsigned_abs());
        let rounded = match magnitude.max(denominator) <= 1 << 53 {
            true => magnitude as f64 / denominator as f64,
            false => divide_rounded(magnitude, denominator),
        };
        if self.numerator < 0 { -rounded } else { rounded }
    }
}

pub(crate) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // Most scores are small, and a division of 64 bits is several times faster than one of 128.
        if let (Ok(mut x), Ok(mut y)) = (u64::try_from(a), u64::try_from(b)) {
            while y != 0 {
                (x, y) = (y, x % y);
            }
            return u128::from(x);
        }
        (a, b) = (b, a % b);
    }
    a
}

/// Long division to 64 significant bits; a rest sets the last bit, which is below any half unit of a double.
fn divide_rounded(magnitude: u128, denominator: u128) -> f64 {
    let (mut quotient, mut rest) = (magnitude / denominator, magnitude % denominator);
    let mut halvings = 0_u64;
    while rest != 0 && quotient >> 63 == 0 {
        rest *= 2;
        quotient = quotient * 2 + u128::from(rest >= denominator);
        rest -= if rest >= denominator { denominator } else { 0 };
        halvings += 1;
    }
    let rounded = (quotient | u128::from(rest != 0)) as f64;
    // 2^−halvings; at most 63 + 127 of them, so the exponent stays in range.
    rounded * f64::from_bits((1023 - halvings) << 52)
}

impl Ord for Ratio {
    /// Numerical order, exact: by cross products where they fit, else by continued fractions, term by term.
    fn cmp(&self, other: &Ratio) -> Ordering {
        let (mut a, mut b) = (self.numerator, self.denominator);
        let (mut c, mut d) = (other.numerator, other.denominator);
        if let (Some(left), Some(right)) = (a.checked_mul(d), c.checked_mul(b)) {
            return left.cmp(&right);
        }
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

    /// Reads `a/b`, an integer, or a decimal (`.25`, `-0.5`, `1e-3`), exactly.
    fn from_str(text: &str) -> Result<Ratio, ExactError> {
        let Some((numerator, denominator)) = text.split_once('/') else {
            return parse_decimal(text);
        };
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(numerator.strip_prefix('-').unwrap_or(numerator)) || !digits(denominator) {
            return Err(ExactError::Syntax { found: text.to_owned() });
        }
        match (numerator.parse::<i128>(), denominator.parse::<i128>()) {
            (Ok(numerator), Ok(denominator)) => Ratio::new(numerator, denominator),
            _ => Err(ExactError::Overflow { found: text.to_owned() }),
        }
    }
}

/// Reads `[-]digits[.digits][e[+-]digits]`, with digits before or after the point.
fn parse_decimal(text: &str) -> Result<Ratio, ExactError> {
    let syntax = || ExactError::Syntax { found: text.to_owned() };
    let overflow = || ExactError::Overflow { found: text.to_owned() };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let (whole, decimals) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = [whole, decimals].concat();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(syntax());
    }
    let exponent = exponent.parse::<i32>().map_err(|_| syntax())?;
    let decimals = i32::try_from(decimals.len()).map_err(|_| overflow())?;
    let magnitude = digits.parse::<i128>().map_err(|_| overflow())?;
    if magnitude == 0 {
        return Ok(Ratio::ZERO);
    }
    let signed = if mantissa.len() > unsigned.len() { -magnitude } else { magnitude };
    let power = exponent.checked_sub(decimals).ok_or_else(overflow)?;
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
        struct NumberOrText;
        impl serde::de::Visitor<'_> for NumberOrText {
            type Value = Ratio;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a finite number, or a ratio as text such as \"1/4\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Ratio, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Ratio, E> {
                Ok(Ratio::integer(value))
            }

            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Ratio, E> {
                Ratio::new(i128::from(value), 1).map_err(E::custom)
            }

            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Ratio, E> {
                Ratio::measured(value).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}
