//! Real inputs: every file below `../shared/corpora` imports or is refused for a reason, and the counts are those of a
//! golden file that was checked against independent counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parthack_logs::{
    Content, FactSource, Imported, Kind, Log, Origin, RefusalCode, Requestor, Summary, TaskSource, TestList, Verdict,
    WarningCode, import,
};
use serde_json::{Value, json};

/// The folder of real inputs. A clone without it skips these tests; where CI runs, it has to be there.
fn corpora() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "{} has to be there where CI runs", folder.display());
    println!("skipped: {} is not there", folder.display());
    None
}

const READINGS: [(Kind, &str); 5] = [
    (Kind::HarborTasks, "skillsbench"),
    (Kind::Inspect, "inspect_ai"),
    (Kind::SweAgent, "swe-agent"),
    (Kind::Tau2, "tau2-bench"),
    (Kind::Tau, "tau-bench"),
];

struct Read {
    logs: Vec<Log>,
    tasks: Vec<TaskSource>,
    summary: Summary,
}

fn read(kind: Kind, path: &Path) -> Read {
    let mut run = import(kind, path);
    let (mut logs, mut tasks) = (Vec::new(), Vec::new());
    for found in run.by_ref() {
        match found {
            Ok(Imported::Log(log)) => logs.push(*log),
            Ok(Imported::Task(task)) => tasks.push(*task),
            Err(_) => {}
        }
    }
    let summary = run.summary();
    Read { logs, tasks, summary }
}

/// Numbers, names of models and, for each refusal, the file and its class.
fn numbers(summary: &Summary, root: &Path) -> Value {
    let mut value = serde_json::to_value(summary).expect("a summary is JSON");
    let refused: BTreeMap<String, RefusalCode> = summary
        .refused
        .iter()
        .map(|refused| {
            let file = Path::new(&refused.file).strip_prefix(root).unwrap_or(Path::new(&refused.file));
            (format!("{} ({})", file.to_string_lossy(), refused.place), refused.code)
        })
        .collect();
    value["refused"] = json!(refused);
    let below =
        |file: &String| Path::new(file).strip_prefix(root).unwrap_or(Path::new(file)).to_string_lossy().into_owned();
    value["passed_over"] = json!(summary.passed_over.iter().map(below).collect::<Vec<_>>());
    value
}

#[test]
fn counts_are_the_golden_ones() {
    let Some(folder) = corpora() else { return };
    let mut all = BTreeMap::new();
    for (kind, name) in READINGS {
        let root = folder.join(name);
        all.insert(format!("{kind} {name}"), numbers(&read(kind, &root).summary, &root));
    }
    let actual = serde_json::to_string_pretty(&all).expect("JSON") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/corpora.json");
    if std::env::var_os("PARTHACK_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &actual).expect("the golden file is writable");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file is there");
    assert_eq!(actual, golden, "the counts changed; PARTHACK_UPDATE_GOLDEN=1 writes them, to be read line by line");
}

#[test]
fn no_file_is_left_unaccounted_for() {
    let Some(folder) = corpora() else { return };
    for (kind, name) in READINGS {
        let summary = read(kind, &folder.join(name)).summary;
        let accounted =
            summary.files_read + summary.files_refused + summary.files_companions + summary.files_passed_over;
        assert_eq!(accounted, summary.files, "{kind}");
        assert!(summary.files_read > 0, "{kind}");
        assert_eq!(summary.passed_over.len(), summary.files_passed_over, "{kind}");
        for refused in &summary.refused {
            println!("{}: {}: found {}, expected {}", refused.file, refused.place, refused.found, refused.expected);
            assert!(!refused.found.is_empty() && !refused.expected.is_empty());
        }
    }
}

/// The value that a pointer leads to, read by another JSON library.
fn at_pointer(cache: &mut BTreeMap<String, Value>, file: &str, pointer: &str) -> Option<Value> {
    if !cache.contains_key(file) {
        let text = std::fs::read_to_string(file).ok()?;
        cache.insert(file.to_owned(), serde_json::from_str(&text).ok()?);
    }
    cache[file].pointer(pointer).cloned()
}

#[test]
fn every_span_stands_where_its_provenance_says() {
    let Some(folder) = corpora() else { return };
    let (mut checked, mut cache) = (0, BTreeMap::new());
    for (kind, name) in READINGS {
        for log in read(kind, &folder.join(name)).logs {
            for step in &log.steps {
                let Some(value) = at_pointer(&mut cache, &step.at.file, &step.at.pointer) else {
                    assert!(step.at.file.contains(".eval!"), "{}#{} leads nowhere", step.at.file, step.at.pointer);
                    continue;
                };
                match (&step.content, value) {
                    (Content::ToolCall { arguments, name, .. }, value) => {
                        let shown = value.to_string();
                        let call = value.get("function").unwrap_or(&value);
                        let named = call.get("name").and_then(Value::as_str);
                        assert!(named.is_none_or(|named| named == name), "{shown}");
                        assert!(arguments.starts_with('{'), "{arguments}");
                    }
                    (content, Value::String(text)) => assert_eq!(content.text(), text, "{}", step.at.pointer),
                    (content, Value::Null) => assert_eq!(content.text(), ""),
                    (content, Value::Array(parts)) => {
                        for text in parts.iter().filter_map(|part| part.get("text")?.as_str()) {
                            assert!(content.text().contains(text));
                        }
                    }
                    (_, other) => panic!("{}#{} is {other}", step.at.file, step.at.pointer),
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 500, "{checked} spans");
}

#[test]
fn the_task_of_a_tau2_simulation_is_the_one_that_its_checks_belong_to() {
    let Some(folder) = corpora() else { return };
    let read = read(Kind::Tau2, &folder.join("tau2-bench/simulations/toolorchestra_retail_subset.json"));
    assert_eq!(read.logs.len(), 14);
    let tasks: Vec<(&str, bool)> = read
        .logs
        .iter()
        .map(|log| {
            let warned = log.warnings.iter().any(|warning| warning.code == WarningCode::TaskIdContradicted);
            (log.identity.task.as_ref().expect("a task").value.as_str(), warned)
        })
        .collect();
    assert_eq!(tasks[0], ("67", true));
    assert_eq!(tasks[6], ("52", false), "nothing was checked, so nothing contradicts");
    assert_eq!(tasks.iter().filter(|(_, warned)| *warned).count(), 13);
    assert!(read.logs[6].warnings.iter().any(|warning| warning.code == WarningCode::TaskIdUnconfirmed));
    let first = &read.logs[0].identity;
    assert_eq!(first.model.as_ref().expect("a model").value, "gpt-4.1-mini-2025-04-14");
    assert_eq!(first.task_key().as_deref(), Some("retail/67"));
    assert!(matches!(&first.task.as_ref().expect("a task").source,
        FactSource::Field(at) if at.pointer == "/simulations/0/reward_info/action_checks/0/action/action_id"));
    let outputs = read.logs.iter().flat_map(|log| &log.steps).filter_map(|step| match &step.content {
        Content::ToolOutput { call, requestor, .. } => Some((call, requestor)),
        _ => None,
    });
    for (call, requestor) in outputs {
        assert!(call.is_some());
        assert_eq!(*requestor, Requestor::Agent, "in retail the agent alone acts");
    }
}

#[test]
fn telecom_tasks_name_checks_on_both_sides() {
    let Some(folder) = corpora() else { return };
    let read = read(Kind::Tau2, &folder.join("tau2-bench/domains/telecom/tasks_small.json"));
    assert_eq!(read.tasks.len(), 20);
    assert!(read.tasks.iter().all(|task| task.suite.as_deref() == Some("telecom")));
    let assertions =
        read.tasks.iter().flat_map(|task| &task.tests).filter(|test| test.list == TestList::EnvironmentAssertion);
    assert!(assertions.count() >= 20);
    assert!(read.tasks.iter().all(|task| !task.instruction_text().is_empty() && task.verifier.len() == 1));
}

#[test]
fn one_inspect_log_in_two_containers_is_one_log() {
    let Some(folder) = corpora() else { return };
    let folder = folder.join("inspect_ai/tests/log/test_eval_log");
    let summary = read(Kind::Inspect, &folder).summary;
    assert_eq!(
        (summary.logs, summary.duplicates),
        (2, 1),
        "log_formats.eval and log_formats.json hold the same sample"
    );
}

#[test]
fn demonstrations_in_swe_agent_files_are_no_evidence() {
    let Some(folder) = corpora() else { return };
    let logs = read(Kind::SweAgent, &folder.join("swe-agent")).logs;
    let shown: Vec<_> =
        logs.iter().flat_map(|log| &log.steps).filter(|step| step.origin == Origin::Demonstration).collect();
    assert!(!shown.is_empty());
    assert!(shown.iter().all(|step| !step.is_evidence()));
    assert!(logs.iter().all(|log| log.outcome.verdict == Verdict::None), "an exit status is no verdict");
    for log in &logs {
        assert!(log.tool_calls() > 0 && log.tool_calls() == log.tool_outputs(), "{:?}", log.identity.task);
    }
}
