//! What several tests share: the development suite, and random tasks.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod random;

use std::path::PathBuf;

use parthack_certifier::binding::PrivateTask;

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Public and private bytes of the tasks whose id begins with `prefix` and whose package is there, in id order.
pub(crate) fn files(prefix: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let folder = root().join("tasks/pb-cste-1");
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .expect("the suite's folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(prefix) && name.ends_with(".json"))
        .collect();
    names.sort();
    let read = |path: PathBuf| std::fs::read(&path).expect("a file of the suite");
    let sealed = |name: &String| root().join("sealed/pb-cste-1").join(name);
    names.retain(|name| sealed(name).exists());
    names.iter().map(|name| (read(folder.join(name)), read(sealed(name)))).collect()
}

fn open(files: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<PrivateTask> {
    files.iter().map(|(public, private)| PrivateTask::open(public, private).expect("a sound package")).collect()
}

/// Every development task, opened.
pub(crate) fn development_tasks() -> Vec<PrivateTask> {
    open(files("PH-D"))
}

/// Every task of the reference suite, opened.
pub(crate) fn suite_tasks() -> Vec<PrivateTask> {
    open(files("PH-"))
}
