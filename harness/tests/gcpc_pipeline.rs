//! The GCPC pipeline from tasks to tables, against a server on this machine: recorded, replayed, killed, edited.

mod cli_support;
mod loopback;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cli_support::{Done, command, finish};
use loopback::Loopback;
use serde_json::{Value, json};

const KEY: &str = "sk-planted-1147-do-not-leak";

fn task(id: usize) -> Value {
    json!({
        "id": id.to_string(),
        "user_scenario": {"instructions": {
            "domain": "depot",
            "reason_for_call": format!("You want parcel {id} sent to another street.\nThe fee of the parcel has to be paid back.\nThe clerk has to name a new day.\nNothing else of yours may change."),
            "known_info": format!("Your name is Ada and your number is {id}{id}."),
        }},
        "evaluation_criteria": {
            "actions": [{"action_id": format!("{id}_0"), "name": "move_parcel", "arguments": {"parcel": id}}],
            "communicate_info": ["Tuesday"], "nl_assertions": null, "reward_basis": ["DB", "COMMUNICATE"],
        },
    })
}

fn simulation(task: usize, run: usize, reward: f64) -> Value {
    json!({
        "id": format!("run-{task}-{run}"), "task_id": task.to_string(), "trial": run,
        "reward_info": {"reward": reward, "action_checks": [{"action": {"action_id": format!("{task}_0"), "name": "move_parcel", "arguments": {"parcel": task}}, "action_match": reward > 0.5, "action_reward": reward}]},
        "messages": [
            {"role": "user", "content": "Please move my parcel.", "turn_idx": 0},
            {"role": "assistant", "content": null, "turn_idx": 1, "tool_calls": [{"id": "a", "name": "move_parcel", "arguments": {"parcel": task}, "requestor": "assistant"}]},
            {"role": "tool", "id": "a", "content": format!("parcel {task} moved in run {run}\nfee of 4.50 paid back"), "requestor": "assistant", "turn_idx": 2},
            {"role": "assistant", "content": "It is done, on Tuesday.", "turn_idx": 3},
        ],
    })
}

/// Four tasks with two runs each, one passed and one failed.
fn results_text() -> String {
    let tasks: Vec<Value> = (1..=4).map(task).collect();
    let runs = (1..=4).flat_map(|id| [simulation(id, 1, 1.0), simulation(id, 2, 0.0)]);
    json!({
        "info": {"agent_info": {"implementation": "clerk", "llm": "small-model"}, "environment_info": {"domain_name": "depot"}},
        "tasks": tasks, "simulations": runs.collect::<Vec<_>>(),
    })
    .to_string()
}

struct Place {
    scratch: tempfile::TempDir,
    server: Loopback,
}

impl Place {
    fn new() -> Place {
        let scratch = tempfile::tempdir().expect("a folder");
        fs::write(scratch.path().join("results.json"), results_text()).expect("written");
        Place { scratch, server: Loopback::start() }
    }

    fn path(&self, name: &str) -> String {
        self.scratch.path().join(name).display().to_string()
    }

    fn gcpc(&self, arguments: &[&str]) -> Done {
        let mut command = command();
        command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", &self.server.url).arg("gcpc").args(arguments);
        finish(command)
    }

    fn works(&self, arguments: &[&str]) -> Done {
        let done = self.gcpc(arguments);
        assert_eq!(done.code, 0, "{arguments:?}: {}{}", done.out, done.err);
        assert!(!done.out.contains(KEY) && !done.err.contains(KEY));
        done
    }

    /// Synthesis, freezing and judging into a folder, with models asked as `mode` says.
    fn all(&self, folder: &str, mode: &[&str]) -> Done {
        let (out, results) = (self.path(folder), self.path("results.json"));
        let with = |arguments: &[&str]| self.works(&[arguments, mode].concat());
        with(&["synthesize", "tau2", &results, "--out", &out]);
        self.works(&["freeze", &out]);
        with(&[
            "judge",
            &out,
            "tau2",
            &results,
            "--methods",
            "gcpc,holistic,tick,tick-trajectory,generic-checklist",
            "--format",
            "json",
        ])
    }
}

/// What a replay promises of a folder: bytes by path.
fn promised(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut open) = (BTreeMap::new(), vec![root.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(root).expect("below").to_path_buf();
            if !name.ends_with("spending.jsonl") && !name.ends_with(".lock") {
                files.insert(name, fs::read(&path).expect("readable"));
            }
        }
    }
    files
}

const ROLES: [&str; 4] = ["--role", "judge=openai/gpt-4.1-mini", "--role", "checklist=openai/gpt-4.1"];

#[test]
fn recorded_replayed_and_gone_on_with() {
    let place = Place::new();
    let cassettes = place.path("cassettes");
    let record = [&["--model-mode", "record", "--cassettes", &cassettes][..], &ROLES].concat();
    let report = place.all("recorded", &record).json();
    assert_eq!(
        (&report["logs"], &report["made"], &report["without_verdict"]),
        (&json!(8), &json!(40), &json!(0)),
        "{report}"
    );
    let asked = place.server.requests();
    // Nothing is made twice.
    let again = place.all("recorded", &record).json();
    assert_eq!((&again["made"], &again["there"], place.server.requests()), (&json!(0), &json!(40), asked));
    // From recordings, with any number of threads, the same bytes.
    for threads in ["1", "7"] {
        let folder = format!("replayed-{threads}");
        place.all(&folder, &["--model-mode", "replay", "--cassettes", &cassettes, "--concurrency", threads]);
        assert_eq!(place.server.requests(), asked);
        let (left, right) =
            (promised(&place.scratch.path().join("recorded")), promised(&place.scratch.path().join(&folder)));
        assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
        left.iter().for_each(|(path, bytes)| assert!(right[path] == *bytes, "{} differs", path.display()));
    }
    for (path, bytes) in promised(place.scratch.path()) {
        assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{}", path.display());
    }
    // Without the requests, whose texts may not be passed on, answers are found under the same keys.
    let stripped = cli_support::works(&["cassette", "strip", "--cassettes", &cassettes]).out;
    assert!(stripped.contains("lost their requests"), "{stripped}");
    cli_support::works(&["cassette", "verify", "--cassettes", &cassettes]);
    for (path, bytes) in promised(&place.scratch.path().join("cassettes")) {
        let text = String::from_utf8_lossy(&bytes);
        for passage in ["another street", "has to be paid back", "has to name a new day"] {
            assert!(!text.contains(passage), "{passage}: {}", path.display());
        }
    }
    place.all("from-stripped", &["--model-mode", "replay", "--cassettes", &cassettes]);
    for name in ["generations.jsonl", "questions.jsonl", "judgements.jsonl"] {
        let of = |folder: &str| fs::read(place.scratch.path().join(folder).join(name)).expect("a ledger");
        assert!(of("from-stripped") == of("recorded"), "{name}");
    }
    // A ledger whose last line is cut off is gone on with, and ends in the same bytes.
    let ledger = place.scratch.path().join("recorded/judgements.jsonl");
    let whole = fs::read(&ledger).expect("a ledger");
    fs::write(&ledger, &whole[..whole.len() - 300]).expect("written");
    place.all("recorded", &["--model-mode", "replay", "--cassettes", &cassettes]);
    assert!(fs::read(&ledger).expect("a ledger") == whole);
    // An edited one is refused with its line.
    let edited = String::from_utf8(whole).expect("text").replacen("\"pass\":1", "\"pass\":2", 1);
    fs::write(&ledger, edited).expect("written");
    let recorded = place.path("recorded");
    let results = place.path("results.json");
    let refused =
        place.gcpc(&["judge", &recorded, "tau2", &results, "--model-mode", "replay", "--cassettes", &cassettes]);
    assert!(refused.code == 3 && refused.err.contains("line 1"), "{}", refused.err);
}

#[test]
fn checklists_are_frozen_before_a_log_is_read() {
    let place = Place::new();
    let (out, results) = (place.path("study"), place.path("results.json"));
    let live = [&["--model-mode", "live"][..], &ROLES].concat();
    let absent = place.gcpc(&[&["judge", &out, "tau2", &results][..], &live].concat());
    assert!(absent.code == 4 && absent.err.contains("no such folder"), "{}", absent.err);
    place.works(&[&["synthesize", "tau2", &results, "--out", &out, "--task", "1,depot/2"][..], &live].concat());
    let early = place.gcpc(&[&["judge", &out, "tau2", &results][..], &live].concat());
    assert!(early.code == 2 && early.err.contains("no frozen checklist"), "{}", early.err);
    let frozen = place.works(&["freeze", &out, "--format", "json"]).json();
    assert_eq!(frozen["frozen"].as_array().map(Vec::len), Some(2), "{frozen}");
    let judged = place.works(&[&["judge", &out, "tau2", &results, "--format", "json"][..], &live].concat());
    assert_eq!((&judged.json()["made"], &judged.json()["without_checklist"]), (&json!(4), &json!(4)));
    assert!(judged.err.contains("no frozen checklist of depot/3"), "{}", judged.err);

    // What is frozen passes the gates from anywhere; what is edited is found.
    let path = fs::read_dir(place.scratch.path().join("study/checklists")).expect("a folder").next();
    let path = path.expect("a checklist").expect("an entry").path();
    let name = path.display().to_string();
    let checked = place.works(&["check", &name, "--tasks", "tau2", &results, "--format", "json"]).json();
    assert_eq!((&checked["accepted"], &checked["changed_since_frozen"]), (&json!(true), &json!([])));
    place.works(&["check", &name, "--folder", &out]);
    let text = fs::read_to_string(&path).expect("a checklist");
    fs::write(&path, text.replace("settled", "unsettled")).expect("written");
    let edited = place.gcpc(&["check", &name, "--folder", &out]);
    assert!(edited.code == 3 && edited.err.contains("/hash"), "{}", edited.err);
}

#[test]
fn a_refused_attempt_is_kept_and_another_is_made_on_command_alone() {
    let place = Place::new();
    let (out, results) = (place.path("study"), place.path("results.json"));
    let text = results_text().replace("another street", "another street, which is often misquoted by the staff");
    fs::write(&results, text).expect("written");
    let live = [&["--model-mode", "live", "--task", "1"][..], &ROLES].concat();
    let synthesize =
        |more: &[&str]| place.gcpc(&[&["synthesize", "tau2", &results, "--out", &out][..], &live, more].concat());
    let first = synthesize(&[]);
    assert!(first.code == 1 && first.out.contains("quote_"), "{} {}{}", first.code, first.out, first.err);
    let asked = place.server.requests();
    let second = synthesize(&[]);
    assert!(second.code == 1 && second.out.contains("--regenerate"), "{}", second.out);
    assert_eq!(place.server.requests(), asked);
    assert_eq!(synthesize(&["--regenerate"]).code, 1);
    let ledger = fs::read_to_string(place.scratch.path().join("study/generations.jsonl")).expect("a ledger");
    assert_eq!(ledger.lines().count(), 2);
    assert!(place.works(&["freeze", &out]).out.contains("no accepted checklist"));
}

#[test]
fn commands_say_what_is_missing() {
    let place = Place::new();
    let (out, results) = (place.path("study"), place.path("results.json"));
    let checklist = place.path("checklist.json");
    fs::write(&checklist, r#"{"format":"parthack.checklist/1","items":[]}"#).expect("written");
    for (arguments, code, part) in [
        (vec!["synthesize", "tau2", &results, "--out", &out], 2, "--model-mode"),
        (vec!["synthesize", "tau2", &results, "--out", &out, "--model-mode", "live"], 2, "checklist"),
        (vec!["synthesize", "tau2", &results, "--out", &out, "--task", "99"], 2, "99"),
        (vec!["check", &checklist], 2, "--tasks KIND PATH"),
        (vec!["check", &checklist, "--tasks", "paper", &results], 2, "harbor-tasks"),
        (vec!["check", &checklist, "--tasks", "tau2", &results], 2, "4 tasks"),
        (vec!["check", &checklist, "--tasks", "tau2", &results, "--task", "1"], 1, "item_count"),
    ] {
        let done = place.gcpc(&arguments);
        assert_eq!(done.code, code, "{arguments:?}: {}{}", done.out, done.err);
        assert!(done.err.contains(part) || done.out.contains(part), "{arguments:?}: {}{}", done.out, done.err);
    }
}

/// The table of an id in what `analyze --format json` prints.
fn table(printed: &Value, id: &str) -> Value {
    let all = printed["tables"].as_array().cloned().unwrap_or_else(|| vec![printed.clone()]);
    all.into_iter().find(|table| table["id"] == id).unwrap_or_else(|| panic!("no table {id}: {printed}"))
}

/// How many lines the blocks of tests in a request have.
fn listed_tests(request: &Value) -> usize {
    let text = request["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_str());
    let text: String = text.collect();
    let inside = text.lines().skip_while(|line| !line.starts_with("<tests "));
    inside.skip(1).take_while(|line| !line.starts_with("</tests ")).count()
}

#[test]
fn lists_of_names_beside_a_task_reach_synthesis_and_gates() {
    let tasks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora/skillsbench/tasks");
    if !tasks.is_dir() {
        assert!(std::env::var_os("CI").is_none(), "{} is absent", tasks.display());
        return println!("not run: {} is absent", tasks.display());
    }
    let place = Place::new();
    let (out, path) = (place.path("study"), tasks.display().to_string());
    let checklist = place.path("checklist.json");
    fs::write(&checklist, r#"{"format":"parthack.checklist/1","items":[]}"#).expect("written");
    let counts = [
        ("citation-check", 9),
        ("dialogue-parser", 6),
        ("fix-build-agentops", 3),
        ("hvac-control", 7),
        ("offer-letter-generator", 4),
        ("powerlifting-coef-calc", 11),
        ("sales-pivot-analysis", 10),
        ("travel-planning", 11),
    ];
    for (task, count) in counts {
        let done =
            place.gcpc(&["check", &checklist, "--tasks", "harbor-tasks", &path, "--task", task, "--format", "json"]);
        assert_eq!(done.json()["tests"], count, "{task}: {}", done.out);
    }
    let cassettes = place.path("cassettes");
    let record = [&["--model-mode", "record", "--cassettes", &cassettes][..], &ROLES].concat();
    place.gcpc(&[&["synthesize", "harbor-tasks", &path, "--out", &out][..], &record].concat());
    let exchanges = promised(&place.scratch.path().join("cassettes"));
    let exchanges = exchanges.values().filter_map(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    let asked: BTreeSet<(String, usize)> = exchanges
        .filter_map(|exchange| Some((exchange["cell"].as_str()?.to_owned(), listed_tests(&exchange["request"]))))
        .collect();
    let expected = counts.map(|(task, count)| (format!("checklist of {task}, attempt 1"), count));
    assert_eq!(asked, BTreeSet::from(expected));
}

#[test]
fn a_report_of_tests_beside_a_task_is_a_list_of_names() {
    let place = Place::new();
    let folder = place.scratch.path().join("tasks/add");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("task.toml"), "[metadata]\n").expect("written");
    fs::write(folder.join("instruction.md"), "Add the two numbers and print the sum.\n").expect("written");
    let report = json!({"results": {"tests": [{"name": "test_outputs.py::test_sum", "status": "failed"}]}});
    fs::write(folder.join("ctrf.json"), report.to_string()).expect("written");
    let item = |id: &str, test: &str| json!({"id": id, "requirement": "The sum is printed.", "quote": "print the sum", "route": "assertion", "verifier": test});
    let checklist = place.path("checklist.json");
    let items = json!([item("a", "test_sum"), item("b", "test_outputs.py::test_sum"), item("c", "test_product")]);
    fs::write(&checklist, json!({"format": "parthack.checklist/1", "items": items}).to_string()).expect("written");
    let done = place.gcpc(&["check", &checklist, "--tasks", "harbor-tasks", &place.path("tasks"), "--format", "json"]);
    let report = done.json();
    assert_eq!(report["tests"], 1, "{report}");
    let faults = report["faults"].as_array().cloned().unwrap_or_default();
    let unknown: Vec<&Value> =
        faults.iter().filter(|fault| fault["code"] == "reference_unknown").map(|fault| &fault["pointer"]).collect();
    assert_eq!(unknown, ["/items/2/verifier"], "{report}");
}

#[test]
fn controls_and_tables() {
    let place = Place::new();
    let (out, results) = (place.path("study"), place.path("results.json"));
    let live = [&["--model-mode", "live"][..], &ROLES].concat();
    place.all("study", &live);
    let with = |arguments: &[&str]| place.works(&[arguments, &live].concat());

    let row = |printed: &str, id: &str| printed.lines().find(|line| line.contains(id)).map(str::to_owned);
    let alone = with(&["control", "idle-agent", &out]).out;
    let floor = with(&["control", "idle-agent", &out, "tau2", &results]).out;
    assert_eq!(row(&alone, "idle-agent"), row(&floor, "idle-agent"));
    assert_ne!(row(&alone, "without-evidence"), row(&floor, "without-evidence"));
    with(&["control", "evidence-replacement", &out, "tau2", &results]);
    with(&["control", "forced-verdict", &out, "tau2", &results]);
    with(&["control", "schema", &out]);
    with(&["control", "three-passes", &out, "tau2", &results]);
    let other = ["--model-mode", "live", "--role", "judge=openai/gpt-4.1-nano"];
    place.works(&[&["control", "judge-substitution", &out, "tau2", &results][..], &other].concat());
    let refused = place.gcpc(&[&["control", "three-passes", &out][..], &live].concat());
    assert!(refused.code == 2 && refused.err.contains("KIND and PATH"), "{}", refused.err);
    // Nobody is asked for the outcome step.
    let step = place.works(&["control", "outcome-step", &out]).out;
    assert!(step.contains("endpoint off, PASS propagation on"), "{step}");

    let people = place.path("people.csv");
    let rating = |who: &str, run: usize, value: usize| format!("{who},rating,run-1-{run},,,{value}\n");
    let rows = rating("ada", 1, 9) + &rating("bob", 1, 8) + &rating("ada", 2, 3) + &rating("bob", 2, 4);
    let rows = rows + "ada,preference,run-1-1,run-1-2,,first\nbob,preference,run-1-1,run-1-2,,first\n";
    fs::write(&people, format!("annotator,kind,log,other,item,value\n{rows}")).expect("written");
    let analyze = |more: &[&str]| {
        place.works(&[&["analyze", &out, "--format", "json", "--annotations", &people][..], more].concat())
    };
    let printed = analyze(&[]).json();
    assert_eq!(table(&printed, "scores")["rows"].as_array().map(Vec::len), Some(8));
    let synthesis = table(&printed, "4")["rows"].clone();
    assert_eq!(synthesis[0]["tasks"], 4, "{synthesis}");
    let ablation = table(&printed, "3")["rows"].to_string();
    let ledger = fs::read_to_string(place.scratch.path().join("study/judgements.jsonl")).expect("a ledger");
    let bare: Vec<Value> = ledger
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["record"].clone())
        .filter(|record| record["variant"]["kind"] == "without-evidence")
        .collect();
    assert_eq!(bare.len(), 8, "one for each log");
    let items = || bare.iter().flat_map(|record| record["items"].as_array().into_iter().flatten());
    assert!(items().count() > 0 && items().all(|item| item["label"] != "yes"), "{bare:?}");
    for row in [
        "idle-agent",
        "without-evidence",
        "replacement-to-no",
        "scheme-name_permuted",
        "propagation",
        "tick-trajectory",
    ] {
        assert!(ablation.contains(row), "{row}: {ablation}");
    }
    for id in [
        "2",
        "annotators",
        "paired",
        "figure-4",
        "figure-5",
        "transitions",
        "conditions",
        "perfect",
        "same-task",
        "routes",
        "items",
        "reliability",
        "judges",
        "coverage",
    ] {
        table(&printed, id);
    }
    assert_eq!(table(&printed, "same-task")["rows"][0]["pairs"], 4, "{}", table(&printed, "same-task"));
    // The same ledgers give the same bytes, and the files are what is printed.
    assert_eq!(analyze(&[]).out, analyze(&[]).out);
    let tables = place.scratch.path().join("study/tables");
    let written: Value = serde_json::from_slice(&fs::read(tables.join("tables.json")).expect("tables")).expect("JSON");
    assert_eq!(written, printed);
    assert!(tables.join("table-figure-5.csv").is_file());
    let text = place.works(&["analyze", &out, "--table", "3,scores"]).out;
    assert!(text.contains("Table 3") && !text.contains("Table 4"), "{text}");

    let wrong = place.gcpc(&["analyze", &out, "--table", "9"]);
    assert!(wrong.code == 2 && wrong.err.contains("figure-4"), "{}", wrong.err);
    let judge = place.gcpc(&["analyze", &out, "--primary-judge", "openai/nobody"]);
    assert!(judge.code == 3 && judge.err.contains("openai/nobody"), "{}", judge.err);
    fs::write(&people, "annotator,kind,log,other,item,value\nada,rating,run-1-1,,,11\n").expect("written");
    let rated = place.gcpc(&["analyze", &out, "--annotations", &people]);
    assert!(rated.code == 3 && rated.err.contains("people.csv") && rated.err.contains('2'), "{}", rated.err);
}
