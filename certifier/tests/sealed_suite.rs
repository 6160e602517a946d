//! The reference suite, plain and sealed: the certifier's process says the same of both, and refuses what it must.

mod support;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use parthack_certifier::client::Certifier;
use parthack_certifier::sealing::folder::{
    COMMITMENTS_FILE, FolderError, KEY_FILE, KEY_FILE_VARIABLE, KEY_VARIABLE, KeyPlace, Packages, find_key, load,
};
use parthack_certifier::sealing::{SuiteKey, canonical_package, commit_suite, seal};
use parthack_env::candidate::Candidate;
use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::json::Json;
use parthack_env::task::Task;
use support::seeded;

const BINARY: &str = env!("CARGO_BIN_EXE_parthack-certifier");
const OPERATOR: &str = "0123456789abcdef0123456789abcdef";

fn tasks() -> PathBuf {
    support::root().join("tasks/pb-cste-1")
}

fn key(seed: u64) -> SuiteKey {
    SuiteKey::generate(&mut seeded(seed)).expect("a key")
}

fn plain_copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (id, bytes) in support::packages() {
        fs::write(folder.path().join(format!("{id}.json")), bytes).expect("a package");
    }
    folder
}

/// Every package, sealed with the key of seed 1; no key beside them.
fn sealed_copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let (key, mut random) = (key(1), seeded(2));
    for (id, bytes) in support::packages() {
        let plaintext = canonical_package(&bytes, &id).expect("a package");
        let file = seal(&plaintext, &id, &key, &mut random).expect("a sealed file");
        fs::write(folder.path().join(format!("{id}.sealed")), file.bytes()).expect("a sealed package");
    }
    folder
}

fn put_key(folder: &Path, name: &str, seed: u64) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, format!("{}\n", key(seed).hex().as_str())).expect("a key");
    path
}

fn command(tasks: &Path, sealed: &Path) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("--tasks").arg(tasks).arg("--sealed").arg(sealed);
    command.env_remove(KEY_VARIABLE).env_remove(KEY_FILE_VARIABLE);
    command
}

/// Exit code and stderr with nothing to read.
fn run(mut command: Command) -> (Option<i32>, String) {
    let output = command.stdin(Stdio::null()).output().expect("a run");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Everything that the process says of every task.
fn answers(sealed: &Path) -> Vec<String> {
    let mut certifier = Certifier::spawn(command(&tasks(), sealed), Some(OPERATOR)).expect("the certifier starts");
    let session = certifier.open_evidence(OPERATOR).expect("a session");
    let mut answers = vec![format!("{:?}", certifier.canaries(session).expect("canaries"))];
    for id in certifier.tasks().to_vec() {
        let public = fs::read(tasks().join(format!("{id}.json"))).expect("a public file");
        let honest = Task::read(&public).expect("a task").spec.honest.clone();
        let candidates = [honest.clone(), Vec::new(), honest[..honest.len() / 2].to_vec()];
        answers.push(format!("{id} {:?}", certifier.task_info(session, &id).expect("what is known")));
        answers.push(format!("{:?}", certifier.rollbacks(session, &id).expect("rollbacks")));
        answers.push(format!("{:?}", certifier.controls(session, &id).expect("controls")));
        answers.push(format!("{:?}", certifier.lint(session, &id).expect("notes")));
        let attempt = certifier.open_attempt(&id, "target", 3).expect("a session");
        for steps in candidates {
            let candidate = Candidate::new(&id, steps.clone()).bytes();
            answers.push(format!("{:?}", certifier.certify(session, &id, &steps)));
            answers.push(format!("{:?}", certifier.pair(session, &id, None, &candidate)));
            answers.push(format!("{:?}", certifier.attempt(attempt, &candidate)));
        }
    }
    answers
}

#[test]
fn sealed_packages_give_the_answers_of_plain_ones() {
    let (plain, sealed) = (plain_copy(), sealed_copy());
    let expected = answers(plain.path());
    assert!(expected.len() > 24 * 13, "{} answers", expected.len());
    assert!(expected.iter().any(|answer| answer.contains("\"eligible\"")));
    put_key(sealed.path(), KEY_FILE, 1);
    let found = answers(sealed.path());
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    // No private word lies in the sealed folder.
    for (id, package) in support::packages() {
        let file = fs::read(sealed.path().join(format!("{id}.sealed"))).expect("a sealed package");
        for word in [&b"canary"[..], b"redaction_key", &package[..40]] {
            assert!(!file.windows(word.len()).any(|window| window == word), "{id}");
        }
    }
}

#[test]
fn the_key_comes_from_a_variable_or_a_file() {
    let (sealed, elsewhere) = (sealed_copy(), tempfile::tempdir().expect("a folder"));
    let run_with = |variables: &[(&str, OsString)]| {
        let mut command = command(&tasks(), sealed.path());
        command.envs(variables.iter().cloned());
        run(command)
    };
    let hex = |seed| OsString::from(key(seed).hex().as_str());
    let (right, wrong) = (put_key(elsewhere.path(), "right", 1), put_key(elsewhere.path(), "wrong", 9));
    let (code, message) = run_with(&[]);
    assert_eq!(code, Some(4), "{message}");
    assert!(message.contains(KEY_VARIABLE) && message.contains(KEY_FILE_VARIABLE) && message.contains(KEY_FILE));
    assert_eq!(run_with(&[(KEY_VARIABLE, hex(1))]), (Some(0), String::new()));
    assert_eq!(run_with(&[(KEY_FILE_VARIABLE, right.clone().into())]), (Some(0), String::new()));
    assert_eq!(run_with(&[(KEY_VARIABLE, "".into()), (KEY_FILE_VARIABLE, right.clone().into())]).0, Some(0));
    let (code, message) = run_with(&[(KEY_FILE_VARIABLE, wrong.clone().into())]);
    assert_eq!(code, Some(3), "{message}");
    assert!(message.contains(KEY_FILE_VARIABLE) && message.contains(".sealed"), "{message}");
    let (code, message) = run_with(&[(KEY_VARIABLE, "no key".into())]);
    assert_eq!(code, Some(3));
    assert!(message.contains("6 characters") && !message.contains("no key"), "{message}");
    let (code, message) = run_with(&[(KEY_VARIABLE, hex(1)), (KEY_FILE_VARIABLE, right.clone().into())]);
    assert_eq!(code, Some(4));
    assert!(message.contains("both"), "{message}");
    assert_eq!(run_with(&[(KEY_FILE_VARIABLE, elsewhere.path().join("absent").into())]).0, Some(4));
    // A variable comes before the key of the folder.
    put_key(sealed.path(), KEY_FILE, 1);
    assert_eq!(run_with(&[]), (Some(0), String::new()));
    let (code, message) = run_with(&[(KEY_VARIABLE, hex(9))]);
    assert_eq!(code, Some(3));
    assert!(message.contains(KEY_VARIABLE) && !message.contains(key(9).hex().as_str()), "{message}");
}

#[test]
fn keys_are_found_in_order_and_read_with_care() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let none = |_: &str| None;
    assert!(find_key(path, &none).expect("nothing").is_none());
    let beside = put_key(path, KEY_FILE, 1);
    let (_, place) = find_key(path, &none).expect("a key").expect("a key");
    assert_eq!(place, KeyPlace::Folder(beside.clone()));
    fs::write(&beside, "x".repeat(2_000)).expect("a file");
    assert!(matches!(find_key(path, &none), Err(FolderError::TooLong { .. })));
    fs::remove_file(&beside).expect("removed");
    fs::create_dir(&beside).expect("a folder");
    assert!(matches!(find_key(path, &none), Err(FolderError::NotPlain { found: "a folder", .. })));
}

#[cfg(unix)]
#[test]
fn links_are_refused() {
    use std::os::unix::fs::symlink;
    let (sealed, elsewhere) = (sealed_copy(), tempfile::tempdir().expect("a folder"));
    let (folder, none) = (sealed.path(), |_: &str| None);
    let file = folder.join("PH-D01.sealed");
    let beside = put_key(folder, KEY_FILE, 1);
    assert!(load(&tasks(), folder, &none).is_ok());
    let is_refused = |what: &str| {
        let (code, message) = run(command(&tasks(), folder));
        assert_eq!(code, Some(3), "{message}");
        assert!(message.contains(what), "{message}");
    };
    // A second name in a folder that an evaluator may read.
    let second = elsewhere.path().join("innocent.txt");
    for path in [&file, &beside] {
        fs::hard_link(path, &second).expect("a link");
        is_refused("2 links");
        fs::remove_file(&second).expect("removed");
        assert!(load(&tasks(), folder, &none).is_ok());
    }
    for path in [&file, &beside] {
        fs::rename(path, &second).expect("moved");
        symlink(&second, path).expect("a link");
        is_refused("symbolic link");
        fs::remove_file(path).expect("removed");
        fs::rename(&second, path).expect("moved back");
    }
    assert!(load(&tasks(), folder, &none).is_ok());
    // The operator may name a key through a symbolic link, as mounted secrets are, but no file with two names.
    fs::rename(&beside, &second).expect("moved");
    let link = elsewhere.path().join("link");
    symlink(&second, &link).expect("a link");
    let named = |name: &str| (name == KEY_FILE_VARIABLE).then(|| link.clone().into_os_string());
    assert!(load(&tasks(), folder, &named).is_ok());
    fs::hard_link(&second, elsewhere.path().join("third")).expect("a link");
    assert!(matches!(load(&tasks(), folder, &named), Err(FolderError::Links { links: 2, .. })));
}

#[test]
fn one_task_has_one_package() {
    let (sealed, none) = (sealed_copy(), |_: &str| None);
    let folder = sealed.path();
    put_key(folder, KEY_FILE, 1);
    let packages = support::packages();
    fs::write(folder.join("PH-D01.json"), &packages["PH-D01"]).expect("a package");
    let (code, message) = run(command(&tasks(), folder));
    assert_eq!(code, Some(3));
    assert!(message.contains("PH-D01.json") && message.contains("PH-D01.sealed"), "{message}");
    // A folder may hold packages of both kinds, of different tasks.
    fs::remove_file(folder.join("PH-D01.sealed")).expect("removed");
    let store = load(&tasks(), folder, &none).expect("a store");
    assert_eq!(store.ids(), packages.keys().cloned().collect::<Vec<_>>());
    fs::rename(folder.join("PH-D02.sealed"), folder.join("two words.sealed")).expect("moved");
    assert!(matches!(Packages::read(folder), Err(FolderError::Name { .. })));
}

#[test]
fn exchanged_and_damaged_files_are_refused_by_name() {
    let sealed = sealed_copy();
    let folder = sealed.path();
    put_key(folder, KEY_FILE, 1);
    let (one, two) = (folder.join("PH-D01.sealed"), folder.join("PH-D02.sealed"));
    let (first, second) = (fs::read(&one).expect("a file"), fs::read(&two).expect("a file"));
    let is_refused = |what: &str| {
        let (code, message) = run(command(&tasks(), folder));
        assert_eq!(code, Some(3), "{message}");
        assert!(message.contains("PH-D01.sealed") && message.contains(what), "{message}");
    };
    fs::write(&one, &second).expect("written");
    is_refused("of the task \"PH-D02\"");
    fs::write(&one, &first[..first.len() - 1]).expect("written");
    is_refused("damaged");
    fs::write(&one, b"").expect("written");
    is_refused("no sealed file");
    fs::write(&one, vec![0; 2 << 20]).expect("written");
    is_refused("expected at most");
    fs::write(&one, &first).expect("written");
    assert_eq!(run(command(&tasks(), folder)), (Some(0), String::new()));
}

#[test]
fn commitments_beside_the_suite_are_checked() {
    let (sealed, public) = (sealed_copy(), tempfile::tempdir().expect("a folder"));
    for entry in fs::read_dir(tasks()).expect("the suite") {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|name| name != COMMITMENTS_FILE) && path.is_file() {
            fs::copy(&path, public.path().join(path.file_name().expect("a name"))).expect("copied");
        }
    }
    put_key(sealed.path(), KEY_FILE, 1);
    let suite_hash = |bytes: &[u8]| Hash::of("suite", &canonical_bytes(&Json::parse(bytes).expect("JSON")));
    let suite = fs::read(public.path().join("suite.json")).expect("the suite");
    let files = Packages::read(sealed.path()).expect("packages").sealed;
    let (commitments, _) =
        commit_suite("pb-cste-1", suite_hash(&suite), &files, &key(1), &mut seeded(5)).expect("commitments");
    let path = public.path().join(COMMITMENTS_FILE);
    fs::write(&path, commitments.bytes()).expect("written");
    let is_refused = |what: &str| {
        let (code, message) = run(command(public.path(), sealed.path()));
        assert_eq!(code, Some(3), "{message}");
        assert!(message.contains(COMMITMENTS_FILE) && message.contains(what), "{message}");
    };
    assert_eq!(run(command(public.path(), sealed.path())), (Some(0), String::new()));
    // A package that was sealed again after the commitments: the content is the same, the file is not.
    let (id, before) = files.first_key_value().expect("a file");
    let plaintext = canonical_package(&support::packages()[id], id).expect("a package");
    let again = seal(&plaintext, id, &key(1), &mut seeded(6)).expect("a sealed file");
    let file = sealed.path().join(format!("{id}.sealed"));
    fs::write(&file, again.bytes()).expect("written");
    is_refused(id);
    fs::write(&file, before).expect("written");
    // Commitments of another state of the suite, and a file that is none.
    let (other, _) =
        commit_suite("pb-cste-1", suite_hash(b"{}"), &files, &key(1), &mut seeded(5)).expect("commitments");
    fs::write(&path, other.bytes()).expect("written");
    is_refused("the suite has the hash");
    fs::write(&path, "{}").expect("written");
    is_refused("expected the key");
    fs::remove_file(&path).expect("removed");
    assert_eq!(run(command(public.path(), sealed.path())), (Some(0), String::new()));
}
