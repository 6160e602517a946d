//! The closed serializer: what it writes it reads, and anything else it refuses.

mod support;

use parthack_certifier::certify::TaskCertifier;
use parthack_certifier::sealing::{commitments_schema, reveal_schema};
use parthack_certifier::serializer::{payload_schema, private_schema, projection_schema, read_payload, serialize};
use serde_json::{Value, json};

fn payloads() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for private in &support::suite_tasks() {
        let certifier = TaskCertifier::private(private).expect("a model");
        for steps in private.package.hidden_tests.iter().map(|test| &test.steps).chain([&private.task.spec.honest]) {
            let written = serialize(&certifier, steps).expect("a payload");
            assert_eq!(written, serialize(&certifier, steps).expect("a payload"));
            let facts = read_payload(&written.bytes).expect("a sound payload");
            assert_eq!((facts.task_id, facts.predicates), (private.task.spec.id.clone(), private.task.m()));
            assert_eq!(facts.events, written.certificate.events as usize);
            all.push(written.bytes);
        }
    }
    all
}

#[test]
fn what_is_written_reads_back_and_holds_nothing_private() {
    let payloads = payloads();
    assert!(payloads.len() >= 24);
    for private in &support::suite_tasks() {
        let secrets = private.package.canaries.iter().chain(private.package.private_ids.values());
        for secret in secrets {
            assert!(payloads.iter().all(|bytes| !String::from_utf8_lossy(bytes).contains(secret.as_str())));
        }
    }
}

/// Where a payload with one thing changed is refused.
fn check(edit: impl Fn(&mut Value), pointer: &str) {
    let bytes = payloads().remove(0);
    let mut payload: Value = serde_json::from_slice(&bytes).expect("JSON");
    edit(&mut payload);
    let fault = read_payload(payload.to_string().as_bytes()).expect_err(pointer);
    assert_eq!(fault.place.to_string(), pointer, "{fault}");
}

#[test]
fn everything_else_is_refused_at_its_place() {
    check(|p| p["verdict"] = json!(1), "/verdict");
    check(|p| p["format"] = json!("parthack.payload/2"), "/format");
    check(|p| drop(p.as_object_mut().expect("an object").remove("events")), "the top level");
    check(|p| p["events"][0]["c_state"] = json!([1]), "/events/0/c_state");
    check(|p| p["events"][0]["actor"] = json!("root"), "/events/0/actor");
    check(|p| p["events"][0]["op"] = json!("read"), "/events/0/op");
    check(|p| p["events"][0]["seq"] = json!(2), "/events/0/seq");
    check(|p| p["events"][0]["diff"]["private"] = json!(1), "/events/0/diff/private");
    check(|p| p["goal_schema"][0]["expected"] = json!(1), "/goal_schema/0/expected");
    check(|p| p["goal_schema"][0]["predicate"]["kind"] = json!("is"), "/goal_schema/0/predicate/kind");
    check(
        |p| p["initial_state"]["entities"][0]["fields"]["x"] = json!({"raw": 1}),
        "/initial_state/entities/0/fields/x/raw",
    );
    check(
        |p| p["initial_state"]["entities"][0]["fields"]["x"] = json!({"token": "tok_1"}),
        "/initial_state/entities/0/fields/x/token",
    );
    check(|p| p["initial_state"]["entities"][0]["fields"]["x"] = json!(1.5), "/initial_state/entities/0/fields/x");
    check(|p| p["terminal_state"]["hash"] = json!(""), "/terminal_state/hash");
    check(|p| p["state_diff"]["entities"][0]["vector"] = json!(1), "/state_diff/entities/0/vector");
    check(|p| p["transcript"][0]["refusal"] = json!({}), "/transcript/0/refusal");
    check(|p| p["transcript"][0]["step"]["actor"] = json!("agent"), "/transcript/0/step/actor");
    check(|p| p["instruction"][0]["note"] = json!(""), "/instruction/0/note");
    let bytes = payloads().remove(0);
    let spaced = [b" ".as_slice(), &bytes].concat();
    assert_eq!(read_payload(&spaced).expect_err("a space").expected, "canonical bytes");
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        assert!(read_payload(&bytes[..cut]).is_err());
    }
}

#[test]
fn schemas_are_closed() {
    fn walk(schema: &Value, pointer: &str) {
        match schema {
            Value::Object(map) => {
                if map.get("type") == Some(&json!("object")) && map.contains_key("properties") {
                    assert_eq!(map.get("additionalProperties"), Some(&json!(false)), "{pointer}");
                }
                map.iter().for_each(|(key, value)| walk(value, &format!("{pointer}/{key}")));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, pointer)),
            _ => {}
        }
    }
    for (schema, title) in [
        (payload_schema(), "parthack.payload/1"),
        (projection_schema(), "parthack.projection/1"),
        (private_schema(), "parthack.private/1"),
        (commitments_schema(), "parthack.commitments/1"),
        (reveal_schema(), "parthack.reveal/1"),
    ] {
        assert_eq!(schema["title"], title);
        walk(&schema, "");
    }
}
