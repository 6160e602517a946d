//! `parthack import` and `parthack gcpc`: what they print, and how they end.

mod cli_support;

use std::fs;
use std::path::Path;

use cli_support::{Done, parthack, works};
use serde_json::{Value, json};

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn help_leads_to_the_formats() {
    let page = fs::read_to_string(cli_support::workspace().join("docs/formats.md")).expect("the page");
    let help = works(&["gcpc", "analyze", "--help"]).out;
    assert!(help.contains("\"Annotations\"") && page.contains("\n## Annotations"), "{help}");
    assert!(page.contains("annotator,kind,log,other,item,value\n"));
    let help = works(&["import", "--help"]).out;
    assert!(help.contains("Duplicates are dropped and counted"), "{help}");
    assert!(page.contains("## Duplicates in an import"));
}

/// Verifiers in two folders have files of one name; none is lost, and a circle of links is called one.
#[test]
fn a_verifier_in_several_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let checklist = r#"{"format":"parthack.checklist/1","items":[]}"#;
    let checklist = written(folder.path(), "checklist.json", checklist);
    let instruction = written(folder.path(), "instruction.md", "Do it.");
    for (name, test) in [("a", "test_one"), ("b", "test_two")] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
        written(folder.path(), &format!("{name}/test_outputs.py"), &format!("def {test}():\n    assert True\n"));
    }
    let (a, b) = (folder.path().join("a").display().to_string(), folder.path().join("b").display().to_string());
    let check = |verifier: &[&str]| {
        let arguments = ["gcpc", "check", &checklist, "--format", "json", "--instruction", &instruction, "--verifier"];
        parthack(&[&arguments[..], verifier].concat())
    };
    assert_eq!(check(&[&a]).json()["tests"], 1);
    assert_eq!(check(&[&a, &b]).json()["tests"], 2);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(".", folder.path().join("a/loop")).expect("a link");
        let done = check(&[&a]);
        assert!(done.code == 3 && done.err.contains("a/loop is a link to"), "{} {}", done.code, done.err);
        assert!(!done.err.contains("permissions"), "{}", done.err);
    }
}

fn labels(yes: usize, no: usize, abstain: usize, outcome: &Value) -> String {
    let label = |(number, label): (usize, &str)| json!({"id": format!("c{number}"), "route": "judge", "label": label});
    let all = [vec!["yes"; yes], vec!["no"; no], vec!["abstain"; abstain]].concat();
    let items: Vec<Value> = (1..).zip(all).map(label).collect();
    json!({"format": "parthack.labels/1", "items": items, "outcome": outcome}).to_string()
}

#[test]
fn labels_are_scored_as_the_paper_works_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let score = |yes, no, abstain, outcome: Value| -> Value {
        let path = written(folder.path(), "labels.json", &labels(yes, no, abstain, &outcome));
        works(&["gcpc", "score", &path, "--format", "json"]).json()
    };
    for (yes, no, expected) in [(3, 6, 0.3), (5, 4, 0.5), (9, 0, 0.9)] {
        assert_eq!(score(yes, no, 0, json!("fail"))["gcpc_outcome"], expected);
    }
    let perfect = score(9, 0, 0, json!("fail"));
    assert_eq!((&perfect["gcpc"], &perfect["perfect"]), (&json!(1.0), &json!(1)), "the endpoint is not in Perfect");
    let abstained = score(1, 1, 2, json!("fail"));
    assert_eq!((&abstained["gcpc"], &abstained["evidence_coverage"]), (&json!(0.5), &json!(0.5)));
    let open = score(0, 0, 2, Value::Null);
    assert!(open["gcpc"].is_null() && open["gcpc_outcome"].is_null());
    let path = written(folder.path(), "labels.json", &labels(1, 0, 0, &json!("fail")));
    assert!(works(&["gcpc", "score", &path]).out.contains("GCPC with outcome    0.500 (1/2)"));
}

#[test]
fn labels_that_are_none_are_refused_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let twice = r#"{"format":"parthack.labels/1","items":[{"id":"c1","route":"judge","label":"yes"},{"id":"c1","route":"judge","label":"no"}],"outcome":null}"#;
    for (text, part) in [
        (labels(1, 0, 0, &json!("won")).as_str(), "/outcome"),
        (&labels(1, 0, 0, &Value::Null).replace("yes", "maybe"), "/items/0/label"),
        (twice, "c1"),
        ("[", "labels.json"),
    ] {
        let path = written(folder.path(), "labels.json", text);
        let Done { code, err, .. } = parthack(&["gcpc", "score", &path]);
        assert!(code == 3 && err.contains(part), "{text}: {code} {err}");
    }
}

#[test]
fn one_bad_file_stops_no_import() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = r#"{"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"4"}]}"#;
    let good = written(folder.path(), "good.jsonl", good);
    let bad = written(folder.path(), "bad.jsonl", r#"{"messages":["#);
    let root = folder.path().display().to_string();

    let done = parthack(&["import", "openai", &root, "--summary", "--format", "json"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let summary: Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!((&summary["logs"], &summary["files_refused"]), (&json!(1), &json!(1)), "{summary:#}");
    assert!(done.err.contains("bad.jsonl"), "{}", done.err);
    assert_eq!(parthack(&["import", "openai", &root, "--summary", "--strict"]).code, 3);
    assert_eq!(parthack(&["import", "openai", &bad, "--summary"]).code, 3);
    assert_eq!(parthack(&["import", "openai", "no-such-file", "--summary"]).code, 3);
    assert!(works(&["import", "openai", &good, "--summary"]).out.contains("logs          1 of"));

    // A summary as text says each refusal once, and which files it passed over, up to a number.
    let names: Vec<String> = (10..35).map(|number| written(folder.path(), &format!("note-{number}.md"), "")).collect();
    let text = works(&["import", "openai", &root, "--summary"]);
    assert_eq!((text.out.matches("bad.jsonl").count(), text.err.as_str()), (1, ""), "{}{}", text.out, text.err);
    let listed = names.iter().filter(|name| text.out.contains(&format!("passed over   {name}\n"))).count();
    assert!(listed == 20 && text.out.contains("passed over   5 more"), "{}", text.out);

    let lines = works(&["import", "openai", &good]).out;
    let log: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!(log["log"]["steps"].as_array().expect("steps").len(), 2);
    let unknown = parthack(&["import", "paper", &good]);
    assert!(unknown.code == 2 && unknown.err.contains("harbor-tasks"), "{}", unknown.err);
}
