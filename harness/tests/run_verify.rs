//! Verification names the first record at fault, whatever was tampered with.

mod run_support;

use std::fs;
use std::path::Path;

use parthack::ledger::{Ledger, Record, RecordedScore};
use parthack::run::folder::RunFolder;
use parthack::run::read_manifest;
use parthack::run::suite::Suite;
use parthack::run::verify::{Verification, VerifyJob, verify_run};
use run_support::{InProcess, Setup, write_suite};

fn verify(suite: &Path, folder: &Path) -> Verification {
    verify_run(VerifyJob {
        folder: folder.to_path_buf(),
        suite: Suite::load(suite).expect("a suite"),
        certifier: Box::new(InProcess::default()),
        evaluator_program: env!("CARGO_BIN_EXE_parthack").into(),
        threads: 2,
    })
    .expect("verification itself works")
}

/// What is said of a run after `tamper` changed one of its files.
fn after(tamper: impl FnOnce(&RunFolder)) -> String {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (suite, out) = (scratch.path().join("suite"), scratch.path().join("out"));
    write_suite(&suite, &["PH-D01"]);
    Setup::new(&suite, &out).run().expect("a run");
    tamper(&RunFolder::at(&out));
    let fault = verify(&suite, &out).fault.expect("a fault");
    format!("{}: {}", fault.what, fault.detail)
}

fn edit_lines(path: &Path, edit: impl FnOnce(&mut Vec<String>)) {
    let text = fs::read_to_string(path).expect("a ledger");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    edit(&mut lines);
    fs::write(path, lines.join("\n") + "\n").expect("written");
}

fn first_file(folder: &Path) -> std::path::PathBuf {
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.remove(0)
}

/// Rewrites the ledger with an edited record, its chain and `complete.json` made to fit.
fn forge(folder: &RunFolder, edit: impl Fn(&mut Record) -> bool) -> String {
    let manifest = read_manifest(folder).expect("a manifest");
    let ledger = Ledger::read(&fs::read(folder.ledger()).expect("a ledger"), &manifest.hash()).expect("whole");
    let mut records: Vec<Record> = ledger.records().cloned().collect();
    let edited = records.iter_mut().find_map(|record| edit(record).then(|| record.name().to_string()));
    let forged = Ledger::build(manifest.hash(), records, ledger.private);
    fs::write(folder.ledger(), forged.bytes()).expect("written");
    edited.expect("a record to edit")
}

#[test]
fn a_run_verifies() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (suite, out) = (scratch.path().join("suite"), scratch.path().join("out"));
    write_suite(&suite, &["PH-D01", "PH-D05"]);
    Setup::new(&suite, &out).run().expect("a run");
    let verification = verify(&suite, &out);
    assert_eq!(verification.fault, None);
    assert_eq!(verification.passed.len(), 8, "{:?}", verification.passed);
}

#[test]
fn lines_of_the_ledger() {
    let said = after(|folder| edit_lines(&folder.ledger(), |lines| drop(lines.pop())));
    assert!(said.contains("the tail is missing"), "{said}");
    let said = after(|folder| edit_lines(&folder.ledger(), |lines| lines.insert(8, lines[7].clone())));
    assert!(said.contains("line 9") && said.contains("the same cell as line 8"), "{said}");
    let said = after(|folder| edit_lines(&folder.ledger(), |lines| drop(lines.remove(7))));
    assert!(said.contains("line 8") && said.contains("missing"), "{said}");
    let said = after(|folder| {
        let mut bytes = fs::read(folder.ledger()).expect("a ledger");
        let at = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 200;
        bytes[at] ^= 1;
        fs::write(folder.ledger(), bytes).expect("written");
    });
    assert!(said.contains("line 2"), "{said}");
}

#[test]
fn objects_and_private_files() {
    let said = after(|folder| {
        let path = first_file(&folder.path("objects/payloads"));
        let mut bytes = fs::read(&path).expect("a payload");
        bytes[100] ^= 1;
        fs::write(path, bytes).expect("written");
    });
    assert!(said.contains("objects/payloads") && said.contains("PH-D01"), "{said}");
    let said = after(|folder| fs::remove_file(first_file(&folder.path("objects/trajectories"))).expect("removed"));
    assert!(said.contains("objects/trajectories"), "{said}");
    let said = after(|folder| edit_lines(&folder.certifications(), |lines| drop(lines.pop())));
    assert!(said.starts_with("private/certifications.jsonl"), "{said}");
    let said = after(|folder| edit_lines(&folder.path("tables/tables.csv"), |lines| lines[3].push('9')));
    assert!(said.starts_with("tables/tables.csv"), "{said}");
    let said = after(|folder| fs::remove_file(folder.path("complete.json")).expect("removed"));
    assert!(said.starts_with("complete.json"), "{said}");
}

#[test]
fn a_ledger_that_chains_but_is_not_what_happened() {
    for edit in [
        (|record: &mut Record| match record {
            Record::Score(score) if score.evaluator == "csps" => {
                score.score = RecordedScore::Exact("3/4".to_owned());
                true
            }
            _ => false,
        }) as fn(&mut Record) -> bool,
        |record| match record {
            Record::Attempt(attempt) if attempt.target == "csps" => {
                attempt.eligible = !attempt.eligible;
                true
            }
            _ => false,
        },
        |record| match record {
            Record::Honest(honest) => {
                honest.p_state = "1/4".to_owned();
                true
            }
            _ => false,
        },
        |record| match record {
            Record::Audit(audit) if audit.name == "mutation-controls" => {
                audit.checked += 1;
                true
            }
            _ => false,
        },
    ] {
        let edited = std::cell::RefCell::new(String::new());
        let said = after(|folder| *edited.borrow_mut() = forge(folder, edit));
        assert!(said.starts_with(&*edited.borrow()) && said.contains("expected"), "{said}");
    }
}
