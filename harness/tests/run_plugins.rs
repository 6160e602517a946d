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
    // Beside each score what was said twice of the three honest trajectories.
    let told = format!("scores of plugins, taken as recorded: {}", rule.len() + 6);
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
    // The fault stands typed beside it, and is counted also by a start of the run that asked nothing.
    let coded = |record: &Value| record["fault"].as_str().map(str::to_owned);
    assert!(scores_of(&hostile, "high").iter().all(|record| coded(record).is_some()));
    let told = fs::read_to_string(hostile.join("plugins.jsonl")).expect("what became of them");
    assert!(told.contains("\"out_of_range\":"), "{told}");
    // Each start of the program that ends after one answer leaves that answer.
    let scored = |record: &&Value| record["score"]["measured"] == "0.25";
    assert!(scores_of(&hostile, "crashes").iter().any(|record| scored(&record)));
    assert_eq!(verify(&hostile).code, 0, "faults are recorded, and a run with faults stands");
}

#[test]
fn a_run_killed_while_a_program_scores_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    // A confined shell can start no `sleep`.
    let fair = folder.path().join("fair");
    fs::write(&fair, "while read -r line; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo 0.5; done")
        .expect("written");
    let fair = format!("fair=exec:sh {}", fair.display());
    goes_on_to_the_same_bytes(folder.path(), &fair, 0, &[5, 6, 7, 8, 9]);
    // One that fails each time is given up where it would have been.
    let fails = folder.path().join("fails");
    fs::write(&fails, "read -r line; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3").expect("written");
    goes_on_to_the_same_bytes(folder.path(), &format!("fails=exec:sh {}", fails.display()), 5, &[6, 7, 8]);
}

fn goes_on_to_the_same_bytes(folder: &Path, fair: &str, code: i32, moments: &[u32]) {
    let whole = folder.join(format!("whole-{code}"));
    let begun = Instant::now();
    assert_eq!(run(&whole, &[fair], &["--workers", "1"]).code, code);
    let took = begun.elapsed();
    let mut stopped = 0;
    for tenths in moments {
        let out = folder.join(format!("killed-{code}-{tenths}"));
        let mut command = command();
        command.env("PARTHACK_CERTIFIER", certifier());
        command.args(["run", "--tasks", "PH-D01,PH-H10,PH-H15", "--evaluators", EVALUATORS, "--resamples", "200"]);
        command.args(["--plugin", fair, "--workers", "1", "--out"]).arg(&out);
        let mut child = command.spawn().expect("started");
        let (_alarm, timer) = channel::<()>();
        // Nobody sends: the wait ends when the delay is over.
        let _ = timer.recv_timeout(took * *tenths / 10);
        stopped += usize::from(child.try_wait().expect("a child").is_none());
        child.kill().expect("a child that can be killed");
        let _ = child.wait();
        let done = run(&out, &[fair], &["--workers", "1", "--resume"]);
        assert_eq!(done.code, code, "{}", done.err);
        assert_eq!(promised(&out), promised(&whole), "killed after {tenths} tenths");
    }
    assert!(stopped > 0, "every run ended before it was killed");
}

/// The user of the tests and, if that is root, one without rights.
fn users() -> Vec<Option<u32>> {
    let root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if root { vec![None, Some(65_534)] } else { vec![None] }
}

/// A folder of a user's own that every user can pass.
#[cfg(target_os = "linux")]
fn folder_of(user: Option<u32>) -> tempfile::TempDir {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("passable");
    chown(folder.path(), user, user).expect("owned");
    folder
}

/// A call in a folder, by a user.
#[cfg(target_os = "linux")]
fn call_as(user: Option<u32>, folder: &Path, arguments: &[&str], variables: &[(&str, &Path)]) -> Done {
    use std::os::unix::process::CommandExt as _;
    let mut command = command();
    command.env("PARTHACK_CERTIFIER", certifier()).envs(variables.iter().copied()).current_dir(folder).args(arguments);
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    finish(command)
}

const SMALL: [&str; 9] =
    ["run", "--tasks", "PH-D01", "--evaluators", "csps", "--resamples", "100", "--targets", "csps"];

/// The usual project: the evaluator, its data and all runs in one folder, which is the working folder.
#[cfg(target_os = "linux")]
#[test]
fn what_of_runs_is_private_stays_so_beside_the_program() {
    use std::os::unix::fs::PermissionsExt as _;
    for user in users() {
        let folder = folder_of(user);
        let base = folder.path();
        fs::write(base.join("beside.txt"), "data\n").expect("written");
        // Its own data it must be able to read, or all of this shows nothing.
        let cheat = "read -r data < beside.txt || exit 1\n\
            while read -r payload; do score=0; for file in runs/*/private/* runs/*/private/*/* other/private/*; do\n\
            if read -r line < $file; then score=1; fi; done 2>/dev/null; echo $score; done";
        fs::write(base.join("cheat.sh"), cheat).expect("written");
        for (out, more) in [("runs/first", vec![]), ("other", vec!["--require-sandbox", "3"]), ("runs/third", vec![])] {
            let arguments = [&SMALL[..], &["--plugin", "exec:sh cheat.sh", "--out", out], &more].concat();
            let done = call_as(user, base, &arguments, &[]);
            assert_eq!(done.code, 0, "{user:?} {out}: {}", done.err);
            let scores = scores_of(&base.join(out), "cheat");
            assert!(
                !scores.is_empty() && scores.iter().all(|it| it["score"]["measured"] == "0"),
                "{user:?}: {scores:?}"
            );
            let private = base.join(out).join("private");
            for (path, mode) in
                [("", 0o700), ("journal", 0o700), ("journal/000001.jsonl", 0o600), ("certifications.jsonl", 0o600)]
            {
                let found = fs::metadata(private.join(path)).expect(path).permissions().mode() & 0o777;
                assert_eq!(found, mode, "{out}/private/{path}: {found:o}");
            }
        }
        // Without a name for the folder, too.
        let done = call_as(user, base, &[&SMALL[..], &["--plugin", "exec:sh cheat.sh"]].concat(), &[]);
        assert_eq!(done.code, 0, "{user:?}: {}", done.err);
        // The same program unconfined reads it.
        let mut shell = std::process::Command::new("sh");
        shell.arg("cheat.sh").current_dir(base).stdin(fs::File::open(base.join("beside.txt")).expect("open"));
        assert_eq!(finish(shell).out, "1\n");
    }
}

/// A script in the root of a clone: packages and key lie below its folder, and so does what it needs.
#[cfg(target_os = "linux")]
#[test]
fn packages_and_key_below_the_programs_folder_stay_closed() {
    use std::os::unix::fs::chown;
    for user in users() {
        let folder = folder_of(user);
        let base = folder.path();
        let own = |name: &str, bytes: &[u8]| {
            let path = base.join(name);
            let parent = path.parent().expect("a folder");
            fs::create_dir_all(parent).expect("made");
            fs::write(&path, bytes).expect("written");
            chown(parent, user, user).and_then(|()| chown(&path, user, user)).expect("owned");
        };
        let sealed = cli_support::workspace().join("sealed/pb-cste-1");
        for entry in fs::read_dir(&sealed).expect("packages") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let kept = if name == "suite.key" { "keys/k".to_owned() } else { format!("sealed/{name}") };
            own(&kept, &fs::read(&path).expect("read"));
        }
        own("neighbour/beside.txt", b"data\n");
        let cheat = "read -r data < neighbour/beside.txt || exit 1\n\
            while read -r payload; do score=0; for file in keys/k sealed/* link; do\n\
            if read -r line < $file; then score=1; fi; done 2>/dev/null; echo $score; done";
        own("cheat.sh", cheat.as_bytes());
        std::os::unix::fs::symlink("keys/k", base.join("link")).expect("linked");
        let keys = [("PARTHACK_SUITE_KEY_FILE", Path::new("keys/k"))];
        let arguments = [&SMALL[..], &["--plugin", "exec:sh cheat.sh", "--sealed", "sealed", "--out", "out"]].concat();
        let done = call_as(user, base, &arguments, &keys);
        assert_eq!(done.code, 0, "{user:?}: {}", done.err);
        let scores = scores_of(&base.join("out"), "cheat");
        assert!(!scores.is_empty() && scores.iter().all(|it| it["score"]["measured"] == "0"), "{user:?}: {scores:?}");
        let mut shell = std::process::Command::new("sh");
        shell.arg("cheat.sh").current_dir(base).stdin(fs::File::open(base.join("cheat.sh")).expect("open"));
        assert!(finish(shell).out.starts_with("1\n"), "unconfined it reads them");
        for name in ["PARTHACK_SUITE_KEY", "PARTHACK_SUITE_KEY_FILE"] {
            let done = call_as(user, base, &[&arguments[..], &["--keep-env", name]].concat(), &keys);
            assert!(done.code == 2 && done.err.contains("opens the answers"), "{}", done.err);
        }
    }
}

/// What is said of isolation is what was probed: with network, the probes of the network show nothing.
#[cfg(target_os = "linux")]
#[test]
fn probes_of_the_network_are_not_counted_where_it_is_open() {
    let folder = folder_of(None);
    fs::write(folder.path().join("fair.sh"), "while read -r line; do echo 0.5; done").expect("written");
    let told = |out: &str, more: &[&str]| {
        let arguments = [&SMALL[..], &["--plugin", "exec:sh fair.sh", "--out", out], more].concat();
        let done = call_as(None, folder.path(), &arguments, &[]);
        assert_eq!(done.code, 0, "{}", done.err);
        let line = done.err.lines().find(|line| line.contains("sandbox of tier")).map(str::to_owned).expect("told");
        let number = |text: Option<&str>| text.and_then(|word| word.parse::<usize>().ok()).expect("a number");
        let (before, _) = line.split_once(" probes inside it were blocked").expect("probes");
        let count = number(before.rsplit(' ').next());
        (line, count)
    };
    let (closed, all) = told("closed", &[]);
    let (open, fewer) = told("open", &["--allow-network"]);
    assert!(closed.contains("no network") && !closed.contains("left out"), "{closed}");
    assert!(open.contains("network allowed") && open.contains("left out"), "{open}");
    assert_eq!(all - fewer, 9, "{open}");
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

/// What an evaluator itself does not know is no fault: the run is whole. What it says differently the second time is noise.
#[test]
fn no_verdict_is_no_fault_and_noise_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = |name: &str, body: &str| {
        let path = folder.path().join(name);
        fs::write(&path, body).expect("written");
        format!("{name}=exec:sh {}", path.display())
    };
    let unsure = script("unsure", "while read -r line; do echo '{\"no_verdict\":\"crashed: so it says\"}'; done");
    let fickle = script("fickle", "i=0; while read -r line; do i=$((i+1)); echo 0.$i; done");
    let out = folder.path().join("run");
    let done = run(&out, &[&unsure, &fickle], &["--workers", "1"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let faults =
        |evaluator: &str| scores_of(&out, evaluator).iter().filter(|record| record.get("fault").is_some()).count();
    assert_eq!((faults("unsure"), faults("fickle")), (0, 0), "what it says is not what happened");
    let tables = fs::read_to_string(out.join("tables/tables.txt")).expect("tables");
    let noise = tables.split("Table noise").nth(1).expect("a table of noise");
    let row = noise.lines().find(|line| line.starts_with("fickle")).expect("a row");
    assert!(row.contains("nothing (again)"), "{row}");
    assert_eq!(verify(&out).code, 0);
    let mut command = command();
    command.env("PARTHACK_CERTIFIER", certifier()).arg("audit").arg(&out);
    let audited = finish(command);
    assert_eq!(audited.code, 0, "{}{}", audited.out, audited.err);
}

/// Root's programs run as another user: where that one can't enter their folder, this is said before any work.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_is_closed_to_the_programs_user_is_named_at_once() {
    use std::os::unix::fs::PermissionsExt as _;
    if users().len() == 1 {
        println!("not root: no change of user to test");
        return;
    }
    let folder = folder_of(None);
    fs::write(folder.path().join("mine.sh"), "while read -r line; do echo 0.5; done").expect("written");
    let elsewhere = folder_of(None);
    fs::copy(folder.path().join("mine.sh"), elsewhere.path().join("mine.sh")).expect("copied");
    let call_of = |mode: u32, script: &Path| {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).expect("a mode");
        let out = format!("out-{mode:o}");
        let plugin = format!("mine=exec:sh {}", script.display());
        let own = ["--plugin", &plugin, "--out", &out];
        (call_as(None, folder.path(), &[&SMALL[..], &own].concat(), &[]), folder.path().join(out))
    };
    let call = |mode: u32| call_of(mode, Path::new("mine.sh"));
    let (closed, out) = call(0o700);
    assert_eq!(closed.code, 4, "{}", closed.err);
    assert!(closed.err.contains("is closed to user 65534") && closed.err.contains("chmod o+rx"), "{}", closed.err);
    assert!(!out.exists(), "nothing was begun");
    // Called from there, a program that lies elsewhere is not kept from its own folder.
    let (other, _) = call_of(0o700, &elsewhere.path().join("mine.sh"));
    assert_eq!(other.code, 0, "{}", other.err);
    let (open, _) = call(0o755);
    assert_eq!(open.code, 0, "{}", open.err);
}
