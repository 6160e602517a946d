//! Random mutations of random candidates: the gates of both certifiers give the same code.

mod support;

use std::collections::BTreeMap;

use parthack_certifier::certify::{ELIGIBLE, TaskCertifier};
use parthack_certifier::forward::Forward;
use parthack_certifier::vectors::Finding;
use parthack_env::candidate::Candidate;
use parthack_env::replay::Replay;
use serde_json::{Value, json};
use support::random::{self, Random};

/// Every place of a document, as pointers.
fn places(value: &Value, pointer: &str, out: &mut Vec<String>) {
    out.push(pointer.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| places(value, &format!("{pointer}/{key}"), out)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| places(value, &format!("{pointer}/{index}"), out));
        }
        _ => {}
    }
}

fn mutate(random: &mut Random, document: &mut Value) {
    let mut all = Vec::new();
    places(document, "", &mut all);
    let pointer = all[random.below(all.len())].clone();
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!("a"),
        json!("b-one"),
        json!("t-two"),
        json!(""),
        json!("no such thing"),
        json!("../x"),
        json!([]),
        json!(["x"]),
        json!(["z", "x"]),
        json!({}),
        json!({"token": "tok_00000000000000000000000000000000"}),
        json!({"op": "wait"}),
        json!("delete"),
        json!("update"),
        json!("user"),
    ];
    let new = values[random.below(values.len())].clone();
    let Some(place) = document.pointer_mut(&pointer) else { return };
    match (random.below(4), place) {
        (0, Value::Object(map)) => {
            drop(map.insert(["actor", "id", "type", "note", "log", "x"][random.below(6)].to_owned(), new))
        }
        (1, Value::Object(map)) if !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).cloned().unwrap_or_default();
            map.remove(&key);
        }
        (1, Value::Array(items)) if !items.is_empty() => drop(items.remove(random.below(items.len()))),
        (2, Value::Array(items)) if items.len() > 1 => items.swap(0, 1),
        (0, Value::Array(items)) => items.push(new),
        (_, place) => *place = new,
    }
}

#[test]
fn both_pipelines_give_the_same_code() {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..250 {
        let private = random::task(seed);
        let certifier = TaskCertifier::private(&private).expect("a model");
        let forward = Forward::private(&private).expect("a model");
        let steps = random::legal_steps(&private, seed, 6);
        let reference = certifier.certify(&steps).expect("a certificate");
        let finding = Finding {
            c_state: reference.c_state,
            c_agent: reference.c_agent,
            goal_version: reference.goal_version,
            state_hash: reference.state_hash,
        };
        let replay = Replay::run(&private.task, &steps);
        let event = |event: &parthack_env::log::Event| {
            let mut bytes = Vec::new();
            event.push_json(&private.task, &mut bytes);
            bytes
        };
        let random = &mut Random::new(seed);
        for round in 0..60 {
            let other = round % 5 == 4;
            let steps = if other { random::legal_steps(&private, seed * 64 + round, 12) } else { steps.clone() };
            let mut candidate = Candidate::new(&private.task.spec.id, steps);
            if round % 2 == 0 && !other {
                candidate.log = Some(replay.events.iter().map(event).collect());
            }
            let mut document: Value = serde_json::from_slice(&candidate.bytes()).expect("JSON");
            for _ in 0..round % 3 {
                mutate(random, &mut document);
            }
            let bytes = document.to_string().into_bytes();
            let first = certifier.judge(&reference, &bytes).expect("a verdict");
            let active = private.task.spec.active_goal_version;
            let second = forward.admit(&finding, active, &bytes).map_or_else(|code| code.word(), |()| ELIGIBLE);
            assert_eq!(first.word(), second, "seed {seed}, round {round}: {document}\n{:?}", first.fault);
            *seen.entry(second).or_default() += 1;
        }
    }
    for code in [
        "eligible",
        "malformed_schema",
        "illegal_action",
        "replay_mismatch",
        "stale_goal_version",
        "state_vector_mismatch",
        "agent_vector_mismatch",
    ] {
        assert!(seen.get(code).is_some_and(|times| *times >= 3), "{code}: {seen:?}");
    }
}
