//! Agreement with the authors' release, and that disagreement is found.
//!
//! The release's files lie beside the source tree. Where they do not, these tests say so and pass, but not in CI.

mod cli_support;

use std::fs;
use std::path::{Path, PathBuf};

use cli_support::{Done, parthack, workspace};
use serde_json::Value;

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
