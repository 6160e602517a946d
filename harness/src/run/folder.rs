//! The run folder (SPEC §8): what is where, who works in it, and whether it is done.
//!
//! | path | what | public |
//! |---|---|---|
//! | `manifest.json` | everything frozen before scoring | yes |
//! | `journal/` | what is done so far, in whatever order | yes |
//! | `ledger.jsonl` | the records, sorted and chained, once all are there | yes |
//! | `objects/payloads/`, `objects/trajectories/` | bytes by hash | yes |
//! | `tables/` | the tables | yes |
//! | `private/` | vectors and codes, and their journal | owner only (folders 0700, files 0600) |
//! | `spending.jsonl` | what answers of models cost, outside every hash | yes |
//! | `telemetry.jsonl` | timings, outside every hash | yes |
//! | `complete.json` | written last: hashes of ledger and tables | yes |

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use parthack_env::canonical::Hash;
use parthack_model::difference::Differences;
use serde::{Deserialize, Serialize};

use crate::ledger::{canonical_of, read_strict};
use crate::run::error::RunError;
use crate::run::files::{create_folder, read_regular, sync_folder, write_atomically, write_private};
use crate::run::manifest::Manifest;

/// Format of `complete.json`.
pub const COMPLETE_FORMAT: &str = "parthack.complete/1";
/// Names that a run may leave before its manifest is there.
const EARLY: [&str; 2] = [".lock", "manifest.json.tmp"];

/// What `complete.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// [`COMPLETE_FORMAT`].
    pub format: String,
    /// Hash, label `file`, of `ledger.jsonl`.
    pub ledger: String,
    /// Hashes, label `file`, of the files in `tables/`.
    pub tables: BTreeMap<String, String>,
}

/// Kinds of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// Public payloads; label `payload`.
    Payload,
    /// Trajectories and candidates; label `candidate`.
    Trajectory,
}

impl ObjectKind {
    /// The label of its hashes.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            ObjectKind::Payload => "payload",
            ObjectKind::Trajectory => "candidate",
        }
    }

    /// Its folder within `objects/`.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            ObjectKind::Payload => "payloads",
            ObjectKind::Trajectory => "trajectories",
        }
    }
}

/// Paths of a run folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    /// The folder.
    pub root: PathBuf,
}

/// The right to work in a run folder, given back when dropped.
#[derive(Debug)]
pub struct FolderLock {
    file: File,
}

impl Drop for FolderLock {
    /// Unlocks rather than closes: a process that is just being started may hold a copy of the descriptor for a moment.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// In what state a run folder was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing was there.
    Nothing,
    /// A run of the same manifest, under way.
    Begun,
    /// A run of the same manifest, done.
    Finished,
}

impl RunFolder {
    /// The folder at a path, whether it exists or not.
    #[must_use]
    pub fn at(root: &Path) -> RunFolder {
        RunFolder { root: root.to_path_buf() }
    }

    /// A path within it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// `ledger.jsonl`.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.path("ledger.jsonl")
    }

    /// `private/certifications.jsonl`.
    #[must_use]
    pub fn certifications(&self) -> PathBuf {
        self.path("private/certifications.jsonl")
    }

    /// An object's file. `hash` must be hexadecimal digits; anything else names no file.
    #[must_use]
    pub fn object(&self, kind: ObjectKind, hash: &str) -> PathBuf {
        let name = if Hash::from_hex(hash).is_some() { hash } else { "not-a-hash" };
        self.root.join("objects").join(kind.folder()).join(format!("{name}.json"))
    }

    /// An object's bytes, if they are there and have the hash.
    #[must_use]
    pub fn read_object(&self, kind: ObjectKind, hash: &str) -> Option<Vec<u8>> {
        let bytes = read_regular(self.object(kind, hash)).ok()?;
        (Hash::of(kind.label(), &bytes).hex() == hash).then_some(bytes)
    }

    /// Opens the folder for a run: creates it, locks it, and compares its manifest with the run's.
    ///
    /// # Errors
    /// [`RunError::Storage`], [`RunError::Busy`], [`RunError::Foreign`], [`RunError::OtherManifest`].
    pub fn open(&self, manifest: &Manifest) -> Result<(FolderLock, Found), RunError> {
        create_folder(&self.root)?;
        let lock = self.lock()?;
        let expected = manifest.bytes();
        let path = self.path("manifest.json");
        match read_regular(&path) {
            Ok(found) if found.strip_suffix(b"\n") == Some(&expected) => {
                let found = if self.complete().is_some() { Found::Finished } else { Found::Begun };
                Ok((lock, found))
            }
            Ok(found) => Err(RunError::OtherManifest {
                folder: self.root.clone(),
                found: describe_manifest(&found),
                expected: manifest.hash().hex(),
                difference: describe_difference(&found, &expected),
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.check_vacant()?;
                Ok((lock, Found::Nothing))
            }
            Err(error) => Err(RunError::storage("cannot read", &path, error)),
        }
    }

    /// Writes the manifest and the folders that work needs; does nothing twice.
    ///
    /// # Errors
    /// [`RunError::Storage`].
    pub fn prepare(&self, manifest: &Manifest, found: Found) -> Result<(), RunError> {
        if found == Found::Nothing {
            let mut bytes = manifest.bytes();
            bytes.push(b'\n');
            write_atomically(&self.path("manifest.json"), &bytes)?;
        }
        for name in ["journal", "objects/payloads", "objects/trajectories", "tables", "private"] {
            create_folder(&self.path(name))?;
        }
        keep_private(&self.path("private"))?;
        create_folder(&self.path("private/journal"))?;
        keep_private(&self.path("private/journal"))?;
        sync_folder(&self.root)
    }

    /// What `complete.json` says, if it is there and readable.
    #[must_use]
    pub fn complete(&self) -> Option<Complete> {
        let bytes = read_regular(self.path("complete.json")).ok()?;
        read_strict(bytes.strip_suffix(b"\n")?).ok()
    }

    /// Writes the certifications, the ledger, the tables, and last `complete.json`.
    ///
    /// # Errors
    /// [`RunError::Storage`].
    pub fn finish(
        &self,
        certifications: &[u8],
        ledger: &[u8],
        tables: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), RunError> {
        write_private(&self.certifications(), certifications)?;
        write_atomically(&self.ledger(), ledger)?;
        let hash = |bytes: &[u8]| Hash::of("file", bytes).hex();
        let mut hashes = BTreeMap::new();
        for (name, bytes) in tables {
            write_atomically(&self.path("tables").join(name), bytes)?;
            hashes.insert(name.clone(), hash(bytes));
        }
        for name in ["private", "tables", "."] {
            sync_folder(&self.path(name))?;
        }
        let complete = Complete { format: COMPLETE_FORMAT.to_owned(), ledger: hash(ledger), tables: hashes };
        let mut bytes = canonical_of(&complete);
        bytes.push(b'\n');
        write_atomically(&self.path("complete.json"), &bytes)?;
        sync_folder(&self.root)
    }

    /// Makes a finished run an unfinished one, whose results are written anew.
    ///
    /// # Errors
    /// [`RunError::Storage`].
    pub(crate) fn reopen(&self) -> Result<(), RunError> {
        let path = self.path("complete.json");
        fs::remove_file(&path).map_err(|error| RunError::storage("cannot remove", &path, error))?;
        sync_folder(&self.root)
    }

    /// Takes the right to work in the folder, which must be there.
    ///
    /// # Errors
    /// [`RunError::Busy`], [`RunError::Storage`].
    pub(crate) fn lock(&self) -> Result<FolderLock, RunError> {
        let path = self.path(".lock");
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| RunError::storage("cannot write", &path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock { file }),
            Err(TryLockError::WouldBlock) => Err(RunError::Busy { folder: self.root.clone() }),
            Err(TryLockError::Error(error)) => Err(RunError::storage("cannot lock", &path, error)),
        }
    }

    fn check_vacant(&self) -> Result<(), RunError> {
        let entries = fs::read_dir(&self.root).map_err(|e| RunError::storage("cannot read", &self.root, e))?;
        for entry in entries {
            let entry = entry.map_err(|error| RunError::storage("cannot read", &self.root, error))?;
            if !EARLY.iter().any(|early| entry.file_name() == *early) {
                return Err(RunError::Foreign { folder: self.root.clone() });
            }
        }
        Ok(())
    }
}

fn describe_manifest(bytes: &[u8]) -> String {
    match Manifest::read(bytes) {
        Ok(manifest) => manifest.hash().hex(),
        Err(error) => format!("no readable manifest ({error})"),
    }
}

fn describe_difference(found: &[u8], expected: &[u8]) -> String {
    let read = |bytes: &[u8]| serde_json::from_slice(bytes).ok();
    let (Some(found), Some(expected)) = (read(found), read(expected)) else { return String::new() };
    let differences = Differences::between(&found, &expected);
    let others = match differences.count {
        0 | 1 => String::new(),
        count => format!(" ({} more)", count - 1),
    };
    differences.first.map_or_else(String::new, |first| format!("; they differ at {first}{others}"))
}

#[cfg(unix)]
fn keep_private(path: &Path) -> Result<(), RunError> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
        .map_err(|error| RunError::storage("cannot protect", path, error))
}

#[cfg(not(unix))]
fn keep_private(_path: &Path) -> Result<(), RunError> {
    Ok(())
}
