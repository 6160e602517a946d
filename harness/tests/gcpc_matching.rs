//! Logs of one program and tasks of another: which checklist a log is judged by, and what is said where none is.

mod cli_support;
mod loopback;

use std::fs;

use cli_support::{Done, command, finish};
use loopback::Loopback;
use serde_json::{Value, json};

struct Place {
    scratch: tempfile::TempDir,
    server: Loopback,
}

const LIVE: [&str; 6] =
    ["--model-mode", "live", "--role", "judge=openai/gpt-4.1-mini", "--role", "checklist=openai/gpt-4.1"];

impl Place {
    /// Task folders by path, each with the id that its `task.toml` states, if any, all with a frozen checklist.
    fn new(tasks: &[(&str, Option<&str>)]) -> Place {
        let place = Place { scratch: tempfile::tempdir().expect("a folder"), server: Loopback::start() };
        for (folder, id) in tasks {
            let name = id.map(|id| format!("[task]\nname = \"{id}\"\n")).unwrap_or_default();
            place.write(&format!("tasks/{folder}/task.toml"), &name);
            let instruction = format!(
                "The file of {folder} has to be closed.\nThe letter to the owner has to be sent today.\nNothing else of the folder may be changed.\nThe receipt has to be kept in place.\n"
            );
            place.write(&format!("tasks/{folder}/instruction.md"), &instruction);
            place.write(&format!("tasks/{folder}/tests/test_outputs.py"), "def test_closed():\n    assert True\n");
        }
        let (tasks, study) = (place.path("tasks"), place.path("study"));
        let made = place.gcpc(&["synthesize", "harbor-tasks", &tasks, "--out", &study], &LIVE);
        assert_eq!(made.code, 0, "{}{}", made.out, made.err);
        assert_eq!(place.gcpc(&["freeze", &study], &[]).code, 0);
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.scratch.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    fn path(&self, name: &str) -> String {
        self.scratch.path().join(name).display().to_string()
    }

    /// A trial of a task, as the harness that writes such folders keeps it.
    fn trial(&self, name: &str, source: Option<&str>, task: &str) {
        let steps = json!([
            {"step_id": 1, "source": "user", "message": "Go."},
            {"step_id": 2, "source": "agent", "message": format!("Done in {name}."), "tool_calls": [{"tool_call_id": "a", "function_name": "sh", "arguments": {"cmd": "ls"}}],
             "observation": {"results": [{"source_call_id": "a", "content": format!("the file is closed in {name}")}]}},
        ]);
        let trajectory = json!({"schema_version": "ATIF-v1.4", "session_id": name, "agent": {"name": "x", "version": "1", "model_name": "lab/m"}, "steps": steps});
        self.write(&format!("jobs/{name}/agent/trajectory.json"), &trajectory.to_string());
        let result = json!({"task_name": task, "trial_name": name, "source": source, "verifier_result": {"rewards": {"reward": 1.0}}});
        self.write(&format!("jobs/{name}/result.json"), &result.to_string());
    }

    fn gcpc(&self, arguments: &[&str], more: &[&str]) -> Done {
        let mut command = command();
        command.env("OPENAI_API_KEY", "sk-x").env("OPENAI_BASE_URL", &self.server.url).arg("gcpc");
        finish({
            command.args(arguments).args(more);
            command
        })
    }

    fn judge(&self, kind: &str, logs: &str, more: &[&str]) -> Done {
        let (study, logs) = (self.path("study"), self.path(logs));
        self.gcpc(&[&["judge", &study, kind, &logs, "--format", "json"][..], more].concat(), &LIVE)
    }

    /// The tasks of the ledger's judgements.
    fn judged(&self) -> Vec<String> {
        let ledger = fs::read_to_string(self.path("study/judgements.jsonl")).unwrap_or_default();
        let task = |line: &str| -> Option<String> {
            let record: Value = serde_json::from_str(line).expect("JSON");
            Some(record["record"]["identity"]["task"].as_str()?.to_owned())
        };
        ledger.lines().filter_map(task).collect()
    }
}

#[test]
fn logs_with_a_suite_find_the_checklist_of_a_task_without() {
    let place = Place::new(&[("hello", None), ("django__django-1", None), ("named", Some("org/named"))]);
    place.trial("one", Some("terminal-bench"), "hello");
    place.trial("two", None, "hello");
    place.trial("three", Some("terminal-bench"), "named");
    place.trial("four", Some("terminal-bench"), "other");
    let done = place.judge("atif", "jobs", &[]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let report = done.json();
    assert_eq!((&report["made"], &report["without_checklist"]), (&json!(3), &json!(1)), "{report}");
    let said = "logs of terminal-bench/hello are judged by the checklist of hello";
    assert_eq!(done.err.matches(said).count(), 1, "{}", done.err);
    assert!(done.err.contains("no frozen checklist of terminal-bench/other"), "{}", done.err);
    let mut judged = place.judged();
    judged.sort();
    assert_eq!(judged, ["hello", "hello", "org/named"], "the ledger has one name for a task");

    let messages = json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "tool_calls": [{"id": "1", "function": "sh", "arguments": {}}]},
        {"role": "tool", "tool_call_id": "1", "content": "out"}]);
    let eval = json!({"version": 2, "status": "success", "eval": {"run_id": "r", "task": "inspect_evals/swe_bench", "model": "lab/m"},
        "samples": [{"id": "django__django-1", "epoch": 1, "messages": messages, "scores": {"a": {"value": 1.0}}}]});
    place.write("eval.json", &eval.to_string());
    let done = place.judge("inspect", "eval.json", &[]);
    assert_eq!((done.code, &done.json()["made"]), (0, &json!(1)), "{}", done.err);
    // Controls pair logs as the judge does.
    let (study, jobs) = (place.path("study"), place.path("jobs"));
    let control = place.gcpc(&["control", "three-passes", &study, "atif", &jobs], &LIVE);
    assert_eq!(control.code, 0, "{}", control.err);
    assert_eq!(place.judged().len(), 4 + 3 * 2, "two more passes of each log that has a checklist");
}

#[test]
fn what_cannot_be_told_is_asked_and_what_is_said_counts() {
    let place = Place::new(&[("a", Some("a/hello")), ("b", Some("b/hello")), ("alone", None)]);
    place.trial("one", Some("terminal-bench"), "hello");
    let done = place.judge("atif", "jobs", &[]);
    assert!(done.code == 2 && done.err.contains("a/hello, b/hello") && done.err.contains("--map"), "{}", done.err);
    assert!(place.judged().is_empty());
    let done = place.judge("atif", "jobs", &["--map", "hello=b/hello", "--map", "nobody=alone"]);
    assert_eq!((done.code, &done.json()["made"]), (0, &json!(1)), "{}", done.err);
    assert!(done.err.contains("--map nobody: no log of that task"), "{}", done.err);
    assert_eq!(place.judged(), ["b/hello"]);
    for (entry, part) in [("hello", "LOGTASK=CHECKLIST"), ("hello=nothing", "alone"), ("x=hello", "a/hello, b/hello")] {
        let done = place.judge("atif", "jobs", &["--map", entry]);
        assert!(done.code == 2 && done.err.contains(part), "{entry}: {} {}", done.code, done.err);
    }
    // Tasks are named as checklists are.
    let (tasks, study) = (place.path("tasks"), place.path("study"));
    let twice = place.gcpc(&["synthesize", "harbor-tasks", &tasks, "--out", &study, "--task", "hello"], &LIVE);
    assert!(twice.code == 2 && twice.err.contains("a/hello, b/hello"), "{}", twice.err);
}

#[test]
fn a_start_that_judges_nothing_fails() {
    let place = Place::new(&[("hello", None)]);
    place.trial("one", Some("terminal-bench"), "other");
    let done = place.judge("atif", "jobs", &[]);
    assert_eq!((done.code, &done.json()["without_checklist"]), (3, &json!(1)), "{}", done.err);
    assert!(done.err.contains("nothing was judged") && done.err.contains("frozen are hello"), "{}", done.err);
    let (study, jobs) = (place.path("study"), place.path("jobs"));
    for control in ["three-passes", "forced-verdict", "idle-agent", "evidence-replacement", "judge-substitution"] {
        let done = place.gcpc(&["control", control, &study, "atif", &jobs], &LIVE);
        assert!(done.code == 3 && done.err.contains("nothing was judged"), "{control}: {} {}", done.code, done.err);
    }
    let done = place.judge("atif", "jobs", &["--map", "terminal-bench/other=hello"]);
    assert_eq!((done.code, &done.json()["made"]), (0, &json!(1)), "{}", done.err);
}
