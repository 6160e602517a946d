//! Input that is wrong in one place: each ends in an error with file, place, found, expected and hint, in exit code 3,
//! and leaves nothing behind.

mod cli_support;

use std::fs;
use std::path::Path;

use cli_support::{command, finish, listing, revised, task_file, task_json};
use serde_json::{Value, json};

/// What stands in the error, beside the file's name.
struct Expect {
    place: &'static str,
    found: &'static str,
    expected: &'static str,
}

const fn expect(place: &'static str, found: &'static str, expected: &'static str) -> Expect {
    Expect { place, found, expected }
}

/// Calls the program on one file, in an empty folder, and checks the error.
fn check(name: &str, arguments: &[&str], file: &Path, expect: &Expect) {
    let here = tempfile::tempdir().expect("a folder");
    let above = file.parent().expect("a folder");
    let before = listing(above);
    let mut call = command();
    call.args(arguments).arg(file).current_dir(here.path());
    let done = finish(call);
    assert_eq!(done.code, 3, "{name}: {}{}", done.out, done.err);
    assert_eq!(done.out, "", "{name}: data in spite of an error");
    let (message, hint) = done.err.split_once("\nhint: ").unwrap_or_else(|| panic!("{name}: no hint: {}", done.err));
    assert!(message.starts_with("error: "), "{name}: {message}");
    assert!(!hint.trim().is_empty(), "{name}: an empty hint");
    let head = format!("error: {}: {}", file.display(), expect.place);
    assert!(message.starts_with(&head), "{name}: {message}\n  lacks {head}");
    let parts = message.split_once(": found ").and_then(|(_, rest)| rest.split_once(", expected "));
    let (found, expected) = parts.unwrap_or_else(|| panic!("{name}: {message}"));
    assert!(found.contains(expect.found), "{name}: {message}\n  lacks {:?}", expect.found);
    assert!(expected.contains(expect.expected), "{name}: {message}\n  lacks {:?}", expect.expected);
    assert!(listing(here.path()).is_empty(), "{name}: something was left behind");
    assert_eq!(listing(above), before, "{name}: something was left beside the file");
}

fn check_bytes(name: &str, arguments: &[&str], bytes: &[u8], expect: Expect) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("input.json");
    fs::write(&file, bytes).expect("written");
    check(name, arguments, &file, &expect);
}

fn check_task(name: &str, edit: impl FnOnce(&mut Value), expect: Expect) {
    let mut task = task_json("PH-D01");
    edit(&mut task);
    check_bytes(name, &["task", "show"], revised(task).as_bytes(), expect);
}

fn check_candidate(name: &str, candidate: &Value, expect: Expect) {
    check_bytes(name, &["replay"], candidate.to_string().as_bytes(), expect);
}

fn task_text() -> String {
    fs::read_to_string(task_file("PH-D01")).expect("a task")
}

#[test]
fn texts_that_are_no_documents() {
    let show = ["task", "show"];
    check_bytes("empty", &show, b"", expect("line 1, column 1", "the end of the file", "a JSON value"));
    check_bytes(
        "not JSON",
        &show,
        b"{\"format\": tsk}",
        expect("line 1, column 12, at /format", "'t'", "a JSON value"),
    );
    check_bytes("not UTF-8", &show, b"{\"a\": \"\xff\"}", expect("byte 7", "0xff", "UTF-8"));
    check_bytes("another document", &show, b"[1, 2]", expect("the top level", "an array of 2", "an object"));
    check_bytes("cut", &show, &task_text().as_bytes()[..2_000], expect("line ", "the end of the file", ""));
    let deep = [vec![b'['; 100], vec![b']'; 100]].concat();
    check_bytes("deep", &show, &deep, expect("line 1, column 66, at /0", "more than 64 levels", "shallower nesting"));
    let twice = task_text().replacen("{", "{\"id\": \"PH-D01\",", 1);
    check_bytes(
        "duplicate key",
        &show,
        twice.as_bytes(),
        expect("line 3, column 3, at /id", "\"id\" a second time", "once"),
    );
    let mut large = task_text().into_bytes();
    large.resize(2 << 20, b' ');
    check_bytes("2 MiB", &show, &large, expect("the file", "more than 1048576 bytes", "at most 1048576 bytes"));
    check_bytes("2 MiB of candidate", &["replay"], &large, expect("the file", "more than 1048576 bytes", "at most"));
}

#[test]
fn files_that_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing.json");
    check("missing", &["task", "show"], &missing, &expect("the file", "No such file", "a readable file"));
    let directory = folder.path().join("folder.json");
    fs::create_dir(&directory).expect("a folder");
    check("folder", &["replay"], &directory, &expect("the file", "a folder, a pipe or a device", "a regular file"));
    #[cfg(unix)]
    {
        let pipe = folder.path().join("pipe.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        for call in [["replay"].as_slice(), &["task", "show"]] {
            check("pipe", call, &pipe, &expect("the file", "a folder, a pipe or a device", "a regular file"));
        }
    }
}

#[test]
fn tasks() {
    let set = |pointer: &'static str, value: Value| {
        move |task: &mut Value| *task.pointer_mut(pointer).expect(pointer) = value
    };
    check_task(
        "wrong version",
        set("/format", json!("parthack.task/2")),
        expect("/format", "\"parthack.task/2\"", "\"parthack.task/1\""),
    );
    check_task("unknown field", |task| task["surprise"] = json!(1), expect("/surprise", "an unknown key", "one of: "));
    check_task("missing field", |task| drop(task.as_object_mut().map(|task| task.remove("rules"))), {
        expect("the top level", "no key \"rules\"", "the key \"rules\"")
    });
    check_task(
        "10,000 steps",
        set("/honest", Value::Array(vec![json!({"op": "wait"}); 10_000])),
        expect("/honest", "10000 steps", "at most 512 steps"),
    );
    check_task("climbing task id", set("/id", json!("../x")), expect("/id", "\"../x\"", "an identifier"));
    check_task(
        "climbing entity id",
        set("/initial_state/0/id", json!("../x")),
        expect("/initial_state/0/id", "\"../x\"", "an identifier"),
    );
    check_task("control character in an id", set("/initial_state/0/id", json!("a\u{7}")), {
        expect("/initial_state/0/id", "a\\u{7}", "an identifier")
    });
    check_task("control character in a text", set("/title", json!("bell\u{7}")), {
        expect("/title", "control character", "without control characters")
    });
    check_task(
        "unknown entity",
        set("/goal_versions/0/predicates/0/predicate/id", json!("loan-999")),
        expect("/goal_versions/0/predicates/0/predicate/id", "\"loan-999\"", "the id of a loan"),
    );
    check_task(
        "unknown field of a predicate",
        set("/goal_versions/0/predicates/0/predicate/field", json!("lendr")),
        expect("/goal_versions/0/predicates/0/predicate/field", "\"lendr\"", "one of: "),
    );
    let edited = task_text().replacen("Interlibrary loan", "Another loan", 1);
    check_bytes("edited after its revision", &["task", "show"], edited.as_bytes(), {
        expect("/environment_revision", "the string ", "the hash of the environment")
    });
}

#[test]
fn ids_that_look_alike() {
    check_task(
        "confusable entities",
        |task| {
            let mut twin = task["initial_state"][0].clone();
            twin["id"] = twin["id"].as_str().expect("an id").to_uppercase().into();
            task["initial_state"].as_array_mut().expect("entities").push(twin);
        },
        expect("/initial_state/", "looks like", "ids that differ"),
    );
    check_task(
        "one id twice",
        |task| {
            let twin = task["initial_state"][0].clone();
            task["initial_state"].as_array_mut().expect("entities").push(twin);
        },
        expect("/initial_state/", "a second time", "once"),
    );
    check_task(
        "two script entries of one id",
        |task| {
            let entry = task["script"][0].clone();
            task["script"].as_array_mut().expect("a script").push(entry);
        },
        expect("/script/", "twice", "ids that differ"),
    );
}

#[test]
fn candidates() {
    let of = |steps: Value| json!({"format": "parthack.candidate/1", "task_id": "PH-D01", "steps": steps});
    check_candidate("10,000 steps", &of(Value::Array(vec![json!({"op": "wait"}); 10_000])), {
        expect("/steps", "10000 steps", "at most 512 steps")
    });
    check_candidate("a named actor", &of(json!([{"op": "wait", "actor": "user"}])), {
        expect("/steps/0/actor", "a named actor", "no key \"actor\"")
    });
    check_candidate("a climbing id", &of(json!([{"op": "read", "type": "loan", "id": "../x"}])), {
        expect("/steps/0/id", "\"../x\"", "an identifier")
    });
    check_candidate(
        "an unknown operation",
        &of(json!([{"op": "drop"}])),
        expect("/steps/0/op", "\"drop\"", "one of: "),
    );
    let mut climbing = of(json!([]));
    climbing["task_id"] = json!("../../etc/passwd");
    check_candidate("a climbing task", &climbing, expect("/task_id", "passwd", "an identifier"));
    let mut newer = of(json!([]));
    newer["format"] = json!("parthack.candidate/2");
    check_candidate("wrong version", &newer, expect("/format", "candidate/2", "candidate/1"));
}

/// Calls `task lint --all --public` on a suite with one change.
fn check_suite(name: &str, edit: impl FnOnce(&Path), file: &str, expect: Expect) {
    let folder = tempfile::tempdir().expect("a folder");
    let source = task_file("PH-D01");
    for id in ["PH-D01", "PH-D02"] {
        fs::copy(task_file(id), folder.path().join(format!("{id}.json"))).expect("a task");
    }
    let text = fs::read_to_string(source.with_file_name("suite.json")).expect("a suite");
    let mut suite: Value = serde_json::from_str(&text).expect("JSON");
    suite["tasks"].as_array_mut().expect("tasks").truncate(2);
    fs::write(folder.path().join("suite.json"), suite.to_string()).expect("written");
    edit(folder.path());
    let before = listing(folder.path());
    let mut call = command();
    call.args(["task", "lint", "--all", "--public", "--suite"]).arg(folder.path());
    let done = finish(call);
    assert_eq!(done.code, 3, "{name}: {}{}", done.out, done.err);
    let head = format!("error: {}: {}: found ", folder.path().join(file).display(), expect.place);
    assert!(done.err.starts_with(&head), "{name}: {}\n  lacks {head}", done.err);
    assert!(done.err.contains(expect.found) && done.err.contains(expect.expected), "{name}: {}", done.err);
    assert!(done.err.contains("\nhint: "), "{name}: {}", done.err);
    assert_eq!(listing(folder.path()), before, "{name}: something was left behind");
}

#[test]
fn suites() {
    let edit_suite = |pointer: &'static str, value: Value| {
        move |folder: &Path| {
            let path = folder.join("suite.json");
            let mut suite: Value = serde_json::from_slice(&fs::read(&path).expect("a suite")).expect("JSON");
            *suite.pointer_mut(pointer).expect(pointer) = value;
            fs::write(path, suite.to_string()).expect("written");
        }
    };
    check_suite(
        "hash mismatch",
        edit_suite("/tasks/1/hash", json!("00".repeat(32))),
        "suite.json",
        expect("/tasks/1/hash", "0000", "the hash of "),
    );
    check_suite(
        "edited task",
        |folder| {
            let mut task = task_json("PH-D01");
            task["title"] = "Another title".into();
            fs::write(folder.join("PH-D01.json"), revised(task)).expect("written");
        },
        "suite.json",
        expect("/tasks/0/hash", "found", "the hash of "),
    );
    check_suite("wrong version", edit_suite("/format", json!("parthack.suite/9")), "suite.json", {
        expect("/format", "suite/9", "suite/1")
    });
    check_suite("climbing id", edit_suite("/tasks/0/id", json!("../PH-D01")), "suite.json", {
        expect("/tasks/0/id", "../PH-D01", "an identifier")
    });
    check_suite("confusable ids", edit_suite("/tasks/1/id", json!("PH-Do1")), "suite.json", {
        expect("/tasks/1/id", "PH-Do1", "an id that differs")
    });
    let missing = |folder: &Path| fs::remove_file(folder.join("PH-D02.json")).expect("removed");
    check_suite("missing task", missing, "PH-D02.json", expect("the file", "No such file", "a readable file"));
}
