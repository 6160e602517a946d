//! Runs below a folder that a program may read: what of them is private is kept from it (SPEC §15.6).

use std::fs;
use std::path::{Path, PathBuf};

/// Files and folders after which a search ends without an answer.
pub(super) const MOST_ENTRIES: usize = 200_000;
/// Folders of other people's files, where nobody keeps runs.
const PASSED_OVER: [&str; 3] = [".git", "node_modules", "__pycache__"];
/// The private folder of a run, and what stands beside it in one.
const PRIVATE: &str = "private";
const BESIDE: [&str; 3] = ["manifest.json", "ledger.jsonl", "journal"];

/// The private folders of runs below a folder, and that of the folder itself if it is a run; links are not followed. None if
/// there are more files than [`MOST_ENTRIES`].
pub(super) fn private_folders(folder: &Path) -> Option<Vec<PathBuf>> {
    search(folder, MOST_ENTRIES)
}

fn search(folder: &Path, most: usize) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    let mut left = most;
    while let Some(folder) = pending.pop() {
        let is_run = BESIDE.iter().any(|name| folder.join(name).exists());
        // A folder that can't be listed here shows a program nothing either.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name();
            if is_run && name == PRIVATE {
                found.push(entry.path());
            } else if !PASSED_OVER.iter().any(|passed| name == *passed) {
                pending.push(entry.path());
            }
        }
    }
    found.sort();
    Some(found)
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
        assert_eq!(search(base, 3), None);
    }
}
