//! Agreement with the authors' release, and that disagreement is found.
//!
//! The release's files lie beside the source tree. Where they do not, these tests say so and pass, but not in CI.

mod cli_support;

use std::fs;
use std::path::{Path, PathBuf};

use cli_support::{Done, parthack, workspace};
use serde_json::{Value, json};

/// The release's files, if they are there.
fn release() -> Option<PathBuf> {
    let folder = workspace().parent().map(|above| above.join("shared/release"))?;
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "the release's files are not at {}", folder.display());
    println!("skipped: the release's files are not at {}", folder.display());
    None
}

fn check(arguments: &[(&str, &Path)]) -> Done {
    let mut all = vec!["release-check".to_owned(), "--format".to_owned(), "json".to_owned()];
    for (flag, path) in arguments {
        all.extend([(*flag).to_owned(), path.display().to_string()]);
    }
    parthack(&all)
}

#[test]
fn every_line_payload_and_optimum_agrees() {
    let Some(release) = release() else { return };
    let (tasks, oracle) = (release.join("tasks"), release.join("oracle"));
    let (payloads, optimum) = (release.join("public_payloads"), release.join("optimum.json"));
    let done = check(&[("--tasks", &tasks), ("--oracle", &oracle), ("--payloads", &payloads), ("--optimum", &optimum)]);
    let report = done.json();
    assert_eq!(done.code, 0, "{}", report["first_difference"]);
    let count = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64);
    assert_eq!((count("/tasks"), count("/honest/agree")), (Some(24), Some(24)));
    assert_eq!((count("/lines"), count("/agree"), count("/differ")), (Some(1885), Some(1885), Some(0)));
    assert_eq!((count("/payloads/agree"), count("/payloads/differ")), (Some(24), Some(0)));
    assert_eq!((count("/optima/agree"), count("/optima/differ")), (Some(48), Some(0)));
    assert_eq!(report["first_difference"], Value::Null);
    for check in report["checks"].as_array().expect("checks") {
        assert_eq!((check["agree"].as_u64(), check["differ"].as_u64()), (Some(1885), Some(0)), "{check}");
    }
}

#[test]
fn every_extra_line_agrees() {
    let Some(release) = release() else { return };
    let extra = release.join("oracle_extra");
    let done = check(&[("--tasks", &extra.join("tasks")), ("--oracle", &extra)]);
    let report = done.json();
    assert_eq!(done.code, 0, "{}", report["first_difference"]);
    assert_eq!((report["tasks"].as_u64(), report["lines"].as_u64()), (Some(3), Some(358)));
    assert_eq!(report["payloads"], Value::Null);
}

/// The lines of one task with one edit, and what the report says of it.
fn edited(release: &Path, edit: impl Fn(&str) -> String) -> (Done, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = fs::read_to_string(release.join("oracle/PH-H04.jsonl")).expect("lines");
    fs::write(folder.path().join("PH-H04.jsonl"), edit(&lines)).expect("written");
    (check(&[("--tasks", &release.join("tasks")), ("--oracle", folder.path())]), folder)
}

/// Replaces a key's value on the first line where it is `from`.
fn swap(lines: &str, key: &str, from: &str, to: &str) -> String {
    let (from, to) = (format!("\"{key}\":{from}"), format!("\"{key}\":{to}"));
    assert!(lines.contains(&from), "{from} stands in the lines");
    lines.replacen(&from, &to, 1)
}

#[test]
fn differences_are_found_line_by_line() {
    let Some(release) = release() else { return };
    for (key, from, to, kind) in [
        ("legal", "true", "false", "legality"),
        ("replay_valid", "true", "false", "replay validity"),
        ("c_state", "[1,1,0,0,0]", "[1,0,1,0,0]", "state vector"),
        ("c_agent", "[1,1,0,0,0]", "[1,0,0,0,0]", "agent vector"),
        ("historical", "0.4", "0.6", "score of historical"),
        ("terminal", "0.0", "1.0", "score of terminal"),
        ("eligible_vs_honest", "true", "false", "eligibility"),
        ("rollback_ok", "false", "true", "rollback validity"),
        ("noop_events", "0", "1", "without effect"),
        ("actors", "\"a", "\"u", "actors"),
    ] {
        let (done, _folder) = edited(&release, |lines| swap(lines, key, from, to));
        let report = done.json();
        assert_eq!((done.code, report["differ"].as_u64()), (1, Some(1)), "{key}: {report:#}");
        let first = &report["first_difference"];
        assert!(first["check"].as_str().is_some_and(|check| check.contains(kind)), "{key}: {first}");
        assert_eq!(first["task"], "PH-H04");
        assert!(first["place"].as_str().is_some_and(|place| place.contains("PH-H04.jsonl:")), "{key}: {first}");
    }
}

#[test]
fn a_task_that_is_not_there_differs() {
    let Some(release) = release() else { return };
    let (done, _folder) = edited(&release, |lines| swap(lines, "task", "\"PH-H04\"", "\"PH-X99\""));
    let report = done.json();
    assert_eq!((done.code, report["differ"].as_u64()), (1, Some(1)));
    assert_eq!(report["first_difference"]["task"], "PH-X99");
}

#[test]
fn unreadable_lines_say_where() {
    let Some(release) = release() else { return };
    for (name, edit, place) in [
        ("cut", (|lines: &str| lines[..lines.len() - 20].to_owned()) as fn(&str) -> String, "line "),
        ("no JSON", |lines| lines.replacen("\n{", "\n{]", 1), "line 2, column 2"),
        ("no actions", |lines| lines.replacen("\"actions\"", "\"steps\"", 1), "line 1, column 1"),
        ("a score of 2", |lines| lines.replacen("\"csps\":0.4", "\"csps\":2", 1), ", at /scores/csps"),
        ("a key twice", |lines| lines.replacen("{\"task\"", "{\"legal\":1,\"task\"", 1), ", at /legal"),
    ] {
        let (done, _folder) = edited(&release, edit);
        assert_eq!(done.code, 3, "{name}: {}{}", done.out, done.err);
        assert!(done.err.contains("PH-H04.jsonl: ") && done.err.contains(place), "{name}: {}", done.err);
        assert!(done.err.contains("\nhint: "), "{name}: {}", done.err);
    }
}

#[test]
fn folders_that_hold_nothing_are_refused() {
    let Some(release) = release() else { return };
    let empty = tempfile::tempdir().expect("a folder");
    let tasks = release.join("tasks");
    let nowhere = empty.path().join("nowhere");
    for arguments in [
        [("--tasks", empty.path()), ("--oracle", empty.path())],
        [("--tasks", &tasks), ("--oracle", empty.path())],
        [("--tasks", &tasks), ("--payloads", empty.path())],
        [("--tasks", &tasks), ("--oracle", &nowhere)],
        [("--tasks", &tasks), ("--optimum", &nowhere)],
    ] {
        let done = check(&arguments);
        assert_eq!(done.code, 3, "{arguments:?}: {}", done.err);
        assert!(done.err.contains("hint: "), "{}", done.err);
    }
    let own = workspace().join("tasks/pb-cste-1");
    let done = check(&[("--tasks", &own)]);
    assert_eq!(done.code, 3, "{}", done.err);
}

#[test]
fn wrong_optima_and_payloads_are_found() {
    let Some(release) = release() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut optimum: Value =
        serde_json::from_slice(&fs::read(release.join("optimum.json")).expect("optima")).expect("JSON");
    let tasks = optimum.as_object_mut().expect("tasks");
    tasks.retain(|id, _| id == "PH-D03");
    tasks["PH-D03"]["cape_max"]["steps"] = 1.into();
    let path = folder.path().join("optimum.json");
    fs::write(&path, optimum.to_string()).expect("written");
    let done = check(&[("--tasks", &release.join("tasks")), ("--optimum", &path)]);
    let report = done.json();
    assert_eq!((done.code, report["optima"]["differ"].as_u64()), (1, Some(1)), "{report:#}");

    let payload = fs::read_to_string(release.join("public_payloads/PH-D03.json")).expect("a payload");
    let payloads = folder.path().join("payloads");
    fs::create_dir(&payloads).expect("a folder");
    fs::write(payloads.join("PH-D03.json"), payload.replace("\"task_id\":\"PH-D03\"", "\"task_id\":\"PH-H17\""))
        .expect("written");
    let done = check(&[("--tasks", &release.join("tasks")), ("--payloads", &payloads)]);
    assert_eq!((done.code, done.json()["payloads"]["differ"].as_u64()), (1, Some(1)), "{}", done.out);
}

/// A task with everything that the release lets pass: no `deleted`, no `goal_version`, a declared field that is not set,
/// a field outside the schema, an entity outside the catalogue, a type outside the schema.
fn lenient_task() -> Value {
    let equals = |field: &str, value: Value| json!({"kind": "field_equals", "entity_type": "box", "entity_id": "k1", "field": field, "value": value});
    json!({
        "id": "LT-1",
        "split": "development",
        "family": "lenient",
        "instruction": "",
        "initial_state": {"entities": {
            "box": {"k1": {"s": "a", "extra": null}, "k9": {"s": "a", "n": 1}},
            "ghost": {"k2": {"z": 1}},
        }},
        "entity_schema": {"box": {"s": "string", "n": "number"}},
        "public_ids": {"k1": "one", "k2": "two"},
        "active_goal_version": 1,
        "rollback_eligible": false,
        "goal_versions": {"1": [
            {"id": "p1", "condition": equals("n", json!(1))},
            {"id": "p2", "condition": equals("extra", Value::Null)},
            {"id": "p3", "condition": {"kind": "exists", "entity_type": "box", "entity_id": "k2"}},
        ]},
        "interventions": [],
        "transition_rules": {"field_transitions": [{"entity_type": "box", "field": "n", "pairs": [[null, 1], [1, 2.0]]}]},
        "honest_actions": [{"op": "update", "entity_type": "box", "entity_id": "k1", "patch": {"n": 1}}],
    })
}

/// An oracle line: its vectors, the peaks of both historical rules, and the final state's boxes.
fn lenient_line(
    actions: Value,
    c_state: [u8; 3],
    c_agent: [u8; 3],
    peaks: [f64; 2],
    eligible: bool,
    boxes: Value,
) -> Value {
    let mean = |vector: [u8; 3]| f64::from(vector.iter().sum::<u8>()) / 3.0;
    let events = actions.as_array().map_or(0, Vec::len);
    json!({
        "task": "LT-1", "actions": actions, "legal": true, "replay_valid": true,
        "c_state": c_state, "c_agent": c_agent, "goal_version": 1,
        "scores": {
            "historical": peaks[0], "predicate-max": peaks[0], "cape-max": peaks[1],
            "csps": mean(c_state), "lightweight-cape": mean(c_agent), "terminal": 0.0,
        },
        "eligible_vs_honest": eligible, "rollback_ok": null,
        "events": events, "noop_events": 0, "actors": "a".repeat(events),
        "state": {"entities": {"box": boxes, "ghost": {"k2": {"z": 1}}}, "deleted": {"box": {}}, "goal_version": 1},
    })
}

fn lenient_illegal(actions: Value) -> Value {
    json!({
        "task": "LT-1", "actions": actions, "legal": false, "replay_valid": false, "c_state": [], "c_agent": [],
        "goal_version": 1,
        "scores": {
            "historical": null, "predicate-max": null, "cape-max": null, "csps": null, "lightweight-cape": null,
            "terminal": null,
        },
        "eligible_vs_honest": false, "rollback_ok": null,
        "events": null, "noop_events": null, "actors": null, "state": null,
    })
}

/// What no released task reaches, worked out by hand; needs none of the release's files.
#[test]
fn leniencies_are_shared() {
    let update = |n: Value| json!({"op": "update", "entity_type": "box", "entity_id": "k1", "patch": {"n": n}});
    let k9 = || json!({"n": 1, "s": "a"});
    let boxes = |n: Value| json!({"k1": {"s": "a", "n": n, "extra": null}, "k9": k9()});
    let third = 1.0 / 3.0;
    let peaks = [2.0 * third, third];
    let create = |n: Value| json!({"op": "create", "entity_type": "box", "entity_id": "k2", "attrs": {"s": "x", "n": n}, "patch": {}});
    let created = json!({"k1": {"s": "a", "extra": null}, "k2": {"s": "x", "n": 0.1}, "k9": k9()});
    let lines = [
        lenient_line(json!([update(json!(1))]), [1, 1, 0], [1, 0, 0], peaks, true, boxes(json!(1))),
        lenient_line(
            json!([update(json!(1)), update(json!(2.0))]),
            [0, 1, 0],
            [0, 0, 0],
            peaks,
            false,
            boxes(json!(2.0)),
        ),
        lenient_line(json!([create(json!(0.1))]), [0, 1, 1], [0, 0, 1], peaks, false, created),
        // 1.0 is not 1, and null leads to 1 alone.
        lenient_illegal(json!([update(json!(1.0))])),
        // A number is no boolean, and a creation needs every field.
        lenient_illegal(json!([create(json!(true))])),
        lenient_illegal(json!([{"op": "create", "entity_type": "box", "entity_id": "k2", "attrs": {"s": "x"}}])),
        // Outside the catalogue, outside the schema.
        lenient_illegal(json!([{"op": "delete", "entity_type": "box", "entity_id": "k9"}])),
        lenient_illegal(json!([{"op": "delete", "entity_type": "ghost", "entity_id": "k2"}])),
        lenient_illegal(json!([{"op": "create", "entity_type": "ghost", "entity_id": "k1"}])),
        lenient_illegal(json!([{"op": "update", "entity_type": "box", "entity_id": "k1", "patch": {"extra": 1}}])),
        lenient_illegal(json!([update(json!(1)), {"op": "restore", "entity_type": "box", "entity_id": "k1"}])),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let (tasks, oracle) = (folder.path().join("tasks"), folder.path().join("oracle"));
    fs::create_dir(&tasks).expect("a folder");
    fs::create_dir(&oracle).expect("a folder");
    fs::write(tasks.join("LT-1.json"), lenient_task().to_string()).expect("written");
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(oracle.join("LT-1.jsonl"), text.join("\n")).expect("written");
    let done = check(&[("--tasks", &tasks), ("--oracle", &oracle)]);
    let report = done.json();
    assert_eq!(report["lines"], lines.len());
    assert_eq!(done.code, 0, "{:#}", report["first_difference"]);
    // A spelling that no writer of the release uses is the same number.
    fs::write(oracle.join("LT-1.jsonl"), text.join("\n").replace("2.0}", "2.00}").replace("0.1", "1e-1"))
        .expect("written");
    let done = check(&[("--tasks", &tasks), ("--oracle", &oracle)]);
    assert_eq!(done.code, 0, "{:#}", done.json()["first_difference"]);
}
