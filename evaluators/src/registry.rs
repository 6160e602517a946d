//! The built-in evaluators by id.

use parthack_env::canonical::Hash;

use crate::public_view;
use crate::rules::Rule;
use crate::score::{NoVerdict, Verdict};

/// What a table or a manifest says of an evaluator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Its id.
    pub id: &'static str,
    /// Version of its rule.
    pub version: u32,
    /// The name that tables print.
    pub title: &'static str,
    /// When it looks (P, Table A.3).
    pub temporal_rule: &'static str,
    /// `yes`, `no` or `prompted`.
    pub attribution: &'static str,
    /// Where its parts come from.
    pub decomposition: &'static str,
    /// Whether equal bytes always give equal scores.
    pub deterministic: bool,
    /// What it reads of the payload.
    pub reads: &'static str,
}

/// Descriptors of all built-in evaluators, in the order of the tables.
#[must_use]
pub fn descriptors() -> Vec<Descriptor> {
    Rule::ALL.into_iter().map(describe).collect()
}

/// The descriptor of a rule.
#[must_use]
pub fn describe(rule: Rule) -> Descriptor {
    Descriptor {
        id: rule.id(),
        version: 1,
        title: rule.title(),
        temporal_rule: rule.temporal_rule().title(),
        attribution: if rule.uses_attribution() { "yes" } else { "no" },
        decomposition: if rule == Rule::TerminalOutcome { "completion bit" } else { "shared" },
        deterministic: true,
        reads: "goal_schema, initial_state, events",
    }
}

/// One payload scored by several rules, read once.
#[must_use]
pub fn score_all(rules: &[Rule], payload: &[u8]) -> Vec<Verdict> {
    match public_view::read(payload) {
        Ok(view) if view.m > 0 => rules.iter().map(|rule| Verdict::exact(rule.score(view.m, &view.frames))).collect(),
        Ok(_) => {
            vec![Verdict::NoVerdict(NoVerdict { reason: "the goal schema has no predicate".to_owned() }); rules.len()]
        }
        Err(error) => {
            let reason = format!("not a payload: {error}");
            vec![Verdict::NoVerdict(NoVerdict { reason }); rules.len()]
        }
    }
}

/// The hash that stands on every score record: label `payload`, over the payload's bytes.
#[must_use]
pub fn payload_hash(payload: &[u8]) -> Hash {
    Hash::of("payload", payload)
}
