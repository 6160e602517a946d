//! Proof before anything is given out: the lint of `parthack task lint`, both halves.

use parthack_attacker::lint::{Finding, lint_public};
use parthack_certifier::binding::PrivateTask;
use parthack_certifier::certify::TaskCertifier;
use parthack_certifier::lint::{Severity, lint_opened};
use parthack_certifier::rollback::rollbacks;
use parthack_env::task::Task;

/// Why a draft was not given out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The parts that were drawn leave no honest trajectory of the wanted progress.
    #[error("the parts leave no honest trajectory of the wanted progress")]
    NoTrajectory,
    /// The file does not read back.
    #[error("the draft does not read back: {0}")]
    Unreadable(String),
    /// A note of lint.
    #[error("{code}: {message}")]
    Lint {
        /// The code, as lint prints it.
        code: String,
        /// The sentence.
        message: String,
    },
}

impl Refusal {
    /// A stable code, for counting.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Refusal::NoTrajectory => "no-trajectory",
            Refusal::Unreadable(_) => "unreadable",
            Refusal::Lint { code, .. } => code,
        }
    }
}

fn refuse(code: &str, message: String) -> Refusal {
    Refusal::Lint { code: code.to_owned(), message }
}

/// Reads a task and its package and proves both; the task, if everything holds.
///
/// A warning counts as a refusal: a generated task has no excuse for one. A task that is tagged as rollback-sensitive
/// must in addition need two undos at least for its canonical rollback.
///
/// # Errors
/// The first [`Refusal`].
pub fn prove(public: &[u8], private: &[u8]) -> Result<Task, Refusal> {
    let task = Task::read(public).map_err(|error| Refusal::Unreadable(error.to_string()))?;
    let opened = PrivateTask::open(public, private).map_err(|error| {
        let cause = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
        Refusal::Unreadable(format!("{error}{cause}"))
    })?;
    let notes = lint_public(&task).map_err(|error| refuse("search", error.to_string()))?;
    if let Some(note) = notes.into_iter().find(|note| note.finding == Finding::Failed) {
        return Err(refuse(note.code, note.message));
    }
    if let Some(note) = lint_opened(&opened).into_iter().find(|note| note.severity != Severity::Proof) {
        return Err(refuse(&note.code, note.message));
    }
    if task.spec.tags.iter().any(|tag| tag == "rollback") {
        let certifier =
            TaskCertifier::private(&opened).map_err(|fault| refuse("certifier_model", fault.to_string()))?;
        let sets = rollbacks(&certifier, &task.spec.honest)
            .map_err(|error| refuse("rollback_no_certificate", error.to_string()))?;
        let undos = sets.least.map_or(0, |least| least.undos);
        if undos < 2 {
            return Err(refuse(
                "rollback-shallow",
                format!("the canonical rollback takes {undos} undo(s), fewer than 2"),
            ));
        }
    }
    Ok(task)
}
