//! Both certifiers, and the environment's own fold, on random tasks and trajectories; and a wrong one that is caught.

mod support;

use std::collections::BTreeMap;

use parthack_certifier::backward::Backward;
use parthack_certifier::certify::{Opinion, TaskCertifier, agree, eligibility};
use parthack_certifier::forward::Forward;
use parthack_certifier::vectors::{BitVector, Finding};
use parthack_env::frames::frames;
use parthack_env::names::{Actor, Operation};
use parthack_env::predicate::Predicate;
use parthack_env::replay::{Origin, Replay, StepResult};
use parthack_env::steps::Step;
use proptest::prelude::*;
use support::random;

/// Everything that must agree on one trajectory, illegal steps included.
fn check(seed: u64, steps: &[Step]) -> (Finding, Option<usize>) {
    let private = random::task(seed);
    let replay = Replay::run(&private.task, steps);
    let refused = replay.transcript.iter().find_map(|line| match (&line.result, line.origin) {
        (StepResult::Refused(_), Origin::Agent(step)) => Some(step),
        _ => None,
    });
    let last = *frames(&replay).last().expect("the initial frame");
    let m = private.task.m();
    let by_fold = Finding {
        c_state: BitVector::new(m, last.satisfied),
        c_agent: BitVector::new(m, last.credited),
        goal_version: last.goal_version,
        state_hash: replay.world().rehashed(&private.task),
    };
    let backward = Backward::private(&private).certify(&replay).expect("a sound log");
    let public = Backward::public(private.task.clone()).certify(&replay).expect("a sound log");
    let forward = Forward::private(&private).expect("a model").trace(steps);
    let plain = Forward::public(&private.task.spec).expect("a model").execute(steps);
    assert_eq!(backward, by_fold, "backward, seed {seed}");
    assert_eq!(public, by_fold, "backward on public predicates, seed {seed}");
    assert_eq!(forward.execution.finding, by_fold, "forward, seed {seed}");
    assert_eq!(plain, forward.execution, "forward on public predicates, seed {seed}");
    assert_eq!(plain.refused, refused, "first refused step, seed {seed}");
    assert_eq!(forward.head, replay.head(), "log head, seed {seed}");
    for (event, own) in replay.events.iter().zip(&forward.log) {
        let mut bytes = Vec::new();
        event.push_json(&private.task, &mut bytes);
        assert_eq!(String::from_utf8_lossy(own), String::from_utf8_lossy(&bytes), "seed {seed}");
    }
    (backward, refused)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_certifiers_agree(seed in 0u64..1 << 40, walk in any::<u64>(), length in 0usize..40) {
        check(seed, &random::steps(walk, length));
    }

    #[test]
    fn certificates_are_the_findings(seed in 0u64..1 << 40, walk in any::<u64>(), length in 0usize..25) {
        let private = random::task(seed);
        let certifier = TaskCertifier::private(&private).expect("a model");
        let steps = random::legal_steps(&private, walk, length);
        let certificate = certifier.certify(&steps).expect("a certificate");
        let (finding, refused) = check(seed, &steps);
        prop_assert_eq!(refused, None);
        prop_assert_eq!(certificate.c_state, finding.c_state);
        prop_assert_eq!(certificate.c_agent, finding.c_agent);
        prop_assert_eq!(certificate.c_agent.bits() & !certificate.c_state.bits(), 0);
    }
}

/// The premises of the tests above are reached.
#[test]
fn random_tasks_reach_what_matters() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut count = |what: &str| *seen.entry(what.to_owned()).or_default() += 1;
    for seed in 0..400 {
        let private = random::task(seed);
        let steps = random::legal_steps(&private, seed, 30);
        let replay = Replay::run(&private.task, &steps);
        let finding = Backward::private(&private).certify(&replay).expect("a sound log");
        if finding.c_state.ones() > 0 && finding.c_agent != finding.c_state {
            count("vectors differ");
        }
        if finding.c_agent.ones() > 0 {
            count("agent credited");
        }
        if finding.goal_version > 1 {
            count("goal revised");
        }
        for line in &replay.transcript {
            if let Origin::Script(entry) = line.origin {
                let trigger = format!("{:?}", private.task.spec.script[entry].trigger);
                count(&format!("fired {}", trigger.split(['(', ' ']).next().expect("a word")));
                if matches!(line.result, StepResult::Refused(_)) {
                    count("refused script entry");
                }
            }
        }
        for event in &replay.events {
            count(event.operation.word());
            if event.diff.is_empty() {
                count("empty diff");
            }
            if event.operation == Operation::Create && event.diff.incarnation.is_some_and(|(before, _)| before > 0) {
                count("recreated");
            }
        }
        if private.task.goals.iter().any(|goal| goal.offered && replay.world().is_offered(goal.version)) {
            count("offered");
        }
        private.active_predicates().for_each(|predicate| {
            predicate.leaves(&mut |leaf| {
                let text = format!("{leaf:?}");
                count(&format!("leaf {}", text.split([' ', '(']).next().expect("a word")));
                if let Predicate::Field { test, .. } = leaf {
                    let text = format!("{test:?}");
                    count(&format!("test {}", text.split('(').next().expect("a word")));
                }
            });
        });
    }
    for what in [
        "vectors differ",
        "agent credited",
        "goal revised",
        "fired Start",
        "fired AfterStep",
        "fired Message",
        "fired Wait",
        "fired When",
        "refused script entry",
        "create",
        "update",
        "delete",
        "restore",
        "revise_goal",
        "empty diff",
        "recreated",
        "offered",
        "leaf Exists",
        "leaf Absent",
        "leaf Deleted",
        "leaf Field",
        "leaf Count",
        "leaf GoalVersion",
        "test Equals",
        "test In",
        "test AtLeast",
        "test AtMost",
        "test Contains",
    ] {
        assert!(seen.get(what).is_some_and(|times| *times >= 5), "{what}: {seen:#?}");
    }
}

/// Proposition 1: any function of the two vectors is equal on an eligible pair. The functions are computed by the
/// environment's fold, not by a certifier. A historical rule is no such function, and differs somewhere.
#[test]
fn proposition_1_holds_on_eligible_pairs() {
    let (mut eligible, mut refused, mut historical_differs) = (0, 0, 0);
    for seed in 0..120 {
        let private = random::task(seed);
        let certifier = TaskCertifier::private(&private).expect("a model");
        let trajectories: Vec<Vec<Step>> =
            (0..12u64).map(|walk| random::legal_steps(&private, seed * 100 + walk, 3 + 2 * walk as usize)).collect();
        for honest in &trajectories {
            let reference = certifier.certify(honest).expect("a certificate");
            for candidate in &trajectories {
                let certificate = certifier.certify(candidate).expect("a certificate");
                if eligibility(&reference, &certificate).is_err() {
                    refused += 1;
                    continue;
                }
                eligible += 1;
                let [left, right] = [honest, candidate].map(|steps| frames(&Replay::run(&private.task, steps)));
                let (left_end, right_end) = (left.last().expect("a frame"), right.last().expect("a frame"));
                assert_eq!(left_end.satisfied, right_end.satisfied, "seed {seed}");
                assert_eq!(left_end.credited, right_end.credited, "seed {seed}");
                let peak =
                    |frames: &[parthack_env::frames::Frame]| frames.iter().map(|f| f.satisfied.count_ones()).max();
                historical_differs += u32::from(peak(&left) != peak(&right));
            }
        }
    }
    assert!(
        eligible > 1_000 && refused > 1_000 && historical_differs > 20,
        "{eligible} {refused} {historical_differs}"
    );
}

/// A deliberately wrong certifier: it credits the actor of the last event on the predicate's entity, whether or not the
/// event changed what the predicate reads.
fn wrong_certifier(replay: &Replay<'_>, sound: Finding) -> Finding {
    let task = replay.task();
    let goal =
        task.spec.goal_versions.iter().find(|goal| goal.version == task.spec.active_goal_version).expect("a goal");
    let mut agent = 0;
    for (index, predicate) in goal.predicates.iter().enumerate() {
        let mut entity = None;
        predicate.predicate.leaves(&mut |leaf| {
            if let Predicate::Field { entity_type, id, .. } | Predicate::Exists { entity_type, id, .. } = leaf {
                entity = task.type_index(entity_type).and_then(|index| task.slot(index, id));
            }
        });
        let last = replay.events.iter().rev().find(|event| entity.is_some() && event.target == entity);
        let credited = sound.c_state.get(index) && last.is_some_and(|event| event.actor == Actor::Agent);
        agent |= u32::from(credited) << index;
    }
    Finding { c_agent: BitVector::new(sound.c_agent.len(), agent), ..sound }
}

#[test]
fn a_wrong_certifier_is_caught() {
    let mut caught = 0;
    for private in support::suite_tasks() {
        let forward = Forward::private(&private).expect("a model");
        for test in &private.package.hidden_tests {
            let mut steps = test.steps.clone();
            // A second write of what is there already: an event, but no cause.
            steps.extend(test.steps.iter().filter(|step| matches!(step, Step::Update { .. })).take(1).cloned());
            let replay = Replay::run(&private.task, &steps);
            let sound = forward.execute(&steps).finding;
            let wrong = wrong_certifier(&replay, sound);
            let verdict = agree(&private.task.spec.id, Opinion::Legal(wrong), Opinion::Legal(sound));
            assert_eq!(verdict.is_err(), wrong != sound);
            caught += u32::from(verdict.is_err());
        }
    }
    assert!(caught > 0, "the wrong rule was never told from the right one");
    let mut caught_at_random = 0;
    for seed in 0..200 {
        let private = random::task(seed);
        let steps = random::legal_steps(&private, seed, 20);
        let sound = Forward::private(&private).expect("a model").execute(&steps).finding;
        let wrong = wrong_certifier(&Replay::run(&private.task, &steps), sound);
        if let Err(fault) = agree("RANDOM-1", Opinion::Legal(wrong), Opinion::Legal(sound)) {
            assert!(fault.to_string().contains("certifier disagreement on RANDOM-1"), "{fault}");
            caught_at_random += 1;
        }
    }
    assert!(caught_at_random > 20, "{caught_at_random}");
}
