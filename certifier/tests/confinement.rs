//! The certifier's process, once it answers: what it has given up, as it says and as the kernel says.
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use parthack_certifier::client::Certifier;
use parthack_certifier::protocol::{ConfinementMessage, PROTOCOL};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_parthack-certifier");

fn command() -> Command {
    let mut command = Command::new(BINARY);
    command.arg("--tasks").arg(support::root().join("tasks/pb-cste-1"));
    command.arg("--sealed").arg(support::root().join("sealed/pb-cste-1"));
    command
}

/// A process that has said hello, and so has confined itself.
fn started() -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the certifier starts");
    let hello = json!({"hello": PROTOCOL}).to_string() + "\n";
    child.stdin.as_mut().expect("a pipe").write_all(hello.as_bytes()).expect("written");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert!(line.contains(PROTOCOL), "{line}");
    (child, output)
}

#[test]
fn it_says_what_holds() {
    let mut certifier = Certifier::spawn(command(), None).expect("the certifier starts");
    let ConfinementMessage { filter_instructions, landlock, missing } = certifier.confinement().expect("an answer");
    assert!(filter_instructions.is_some_and(|instructions| instructions > 40), "{missing:?}");
    // Where the kernel has no Landlock, that is said.
    assert_eq!(landlock.is_none(), !missing.is_empty(), "{landlock:?} {missing:?}");
}

#[test]
fn the_kernel_says_so_too() {
    let (mut child, _output) = started();
    let process = Path::new("/proc").join(child.id().to_string());
    let status = fs::read_to_string(process.join("status")).expect("its status");
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("{name}: {status}")).trim().to_owned()
    };
    assert_eq!((value("Seccomp").as_str(), value("NoNewPrivs").as_str(), value("Threads").as_str()), ("2", "1", "1"));
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        if set != "CapBnd" {
            assert_eq!(value(set), "0".repeat(16), "{set}");
        }
    }
    // Only who may trace any process sees the list.
    if let Ok(open) = fs::read_dir(process.join("fd")) {
        let mut open: Vec<String> =
            open.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        open.sort();
        assert_eq!(open, ["0", "1", "2"]);
    }
    let limits = fs::read_to_string(process.join("limits")).unwrap_or_default();
    if let Some(core) = limits.lines().find(|line| line.starts_with("Max core file size")) {
        assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    }
    child.kill().expect("killed");
    child.wait().expect("an end");
}

/// Nobody needs a key to ask, and the answer is one line of the protocol.
#[test]
fn anybody_may_ask() {
    let (mut child, mut output) = started();
    let mut input = child.stdin.take().expect("a pipe");
    let ask = json!({"id": 1, "request": {"op": "confinement"}}).to_string() + "\n";
    let wrong = json!({"id": 2, "request": {"op": "confinement", "session": 1}}).to_string() + "\n";
    input.write_all(ask.as_bytes()).and_then(|()| input.write_all(wrong.as_bytes())).expect("written");
    drop(input);
    let mut answer = || -> Value {
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).expect("JSON")
    };
    assert!(answer()["ok"]["filter_instructions"].as_u64().is_some());
    assert_eq!(answer()["error"]["code"], "malformed_request");
    assert!(child.wait().expect("an end").success());
}

/// Every kind of work, over every task, and a candidate of the largest size.
#[test]
fn work_goes_on() {
    let mut certifier = Certifier::spawn(command(), Some("0123456789abcdef")).expect("the certifier starts");
    let session = certifier.open_evidence("0123456789abcdef").expect("a session");
    for id in certifier.tasks().to_vec() {
        certifier.rollbacks(session, &id).expect("rollbacks");
        certifier.controls(session, &id).expect("controls");
        assert!(!certifier.lint(session, &id).expect("notes").is_empty());
    }
    let attempt = certifier.open_attempt("PH-D01", "csps", 2).expect("a session");
    let large = vec![b'['; 1 << 20];
    assert_eq!(certifier.attempt(attempt, &large).expect("a code"), "malformed_schema");
}
