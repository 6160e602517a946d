//! Whole-system tests live in `tests/tests`; what several of them need stands here.

use std::path::{Path, PathBuf};

/// The workspace's folder.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The 24 task files of the reference suite, by id.
#[must_use]
pub fn reference_tasks() -> Vec<PathBuf> {
    let folder = workspace().join("tasks/pb-cste-1");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("PH-")))
        .collect();
    files.sort();
    files
}
