//! The private half of lint: clean on the suite, and each fault is found with its code.

mod support;

use parthack_certifier::lint::{LintNote, Severity, lint};
use serde_json::{Value, json};

fn faults(notes: &[LintNote]) -> Vec<&str> {
    notes.iter().filter(|note| note.severity == Severity::Fault).map(|note| note.code.as_str()).collect()
}

#[test]
fn the_suite_is_clean() {
    for (public, private) in support::files("PH-") {
        let notes = lint(&public, &private);
        assert_eq!(faults(&notes), Vec::<&str>::new(), "{notes:#?}");
        assert!(notes.iter().any(|note| note.code == "expectation_met"));
        assert!(notes.is_sorted());
    }
}

/// The codes of a package with one thing changed.
fn check(id: &str, edit: impl Fn(&mut Value), expected: &[&str]) {
    let (public, private) = support::files(id).remove(0);
    let mut package: Value = serde_json::from_slice(&private).expect("JSON");
    edit(&mut package);
    let notes = lint(&public, package.to_string().as_bytes());
    assert_eq!(faults(&notes), expected, "{notes:#?}");
}

#[test]
fn each_fault_has_its_code() {
    check("PH-D01", |p| p["task_id"] = json!("PH-D02"), &["package_task"]);
    check("PH-D01", |p| p["public_hash"] = json!("0".repeat(64)), &["package_public_hash"]);
    check("PH-D01", |p| p["verdict"] = json!(1), &["private_file"]);
    check("PH-D01", |p| p["canaries"] = json!(["short"]), &["private_file"]);
    check("PH-D01", |p| drop(p["hidden_tests"].as_array_mut().expect("a list").drain(1..)), &["private_file"]);
    check(
        "PH-D01",
        |p| drop(p["private_ids"].as_object_mut().expect("a map").remove("loan/loan-204")),
        &["package_private_id_missing"],
    );
    check("PH-D01", |p| p["private_ids"]["loan/loan-999"] = json!("pv-none"), &["package_private_id_unknown"]);
    check(
        "PH-D01",
        |p| p["private_ids"]["loan/loan-204"] = p["private_ids"]["loan/loan-201"].clone(),
        &["private_file"],
    );
    check("PH-D01", |p| p["canaries"][0] = json!("Interlibrary loan"), &["package_canary_public"]);
    check("PH-D01", |p| p["canaries"][0] = json!("INTERLIBRARY LOAN"), &["leak_canary"]);
    check("PH-D01", |p| p["expected_honest"]["c_agent"] = json!([0, 1, 0, 0]), &["expectation_differs"]);
    check("PH-D01", |p| p["expected_honest"]["c_agent"] = json!([1, 1, 0]), &["package_expectation_length"]);
    check("PH-D01", |p| p["hidden_tests"][0]["expect"]["c_state"] = json!([1, 1, 1, 0]), &["expectation_differs"]);
    check("PH-D01", |p| p["hidden_tests"][0]["steps"] = json!([{"op": "wait"}]), &["expectation_no_certificate"]);
    check("PH-D04", |p| p["redaction_key"] = json!("0".repeat(64)), &["package_token_wrong"]);
    check(
        "PH-D04",
        |p| drop(p["sealed_values"].as_array_mut().expect("a list").remove(0)),
        &["package_token_without_value"],
    );
    check("PH-D04", |p| p["sealed_values"][0]["value"] = json!("another"), &["package_token_wrong"]);
    check("PH-D04", |p| p["sealed_values"][0]["value"] = json!(5), &["package_sealed_value"]);
    check("PH-D04", |p| p["sealed_values"][1] = p["sealed_values"][0].clone(), &["package_token_twice"]);
}

#[test]
fn a_predicate_that_differs_is_named() {
    let predicate =
        |p: &mut Value, index: usize, key: &str, value: Value| p["predicates"]["1"][index]["predicate"][key] = value;
    for (edit, what) in [
        (&(|p: &mut Value| predicate(p, 2, "value", json!(59))) as &dyn Fn(&mut Value), "the expected value differs"),
        (&|p| predicate(p, 2, "kind", json!("field_at_least")), "the kind differs"),
        (&|p| predicate(p, 2, "field", json!("state")), "the field differs"),
        (&|p| predicate(p, 2, "id", json!("pv-nobody")), "a private id of type loan that the package does not declare"),
        (&|p| predicate(p, 2, "id", p["private_ids"]["loan/loan-201"].clone()), "the entity differs"),
        (&|p| predicate(p, 2, "incarnation", json!(1)), "the incarnation differs"),
        (&|p| p["predicates"]["1"][2]["id"] = json!("due"), "the package has \"due\" in its place"),
        (&|p| drop(p["predicates"]["1"].as_array_mut().expect("a list").pop()), "the package has no such predicate"),
        (&|p| p["predicates"]["7"] = p["predicates"]["1"].clone(), "the public file has no such goal version"),
    ] {
        let (public, private) = support::files("PH-D01").remove(0);
        let mut package: Value = serde_json::from_slice(&private).expect("JSON");
        edit(&mut package);
        let notes = lint(&public, package.to_string().as_bytes());
        assert_eq!(faults(&notes), ["package_predicate_differs"], "{notes:#?}");
        assert!(notes[0].message.contains(what), "{} / {what}", notes[0].message);
    }
}
