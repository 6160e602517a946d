//! Cassettes: folders of recorded exchanges, each under the hash of its request.
//!
//! An exchange is one file, `exchanges/ab/<key>.json`. A file appears whole or not at all and never changes: it is
//! written beside its place, flushed, and linked there unless the place is taken. So any number of threads and processes
//! may record into one folder, and one that is killed leaves at most a temporary file, which nobody reads and
//! [`Cassette::prune`] removes. What is read is checked against its key and its hash.

mod exchange;
mod nearest;
mod quotes;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use exchange::{EXCHANGE_FORMAT, RecordedExchange};
pub use nearest::Nearest;

use crate::role::RoleConfig;

/// Recorded exchanges: one folder that is written to, if any, and others that are only read.
#[derive(Debug)]
pub struct Cassette {
    write: Option<PathBuf>,
    read: Vec<PathBuf>,
    /// The exchanges as they were at the first miss, to find the nearest one.
    index: OnceLock<Vec<Entry>>,
}

/// A line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The folder.
    pub folder: PathBuf,
    /// The key.
    pub key: String,
    /// The exchange's size in bytes.
    pub bytes: u64,
    /// The exchange, or what is wrong with its file.
    pub exchange: Result<Box<Label>, String>,
}

/// What a listing says of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The cell that asked first.
    pub cell: String,
    /// The role that asked first.
    pub role: String,
    /// The role's configuration.
    pub config: RoleConfig,
    /// The repeat.
    pub repeat: u32,
    /// The try.
    pub attempt: u32,
    /// The HTTP status.
    pub status: u16,
}

/// What a removal did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Keys of exchanges that were removed, in order.
    pub exchanges: Vec<String>,
    /// How many temporary files of processes that are gone were removed.
    pub temporary: usize,
    /// Bytes freed.
    pub bytes: u64,
}

/// What to remove.
#[derive(Debug, Clone, Copy)]
pub enum Prune<'k> {
    /// Exchanges whose keys are not among these, and broken ones.
    Unused(&'k BTreeSet<String>),
    /// Broken ones alone.
    Broken,
}

/// Why a cassette can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The system refused something.
    #[error("cassette: cannot {action} {}", path.display())]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An exchange is not what was stored.
    #[error(
        "{}: {problem}\nhint: the file has been changed or damaged; restore it, or remove it with \
         `parthack cassette prune --broken --cassettes DIR` and record it again",
        path.display()
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its JSON pointer.
        problem: String,
    },
    /// There is no folder to write to.
    #[error("cassette: there is no folder to record into\nhint: name one with --cassettes")]
    ReadOnly,
}

impl Cassette {
    /// Exchanges of folders; those of `write` count first, then those of `read` in order. A folder that doesn't exist is
    /// empty; `write` is made when the first exchange is stored.
    #[must_use]
    pub fn new(write: Option<PathBuf>, read: Vec<PathBuf>) -> Cassette {
        Cassette { write, read, index: OnceLock::new() }
    }

    /// The folders, in the order in which they count.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.write.iter().chain(&self.read).map(PathBuf::as_path)
    }

    /// The exchange of a key.
    ///
    /// # Errors
    /// [`CassetteError::Broken`] where its file is not what was stored; [`CassetteError::Io`].
    pub fn get(&self, key: &str) -> Result<Option<RecordedExchange>, CassetteError> {
        for folder in self.folders() {
            if let Some(exchange) = store::get(folder, key)? {
                return Ok(Some(exchange));
            }
        }
        Ok(None)
    }

    /// Stores an exchange unless its key has one, and returns the one that is stored. Its `key` and `hash` are computed.
    ///
    /// # Errors
    /// [`CassetteError::ReadOnly`], [`CassetteError::Io`], and [`CassetteError::Broken`] for the one that is stored.
    pub fn put(&self, exchange: RecordedExchange) -> Result<RecordedExchange, CassetteError> {
        let folder = self.write.as_deref().ok_or(CassetteError::ReadOnly)?;
        store::put(folder, exchange)
    }

    /// Every exchange of every folder, by folder and key. Broken ones are listed as such, and so is what stands in the place of one and is
    /// no regular file, or can't be read.
    ///
    /// # Errors
    /// [`CassetteError::Io`].
    pub fn list(&self) -> Result<Vec<Entry>, CassetteError> {
        let mut entries = Vec::new();
        for folder in self.folders() {
            for (key, path) in store::files(folder)? {
                entries.push(store::entry(folder, key, &path));
            }
        }
        Ok(entries)
    }

    /// Removes what a killed process left half-written in the folder that is written to. The caller makes sure that no
    /// other process writes there.
    ///
    /// # Errors
    /// [`CassetteError::Io`].
    pub fn sweep(&self) -> Result<(), CassetteError> {
        self.write.as_deref().map_or(Ok(()), store::sweep)
    }

    /// The keys of every exchange, broken or not.
    ///
    /// # Errors
    /// [`CassetteError::Io`].
    pub fn keys(&self) -> Result<BTreeSet<String>, CassetteError> {
        let mut keys = BTreeSet::new();
        for folder in self.folders() {
            keys.extend(store::files(folder)?.into_iter().map(|(key, _)| key));
        }
        Ok(keys)
    }

    /// The configurations that were recorded, by role, in order of their names. Broken exchanges are skipped.
    ///
    /// # Errors
    /// [`CassetteError::Io`].
    pub fn roles(&self) -> Result<BTreeMap<String, Vec<RoleConfig>>, CassetteError> {
        let mut roles: BTreeMap<String, Vec<RoleConfig>> = BTreeMap::new();
        for entry in self.list()? {
            let Ok(label) = entry.exchange else { continue };
            let configs = roles.entry(label.role).or_default();
            if !configs.iter().any(|known| known.asks_the_same(&label.config)) {
                configs.push(label.config);
            }
        }
        for configs in roles.values_mut() {
            configs.sort_by_cached_key(|config| (config.name(), format!("{config:?}")));
        }
        Ok(roles)
    }

    /// Removes exchanges and the temporary files of processes that are gone from the folder that is written to.
    ///
    /// # Errors
    /// [`CassetteError::ReadOnly`], [`CassetteError::Io`]; for one that the system lets nobody read or remove, such as a folder with
    /// something in it, when the others are removed.
    pub fn prune(&self, what: Prune<'_>, dry_run: bool) -> Result<Pruned, CassetteError> {
        let folder = self.write.as_deref().ok_or(CassetteError::ReadOnly)?;
        store::prune(folder, what, dry_run)
    }

    /// Leaves the requests of all exchanges, and what their answers quote of them, out of the folder that is written to: for recordings whose questions hold texts that may not be passed
    /// on. A replay that has those texts makes the requests again and finds the answers under the same keys. Returns the keys of what was changed.
    ///
    /// # Errors
    /// [`CassetteError::ReadOnly`], [`CassetteError::Io`]; [`CassetteError::Broken`] for an exchange that is not whole.
    pub fn strip(&self, dry_run: bool) -> Result<Vec<String>, CassetteError> {
        let folder = self.write.as_deref().ok_or(CassetteError::ReadOnly)?;
        store::strip(folder, dry_run)
    }

    /// The recorded exchange that is nearest to a wanted one, and the first difference.
    ///
    /// # Errors
    /// [`CassetteError::Io`].
    pub(crate) fn nearest(&self, wanted: &nearest::Wanted<'_>) -> Result<Option<Nearest>, CassetteError> {
        let index = match self.index.get() {
            Some(index) => index,
            None => {
                let entries = self.list()?;
                self.index.get_or_init(|| entries)
            }
        };
        Ok(nearest::nearest(index, wanted))
    }
}

pub(crate) use nearest::Wanted;
