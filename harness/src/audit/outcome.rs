//! What an audit comes to while it is done.

use std::collections::BTreeMap;

/// Something that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where: file and line, record, or probe.
    pub place: String,
    /// What is there.
    pub found: String,
    /// What must be there.
    pub expected: String,
}

/// What an audit has seen so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Things looked at.
    pub checked: u64,
    /// Of which kinds, and other numbers that belong to the audit.
    pub counts: BTreeMap<String, u64>,
    /// What a reader must know to read the verdict.
    pub notes: Vec<String>,
    /// One line a thing, where each is worth one: what came of every probe.
    pub details: Vec<String>,
    /// Everything at fault.
    pub findings: Vec<Finding>,
    /// Why it could not be done.
    pub not_run: Option<String>,
    /// Measured on the way, for people alone: it differs from run to run.
    pub talk: Vec<String>,
}

impl Outcome {
    /// Counts things of a kind that were looked at.
    pub(super) fn checks(&mut self, kind: &str, number: usize) {
        self.checked += number as u64;
        self.counts(kind, number);
    }

    /// Adds to a number that is no count of checks.
    pub(super) fn counts(&mut self, kind: &str, number: usize) {
        *self.counts.entry(kind.to_owned()).or_default() += number as u64;
    }

    /// Notes something at fault.
    pub(super) fn finds(&mut self, place: impl Into<String>, found: impl Into<String>, expected: impl Into<String>) {
        self.findings.push(Finding { place: place.into(), found: found.into(), expected: expected.into() });
    }

    /// Looks at one thing: found must be expected.
    pub(super) fn compare<T: PartialEq + ToString>(&mut self, kind: &str, place: &str, found: &T, expected: &T) {
        self.checks(kind, 1);
        if found != expected {
            self.finds(place, found.to_string(), expected.to_string());
        }
    }
}
