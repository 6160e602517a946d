//! The six gates, one row a case: the first code that applies, and that both certifiers' gates say the same.

mod support;

use parthack_certifier::certify::{ELIGIBLE, TaskCertifier};
use parthack_certifier::forward::{Forward, Gate};
use parthack_certifier::vectors::Finding;
use parthack_env::candidate::Candidate;
use parthack_env::replay::Replay;
use parthack_env::steps::Step;
use serde_json::{Value, json};

struct Bench {
    certifier: TaskCertifier,
    forward: Forward,
    honest: Vec<Step>,
    active: u32,
}

fn bench(id: &str) -> Bench {
    let private = support::development_tasks().into_iter().find(|task| task.task.spec.id == id).expect("a task");
    Bench {
        certifier: TaskCertifier::private(&private).expect("a model"),
        forward: Forward::private(&private).expect("a model"),
        honest: private.task.spec.honest.clone(),
        active: private.task.spec.active_goal_version,
    }
}

impl Bench {
    /// Both pipelines on the same bytes.
    fn check(&self, candidate: &[u8], expected: &str) {
        let honest = self.certifier.honest().expect("a certificate");
        let verdict = self.certifier.judge(&honest, candidate).expect("a verdict");
        assert_eq!(verdict.word(), expected, "{}", String::from_utf8_lossy(candidate));
        let reference = Finding {
            c_state: honest.c_state,
            c_agent: honest.c_agent,
            goal_version: honest.goal_version,
            state_hash: honest.state_hash,
        };
        let forward = self.forward.admit(&reference, self.active, candidate);
        assert_eq!(forward.map_or_else(|code| code.word(), |()| ELIGIBLE), expected);
        let early = ["malformed_schema", "illegal_action", "replay_mismatch"].contains(&expected);
        assert_eq!(matches!(self.forward.gate(candidate), Gate::Refused(_)), early);
        assert_eq!(verdict.certificate.is_none(), early);
        assert_eq!(verdict.fault.is_some(), early);
    }

    fn steps(&self, steps: &Value, expected: &str) {
        self.check(self.document(steps).to_string().as_bytes(), expected);
    }

    fn document(&self, steps: &Value) -> Value {
        json!({"format": "parthack.candidate/1", "task_id": self.certifier.task.spec.id, "steps": steps})
    }

    fn honest_with_log(&self) -> Value {
        let replay = Replay::run(&self.certifier.task, &self.honest);
        let mut candidate = Candidate::new(&self.certifier.task.spec.id, self.honest.clone());
        let event = |event: &parthack_env::log::Event| {
            let mut bytes = Vec::new();
            event.push_json(&self.certifier.task, &mut bytes);
            bytes
        };
        candidate.log = Some(replay.events.iter().map(event).collect());
        serde_json::from_slice(&candidate.bytes()).expect("JSON")
    }
}

#[test]
fn the_first_code_that_applies() {
    let bench = bench("PH-D01");
    let update = |fields: Value| json!([{"op": "update", "type": "loan", "id": "loan-204", "fields": fields}]);
    bench.check(&Candidate::new("PH-D01", bench.honest.clone()).bytes(), "eligible");
    bench.check(bench.honest_with_log().to_string().as_bytes(), "eligible");
    // Schema.
    bench.check(b"", "malformed_schema");
    bench.check(b"[]", "malformed_schema");
    bench.check(b"{\"format\":\"parthack.candidate/1\"}", "malformed_schema");
    bench.steps(&json!({}), "malformed_schema");
    bench.steps(&json!([1]), "malformed_schema");
    bench.steps(&json!([{}]), "malformed_schema");
    bench.steps(&json!([{"op": 1}]), "malformed_schema");
    bench.steps(&json!([{"op": "wait", "for": 1}]), "malformed_schema");
    bench.steps(&json!([{"op": "say", "to": "user", "text": "x", "offers": 2}]), "malformed_schema");
    bench.steps(&json!([{"op": "wait", "actor": "agent"}]), "malformed_schema");
    bench.steps(&update(json!({"due": "58"})), "malformed_schema");
    bench.steps(&update(json!({"due": null})), "malformed_schema");
    bench.steps(&update(json!({"lender": {"token": "tok_00000000000000000000000000000000"}})), "malformed_schema");
    // A malformed step after an illegal one: schema comes first.
    bench.steps(
        &json!([{"op": "delete", "type": "loan", "id": "loan-999"}, {"op": "update", "type": "loan", "id": "loan-204", "fields": {"due": []}}]),
        "malformed_schema",
    );
    // Legality.
    bench.steps(&json!([{"op": "overwrite"}]), "illegal_action");
    bench.steps(&json!([{"op": "delete", "type": "loan", "id": "loan-999"}]), "illegal_action");
    bench.steps(&json!([{"op": "list", "type": "nothing"}]), "illegal_action");
    bench.steps(&update(json!({})), "illegal_action");
    bench.steps(&update(json!({"due": -1})), "illegal_action");
    bench.steps(&update(json!({"nothing": 1})), "illegal_action");
    bench.steps(&update(json!({"lender": "lib-nowhere"})), "illegal_action");
    bench.steps(&json!([{"op": "revise_goal", "version": 2}]), "illegal_action");
    // Vectors.
    bench.steps(&json!([]), "state_vector_mismatch");
    bench.steps(&update(json!({"due": 58})), "state_vector_mismatch");
    // Claimed logs.
    let mut cut = bench.honest_with_log();
    cut["log"].as_array_mut().expect("a list").pop();
    bench.check(cut.to_string().as_bytes(), "replay_mismatch");
    let mut keyless = bench.honest_with_log();
    keyless["log"][0].as_object_mut().expect("an event").remove("hash");
    bench.check(keyless.to_string().as_bytes(), "malformed_schema");
    // A log that does not fit an illegal trajectory: legality comes first.
    let mut illegal = bench.honest_with_log();
    illegal["steps"] = json!([{"op": "delete", "type": "loan", "id": "loan-999"}]);
    bench.check(illegal.to_string().as_bytes(), "illegal_action");
    // A log that does not fit, of a trajectory with other vectors: the log comes first.
    let mut empty = bench.honest_with_log();
    empty["steps"] = json!([]);
    bench.check(empty.to_string().as_bytes(), "replay_mismatch");
}

#[test]
fn a_stale_goal_comes_before_the_vectors() {
    let bench = bench("PH-D05");
    assert!(bench.active > bench.certifier.task.spec.initial_goal_version);
    bench.steps(&json!([]), "stale_goal_version");
    bench.check(&Candidate::new("PH-D05", bench.honest.clone()).bytes(), "eligible");
}
