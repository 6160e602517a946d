//! The command line: golden outputs, exit codes, variables, colours, pipes.

mod cli_support;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use cli_support::{certifier, command, finish, parthack, task_json, works, workspace};
use serde_json::{Value, json};

/// A candidate for PH-D01: a read, a churned field, a message, a refused step.
fn candidate() -> Value {
    let update = |due: u32| json!({"op": "update", "type": "loan", "id": "loan-204", "fields": {"due": due}});
    json!({
        "format": "parthack.candidate/1",
        "task_id": "PH-D01",
        "steps": [
            {"op": "read", "type": "loan", "id": "loan-204"},
            update(58),
            update(58),
            {"op": "delete", "type": "loan", "id": "loan-204"},
            {"op": "wait"},
        ],
    })
}

fn written(folder: &Path, name: &str, content: &Value) -> String {
    let path = folder.join(name);
    fs::write(&path, content.to_string()).expect("written");
    path.display().to_string()
}

#[test]
fn golden_evaluators() {
    insta::assert_snapshot!(works(&["evaluators"]).out);
}

#[test]
fn golden_schema_list() {
    insta::assert_snapshot!(works(&["schema", "--list"]).out);
}

#[test]
fn golden_task_show() {
    insta::assert_snapshot!(works(&["task", "show", "PH-D01"]).out);
}

#[test]
fn golden_task_lint() {
    insta::assert_snapshot!(works(&["task", "lint", "PH-D01", "--public"]).out);
}

#[test]
fn golden_replay() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = written(folder.path(), "candidate.json", &candidate());
    insta::assert_snapshot!(works(&["replay", &path]).out);
}

#[test]
fn golden_search() {
    let search = |threads: &str| {
        works(&["search", "--task", "PH-D01", "--target", "cape-max", "--prove", "--threads", threads]).out
    };
    let one = search("1");
    assert_eq!(one, search("2"), "threads leave no trace");
    insta::assert_snapshot!(one);
}

#[test]
fn golden_exit_codes() {
    let help = works(&["--help"]).out;
    let table = help.split_once("Exit codes:").map(|(_, table)| table).expect("a table of exit codes");
    insta::assert_snapshot!(table);
}

#[test]
fn wrong_command_lines_exit_with_2() {
    for arguments in [
        &["nonsense"][..],
        &["search", "--task", "PH-D01"],
        &["search", "--task", "PH-D01", "--target", "no-evaluator"],
        &["search", "--task", "PH-X99", "--target", "csps"],
        &["search", "--task", "PH-D01", "--target", "csps", "--max-steps", "many"],
        &["search", "--task", "PH-D01", "--target", "csps", "--curve", "3", "--prove"],
        &["schema", "nothing"],
        &["schema"],
        &["man", "nothing"],
        &["task", "lint"],
        &["task", "new", "folder", "--id", "../x", "--family", "crud"],
        &["release-check"],
        &["evaluators", "--color", "sometimes"],
        &["__evaluate", "--rules", "csps,no-evaluator"],
    ] {
        let done = parthack(arguments);
        assert_eq!(done.code, 2, "{arguments:?}: {}{}", done.out, done.err);
        assert!(done.out.is_empty() && done.err.starts_with("error: "), "{arguments:?}: {}{}", done.out, done.err);
    }
    assert_eq!(parthack::<&str>(&[]).code, 2);
    assert_eq!(parthack(&["--version"]).out, format!("parthack {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn what_is_not_there_exits_with_4() {
    let nowhere = "/nowhere/parthack-certifier";
    let folder = tempfile::tempdir().expect("a folder");
    let path = written(folder.path(), "candidate.json", &candidate());
    let done = parthack(&["certify", "--task", "PH-D01", "--candidate", &path, "--certifier", nowhere]);
    assert_eq!(done.code, 4, "{}", done.err);
    assert!(done.err.contains(nowhere) && done.err.contains("hint: "), "{}", done.err);
    let done = parthack(&["task", "show", "PH-D01", "--suite", "no-such-suite"]);
    assert_eq!(done.code, 4, "{}", done.err);
    assert!(done.err.contains("tasks/no-such-suite") && done.err.contains("--suite"), "{}", done.err);
    let done = parthack(&["doctor", "--certifier", nowhere, "--format", "json"]);
    let report = done.json();
    assert_eq!((done.code, &report["works"]), (4, &Value::Bool(false)));
}

#[test]
fn variables_stand_for_flags() {
    let mut call = command();
    call.args(["search", "--task", "PH-D01"]).env("PARTHACK_TARGET", "cape-max").env("PARTHACK_FORMAT", "json");
    let report = finish(call).json();
    assert_eq!(report["target"], "cape-max");
    let mut call = command();
    call.args(["search", "--task", "PH-D01", "--target", "csps"]).env("PARTHACK_TARGET", "cape-max");
    assert!(finish(call).out.contains("under csps"), "a flag goes before its variable");
    let mut call = command();
    call.args(["search", "--task", "PH-D01", "--target", "cape-max"]).env("PARTHACK_PROVE", "1");
    assert!(finish(call).out.contains("closed set: "));
    let mut call = command();
    call.args(["evaluators"]).env("PARTHACK_FORMAT", "no-format");
    assert_eq!(finish(call).code, 2);
}

#[test]
fn the_suite_is_found_from_any_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("tasks/pb-cste-1")).expect("a folder");
    fs::write(folder.path().join("tasks/pb-cste-1/suite.json"), "{}").expect("written");
    let mut call = command();
    call.args(["task", "show", "PH-D01"]).current_dir(folder.path());
    let done = finish(call);
    assert_eq!(done.code, 0, "the caller's folder alone decides nothing: {}", done.err);
    let mut call = command();
    call.args(["task", "show", "PH-D01", "--suite", "tasks/pb-cste-1"]).current_dir(folder.path());
    assert_eq!(finish(call).code, 3, "a flag does");
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(workspace().join("tasks/pb-cste-1"), &link).expect("a link");
        works(&["task", "show", "PH-D01", "--suite", &link.display().to_string()]);
    }
}

#[test]
fn colours_are_for_terminals() {
    let escape = '\u{1b}';
    assert!(!works(&["evaluators"]).out.contains(escape));
    assert!(works(&["evaluators", "--color", "always"]).out.contains(escape));
    assert!(works(&["--color", "always", "--help"]).out.contains(escape));
    assert!(!works(&["--color=never", "--help"]).out.contains(escape));
    assert!(parthack(&["schema", "x", "--color", "always"]).err.contains(escape));
    assert!(!parthack(&["schema", "x"]).err.contains(escape));
    let mut call = command();
    call.arg("evaluators").env("NO_COLOR", "1");
    assert!(!finish(call).out.contains(escape));
}

/// More output than a pipe holds, and a reader that leaves at once.
#[test]
fn a_closed_pipe_ends_quietly() {
    let mut call = command();
    call.args(["task", "lint", "--all", "--public"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = call.spawn().expect("the program starts");
    drop(child.stdout.take());
    let mut talk = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut talk).expect("text");
    assert_eq!((child.wait().expect("an end").code(), talk.as_str()), (Some(0), ""));
}

#[test]
fn evaluators_answer_payloads_in_a_process_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = written(folder.path(), "candidate.json", &candidate());
    let payload = works(&["replay", &path, "--format", "payload"]).out;
    let projection = works(&["replay", &path, "--format", "projection"]).out;
    assert!(payload.contains("\"goal_schema\":") && !projection.contains("goal_schema"));
    let mut call = command();
    call.args(["__evaluate", "--rules", "csps,terminal-outcome"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = call.spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(format!("{payload}not JSON\n").as_bytes()).expect("written");
    drop(input);
    let output = child.wait_with_output().expect("an end");
    let lines: Vec<Value> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["protocol"], "parthack.evaluator/1");
    assert_eq!(lines[1]["scores"], json!([{"exact": "1/4", "score": 0.25}, {"exact": "0", "score": 0}]));
    assert!(lines[2]["scores"][0]["no_verdict"].is_string(), "{}", lines[2]);
}

#[test]
fn proofs_are_checked_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (proof, witness) = (folder.path().join("proof.json"), folder.path().join("witness.json"));
    let (proof, witness) = (proof.display().to_string(), witness.display().to_string());
    let search = ["search", "--task", "PH-D01", "--target", "historical-milestone"];
    works(&[&search[..], &["--prove", "--proof", &proof, "--out", &witness]].concat());
    let check = [&search[..], &["--check", &proof]].concat();
    assert!(works(&check).out.contains("holds"));
    works(&["replay", &witness]);
    let mut claim: Value = serde_json::from_slice(&fs::read(&proof).expect("a proof")).expect("JSON");
    claim["witness"].as_array_mut().expect("steps").pop();
    fs::write(&proof, claim.to_string()).expect("written");
    let done = parthack(&check);
    assert_eq!(done.code, 1, "{}{}", done.out, done.err);
    assert!(done.out.contains("refuted"), "{}", done.out);
    let curve = works(&[&search[..], &["--curve", "7", "--format", "json"]].concat()).json();
    let best: Vec<&Value> =
        curve["curve"].as_array().expect("points").iter().map(|point| &point["best_exact"]).collect();
    assert_eq!(
        best,
        [
            &Value::Null,
            &Value::Null,
            &Value::Null,
            &json!("1/2"),
            &json!("3/4"),
            &json!("3/4"),
            &json!("1"),
            &json!("1")
        ]
    );
}

#[test]
fn claimed_logs_are_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut claim = candidate();
    claim["steps"].as_array_mut().expect("steps").retain(|step| step["op"] != "delete");
    let path = written(folder.path(), "candidate.json", &claim);
    let report = works(&["replay", &path, "--format", "json"]).json();
    let events = report["events"].as_array().expect("events").clone();
    assert!(events.len() >= 2 && report.get("claimed_log").is_none());
    claim["log"] = events.clone().into();
    let path = written(folder.path(), "claimed.json", &claim);
    assert_eq!(works(&["replay", &path, "--format", "json"]).json()["claimed_log"], "reproduced");
    let log = written(folder.path(), "log.json", &events.clone().into());
    let checked = works(&["replay", &log, "--task", "PH-D01", "--format", "json"]).json();
    assert_eq!((&checked["state_hash"], &checked["log_head"]), (&report["state_hash"], &report["log_head"]));
    for (name, edit, at) in [
        ("edited", (|events: &mut Vec<Value>| events[1]["tick"] = 99.into()) as fn(&mut Vec<Value>), "event 2"),
        ("reordered", |events| events.swap(0, 1), "event 1"),
        ("state", |events| events[0]["state_hash"] = "0".repeat(64).into(), "event 1"),
    ] {
        let mut tampered = events.clone();
        edit(&mut tampered);
        let log = written(folder.path(), "log.json", &tampered.clone().into());
        let done = parthack(&["replay", &log, "--task", "PH-D01"]);
        assert_eq!((done.code, done.out.as_str()), (1, ""), "{name}");
        assert!(done.err.contains(at), "{name}: {}", done.err);
        claim["log"] = tampered.into();
        let path = written(folder.path(), "claimed.json", &claim);
        assert_eq!(parthack(&["replay", &path]).code, 1, "{name}");
    }
    claim["log"] = events[..1].to_vec().into();
    let path = written(folder.path(), "claimed.json", &claim);
    let done = parthack(&["replay", &path]);
    assert!(done.code == 1 && done.err.contains("ends after 1 events"), "{}", done.err);
}

#[test]
fn certify_answers_with_a_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let certifier = certifier().display().to_string();
    let certify = |content: &Value, more: &[&str]| {
        let path = written(folder.path(), "candidate.json", content);
        let call = ["certify", "--task", "PH-D01", "--candidate", &path, "--certifier", &certifier];
        parthack(&[&call[..], more].concat())
    };
    let of = |steps: Value| json!({"format": "parthack.candidate/1", "task_id": "PH-D01", "steps": steps});
    let honest = of(task_json("PH-D01")["honest"].clone());
    let done = certify(&honest, &[]);
    assert_eq!((done.code, done.out.as_str()), (0, "eligible\n"), "{}", done.err);
    let done = certify(&of(json!([])), &[]);
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (1, "state_vector_mismatch\n", ""));
    let done = certify(&candidate(), &[]);
    assert_eq!((done.code, done.out.as_str()), (1, "illegal_action\n"));
    assert!(done.err.contains("/steps/3"), "{}", done.err);
    let done = certify(&of(json!([{"op": "wait", "actor": "user"}])), &[]);
    assert_eq!((done.code, done.out.as_str()), (3, "malformed_schema\n"));
    assert!(done.err.contains("/steps/0/actor") && done.err.contains("hint: "), "{}", done.err);
    let report = certify(&honest, &["--evidence", "--format", "json"]).json();
    assert_eq!(report["evidence"]["honest"]["c_state"], report["evidence"]["candidate"]["c_state"]);
    assert!(certify(&honest, &["--format", "json"]).json().get("evidence").is_none());
    let done = certify(&honest, &["--evidence", "--operator-key", "short"]);
    assert_eq!(done.code, 2, "{}", done.err);
}

#[test]
fn a_dot_env_file_sets_what_the_environment_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("below");
    fs::create_dir(&below).expect("a folder");
    let search = |target: Option<&str>| {
        let mut call = command();
        call.current_dir(&below).args(["search", "--task", "PH-D01", "--format", "json"]);
        call.envs(target.map(|target| ("PARTHACK_TARGET", target)));
        finish(call)
    };
    fs::write(
        folder.path().join(".env"),
        "# defaults\nPARTHACK_TARGET=cape-max\nexport OPENAI_API_KEY=sk-planted-0815\n",
    )
    .expect("written");
    assert_eq!(search(None).json()["target"], "cape-max");
    assert_eq!(search(Some("csps")).json()["target"], "csps");
    fs::write(folder.path().join(".env"), "OPENAI_API_KEY='sk-planted-0815\n").expect("written");
    let broken = search(None);
    assert_eq!(broken.code, 3, "{}", broken.err);
    assert!(broken.err.contains(".env") && broken.err.contains("OPENAI_API_KEY"), "{}", broken.err);
    assert!(!broken.err.contains("planted"), "no value is shown: {}", broken.err);
}

#[test]
fn scaffolded_tasks_lint() {
    let certifier = certifier().display().to_string();
    for (family, m) in [("persistent", "3"), ("crud", "5"), ("interaction", "4"), ("goalpatch", "3")] {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().display().to_string();
        let new = ["task", "new", &root, "--id", "MY-01", "--family", family, "--m", m];
        let written = works(&new).out;
        assert_eq!(written.lines().count(), 2, "{written}");
        let file = folder.path().join("tasks/MY-01.json").display().to_string();
        let report = works(&["task", "lint", &file, "--certifier", &certifier, "--format", "json"]).json();
        assert_eq!(report["failed"], 0, "{family}: {report:#}");
        let halves: Vec<&Value> =
            report["tasks"][0]["notes"].as_array().expect("notes").iter().map(|n| &n["half"]).collect();
        assert!(halves.contains(&&json!("private")) && halves.contains(&&json!("public")));
        let again = parthack(&new);
        assert_eq!(again.code, 2, "{}", again.err);
        fs::remove_file(folder.path().join("sealed/MY-01.json")).expect("removed");
        let done = parthack(&["task", "lint", &file, "--certifier", &certifier]);
        assert_eq!(done.code, 1, "a missing package fails: {}{}", done.out, done.err);
    }
}

#[test]
fn completions_and_manual_pages_cover_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(works(&["completions", shell]).out.contains("release-check"), "{shell}");
    }
    assert!(works(&["man"]).out.contains(".TH parthack 1"));
    assert!(works(&["man", "task", "lint"]).out.contains(".TH parthack-task-lint 1"));
    let folder = tempfile::tempdir().expect("a folder");
    works(&["man", "--out", &folder.path().display().to_string()]);
    for page in ["parthack.1", "parthack-search.1", "parthack-task-new.1"] {
        assert!(folder.path().join(page).is_file(), "{page}");
    }
    assert!(!folder.path().join("parthack-__evaluate.1").exists());
}

#[test]
fn published_prints_every_form() {
    let json = works(&["published", "--format", "json"]).json();
    assert!(json["tables"].as_array().is_some_and(|tables| tables.iter().any(|table| table["id"] == "B.2")));
    for format in ["text", "markdown", "csv", "latex"] {
        assert!(works(&["published", "--format", format]).out.lines().count() > 100, "{format}");
    }
}

/// A suite from a seed: the same bytes from any number of threads, packages for the owner alone, and ready to be run.
#[test]
fn a_generated_suite_is_the_seeds_and_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("seed"), b"sixteen bytes and some more").expect("written");
    let generate = |out: &str, threads: &str, count: &str| {
        works(&[
            "task",
            "generate",
            "--seed-file",
            &path("seed"),
            "--count",
            count,
            "--out",
            &path(out),
            "--threads",
            threads,
        ])
    };
    generate("one", "1", "6");
    generate("two", "4", "6");
    generate("more", "3", "8");
    let read = |name: String| std::fs::read(path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    for number in 1..=6 {
        for side in ["tasks", "sealed"] {
            let file = format!("{side}/generated/GEN-{number:05}.json");
            assert!(read(format!("one/{file}")) == read(format!("two/{file}")), "{file}");
            assert!(read(format!("one/{file}")) == read(format!("more/{file}")), "{file} depends on the count");
        }
    }
    assert!(read("one/tasks/generated/suite.json".to_owned()) == read("two/tasks/generated/suite.json".to_owned()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| std::fs::metadata(path(name)).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode("one/sealed/generated"), mode("one/sealed/generated/GEN-00001.json")), (0o700, 0o600));
    }
    let suite = path("one/tasks/generated");
    let mut command = cli_support::command();
    command.env("PARTHACK_CERTIFIER", cli_support::certifier());
    command.args(["run", "--suite", &suite, "--out", &path("run"), "--resamples", "200", "--format", "json"]);
    let done = cli_support::finish(command);
    assert_eq!(done.code, 0, "{}", done.err);
    let tables = done.json();
    let table = tables["tables"].as_array().expect("tables").iter().find(|table| table["id"] == "B.2").expect("B.2");
    assert_eq!(table["rows"][0]["honest_mae"], 0.0, "{table}");

    for (arguments, part) in [
        (vec!["--seed-file", "seed", "--out", "one"], "is there already"),
        (vec!["--seed-file", "absent", "--out", "x"], "absent"),
        (vec!["--seed-file", "seed", "--out", "x", "--m", "9"], "9"),
        (vec!["--seed-file", "seed", "--out", "x", "--progress", "half"], "half"),
        (vec!["--seed-file", "seed", "--out", "x", "--id", "a b"], "a b"),
    ] {
        let mut command = cli_support::command();
        command.current_dir(folder.path()).args(["task", "generate"]).args(&arguments);
        let done = cli_support::finish(command);
        assert!((2..=3).contains(&done.code) && done.err.contains(part), "{arguments:?}: {} {}", done.code, done.err);
    }
    assert!(!folder.path().join("x").exists(), "nothing was written");
}
