//! A tampered log is refused by certifier 1, at the right event.

mod support;

use parthack_certifier::backward::{Backward, BackwardFault};
use parthack_env::canonical::Hash;
use parthack_env::log::{Event, LogFault, LogFaultReason};
use parthack_env::names::{Actor, Operation};
use parthack_env::replay::Replay;
use parthack_env::world::World;
use support::random;

/// Log, snapshots and head of a trajectory, to be tampered with.
struct Evidence {
    events: Vec<Event>,
    snapshots: Vec<World>,
    head: Hash,
}

/// The fault that a tampering at event `at` (index from 0) must give; none where it has nothing to work on.
type Tampering = fn(&mut Evidence, usize) -> Option<BackwardFault>;

fn log_fault(sequence: usize, reason: LogFaultReason) -> Option<BackwardFault> {
    Some(BackwardFault::Log(LogFault { sequence: u32::try_from(sequence).expect("a small number"), reason }))
}

const TAMPERINGS: [(&str, Tampering); 12] = [
    ("edit the actor", |e, at| {
        e.events[at].actor = if e.events[at].actor == Actor::Agent { Actor::User } else { Actor::Agent };
        log_fault(at + 1, LogFaultReason::Hash)
    }),
    ("edit the operation", |e, at| {
        e.events[at].operation =
            if e.events[at].operation == Operation::Delete { Operation::Update } else { Operation::Delete };
        log_fault(at + 1, LogFaultReason::Hash)
    }),
    ("edit the tick", |e, at| {
        e.events[at].tick += 1;
        log_fault(at + 1, LogFaultReason::Hash)
    }),
    ("edit a value after", |e, at| {
        let (_, before, after) = e.events[at].diff.fields.first_mut()?;
        (*after != *before).then(|| *after = before.clone())?;
        log_fault(at + 1, LogFaultReason::Hash)
    }),
    ("edit the goal version", |e, at| {
        e.events[at].goal_version += 1;
        log_fault(at + 1, LogFaultReason::Hash)
    }),
    ("edit the state hash", |e, at| {
        e.events[at].state_hash.0[0] ^= 1;
        log_fault(at + 1, LogFaultReason::Hash)
    }),
    ("edit the hash", |e, at| {
        e.events[at].hash.0[31] ^= 1;
        log_fault(at + 1, LogFaultReason::Hash)
    }),
    ("edit the previous hash", |e, at| {
        e.events[at].previous_hash.0[31] ^= 1;
        log_fault(at + 1, LogFaultReason::Chain)
    }),
    ("reorder", |e, at| {
        (at + 1 < e.events.len()).then(|| e.events.swap(at, at + 1))?;
        log_fault(at + 1, LogFaultReason::Sequence)
    }),
    ("insert", |e, at| {
        let copy = e.events[at].clone();
        e.events.insert(at, copy);
        log_fault(at + 2, LogFaultReason::Sequence)
    }),
    ("cut the tail", |e, at| {
        e.events.truncate(at);
        e.snapshots.truncate(at);
        log_fault(at + 1, LogFaultReason::Cut)
    }),
    ("cut out", |e, at| {
        (at + 1 < e.events.len()).then(|| e.events.remove(at))?;
        log_fault(at + 1, LogFaultReason::Sequence)
    }),
];

#[test]
fn every_tampering_is_found_at_its_event() {
    let mut reached = [0; TAMPERINGS.len()];
    for seed in 0..60 {
        let private = random::task(seed);
        let replay = Replay::run(&private.task, &random::legal_steps(&private, seed, 12));
        let backward = Backward::private(&private);
        for (index, (name, tamper)) in TAMPERINGS.iter().enumerate() {
            for at in 0..replay.events.len() {
                let mut evidence = Evidence {
                    events: replay.events.clone(),
                    snapshots: replay.snapshots.clone(),
                    head: replay.head(),
                };
                let Some(expected) = tamper(&mut evidence, at) else { continue };
                let found = backward.certify_log(&evidence.events, &evidence.snapshots, evidence.head);
                assert_eq!(found, Err(expected), "{name} at {at}, seed {seed}");
                reached[index] += 1;
            }
        }
    }
    assert!(reached.iter().all(|count| *count > 50), "{reached:?}");
}

#[test]
fn snapshots_must_be_the_logs_states() {
    let (mut swapped, mut missing) = (0, 0);
    for seed in 0..40 {
        let private = random::task(seed);
        let replay = Replay::run(&private.task, &random::legal_steps(&private, seed, 12));
        let backward = Backward::private(&private);
        for at in 0..replay.events.len() {
            let mut snapshots = replay.snapshots.clone();
            snapshots[at] = private.task.initial.clone();
            let found = backward.certify_log(&replay.events, &snapshots, replay.head());
            if replay.events[at].state_hash != private.task.initial.state_hash() {
                assert_eq!(found, Err(BackwardFault::Snapshot { sequence: at + 1 }));
                swapped += 1;
            }
            let found = backward.certify_log(&replay.events, &replay.snapshots[..at], replay.head());
            assert_eq!(found, Err(BackwardFault::Snapshot { sequence: at + 1 }));
            missing += 1;
        }
        let mut more = replay.snapshots.clone();
        more.push(private.task.initial.clone());
        let found = backward.certify_log(&replay.events, &more, replay.head());
        assert_eq!(found, Err(BackwardFault::Snapshot { sequence: replay.events.len() + 1 }));
    }
    assert!(swapped > 50 && missing > 50);
}
