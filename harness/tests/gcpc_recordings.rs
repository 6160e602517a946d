//! GCPC on real logs, judged by a real model: the recordings that ship give the study again, bit for bit, from texts that do not.

mod cli_support;

use std::fs;
use std::path::{Path, PathBuf};

use cli_support::{parthack, works};
use serde_json::Value;

/// Tasks of the recorded study: those that the logs are of, by the ids of their gold actions.
const TASKS: &str = "retail/11,retail/33,retail/44,retail/52,retail/59,retail/61,retail/62,retail/67,retail/75,retail/77,retail/82,\
                     retail/92,retail/101,retail/107";
/// Tasks of which a second attempt was made.
const AGAIN: &str = "retail/11,retail/44,retail/61,retail/67,retail/75";

/// A folder of the corpora, which do not come with the project.
fn corpus(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora").join(name);
    if folder.exists() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is absent", folder.display());
    println!("not run: {} is absent", folder.display());
    None
}

fn recordings(name: &str) -> String {
    cli_support::workspace().join("recordings").join(name).display().to_string()
}

/// Synthesis of which some attempts were refused (1), or one was cut at the token limit (5): the gates say no to much of what so small a
/// model writes.
fn synthesize(arguments: &[&str], code: i32) {
    let done = parthack(&[&["gcpc", "synthesize"][..], arguments].concat());
    assert_eq!(done.code, code, "{}{}", done.out, done.err);
    assert!(done.err.contains("(0 requests sent"), "{}", done.err);
}

/// The last hash of a ledger's chain: it is over all lines.
fn last_hash(ledger: &Path) -> String {
    let text = fs::read_to_string(ledger).unwrap_or_else(|error| panic!("{}: {error}", ledger.display()));
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    last["hash"].as_str().expect("a hash").to_owned()
}

#[test]
fn the_tau2_study_comes_out_of_its_recordings() {
    let (Some(tasks), Some(logs)) = (
        corpus("tau2-bench/domains/retail/tasks.json"),
        corpus("tau2-bench/simulations/toolorchestra_retail_subset.json"),
    ) else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let study = scratch.path().join("study");
    let (tasks, logs, out) = (tasks.display().to_string(), logs.display().to_string(), study.display().to_string());
    let cassettes = recordings("gcpc-tau2");
    let replay = ["--model-mode", "replay", "--cassettes", &cassettes];
    synthesize(&[&["tau2", &tasks, "--out", &out, "--task", TASKS][..], &replay].concat(), 1);
    synthesize(&[&["tau2", &tasks, "--out", &out, "--task", AGAIN, "--regenerate"][..], &replay].concat(), 1);
    works(&["gcpc", "freeze", &out]);
    works(&[&["gcpc", "judge", &out, "tau2", &logs][..], &replay].concat());
    works(&[&["gcpc", "judge", &out, "tau2", &logs, "--methods", "holistic,generic-checklist"][..], &replay].concat());
    // As they were when the model answered.
    for (name, recorded) in [
        ("generations.jsonl", "6196e8d305e68c66d038070d1816f914fc24b3c5641c18c16dfe1a9d25108d1a"),
        ("judgements.jsonl", "9341292733c28320caa283520d8f709f8c3cab4faeae25f7b091b4735cbeddb4"),
    ] {
        assert_eq!(last_hash(&study.join(name)), recorded, "{name}");
    }
    insta::assert_snapshot!("tau2_study", works(&["gcpc", "analyze", &out, "--table", "scores,3,4,paired"]).out);
}

#[test]
fn checklists_of_the_skillsbench_tasks_come_out_of_their_recordings() {
    let Some(tasks) = corpus("skillsbench/tasks") else { return };
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let study = scratch.path().join("study");
    let (tasks, out) = (tasks.display().to_string(), study.display().to_string());
    let cassettes = recordings("gcpc-skillsbench");
    let replay = ["--model-mode", "replay", "--cassettes", &cassettes];
    synthesize(&[&["harbor-tasks", &tasks, "--out", &out][..], &replay].concat(), 5);
    let recorded = "5f3cd82b46173babc7fe6e22fd209fe50bc0155c02150503f9564936c8f07bbe";
    assert_eq!(last_hash(&study.join("generations.jsonl")), recorded);
    works(&["gcpc", "freeze", &out]);
    insta::assert_snapshot!("skillsbench_checklists", works(&["gcpc", "analyze", &out, "--table", "4"]).out);
}

/// No passage of the texts that do not ship stands in the recordings.
#[test]
fn recordings_quote_nothing() {
    let (Some(tasks), Some(skills)) = (corpus("tau2-bench/domains/retail/tasks.json"), corpus("skillsbench/tasks"))
    else {
        return;
    };
    let tasks: Value = serde_json::from_slice(&fs::read(tasks).expect("tasks")).expect("JSON");
    let mut sources: Vec<String> = Vec::new();
    let scenario = |task: &Value| task["user_scenario"]["instructions"].as_object().cloned().unwrap_or_default();
    for task in tasks.as_array().expect("a list") {
        sources.extend(scenario(task).values().filter_map(Value::as_str).map(str::to_owned));
    }
    for entry in fs::read_dir(skills).expect("a folder") {
        sources
            .push(fs::read_to_string(entry.expect("an entry").path().join("instruction.md")).expect("an instruction"));
    }
    let passages: std::collections::BTreeSet<String> = sources
        .iter()
        .flat_map(|text| {
            let words: Vec<&str> = text.split_whitespace().collect();
            words.windows(8).map(|eight| eight.join(" ")).collect::<Vec<_>>()
        })
        .collect();
    assert!(passages.len() > 5_000, "{}", passages.len());
    let mut looked_at = 0;
    for name in ["gcpc-tau2", "gcpc-skillsbench"] {
        for shelf in fs::read_dir(Path::new(&recordings(name)).join("exchanges")).expect("shelves") {
            for file in fs::read_dir(shelf.expect("a shelf").path()).expect("exchanges") {
                let path = file.expect("a file").path();
                let exchange: Value = serde_json::from_slice(&fs::read(&path).expect("an exchange")).expect("JSON");
                assert!(exchange["request"]["left_out"].is_string(), "{}", path.display());
                let content = exchange["response"]["content"].as_str().expect("an answer");
                let words: Vec<&str> = content.split_whitespace().collect();
                for eight in words.windows(8).map(|eight| eight.join(" ")) {
                    assert!(!passages.contains(&eight), "{}: {eight}", path.display());
                }
                looked_at += 1;
            }
        }
    }
    assert_eq!(looked_at, 50);
}

/// What the page on stress prints between two marks.
fn printed(mark: &str) -> String {
    let page = fs::read_to_string(cli_support::workspace().join("docs/gcpc-under-stress.md")).expect("the page");
    let begun = page.split(&format!("<!-- {mark}: begin -->")).nth(1);
    let printed = begun.and_then(|rest| rest.split(&format!("<!-- {mark}: end -->")).next());
    printed.expect("tables on the page").trim().to_owned()
}

/// The bench's held-out tasks: the page prints what the recordings give.
#[test]
fn the_page_on_stress_prints_what_the_held_out_tasks_give() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let out = scratch.path().join("run").display().to_string();
    let cassettes = recordings("gcpc-stress");
    let tasks: Vec<String> = (1..=18).map(|number| format!("PH-H{number:02}")).collect();
    let mut run = cli_support::command();
    run.env("PARTHACK_CERTIFIER", cli_support::certifier());
    run.args(["run", "--model-mode", "replay", "--cassettes", &cassettes, "--no-probes", "--tasks", &tasks.join(",")]);
    run.args(["--evaluators", "historical-milestone,csps,lightweight-cape,gcpc,gcpc-outcome"]);
    run.args(["--targets", "historical-milestone", "--out", &out]);
    let done = cli_support::finish(run);
    assert_eq!(done.code, 5, "{}", done.err);
    assert!(done.err.contains("(0 requests sent") && !done.err.contains("have no recording"), "{}", done.err);
    let tables = works(&["tables", &out, "--table", "B.1,B.2,B.5", "--format", "markdown"]).out;
    assert_eq!(printed("held-out"), tables.trim());
}

/// The bench's development tasks, under the patterns: the page prints what the recordings give.
#[test]
fn the_page_on_stress_prints_what_its_recordings_give() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let out = scratch.path().join("run").display().to_string();
    let cassettes = recordings("gcpc-stress");
    let mut run = cli_support::command();
    run.env("PARTHACK_CERTIFIER", cli_support::certifier());
    run.args(["run", "--model-mode", "replay", "--cassettes", &cassettes, "--attacker", "patterns", "--no-probes"]);
    run.args(["--tasks", "PH-D01,PH-D02,PH-D03,PH-D04,PH-D05,PH-D06", "--targets", "historical-milestone,gcpc"]);
    run.args(["--evaluators", "historical-milestone,csps,lightweight-cape,gcpc,gcpc-outcome", "--out", &out]);
    let done = cli_support::finish(run);
    // Tasks without a checklist, and logs that decide no item, have no verdict.
    assert_eq!(done.code, 5, "{}", done.err);
    assert!(done.err.contains("(0 requests sent") && !done.err.contains("have no recording"), "{}", done.err);
    let tables =
        works(&["tables", &out, "--table", "development,strategies,A.5.development", "--format", "markdown"]).out;
    assert_eq!(printed("tables"), tables.trim());
}

/// A model as the attacker: what the page says of its attempts.
#[test]
fn the_models_attempts_on_gcpc_come_out_of_their_recordings() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let out = scratch.path().join("run").display().to_string();
    let cassettes = recordings("gcpc-stress");
    let mut run = cli_support::command();
    run.env("PARTHACK_CERTIFIER", cli_support::certifier());
    run.args(["run", "--model-mode", "replay", "--cassettes", &cassettes, "--attacker", "llm", "--no-probes"]);
    run.args(["--evaluators", "historical-milestone,gcpc", "--targets", "gcpc", "--out", &out]);
    let done = cli_support::finish(run);
    assert_eq!(done.code, 5, "{}", done.err);
    let ledger = fs::read_to_string(scratch.path().join("run/ledger.jsonl")).expect("a ledger");
    let records = ledger.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["record"].clone());
    let attempts: Vec<Value> = records.filter(|record| record["kind"] == "attempt").collect();
    let count = |of: &dyn Fn(&Value) -> bool| attempts.iter().filter(|attempt| of(attempt)).count();
    assert_eq!(attempts.len(), 6);
    assert_eq!(count(&|attempt| attempt["fault"]["code"] == "illegal_action"), 2);
    assert_eq!(count(&|attempt| attempt["repeats_honest"] == true), 1);
    assert_eq!(count(&|attempt| attempt["eligible"] == true), 0);
}
