//! A folder of private packages, plain (`ID.json`) and sealed (`ID.sealed`), and where the key of the sealed ones is.
//!
//! Apart from the client, this is the one file of the library that reads files.
//!
//! The key is looked for in this order: the variable `PARTHACK_SUITE_KEY` holds it; the variable
//! `PARTHACK_SUITE_KEY_FILE` names a file with it; the folder itself holds a file `suite.key`. A variable of the
//! environment can be read by whoever may read the process's: the file is the better place.
//!
//! Packages and `suite.key` must be plain files with one name. A symbolic link could lead out of the folder, and a second
//! hard link could lie in a public one, where no sandbox without a change of user keeps an evaluator from it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::input::{Cursor, InputError, MAX_FILE_BYTES};
use parthack_env::json::Json;
use parthack_env::names::is_identifier;
use zeroize::Zeroizing;

use super::commitment::{Commitments, MAX_LIST_BYTES};
use super::file::{MAX_SEALED_BYTES, SealError};
use super::key::{KeyError, SuiteKey};
use super::reveal::Mismatch;
use crate::store::Store;

/// Variable that holds a suite's key.
pub const KEY_VARIABLE: &str = "PARTHACK_SUITE_KEY";
/// Variable that names the file of a suite's key.
pub const KEY_FILE_VARIABLE: &str = "PARTHACK_SUITE_KEY_FILE";
/// Name of a key that lies beside the packages that it opens.
pub const KEY_FILE: &str = "suite.key";
/// Extension of plain packages.
pub const PLAIN_EXTENSION: &str = "json";
/// Extension of sealed packages.
pub const SEALED_EXTENSION: &str = "sealed";
/// Name of a suite's list of tasks.
pub const SUITE_FILE: &str = "suite.json";
/// Name of a suite's reveal, beside its `suite.json`, once it is published.
pub const REVEAL_FILE: &str = "reveal.json";
/// Name of a suite's commitments, beside its `suite.json`.
pub const COMMITMENTS_FILE: &str = "commitments.json";
/// Bytes of a key file: one line.
const MAX_KEY_FILE_BYTES: u64 = 1 << 10;

/// Why a folder of packages does not load.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The system refuses.
    #[error("{}", path.display())]
    Unreadable {
        /// File or folder.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A symbolic link, a folder, a device.
    #[error("{}: found {found}, expected a plain file", path.display())]
    NotPlain {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A file with several names.
    #[error("{}: found {links} links, expected one: a second name would lead round the sandbox", path.display())]
    Links {
        /// The file.
        path: PathBuf,
        /// Names that it has.
        links: u64,
    },
    /// Another file took its place while it was read.
    #[error("{}: another file took its place while it was read", path.display())]
    Exchanged {
        /// The file.
        path: PathBuf,
    },
    /// Too long.
    #[error("{}: found {found} bytes, expected at most {most}", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// At least so many are there.
        found: u64,
        /// So many may be.
        most: u64,
    },
    /// A sealed file that is named for no task.
    #[error("{}: found no task id before .{SEALED_EXTENSION}", path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// A plain and a sealed package of one task.
    #[error("found both {} and {}, expected one package of a task", plain.display(), sealed.display())]
    Both {
        /// The plain one.
        plain: PathBuf,
        /// The sealed one.
        sealed: PathBuf,
    },
    /// Sealed packages and no key.
    #[error(
        "{} is sealed, and there is no key: found neither {KEY_VARIABLE}, nor {KEY_FILE_VARIABLE}, nor a file {KEY_FILE} beside it",
        sealed.display()
    )]
    NoKey {
        /// The first sealed package.
        sealed: PathBuf,
    },
    /// Two keys in the environment.
    #[error("found both {KEY_VARIABLE} and {KEY_FILE_VARIABLE}, expected one of them")]
    TwoKeys,
    /// A key that is none.
    #[error("{place}")]
    Key {
        /// Where it was found.
        place: KeyPlace,
        /// What is wrong.
        #[source]
        error: KeyError,
    },
    /// A sealed package that does not open.
    #[error("{}, with the key of {place}", path.display())]
    Seal {
        /// The sealed package.
        path: PathBuf,
        /// Where the key was found.
        place: KeyPlace,
        /// Why.
        #[source]
        error: SealError,
    },
    /// A public file of the suite that is none.
    #[error("{}", path.display())]
    Public {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: InputError,
    },
    /// A sealed package that is not the one that was committed to.
    #[error("{}", commitments.display())]
    Committed {
        /// The commitments.
        commitments: PathBuf,
        /// What differs.
        #[source]
        error: Mismatch,
    },
}

impl FolderError {
    /// Whether the surroundings are at fault, and not a file's content.
    #[must_use]
    pub fn is_environment(&self) -> bool {
        matches!(self, FolderError::Unreadable { .. } | FolderError::NoKey { .. } | FolderError::TwoKeys)
    }
}

/// Where a suite's key was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// In the variable [`KEY_VARIABLE`].
    Variable,
    /// In the file that [`KEY_FILE_VARIABLE`] names.
    NamedFile(PathBuf),
    /// In the folder of the packages: the key is as public as they are.
    Folder(PathBuf),
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyPlace::Variable => write!(out, "the variable {KEY_VARIABLE}"),
            KeyPlace::NamedFile(path) => write!(out, "{} ({KEY_FILE_VARIABLE})", path.display()),
            KeyPlace::Folder(path) => write!(out, "{}", path.display()),
        }
    }
}

/// The packages of a folder, by task id, as they lie there.
#[derive(Debug, Default)]
pub struct Packages {
    /// Plain ones.
    pub plain: BTreeMap<String, Zeroizing<Vec<u8>>>,
    /// Sealed ones.
    pub sealed: BTreeMap<String, Vec<u8>>,
}

impl Packages {
    /// Reads every `ID.json` and `ID.sealed` of a folder. No key is needed.
    ///
    /// # Errors
    /// [`FolderError`]: a file that can't be read, is no plain file with one name, or is too long; a task with two packages.
    pub fn read(folder: &Path) -> Result<Packages, FolderError> {
        let packages = Packages::read_unfinished(folder)?;
        if let Some(id) = packages.sealed.keys().find(|id| packages.plain.contains_key(*id)) {
            let (plain, sealed) = (plain_path(folder, id), sealed_path(folder, id));
            return Err(FolderError::Both { plain, sealed });
        }
        Ok(packages)
    }

    /// The same for a folder in which sealing or unsealing may have been interrupted: a task may have both packages.
    ///
    /// # Errors
    /// As [`Packages::read`], but for tasks with two packages.
    pub fn read_unfinished(folder: &Path) -> Result<Packages, FolderError> {
        let mut packages = Packages::default();
        for name in names(folder)? {
            let (Some(stem), Some(extension)) = (name.file_stem(), name.extension().and_then(OsStr::to_str)) else {
                continue;
            };
            let path = folder.join(&name);
            match (stem.to_str(), extension) {
                (Some(id), PLAIN_EXTENSION) => {
                    packages.plain.insert(id.to_owned(), read_private(&path, MAX_FILE_BYTES)?);
                }
                (Some(id), SEALED_EXTENSION) if is_identifier(id) => {
                    packages.sealed.insert(id.to_owned(), read_private(&path, MAX_SEALED_BYTES)?.to_vec());
                }
                (_, SEALED_EXTENSION) => return Err(FolderError::Name { path }),
                _ => {}
            }
        }
        Ok(packages)
    }
}

/// Where the plain package of a task lies.
#[must_use]
pub fn plain_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.{PLAIN_EXTENSION}"))
}

/// Where the sealed package of a task lies.
#[must_use]
pub fn sealed_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.{SEALED_EXTENSION}"))
}

/// The file names of a folder, sorted.
fn names(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let wrap = |error| FolderError::Unreadable { path: folder.to_owned(), error };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrap)? {
        names.push(PathBuf::from(entry.map_err(wrap)?.file_name()));
    }
    names.sort();
    Ok(names)
}

/// Finds the key for a folder of packages, if there is one. `variable` gives variables of the environment; empty ones count
/// as not there.
///
/// # Errors
/// [`FolderError`]: both variables are there, a file can't be read or may not be, or what was found is no key.
pub fn find_key(
    folder: &Path,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Option<(SuiteKey, KeyPlace)>, FolderError> {
    let value = |name| variable(name).filter(|value| !value.is_empty());
    let (text, place) = match (value(KEY_VARIABLE), value(KEY_FILE_VARIABLE)) {
        (Some(_), Some(_)) => return Err(FolderError::TwoKeys),
        (Some(text), None) => (Zeroizing::new(text.into_encoded_bytes()), KeyPlace::Variable),
        (None, Some(path)) => {
            let path = PathBuf::from(path);
            (read_named_key(&path)?, KeyPlace::NamedFile(path))
        }
        (None, None) => {
            let path = folder.join(KEY_FILE);
            match read_private(&path, MAX_KEY_FILE_BYTES) {
                Err(FolderError::Unreadable { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(None);
                }
                text => (text?, KeyPlace::Folder(path)),
            }
        }
    };
    match SuiteKey::read(&text) {
        Ok(key) => Ok(Some((key, place))),
        Err(error) => Err(FolderError::Key { place, error }),
    }
}

/// Reads every package of `sealed`, plain or sealed, and its public file of `tasks`. Keys are wiped when it returns.
///
/// Where `tasks` has commitments, every package of a committed task must be sealed and the committed one, and the suite the
/// one that they are for.
///
/// # Errors
/// [`FolderError`]. Whether an opened package is sound shows when it is first used.
pub fn load(tasks: &Path, sealed: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Store, FolderError> {
    let packages = Packages::read(sealed)?;
    let mut store = Store::default();
    check_commitments(tasks, &packages)?;
    if let Some(first) = packages.sealed.keys().next() {
        let found = find_key(sealed, variable)?;
        let (key, place) = found.ok_or_else(|| FolderError::NoKey { sealed: sealed_path(sealed, first) })?;
        for (id, bytes) in &packages.sealed {
            let added = store.add_sealed(id, bytes, &key);
            let path = || sealed_path(sealed, id);
            added.map_err(|error| FolderError::Seal { path: path(), place: place.clone(), error })?;
        }
    }
    let ids: Vec<String> = packages.sealed.into_keys().chain(packages.plain.keys().cloned()).collect();
    for (id, bytes) in packages.plain {
        store.add_private(&id, bytes);
    }
    for id in ids {
        if let Some(public) = read_public(&tasks.join(format!("{id}.json")), MAX_FILE_BYTES)? {
            store.add_public(&id, public);
        }
    }
    Ok(store)
}

/// What a folder of tasks says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicSuite {
    /// The suite's id.
    pub id: String,
    /// Hash, label `suite`, of the canonical `suite.json`.
    pub hash: Hash,
    /// Its tasks' ids, in its order.
    pub tasks: Vec<String>,
}

/// Reads the `suite.json` of a folder of tasks, if there is one.
///
/// # Errors
/// [`FolderError`]: it can't be read, or is none.
pub fn read_suite(tasks: &Path) -> Result<Option<PublicSuite>, FolderError> {
    let path = tasks.join(SUITE_FILE);
    let Some(bytes) = read_public(&path, MAX_LIST_BYTES)? else { return Ok(None) };
    let read = || {
        let json = Json::parse(&bytes)?;
        let root = Cursor::root(&json);
        let id = root.key("id")?.identifier()?.to_owned();
        let ids = root.key("tasks")?.items()?.into_iter().map(|task| task.key("id")?.identifier().map(str::to_owned));
        Ok(PublicSuite { id, hash: Hash::of("suite", &canonical_bytes(&json)), tasks: ids.collect::<Result<_, _>>()? })
    };
    read().map(Some).map_err(|error| FolderError::Public { path, error })
}

/// Reads the commitments of a folder of tasks, if there are any.
///
/// # Errors
/// [`FolderError`]: they can't be read, or are none.
pub fn read_commitments(tasks: &Path) -> Result<Option<Commitments>, FolderError> {
    let path = tasks.join(COMMITMENTS_FILE);
    let Some(bytes) = read_public(&path, MAX_LIST_BYTES)? else { return Ok(None) };
    Commitments::read(&bytes).map(Some).map_err(|error| FolderError::Public { path, error })
}

fn check_commitments(tasks: &Path, packages: &Packages) -> Result<(), FolderError> {
    let Some(commitments) = read_commitments(tasks)? else { return Ok(()) };
    let differs = |error| FolderError::Committed { commitments: tasks.join(COMMITMENTS_FILE), error };
    if let Some(suite) = read_suite(tasks)? {
        commitments.check_suite(suite.hash).map_err(differs)?;
    }
    // A plain package can't be compared with its commitment: the salt is secret.
    if let Some(plain) = packages.plain.keys().find(|id| commitments.task(id).is_some()) {
        return Err(differs(Mismatch::NoSealedFile { task: plain.clone() }));
    }
    packages.sealed.iter().try_for_each(|(id, bytes)| commitments.check_sealed(id, bytes)).map_err(differs)
}

/// A public file, if it is there.
///
/// # Errors
/// [`FolderError`]: it can't be read, or has more than `most` bytes.
pub fn read_public(path: &Path, most: u64) -> Result<Option<Vec<u8>>, FolderError> {
    let wrap = |error| FolderError::Unreadable { path: path.to_owned(), error };
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => read_at_most(path, file.map_err(wrap)?, most).map(|bytes| Some(bytes.to_vec())),
    }
}

/// A private file: plain, with one name, and the one that was looked at before it was opened.
///
/// # Errors
/// [`FolderError`]: it can't be read, is no plain file with one name, was exchanged, or has more than `most` bytes.
pub fn read_private(path: &Path, most: u64) -> Result<Zeroizing<Vec<u8>>, FolderError> {
    let wrap = |error| FolderError::Unreadable { path: path.to_owned(), error };
    let before = fs::symlink_metadata(path).map_err(wrap)?;
    check_plain(path, &before)?;
    let file = File::open(path).map_err(wrap)?;
    let opened = file.metadata().map_err(wrap)?;
    check_plain(path, &opened)?;
    if !is_same_file(&before, &opened) {
        return Err(FolderError::Exchanged { path: path.to_owned() });
    }
    read_at_most(path, file, most)
}

/// The file that a variable names. The operator chose it, so links are followed and a pipe will do; a file that is one
/// must still have one name.
fn read_named_key(path: &Path) -> Result<Zeroizing<Vec<u8>>, FolderError> {
    let wrap = |error| FolderError::Unreadable { path: path.to_owned(), error };
    let file = File::open(path).map_err(wrap)?;
    let metadata = file.metadata().map_err(wrap)?;
    if metadata.is_file() {
        check_plain(path, &metadata)?;
    }
    read_at_most(path, file, MAX_KEY_FILE_BYTES)
}

fn read_at_most(path: &Path, file: File, most: u64) -> Result<Zeroizing<Vec<u8>>, FolderError> {
    let wrap = |error| FolderError::Unreadable { path: path.to_owned(), error };
    let length = file.metadata().map_err(wrap)?.len().min(most);
    // With room from the start, so that no copy is left behind by growing.
    let room = usize::try_from(length).unwrap_or(0) + 1;
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(most + 1).read_to_end(&mut bytes).map_err(wrap)?;
    let found = bytes.len() as u64;
    if found > most {
        return Err(FolderError::TooLong { path: path.to_owned(), found, most });
    }
    Ok(bytes)
}

fn check_plain(path: &Path, metadata: &Metadata) -> Result<(), FolderError> {
    let found = if metadata.is_symlink() {
        "a symbolic link"
    } else if metadata.is_dir() {
        "a folder"
    } else if metadata.is_file() {
        return check_links(path, metadata);
    } else {
        "a device or a pipe"
    };
    Err(FolderError::NotPlain { path: path.to_owned(), found })
}

#[cfg(unix)]
fn check_links(path: &Path, metadata: &Metadata) -> Result<(), FolderError> {
    use std::os::unix::fs::MetadataExt;
    match metadata.nlink() {
        // None: it was removed after it was opened.
        0 | 1 => Ok(()),
        links => Err(FolderError::Links { path: path.to_owned(), links }),
    }
}

#[cfg(not(unix))]
fn check_links(_: &Path, _: &Metadata) -> Result<(), FolderError> {
    Ok(())
}

#[cfg(unix)]
fn is_same_file(before: &Metadata, opened: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (before.dev(), before.ino()) == (opened.dev(), opened.ino())
}

#[cfg(not(unix))]
fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    true
}
