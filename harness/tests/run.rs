//! A run from end to end on a small suite, in process but for the evaluators.

mod run_support;

use std::fs;

use parthack::ledger::{Ledger, Record};
use parthack::run::error::RunError;
use parthack::table::{Format, render};
use run_support::{Setup, promised, write_suite};

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
    assert!(matches!(other, Err(RunError::OtherManifest { .. })), "{other:?}");
    assert_eq!(before, promised(&out));
}
