//! Commitments: what binds an operator to packages before anything is scored, and the file that publishes them.

use std::fmt::Write;

use parthack_env::canonical::{Hash, canonical_bytes_without};
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;

use super::file::sealed_hash;
use super::key::secret;
use super::reveal::Mismatch;
use crate::package::read_hash;

/// Format of commitments files.
pub const COMMITMENTS_FORMAT: &str = "parthack.commitments/1";
/// Bytes that a commitments file or a reveal may have: suites of ten thousand tasks stay below a quarter of it.
pub const MAX_LIST_BYTES: u64 = 16 << 20;
/// What is hashed begins with it.
const LABEL: &[u8] = b"parthack.commitment/1\0";

secret! {
    /// The salt of a commitment, secret until the reveal.
    Salt
}

/// A commitment to a package: it tells nothing of the package to those who lack the salt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commitment(pub Hash);

/// BLAKE3, keyed with the salt, over `parthack.commitment/1`, a zero byte, and the canonical package.
#[must_use]
pub fn commit(plaintext: &[u8], salt: &Salt) -> Commitment {
    let mut hasher = blake3::Hasher::new_keyed(salt.0.bytes());
    hasher.update(LABEL);
    hasher.update(plaintext);
    Commitment(Hash(*hasher.finalize().as_bytes()))
}

/// What is published of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedTask {
    /// The task.
    pub id: String,
    /// The commitment to its package.
    pub commitment: Commitment,
    /// Hash (label `sealed`) of its sealed file.
    pub sealed: Hash,
}

/// A file `parthack.commitments/1`.
///
/// Invariant: tasks stand in the order of their ids, each once; `hash` is over everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commitments {
    suite: String,
    suite_hash: Hash,
    tasks: Vec<CommittedTask>,
    hash: Hash,
}

impl Commitments {
    /// Commitments of a suite, whose public hash (label `suite`) is `suite_hash`.
    ///
    /// # Errors
    /// [`InputError`]: an id that is none, or twice.
    pub fn new(suite: &str, suite_hash: Hash, mut tasks: Vec<CommittedTask>) -> Result<Commitments, InputError> {
        tasks.sort_by(|a, b| a.id.cmp(&b.id));
        let without_hash = Commitments { suite: suite.to_owned(), suite_hash, tasks, hash: Hash([0; 32]) };
        let hash = own_hash(&Json::parse(&without_hash.bytes())?);
        // Read back, so that what is written is what is accepted.
        Commitments::read(&Commitments { hash, ..without_hash }.bytes())
    }

    /// Reads a commitments file.
    ///
    /// # Errors
    /// [`InputError`] with the pointer of the first fault, `/hash` if the file's hash is not its content's.
    pub fn read(bytes: &[u8]) -> Result<Commitments, InputError> {
        check_length(bytes)?;
        let json = Json::parse(bytes)?;
        let root = Cursor::root(&json);
        root.format(COMMITMENTS_FORMAT)?;
        root.object(&["format", "suite", "suite_hash", "tasks", "hash"])?;
        let suite = root.key("suite")?.identifier()?.to_owned();
        let suite_hash = read_hash(&root.key("suite_hash")?)?;
        let mut tasks: Vec<CommittedTask> = Vec::new();
        for item in root.key("tasks")?.items()? {
            item.object(&["id", "commitment", "sealed"])?;
            let id = read_next_id(&item, tasks.last().map(|task| task.id.as_str()))?;
            let commitment = Commitment(read_hash(&item.key("commitment")?)?);
            tasks.push(CommittedTask { id, commitment, sealed: read_hash(&item.key("sealed")?)? });
        }
        if tasks.is_empty() {
            return Err(root.key("tasks")?.fault("at least one task"));
        }
        let (hash, expected) = (root.key("hash")?, own_hash(&json));
        if read_hash(&hash)? != expected {
            return Err(hash.fault_found("another hash", format!("{expected}, the hash of the rest of the file")));
        }
        Ok(Commitments { suite, suite_hash, tasks, hash: expected })
    }

    /// The file: a line a task.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = String::new();
        let (suite, suite_hash) = (&self.suite, self.suite_hash);
        // Writing to a string does not fail. Ids and hashes need no escapes.
        let _ = write!(
            out,
            "{{\n \"format\": \"{COMMITMENTS_FORMAT}\",\n \"suite\": \"{suite}\",\n \"suite_hash\": \"{suite_hash}\",\n \"tasks\": ["
        );
        for (index, CommittedTask { id, commitment, sealed }) in self.tasks.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let commitment = commitment.0;
            let _ = write!(
                out,
                "{comma}\n  {{\"id\": \"{id}\", \"commitment\": \"{commitment}\", \"sealed\": \"{sealed}\"}}"
            );
        }
        let _ = write!(out, "\n ],\n \"hash\": \"{}\"\n}}\n", self.hash);
        out.into_bytes()
    }

    /// The suite's id.
    #[must_use]
    pub fn suite(&self) -> &str {
        &self.suite
    }

    /// The suite's public hash.
    #[must_use]
    pub fn suite_hash(&self) -> Hash {
        self.suite_hash
    }

    /// What is committed, in the order of the ids.
    #[must_use]
    pub fn tasks(&self) -> &[CommittedTask] {
        &self.tasks
    }

    /// The file's own hash (label `commitments`): what a publication quotes.
    #[must_use]
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// What is committed of one task.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<&CommittedTask> {
        self.tasks.binary_search_by(|task| task.id.as_str().cmp(id)).ok().map(|index| &self.tasks[index])
    }

    /// Checks that they are for the suite with this public hash.
    ///
    /// # Errors
    /// [`Mismatch::Suite`].
    pub fn check_suite(&self, suite_hash: Hash) -> Result<(), Mismatch> {
        if self.suite_hash == suite_hash {
            return Ok(());
        }
        Err(Mismatch::Suite { found: suite_hash, expected: self.suite_hash })
    }

    /// Checks that a sealed file is the committed one; this needs no key, and a run can do it before it scores.
    ///
    /// # Errors
    /// [`Mismatch::NotCommitted`] or [`Mismatch::SealedFile`].
    pub fn check_sealed(&self, task: &str, sealed: &[u8]) -> Result<(), Mismatch> {
        let Some(committed) = self.task(task) else { return Err(Mismatch::NotCommitted { task: task.to_owned() }) };
        let found = sealed_hash(sealed);
        if found == committed.sealed {
            return Ok(());
        }
        Err(Mismatch::SealedFile { task: task.to_owned(), found, expected: committed.sealed })
    }
}

fn own_hash(json: &Json<'_>) -> Hash {
    Hash::of("commitments", &canonical_bytes_without(json, &["hash"]))
}

pub(super) fn check_length(bytes: &[u8]) -> Result<(), InputError> {
    if bytes.len() as u64 > MAX_LIST_BYTES {
        return Err(InputError::at("", format!("{} bytes", bytes.len()), format!("at most {MAX_LIST_BYTES} bytes")));
    }
    Ok(())
}

/// An item's id, which must come after the one before.
pub(super) fn read_next_id(item: &Cursor<'_, '_>, before: Option<&str>) -> Result<String, InputError> {
    let cursor = item.key("id")?;
    let id = cursor.identifier()?;
    if before.is_some_and(|before| before >= id) {
        return Err(cursor.fault("the tasks in the order of their ids, each once"));
    }
    Ok(id.to_owned())
}
