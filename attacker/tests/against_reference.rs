//! The packed search against the plain explorer, on random tasks.

use parthack_attacker::reference::reference_optimum;
use parthack_attacker::search::{SearchOptions, curve, reached, search};
use parthack_env::sample;
use parthack_evaluators::rules::Rule;

/// States of the plain explorer before a task counts as too large for it.
const MOST_STATES: usize = 1_500;

fn check(seed: u64, rule: Rule) -> Option<bool> {
    let task = sample::task(seed);
    let plain = reference_optimum(&task, rule, None, MOST_STATES).ok()?;
    let options = SearchOptions { prove: true, ..SearchOptions::default() };
    let packed = search(&task, rule, &options).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let inflated = plain.best.is_some_and(|best| best > packed.honest);
    if inflated {
        assert_eq!(packed.best, plain.best, "seed {seed}, {}: best", rule.id());
        assert_eq!(packed.witness_length, plain.length, "seed {seed}, {}: length", rule.id());
    } else {
        // Where nothing beats the honest score, the plain explorer also counts trajectories that differ from the honest
        // one in an irrelevant event alone; the packed search has no such letters.
        assert!(packed.best <= plain.best, "seed {seed}, {}: best", rule.id());
        assert!(packed.witness_length.is_none() || packed.witness_length >= plain.length, "seed {seed}");
    }
    let short = search(&task, rule, &SearchOptions::default()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert_eq!((short.best, &short.witness), (packed.best, &packed.witness), "seed {seed}: a bound changes the answer");
    let reached = reached(&task, 1 << 20).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert_eq!(reached.vectors, plain.vectors, "seed {seed}: reachable vectors");
    Some(inflated)
}

#[test]
fn packed_search_agrees_with_the_plain_explorer() {
    let (mut compared, mut inflated) = (0, 0);
    for seed in 0..240 {
        let rule = Rule::ALL[usize::try_from(seed % 6).unwrap_or(0)];
        if let Some(higher) = check(seed, rule) {
            compared += 1;
            inflated += u32::from(higher);
        }
    }
    // The premises: many tasks are small enough, and some of them have something to find.
    assert!(compared >= 90, "{compared} compared");
    assert!(inflated >= 10, "{inflated} with inflation");
}

#[test]
fn threads_do_not_change_the_answer() {
    for seed in 0..60 {
        let task = sample::task(seed);
        let of = |threads| {
            search(
                &task,
                Rule::HistoricalMilestone,
                &SearchOptions { threads, prove: true, ..SearchOptions::default() },
            )
        };
        assert_eq!(of(1), of(3), "seed {seed}");
    }
}

#[test]
fn the_curve_rises_to_the_optimum() {
    for seed in 0..60 {
        let task = sample::task(seed);
        let Ok(found) = search(&task, Rule::HistoricalMilestone, &SearchOptions::default()) else { continue };
        let Some(length) = found.witness_length else { continue };
        let curve = curve(&task, Rule::HistoricalMilestone, length).expect("the search closed");
        assert_eq!(curve.last().copied().flatten(), found.best, "seed {seed}");
        assert!(curve.windows(2).all(|pair| pair[0] <= pair[1]), "seed {seed}");
        if length > 0 {
            assert!(curve[length as usize - 1] < found.best, "seed {seed}: a shorter one");
        }
    }
}
