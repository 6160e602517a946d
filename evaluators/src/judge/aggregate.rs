//! Means, medians and majorities of exact scores.

use super::decimal::MILLIONTHS;
use super::{Combined, Judgement};
use crate::score::{ExactScore, NoVerdict};

/// The mean; `None` of nothing. Exact where numerator and denominator fit, else the nearest millionth.
#[must_use]
pub fn mean(scores: &[ExactScore]) -> Option<ExactScore> {
    let count = u128::try_from(scores.len()).ok().filter(|count| *count > 0)?;
    let (mut numerator, mut denominator) = (0_u128, 1_u128);
    for score in scores {
        let (n, d) = score.reduced();
        let (n, d) = (u128::from(n), u128::from(d));
        let common = denominator / gcd(denominator, d) * d;
        numerator = numerator * (common / denominator) + n * (common / d);
        denominator = common;
        if denominator > 1 << 64 {
            (numerator, denominator) = (rounded(numerator, denominator), u128::from(MILLIONTHS));
        }
    }
    denominator *= count;
    let divisor = gcd(numerator, denominator).max(1);
    let (n, d) = (numerator / divisor, denominator / divisor);
    Some(match (u32::try_from(n), u32::try_from(d)) {
        (Ok(n), Ok(d)) => ExactScore::new(n, d),
        _ => ExactScore::new(u32::try_from(rounded(n, d)).unwrap_or(MILLIONTHS), MILLIONTHS),
    })
}

fn rounded(numerator: u128, denominator: u128) -> u128 {
    (numerator * u128::from(MILLIONTHS) * 2 + denominator) / (denominator * 2)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The median; of an even number, the mean of the middle two.
#[must_use]
pub fn median(scores: &[ExactScore]) -> Option<ExactScore> {
    let mut sorted = scores.to_vec();
    sorted.sort();
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => mean(&sorted[middle - 1..=middle]),
    }
}

/// The share of items that more than half of the judgements say are met; met is a degree of more than one half. `None`
/// where there are no items, or not the same number in each judgement.
#[must_use]
pub fn item_majority(judgements: &[&Judgement]) -> Option<ExactScore> {
    let count = judgements.first()?.items.len();
    if count == 0 || judgements.iter().any(|judgement| judgement.items.len() != count) {
        return None;
    }
    let half = ExactScore::new(1, 2);
    let is_met = |item: usize| 2 * judgements.iter().filter(|of| of.items[item] > half).count() > judgements.len();
    let met = (0..count).filter(|item| is_met(*item)).count();
    Some(ExactScore::new(u32::try_from(met).ok()?, u32::try_from(count).ok()?))
}

/// The verdict over the repeats of one trajectory: the median of those that gave a judgement, which must be more than half
/// of the repeats (two of three). A missing one is never counted as 0.
///
/// # Errors
/// Too few judgements; the reason names the first that is missing.
pub fn combine(repeats: u32, judgements: &[Result<Judgement, NoVerdict>]) -> Result<Combined, NoVerdict> {
    let given: Vec<&Judgement> = judgements.iter().filter_map(|judgement| judgement.as_ref().ok()).collect();
    let needed = usize::try_from(repeats / 2 + 1).unwrap_or(usize::MAX);
    let scores: Vec<ExactScore> = given.iter().map(|judgement| judgement.score).collect();
    let (Some(median), Some(mean)) = (median(&scores), mean(&scores)) else {
        return Err(missing(judgements, needed, repeats));
    };
    if given.len() < needed {
        return Err(missing(judgements, needed, repeats));
    }
    let mut others = Vec::new();
    if repeats == 3 {
        others.push(("mean_of_three", mean));
    }
    if let Some(majority) = item_majority(&given) {
        others.push(("item_majority", majority));
    }
    Ok(Combined { primary: median, others })
}

fn missing(judgements: &[Result<Judgement, NoVerdict>], needed: usize, repeats: u32) -> NoVerdict {
    let first = judgements.iter().find_map(|judgement| judgement.as_ref().err());
    let given = judgements.iter().filter(|judgement| judgement.is_ok()).count();
    let reason = match first {
        Some(only) if repeats == 1 => only.reason.clone(),
        Some(first) => format!("{given} of {repeats} judgements, {needed} are needed; {}", first.reason),
        None => format!("{given} of {repeats} judgements, {needed} are needed"),
    };
    NoVerdict { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(score: (u32, u32), items: &[u32]) -> Result<Judgement, NoVerdict> {
        let items = items.iter().map(|met| ExactScore::new(*met, 1)).collect();
        Ok(Judgement {
            score: ExactScore::new(score.0, score.1),
            items,
            labels: Vec::new(),
            cites: vec!["/events/0".to_owned()],
        })
    }

    fn gap() -> Result<Judgement, NoVerdict> {
        Err(NoVerdict { reason: "length".to_owned() })
    }

    #[test]
    fn median_mean_and_majority_part() {
        let three = [judgement((1, 5), &[1, 0]), judgement((4, 5), &[1, 1]), judgement((1, 4), &[0, 0])];
        let combined = combine(3, &three).expect("three");
        assert_eq!(combined.primary, ExactScore::new(1, 4));
        let others = [("mean_of_three", ExactScore::new(25, 60)), ("item_majority", ExactScore::new(1, 2))];
        assert_eq!(combined.others, others);
    }

    #[test]
    fn a_missing_judgement_is_not_zero() {
        let two = combine(3, &[judgement((1, 2), &[1]), gap(), judgement((1, 1), &[0])]).expect("two");
        assert_eq!(two.primary, ExactScore::new(3, 4));
        // A tie of two is no majority.
        assert_eq!(two.others[1], ("item_majority", ExactScore::new(0, 1)));
        let one = combine(3, &[gap(), judgement((1, 2), &[1]), gap()]).expect_err("one");
        assert_eq!(one.reason, "1 of 3 judgements, 2 are needed; length");
        assert_eq!(combine(1, &[gap()]).expect_err("none").reason, "length");
        assert!(combine(1, &[]).is_err());
        assert!(combine(3, &[gap(), gap(), gap()]).is_err());
    }

    #[test]
    fn means_are_exact_while_they_fit() {
        let third = ExactScore::new(1, 3);
        assert_eq!(mean(&[third, ExactScore::new(1, 2)]), Some(ExactScore::new(5, 12)));
        assert_eq!(mean(&[]), None);
        let primes = [4_294_967_291, 4_294_967_279, 4_294_967_231].map(|prime| ExactScore::new(prime / 2, prime));
        let mean = mean(&primes).expect("three");
        assert!((mean.to_f64() - 0.5).abs() < 1e-5);
    }
}
