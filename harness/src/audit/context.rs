//! A run folder as audits read it: manifest and ledger once, files as they lie there.

use std::collections::BTreeMap;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use parthack_env::canonical::Hash;
use serde::Deserialize;

use crate::audit::{AuditJob, Outcome};
use crate::ledger::{CellName, Ledger, PrivateRecord, Record, Subject, read_strict};
use crate::run::certifying::Certify;
use crate::run::error::RunError;
use crate::run::files::read_regular;
use crate::run::folder::RunFolder;
use crate::run::manifest::Manifest;
use crate::run::{read_ledger, read_manifest};

/// Folder of a run that is not public.
pub(super) const PRIVATE: &str = "private";

/// What all audits share.
pub(super) struct Context<'j> {
    pub(super) job: &'j AuditJob<'j>,
    pub(super) folder: RunFolder,
    pub(super) manifest: Manifest,
}

/// A file below a folder: its path within it, with slashes, and where it is.
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrivateLine {
    cell: String,
    record: PrivateRecord,
}

impl<'j> Context<'j> {
    /// Reads the manifest, and checks that it is of the job's suite.
    pub(super) fn load(job: &'j AuditJob<'j>) -> Result<Context<'j>, RunError> {
        let folder = RunFolder::at(&job.folder);
        let manifest = read_manifest(&folder)?;
        if manifest.suite.hash != job.suite.hash.hex() {
            let (found, expected) = (job.suite.hash, &manifest.suite.hash);
            let message = format!("the run is of another suite: found suite hash {found}, expected {expected}");
            return Err(RunError::usage(message, "name the suite that the run was over with --suite"));
        }
        if !folder.ledger().is_file() {
            // Says how to go on with an unfinished run.
            read_ledger(&folder, &manifest)?;
        }
        Ok(Context { job, folder, manifest })
    }

    /// A file of the run folder; one that can't be read is a finding.
    pub(super) fn file(&self, name: &str, outcome: &mut Outcome) -> Option<Vec<u8>> {
        read_regular(self.folder.path(name)).map_err(|error| outcome.finds(name, error.to_string(), "a file")).ok()
    }

    /// The ledger; one that does not chain ends the audit with that as its finding.
    pub(super) fn ledger(&self) -> Result<Ledger, RunError> {
        read_ledger(&self.folder, &self.manifest)
    }

    /// A certifier of the audit's own; none, and the reason noted, where none can be had.
    pub(super) fn certifier(&self, outcome: &mut Outcome) -> Option<Box<dyn Certify>> {
        match (self.job.certifier)() {
            Ok(certifier) => Some(certifier),
            Err(error) => {
                let error = error.to_string();
                outcome.not_run = Some(error.lines().next().unwrap_or_default().to_owned());
                None
            }
        }
    }

    /// The private records by cell; none, and the reason noted, in a copy of the run without them.
    pub(super) fn private(&self, outcome: &mut Outcome) -> Option<BTreeMap<String, PrivateRecord>> {
        let path = self.folder.certifications();
        let bytes = match read_regular(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                outcome.not_run = Some(format!("{}: {error}; only the operator's copy has it", path.display()));
                return None;
            }
        };
        let mut records = BTreeMap::new();
        for (number, line) in (1..).zip(lines(&bytes)).skip(1) {
            match read_strict::<PrivateLine>(line) {
                Ok(PrivateLine { cell, record }) => {
                    records.insert(cell, record);
                }
                Err(error) => {
                    let place = format!("{PRIVATE}/certifications.jsonl, line {number}");
                    outcome.finds(place, error.to_string(), "a private record");
                }
            }
        }
        Some(records)
    }

    /// The private record of a cell.
    pub(super) fn private_of<'p>(
        &self,
        private: &'p BTreeMap<String, PrivateRecord>,
        name: &CellName,
    ) -> Option<&'p PrivateRecord> {
        private.get(&name.key(&self.manifest.hash()).0.hex())
    }
}

/// The lines of a file, without their ends; what follows the last line feed is a line too if it is not empty.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Every file below a folder, in the order of names; folders named in `without` are passed over at the top.
pub(super) fn files_below(root: &Path, without: &[&str]) -> Result<Vec<Listed>, RunError> {
    // A link is followed to a file and never to a folder, so that the walk ends.
    let mut found = entries_below(root, without)?;
    found.retain(|(listed, kind)| !kind.is_dir() && listed.path.is_file());
    Ok(found.into_iter().map(|(listed, _)| listed).collect())
}

/// Every symbolic link below a folder with what it leads to, in the order of names; as for [`files_below`].
pub(super) fn links_below(root: &Path, without: &[&str]) -> Result<Vec<(String, PathBuf)>, RunError> {
    let links = entries_below(root, without)?.into_iter().filter(|(_, kind)| kind.is_symlink());
    let target = |Listed { name, path }: Listed| match fs::read_link(&path) {
        Ok(target) => Ok((name, target)),
        Err(error) => Err(RunError::storage("cannot read", &path, error)),
    };
    links.map(|(listed, _)| target(listed)).collect()
}

/// What stands below a folder, itself and not what it leads to, in the order of names; folders named in `without` at the top are not
/// entered.
pub(super) fn entries_below(root: &Path, without: &[&str]) -> Result<Vec<(Listed, FileType)>, RunError> {
    let mut found = Vec::new();
    let mut folders = vec![(String::new(), root.to_path_buf())];
    while let Some((prefix, folder)) = folders.pop() {
        let fault = |error| RunError::storage("cannot read", &folder, error);
        for entry in fs::read_dir(&folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let own = entry.file_name().to_string_lossy().into_owned();
            let (name, path) = (format!("{prefix}{own}"), entry.path());
            let kind = entry.file_type().map_err(fault)?;
            if kind.is_dir() && !(prefix.is_empty() && without.contains(&own.as_str())) {
                folders.push((format!("{name}/"), path.clone()));
            }
            found.push((Listed { name, path }, kind));
        }
    }
    found.sort_by(|(left, _), (right, _)| left.name.cmp(&right.name));
    Ok(found)
}

/// Reads a file whole.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, RunError> {
    read_regular(path).map_err(|error| RunError::storage("cannot read", path, error))
}

/// The trajectory's payload that each subject of a task has, as certification and selection recorded it.
pub(super) fn payloads_by_subject(ledger: &Ledger) -> BTreeMap<(&str, Subject), &str> {
    let mut payloads = BTreeMap::new();
    for record in ledger.records() {
        match record {
            Record::Honest(r) => {
                payloads.insert((r.task.as_str(), Subject::Honest {}), r.payload.as_str());
            }
            Record::Rollback(r) => {
                let subject = Subject::Rollback { set: r.set.clone(), index: r.index };
                payloads.insert((r.task.as_str(), subject), r.payload.as_str());
            }
            Record::Selection(r) => {
                if let Some(payload) = &r.payload {
                    payloads.insert((r.task.as_str(), Subject::Adversary { target: r.target.clone() }), payload);
                }
            }
            _ => {}
        }
    }
    payloads
}

/// Hash, label `payload`, of bytes.
pub(super) fn payload_hash(bytes: &[u8]) -> String {
    Hash::of("payload", bytes).hex()
}
