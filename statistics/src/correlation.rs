//! Pearson's r, Spearman's ρ and Kendall's τ-b.
//!
//! Sums are integers, so a permutation of the observations changes no bit, and a perfect rank correlation is exactly ±1.
//! Each is `None` of fewer than two observations and where either side is constant. Spearman and Kendall only need an
//! order, so they take any ordered type; levels ([`crate::ranks::levels`]) are the fastest.

use crate::exact::Ratio;
use crate::ranks::{doubled_mid_ranks, levels, tie_sizes};
use crate::scaled::Scaled;

/// Pearson's product-moment correlation, in [−1, 1]; `None` of fewer than two pairs or a constant side.
///
/// r = (nΣxy − ΣxΣy) / √((nΣx² − (Σx)²)(nΣy² − (Σy)²)). Values without a common scale of moderate size are rounded to
/// about 2^−(62 − log2 n) of their spread.
pub fn pearson(pairs: &[(Ratio, Ratio)]) -> Option<f64> {
    let (first, second): (Vec<Ratio>, Vec<Ratio>) = pairs.iter().copied().unzip();
    product_moment(&Scaled::for_products(&first).units, &Scaled::for_products(&second).units)
}

/// Spearman's rank correlation, in [−1, 1]: Pearson's r of mid-ranks (G §4.1); `None` as there.
///
/// ```
/// use parthack_statistics::spearman;
/// assert_eq!(spearman(&[(1, 10), (2, 40), (3, 90)]), Some(1.0));
/// assert_eq!(spearman(&[(1, 5), (2, 5), (3, 5)]), None);
/// ```
pub fn spearman<A: Ord + Clone, B: Ord + Clone>(pairs: &[(A, B)]) -> Option<f64> {
    let (first, second): (Vec<A>, Vec<B>) = pairs.iter().cloned().unzip();
    product_moment(&doubled_mid_ranks(&first), &doubled_mid_ranks(&second))
}

/// Kendall's τ-b, in [−1, 1]; `None` of fewer than two pairs or a constant side.
///
/// τ-b = (C − D) / √((N − T₁)(N − T₂)): concordant minus discordant pairs of observations, over the root of the pairs not
/// tied on either side. Counted in O(n log n) (Knight, 1966).
pub fn kendall_tau_b<A: Ord + Clone, B: Ord + Clone>(pairs: &[(A, B)]) -> Option<f64> {
    let (first, second): (Vec<A>, Vec<B>) = pairs.iter().cloned().unzip();
    let (first, second) = (levels(&first).0, levels(&second).0);
    let mut both: Vec<(u32, u32)> = first.iter().copied().zip(second.iter().copied()).collect();
    let pairs_within = |sizes: Vec<i128>| sizes.iter().map(|size| size * (size - 1) / 2).sum::<i128>();
    let n = both.len() as i128;
    let all = n * (n - 1) / 2;
    let (tied_first, tied_second) = (pairs_within(tie_sizes(&first)), pairs_within(tie_sizes(&second)));
    let tied_both = pairs_within(tie_sizes(&both));
    // Sorted by the first side, then the second, every inversion of the second is a discordant pair.
    both.sort_unstable();
    let mut column: Vec<u32> = both.into_iter().map(|(_, second)| second).collect();
    let discordant = inversions(&mut column);
    let concordant = all - tied_first - tied_second + tied_both - discordant;
    over_root(concordant - discordant, all - tied_first, all - tied_second)
}

/// Sorts, and counts the pairs that stood in descending order.
fn inversions(values: &mut [u32]) -> i128 {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut count = inversions(left) + inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if left[i] <= right[j] {
            merged.push(left[i]);
            i += 1;
        } else {
            count += (left.len() - i) as i128;
            merged.push(right[j]);
            j += 1;
        }
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
    values.copy_from_slice(&merged);
    count
}

fn product_moment(first: &[i128], second: &[i128]) -> Option<f64> {
    let n = first.len() as i128;
    let (sum_first, sum_second): (i128, i128) = (first.iter().sum(), second.iter().sum());
    let product = |a: &[i128], b: &[i128]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i128>();
    let covariance = n * product(first, second) - sum_first * sum_second;
    let spread_first = n * product(first, first) - sum_first * sum_first;
    let spread_second = n * product(second, second) - sum_second * sum_second;
    over_root(covariance, spread_first, spread_second)
}

/// `numerator / √(a·b)`, held within [−1, 1]; `None` where `a` or `b` is 0.
fn over_root(numerator: i128, a: i128, b: i128) -> Option<f64> {
    if a <= 0 || b <= 0 {
        return None;
    }
    // |numerator| ≤ √(a·b), with equality where numerator² = a·b, which rounding must not miss.
    let exact_square =
        (numerator.checked_mul(numerator)).zip(a.checked_mul(b)).is_some_and(|(one, other)| one == other);
    let below = if a == b { a as f64 } else { (a as f64).sqrt() * (b as f64).sqrt() };
    let value = if exact_square { numerator.signum() as f64 } else { numerator as f64 / below };
    Some(value.clamp(-1.0, 1.0))
}
