//! Sealed files: what opens, and everything that must not.

mod support;

use parthack_certifier::sealing::{
    Commitment, MAX_SEALED_BYTES, PackageKey, Salt, SealError, SuiteKey, canonical_package, commit, open,
    open_with_package_key, package_key, seal,
};
use parthack_env::canonical::Hash;
use proptest::prelude::*;
use support::seeded;

const TASK: &str = "PH-X01";
const PLAIN: &[u8] = b"{\"a\":1}";

fn key(seed: u64) -> SuiteKey {
    SuiteKey::generate(&mut seeded(seed)).expect("a key")
}

fn sealed(plaintext: &[u8], task: &str, key: &SuiteKey, seed: u64) -> Vec<u8> {
    seal(plaintext, task, key, &mut seeded(seed)).expect("a sealed file").into_bytes()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("digits")).collect()
}

/// The bytes were made with libsodium and the reference BLAKE3 from key, package key and nonces that count upward.
#[test]
fn another_implementation_gives_the_same_bytes() {
    let mut next = [100u8, 200, 0].into_iter();
    let mut random = |bytes: &mut [u8]| {
        let start = next.next().ok_or(std::io::ErrorKind::UnexpectedEof)?;
        bytes.iter_mut().zip(start..).for_each(|(byte, value)| *byte = value);
        Ok(())
    };
    let digits: String = (0u8..32).map(|byte| format!("{byte:02x}")).collect();
    let key = SuiteKey::read(digits.as_bytes()).expect("a key");
    let file = seal(PLAIN, TASK, &key, &mut random).expect("a sealed file");
    let mut expected = b"parthack.sealed/1 PH-X01\n".to_vec();
    expected.extend(unhex(
        "c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf1d0d4ee32a1b160d34c618d930b24d106ca1b390dfe250ca5f930870633f1cbb\
         23ea63b8b6ac3d8feec5aab815b4338b000102030405060708090a0b0c0d0e0f1011121314151617a2f6a04b92566c3c2675baff8da6c960\
         88272205b3b6c1",
    ));
    assert_eq!(file.bytes(), expected);
    assert_eq!(file.hash().hex(), "26a27c8189e385d9cbdf02d0d24c680e5d3e46be8b0456a62d1291d9f5c3a4a6");
    assert_eq!(open(&expected, TASK, &key).expect("it opens").as_slice(), PLAIN);
    let digits: String = (50u8..82).map(|byte| format!("{byte:02x}")).collect();
    let salt = Salt::read(digits.as_bytes()).expect("a salt");
    assert_eq!(commit(PLAIN, &salt).0.hex(), "5ae7489774b27408cca63c35f7bbbc61b5cc5066c4d1e499a1d56e836fe01eae");
}

#[test]
fn every_changed_byte_is_refused() {
    let key = key(1);
    let file = sealed(PLAIN, TASK, &key, 2);
    assert_eq!(open(&file, TASK, &key).expect("it opens").as_slice(), PLAIN);
    let mut codes = [0; 5];
    for at in 0..file.len() {
        for value in 0..=255u8 {
            if value == file[at] {
                continue;
            }
            let mut changed = file.clone();
            changed[at] = value;
            let error = open(&changed, TASK, &key).expect_err("a changed byte");
            codes[match error {
                SealError::NotSealed => 0,
                SealError::Version { .. } => 1,
                SealError::OtherTask { .. } => 2,
                SealError::WrongKey => 3,
                SealError::Damaged => 4,
                other => panic!("byte {at} as {value}: {other}"),
            }] += 1;
        }
    }
    // Nonce, key and tag; nonce, package and tag: every change of theirs is told by one of the two.
    assert_eq!(codes[3..], [(24 + 48) * 255, (24 + PLAIN.len() + 16) * 255]);
    assert!(codes.iter().all(|count| *count > 0), "{codes:?}");
}

#[test]
fn every_cut_and_everything_added_is_refused() {
    let key = key(1);
    let file = sealed(PLAIN, TASK, &key, 2);
    let least = file.len() - PLAIN.len();
    for end in 0..file.len() {
        let error = open(&file[..end], TASK, &key).expect_err("a cut file");
        let expected = match end {
            0 => SealError::NotSealed,
            _ if end < least => SealError::Truncated { found: end, least },
            _ => SealError::Damaged,
        };
        assert_eq!(error, expected, "{end} bytes");
    }
    for byte in [0, b'\n'] {
        let longer = [&file[..], &[byte]].concat();
        assert_eq!(open(&longer, TASK, &key), Err(SealError::Damaged));
    }
    let huge = vec![b'p'; usize::try_from(MAX_SEALED_BYTES).expect("a size") + 1];
    assert!(matches!(open(&huge, TASK, &key), Err(SealError::TooLong { .. })));
}

#[test]
fn each_way_to_be_wrong_has_its_error() {
    let (key, other) = (key(1), key(9));
    let file = sealed(PLAIN, TASK, &key, 2);
    assert_eq!(open(&file, TASK, &other), Err(SealError::WrongKey));
    let expected = SealError::OtherTask { found: TASK.to_owned(), expected: "PH-X02".to_owned() };
    assert_eq!(open(&file, "PH-X02", &key), Err(expected));
    // A first line that names another task does not make it that task's.
    let renamed = [b"parthack.sealed/1 PH-X02\n", &file[TASK.len() + 19..]].concat();
    assert_eq!(open(&renamed, "PH-X02", &key), Err(SealError::WrongKey));
    let own = package_key(&file, TASK, &key).expect("the package's key");
    assert_eq!(open_with_package_key(&renamed, "PH-X02", &own), Err(SealError::Damaged));
    // The key of one package with the content of another.
    let second = sealed(PLAIN, TASK, &key, 3);
    let line = TASK.len() + 19;
    let mixed = [&file[..line + 72], &second[line + 72..]].concat();
    assert_eq!(open(&mixed, TASK, &key), Err(SealError::Damaged));
    for (text, expected) in [
        (&b"{}"[..], SealError::NotSealed),
        (b"parthack.sealed/2 PH-X01\n", SealError::Version { found: "2".to_owned() }),
        (b"parthack.sealed/1.5 PH-X01\n", SealError::Version { found: "1.5".to_owned() }),
        (b"parthack.sealed/\x1b[31m PH-X01\n", SealError::NotSealed),
        (b"parthack.sealed/12345678901 PH-X01\n", SealError::NotSealed),
        (b"parthack.sealed/1 PH-X01\r\n", SealError::NotSealed),
        (b"parthack.sealed/1  PH-X01\n", SealError::NotSealed),
        (b"parthack.sealed/1 \n", SealError::NotSealed),
        (b"parthack.sealed/1\n", SealError::NotSealed),
        (b"parthack.sealed/1 \xff\n", SealError::NotSealed),
    ] {
        let file = [text, &[7; 200]].concat();
        assert_eq!(open(&file, TASK, &key), Err(expected), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn what_can_not_be_sealed() {
    let key = key(1);
    for task in ["", "a b", "a\nb", "../x", &"x".repeat(65)] {
        assert_eq!(seal(PLAIN, task, &key, &mut seeded(1)), Err(SealError::TaskId(task.to_owned())));
    }
    let long = vec![b'x'; (1 << 20) + 1];
    assert!(matches!(seal(&long, TASK, &key, &mut seeded(1)), Err(SealError::TooLong { .. })));
    assert!(open(&sealed(&long[1..], TASK, &key, 1), TASK, &key).is_ok());
    // Package key and two nonces: a source that fails at any of them gives no file.
    for good in 0..3 {
        let mut calls = 0;
        let mut random = |bytes: &mut [u8]| {
            calls += 1;
            bytes.fill(calls);
            if calls > good { Err(std::io::ErrorKind::Other.into()) } else { Ok(()) }
        };
        let failed = seal(PLAIN, TASK, &key, &mut random);
        assert_eq!(failed, Err(SealError::Randomness(std::io::ErrorKind::Other)));
    }
}

#[test]
fn only_a_package_of_the_task_is_canonical() {
    let (id, bytes) = support::packages().pop_first().expect("a package");
    let canonical = canonical_package(&bytes, &id).expect("a package");
    assert_eq!(canonical_package(&canonical, &id).expect("a package"), canonical);
    assert!(!canonical.contains(&b'\n'));
    let pretty: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let pretty = serde_json::to_vec_pretty(&pretty).expect("JSON");
    assert_ne!(pretty, *canonical);
    assert_eq!(canonical_package(&pretty, &id).expect("a package"), canonical);
    let error = canonical_package(&bytes, "PH-X99").expect_err("another task");
    assert!(error.to_string().contains("/task_id"), "{error}");
    assert!(canonical_package(b"{}", &id).is_err());
}

#[test]
fn errors_and_debug_output_hold_no_secrets() {
    let key = key(1);
    let file = sealed(b"canary-0123456789", TASK, &key, 2);
    let own = package_key(&file, TASK, &key).expect("the package's key");
    let opened = key.hex();
    for shown in [format!("{key:?}"), format!("{own:?}"), format!("{:?}", Salt::generate(&mut seeded(4)))] {
        assert!(!shown.contains(&opened[..8]) && !shown.contains(&own.hex()[..8]) && shown.len() < 30, "{shown}");
    }
    assert!(!file.windows(6).any(|window| window == b"canary"));
}

fn identifiers() -> impl Strategy<Value = String> {
    "[A-Za-z0-9][A-Za-z0-9._:-]{0,63}"
}

proptest! {
    #[test]
    fn what_is_sealed_opens(plaintext in prop::collection::vec(any::<u8>(), 0..2_000), task in identifiers(), seed: u64) {
        let key = key(seed);
        let file = sealed(&plaintext, &task, &key, seed ^ 1);
        let opened = open(&file, &task, &key).expect("it opens");
        prop_assert_eq!(opened.as_slice(), &plaintext[..]);
        let own = package_key(&file, &task, &key).expect("a key");
        let own = PackageKey::read(own.hex().as_bytes()).expect("the same key");
        let opened = open_with_package_key(&file, &task, &own).expect("it opens");
        prop_assert_eq!(opened.as_slice(), &plaintext[..]);
        // Sealing again with other random bytes shares nothing but the first line.
        let again = sealed(&plaintext, &task, &key, seed ^ 2);
        prop_assert_eq!(again.len(), file.len());
        let line = task.len() + 19;
        prop_assert_eq!(&again[..line], &file[..line]);
        prop_assert!(again[line..].windows(16).all(|window| !contains(&file, window)));
    }

    #[test]
    fn no_other_key_opens(seed: u64, other: u64) {
        prop_assume!(seed != other);
        let file = sealed(PLAIN, TASK, &key(seed), 0);
        prop_assert_eq!(open(&file, TASK, &key(other)), Err(SealError::WrongKey));
        let foreign = PackageKey::generate(&mut seeded(other)).expect("a key");
        prop_assert_eq!(open_with_package_key(&file, TASK, &foreign), Err(SealError::Damaged));
    }

    #[test]
    fn no_edit_goes_unnoticed(
        from in any::<prop::sample::Index>(), length in 0usize..40, put in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let key = key(1);
        let file = sealed(b"a package of some length, so that there is something to cut", TASK, &key, 2);
        let from = from.index(file.len());
        let to = (from + length).min(file.len());
        let edited = [&file[..from], &put, &file[to..]].concat();
        prop_assume!(edited != file);
        prop_assert!(open(&edited, TASK, &key).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), with_line: bool) {
        let file = if with_line { [b"parthack.sealed/1 PH-X01\n", &bytes[..]].concat() } else { bytes };
        prop_assert!(open(&file, TASK, &key(1)).is_err());
    }

    #[test]
    fn a_commitment_depends_on_all_of_package_and_salt(
        one in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), flip in 1u8.., bit in 0usize..32,
    ) {
        let hex = Salt::generate(&mut seeded(3)).expect("a salt").hex();
        let salt = Salt::read(hex.as_bytes()).expect("a salt");
        let commitment = commit(&one, &salt);
        prop_assert_eq!(commit(&one, &salt), commitment);
        let longer = [&one[..], &[0]].concat();
        prop_assert_ne!(commit(&longer, &salt), commitment);
        let mut other = longer;
        let at = at.index(other.len());
        other[at] ^= flip;
        prop_assert_ne!(commit(&other, &salt), commitment);
        let mut digits = hex.as_bytes().to_vec();
        digits[bit] = if digits[bit] == b'0' { b'1' } else { b'0' };
        prop_assert_ne!(commit(&one, &Salt::read(&digits).expect("a salt")), commitment);
        // It is none of the unsalted hashes, which a guess could be checked against.
        prop_assert_ne!(commitment, Commitment(Hash::of("private", &one)));
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}
