//! Proofs: what is claimed is checked by other code, and false claims are found.

use parthack_attacker::proof::{Proof, ProofFault};
use parthack_attacker::search::{SearchOptions, search};
use parthack_env::sample;
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;

const MOST_STATES: usize = 3_000;

fn proofs() -> Vec<(Task, Proof)> {
    (0..60)
        .filter_map(|seed| {
            let task = sample::task(seed);
            let outcome = search(&task, Rule::HistoricalMilestone, &SearchOptions::default()).ok()?;
            let proof = Proof::of(&task, Rule::HistoricalMilestone, &outcome);
            (outcome.best > Some(outcome.honest)).then_some((task, proof))
        })
        .collect()
}

#[test]
fn true_proofs_hold_and_read_back() {
    let proofs = proofs();
    assert!(proofs.len() >= 5, "{} tasks with inflation", proofs.len());
    for (task, proof) in proofs {
        assert_eq!(Proof::read(&proof.bytes()).as_ref(), Ok(&proof));
        assert!(matches!(proof.check(&task, MOST_STATES), Ok(()) | Err(ProofFault::TooLarge(_))));
    }
}

#[test]
fn false_proofs_are_found() {
    for (task, proof) in proofs() {
        let too_large = matches!(proof.check(&task, MOST_STATES), Err(ProofFault::TooLarge(_)));
        let mut lower = proof.clone();
        lower.best = Some(proof.honest.clone());
        lower.witness = Some(task.spec.honest.clone());
        lower.length = u32::try_from(task.spec.honest.len()).ok();
        assert!(lower.check(&task, MOST_STATES).is_err());
        let mut longer = proof.clone();
        longer.length = proof.length.map(|length| length + 1);
        assert!(longer.check(&task, MOST_STATES).is_err());
        let mut unwitnessed = proof.clone();
        unwitnessed.witness = None;
        unwitnessed.length = proof.length.map(|length| length + 1);
        assert!(too_large || unwitnessed.check(&task, MOST_STATES).is_err());
        let mut other = proof;
        other.environment_revision = "another".to_owned();
        assert!(matches!(other.check(&task, MOST_STATES), Err(ProofFault::OtherTask { .. })));
    }
}
