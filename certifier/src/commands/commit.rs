//! Committing to the sealed packages of a suite, publishing what opens them, and the check that anybody can make.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use parthack_certifier::sealing::folder::{
    COMMITMENTS_FILE, FolderError, KeyPlace, Packages, PublicSuite, REVEAL_FILE, SUITE_FILE, find_key,
    read_commitments, read_private, read_public, read_suite, sealed_path,
};
use parthack_certifier::sealing::{
    CommitError, Commitments, MAX_LIST_BYTES, Mismatch, Reveal, SuiteKey, check_reveal, commit_suite,
};
use serde::Serialize;

use super::files::{Readers, random, remove, write_new};
use super::{EXIT_INPUT, Failure, Rest, shown, variable};

/// What committing did.
#[derive(Debug, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommitReport {
    /// The suite's id.
    suite: String,
    /// Tasks that are committed to.
    tasks: usize,
    /// The commitments, to be published.
    commitments: String,
    /// Their hash, which a publication quotes.
    hash: String,
    /// The salts, secret until the reveal.
    salts: String,
}

/// What was published.
#[derive(Debug, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RevealReport {
    /// The suite's id.
    suite: String,
    /// Tasks that are revealed.
    tasks: usize,
    /// The reveal.
    reveal: String,
    /// Hash of the commitments that it is for.
    commitments_hash: String,
    /// Whether it holds the keys of the packages, so that the suite's key can stay secret.
    with_keys: bool,
}

/// What a check found.
#[derive(Debug, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckReport {
    /// The suite's id.
    suite: String,
    /// Hash of the commitments.
    commitments_hash: String,
    /// Tasks that were committed to.
    tasks: usize,
    /// Whether everything agrees.
    pub(super) holds: bool,
    /// What does not.
    mismatches: Vec<MismatchLine>,
}

#[derive(Debug, Serialize)]
#[serde(deny_unknown_fields)]
struct MismatchLine {
    code: &'static str,
    task: Option<String>,
    message: String,
}

impl From<Mismatch> for MismatchLine {
    fn from(mismatch: Mismatch) -> MismatchLine {
        MismatchLine { code: mismatch.code(), task: mismatch.task().map(str::to_owned), message: mismatch.to_string() }
    }
}

/// The folders of a suite.
struct Folders {
    tasks: PathBuf,
    sealed: PathBuf,
}

impl Folders {
    fn read(rest: &mut Rest) -> Result<Folders, Failure> {
        Ok(Folders { tasks: rest.needed_path("--tasks")?, sealed: rest.needed_path("--sealed")? })
    }

    fn suite(&self) -> Result<PublicSuite, Failure> {
        read_suite(&self.tasks)?.ok_or_else(|| {
            let message = format!("{} is not there", self.tasks.join(SUITE_FILE).display());
            Failure::environment(message, "`parthack task suite DIR` writes it for the tasks of a folder")
        })
    }

    fn commitments(&self) -> Result<Commitments, Failure> {
        read_commitments(&self.tasks)?.ok_or_else(|| {
            let message = format!("{} is not there", self.tasks.join(COMMITMENTS_FILE).display());
            Failure::environment(message, "`parthack task commit` makes it")
        })
    }

    fn key(&self, packages: &Packages) -> Result<(SuiteKey, KeyPlace), Failure> {
        let first = packages.sealed.keys().next().map(String::as_str).unwrap_or_default();
        let missing = || FolderError::NoKey { sealed: sealed_path(&self.sealed, first) };
        Ok(find_key(&self.sealed, &variable)?.ok_or_else(missing)?)
    }
}

/// Commits to every package of a suite.
pub(super) fn commit(mut rest: Rest) -> Result<CommitReport, Failure> {
    let folders = Folders::read(&mut rest)?;
    let salts = rest.needed_path("--salts")?;
    rest.end()?;
    let path = folders.tasks.join(COMMITMENTS_FILE);
    if let Some(taken) = [&path, &salts].into_iter().find(|path| path.exists()) {
        let hint = "what was committed to stays; to commit anew before anything is scored, move both files away";
        return Err(Failure::usage(format!("{} is there already", taken.display()), hint));
    }
    let suite = folders.suite()?;
    let packages = Packages::read(&folders.sealed)?;
    check_complete(&suite, &packages, &folders.sealed)?;
    let (key, place) = folders.key(&packages)?;
    let committed = commit_suite(&suite.id, suite.hash, &packages.sealed, &key, &mut random);
    let (commitments, reveal) = committed.map_err(|error| commit_failure(&error, &place))?;
    write_new(&salts, &reveal.bytes(), Readers::Owner)?;
    if let Err(failure) = write_new(&path, &commitments.bytes(), Readers::Everyone) {
        // Salts of commitments that nobody has seen.
        remove(&salts)?;
        return Err(failure);
    }
    Ok(CommitReport {
        suite: suite.id,
        tasks: commitments.tasks().len(),
        commitments: shown(&path),
        hash: commitments.hash().hex(),
        salts: shown(&salts),
    })
}

fn commit_failure(error: &CommitError, place: &KeyPlace) -> Failure {
    Failure::caused(EXIT_INPUT, error, format!("the key was that of {place}"))
}

/// Every task of the suite has a sealed package, and every package is one's.
fn check_complete(suite: &PublicSuite, packages: &Packages, sealed: &Path) -> Result<(), Failure> {
    let tasks: BTreeSet<&str> = suite.tasks.iter().map(String::as_str).collect();
    if let Some(plain) = packages.plain.keys().next() {
        let message = format!("the package of {plain} in {} is not sealed", sealed.display());
        return Err(Failure::input(message, "`parthack task seal` seals it"));
    }
    if let Some(missing) = tasks.iter().find(|task| !packages.sealed.contains_key(**task)) {
        let message = format!("{} is not there", sealed_path(sealed, missing).display());
        return Err(Failure::input(message, "every task of the suite needs its package"));
    }
    if let Some(extra) = packages.sealed.keys().find(|id| !tasks.contains(id.as_str())) {
        let message = format!("{} belongs to no task of the suite", sealed_path(sealed, extra).display());
        return Err(Failure::input(
            message,
            "add the task to suite.json (`parthack task suite`), or move the package away",
        ));
    }
    Ok(())
}

/// Publishes the salts of a suite's commitments, with the keys of its packages where the suite's key is secret.
pub(super) fn reveal(mut rest: Rest) -> Result<RevealReport, Failure> {
    let folders = Folders::read(&mut rest)?;
    let salts = rest.needed_path("--salts")?;
    rest.end()?;
    let path = folders.tasks.join(REVEAL_FILE);
    if path.exists() {
        return Err(Failure::taken(&path));
    }
    let commitments = folders.commitments()?;
    let packages = Packages::read(&folders.sealed)?;
    let (key, place) = folders.key(&packages)?;
    let mut reveal = read_reveal(&salts, &read_private(&salts, MAX_LIST_BYTES)?)?;
    if let Err(mismatches) = check_all(&folders, &commitments, &reveal, &packages, Some(&key))? {
        let lines: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
        let message = format!("this would reveal something else than was committed to: {}", lines.join("; "));
        return Err(Failure::new(super::EXIT_FAILED, message, "nothing was written; take the committed files"));
    }
    let with_keys = !matches!(place, KeyPlace::Folder(_));
    if with_keys {
        reveal = reveal.with_keys(&packages.sealed, &key).map_err(|error| commit_failure(&error, &place))?;
    }
    write_new(&path, &reveal.bytes(), Readers::Everyone)?;
    Ok(RevealReport {
        suite: commitments.suite().to_owned(),
        tasks: reveal.tasks().len(),
        reveal: shown(&path),
        commitments_hash: commitments.hash().hex(),
        with_keys,
    })
}

/// Checks commitments, reveal and sealed files against each other.
pub(super) fn check(mut rest: Rest) -> Result<CheckReport, Failure> {
    let folders = Folders::read(&mut rest)?;
    rest.end()?;
    let commitments = folders.commitments()?;
    let path = folders.tasks.join(REVEAL_FILE);
    let bytes = read_public(&path, MAX_LIST_BYTES)?.ok_or_else(|| {
        let message = format!("{} is not there", path.display());
        Failure::environment(message, "`parthack task reveal` makes it, when results are published")
    })?;
    let reveal = read_reveal(&path, &bytes)?;
    let packages = Packages::read(&folders.sealed)?;
    let key = find_key(&folders.sealed, &variable)?.map(|(key, _)| key);
    let mismatches = check_all(&folders, &commitments, &reveal, &packages, key.as_ref())?.err().unwrap_or_default();
    Ok(CheckReport {
        suite: commitments.suite().to_owned(),
        commitments_hash: commitments.hash().hex(),
        tasks: commitments.tasks().len(),
        holds: mismatches.is_empty(),
        mismatches: mismatches.into_iter().map(MismatchLine::from).collect(),
    })
}

fn check_all(
    folders: &Folders,
    commitments: &Commitments,
    reveal: &Reveal,
    packages: &Packages,
    key: Option<&SuiteKey>,
) -> Result<Result<(), Vec<Mismatch>>, Failure> {
    let mut mismatches: Vec<Mismatch> = commitments.check_suite(folders.suite()?.hash).err().into_iter().collect();
    mismatches.extend(check_reveal(commitments, reveal, &packages.sealed, key).err().unwrap_or_default());
    Ok(if mismatches.is_empty() { Ok(()) } else { Err(mismatches) })
}

fn read_reveal(path: &Path, bytes: &[u8]) -> Result<Reveal, Failure> {
    Reveal::read(bytes).map_err(|error| {
        let hint = "it is the file that `parthack task commit --salts` wrote, or a published reveal";
        Failure::caused(EXIT_INPUT, &error.in_file(path), hint)
    })
}
