//! `parthack task seal`, `unseal`, `commit`, `reveal` and `suite`: the whole way of a sealed suite, and each way to go wrong.

mod cli_support;

use std::fs;
use std::path::{Path, PathBuf};

use cli_support::{Done, certifier, command, finish, listing, workspace};
use serde_json::Value;

/// A scaffolded suite of two tasks in a folder of its own, with a place for secrets beside it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a folder") };
        for (id, family) in [("MY-01", "interaction"), ("MY-02", "crud")] {
            place.works(&["task", "new", "my", "--id", id, "--family", family]);
        }
        place.works(&["task", "suite", "my/tasks", "--id", "my-suite"]);
        fs::create_dir(place.path("secret")).expect("a folder");
        place
    }

    fn sealed() -> Place {
        let place = Place::new();
        place.works(&["task", "seal", "my/sealed", "--new-key", "secret/key"]);
        place
    }

    fn committed() -> Place {
        let place = Place::sealed();
        place.works(&[&["task", "commit", "--salts", "secret/salts"][..], &SUITE, &KEY].concat());
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn call_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Done {
        let mut call = command();
        call.env("PARTHACK_CERTIFIER", certifier()).current_dir(self.folder.path());
        call.envs(variables.iter().copied()).args(arguments);
        finish(call)
    }

    fn call(&self, arguments: &[&str]) -> Done {
        self.call_with(&[], arguments)
    }

    fn works(&self, arguments: &[&str]) -> Done {
        let done = self.call(arguments);
        assert_eq!(done.code, 0, "{arguments:?}: {}{}", done.out, done.err);
        done
    }

    /// A call that fails with this code and says these things, and that changes no file.
    fn fails(&self, arguments: &[&str], code: i32, parts: &[&str]) {
        let before = self.contents();
        let done = self.call(arguments);
        assert_eq!(done.code, code, "{arguments:?}: {}{}", done.out, done.err);
        let said = format!("{}{}", done.out, done.err);
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {part:?} is not in {said}");
        }
        assert!(self.contents() == before, "{arguments:?} changed something");
    }

    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = listing(self.folder.path()).into_iter().filter(|path| path.is_file());
        files.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
    }
}

const SUITE: [&str; 4] = ["--suite", "my/tasks", "--sealed", "my/sealed"];
const KEY: [&str; 2] = ["--suite-key-file", "secret/key"];
const SALTS: [&str; 2] = ["--salts", "secret/salts"];

fn canonical(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

#[test]
fn the_whole_way() {
    let place = Place::new();
    let plain = [place.read("my/sealed/MY-01.json"), place.read("my/sealed/MY-02.json")];
    let report = place.works(&["task", "seal", "my/sealed", "--new-key", "secret/key", "--format", "json"]).json();
    assert_eq!(
        (&report["sealed"], &report["new_key"], &report["key_beside"]),
        (&2.into(), &true.into(), &false.into())
    );
    assert!(!place.path("my/sealed/MY-01.json").exists() && place.path("my/sealed/MY-01.sealed").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| fs::metadata(place.path(name)).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode("secret/key"), 0o600);
    }
    for bytes in [place.read("my/sealed/MY-01.sealed"), place.read("my/sealed/MY-02.sealed")] {
        assert!(!bytes.windows(6).any(|window| window == b"canary"));
    }
    // Lint and run work on it where the key is named.
    let variable = [("PARTHACK_SUITE_KEY_FILE", "secret/key")];
    let lint = place.call_with(&variable, &[&["task", "lint", "--all"][..], &SUITE].concat());
    assert_eq!(lint.code, 0, "{}{}", lint.out, lint.err);
    assert!(lint.out.contains("package_bound"), "{}", lint.out);

    let hash =
        place.works(&[&["task", "commit", "--format", "json"][..], &SALTS, &SUITE, &KEY].concat()).json()["hash"]
            .as_str()
            .expect("a hash")
            .to_owned();
    let published: Value = canonical(&place.read("my/tasks/commitments.json"));
    assert_eq!((&published["hash"], &published["suite"]), (&Value::from(hash.as_str()), &"my-suite".into()));
    let run = [&["run", "--out", "run", "--resamples", "100"][..], &SUITE].concat();
    let done = place.call_with(&variable, &run);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains(&hash), "a run names the commitments: {}", done.err);
    let manifest: Value = serde_json::from_slice(&place.read("run/manifest.json")).expect("JSON");
    assert_eq!(
        (&manifest["suite"]["commitments"], &manifest["format"]),
        (&hash.as_str().into(), &"parthack.manifest/2".into())
    );
    // Packages stand where `task new` and `task seal` put them: nobody need say so.
    let found = place.call_with(&variable, &["verify", "run", "--suite", "my/tasks"]);
    assert_eq!(found.code, 0, "{}{}", found.out, found.err);
    let doctor = place.call_with(&variable, &[&["doctor"][..], &SUITE].concat());
    assert!(doctor.out.contains(&hash) && doctor.out.contains("certifier sandbox"), "{}", doctor.out);

    place.works(&[&["task", "reveal"][..], &SALTS, &SUITE, &KEY].concat());
    let reveal = canonical(&place.read("my/tasks/reveal.json"));
    assert!(reveal["tasks"].as_array().is_some_and(|tasks| tasks.iter().all(|task| task["key"].is_string())));
    // Whoever checks has neither the suite's key nor the salts' file.
    fs::remove_dir_all(place.path("secret")).expect("removed");
    let check = [&["task", "reveal", "--check", "--format", "json"][..], &SUITE].concat();
    assert_eq!(place.works(&check).json()["holds"], true);
    assert!(place.works(&check[..3].iter().chain(&SUITE).copied().collect::<Vec<_>>()).out.contains(&hash));
    // What was sealed is what was written.
    for (id, plain) in ["MY-01", "MY-02"].into_iter().zip(plain) {
        let key =
            reveal["tasks"].as_array().expect("tasks").iter().find(|task| task["id"] == id).expect("a task")["key"]
                .as_str()
                .expect("a key")
                .to_owned();
        let sealed = place.read(&format!("my/sealed/{id}.sealed"));
        let key = parthack_certifier::sealing::PackageKey::read(key.as_bytes()).expect("a key");
        let opened = parthack_certifier::sealing::open_with_package_key(&sealed, id, &key).expect("a package");
        assert_eq!(canonical(&opened), canonical(&plain));
    }
}

#[test]
fn unsealed_packages_are_the_ones_that_were_sealed() {
    let place = Place::new();
    let before = place.read("my/sealed/MY-01.json");
    place.works(&["task", "seal", "my/sealed", "--new-key", "secret/key"]);
    place.works(&[&["task", "unseal", "my/sealed", "--out", "plain"][..], &KEY].concat());
    assert!(place.path("my/sealed/MY-01.sealed").exists(), "with --out the sealed files stay");
    assert_eq!(canonical(&place.read("plain/MY-01.json")), canonical(&before));
    place.fails(&[&["task", "unseal", "my/sealed", "--out", "plain"][..], &KEY].concat(), 2, &["is there already"]);
    place.works(&[&["task", "unseal", "my/sealed"][..], &KEY].concat());
    assert!(!place.path("my/sealed/MY-01.sealed").exists());
    assert_eq!(canonical(&place.read("my/sealed/MY-01.json")), canonical(&before));
    place.fails(&["task", "unseal", "my/sealed"], 3, &["no sealed package"]);
}

#[test]
fn keys_are_made_once_found_by_name_and_missed_by_name() {
    let place = Place::new();
    place.fails(
        &["task", "seal", "my/sealed"],
        4,
        &["no key", "PARTHACK_SUITE_KEY", "PARTHACK_SUITE_KEY_FILE", "suite.key", "hint: --new-key"],
    );
    fs::write(place.path("secret/key"), "something").expect("written");
    place.fails(&["task", "seal", "my/sealed", "--new-key", "secret/key"], 2, &["secret/key is there already"]);
    fs::remove_file(place.path("secret/key")).expect("removed");
    place.works(&["task", "seal", "my/sealed", "--new-key", "secret/key"]);
    place.fails(&["task", "seal", "my/sealed", "--new-key", "secret/other"], 2, &["sealed already"]);
    assert!(!place.path("secret/other").exists(), "no key is made for nothing");
    // One more task joins under the same key, named by variable or flag.
    place.works(&["task", "new", "my", "--id", "MY-03", "--family", "persistent"]);
    fs::write(place.path("secret/wrong"), format!("{}\n", "ab".repeat(32))).expect("written");
    place.fails(
        &["task", "seal", "my/sealed", "--suite-key-file", "secret/wrong"],
        3,
        &["MY-01.sealed", "secret/wrong", "another one"],
    );
    let report = place.works(&[&["task", "seal", "my/sealed", "--format", "json"][..], &KEY].concat()).json();
    assert_eq!((&report["sealed"], &report["sealed_before"]), (&1.into(), &2.into()));
    place.fails(&[&["task", "lint", "--all"][..], &SUITE].concat(), 4, &["no key"]);
    let key = String::from_utf8(place.read("secret/key")).expect("text");
    let both = [("PARTHACK_SUITE_KEY", key.trim()), ("PARTHACK_SUITE_KEY_FILE", "secret/wrong")];
    let done = place.call_with(&both, &["task", "unseal", "my/sealed", "--out", "plain"]);
    assert!(done.code == 4 && done.err.contains("both"), "{} {}", done.code, done.err);
    let done = place.call_with(&both, &[&["task", "unseal", "my/sealed", "--out", "plain"][..], &KEY].concat());
    assert_eq!(done.code, 0, "a flag goes before variables: {}", done.err);
}

#[test]
fn what_was_interrupted_goes_on_and_nothing_is_lost() {
    let place = Place::new();
    let plain = place.read("my/sealed/MY-01.json");
    place.works(&["task", "seal", "my/sealed", "--new-key", "secret/key"]);
    // As if the process had ended before the plain file was removed, and while another one was written.
    fs::write(place.path("my/sealed/MY-01.json"), &plain).expect("written");
    fs::write(place.path("my/sealed/.MY-09.sealed.77.unfinished"), "half").expect("written");
    place.fails(&[&["task", "lint", "--all"][..], &SUITE].concat(), 4, &[]);
    place.works(&[&["task", "seal", "my/sealed"][..], &KEY].concat());
    assert!(!place.path("my/sealed/MY-01.json").exists() && place.path("my/sealed/MY-01.sealed").exists());
    // A plain package that was edited meanwhile is not thrown away.
    let mut edited = canonical(&plain);
    edited["hidden_tests"][0]["description"] = "Another description.".into();
    fs::write(place.path("my/sealed/MY-01.json"), edited.to_string()).expect("written");
    for verb in ["seal", "unseal"] {
        place.fails(&[&["task", verb, "my/sealed"][..], &KEY].concat(), 3, &["different packages", "MY-01"]);
    }
    // What is no package stops everything before a key is made.
    let other = Place::new();
    fs::write(other.path("my/sealed/notes.json"), "{}").expect("written");
    other.fails(&["task", "seal", "my/sealed", "--new-key", "secret/key"], 3, &["notes.json"]);
    fs::remove_file(other.path("my/sealed/notes.json")).expect("removed");
    other.fails(&["task", "seal", "secret", "--new-key", "secret/key"], 3, &["no package"]);
}

/// Where no byte can be written, as on a full disk, nothing is taken away and nothing is left behind.
#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing() {
    let place = Place::sealed();
    place.works(&["task", "new", "my", "--id", "MY-03", "--family", "persistent"]);
    place.works(&["task", "suite", "my/tasks", "--id", "my-suite"]);
    let full = |arguments: &[&str]| {
        let before = place.contents();
        let mut call = std::process::Command::new("sh");
        // Writes beyond the limit fail with an error, since the signal is ignored.
        call.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh", cli_support::PARTHACK]).args(arguments);
        call.current_dir(place.folder.path()).env("PARTHACK_CERTIFIER", certifier());
        let output = call.output().expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {said}");
        assert!(said.contains("cannot write") && said.contains("hint: "), "{arguments:?}: {said}");
        assert!(place.contents() == before, "{arguments:?} changed something");
    };
    full(&[&["task", "seal", "my/sealed"][..], &KEY].concat());
    full(&[&["task", "unseal", "my/sealed"][..], &KEY].concat());
    full(&["task", "suite", "my/tasks", "--id", "other"]);
    place.works(&[&["task", "seal", "my/sealed"][..], &KEY].concat());
    full(&[&["task", "commit"][..], &SALTS, &SUITE, &KEY].concat());
    place.works(&[&["task", "commit"][..], &SALTS, &SUITE, &KEY].concat());
    full(&[&["task", "reveal"][..], &SALTS, &SUITE, &KEY].concat());
    let other = Place::new();
    let before = other.contents();
    let done = other.call(&["task", "seal", "my/sealed", "--new-key", "nowhere/key"]);
    assert!(done.code == 4 && done.err.contains("nowhere/key"), "{}", done.err);
    assert!(other.contents() == before);
}

#[test]
fn commitments_hold_and_mismatches_are_named() {
    let place = Place::committed();
    place.fails(&[&["task", "commit"][..], &SALTS, &SUITE, &KEY].concat(), 2, &["is there already"]);
    place.fails(&["task", "suite", "my/tasks", "--id", "my-suite"], 2, &["commitments.json is there"]);
    let check = [&["task", "reveal", "--check"][..], &SUITE].concat();
    place.fails(&check, 4, &["reveal.json is not there"]);
    place.works(&[&["task", "reveal"][..], &SALTS, &SUITE, &KEY].concat());
    place.fails(&[&["task", "reveal"][..], &SALTS, &SUITE, &KEY].concat(), 2, &["reveal.json is there already"]);
    place.works(&check);
    let (file, variable) = (place.path("my/sealed/MY-01.sealed"), [("PARTHACK_SUITE_KEY_FILE", "secret/key")]);
    let sealed = fs::read(&file).expect("a sealed file");
    // Sealed again: the content is the same, the file is not, and nothing runs over it.
    place.works(&[&["task", "unseal", "my/sealed", "--out", "plain"][..], &KEY].concat());
    fs::remove_file(&file).expect("removed");
    fs::copy(place.path("plain/MY-01.json"), place.path("my/sealed/MY-01.json")).expect("copied");
    let lint = |place: &Place| place.call_with(&variable, &[&["task", "lint", "--all"][..], &SUITE].concat());
    let done = lint(&place);
    assert!(done.code != 0 && done.err.contains("commitments.json") && done.err.contains("MY-01"), "{}", done.err);
    place.works(&[&["task", "seal", "my/sealed"][..], &KEY].concat());
    let done = lint(&place);
    assert!(done.code != 0 && done.err.contains("MY-01: the sealed file has the hash"), "{}", done.err);
    place.fails(&check, 1, &["sealed_file_mismatch", "MY-01", "NOT what was committed to"]);
    fs::write(&file, &sealed[..sealed.len() - 1]).expect("written");
    place.fails(&check, 1, &["not_opened", "MY-01"]);
    fs::remove_file(&file).expect("removed");
    place.fails(&check, 1, &["no_sealed_file", "MY-01"]);
    fs::write(&file, &sealed).expect("written");
    place.works(&check);
    // Salts of other commitments.
    let path = place.path("my/tasks/reveal.json");
    let reveal = fs::read_to_string(&path).expect("a reveal");
    let mut other = canonical(reveal.as_bytes());
    other["tasks"][1]["salt"] = "0".repeat(64).into();
    fs::write(&path, other.to_string()).expect("written");
    place.fails(&check, 1, &["commitment_mismatch", "MY-02"]);
    fs::write(&path, &reveal).expect("written");
    // Another suite.
    let suite = fs::read_to_string(place.path("my/tasks/suite.json")).expect("the suite");
    fs::write(place.path("my/tasks/suite.json"), suite.replace("\"version\":\"1\"", "\"version\":\"2\""))
        .expect("written");
    place.fails(&check, 1, &["other_suite"]);
}

#[test]
fn a_commitment_is_to_a_whole_sealed_suite() {
    let place = Place::new();
    let commit = [&["task", "commit"][..], &SALTS, &SUITE, &KEY].concat();
    fs::write(place.path("secret/key"), format!("{}\n", "ab".repeat(32))).expect("written");
    place.fails(&commit, 3, &["MY-01", "not sealed"]);
    fs::remove_file(place.path("secret/key")).expect("removed");
    place.works(&["task", "seal", "my/sealed", "--new-key", "secret/key"]);
    fs::rename(place.path("my/sealed/MY-02.sealed"), place.path("secret/MY-02.sealed")).expect("moved");
    place.fails(&commit, 3, &["MY-02.sealed is not there"]);
    fs::rename(place.path("secret/MY-02.sealed"), place.path("my/sealed/MY-02.sealed")).expect("moved");
    fs::rename(place.path("my/tasks/suite.json"), place.path("secret/suite.json")).expect("moved");
    place.fails(
        &[&["task", "commit"][..], &SALTS, &["--suite", "my/tasks/"], &SUITE[2..], &KEY].concat(),
        4,
        &["suite.json"],
    );
    fs::rename(place.path("secret/suite.json"), place.path("my/tasks/suite.json")).expect("moved");
    let at = place.path("nowhere/salts").display().to_string();
    place.fails(&[&["task", "commit", "--salts", &at][..], &SUITE, &KEY].concat(), 4, &["nowhere/salts"]);
    place.works(&commit);
}

#[test]
fn what_is_written_meets_its_schema() {
    let place = Place::committed();
    place.works(&[&["task", "reveal"][..], &SALTS, &SUITE, &KEY].concat());
    let validator = |name: &str| {
        let schema = place.works(&["schema", name]).json();
        jsonschema::draft202012::new(&schema).expect("a schema")
    };
    for (schema, file) in
        [("commitments", "my/tasks/commitments.json"), ("reveal", "my/tasks/reveal.json"), ("reveal", "secret/salts")]
    {
        let mut value = canonical(&place.read(file));
        assert!(validator(schema).is_valid(&value), "{file}: {value}");
        value["tasks"][0]["id"] = "../x".into();
        assert!(!validator(schema).is_valid(&value), "{file}");
    }
    assert!(validator("suite").is_valid(&canonical(&place.read("my/tasks/suite.json"))));
}

/// A generated suite whose packages never lie there in clear.
#[test]
fn generated_suites_are_sealed_from_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("seed"), b"sixteen bytes and some more").expect("written");
    let call = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut call = command();
        call.env("PARTHACK_CERTIFIER", certifier()).current_dir(folder.path());
        call.envs(variables.iter().copied()).args(arguments);
        finish(call)
    };
    let generate = ["task", "generate", "--seed-file", "seed", "--count", "4", "--seal"];
    let done = call(&[], &[&generate[..], &["--out", "one"]].concat());
    assert!(done.code == 0 && done.out.contains("suite.key"), "{}{}", done.out, done.err);
    let done = call(&[], &[&generate[..], &["--out", "two", "--new-key", "key", "--format", "json"]].concat());
    assert_eq!((done.code, &done.json()["key_file"], &done.json()["sealed"]), (0, &"key".into(), &true.into()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for key in ["key", "one/sealed/generated/suite.key"] {
            let mode = fs::metadata(folder.path().join(key)).expect("there").permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{key}");
        }
    }
    for place in ["one", "two"] {
        for path in listing(&folder.path().join(place).join("sealed")).iter().filter(|path| path.is_file()) {
            assert!(path.extension().is_none_or(|extension| extension != "json"), "{}", path.display());
            let bytes = fs::read(path).expect("a file");
            assert!(!bytes.windows(6).any(|window| window == b"canary"), "{}", path.display());
        }
    }
    let taken = call(&[], &[&generate[..], &["--out", "three", "--new-key", "key"]].concat());
    assert!(taken.code == 2 && taken.err.contains("key is there already"), "{}", taken.err);
    assert!(!folder.path().join("three").exists(), "nothing was written");
    for (place, variables) in [("one", &[][..]), ("two", &[("PARTHACK_SUITE_KEY_FILE", "key")][..])] {
        let suite = format!("{place}/tasks/generated");
        let lint = call(variables, &["task", "lint", "--all", "--suite", &suite]);
        assert_eq!(lint.code, 0, "{}{}", lint.out, lint.err);
        let out = format!("run-{place}");
        let run = call(variables, &["run", "--suite", &suite, "--out", &out, "--resamples", "100"]);
        assert_eq!(run.code, 0, "{}", run.err);
    }
    let ledger = |place: &str| fs::read(folder.path().join(format!("run-{place}/ledger.jsonl"))).expect("a ledger");
    assert!(ledger("one") == ledger("two"), "the key changes no result");
    let missing = call(&[], &["task", "lint", "--all", "--suite", "two/tasks/generated"]);
    assert!(missing.code == 4 && missing.err.contains("no key"), "{} {}", missing.code, missing.err);
}

/// Evaluators get an environment without keys.
#[cfg(unix)]
#[test]
fn evaluators_see_no_key() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("evaluator.sh");
    // Nothing but the shell itself, so that it runs in any sandbox.
    let text = "#!/bin/sh\nwhile read -r line; do\n  if [ -n \"${PARTHACK_SUITE_KEY+x}${PARTHACK_SUITE_KEY_FILE+x}\" ]; then\n    \
                echo '{\"no_verdict\": \"a key\"}'\n  else\n    echo '{\"score\": 0.5}'\n  fi\ndone\n";
    fs::write(&program, text).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    let key_file = workspace().join("sealed/pb-cste-1/suite.key");
    let key = String::from_utf8(fs::read(&key_file).expect("a key")).expect("text");
    for (name, value) in [("PARTHACK_SUITE_KEY", key.trim()), ("PARTHACK_SUITE_KEY_FILE", &*key_file.to_string_lossy())]
    {
        let mut sees = std::process::Command::new("sh");
        sees.args(["-c", &format!("echo x | {}", program.display())]).env(name, value);
        let sees = sees.output().expect("a shell").stdout;
        assert!(String::from_utf8_lossy(&sees).contains("a key"), "it would be seen");
        let mut call = command();
        call.env("PARTHACK_CERTIFIER", certifier()).env(name, value).current_dir(folder.path());
        call.args(["stress", &format!("exec:{}", program.display()), "--tasks", "PH-D01", "--resamples", "100"]);
        let done = finish(call);
        assert!(done.code == 0 && !done.out.contains("a key"), "{name} {}: {}{}", done.code, done.out, done.err);
    }
}

/// The reference suite lies in the source tree sealed, with its key, and nothing of it in clear.
#[test]
fn the_reference_suite_is_sealed() {
    let folder = workspace().join("sealed/pb-cste-1");
    let names = |folder: &Path| -> Vec<String> {
        listing(folder).iter().filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect()
    };
    let names = names(&folder);
    assert_eq!(names.iter().filter(|name| name.ends_with(".sealed")).count(), 24, "{names:?}");
    assert!(names.contains(&"suite.key".to_owned()) && names.contains(&"README.md".to_owned()));
    assert!(!names.iter().any(|name| name.ends_with(".json")), "{names:?}");
}
