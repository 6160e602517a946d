//! A run from end to end on a small suite, in process but for the evaluators.

mod run_support;

use std::fs;

use parthack::ledger::{Ledger, Record};
use parthack::run::attackers::Attacker;
use parthack::run::error::RunError;
use parthack::table::{Format, render};
use run_support::{Setup, promised, write_script, write_suite};

const TASKS: [&str; 3] = ["PH-D01", "PH-D03", "PH-D05"];

#[test]
fn threads_leave_no_trace() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let suite = scratch.path().join("suite");
    write_suite(&suite, &TASKS);
    let (one, two) = (scratch.path().join("one"), scratch.path().join("two"));
    let first = Setup { threads: 1, ..Setup::new(&suite, &one) }.run().expect("a run");
    let second = Setup::new(&suite, &two).run().expect("a run");
    assert_eq!(first.exit_code(), 0);
    assert_eq!(promised(&one), promised(&two));
    assert_eq!(first.tables, second.tables);
    println!("{}", render(&first.tables, Format::Text));
    let bytes = fs::read(one.join("ledger.jsonl")).expect("a ledger");
    let ledger = Ledger::read(&bytes, &first.manifest.hash()).expect("a whole ledger");
    let scores = ledger.records().filter(|record| matches!(record, Record::Score(_))).count();
    assert!(scores >= 6 * 3 * 2, "{scores} scores");
}

#[test]
fn a_finished_run_is_reported_and_not_written_again() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (suite, out) = (scratch.path().join("suite"), scratch.path().join("out"));
    write_suite(&suite, &TASKS[..1]);
    let first = Setup::new(&suite, &out).run().expect("a run");
    let before = promised(&out);
    let again = Setup::new(&suite, &out).run().expect("a finished run");
    assert!(!first.was_finished && again.was_finished);
    assert_eq!(first.tables, again.tables);
    assert_eq!(before, promised(&out));
    let other = Setup { seed: 1, ..Setup::new(&suite, &out) }.run();
    let other = other.expect_err("another manifest");
    assert!(matches!(other, RunError::OtherManifest { .. }), "{other:?}");
    let said = format!("they differ at /bootstrap/seed: found {}, expected 1\n", first.manifest.bootstrap.seed);
    assert!(other.to_string().contains(&said), "{other}");
    assert_eq!(before, promised(&out));
}

#[test]
fn a_second_process_is_kept_out() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (suite, out) = (scratch.path().join("suite"), scratch.path().join("out"));
    write_suite(&suite, &TASKS[..1]);
    fs::create_dir(&out).expect("a folder");
    let lock = fs::File::create(out.join(".lock")).expect("a lock file");
    lock.lock().expect("locked");
    let busy = Setup::new(&suite, &out).run();
    assert!(matches!(busy, Err(RunError::Busy { .. })), "{busy:?}");
    drop(lock);
    assert_eq!(Setup::new(&suite, &out).run().expect("a run").exit_code(), 0);
}

#[test]
fn an_evaluator_that_dies_once_is_started_again() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (suite, whole, out) = (scratch.path().join("suite"), scratch.path().join("whole"), scratch.path().join("out"));
    write_suite(&suite, &TASKS[..1]);
    Setup::new(&suite, &whole).run().expect("a run");
    let program = env!("CARGO_BIN_EXE_parthack");
    let script = scratch.path().join("evaluator");
    let marker = scratch.path().join("died");
    let dies = format!("/usr/bin/sed -u 2q | {program} \"$@\"");
    let line = format!("if [ -e {0} ]; then exec {program} \"$@\"; fi; : > {0}; {dies}", marker.display());
    write_script(&script, &line);
    Setup { evaluator: script.clone(), threads: 1, ..Setup::new(&suite, &out) }.run().expect("a run");
    assert!(marker.exists() && promised(&out) == promised(&whole));

    let always = scratch.path().join("always");
    write_script(&script, &dies);
    let failed = Setup { evaluator: script, threads: 1, ..Setup::new(&suite, &always) }.run();
    let error = failed.expect_err("it died twice");
    assert!(matches!(error, RunError::Evaluator { .. }) && error.exit_code() == 4, "{error}");
    Setup { resume: true, ..Setup::new(&suite, &always) }.run().expect("it goes on");
    assert_eq!(promised(&always), promised(&whole));
}

#[test]
fn a_suite_that_was_edited_leaves_no_folder() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (suite, out) = (scratch.path().join("suite"), scratch.path().join("out"));
    write_suite(&suite, &TASKS[..1]);
    let text = fs::read_to_string(suite.join("suite.json")).expect("a suite");
    let at = text.find("\"hash\":\"").expect("a hash") + 8;
    let digit = if &text[at..=at] == "0" { "1" } else { "0" };
    fs::write(suite.join("suite.json"), [&text[..at], digit, &text[at + 1..]].concat()).expect("edited");
    match Setup::new(&suite, &out).run() {
        Err(RunError::Input(error)) => {
            assert_eq!(error.place, parthack_env::input::Place::Pointer("/tasks/0/hash".to_owned()), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert!(!out.exists());
}

#[test]
fn candidates_of_others_pass_the_same_gates() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (suite, out, folder) = (scratch.path().join("suite"), scratch.path().join("out"), scratch.path().join("files"));
    write_suite(&suite, &["PH-D01", "PH-D03"]);
    fs::create_dir(&folder).expect("a folder");
    // What exact search finds is a candidate like any other.
    let searched = Setup::new(&suite, &scratch.path().join("searched")).run().expect("a run");
    let witness = searched.ledger.records().find_map(|record| match record {
        Record::Attempt(attempt) if attempt.task == "PH-D01" && attempt.target == "historical-milestone" => {
            attempt.candidate.clone()
        }
        _ => None,
    });
    let witness = scratch.path().join("searched/objects/trajectories").join(format!("{}.json", witness.expect("one")));
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a candidate");
    fs::copy(&witness, folder.join("b.json")).expect("a candidate");
    fs::copy(&witness, folder.join("c.json")).expect("a candidate");
    let envelope = |steps: &str| format!(r#"{{"format":"parthack.candidate/1","task_id":"PH-D01","steps":{steps}}}"#);
    write("a.json", &envelope(r#"[{"op":"teleport"}]"#));
    write("d.json", &envelope(r#"[{"op":"say","to":"user"}]"#));
    let honest = parthack::run::suite::Suite::load(&suite).expect("a suite").tasks[0].task.spec.honest.clone();
    let steps: Vec<String> = honest.iter().map(parthack_env::steps::Step::json).collect();
    write("e.json", &envelope(&format!("[{}]", steps.join(","))));
    write("notes.txt", "not a candidate");

    let attacker = Attacker::from_folder(&folder, &["PH-D01", "PH-D03"]).expect("candidates");
    let report = Setup { attacker, ..Setup::new(&suite, &out) }.run().expect("a run");
    let mut seen = Vec::new();
    for record in report.ledger.records() {
        match record {
            Record::Attempt(attempt) if attempt.target == "historical-milestone" => {
                let code = attempt.fault.as_ref().map(|fault| fault.code.clone());
                seen.push((attempt.attempt, attempt.name.clone(), code, attempt.eligible, attempt.repeats_honest));
            }
            Record::Selection(selection) if selection.task == "PH-D01" => assert_eq!(selection.attempt, Some(2)),
            Record::Selection(selection) => assert_eq!(selection.attempt, None),
            _ => {}
        }
    }
    seen.sort();
    let code = |word: &str| Some(word.to_owned());
    let name = |word: &str| Some(word.to_owned());
    let expected = [
        (1, name("a.json"), code("illegal_action"), false, false),
        (2, name("b.json"), None, true, false),
        (3, name("c.json"), None, true, false),
        (4, name("d.json"), code("malformed_schema"), false, false),
        (5, name("e.json"), None, false, true),
    ];
    assert_eq!(seen, expected);

    write("f.json", r#"{"task_id":"PH-D99"}"#);
    let refused = Attacker::from_folder(&folder, &["PH-D01"]).expect_err("no such task");
    assert!(matches!(&refused, RunError::Input(error) if error.to_string().contains("f.json")), "{refused}");
}
