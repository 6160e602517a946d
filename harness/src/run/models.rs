//! The client of a run, and its archive: every exchange that a record rests on is kept in the run folder too, so that a
//! finished run can be verified and replayed by itself.

use std::path::{Path, PathBuf};

use parthack_model::cassette::Cassette;
use parthack_model::client::{Call, Check, Client, ClientOptions, Exchange, ModelMode};
use parthack_model::price::Cost;

use crate::run::error::RunError;
use crate::run::files::read_regular;
use crate::run::folder::RunFolder;
use crate::run::spending;

/// How a run comes by answers of models.
#[derive(Debug, Clone)]
pub enum Models {
    /// No model takes part.
    None,
    /// Models are asked; exchanges are kept in the run folder alone.
    Live(ClientOptions),
    /// Models are asked; exchanges are kept in a cassette folder, and in the run folder.
    Record(ClientOptions, PathBuf),
    /// Exchanges come from cassette folders.
    Replay {
        /// Folders, in the order in which they count.
        folders: Vec<PathBuf>,
        /// Where a miss stops the run.
        strict: Strict,
    },
}

impl Models {
    /// Whether a question without a recording is asked.
    #[must_use]
    pub fn asks(&self) -> bool {
        matches!(self, Models::Live(_) | Models::Record(..))
    }
}

/// Which questions of a replay must be recorded: one of them that is not stops the run, any other leaves its cell without
/// a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Strict {
    /// Those of the attacker.
    pub attempts: bool,
    /// Those of judges, and for their checklists.
    pub judgements: bool,
}

impl Strict {
    /// All of them.
    pub const ALL: Strict = Strict { attempts: true, judgements: true };

    /// Those of a role.
    #[must_use]
    pub fn holds_for(self, role: &str) -> bool {
        if role == "attacker" { self.attempts } else { self.judgements }
    }
}

/// The cassette folder of a run: `exchanges/` in it has a file an exchange.
#[must_use]
pub fn archive_folder(folder: &RunFolder) -> PathBuf {
    folder.path("objects")
}

/// Exchanges of a run folder, to be read.
#[must_use]
pub fn archive_of(folder: &RunFolder) -> Cassette {
    Cassette::new(None, vec![archive_folder(folder)])
}

/// A client, and the archive that its exchanges are copied to.
#[derive(Debug)]
pub struct Asking {
    /// The client.
    pub client: Client,
    /// Where an exchange that is not recorded stops the run instead of leaving its cell without a verdict.
    pub strict: Strict,
    /// The run folder's cassette.
    archive: Cassette,
    /// The run folder, where what is spent is noted; none where nothing can be spent.
    folder: Option<RunFolder>,
}

impl Models {
    /// The client of a run in `folder`, which has spent something before; none where no model takes part.
    ///
    /// # Errors
    /// [`RunError::Model`] for options that don't fit together.
    pub fn asking(self, folder: &RunFolder, spent_before: Cost) -> Result<Option<Asking>, RunError> {
        let archive = archive_folder(folder);
        let (options, strict) = match self {
            Models::None => return Ok(None),
            Models::Live(options) => {
                (ClientOptions { mode: ModelMode::Record, cassettes: Some(archive.clone()), ..options }, Strict::ALL)
            }
            Models::Record(options, cassettes) => {
                let read_cassettes = vec![archive.clone()];
                let mode = ModelMode::Record;
                (ClientOptions { mode, cassettes: Some(cassettes), read_cassettes, ..options }, Strict::ALL)
            }
            Models::Replay { folders, strict } => {
                (ClientOptions { explain_misses: strict != Strict::default(), ..replaying(folders) }, strict)
            }
        };
        let client = Client::new(ClientOptions { spent_before, ..options })?;
        let archive = Cassette::new(Some(archive), Vec::new());
        archive.sweep()?;
        Ok(Some(Asking { client, strict, archive, folder: Some(folder.clone()) }))
    }
}

impl Models {
    /// A client that only estimates: it reads the cassettes that a run would read, and asks nothing.
    ///
    /// # Errors
    /// As [`Models::asking`].
    pub fn estimating(self) -> Result<Client, RunError> {
        let options = match self {
            Models::None => replaying(Vec::new()),
            Models::Live(options) => ClientOptions { mode: ModelMode::Replay, ..options },
            Models::Record(options, cassettes) => {
                ClientOptions { mode: ModelMode::Replay, read_cassettes: vec![cassettes], ..options }
            }
            Models::Replay { folders, .. } => replaying(folders),
        };
        Ok(Client::new(options)?)
    }
}

/// Options of a client that opens no socket.
#[must_use]
pub fn replaying(folders: Vec<PathBuf>) -> ClientOptions {
    ClientOptions { read_cassettes: folders, ..ClientOptions::new(ModelMode::Replay) }
}

impl Asking {
    /// A client over the archive of a finished run alone.
    ///
    /// # Errors
    /// As [`Models::asking`].
    pub fn again(folder: &RunFolder) -> Result<Asking, RunError> {
        Asking::reading(vec![archive_folder(folder)])
    }

    /// A client over cassette folders that writes nothing.
    ///
    /// # Errors
    /// As [`Models::asking`].
    pub fn reading(folders: Vec<PathBuf>) -> Result<Asking, RunError> {
        let client = Client::new(ClientOptions { explain_misses: false, ..replaying(folders.clone()) })?;
        Ok(Asking { client, strict: Strict::default(), archive: Cassette::new(None, folders), folder: None })
    }

    /// Asks, and notes what it cost.
    ///
    /// # Errors
    /// [`RunError::Model`] as [`Client::ask`]; [`RunError::Storage`] if the cost can't be noted.
    pub fn ask(&self, call: &Call<'_>, check: Check<'_>) -> Result<Exchange, RunError> {
        let exchange = self.client.ask(call, check)?;
        if let Some(folder) = &self.folder {
            spending::note(folder, call, &exchange)?;
        }
        Ok(exchange)
    }

    /// Copies exchanges into the run folder, and returns the keys of those that exist: a try whose transport failed has
    /// none.
    ///
    /// # Errors
    /// [`RunError::Model`] for a cassette that can't be read or written.
    pub fn keep(&self, keys: &[String]) -> Result<Vec<String>, RunError> {
        let mut kept = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(exchange) = self.client.cassette().get(key)? else { continue };
            if self.archive.get(key)?.is_none() {
                self.archive.put(exchange)?;
            }
            kept.push(key.clone());
        }
        Ok(kept)
    }
}

/// Whether a run folder has an exchange.
pub(crate) fn has_exchange(folder: &RunFolder, key: &str) -> bool {
    matches!(archive_of(folder).get(key), Ok(Some(_)))
}

/// The bytes of an exchange's file in a run folder; none if it is missing.
pub(crate) fn exchange_bytes(folder: &RunFolder, key: &str) -> Option<Vec<u8>> {
    let shard = key.get(..2)?;
    read_regular(archive_folder(folder).join("exchanges").join(shard).join(format!("{key}.json"))).ok()
}

/// Whether a folder holds recordings.
#[must_use]
pub fn holds_recordings(folder: &Path) -> bool {
    folder.join("exchanges").is_dir()
}
