//! `parthack stress` on good, bad and hostile evaluators.

mod cli_support;

use std::fs;
use std::path::Path;

use cli_support::{Done, certifier, command, finish, workspace};
use serde_json::{Value, json};

const TASKS: &str = "PH-H03,PH-H05,PH-H10";

fn stress(evaluator: &str, more: &[&str]) -> Done {
    let mut command = command();
    command.env("PARTHACK_CERTIFIER", certifier());
    command.args(["stress", evaluator, "--tasks", TASKS, "--resamples", "200", "--timeout", "5"]).args(more);
    finish(command)
}

/// A shell script as an evaluator; only what the shell itself can do.
fn script(folder: &Path, name: &str, body: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, body).expect("written");
    format!("exec:sh {}", path.display())
}

fn report(done: &Done) -> Value {
    let value = done.json();
    assert_eq!(value["format"], "parthack.stress/1", "{value}");
    value
}

#[test]
fn a_rule_as_a_program_gets_the_report_of_the_rule() {
    // The built-in rule, served by this program itself as anyone's would be.
    let served = format!("exec:{} __evaluate --rules historical-milestone", cli_support::PARTHACK);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("report");
    let out_text = out.display().to_string();
    let junit = folder.path().join("junit.xml").display().to_string();
    let done = stress(&served, &["--format", "json", "--out", &out_text, "--junit", &junit]);
    assert_eq!(done.code, 0, "{}", done.err);
    let mut program = report(&done);
    let built_in = stress("historical-milestone", &["--format", "json"]);
    assert_eq!(built_in.code, 0, "{}", built_in.err);
    let mut rule = report(&built_in);
    for value in [&mut program, &mut rule] {
        for key in ["evaluator", "isolation", "verdict"] {
            value.as_object_mut().expect("an object").remove(key).expect(key);
        }
    }
    assert_eq!(program, rule);
    assert_eq!((&rule["tasks"], &rule["honest_mae"], &rule["noise"]["differed"]), (&json!(3), &json!(0.0), &json!(0)));
    assert!(rule["mean_inflation"].as_f64().expect("a mean") > 0.2, "{rule}");
    assert_eq!(rule["rollback"]["least"], json!({"k": 0, "n": 2}), "a revised goal is out of the metric: {rule}");
    let relation = |id: &str| rule["relations"][id].clone();
    assert_eq!(
        (&relation("honest-gain")["violations"], &relation("claims-only")["violations"]),
        (&json!(0), &json!(0))
    );
    assert!(relation("equal-progress")["violations"].as_u64().expect("a count") > 0);
    assert_eq!(rule["faults"], json!({}));
    let written: Value = serde_json::from_slice(&fs::read(out.join("report.json")).expect("a report")).expect("JSON");
    assert_eq!(written["worst_pair"], rule["worst_pair"]);
    let side = fs::read_to_string(out.join("pairs/worst.txt")).expect("a pair");
    assert!(side.contains("score") && side.contains(" | "), "{side}");
    assert!(fs::read_to_string(&junit).expect("JUnit").contains("<testsuite "));
}

#[test]
fn rules_that_see_the_end_alone_are_not_moved() {
    let done = stress(
        "lightweight-cape",
        &["--format", "json", "--fail-on", "asr > 0", "--fail-on", "rollback < 1", "--fail-on", "mae > 0"],
    );
    let value = report(&done);
    assert_eq!(done.code, 0, "{value}");
    assert_eq!((&value["conditional_asr"], &value["rollback"]["detection_rate"]), (&json!(0.0), &json!(1.0)));
    for relation in value["relations"].as_object().expect("relations").values() {
        assert_eq!(relation["violations"], 0, "{value}");
    }
    assert!(stress("lightweight-cape", &[]).out.contains("rises on none of 3 certified equal-progress tasks"));
    let state = report(&stress("csps", &["--format", "json"]));
    assert_eq!(
        state["relations"]["attribution-swap"]["violations"], 1,
        "a rule of states alone credits others: {state}"
    );
}

#[test]
fn bars_decide_the_exit_code() {
    let broken = stress("historical-milestone", &["--fail-on", "asr > 0.1"]);
    assert!(broken.code == 1 && broken.out.contains("Bar asr > 0.1: FAILED"), "{}{}", broken.out, broken.err);
    let unknown = stress("historical-milestone", &["--fail-on", "luck > 0.1"]);
    assert!(unknown.code == 2 && unknown.err.contains("violations.RELATION"), "{}", unknown.err);
    let relation = stress("historical-milestone", &["--fail-on", "violations.nope > 0"]);
    let lists = relation.err.contains("\"nope\"") && relation.err.contains(", stale-goal");
    assert!(relation.code == 2 && lists, "{}", relation.err);
    let fault = stress("historical-milestone", &["--fail-on", "fault.nope > 0"]);
    assert!(fault.code == 2 && fault.err.contains("timed_out"), "{}", fault.err);
    let aliases =
        stress("historical-milestone", &["--fail-on", "conditional_asr > 0.1", "--fail-on", "rollback.all < 1"]);
    assert!(aliases.code == 1 && aliases.out.contains("Bar conditional_asr > 0.1: FAILED"), "{}", aliases.err);
    // A suite's task without a rollback: nothing fails, and nothing passes.
    let folder = tempfile::tempdir().expect("a folder");
    let junit = folder.path().join("junit.xml");
    let mut void = command();
    void.env("PARTHACK_CERTIFIER", certifier()).args(["stress", "csps", "--tasks", "PH-H03", "--resamples", "200"]);
    void.args(["--fail-on", "rollback < 1", "--junit"]).arg(&junit);
    let void = finish(void);
    assert_eq!(void.code, 0, "{}{}", void.out, void.err);
    assert!(
        void.out.contains("Bar rollback < 1: not measured") && void.err.contains("note: --fail-on"),
        "{}",
        void.err
    );
    let junit = fs::read_to_string(&junit).expect("JUnit");
    let skipped = "name=\"rollback &lt; 1\"><skipped message=\"not measured";
    assert!(junit.contains(skipped) && junit.contains("errors=\"0\""), "{junit}");
    for judge in ["llm-judge", "idj", "gcpc"] {
        let done = stress(judge, &[]);
        assert!(done.code == 2 && done.err.contains("parthack run --targets"), "{}", done.err);
    }
    let nobody = stress("no-such-evaluator", &[]);
    assert!(nobody.code == 2 && nobody.err.contains("exec:'COMMAND'"), "{}", nobody.err);
    let absent = stress("exec:./no-such-file", &[]);
    assert!(absent.code == 2 && absent.err.contains("no such file"), "{}", absent.err);
}

/// Salts of commitments and the suite's key may lie in the folder of a program: it can't read them.
#[test]
fn a_program_sees_neither_salts_nor_keys_beside_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = fs::read_to_string(workspace().join("sealed/pb-cste-1/suite.key")).expect("a key");
    fs::create_dir(folder.path().join("keys")).expect("a folder");
    let salts = "{\"commitments\":\"aa\",\"format\":\"parthack.reveal/1\",\"tasks\":[]}\n";
    fs::write(folder.path().join("keys/my.salts"), salts).expect("written");
    fs::write(folder.path().join("keys/note"), format!("key={key}")).expect("written");
    fs::write(folder.path().join("keys/open"), "open\n").expect("written");
    let body = "for name in my.salts note open; do\n\
                if read -r text < keys/$name && [ -n \"$text\" ]; then echo \"read $name\" >&2; fi\ndone\n\
                exit 7\n";
    let evaluator = script(folder.path(), "curious.sh", body);
    let mut call = command();
    call.env("PARTHACK_CERTIFIER", certifier()).env("PARTHACK_SUITE_KEY", key.trim());
    call.args(["stress", &evaluator, "--tasks", "PH-H03", "--resamples", "200", "--timeout", "5"]);
    let done = finish(call);
    let said = format!("{}{}", done.out, done.err);
    assert!(said.contains("read open"), "{said}");
    assert!(!said.contains("read my.salts") && !said.contains("read note"), "{said}");
}

#[test]
fn a_report_gives_way_and_files_beside_it_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    assert_eq!(stress("historical-milestone", &["--out", &out]).code, 0);
    let pairs = folder.path().join("pairs");
    assert!(pairs.join("worst.txt").is_file() && pairs.join("worst-first.json").is_file());
    fs::write(pairs.join("my-notes.txt"), "mine").expect("written");
    assert_eq!(stress("lightweight-cape", &["--out", &out]).code, 0);
    assert!(!pairs.join("equal-progress.txt").exists(), "of the earlier report");
    assert_eq!(fs::read_to_string(pairs.join("my-notes.txt")).expect("kept"), "mine");
}

#[test]
fn variables_are_kept_by_name() {
    let done = stress("exec:sh", &["--keep-env", "A=B"]);
    assert!(done.code == 2 && done.err.contains("names only"), "{}", done.err);
}

/// Every fault has its code, ends the run in 5, and never becomes a score.
#[test]
fn hostile_programs_are_survived() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, body, fault) in [
        ("silent", "while :; do read -r line; done", "timed_out"),
        ("dies", "exit 3", "crashed"),
        ("words", "while read -r line; do echo hello; done", "wrong_line"),
        ("nan", "while read -r line; do echo NaN; done", "not_finite"),
        ("large", "while read -r line; do echo 1.2; done", "out_of_range"),
        ("bytes", "while read -r line; do printf '\\377\\376\\n'; done", "wrong_line"),
        ("twice", "while read -r line; do echo 0.5; echo 0.6; done", "unsolicited"),
        ("cites", "while read -r line; do echo '{\"score\":0.5,\"cites\":[\"/nowhere\"]}'; done", "bad_cite"),
        ("long", "while :; do printf '%0100000d' 0; done", "too_long"),
        ("flood", "while :; do echo 0.5; done", "flood"),
        ("closed", "exec 1>&-; while read -r line; do :; done", "ended_early"),
        ("forks", "while read -r line; do ( echo 0.5 ) & wait; done", "crashed"),
        ("eats", "x=0123456789; while :; do x=$x$x; done", "crashed"),
        ("order", "while read -r line; do echo '{\"id\":7,\"score\":0.5}'; done", "out_of_order"),
        (
            "deep",
            "x='['; i=0; while [ $i -lt 12 ]; do x=$x$x; i=$((i+1)); done; while read -r line; do echo \"$x\"; done",
            "wrong_line",
        ),
    ] {
        let evaluator = script(folder.path(), name, body);
        let timeout = if matches!(name, "silent" | "closed") { "1" } else { "3" };
        let mut command = command();
        command.env("PARTHACK_CERTIFIER", certifier());
        command.args([
            "stress",
            &evaluator,
            "--tasks",
            "PH-H10",
            "--resamples",
            "200",
            "--repeats",
            "0",
            "--format",
            "json",
            "--memory",
            "64",
        ]);
        command.args(["--timeout", timeout]);
        let done = finish(command);
        let value = report(&done);
        assert_eq!(done.code, 5, "{name}: {value} {}", done.err);
        let faults = value["faults"].as_object().expect("faults");
        assert!(faults.contains_key(fault), "{name}: {faults:?} {}", done.err);
        let missing: u64 = faults.values().filter_map(Value::as_u64).sum();
        assert_eq!(value["no_verdict"].as_u64(), Some(missing), "{name}: {value}");
    }
}

/// What a program said before it failed stands beside its fault: on the terminal, in the folder, in JUnit.
#[test]
fn what_a_program_said_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "read -r line; printf 'Traceback\\n  \\033[31mValueError: <no goal>\\n' >&2; exit 1";
    let evaluator = script(folder.path(), "raises", body);
    let (out, junit) = (folder.path().join("report"), folder.path().join("junit.xml"));
    let done = stress(&evaluator, &["--out", &out.display().to_string(), "--junit", &junit.display().to_string()]);
    assert_eq!(done.code, 5, "{}", done.err);
    let told = "first fault of kind crashed: it ended with exit code 1 before it answered\n  | Traceback\n  |   \\u{1b}[31mValueError: <no goal>\n";
    assert!(done.err.contains(told), "{}", done.err);
    assert!(fs::read_to_string(out.join("faults.txt")).expect("faults").starts_with(told));
    let junit = fs::read_to_string(&junit).expect("JUnit");
    assert!(junit.contains(" errors=\"2\"") && junit.contains("<error type=\"crashed\""), "{junit}");
    assert!(
        !junit.contains("0 of 0") && junit.contains("<skipped message=\"none of 3 pairs has two scores\"/>"),
        "{junit}"
    );
    let (_, said) = junit.split_once("<system-err>").expect("what it said");
    assert!(said.contains("\n  | Traceback\n  |   \\u{1b}[31mValueError: &lt;no goal&gt;\n"), "{junit}");
}

/// What a program must not reach it can't: sealed packages, other people's files, the process that started it, the network.
#[test]
fn programs_are_confined() {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = std::env::temp_dir().join(format!("parthack-written-by-an-evaluator-{}", std::process::id()));
    let sealed = workspace().join("sealed/pb-cste-1/PH-H10.sealed");
    assert!(sealed.is_file(), "{}", sealed.display());
    let body = format!(
        "kill -9 $PPID; echo x > '{}'; while read -r line; do if read -r secret < '{}'; then echo 1; else echo '{{\"no_verdict\":\"unread\"}}'; fi; done",
        outside.display(),
        sealed.display()
    );
    let evaluator = script(folder.path(), "thief", &body);
    let done = stress(&evaluator, &["--format", "json"]);
    let value = report(&done);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!((&value["faults"], &value["no_verdict"]), (&json!({}), &value["payloads"]), "{value}");
    assert!(!outside.exists(), "{}", outside.display());
    let isolation = value["isolation"].as_str().expect("a text");
    assert!(isolation.contains("tier") && isolation.contains("probes inside it were blocked"), "{isolation}");
    let unknown = stress(&evaluator, &["--require-sandbox", "4"]);
    assert!(unknown.code == 2 && unknown.err.contains("no tier 4"), "{}", unknown.err);
    let weak = stress(&evaluator, &["--require-sandbox", "1"]);
    assert!(weak.code == 2 && weak.err.contains("--accept-degraded"), "{}", weak.err);
}

/// An endpoint is asked as a program is.
#[test]
fn endpoints_are_asked() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/score?key=planted-key", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { continue };
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let mut chunk = [0; 65_536];
                let complete = |bytes: &[u8]| {
                    let text = String::from_utf8_lossy(bytes).into_owned();
                    let (head, body) = text.split_once("\r\n\r\n")?;
                    let length = head.lines().find_map(|line| {
                        line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned)
                    })?;
                    (body.len() >= length.parse::<usize>().ok()?).then_some(())
                };
                while let Ok(read @ 1..) = connection.read(&mut chunk) {
                    bytes.extend_from_slice(&chunk[..read]);
                    if complete(&bytes).is_some() {
                        bytes.clear();
                        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{\"score\":0.5}";
                        let _ = connection.write_all(answer.as_bytes());
                    }
                }
            });
        }
    });
    let done = stress(&url, &["--format", "json"]);
    let value = report(&done);
    assert_eq!(
        (done.code, &value["faults"], &value["mean_inflation"]),
        (0, &json!({}), &json!(0.0)),
        "{value} {}",
        done.err
    );
    assert!(!done.out.contains("planted-key") && !done.err.contains("planted-key"), "{}{}", done.out, done.err);
    let nobody = stress("http://127.0.0.1:9/score", &["--format", "json"]);
    assert_eq!(nobody.code, 5, "{}", nobody.err);
    assert!(report(&nobody)["faults"]["http_unreachable"].as_u64().is_some_and(|faults| faults >= 8), "{}", nobody.out);
}

#[test]
fn no_verdict_is_no_fault_and_stays_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let evaluator = script(folder.path(), "unsure", "while read -r line; do echo '{\"no_verdict\":\"unsure\"}'; done");
    let done = stress(&evaluator, &["--format", "json"]);
    let value = report(&done);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!((&value["faults"], &value["no_verdict"]), (&json!({}), &value["payloads"]));
    assert!(value["mean_inflation"].is_null() && value["honest_mae"].is_null() && value["conditional_asr"].is_null());
    assert_eq!(stress(&evaluator, &["--fail-on", "asr > 0.1"]).code, 1, "what was not measured was not passed");
}

#[test]
fn noise_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "i=0; while read -r line; do i=$((i+1)); echo 0.$((i % 10)); done";
    let value = report(&stress(&script(folder.path(), "drifts", body), &["--format", "json", "--repeats", "2"]));
    assert_eq!(value["noise"]["repeated"], 6);
    assert!(
        value["noise"]["differed"].as_u64().expect("a count") > 0
            && value["noise"]["largest"].as_f64().expect("a number") > 0.0
    );
    let never = report(&stress(&script(folder.path(), "never", "exit 1"), &["--format", "json"]));
    let nothing = json!({"asked": 3, "repeated": 0, "differed": 0, "largest": null});
    assert_eq!(never["noise"], nothing, "where nothing was scored, nothing was compared");
}

/// A crash that does not come back leaves no fault, but a trace.
#[test]
fn restarts_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "i=0; while read -r line; do i=$((i+1)); [ $i -eq 4 ] && exit 7; echo 0.5; done";
    let evaluator = script(folder.path(), "falters", body);
    let done = stress(&evaluator, &["--format", "json", "--workers", "1", "--fail-on", "restarts > 0"]);
    let value = report(&done);
    assert_eq!((done.code, &value["faults"]), (1, &json!({})), "{}", done.err);
    assert!(value["restarts"]["crashed"].as_u64().is_some_and(|count| count > 0), "{value}");
    assert!(done.err.contains("note: crashed among several payloads"), "{}", done.err);
}

/// A rollback pair without a verdict is neither detected nor missed.
#[test]
fn rollbacks_without_a_verdict_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let evaluator = script(folder.path(), "unsure", "while read -r line; do echo '{\"no_verdict\":\"unsure\"}'; done");
    let value = report(&stress(&evaluator, &["--format", "json"]));
    assert_eq!(value["rollback"]["least"], json!({"k": 0, "n": 2}), "{value}");
    assert_eq!(value["rollback"]["no_verdict"]["least"], 2, "{value}");
    let sets = report(&stress("csps", &["--format", "json"]))["rollback"]["no_verdict"].clone();
    assert_eq!(sets, json!({"least": 0, "all": 0, "deepest": 0}));
}

/// A folder holds one report: what an earlier one left gives way, and other people's files are let alone.
#[test]
fn a_folder_holds_one_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("report");
    let into = |evaluator: &str, place: &Path| stress(evaluator, &["--out", &place.display().to_string()]);
    let falls = script(folder.path(), "falls", "exit 1");
    assert_eq!(into("historical-milestone", &out).code, 0);
    assert!(out.join("pairs/worst.txt").is_file() && out.join("pairs/equal-progress.txt").is_file());
    assert_eq!(into(&falls, &out).code, 5);
    assert!(!out.join("pairs/worst.txt").exists() && out.join("faults.txt").is_file());
    assert_eq!(into("lightweight-cape", &out).code, 0);
    assert!(!out.join("faults.txt").exists() && !out.join("pairs/equal-progress.txt").exists());
    for (name, text) in [("report.json", "{\"format\":\"mine\"}"), ("notes.txt", "mine")] {
        let foreign = folder.path().join(format!("with-{name}"));
        fs::create_dir(&foreign).expect("a folder");
        fs::write(foreign.join(name), text).expect("written");
        let done = into("csps", &foreign);
        assert!(done.code == 2 && done.err.contains("holds no earlier report"), "{}", done.err);
        assert_eq!(fs::read_to_string(foreign.join(name)).expect(name), text);
    }
    let file = into("csps", &folder.path().join("falls"));
    assert!(file.code == 4 && file.err.contains("--out") && !file.err.contains("--resume"), "{}", file.err);
    let junit = folder.path().join("absent/junit.xml").display().to_string();
    let done = stress("csps", &["--junit", &junit]);
    assert!(done.code == 4 && done.err.contains("--junit") && !done.err.contains("--resume"), "{}", done.err);
}

/// Every payload leaves its score, or why it has none.
#[test]
fn every_payload_leaves_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = |evaluator: &str, name: &str| -> Vec<Value> {
        let out = folder.path().join(name);
        stress(evaluator, &["--out", &out.display().to_string()]);
        let text = fs::read_to_string(out.join("scores.jsonl")).expect("scores");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let scored = lines("historical-milestone", "rule");
    let payloads = report(&stress("historical-milestone", &["--format", "json"]))["payloads"].as_u64();
    assert_eq!(u64::try_from(scored.len()).ok(), payloads);
    assert!(scored.iter().all(|line| line["exact"].is_string() && line["score"].is_number()), "{scored:?}");
    let honest: Vec<&Value> = scored
        .iter()
        .filter(|line| line["what"].as_array().is_some_and(|what| what.contains(&json!("honest"))))
        .collect();
    assert_eq!(honest.len(), 3);
    assert!(honest.iter().all(|line| line["again"][0]["exact"] == line["exact"]), "{honest:?}");
    let failed = lines(&script(folder.path(), "falls", "exit 1"), "program");
    assert_eq!(failed.len(), scored.len());
    for (failed, scored) in failed.iter().zip(&scored) {
        assert_eq!((&failed["payload"], &failed["task"]), (&scored["payload"], &scored["task"]));
        assert!(failed["fault"] == "crashed" || failed["fault"] == "given_up", "{failed}");
    }
}

/// A command of two lines is one name, and its sentence one line.
#[test]
fn names_stay_on_one_line() {
    let done = stress("exec:sh -c 'while read -r line\ndo echo 0.5\ndone'", &[]);
    assert_eq!(done.code, 0, "{}", done.err);
    let verdict = done.out.lines().last().unwrap_or_default();
    assert!(verdict.contains("exec:sh -c") && verdict.contains("\\ndo echo 0.5\\ndone"), "{verdict}");
}

/// The examples that come with the project, as their comments start them.
#[test]
fn examples_run() {
    let has = |program: &str| {
        std::process::Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success())
    };
    let examples = workspace().join("examples");
    let shell =
        report(&stress(&format!("exec:sh {}", examples.join("shell/evaluator.sh").display()), &["--format", "json"]));
    assert_eq!(shell["faults"], json!({}), "{shell}");
    if !has("python3") {
        assert!(std::env::var_os("CI").is_none(), "python3 must be there in CI");
        eprintln!("SKIPPED: no python3");
        return;
    }
    let python = format!("exec:python3 {}", examples.join("python/ten_lines.py").display());
    let value = report(&stress(&python, &["--format", "json"]));
    let rule = report(&stress("historical-milestone", &["--format", "json"]));
    for key in ["honest_mae", "mean_inflation", "conditional_asr", "rollback", "strategies"] {
        assert_eq!(value[key], rule[key], "{key}: the best moment, in Python and in Rust");
    }
}
