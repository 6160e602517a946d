//! The certifier process end to end, with the real binary.

mod support;

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use parthack_certifier::client::{Certifier, CertifierError};
use parthack_certifier::protocol::{MAX_LINE_BYTES, PROTOCOL};
use parthack_env::candidate::Candidate;
use parthack_env::steps::Step;
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_parthack-certifier");
const KEY: &str = "0123456789abcdef0123456789abcdef";

fn start(key: Option<&str>) -> Certifier {
    let (tasks, sealed) = folders();
    Certifier::start(Path::new(BINARY), &tasks, &sealed, key).expect("the certifier starts")
}

fn folders() -> (std::path::PathBuf, std::path::PathBuf) {
    (support::root().join("tasks/pb-cste-1"), support::root().join("sealed/pb-cste-1"))
}

/// Every answer to raw lines after a hello, until the end of input.
fn talk(hello: &str, lines: &[&str]) -> Vec<Value> {
    let mut input = hello.as_bytes().to_vec();
    for line in lines {
        input.push(b'\n');
        input.extend_from_slice(line.as_bytes());
    }
    talk_bytes(&input)
}

fn talk_bytes(input: &[u8]) -> Vec<Value> {
    let (tasks, sealed) = folders();
    let mut child = Command::new(BINARY)
        .args([Path::new("--tasks"), &tasks, Path::new("--sealed"), &sealed])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the certifier starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut text = String::new();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(input)));
        stdout.read_to_string(&mut text).expect("text");
    });
    assert!(child.wait().expect("an end").success());
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn hello() -> String {
    json!({"hello": PROTOCOL, "operator_key": KEY}).to_string()
}

fn honest(task: &str) -> Vec<Step> {
    let private = support::development_tasks().into_iter().find(|private| private.task.spec.id == task);
    private.expect("a development task").task.spec.honest.clone()
}

#[test]
fn attempts_are_counted_and_answered_with_a_code_alone() {
    let mut certifier = start(Some(KEY));
    assert!(certifier.tasks().contains(&"PH-D01".to_owned()));
    let session = certifier.open_attempt("PH-D01", "csps", 4).expect("a session");
    let sound = Candidate::new("PH-D01", honest("PH-D01")).bytes();
    let empty = Candidate::new("PH-D01", Vec::new()).bytes();
    for (candidate, code) in [
        (&sound[..], "eligible"),
        (&empty[..], "state_vector_mismatch"),
        (b"\xff not JSON", "malformed_schema"),
        (b"{\"a\":1,\"a\":2}\n", "malformed_schema"),
        (&sound[..], "budget_exhausted"),
        (b"", "budget_exhausted"),
    ] {
        assert_eq!(certifier.attempt(session, candidate).expect("a code"), code);
    }
    let again = certifier.open_attempt("PH-D01", "csps", 4).expect_err("a second budget");
    assert_eq!(again.code(), Some("already_opened"));
    assert!(certifier.open_attempt("PH-D01", "cape-max", 1).is_ok());
    // An attempt session shows no evidence, and an evidence session takes no attempt.
    assert_eq!(certifier.rollbacks(session, "PH-D01").expect_err("evidence").code(), Some("unknown_session"));
    assert_eq!(certifier.open_evidence("another key, long enough").expect_err("a key").code(), Some("wrong_key"));
    let evidence = certifier.open_evidence(KEY).expect("a session");
    assert_eq!(certifier.attempt(evidence, &sound).expect_err("an attempt").code(), Some("unknown_session"));
    let log = certifier.attempts(evidence).expect("the log");
    let codes: Vec<&str> = log.iter().map(|record| record.code.as_str()).collect();
    assert_eq!(codes, ["eligible", "state_vector_mismatch", "malformed_schema", "malformed_schema"]);
    certifier.close(session).expect("closed");
    assert_eq!(certifier.attempt(session, &sound).expect_err("closed").code(), Some("unknown_session"));
}

#[test]
fn evidence() {
    let mut certifier = start(Some(KEY));
    let session = certifier.open_evidence(KEY).expect("a session");
    let steps = honest("PH-D01");
    let certificate = certifier.certify(session, "PH-D01", &steps).expect("a certificate");
    assert_eq!((certificate.p_state.as_str(), certificate.c_agent.to_list()), ("2/4", vec![1, 1, 0, 0]));
    let info = certifier.task_info(session, "PH-D01").expect("what is known");
    assert_eq!((info.m, &info.honest), (4, &certificate));
    let pair =
        certifier.pair(session, "PH-D01", None, &Candidate::new("PH-D01", steps.clone()).bytes()).expect("a pair");
    assert_eq!((pair.code.as_str(), pair.candidate.as_ref()), ("eligible", Some(&certificate)));
    let sets = certifier.rollbacks(session, "PH-D01").expect("rollbacks");
    let least = sets.least.expect("a rollback");
    assert_eq!((least.predicate, sets.complete), (Some(0), true));
    let least: Vec<Step> = read_steps(&least.steps);
    assert_eq!(certifier.check_rollback(session, "PH-D01", &least).expect("a check").code, "rollback");
    assert_eq!(certifier.check_rollback(session, "PH-D01", &steps).expect("a check").code, "rollback_not_an_extension");
    assert!(certifier.controls(session, "PH-D01").expect("controls").iter().all(|control| control.passed()));
    assert!(certifier.lint(session, "PH-D01").expect("notes").iter().any(|note| note.code == "expectation_met"));
    assert!(certifier.canaries(session).expect("canaries").iter().all(|(_, canaries)| canaries.len() >= 8));
    assert_eq!(certifier.certify(session, "PH-X99", &steps).expect_err("no task").code(), Some("unknown_task"));
    let illegal = certifier.certify(session, "PH-D01", &[Step::ReviseGoal { version: 9 }]).expect_err("illegal");
    assert_eq!(illegal.code(), Some("illegal_action"));
}

#[test]
fn scans_tell_places_and_no_secret() {
    let mut certifier = start(Some(KEY));
    let session = certifier.open_evidence(KEY).expect("a session");
    let canary = certifier.canaries(session).expect("canaries")[0].1[0].clone();
    let clean = certifier.scan(session, "nothing of \u{fc}ber interest").expect("a scan");
    assert!(clean.hits.is_empty() && clean.secrets > clean.canaries && clean.canaries >= 8, "{clean:?}");
    let text = format!("{{\"text\":\"before {canary} after\"}}");
    let found = certifier.scan(session, &text).expect("a scan");
    assert_eq!((found.found, found.hits.len()), (1, 1));
    let hit = &found.hits[0];
    assert_eq!(
        (hit.secret.as_str(), hit.encoding.as_str(), hit.at),
        ("canary 0", "plain", text.find(&canary).expect("it"))
    );
    assert!(!format!("{found:?}").contains(&canary));
    let attempts = certifier.open_attempt("PH-D01", "csps", 1).expect("a session");
    assert_eq!(certifier.scan(attempts, &text).expect_err("no evidence").code(), Some("unknown_session"));
}

fn read_steps(steps: &Value) -> Vec<Step> {
    let text = json!({"format": "parthack.candidate/1", "task_id": "PH-D01", "steps": steps}).to_string();
    Candidate::read(text.as_bytes()).expect("steps").steps
}

#[test]
fn batches_come_back_in_order() {
    let mut certifier = start(Some(KEY));
    let session = certifier.open_evidence(KEY).expect("a session");
    let steps = honest("PH-D01");
    let prefixes: Vec<&[Step]> = (0..500).map(|index| &steps[..index % (steps.len() + 1)]).collect();
    let answers = certifier.certify_all(session, prefixes.iter().map(|steps| ("PH-D01", *steps))).expect("answers");
    assert_eq!(answers.len(), prefixes.len());
    for (answer, steps) in answers.iter().zip(&prefixes) {
        let alone = certifier.certify(session, "PH-D01", steps).expect("a certificate");
        assert_eq!(answer.as_ref().expect("a certificate"), &alone);
    }
}

#[test]
fn without_a_key_there_is_no_evidence() {
    for key in [None, Some("short")] {
        let mut certifier = start(key);
        let refused = certifier.open_evidence(key.unwrap_or("")).expect_err("no key");
        assert_eq!(refused.code(), Some("wrong_key"));
    }
}

#[test]
fn hostile_lines_get_typed_answers() {
    let long = "x".repeat(MAX_LINE_BYTES + 1);
    let nested = format!("{{\"id\":1,\"request\":{}{}}}", "[".repeat(100), "]".repeat(100));
    let answers = talk(
        &hello(),
        &[
            "not JSON",
            "",
            "[]",
            "{\"id\":-1,\"request\":{\"op\":\"close\",\"session\":1}}",
            "{\"id\":2}",
            "{\"id\":3,\"request\":{\"op\":\"drop\"}}",
            "{\"id\":4,\"request\":{\"op\":\"close\",\"session\":1,\"extra\":true}}",
            "{\"id\":5,\"id\":5,\"request\":{\"op\":\"close\",\"session\":1}}",
            "{\"id\":6,\"request\":{\"op\":\"open_attempt\",\"task\":\"PH-D01\",\"target\":\"t\",\"budget\":0}}",
            "{\"id\":7,\"request\":{\"op\":\"certify\",\"session\":1,\"task\":\"../PH-D01\",\"steps\":[]}}",
            &long,
            &nested,
            "{\"id\":8,\"request\":{\"op\":\"close\",\"session\":1}}",
        ],
    );
    let codes: Vec<(Value, &str, Value)> = answers[1..]
        .iter()
        .map(|answer| {
            let error = &answer["error"];
            (answer["id"].clone(), error["code"].as_str().expect("a code"), error["line"].clone())
        })
        .collect();
    let malformed = "malformed_request";
    let line = |id: Value, line: u64| (id, malformed, json!(line));
    assert_eq!(
        codes,
        [
            line(Value::Null, 2),
            line(Value::Null, 4),
            line(Value::Null, 5),
            line(json!(2), 6),
            line(json!(3), 7),
            line(json!(4), 8),
            line(Value::Null, 9),
            line(json!(6), 10),
            line(json!(7), 11),
            (Value::Null, "line_too_long", json!(12)),
            line(Value::Null, 13),
            (json!(8), "unknown_session", Value::Null),
        ]
    );
}

#[test]
fn a_hello_of_another_version_is_refused_by_name() {
    let answers = talk("{\"hello\":\"parthack.certifier/2\"}", &["{\"id\":1}"]);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["error"]["code"], "protocol_version");
    let message = answers[0]["error"]["message"].as_str().expect("a message");
    assert!(message.contains("certifier/2") && message.contains(PROTOCOL), "{message}");
    assert_eq!(talk("hello?", &[])[0]["error"]["code"], "protocol_version");
    assert_eq!(talk_bytes(b""), Vec::<Value>::new());
    // The last line needs no line feed, and lines may end with a carriage return.
    assert_eq!(
        talk(&format!("{}\r", hello()), &["{\"id\":8,\"request\":{\"op\":\"close\",\"session\":1}}\r"]).len(),
        2
    );
}

#[cfg(unix)]
#[test]
fn a_dead_or_foreign_program_is_a_typed_error() {
    let spawn = |script: &str| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Certifier::spawn(command, None).expect_err("no certifier")
    };
    assert!(
        matches!(spawn("read line; exit 9"), CertifierError::Died { status: Some(status) } if status.code() == Some(9))
    );
    assert!(
        matches!(spawn("read line; echo '{\"hello\":\"parthack.certifier/9\"}'"), CertifierError::ProtocolVersion { found, .. } if found == "parthack.certifier/9")
    );
    assert!(matches!(spawn("read line; echo nothing"), CertifierError::Garbled(_)));
    let missing = Certifier::start(Path::new("/no/such/program"), Path::new("."), Path::new("."), None);
    assert!(matches!(missing.expect_err("nothing"), CertifierError::Start { .. }));
}

#[test]
fn arguments_and_files_have_exit_codes() {
    let run = |arguments: &[&str]| {
        let child = Command::new(BINARY).args(arguments).stdin(Stdio::null()).output().expect("a run");
        (child.status.code(), String::from_utf8_lossy(&child.stderr).into_owned())
    };
    assert_eq!(run(&[]).0, Some(2));
    assert_eq!(run(&["--tasks", "."]).0, Some(2));
    assert_eq!(run(&["--tasks", ".", "--tasks", "."]).0, Some(2));
    assert_eq!(run(&["--help"]).0, Some(0));
    assert_eq!(run(&["--tasks", ".", "--sealed", "/no/such/folder"]).0, Some(4));
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("A.json"), "{}").expect("a file");
    let sealed = folder.path().to_str().expect("UTF-8");
    assert_eq!(run(&["--tasks", ".", "--sealed", sealed]).0, Some(0));
    std::fs::hard_link(folder.path().join("A.json"), folder.path().join("B.json")).expect("a link");
    let (code, message) = run(&["--tasks", ".", "--sealed", sealed]);
    assert_eq!(code, Some(3));
    assert!(message.contains("2 links"), "{message}");
}

#[test]
fn a_reader_that_goes_away_ends_the_process_quietly() {
    let (tasks, sealed) = folders();
    let mut child = Command::new(BINARY)
        .args([Path::new("--tasks"), &tasks, Path::new("--sealed"), &sealed])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the certifier starts");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    let line = format!("{}\n{{\"id\":1,\"request\":{{\"op\":\"close\",\"session\":1}}}}\n", hello());
    drop(stdin.write_all(line.as_bytes()));
    drop(stdin);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
