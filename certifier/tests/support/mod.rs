//! What several tests share: the development suite, and random tasks.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod random;

use std::collections::BTreeMap;
use std::path::PathBuf;

use parthack_certifier::binding::PrivateTask;
use parthack_certifier::sealing;
use parthack_certifier::sealing::folder::{Packages, find_key};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Public and private bytes of the tasks whose id begins with `prefix` and whose package is there, in id order; sealed
/// packages are opened.
pub(crate) fn files(prefix: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let folder = root().join("tasks/pb-cste-1");
    let packages = packages().into_iter().filter(|(id, _)| id.starts_with(prefix));
    let read = |id: String| std::fs::read(folder.join(format!("{id}.json"))).expect("a file of the suite");
    packages.map(|(id, private)| (read(id), private)).collect()
}

/// The plain bytes of every package of the reference suite, whether it lies there sealed or plain, by task id.
pub(crate) fn packages() -> BTreeMap<String, Vec<u8>> {
    let folder = root().join("sealed/pb-cste-1");
    let Packages { plain, sealed } = Packages::read(&folder).expect("the suite's packages");
    let mut packages: BTreeMap<String, Vec<u8>> = plain.into_iter().map(|(id, bytes)| (id, bytes.to_vec())).collect();
    if !sealed.is_empty() {
        let (key, _) = find_key(&folder, &|_| None).expect("a key that can be read").expect("the published key");
        packages.extend(sealed.into_iter().map(|(id, bytes)| {
            let plaintext = sealing::open(&bytes, &id, &key).expect("a package that opens").to_vec();
            (id, plaintext)
        }));
    }
    packages
}

/// A source of random bytes that gives the same ones for the same seed.
pub(crate) fn seeded(seed: u64) -> impl FnMut(&mut [u8]) -> std::io::Result<()> {
    let mut stream = blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof();
    move |bytes| {
        stream.fill(bytes);
        Ok(())
    }
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
