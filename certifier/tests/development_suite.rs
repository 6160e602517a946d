//! The development suite: every package opens, and both certifiers reproduce what it expects.

mod support;

use parthack_certifier::certify::TaskCertifier;
use parthack_certifier::forward::Forward;
use parthack_env::replay::Replay;

#[test]
fn packages_open_and_expectations_hold() {
    let tasks = support::development_tasks();
    assert!(tasks.len() >= 6);
    for private in &tasks {
        let certifier = TaskCertifier::private(private).expect("a model");
        let honest = certifier.honest().expect("an honest certificate");
        let expected = private.package.expected_honest;
        let id = &private.task.spec.id;
        assert_eq!((honest.c_state, honest.c_agent), (expected.c_state, expected.c_agent), "{id}");
        assert_eq!(honest.goal_version, expected.goal_version, "{id}");
        assert_eq!(honest.p_state(), honest.p_agent(), "{id}");
        for test in &private.package.hidden_tests {
            let found = certifier.certify(&test.steps).expect("a certificate");
            assert_eq!((found.c_state, found.c_agent), (test.expect.c_state, test.expect.c_agent), "{id} {}", test.id);
            assert_eq!(found.goal_version, test.expect.goal_version, "{id} {}", test.id);
        }
    }
}

#[test]
fn the_forward_log_is_the_environments_log_byte_for_byte() {
    for private in &support::development_tasks() {
        let forward = Forward::private(private).expect("a model");
        for steps in private.package.hidden_tests.iter().map(|test| &test.steps).chain([&private.task.spec.honest]) {
            let replay = Replay::run(&private.task, steps);
            let traced = forward.trace(steps);
            assert_eq!(traced.head, replay.head());
            let mut bytes = Vec::new();
            for (event, own) in replay.events.iter().zip(&traced.log) {
                bytes.clear();
                event.push_json(&private.task, &mut bytes);
                assert_eq!(String::from_utf8_lossy(own), String::from_utf8_lossy(&bytes));
            }
        }
    }
}
