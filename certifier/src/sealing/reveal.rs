//! Reveals: the file that shows what was committed to, and the check that anybody can make of it.

use std::collections::{BTreeMap, BTreeSet};

use parthack_env::canonical::Hash;
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use zeroize::Zeroizing;

use super::commitment::{Commitments, CommittedTask, Salt, check_length, commit, read_next_id};
use super::file::{PackageKey, SealError, open, open_with_package_key, package_key, sealed_hash};
use super::key::SuiteKey;
use super::{KeyError, Random};
use crate::package::read_hash;

/// Format of reveals.
pub const REVEAL_FORMAT: &str = "parthack.reveal/1";

/// What is revealed of a task.
#[derive(Debug)]
pub struct RevealedTask {
    /// The task.
    pub id: String,
    /// The salt of its commitment.
    pub salt: Salt,
    /// The key of its package, where the suite's key is not published.
    pub key: Option<PackageKey>,
}

/// A file `parthack.reveal/1`: secret until results are published.
///
/// Invariant: tasks stand in the order of their ids, each once.
#[derive(Debug)]
pub struct Reveal {
    commitments: Hash,
    tasks: Vec<RevealedTask>,
}

/// A difference between what was committed to and what was revealed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The commitments are another suite's.
    #[error("the suite has the hash {found}, and the commitments are for {expected}")]
    Suite {
        /// The suite's.
        found: Hash,
        /// The commitments'.
        expected: Hash,
    },
    /// The reveal is for other commitments.
    #[error("the reveal is for the commitments {found}, not for {expected}")]
    OtherCommitments {
        /// The reveal's.
        found: Hash,
        /// Those of the file.
        expected: Hash,
    },
    /// Something is there for a task that nobody committed to.
    #[error("{task}: no commitment names it")]
    NotCommitted {
        /// The task.
        task: String,
    },
    /// A task that was committed to and is not revealed.
    #[error("{task}: it was committed to and is not revealed")]
    NotRevealed {
        /// The task.
        task: String,
    },
    /// A task that was committed to and has no sealed file.
    #[error("{task}: it was committed to and its sealed file is not there")]
    NoSealedFile {
        /// The task.
        task: String,
    },
    /// The sealed file was exchanged or changed.
    #[error("{task}: the sealed file has the hash {found}, committed was {expected}")]
    SealedFile {
        /// The task.
        task: String,
        /// The file's.
        found: Hash,
        /// The committed one.
        expected: Hash,
    },
    /// Nothing opens the sealed file.
    #[error("{task}: neither the reveal nor the caller has a key for it")]
    NoKey {
        /// The task.
        task: String,
    },
    /// The sealed file does not open.
    #[error("{task}: {error}")]
    NotOpened {
        /// The task.
        task: String,
        /// Why.
        error: SealError,
    },
    /// The package is not the one that was committed to, or the salt is another.
    #[error("{task}: package and salt do not give the commitment")]
    Commitment {
        /// The task.
        task: String,
    },
}

impl Mismatch {
    /// A stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Mismatch::Suite { .. } => "other_suite",
            Mismatch::OtherCommitments { .. } => "other_commitments",
            Mismatch::NotCommitted { .. } => "not_committed",
            Mismatch::NotRevealed { .. } => "not_revealed",
            Mismatch::NoSealedFile { .. } => "no_sealed_file",
            Mismatch::SealedFile { .. } => "sealed_file_mismatch",
            Mismatch::NoKey { .. } => "no_key",
            Mismatch::NotOpened { .. } => "not_opened",
            Mismatch::Commitment { .. } => "commitment_mismatch",
        }
    }

    /// The task, where it is one's.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        match self {
            Mismatch::Suite { .. } | Mismatch::OtherCommitments { .. } => None,
            Mismatch::NotCommitted { task }
            | Mismatch::NotRevealed { task }
            | Mismatch::NoSealedFile { task }
            | Mismatch::SealedFile { task, .. }
            | Mismatch::NoKey { task }
            | Mismatch::NotOpened { task, .. }
            | Mismatch::Commitment { task } => Some(task),
        }
    }
}

/// Why a suite was not committed to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A sealed file does not open, or there are no random bytes.
    #[error("the sealed package of {task}")]
    Package {
        /// The task.
        task: String,
        /// Why.
        #[source]
        error: SealError,
    },
    /// The list is empty, or an id is none.
    #[error("the list of commitments")]
    List(#[source] InputError),
}

/// Commits to every sealed file of a suite, by task id: commitments to publish, and the reveal to keep until the end.
///
/// Each file is opened first, so that the commitment is to what the file holds.
///
/// # Errors
/// [`CommitError`].
pub fn commit_suite(
    suite: &str,
    suite_hash: Hash,
    sealed: &BTreeMap<String, Vec<u8>>,
    suite_key: &SuiteKey,
    random: &mut Random<'_>,
) -> Result<(Commitments, Reveal), CommitError> {
    let mut committed = Vec::new();
    let mut tasks = Vec::new();
    for (id, bytes) in sealed {
        let wrap = |error| CommitError::Package { task: id.clone(), error };
        let plaintext = open(bytes, id, suite_key).map_err(wrap)?;
        let salt = Salt::generate(random).map_err(wrap)?;
        let commitment = commit(&plaintext, &salt);
        committed.push(CommittedTask { id: id.clone(), commitment, sealed: sealed_hash(bytes) });
        tasks.push(RevealedTask { id: id.clone(), salt, key: None });
    }
    let commitments = Commitments::new(suite, suite_hash, committed).map_err(CommitError::List)?;
    let reveal = Reveal { commitments: commitments.hash(), tasks };
    Ok((commitments, reveal))
}

impl Reveal {
    /// Reads a reveal.
    ///
    /// # Errors
    /// [`InputError`] with the pointer of the first fault; salts and keys are not quoted.
    pub fn read(bytes: &[u8]) -> Result<Reveal, InputError> {
        check_length(bytes)?;
        let json = Json::parse(bytes)?;
        let root = Cursor::root(&json);
        root.format(REVEAL_FORMAT)?;
        root.object(&["format", "commitments", "tasks"])?;
        let mut tasks: Vec<RevealedTask> = Vec::new();
        for item in root.key("tasks")?.items()? {
            item.object(&["id", "salt", "key"])?;
            let id = read_next_id(&item, tasks.last().map(|task| task.id.as_str()))?;
            let salt = read_secret(&item.key("salt")?, Salt::read)?;
            let key = item.optional("key").map(|key| read_secret(&key, PackageKey::read)).transpose()?;
            tasks.push(RevealedTask { id, salt, key });
        }
        if tasks.is_empty() {
            return Err(root.key("tasks")?.fault("at least one task"));
        }
        Ok(Reveal { commitments: read_hash(&root.key("commitments")?)?, tasks })
    }

    /// The file: a line a task. Keep it readable by its owner alone until it is published.
    #[must_use]
    pub fn bytes(&self) -> Zeroizing<Vec<u8>> {
        /// More than a line has: two secrets, an id, and what is around them.
        const LINE: usize = 256;
        let mut out = Zeroizing::new(Vec::with_capacity(LINE * (self.tasks.len() + 1)));
        let mut push = |text: &str| out.extend_from_slice(text.as_bytes());
        push("{\n \"format\": \"");
        push(REVEAL_FORMAT);
        push("\",\n \"commitments\": \"");
        push(&self.commitments.hex());
        push("\",\n \"tasks\": [");
        for (index, task) in self.tasks.iter().enumerate() {
            push(if index == 0 { "\n  {\"id\": \"" } else { ",\n  {\"id\": \"" });
            push(&task.id);
            push("\", \"salt\": \"");
            push(&task.salt.hex());
            if let Some(key) = &task.key {
                push("\", \"key\": \"");
                push(&key.hex());
            }
            push("\"}");
        }
        push("\n ]\n}\n");
        out
    }

    /// Hash of the commitments that it is for.
    #[must_use]
    pub fn commitments(&self) -> Hash {
        self.commitments
    }

    /// What is revealed, in the order of the ids.
    #[must_use]
    pub fn tasks(&self) -> &[RevealedTask] {
        &self.tasks
    }

    /// With the key of every package, so that the suite's key can stay secret.
    ///
    /// # Errors
    /// [`CommitError::Package`]: a sealed file does not open.
    pub fn with_keys(
        mut self,
        sealed: &BTreeMap<String, Vec<u8>>,
        suite_key: &SuiteKey,
    ) -> Result<Reveal, CommitError> {
        for task in &mut self.tasks {
            let Some(bytes) = sealed.get(&task.id) else { continue };
            let key = package_key(bytes, &task.id, suite_key);
            task.key = Some(key.map_err(|error| CommitError::Package { task: task.id.clone(), error })?);
        }
        Ok(self)
    }
}

fn read_secret<T>(cursor: &Cursor<'_, '_>, read: fn(&[u8]) -> Result<T, KeyError>) -> Result<T, InputError> {
    let text = cursor.text()?;
    // A line end is part of a key's file, not of a string.
    let secret = if text.ends_with('\n') { None } else { read(text.as_bytes()).ok() };
    secret.ok_or_else(|| cursor.fault_found("another text", "64 lower-case hexadecimal digits"))
}

/// Checks a reveal: every task that was committed to is revealed, its sealed file is the committed one and opens with
/// the key of the reveal (or with `suite_key` where the reveal has none), and package and salt give the commitment.
///
/// # Errors
/// Every [`Mismatch`], those of the files as a whole first, then by task id.
pub fn check_reveal(
    commitments: &Commitments,
    reveal: &Reveal,
    sealed: &BTreeMap<String, Vec<u8>>,
    suite_key: Option<&SuiteKey>,
) -> Result<(), Vec<Mismatch>> {
    let mut mismatches = Vec::new();
    if reveal.commitments != commitments.hash() {
        mismatches.push(Mismatch::OtherCommitments { found: reveal.commitments, expected: commitments.hash() });
    }
    let revealed: BTreeMap<&str, &RevealedTask> = reveal.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let committed = commitments.tasks().iter().map(|task| task.id.as_str());
    let named = committed.chain(revealed.keys().copied()).chain(sealed.keys().map(String::as_str));
    for task in named.collect::<BTreeSet<&str>>() {
        check_task(commitments, task, revealed.get(task).copied(), sealed.get(task), suite_key, &mut mismatches);
    }
    if mismatches.is_empty() { Ok(()) } else { Err(mismatches) }
}

fn check_task(
    commitments: &Commitments,
    task: &str,
    revealed: Option<&RevealedTask>,
    sealed: Option<&Vec<u8>>,
    suite_key: Option<&SuiteKey>,
    mismatches: &mut Vec<Mismatch>,
) {
    let id = || task.to_owned();
    let Some(committed) = commitments.task(task) else {
        mismatches.push(Mismatch::NotCommitted { task: id() });
        return;
    };
    if revealed.is_none() {
        mismatches.push(Mismatch::NotRevealed { task: id() });
    }
    let Some(sealed) = sealed else {
        mismatches.push(Mismatch::NoSealedFile { task: id() });
        return;
    };
    mismatches.extend(commitments.check_sealed(task, sealed).err());
    let Some(revealed) = revealed else { return };
    let plaintext = match (&revealed.key, suite_key) {
        (Some(key), _) => open_with_package_key(sealed, task, key),
        (None, Some(key)) => open(sealed, task, key),
        (None, None) => {
            mismatches.push(Mismatch::NoKey { task: id() });
            return;
        }
    };
    match plaintext {
        Err(error) => mismatches.push(Mismatch::NotOpened { task: id(), error }),
        Ok(plaintext) if commit(&plaintext, &revealed.salt) != committed.commitment => {
            mismatches.push(Mismatch::Commitment { task: id() });
        }
        Ok(_) => {}
    }
}
