//! Why a run stopped, each with its exit code (SPEC §11).

use std::path::{Path, PathBuf};

use parthack_env::input::InputError;
use parthack_model::cassette::CassetteError;
use parthack_model::error::ClientError;

use crate::failure::{Exit, Failure};
use crate::ledger::LedgerFault;
use crate::statistics::MetricError;

/// Why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file that someone wrote is at fault.
    #[error(transparent)]
    Input(#[from] InputError),
    /// What was asked for does not fit together.
    #[error("{message}\nhint: {hint}")]
    Usage {
        /// What does not fit.
        message: String,
        /// What to do.
        hint: String,
    },
    /// A file or folder can't be read or written.
    #[error("{action} {}\nhint: {hint}", path.display())]
    Storage {
        /// `cannot write`, `cannot create`, …
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// The run folder belongs to another manifest.
    #[error(
        "{} holds a run of another manifest: found {found}, expected {expected}{difference}\n\
         hint: give another folder with --out, or the options of the run that is there", folder.display()
    )]
    OtherManifest {
        /// The folder.
        folder: PathBuf,
        /// Its manifest.
        found: String,
        /// This run's.
        expected: String,
        /// Where the two differ first, as it follows in a sentence; empty if there is no readable manifest.
        difference: String,
    },
    /// The run folder holds the same run, unfinished.
    #[error("{} holds an unfinished run of this manifest\nhint: go on with --resume", folder.display())]
    Unfinished {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds something else than a run.
    #[error("{} is not empty and holds no run\nhint: give another folder with --out", folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
    },
    /// Another process works in the folder.
    #[error("another process works in {}\nhint: wait for it, or give another folder with --out", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// The journal is damaged before its tail.
    #[error(
        "{}, line {line}: found {found}, expected a journal line with its checksum\n\
         hint: the journal is damaged before its end; move this file away and go on with --resume, which works its \
         cells out again", segment.display()
    )]
    Journal {
        /// The segment.
        segment: PathBuf,
        /// From 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// The ledger is at fault.
    #[error("{}", path.display())]
    Ledger {
        /// The ledger.
        path: PathBuf,
        /// The first line at fault.
        source: LedgerFault,
    },
    /// An evaluator process failed twice, or does not speak the protocol.
    #[error("evaluator process: {fault}\nhint: {hint}")]
    Evaluator {
        /// What it did.
        fault: String,
        /// What to do.
        hint: &'static str,
    },
    /// The certifier process failed.
    #[error("certifier: {fault}\nhint: nothing is lost; a run that had begun goes on with --resume")]
    Certifier {
        /// What it did.
        fault: String,
    },
    /// A private package is not there or not sound.
    #[error("private package of {task}: {fault}\nhint: `parthack task lint {task}` says what is wrong with it")]
    Package {
        /// The task.
        task: String,
        /// What the certifier says.
        fault: String,
    },
    /// The two certifiers disagree, or certification contradicts the suite: nothing of the run counts.
    #[error("certification of {task}: {fault}")]
    Certification {
        /// The task.
        task: String,
        /// What is wrong.
        fault: String,
    },
    /// A search failed in a way that no task may make it fail.
    #[error("search on {task} for {target}")]
    Search {
        /// The task.
        task: String,
        /// The target.
        target: String,
        /// What it said.
        source: parthack_attacker::search::SearchError,
    },
    /// A model could not be asked: the cost cap, a missing key, no recording, a cassette at fault.
    #[error(transparent)]
    Model(#[from] ClientError),
    /// A denominator is not what the suite says.
    #[error("tables")]
    Metric(#[from] MetricError),
    /// A record is missing that a table needs, or something that should be impossible.
    #[error("{0}")]
    Incomplete(String),
    /// Stopped by a signal; the journal is whole.
    #[error(
        "stopped; what was done is kept in {}\nhint: go on with the same command and --resume", folder.display()
    )]
    Interrupted {
        /// The run folder.
        folder: PathBuf,
    },
    /// A table that does not fit its own columns: a bug.
    #[error(transparent)]
    Table(#[from] crate::table::TableError),
}

impl RunError {
    /// The process's exit code (SPEC §11; 130 for a stop by signal, as shells have it).
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            RunError::Certification { .. } => 1,
            RunError::Usage { .. }
            | RunError::OtherManifest { .. }
            | RunError::Unfinished { .. }
            | RunError::Foreign { .. } => 2,
            RunError::Input(_)
            | RunError::Package { .. }
            | RunError::Journal { .. }
            | RunError::Ledger { .. }
            | RunError::Metric(_) => 3,
            RunError::Storage { .. }
            | RunError::Busy { .. }
            | RunError::Evaluator { .. }
            | RunError::Certifier { .. } => 4,
            RunError::Search { .. } | RunError::Incomplete(_) | RunError::Table(_) => 70,
            RunError::Model(error) => exit_code_of(error),
            RunError::Interrupted { .. } => 130,
        }
    }

    /// This failure as the command line reports it.
    #[must_use]
    pub fn into_failure(self) -> Failure {
        Failure::Other { exit: Exit::from_code(self.exit_code()), message: self.to_string(), source: chain(self) }
    }

    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> RunError {
        RunError::Usage { message: message.into(), hint: hint.into() }
    }

    pub(crate) fn storage(action: &'static str, path: &Path, source: std::io::Error) -> RunError {
        use std::io::ErrorKind;
        let hint = match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "the folder is not writable; give another one with --out"
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                "the disk is full; make room and go on with --resume, or give another folder with --out"
            }
            _ => "check the path, or give another folder with --out; a run that had begun goes on with --resume",
        };
        RunError::Storage { action, path: path.to_path_buf(), source, hint }
    }
}

fn exit_code_of(error: &ClientError) -> u8 {
    match error {
        // What was paid for is kept, and cells are left without a verdict.
        ClientError::NotRecorded(_) | ClientError::CostCap { .. } => 5,
        ClientError::Stopped => 130,
        ClientError::Cassette(CassetteError::Broken { .. }) => 3,
        ClientError::NoKey { .. } | ClientError::Cassette(_) => 4,
        ClientError::Role(_) | ClientError::Usage { .. } => 2,
    }
}

/// What caused an error, without the error itself: the command line prints that apart.
fn chain(error: RunError) -> Option<Box<dyn std::error::Error + Send + Sync>> {
    match error {
        RunError::Storage { source, .. } => Some(source.into()),
        RunError::Ledger { source, .. } => Some(source.into()),
        RunError::Search { source, .. } => Some(source.into()),
        RunError::Metric(source) => Some(source.into()),
        _ => None,
    }
}

impl From<CassetteError> for RunError {
    fn from(error: CassetteError) -> RunError {
        RunError::Model(error.into())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        error.into_failure()
    }
}
