//! Commitments and reveals: good ones, and each way in which they can disagree.

mod support;

use std::collections::BTreeMap;

use parthack_certifier::sealing::{
    CommitError, Commitments, CommittedTask, Mismatch, Reveal, SealError, SuiteKey, check_reveal, commit_suite,
    commitments_schema, open, reveal_schema, seal,
};
use parthack_env::canonical::Hash;
use proptest::prelude::*;
use serde_json::{Value, json};
use support::seeded;

type Sealed = BTreeMap<String, Vec<u8>>;

struct Suite {
    key: SuiteKey,
    sealed: Sealed,
    commitments: Commitments,
    reveal: Reveal,
}

fn key(seed: u64) -> SuiteKey {
    SuiteKey::generate(&mut seeded(seed)).expect("a key")
}

fn sealed(tasks: &[(&str, &str)], key: &SuiteKey, seed: u64) -> Sealed {
    let mut random = seeded(seed);
    let seal = |(id, text): &(&str, &str)| {
        let file = seal(text.as_bytes(), id, key, &mut random).expect("a sealed file");
        ((*id).to_owned(), file.into_bytes())
    };
    tasks.iter().map(seal).collect()
}

fn suite() -> Suite {
    let key = key(1);
    let sealed = sealed(&[("A", "one"), ("B", "two"), ("C", "three")], &key, 2);
    let hash = Hash::of("suite", b"{}");
    let (commitments, reveal) = commit_suite("s-1", hash, &sealed, &key, &mut seeded(3)).expect("commitments");
    Suite { key, sealed, commitments, reveal }
}

/// The reveal with another JSON text.
fn edited(reveal: &Reveal, edit: impl Fn(&mut Value)) -> Reveal {
    let mut json: Value = serde_json::from_slice(&reveal.bytes()).expect("JSON");
    edit(&mut json);
    Reveal::read(json.to_string().as_bytes()).expect("a reveal")
}

fn codes(found: Result<(), Vec<Mismatch>>) -> Vec<(&'static str, Option<String>)> {
    let mismatches = found.expect_err("a mismatch");
    mismatches.iter().map(|mismatch| (mismatch.code(), mismatch.task().map(str::to_owned))).collect()
}

fn of(task: &str, code: &'static str) -> (&'static str, Option<String>) {
    (code, Some(task.to_owned()))
}

#[test]
fn a_sound_reveal_holds_with_either_kind_of_key() {
    let Suite { key, sealed, commitments, reveal } = suite();
    assert_eq!(check_reveal(&commitments, &reveal, &sealed, Some(&key)), Ok(()));
    assert_eq!(
        codes(check_reveal(&commitments, &reveal, &sealed, None)),
        [of("A", "no_key"), of("B", "no_key"), of("C", "no_key")]
    );
    let reveal = reveal.with_keys(&sealed, &key).expect("package keys");
    assert_eq!(check_reveal(&commitments, &reveal, &sealed, None), Ok(()));
    // What was written and read back says the same.
    let (commitments, reveal) = (
        Commitments::read(&commitments.bytes()).expect("commitments"),
        Reveal::read(&reveal.bytes()).expect("a reveal"),
    );
    assert_eq!(check_reveal(&commitments, &reveal, &sealed, None), Ok(()));
    assert_eq!((commitments.suite(), commitments.suite_hash()), ("s-1", Hash::of("suite", b"{}")));
    assert_eq!(commitments.check_suite(Hash::of("suite", b"{}")), Ok(()));
    assert_eq!(reveal.commitments(), commitments.hash());
    assert_eq!(reveal.tasks().len(), 3);
}

#[test]
fn another_package_under_the_same_name_is_named() {
    let Suite { key, sealed: before, commitments, reveal } = suite();
    // The operator seals another answer after the commitments were published.
    let mut after = before.clone();
    after.extend(sealed(&[("B", "another answer")], &key, 4));
    assert_eq!(
        codes(check_reveal(&commitments, &reveal, &after, Some(&key))),
        [of("B", "sealed_file_mismatch"), of("B", "commitment_mismatch")]
    );
    // The same answer, sealed again, is another file.
    let mut again = before.clone();
    again.extend(sealed(&[("B", "two")], &key, 4));
    assert_eq!(codes(check_reveal(&commitments, &reveal, &again, Some(&key))), [of("B", "sealed_file_mismatch")]);
    assert_eq!(commitments.check_sealed("B", &before["B"]), Ok(()));
    assert_eq!(commitments.check_sealed("B", &again["B"]).expect_err("another").code(), "sealed_file_mismatch");
}

#[test]
fn swapped_files_are_named() {
    let Suite { key, sealed, commitments, reveal } = suite();
    let mut swapped = sealed.clone();
    swapped.insert("A".to_owned(), sealed["B"].clone());
    swapped.insert("B".to_owned(), sealed["A"].clone());
    let found = check_reveal(&commitments, &reveal, &swapped, Some(&key)).expect_err("swapped");
    assert_eq!(
        found[1],
        Mismatch::NotOpened {
            task: "A".to_owned(),
            error: SealError::OtherTask { found: "B".to_owned(), expected: "A".to_owned() }
        }
    );
    let expected = ["A", "B"].map(|task| [of(task, "sealed_file_mismatch"), of(task, "not_opened")]).concat();
    assert_eq!(codes(Err(found)), expected);
}

#[test]
fn what_is_missing_or_too_much_is_named() {
    let Suite { key, sealed: files, commitments, reveal } = suite();
    let mut fewer = files.clone();
    fewer.remove("A");
    assert_eq!(codes(check_reveal(&commitments, &reveal, &fewer, Some(&key))), [of("A", "no_sealed_file")]);
    let mut more = files.clone();
    more.extend(sealed(&[("D", "four")], &key, 5));
    assert_eq!(codes(check_reveal(&commitments, &reveal, &more, Some(&key))), [of("D", "not_committed")]);
    assert_eq!(commitments.check_sealed("D", &more["D"]).expect_err("more").code(), "not_committed");
    let hidden = edited(&reveal, |json| drop(json["tasks"].as_array_mut().expect("tasks").remove(2)));
    assert_eq!(codes(check_reveal(&commitments, &hidden, &files, Some(&key))), [of("C", "not_revealed")]);
    let added = edited(&reveal, |json| {
        let salt = json["tasks"][0]["salt"].clone();
        json["tasks"].as_array_mut().expect("tasks").push(json!({"id": "E", "salt": salt}));
    });
    assert_eq!(codes(check_reveal(&commitments, &added, &files, Some(&key))), [of("E", "not_committed")]);
}

#[test]
fn wrong_salts_and_keys_are_named() {
    let Suite { key: suite_key, sealed, commitments, reveal } = suite();
    let swapped = edited(&reveal, |json| {
        let salt = json["tasks"][0]["salt"].take();
        json["tasks"][0]["salt"] = json["tasks"][1]["salt"].take();
        json["tasks"][1]["salt"] = salt;
    });
    assert_eq!(
        codes(check_reveal(&commitments, &swapped, &sealed, Some(&suite_key))),
        [of("A", "commitment_mismatch"), of("B", "commitment_mismatch")]
    );
    let wrong = key(8);
    let found = check_reveal(&commitments, &reveal, &sealed, Some(&wrong)).expect_err("another key");
    assert!(found.iter().all(|m| matches!(m, Mismatch::NotOpened { error: SealError::WrongKey, .. })), "{found:?}");
    assert_eq!(found.len(), 3);
    // A key in the reveal counts, and the caller's does not replace it.
    let reveal = reveal.with_keys(&sealed, &suite_key).expect("package keys");
    let wrong = edited(&reveal, |json| json["tasks"][1]["key"] = json["tasks"][0]["key"].clone());
    assert_eq!(codes(check_reveal(&commitments, &wrong, &sealed, Some(&suite_key))), [of("B", "not_opened")]);
}

#[test]
fn files_of_other_suites_are_named() {
    let Suite { key, sealed, commitments, reveal } = suite();
    let other = commit_suite("s-1", Hash::of("suite", b"{}"), &sealed, &key, &mut seeded(30)).expect("commitments").0;
    assert_ne!(other.hash(), commitments.hash());
    let found = codes(check_reveal(&other, &reveal, &sealed, Some(&key)));
    assert_eq!(found[0], ("other_commitments", None));
    assert_eq!(found[1..], ["A", "B", "C"].map(|task| of(task, "commitment_mismatch")));
    let mismatch = commitments.check_suite(Hash::of("suite", b"[]")).expect_err("another suite");
    assert_eq!((mismatch.code(), mismatch.task()), ("other_suite", None));
}

/// The encryption is not key-committing, so a file may open to two packages; what was committed to is the plaintext.
#[test]
fn a_commitment_holds_whatever_key_opens() {
    let Suite { key: first, sealed: files, commitments, reveal } = suite();
    let second = key(40);
    let other = sealed(&[("A", "the other answer")], &second, 41);
    assert_eq!(open(&other["A"], "A", &second).expect("it opens").as_slice(), b"the other answer");
    // Stands for the file that opens under both keys: its hash is granted, and the commitment still refuses.
    let granted: Vec<CommittedTask> = commitments.tasks().to_vec();
    let granted = granted.into_iter().map(|task| match task.id.as_str() {
        "A" => CommittedTask { sealed: Hash::of("sealed", &other["A"]), ..task },
        _ => task,
    });
    let granted = Commitments::new("s-1", commitments.suite_hash(), granted.collect()).expect("commitments");
    let reveal = edited(&reveal.with_keys(&files, &first).expect("keys"), |json| {
        json["commitments"] = granted.hash().hex().into();
        json["tasks"][0].as_object_mut().expect("a task").remove("key");
    });
    let mut files = files;
    files.extend(other);
    assert_eq!(codes(check_reveal(&granted, &reveal, &files, Some(&second))), [of("A", "commitment_mismatch")]);
}

#[test]
fn only_what_opens_is_committed_to() {
    let Suite { sealed, .. } = suite();
    let hash = Hash::of("suite", b"{}");
    let failed = commit_suite("s-1", hash, &sealed, &key(9), &mut seeded(1)).expect_err("another key");
    assert_eq!(failed, CommitError::Package { task: "A".to_owned(), error: SealError::WrongKey });
    let none = commit_suite("s-1", hash, &Sealed::new(), &key(1), &mut seeded(1)).expect_err("nothing");
    assert!(matches!(none, CommitError::List(_)), "{none}");
    assert!(Commitments::new("s\"1", hash, suite().commitments.tasks().to_vec()).is_err());
    let twice = [suite().commitments.tasks(), suite().commitments.tasks()].concat();
    assert!(Commitments::new("s-1", hash, twice).is_err());
}

#[test]
fn commitments_in_another_shape_are_refused() {
    let commitments = suite().commitments;
    let sound: Value = serde_json::from_slice(&commitments.bytes()).expect("JSON");
    let schema = jsonschema::validator_for(&commitments_schema()).expect("a schema");
    assert!(schema.is_valid(&sound));
    // (what is changed, the pointer that is named, whether the schema sees it too)
    let cases: [(&str, Value, &str, bool); 11] = [
        ("/format", json!("parthack.commitments/2"), "/format", true),
        ("/suite", json!("no id"), "/suite", true),
        ("/suite_hash", json!("00"), "/suite_hash", true),
        ("/tasks", json!([]), "/tasks", true),
        ("/tasks/0/id", json!("B"), "/tasks/1/id", false),
        ("/tasks/0/id", json!("Z"), "/tasks/1/id", false),
        ("/tasks/1/id", json!("a/b"), "/tasks/1/id", true),
        ("/tasks/1/commitment", json!("F".repeat(64)), "/tasks/1/commitment", true),
        ("/tasks/1/sealed", json!(7), "/tasks/1/sealed", true),
        ("/tasks/1/sealed", json!("0".repeat(64)), "/hash", false),
        ("/hash", json!("0".repeat(64)), "/hash", false),
    ];
    for (at, value, pointer, seen) in cases {
        let mut changed = sound.clone();
        *changed.pointer_mut(at).expect("a place") = value;
        assert_eq!(schema.is_valid(&changed), !seen, "{at}");
        // The hash is checked last, so that each fault is named by its own place.
        let error = Commitments::read(changed.to_string().as_bytes()).expect_err("another shape");
        assert!(error.to_string().starts_with(&format!("{pointer}: ")), "{at}: {error}");
    }
    for (extra, at) in [("/extra", ""), ("/tasks/0/extra", "/tasks/0")] {
        let mut changed = sound.clone();
        changed.pointer_mut(at).expect("a place")["extra"] = json!(1);
        assert!(!schema.is_valid(&changed));
        let error = Commitments::read(changed.to_string().as_bytes()).expect_err("an unknown key");
        assert!(error.to_string().starts_with(extra), "{error}");
    }
}

#[test]
fn reveals_in_another_shape_are_refused_without_being_quoted() {
    let Suite { key, sealed, reveal, .. } = suite();
    let schema = jsonschema::validator_for(&reveal_schema()).expect("a schema");
    let read = |reveal: &Reveal| serde_json::from_slice::<Value>(&reveal.bytes()).expect("JSON");
    assert!(schema.is_valid(&read(&reveal)));
    let sound = read(&reveal.with_keys(&sealed, &key).expect("package keys"));
    assert!(schema.is_valid(&sound));
    let salt = sound["tasks"][0]["salt"].as_str().expect("a salt").to_owned();
    let cases = [
        ("/format", json!("parthack.reveal/2"), "/format", true),
        ("/commitments", json!(null), "/commitments", true),
        ("/tasks", json!([]), "/tasks", true),
        ("/tasks/1/id", json!("A"), "/tasks/1/id", false),
        ("/tasks/0/salt", json!(salt[1..]), "/tasks/0/salt", true),
        ("/tasks/0/salt", json!(format!("{salt}\n")), "/tasks/0/salt", true),
        ("/tasks/0/salt", json!(salt.to_uppercase()), "/tasks/0/salt", true),
        ("/tasks/0/key", json!(format!("{salt}0")), "/tasks/0/key", true),
        ("/tasks/0/key", json!(null), "/tasks/0/key", true),
    ];
    for (at, value, pointer, seen) in cases {
        let mut changed = sound.clone();
        *changed.pointer_mut(at).expect("a place") = value;
        assert_eq!(schema.is_valid(&changed), !seen, "{at}");
        let error = Reveal::read(changed.to_string().as_bytes()).expect_err("another shape").to_string();
        assert!(error.starts_with(&format!("{pointer}: ")), "{at}: {error}");
        assert!(!error.contains(&salt[1..9]) && !error.contains(&salt[1..9].to_uppercase()), "{error}");
    }
}

proptest! {
    #[test]
    fn commitments_are_read_as_they_were_written(ids in prop::collection::btree_set("[A-Za-z0-9][A-Za-z0-9._:-]{0,20}", 1..12), seed: u64) {
        let key = key(seed);
        let tasks: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "content")).collect();
        let sealed = sealed(&tasks, &key, seed);
        let (commitments, reveal) =
            commit_suite("s", Hash::of("suite", b""), &sealed, &key, &mut seeded(!seed)).expect("commitments");
        prop_assert_eq!(Commitments::read(&commitments.bytes()).expect("commitments"), commitments.clone());
        let again = Reveal::read(&reveal.bytes()).expect("a reveal");
        prop_assert_eq!(&again.bytes()[..], &reveal.bytes()[..]);
        prop_assert_eq!(check_reveal(&commitments, &again, &sealed, Some(&key)), Ok(()));
        // Equal packages have different commitments.
        let different: std::collections::BTreeSet<Hash> = commitments.tasks().iter().map(|task| task.commitment.0).collect();
        prop_assert_eq!(different.len(), ids.len());
    }

    #[test]
    fn a_changed_byte_of_the_commitments_changes_nothing_or_is_refused(at in any::<prop::sample::Index>(), value: u8) {
        let commitments = suite().commitments;
        let mut bytes = commitments.bytes();
        let at = at.index(bytes.len());
        bytes[at] = value;
        if let Ok(read) = Commitments::read(&bytes) {
            prop_assert_eq!(read, commitments);
        }
    }

    #[test]
    fn a_changed_byte_of_a_reveal_is_noticed(at in any::<prop::sample::Index>(), value: u8) {
        let Suite { key, sealed, commitments, reveal } = suite();
        let reveal = reveal.with_keys(&sealed, &key).expect("package keys");
        let sound = reveal.bytes();
        let mut bytes = sound.to_vec();
        let at = at.index(bytes.len());
        bytes[at] = value;
        if let Ok(read) = Reveal::read(&bytes) {
            let holds = check_reveal(&commitments, &read, &sealed, None).is_ok();
            prop_assert_eq!(holds, read.bytes() == sound);
        }
    }
}
