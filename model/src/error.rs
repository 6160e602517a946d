//! Why a question was not asked, or could not be: never a verdict, always something to mend.

use std::fmt;

use crate::cassette::{CassetteError, Nearest};
use crate::price::Cost;
use crate::role::RoleError;

/// A failure of the client. What a model or a server does wrong is no failure but a
/// [`NoAnswer`](crate::answer::NoAnswer).
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Replay has no recording of it.
    #[error("{0}")]
    NotRecorded(Box<Miss>),
    /// The next call could pass the cap.
    #[error(
        "{cell}: {spent} spent, and the next call may cost {next}: that would pass the cap of {cap}\n\
         hint: what is done is kept; raise --max-cost and run the same again (`parthack run` with --resume), nothing is paid twice"
    )]
    CostCap {
        /// The cell that was not asked for.
        cell: String,
        /// What is spent.
        spent: Cost,
        /// The most that the next call can cost.
        next: Cost,
        /// The cap.
        cap: Cost,
    },
    /// The stop flag was set before the call began.
    #[error(
        "stopped before the next model call; what is done is kept\n\
         hint: run the same again to go on (`parthack run` with --resume)"
    )]
    Stopped,
    /// The provider needs a key.
    #[error("{provider}: no key\nhint: set {}", variables.join(" or "))]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// The variables that may hold it.
        variables: &'static [&'static str],
    },
    /// A cassette can't be used.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// A role's configuration is wrong.
    #[error(transparent)]
    Role(#[from] RoleError),
    /// The client is used wrongly.
    #[error("{message}\nhint: {hint}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
}

/// A question that replay has no recording of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The cell that asked.
    pub cell: String,
    /// Its role.
    pub role: String,
    /// `provider/model`.
    pub model: String,
    /// The repeat.
    pub repeat: u32,
    /// The try: 1 where the first is recorded and asks for a retry.
    pub attempt: u32,
    /// The key that was looked for.
    pub key: String,
    /// The folders that were looked through.
    pub folders: Vec<String>,
    /// The recording that is nearest, if there is any.
    pub nearest: Option<Nearest>,
}

impl fmt::Display for Miss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cell, role, model, repeat) = (&self.cell, &self.role, &self.model, self.repeat);
        let attempt = if self.attempt == 0 { "" } else { ", retry" };
        write!(out, "{cell}: not recorded (role {role}, {model}, repeat {repeat}{attempt}, key {})", short(&self.key))?;
        match &self.nearest {
            None if self.folders.is_empty() => write!(out, "; there is no cassette")?,
            None => write!(out, "; nothing is recorded in {}", self.folders.join(", "))?,
            Some(near) => {
                write!(
                    out,
                    "; the nearest is {} of {}, which differs at {}: recorded {}, asked for {}",
                    short(&near.key),
                    near.cell,
                    near.difference.pointer,
                    near.difference.found,
                    near.difference.expected
                )?;
            }
        }
        write!(
            out,
            "\nhint: record it with --model-mode record, or replay with the version and the roles that were recorded"
        )
    }
}

fn short(key: &str) -> &str {
    key.get(..12).unwrap_or(key)
}

impl ClientError {
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> ClientError {
        ClientError::Usage { message: message.into(), hint: hint.into() }
    }
}
