//! Strict rollbacks: properties on random tasks, an exhaustive oracle, and refusals.

mod support;

use parthack_certifier::certify::TaskCertifier;
use parthack_certifier::rollback::{RollbackFault, check_rollback, check_rollback_release, inverse, rollbacks};
use parthack_env::replay::{Replay, StepResult};
use parthack_env::steps::{Step, push_steps};
use parthack_env::task::Slot;
use support::random;

fn bytes(steps: &[Step]) -> Vec<u8> {
    let mut out = Vec::new();
    push_steps(&mut out, steps);
    out
}

/// Every undo path, one after the other, without any merging of states: steps and state vector bits of each end.
fn every_path(
    certifier: &TaskCertifier,
    replay: &Replay<'_>,
    stacks: &[(Slot, Step)],
    goal: u32,
    out: &mut Vec<(Vec<Step>, u32)>,
) {
    let mut tried = Vec::new();
    for index in (0..stacks.len()).rev() {
        let (slot, step) = &stacks[index];
        // The top of each entity's stack is its last entry.
        if tried.contains(slot) {
            continue;
        }
        tried.push(*slot);
        let mut next = replay.clone();
        let (lines, events) = (next.transcript.len(), next.events.len());
        next.agent(step);
        let applied = matches!(next.transcript[lines].result, StepResult::Applied(_));
        if !applied || next.events[events].diff.is_empty() || next.world().goal_version() != goal {
            continue;
        }
        let mut rest = stacks.to_vec();
        rest.remove(index);
        let task = &certifier.task;
        rest.extend(next.events[events + 1..].iter().filter_map(|event| inverse(task, event)));
        let state = certifier.certify(&next.steps).expect("a certificate").c_state;
        out.push((next.steps.clone(), state.bits()));
        every_path(certifier, &next, &rest, goal, out);
    }
}

#[test]
fn sets_are_what_an_exhaustive_search_finds() {
    let (mut found, mut with_script) = (0, 0);
    for seed in 0..1500 {
        let private = random::task(seed);
        let certifier = TaskCertifier::private(&private).expect("a model");
        let honest = random::legal_steps(&private, seed, 1 + seed as usize % 5);
        let sets = rollbacks(&certifier, &honest).expect("sets");
        assert!(sets.complete);
        let replay = Replay::run(&private.task, &honest);
        let before = certifier.certify(&honest).expect("a certificate");
        let stacks: Vec<(Slot, Step)> =
            replay.events.iter().filter_map(|event| inverse(&private.task, event)).collect();
        let mut paths = Vec::new();
        every_path(&certifier, &replay, &stacks, before.goal_version, &mut paths);
        paths.retain(|(_, state)| state.count_ones() < before.c_state.ones());
        paths.sort_by_cached_key(|(steps, _)| (steps.len(), bytes(steps)));
        let falls = |state: u32| before.c_state.bits() & !state;
        let expected: Vec<(usize, &Vec<Step>)> = (0..before.c_state.len())
            .filter_map(|index| {
                paths.iter().find(|(_, state)| falls(*state) & (1 << index) != 0).map(|(steps, _)| (index, steps))
            })
            .collect();
        let all: Vec<(usize, &Vec<Step>)> =
            sets.all.iter().map(|rollback| (rollback.predicate.expect("a predicate"), &rollback.steps)).collect();
        assert_eq!(all, expected, "seed {seed}");
        assert_eq!(sets.least.as_ref(), sets.all.first());
        let most = paths.iter().map(|(_, state)| falls(*state).count_ones()).max().unwrap_or(0);
        let deepest = paths.iter().find(|(_, state)| most > 0 && falls(*state).count_ones() == most);
        assert_eq!(sets.deepest.as_ref().map(|deepest| &deepest.steps), deepest.map(|(steps, _)| steps), "seed {seed}");
        for rollback in sets.all.iter().chain(&sets.deepest) {
            let certificate = check_rollback(&certifier, &honest, &rollback.steps).expect("a rollback");
            assert_eq!(certificate, rollback.certificate);
            assert_eq!(certificate.goal_version, before.goal_version);
            assert!(certificate.c_state.ones() < before.c_state.ones());
            assert_eq!(rollback.undos, rollback.steps.len() - honest.len());
            found += 1;
            let undone = Replay::run(&private.task, &rollback.steps);
            with_script += u32::from(undone.transcript.len() > replay.transcript.len() + rollback.undos);
        }
    }
    assert!(found > 100 && with_script > 5, "{found} {with_script}");
}

#[test]
fn rollback_tasks_of_the_suite_have_their_sets() {
    for private in support::suite_tasks() {
        let certifier = TaskCertifier::private(&private).expect("a model");
        let honest = &private.task.spec.honest;
        let sets = rollbacks(&certifier, honest).expect("sets");
        assert!(sets.complete);
        if private.task.spec.rollback_metric {
            let least = sets.least.expect("a strict rollback");
            let deepest = sets.deepest.expect("a deepest rollback");
            assert!(deepest.falsified.ones() >= least.falsified.ones());
            assert!(check_rollback(&certifier, honest, &deepest.steps).is_ok());
        }
    }
}

#[test]
fn what_is_no_rollback_is_refused() {
    let private = support::development_tasks().remove(0);
    let certifier = TaskCertifier::private(&private).expect("a model");
    let honest = private.task.spec.honest.clone();
    let least = rollbacks(&certifier, &honest).expect("sets").least.expect("a rollback").steps;
    let undo = &least[honest.len()..];
    let with = |extra: &[Step]| [&honest[..], extra].concat();
    let code = |steps: &[Step]| check_rollback(&certifier, &honest, steps).map_err(|fault| fault.code());
    assert!(code(&least).is_ok());
    assert_eq!(code(&honest), Err("rollback_not_an_extension"));
    assert_eq!(code(undo), Err("rollback_not_an_extension"));
    assert_eq!(code(&with(&[Step::List { entity_type: "library".to_owned() }])), Err("rollback_not_an_inverse"));
    assert_eq!(code(&with(&[Step::ReviseGoal { version: 9 }])), Err("illegal_action"));
    // Undoing pops: the same undo again is not the next one.
    let twice = with(&[undo[0].clone(), undo[0].clone()]);
    assert!(matches!(check_rollback(&certifier, &honest, &twice), Err(RollbackFault::NotAnInverse { .. })));
    // Undo and redo: no inverse under our reading; an inverse under the release's, which then sees no fall.
    let last_update = honest.iter().rev().find(|step| matches!(step, Step::Update { .. })).expect("an update").clone();
    let redone = with(&[undo[0].clone(), last_update]);
    assert!(matches!(check_rollback(&certifier, &honest, &redone), Err(RollbackFault::NotAnInverse { .. })));
    assert!(matches!(check_rollback_release(&certifier, &honest, &redone), Err(RollbackFault::NotLower { .. })));
    assert!(check_rollback_release(&certifier, &honest, &with(&undo[..1])).is_ok());
    // A trajectory without partial progress has no rollback under the release's reading.
    let wait = [undo[0].clone()];
    assert!(matches!(check_rollback_release(&certifier, &[], &wait), Err(RollbackFault::NotPartial { .. })));
}
