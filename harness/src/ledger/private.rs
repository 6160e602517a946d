//! What only an operator may read: vectors and certification codes (SPEC §15.6).

use serde::{Deserialize, Serialize};

/// Format of `private/certifications.jsonl`.
pub const PRIVATE_LEDGER_FORMAT: &str = "parthack.private-ledger/1";

/// The private half of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PrivateRecord {
    /// The certified vectors of a trajectory, one character a predicate: `0` or `1`.
    Vectors {
        /// Which predicates hold at the end.
        c_state: String,
        /// Which of them are credited to the agent.
        c_agent: String,
        /// Goal version at the end.
        goal_version: u32,
        /// Hash of the terminal state.
        state_hash: String,
    },
    /// The certifier's answer to an attempt: `eligible` or the code of the refusal.
    Code {
        /// The word.
        code: String,
    },
    /// What both certifiers said of a mutation control.
    Control {
        /// The code that the mutation must draw.
        expected: String,
        /// The backward certifier's code; none where the task can't express the mutation.
        backward: Option<String>,
        /// The forward certifier's code; none where the task can't express the mutation.
        forward: Option<String>,
    },
}
