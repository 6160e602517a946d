//! Tails of the binomial distribution, without logarithms or gamma functions.

/// Most trials of which all 2^n outcomes are counted in 128 bits.
const COUNTED: u64 = 120;

/// P(X ≤ k) for X of Binomial(n, 1/2), `k ≤ n`: counted up to 120 trials, else as [`at_most`].
pub(crate) fn at_most_of_fair(k: u64, n: u64) -> f64 {
    if n > COUNTED {
        return at_most(k, n, 0.5);
    }
    let (mut outcomes, mut term) = (0_u128, 1_u128);
    for i in 0..=k.min(n) {
        outcomes += term;
        term = term * u128::from(n - i) / u128::from(i + 1);
    }
    outcomes as f64 / (1_u128 << n) as f64
}

/// P(X ≤ k) for X of Binomial(n, p), `p` in (0, 1).
///
/// Probabilities relative to that of the mode follow from one another by a product; the tail is their sum up to k over
/// their sum. Relative error about √n·10^−15; a tail of less than about 1e-300 is 0.
pub(crate) fn at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    let mode = (((n + 1) as f64 * p).floor() as u64).min(n);
    let odds = p / (1.0 - p);
    let (mut within, mut beyond) = (0.0, 0.0);
    let mut place = |i: u64, term: f64| {
        if i <= k {
            within += term;
        } else {
            beyond += term;
        }
    };
    place(mode, 1.0);
    let mut term = 1.0;
    for i in mode + 1..=n {
        term *= (n - i + 1) as f64 / i as f64 * odds;
        if term == 0.0 {
            break;
        }
        place(i, term);
    }
    term = 1.0;
    for i in (0..mode).rev() {
        term *= (i + 1) as f64 / (n - i) as f64 / odds;
        if term == 0.0 {
            break;
        }
        place(i, term);
    }
    within / (within + beyond)
}
