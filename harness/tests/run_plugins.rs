//! Evaluators of users' own in a run: beside the rules, confined, killed, resumed, verified.

mod cli_support;

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Instant;

use cli_support::{Done, PARTHACK, certifier, command, finish};
use serde_json::{Value, json};

const EVALUATORS: &str = "historical-milestone,csps";

/// A run over three tasks with evaluators of one's own.
fn run(out: &Path, plugins: &[&str], more: &[&str]) -> Done {
    let mut command = command();
    command.env("PARTHACK_CERTIFIER", certifier());
    command.args(["run", "--tasks", "PH-D01,PH-H10,PH-H15", "--evaluators", EVALUATORS, "--resamples", "200"]);
    command.args(plugins.iter().flat_map(|plugin| ["--plugin", plugin])).args(more).arg("--out").arg(out);
    finish(command)
}

fn verify(run: &Path) -> Done {
    let mut command = command();
    command.env("PARTHACK_CERTIFIER", certifier());
    command.arg("verify").arg(run);
    finish(command)
}

/// The score records of an evaluator, without its name.
fn scores_of(run: &Path, evaluator: &str) -> Vec<Value> {
    let ledger = fs::read_to_string(run.join("ledger.jsonl")).expect("a ledger");
    let lines = ledger.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut scores: Vec<Value> = lines
        .filter_map(|line| line.get("record").filter(|record| record["kind"] == "score").cloned())
        .filter(|record| record["evaluator"] == evaluator)
        .map(|mut record| {
            record["evaluator"] = json!(null);
            record
        })
        .collect();
    scores.sort_by_key(ToString::to_string);
    scores
}

/// What is promised to be the same bytes.
fn promised(run: &Path) -> Vec<Vec<u8>> {
    let names = ["manifest.json", "ledger.jsonl", "complete.json", "tables/tables.txt", "private/certifications.jsonl"];
    names.iter().map(|name| fs::read(run.join(name)).expect(name)).collect()
}

fn rule_as_program(name: &str) -> String {
    format!("{name}=exec:{PARTHACK} __evaluate --rules historical-milestone")
}

#[test]
fn a_rule_as_a_program_scores_as_the_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, three) = (folder.path().join("one"), folder.path().join("three"));
    let mine = rule_as_program("mine");
    let done = run(&one, &[&mine], &["--workers", "1", "--threads", "1"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("mine"), "{}", done.out);
    assert!(done.err.contains("mine: ") && done.err.contains("sandbox of tier"), "{}", done.err);
    let rule = scores_of(&one, "historical-milestone");
    assert!(rule.len() > 15, "{rule:?}");
    // A rule's score is exact, a program's is the number that it printed.
    let value = |record: &Value| {
        let text = record["score"]["exact"].as_str().or(record["score"]["measured"].as_str()).expect("a score");
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let key = (record["task"].to_string(), record["subject"].to_string(), record["payload"].to_string());
        (key, number(numerator) / number(denominator))
    };
    let mut expected: Vec<_> = rule.iter().map(value).collect();
    let mut found: Vec<_> = scores_of(&one, "mine").iter().map(value).collect();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(found, expected);
    assert_eq!(run(&three, &[&mine], &["--workers", "3", "--threads", "3"]).code, 0);
    assert_eq!(promised(&one), promised(&three), "workers and threads leave no trace");
    let verified = verify(&one);
    assert_eq!(verified.code, 0, "{}", verified.out);
    let told = format!("scores of plugins, taken as recorded: {}", rule.len());
    assert!(verified.out.contains(&told), "{}", verified.out);
    let manifest: Value = serde_json::from_slice(&fs::read(one.join("manifest.json")).expect("one")).expect("JSON");
    let frozen = manifest["evaluators"].as_array().expect("a list").last().expect("one")["plugin"].clone();
    assert_eq!((&manifest["format"], &frozen["network"]), (&json!("parthack.manifest/2"), &json!(false)));
    assert!(!frozen["command"].as_str().expect("a command").is_empty(), "{frozen}");
}

#[test]
fn a_hostile_program_costs_its_own_cells_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (clean, hostile) = (folder.path().join("clean"), folder.path().join("hostile"));
    let script = |name: &str, body: &str| {
        let path = folder.path().join(name);
        fs::write(&path, body).expect("written");
        format!("{name}=exec:sh {}", path.display())
    };
    let crashes = script("crashes", "read -r line; echo 0.25; exit 3");
    let floods = script("floods", "echo oops >&2; while :; do echo 0.5; done");
    let high = script("high", "while read -r line; do echo 1.5; done");
    let fair = script("fair", "while read -r line; do echo 0.5; done");
    assert_eq!(run(&clean, &[], &[]).code, 0);
    let done = run(&hostile, &[&crashes, &floods, &high, &fair], &["--timeout", "3"]);
    assert_eq!(done.code, 5, "{}", done.err);
    assert!(done.err.contains("\n    | oops\n") && done.err.contains("the first of them: "), "{}", done.err);
    for rule in EVALUATORS.split(',') {
        assert_eq!(scores_of(&clean, rule), scores_of(&hostile, rule), "{rule}");
    }
    let why = |evaluator: &str| {
        let scores = scores_of(&hostile, evaluator);
        let reason = |record: &Value| record["score"]["no_verdict"].as_str().map(str::to_owned);
        scores.iter().filter_map(reason).map(|reason| reason.split(':').next().unwrap_or_default().to_owned()).collect()
    };
    let (floods, high, fair): (Vec<String>, Vec<String>, Vec<String>) = (why("floods"), why("high"), why("fair"));
    assert!(floods.iter().all(|code| ["flood", "unsolicited", "given_up"].contains(&code.as_str())), "{floods:?}");
    assert!(high.contains(&"out_of_range".to_owned()), "{high:?}");
    assert!(!floods.is_empty() && fair.is_empty(), "{fair:?}");
    // Each start of the program that ends after one answer leaves that answer.
    let scored = |record: &&Value| record["score"]["measured"] == "0.25";
    assert!(scores_of(&hostile, "crashes").iter().any(|record| scored(&record)));
    assert_eq!(verify(&hostile).code, 0, "faults are recorded, and a run with faults stands");
}

#[test]
fn a_run_killed_while_a_program_scores_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole");
    // A confined shell can start no `sleep`.
    let fair = folder.path().join("fair");
    fs::write(&fair, "while read -r line; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo 0.5; done")
        .expect("written");
    let fair = format!("fair=exec:sh {}", fair.display());
    let begun = Instant::now();
    assert_eq!(run(&whole, &[&fair], &["--workers", "1"]).code, 0);
    let took = begun.elapsed();
    let mut stopped = 0;
    for tenths in [5, 6, 7, 8, 9] {
        let out = folder.path().join(format!("killed-{tenths}"));
        let mut command = command();
        command.env("PARTHACK_CERTIFIER", certifier());
        command.args(["run", "--tasks", "PH-D01,PH-H10,PH-H15", "--evaluators", EVALUATORS, "--resamples", "200"]);
        command.args(["--plugin", &fair, "--workers", "1", "--out"]).arg(&out);
        let mut child = command.spawn().expect("started");
        let (_alarm, timer) = channel::<()>();
        // Nobody sends: the wait ends when the delay is over.
        let _ = timer.recv_timeout(took * tenths / 10);
        stopped += usize::from(child.try_wait().expect("a child").is_none());
        child.kill().expect("a child that can be killed");
        let _ = child.wait();
        let done = run(&out, &[&fair], &["--workers", "1", "--resume"]);
        assert_eq!(done.code, 0, "{}", done.err);
        assert_eq!(promised(&out), promised(&whole), "killed after {tenths} tenths");
    }
    assert!(stopped > 0, "every run ended before it was killed");
}

#[test]
fn names_and_targets_are_checked_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let twice = [rule_as_program("mine"), rule_as_program("mine")];
    for (plugins, more, expected) in [
        (vec!["csps=exec:cat"], vec![], "name of a built-in evaluator"),
        (vec!["csps"], vec![], "[NAME=]exec:'COMMAND'"),
        (vec!["mine=exec:./no-such-file"], vec![], "no such file"),
        (vec!["mine=exec:cat"], vec!["--targets", "mine"], "parthack stress"),
        (vec![twice[0].as_str(), twice[1].as_str()], vec![], "two evaluators are named mine"),
        (vec!["mine=exec:cat"], vec!["--require-sandbox", "7"], "there is no tier 7"),
    ] {
        let done = run(&out, &plugins, &more);
        assert_eq!(done.code, 2, "{plugins:?} {}", done.err);
        assert!(done.err.contains(expected), "{plugins:?}: {}", done.err);
        assert!(!out.exists(), "{plugins:?}");
    }
}
