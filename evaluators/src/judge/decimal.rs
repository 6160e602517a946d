//! Decimal text to millionths, exactly: no double in between, so that no rounding lets a score past its bounds.

use crate::score::ExactScore;

/// The denominator of scores that were decimals or probabilities.
pub const MILLIONTHS: u32 = 1_000_000;

/// A JSON number's text, divided by ten to the power of `tenths`, as a score.
///
/// ```
/// # use parthack_evaluators::judge::decimal::score;
/// assert_eq!(score("0.6666666", 0).map(|score| score.numerator), Ok(666_667));
/// assert_eq!(score("7", 1).map(|score| score.to_string()), Ok("7/10".to_owned()));
/// assert_eq!(score("1e999", 0), Err("the score 1e999 is more than 1".to_owned()));
/// assert_eq!(score("-0.1", 0), Err("the score -0.1 is less than 0".to_owned()));
/// ```
///
/// # Errors
/// Less than 0, or more than 1 (after the division), however little.
pub fn score(text: &str, tenths: i64) -> Result<ExactScore, String> {
    let most =
        if tenths == 0 { "1".to_owned() } else { format!("1{}", "0".repeat(usize::try_from(tenths).unwrap_or(0))) };
    let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, places) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: String = format!("{whole}{places}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{text:?} is not a number"));
    }
    let digits = all.trim_start_matches('0');
    if digits.is_empty() {
        return Ok(ExactScore::new(0, MILLIONTHS));
    }
    if negative {
        return Err(format!("the score {} is less than 0", short(text)));
    }
    // The value is 0.DIGITS times ten to the power of `point`.
    let leading = i64::try_from(all.len() - digits.len()).unwrap_or(i64::MAX);
    let point = i64::try_from(whole.len())
        .unwrap_or(i64::MAX)
        .saturating_sub(leading)
        .saturating_add(power(exponent))
        .saturating_sub(tenths);
    if point == 1 && digits.trim_end_matches('0') == "1" {
        return Ok(ExactScore::new(MILLIONTHS, MILLIONTHS));
    }
    if point > 0 {
        return Err(format!("the score {} is more than {most}", short(text)));
    }
    let zeros = usize::try_from(-point).unwrap_or(usize::MAX).min(7);
    let seven: String = "0".repeat(zeros).chars().chain(digits.chars()).chain("0000000".chars()).take(7).collect();
    let value: u32 = seven.parse().unwrap_or(0);
    Ok(ExactScore::new((value + 5) / 10, MILLIONTHS))
}

/// The exponent, held within bounds that no text of a file's size could make up for.
fn power(text: &str) -> i64 {
    const FAR: i64 = 1 << 40;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let size = digits.parse::<i64>().unwrap_or(FAR).min(FAR);
    if negative { -size } else { size }
}

/// An integer from 0 to `most` as a score.
///
/// # Errors
/// Not written as an integer, or out of range.
pub fn integer_score(text: &str, most: u32) -> Result<ExactScore, String> {
    match text.parse::<u32>() {
        Ok(value) if value <= most => Ok(ExactScore::new(value, most)),
        _ => Err(format!("the score {} is no integer from 0 to {most}", short(text))),
    }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_exactly() {
        let cases = [
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("0e999999999999999999999", Some(0)),
            ("1e-99999999999999999999", Some(0)),
            ("1", Some(1_000_000)),
            ("1.000000", Some(1_000_000)),
            ("10e-1", Some(1_000_000)),
            ("0.01e2", Some(1_000_000)),
            ("0.5", Some(500_000)),
            ("5E-1", Some(500_000)),
            ("0.0000005", Some(1)),
            ("0.00000049", Some(0)),
            ("0.9999999", Some(1_000_000)),
            ("0.1234565", Some(123_457)),
            ("1.0000000000000000000001", None),
            ("1.2", None),
            ("2", None),
            ("10", None),
            ("1e999", None),
            ("1e9999999999999999999999", None),
            ("-1e-999", None),
            ("-0.0000001", None),
            ("NaN", None),
            ("", None),
            ("Infinity", None),
        ];
        for (text, expected) in cases {
            assert_eq!(score(text, 0).ok().map(|score| score.numerator), expected, "{text}");
        }
        for (text, expected) in
            [("10", Some(1_000_000)), ("7.5", Some(750_000)), ("10.01", None), ("0.1", Some(10_000))]
        {
            assert_eq!(score(text, 1).ok().map(|score| score.numerator), expected, "{text} of ten");
        }
    }

    #[test]
    fn integers_are_written_as_integers() {
        assert_eq!(integer_score("100", 100), Ok(ExactScore::new(1, 1)));
        for text in ["101", "-1", "50.0", "5e1", "", "99999999999999999999"] {
            assert!(integer_score(text, 100).is_err(), "{text}");
        }
    }
}
