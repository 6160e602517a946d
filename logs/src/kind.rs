//! The kinds of input, by the words that a user types.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A format that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Task folders of Harbor, Terminal-Bench and SkillsBench.
    HarborTasks,
    /// Instances of SWE-bench and its relatives.
    SweBench,
    /// Agent Trajectory Interchange Format, alone or in a Harbor trial folder.
    Atif,
    /// Inspect logs, `.eval` or `.json`.
    Inspect,
    /// SWE-agent `.traj` files.
    SweAgent,
    /// mini-swe-agent `.traj.json` files.
    MiniSweAgent,
    /// tau2-bench results, simulations and tasks.
    Tau2,
    /// tau-bench results.
    Tau,
    /// Conversations in the OpenAI message format.
    Openai,
    /// This project's payloads and candidates.
    Parthackbench,
}

impl Kind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Kind; 10] = [
        Kind::HarborTasks,
        Kind::SweBench,
        Kind::Atif,
        Kind::Inspect,
        Kind::SweAgent,
        Kind::MiniSweAgent,
        Kind::Tau2,
        Kind::Tau,
        Kind::Openai,
        Kind::Parthackbench,
    ];

    /// The word that a user types.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::HarborTasks => "harbor-tasks",
            Kind::SweBench => "swe-bench",
            Kind::Atif => "atif",
            Kind::Inspect => "inspect",
            Kind::SweAgent => "swe-agent",
            Kind::MiniSweAgent => "mini-swe-agent",
            Kind::Tau2 => "tau2",
            Kind::Tau => "tau",
            Kind::Openai => "openai",
            Kind::Parthackbench => "parthackbench",
        }
    }

    /// Endings of the files that a walk of a folder takes up for this kind, lower case.
    #[must_use]
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Kind::HarborTasks => &["task.toml", "task.yaml", "task.yml", "instruction.md"],
            Kind::SweBench | Kind::Openai => &[".json", ".jsonl", ".ndjson"],
            Kind::Atif | Kind::Tau2 | Kind::Tau | Kind::Parthackbench => &[".json"],
            Kind::Inspect => &[".eval", ".json"],
            Kind::SweAgent => &[".traj"],
            Kind::MiniSweAgent => &[".json", ".traj"],
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A word that names no kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is no kind of input; expected one of {}", Kind::ALL.map(Kind::word).join(", "))]
pub struct UnknownKind {
    /// The word.
    pub word: String,
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Kind, UnknownKind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word).ok_or_else(|| UnknownKind { word: word.to_owned() })
    }
}
