//! P §3.2 as property tests over random tasks and trajectories.

use std::collections::BTreeMap;

use parthack_env::frames::{Frame, frames};
use parthack_env::replay::Replay;
use parthack_env::sample::{self, Dice};
use parthack_evaluators::rules::Rule;

/// Trajectories of one task, with their frames.
fn trajectories(seed: u64) -> (u32, Vec<Vec<Frame>>) {
    let task = sample::task(seed);
    let mut dice = Dice::new(seed);
    let all = (0..40)
        .map(|_| {
            let length = dice.below(9);
            let steps = sample::legal_trajectory(&task, &mut dice, length);
            frames(&Replay::run(&task, &steps))
        })
        .collect();
    (u32::try_from(task.m()).unwrap_or(0), all)
}

/// Proposition 1: whatever is a function of the certified vectors is equal on every matched pair.
#[test]
fn matched_vectors_give_equal_scores() {
    let mut pairs = 0;
    for seed in 0..150 {
        let (m, all) = trajectories(seed);
        let mut groups: BTreeMap<(u32, u32), Vec<&Vec<Frame>>> = BTreeMap::new();
        for frames in &all {
            let last = frames.last().copied().unwrap_or_default();
            groups.entry((last.satisfied, last.credited)).or_default().push(frames);
        }
        for group in groups.values().filter(|group| group.len() > 1) {
            for rule in Rule::ALL.into_iter().filter(|rule| rule.is_matched_vector_control()) {
                for frames in &group[1..] {
                    assert_eq!(rule.score(m, frames), rule.score(m, group[0]), "seed {seed}, {}", rule.id());
                    pairs += 1;
                }
            }
        }
    }
    assert!(pairs > 1_000, "{pairs} matched pairs");
}

/// Proposition 2: a greater interior maximum raises a historical score, whatever the final vectors; and only that does.
#[test]
fn a_higher_peak_raises_a_historical_score() {
    let mut inflated = 0;
    for seed in 0..150 {
        let (m, all) = trajectories(seed);
        let peak =
            |frames: &[Frame], of: fn(&Frame) -> u32| frames.iter().map(|f| of(f).count_ones()).max().unwrap_or(0);
        for honest in &all {
            for adversary in &all {
                for (rule, of) in [
                    (Rule::HistoricalMilestone, (|f| f.satisfied) as fn(&Frame) -> u32),
                    (Rule::CapeMax, |f| f.credited),
                ] {
                    let higher = peak(adversary, of) > peak(honest, of);
                    assert_eq!(rule.score(m, adversary) > rule.score(m, honest), higher, "seed {seed}, {}", rule.id());
                }
                let (h, a) =
                    (honest.last().copied().unwrap_or_default(), adversary.last().copied().unwrap_or_default());
                let matched = (h.satisfied, h.credited) == (a.satisfied, a.credited);
                inflated += u32::from(
                    matched
                        && Rule::HistoricalMilestone.score(m, adversary) > Rule::HistoricalMilestone.score(m, honest),
                );
            }
        }
    }
    assert!(inflated > 100, "{inflated} matched pairs with inflation");
}

/// Predicate-Max is never below Historical Milestone, and somewhere above it (SPEC §14.1).
#[test]
fn predicate_max_bounds_the_historical_score() {
    let mut above = 0;
    for seed in 0..150 {
        let (m, all) = trajectories(seed);
        for frames in &all {
            let (mean, peak) = (Rule::PredicateMax.score(m, frames), Rule::HistoricalMilestone.score(m, frames));
            assert!(mean >= peak, "seed {seed}");
            above += u32::from(mean > peak);
        }
    }
    assert!(above > 50, "{above} trajectories where they part");
}
