//! What below a folder that a program may read is kept from it (SPEC §15.6): the private folders of runs, the salts of
//! commitments, and the suite's key.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use parthack_certifier::sealing::SuiteKey;
use parthack_certifier::sealing::folder::{KEY_FILE_VARIABLE, KEY_VARIABLE};

use crate::run::files::open_regular;

/// Files and folders after which a search ends without an answer.
pub(super) const MOST_ENTRIES: usize = 200_000;
/// Folders of other people's files, where nobody keeps runs.
const PASSED_OVER: [&str; 3] = [".git", "node_modules", "__pycache__"];
/// The private folder of a run, and what stands beside it in one.
const PRIVATE: &str = "private";
const BESIDE: [&str; 3] = ["manifest.json", "ledger.jsonl", "journal"];
/// Bytes at the beginning of a file by which salts and keys are known.
const HEAD_BYTES: u64 = 4096;
/// Largest file that is looked into: salts of some ten thousand tasks.
const MOST_BYTES: u64 = 4 << 20;
/// What the salts of commitments say of themselves, whatever their version.
const SALTS: &[u8] = b"\"parthack.reveal/";
/// Extension of files of keys.
const KEY_EXTENSION: &str = "key";

/// The private folders of runs below a folder, and that of the folder itself if it is a run, and files with salts or with the
/// suite's key; links are not followed. None if there are more files than [`MOST_ENTRIES`].
pub(super) fn private_folders(folder: &Path) -> Option<Vec<PathBuf>> {
    search(folder, MOST_ENTRIES, key_in_use().as_ref())
}

/// The key that the variables give. That of a folder of packages lies in that folder, and copies of it are known by their name.
fn key_in_use() -> Option<SuiteKey> {
    if let Some(text) = std::env::var_os(KEY_VARIABLE) {
        return SuiteKey::read(text.as_encoded_bytes()).ok();
    }
    SuiteKey::read(&head(Path::new(&std::env::var_os(KEY_FILE_VARIABLE)?))?).ok()
}

fn search(folder: &Path, most: usize, key: Option<&SuiteKey>) -> Option<Vec<PathBuf>> {
    let digits = key.map(SuiteKey::hex);
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    let mut left = most;
    while let Some(folder) = pending.pop() {
        let is_run = BESIDE.iter().any(|name| folder.join(name).exists());
        // A folder that can't be listed here shows a program nothing either.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_file() {
                let digits = digits.as_ref().map(|digits| digits.as_bytes());
                found.extend(Some(entry.path()).filter(|path| is_secret(path, digits)));
            } else if !kind.is_dir() {
                continue;
            } else if is_run && name == PRIVATE {
                found.push(entry.path());
            } else if !PASSED_OVER.iter().any(|passed| name == *passed) {
                pending.push(entry.path());
            }
        }
    }
    found.sort();
    Some(found)
}

/// Whether a file holds salts, the key with these digits, or, where its name says so, some key.
fn is_secret(path: &Path, digits: Option<&[u8]>) -> bool {
    let Some(head) = head(path) else { return false };
    let holds = |what: &[u8]| head.windows(what.len()).any(|window| window == what);
    let is_json = head.trim_ascii_start().starts_with(b"{");
    let is_key = || path.extension().is_some_and(|own| own == KEY_EXTENSION) && SuiteKey::read(&head).is_ok();
    is_json && (holds(SALTS) || holds(b"\"salt\"")) || digits.is_some_and(holds) || is_key()
}

/// The beginning of a file; none of one that is large, or that can't be read.
fn head(path: &Path) -> Option<Vec<u8>> {
    let file = open_regular(path).ok()?;
    if file.metadata().ok()?.len() > MOST_BYTES {
        return None;
    }
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_folders_of_runs_are_found_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path();
        for name in ["runs/first/private/journal", "runs/first/journal", "deep/er/run/private", "mine/private/x"] {
            fs::create_dir_all(base.join(name)).expect("made");
        }
        fs::write(base.join("deep/er/run/manifest.json"), "{}").expect("written");
        let expected = [base.join("deep/er/run/private"), base.join("runs/first/private")];
        assert_eq!(private_folders(base).as_deref(), Some(expected.as_slice()));
        assert_eq!(private_folders(&base.join("runs/first")), Some(vec![base.join("runs/first/private")]));
        assert_eq!(private_folders(&base.join("absent")), Some(Vec::new()));
        assert_eq!(search(base, 3, None), None);
    }

    #[test]
    fn salts_and_keys_are_found_by_what_they_hold() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path();
        let (used, other) = ("5a".repeat(32), "c3".repeat(32));
        fs::create_dir(base.join("keys")).expect("made");
        for (name, text) in [
            ("keys/my.salts", r#"{"commitments":"aa","format":"parthack.reveal/1","tasks":[]}"#.to_owned()),
            ("keys/reordered", "\n {\"tasks\": [{\"id\": \"T\", \"salt\": \"00\"}]}".to_owned()),
            ("keys/notes.txt", format!("export PARTHACK_SUITE_KEY={used}\n")),
            ("keys/suite.key", format!("{other}\n")),
            ("check.py", "assert reveal[\"format\"] == \"parthack.reveal/1\"".to_owned()),
            ("hash.txt", format!("{other}\n")),
            ("payload.json", r#"{"format":"parthack.payload/1"}"#.to_owned()),
            ("door.key", "not a key of a suite".to_owned()),
        ] {
            fs::write(base.join(name), text).expect("written");
        }
        let key = SuiteKey::read(used.as_bytes()).expect("a key");
        let expected =
            ["keys/my.salts", "keys/notes.txt", "keys/reordered", "keys/suite.key"].map(|name| base.join(name));
        assert_eq!(search(base, MOST_ENTRIES, Some(&key)).as_deref(), Some(expected.as_slice()));
        let without = [0, 2, 3].map(|at: usize| expected[at].clone());
        assert_eq!(search(base, MOST_ENTRIES, None).as_deref(), Some(without.as_slice()));
    }
}
