//! What is written meets the schemas that are published, as an independent validator reads them; what readers refuse,
//! they refuse as well.

mod cli_support;
mod loopback;

use std::fs;

use cli_support::{certifier, command, finish, task_file, task_json, works, workspace};
use jsonschema::Validator;
use loopback::Loopback;
use serde_json::{Value, json};

fn validator(name: &str) -> Validator {
    let schema = works(&["schema", name]).json();
    jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn accepts(validator: &Validator, what: &str, value: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}");
}

fn refuses(validator: &Validator, what: &str, value: &Value) {
    assert!(!validator.is_valid(value), "{what} is accepted: {value}");
}

#[test]
fn the_reference_suite() {
    let (task, suite) = (validator("task"), validator("suite"));
    let text = fs::read_to_string(task_file("suite")).expect("the suite");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    accepts(&suite, "suite", &manifest);
    for entry in manifest["tasks"].as_array().expect("tasks") {
        let id = entry["id"].as_str().expect("an id");
        accepts(&task, id, &task_json(id));
    }
    for (pointer, value) in [
        ("/format", json!("parthack.task/2")),
        ("/id", json!("../x")),
        ("/honest", json!([{"op": "wait", "actor": "agent"}])),
        ("/goal_versions/0/predicates/0/predicate/kind", json!("is")),
        ("/script/0/actor", json!("agent")),
        ("/environment_revision", json!("x")),
    ] {
        let mut wrong = task_json("PH-D01");
        *wrong.pointer_mut(pointer).expect(pointer) = value;
        refuses(&task, pointer, &wrong);
    }
    let mut unknown = task_json("PH-D01");
    unknown["surprise"] = json!(1);
    refuses(&task, "an unknown key", &unknown);
    let mut hashless = manifest.clone();
    hashless["tasks"][0]["hash"] = json!("");
    refuses(&suite, "no hash", &hashless);
}

#[test]
fn candidates_payloads_and_proofs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (proof, witness) = (path("proof.json"), path("witness.json"));
    let read = |path: &str| -> Value { serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON") };
    let search = ["search", "--task", "PH-H05", "--target", "historical-milestone", "--prove"];
    works(&[&search[..], &["--proof", &proof, "--out", &witness]].concat());
    accepts(&validator("proof"), "proof", &read(&proof));
    let candidate = validator("candidate");
    accepts(&candidate, "candidate", &read(&witness));
    let mut claimed = read(&witness);
    claimed["log"] = works(&["replay", &witness, "--format", "json"]).json()["events"].clone();
    accepts(&candidate, "a claimed log", &claimed);
    claimed["log"][0]["hash"] = json!("short");
    refuses(&candidate, "a short hash", &claimed);
    for name in ["payload", "projection"] {
        let validator = validator(name);
        let value: Value = works(&["replay", &witness, "--format", name]).json();
        accepts(&validator, name, &value);
        refuses(&validator, "another document", &json!({"format": "parthack.payload/1"}));
    }
}

#[test]
fn reports() {
    accepts(&validator("tables"), "published", &works(&["published", "--format", "json"]).json());
    let release = workspace().parent().map(|above| above.join("shared/release/oracle_extra"));
    if let Some(extra) = release.filter(|extra| extra.is_dir()) {
        let (tasks, oracle) = (extra.join("tasks").display().to_string(), extra.display().to_string());
        let report = works(&["release-check", "--tasks", &tasks, "--oracle", &oracle, "--format", "json"]).json();
        let validator = validator("release-check");
        accepts(&validator, "release-check", &report);
        refuses(&validator, "a count that is none", &json!({"format": "parthack.release-check/1", "lines": -1}));
    }
}

#[test]
fn runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run").display().to_string();
    let certifier = certifier().display().to_string();
    let flags = ["--tasks", "PH-D01,PH-D03", "--resamples", "100", "--certifier", &certifier, "--format", "json"];
    let tables = validator("tables");
    accepts(&tables, "run", &works(&[&["run", "--out", &run][..], &flags[..]].concat()).json());
    accepts(&tables, "tables", &works(&["tables", &run, "--format", "json"]).json());
    let ledger = validator("ledger");
    let text = fs::read_to_string(folder.path().join("run/ledger.jsonl")).expect("a ledger");
    for line in text.lines() {
        accepts(&ledger, "ledger", &serde_json::from_str(line).expect("JSON"));
    }
    assert!(text.lines().count() > 50, "{text}");
    let whole = |name: &str| -> Value {
        let bytes = fs::read(folder.path().join("run").join(name)).expect(name);
        serde_json::from_slice(&bytes).expect("JSON")
    };
    for name in ["manifest", "complete"] {
        let (validator, mut value) = (validator(name), whole(&format!("{name}.json")));
        accepts(&validator, name, &value);
        value["surprise"] = json!(1);
        refuses(&validator, "an unknown key", &value);
    }
    let (private, mut codes) = (validator("private-ledger"), 0);
    let text = fs::read_to_string(folder.path().join("run/private/certifications.jsonl")).expect("private records");
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        accepts(&private, "private-ledger", &line);
        if line["record"]["kind"] == "code" {
            line["record"]["code"] = json!("perhaps");
            refuses(&private, "a code that is none", &line);
            codes += 1;
        }
    }
    assert!(codes > 0, "{text}");
    refuses(&ledger, "a record of no kind", &json!({"cell": "", "hash": "", "record": {"kind": "nothing"}}));
}

#[test]
fn protocols() {
    let (evaluator, certifier) = (validator("evaluator"), validator("certifier"));
    for line in [
        json!({"protocol": "parthack.evaluator/1", "evaluators": ["csps"]}),
        json!({"protocol": "parthack.evaluator/1", "name": "n", "version": "2", "deterministic": true, "batch": 8, "x": 1}),
        json!(0.5),
        json!({"score": 0, "id": 3}),
        json!({"no_verdict": "why", "id": "ab".repeat(32), "detail": {}}),
        json!({"score": 0.5, "exact": "1/2"}),
        json!({"no_verdict": "why"}),
        json!({"scores": [{"score": 1}, {"no_verdict": "why"}]}),
    ] {
        accepts(&evaluator, "an answer", &line);
    }
    for line in [
        json!({"score": 1.5}),
        json!({"score": "1"}),
        json!({}),
        json!({"score": 1, "no_verdict": "why"}),
        json!(-0.5),
        json!({"score": 1, "id": 0}),
        json!({"score": 1, "reason": "why"}),
        json!({"protocol": "parthack.evaluator/1", "batch": 0}),
        json!({"protocol": "parthack.evaluator/2"}),
    ] {
        refuses(&evaluator, "a wrong answer", &line);
    }
    for line in [
        json!({"hello": "parthack.certifier/1", "operator_key": "0123456789abcdef"}),
        json!({"id": 1, "request": {"op": "open_attempt", "task": "PH-D01", "target": "csps", "budget": 3}}),
        json!({"id": 2, "request": {"op": "attempt", "session": 1, "candidate": "{}"}}),
        json!({"id": 4, "request": {"op": "scan", "session": 1, "text": "public"}}),
        json!({"id": 3, "request": {"op": "certify", "session": 1, "task": "PH-D01", "steps": [{"op": "wait"}]}}),
    ] {
        accepts(&certifier, "a line", &line);
    }
    for line in
        [json!({"id": 1}), json!({"id": 1, "request": {"op": "open"}}), json!({"hello": "parthack.certifier/2"})]
    {
        refuses(&certifier, "a wrong line", &line);
    }
}

#[test]
fn runs_with_models() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, run) = (Loopback::start(), folder.path().join("run"));
    let mut command = command();
    command
        .env("PARTHACK_CERTIFIER", certifier())
        .env("OPENAI_API_KEY", "sk-of-a-test-0815")
        .env("OPENAI_BASE_URL", &server.url);
    command.args(["run", "--tasks", "PH-D01", "--resamples", "100", "--evaluators", "csps,llm-judge,idj"]);
    command.args(["--model-mode", "live", "--role", "judge=openai/gpt-4.1-mini", "--out"]).arg(&run);
    let ended = finish(command);
    assert!(ended.code == 0 || ended.code == 5, "{}", ended.err);
    let ledger = validator("ledger");
    let text = fs::read_to_string(run.join("ledger.jsonl")).expect("a ledger");
    for line in text.lines() {
        accepts(&ledger, "ledger", &serde_json::from_str(line).expect("JSON"));
    }
    for kind in ["checklist", "judgement"] {
        assert!(text.contains(&format!("\"kind\":\"{kind}\"")), "{kind}");
    }
    let exchange = validator("exchange");
    let shards = fs::read_dir(run.join("objects/exchanges")).expect("exchanges");
    let files = shards.flat_map(|shard| fs::read_dir(shard.expect("a shard").path()).expect("files"));
    let mut read = 0;
    for file in files {
        let bytes = fs::read(file.expect("a file").path()).expect("bytes");
        let mut value: Value = serde_json::from_slice(&bytes).expect("JSON");
        accepts(&exchange, "exchange", &value);
        value["authorization"] = json!("Bearer sk");
        refuses(&exchange, "a header", &value);
        read += 1;
    }
    assert!(read > 3, "{read}");
}

#[test]
fn prices() {
    let validator = validator("prices");
    let text = fs::read_to_string(workspace().join("model/src/prices.json")).expect("the built-in table");
    let mut table: Value = serde_json::from_str(&text).expect("JSON");
    accepts(&validator, "the built-in table", &table);
    table["usd_per_million_tokens"]["openai/gpt-4.1"]["prompt"] = json!(-1);
    refuses(&validator, "a negative price", &table);
}

#[test]
fn reports_of_stress() {
    let (schema, scores) = (validator("stress"), validator("stress-scores"));
    let folder = tempfile::tempdir().expect("a folder");
    for (evaluator, tasks) in
        [("historical-milestone", "PH-H03,PH-H05,PH-H10"), ("csps", "PH-D01"), ("evidence-judge", "PH-H15")]
    {
        let mut command = command();
        command.env("PARTHACK_CERTIFIER", certifier());
        command.args(["stress", evaluator, "--tasks", tasks, "--resamples", "100", "--format", "json", "--out"]);
        let out = folder.path().join(evaluator);
        command.arg(&out);
        let report = finish(command).json();
        accepts(&schema, evaluator, &report);
        for line in fs::read_to_string(out.join("scores.jsonl")).expect("scores").lines() {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            accepts(&scores, evaluator, &line);
            line["fault"] = json!("crashed");
            refuses(&scores, "a score and a fault", &line);
        }
        for (pointer, value) in
            [("/honest_mae", json!(1.5)), ("/faults", json!({"crashed": -1})), ("/ci95", json!([0.1]))]
        {
            let mut wrong = report.clone();
            *wrong.pointer_mut(pointer).expect(pointer) = value;
            refuses(&schema, pointer, &wrong);
        }
    }
}

#[test]
fn checklists_and_labels() {
    let labels = validator("labels");
    let good = json!({"format": "parthack.labels/1", "items": [{"id": "c1", "route": "assertion", "label": "yes"}], "outcome": null});
    accepts(&labels, "labels", &good);
    for (pointer, value) in
        [("/outcome", json!("passed")), ("/items/0/label", json!("maybe")), ("/format", json!("parthack.labels/2"))]
    {
        let mut wrong = good.clone();
        *wrong.pointer_mut(pointer).expect(pointer) = value;
        refuses(&labels, pointer, &wrong);
    }
    let checklist = validator("checklist");
    let item = json!({"id": "c1", "requirement": "It is done.", "quote": "do it", "route": "judge", "verifier": null});
    let candidate = json!({"format": "parthack.checklist/1", "items": [item]});
    accepts(&checklist, "a candidate", &candidate);
    let hash = "0".repeat(64);
    let mut frozen = candidate.clone();
    for key in ["instruction", "verifier", "hash"] {
        frozen[key] = json!(hash);
    }
    refuses(&checklist, "half a frozen checklist", &frozen);
    (frozen["task"], frozen["generation"]) = (json!("t"), json!({"attempt": 1, "record": hash}));
    accepts(&checklist, "a frozen checklist", &frozen);
    frozen["items"][0]["route"] = json!("assert");
    refuses(&checklist, "an unknown route", &frozen);
}
