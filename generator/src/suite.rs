//! The manifest of a generated suite.

use serde::Serialize;

/// Format of `suite.json`.
pub const SUITE_FORMAT: &str = "parthack.suite/1";

/// What a suite says of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SuiteEntry {
    /// Task id.
    pub id: String,
    /// `development` or `heldout`.
    pub split: &'static str,
    /// Family word.
    pub family: &'static str,
    /// Predicates of the active goal.
    pub m: usize,
    /// P_state(H), k/m.
    pub p_state_honest: String,
    /// Tags.
    pub tags: Vec<String>,
    /// Whether the rollback metric includes it.
    pub rollback_metric: bool,
    /// Hash, label `task`, of the canonical public file.
    pub hash: String,
}

#[derive(Serialize)]
struct Suite<'s> {
    format: &'static str,
    id: &'s str,
    version: &'s str,
    description: &'s str,
}

/// The text of `suite.json`, one line a task.
///
/// # Errors
/// Never for entries that are text, which they are; the serializer's error is passed on.
pub fn suite_manifest(
    id: &str,
    version: &str,
    description: &str,
    entries: &[SuiteEntry],
) -> serde_json::Result<String> {
    let head = serde_json::to_string(&Suite { format: SUITE_FORMAT, id, version, description })?;
    let mut text = head.trim_end_matches('}').to_owned();
    text.push_str(",\"tasks\":[");
    for (index, entry) in entries.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&serde_json::to_string(entry)?);
    }
    text.push_str("\n]}\n");
    Ok(text)
}
