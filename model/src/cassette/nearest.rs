//! For a request that has no recording: the nearest one that has, and what differs.
//!
//! Prompts set quoted data apart by marks that are made of its hash (`<data 0123456789abcdef>`, `==== 0123456789abcdef ====`). Two
//! requests that quote different data differ in their marks first, which says nothing; so marks are compared without their hashes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Entry, Label, store};
use crate::difference::{Difference, Differences};
use crate::role::RoleConfig;

/// The most recordings that are compared in full.
const MOST_COMPARED: usize = 64;

/// What was asked for.
pub(crate) struct Wanted<'w> {
    pub(crate) cell: &'w str,
    pub(crate) role: &'w str,
    pub(crate) config: &'w RoleConfig,
    pub(crate) repeat: u32,
    pub(crate) attempt: u32,
    pub(crate) request: Value,
}

/// The recorded exchange that is nearest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Its key.
    pub key: String,
    /// Its cell.
    pub cell: String,
    /// The first difference; `found` is the recording's, `expected` what was asked for.
    pub difference: Difference,
}

/// Among those of the same cell and role, then of the same role, then of any: fewest differing leaves, then least key.
pub(super) fn nearest(index: &[Entry], wanted: &Wanted<'_>) -> Option<Nearest> {
    let mut candidates: Vec<(usize, &Entry, &Label)> = Vec::new();
    for entry in index {
        let Ok(label) = &entry.exchange else { continue };
        candidates.push((distance(label, wanted), entry, label));
    }
    candidates.sort_by(|a, b| (a.0, &a.1.key).cmp(&(b.0, &b.1.key)));
    let least = candidates.first()?.0;
    let target = envelope(wanted.config, wanted.repeat, wanted.attempt, wanted.request.clone());
    let plain_target = with_plain_marks(target.clone());
    let mut best: Option<(usize, Nearest)> = None;
    for (_, entry, label) in candidates.into_iter().take_while(|one| one.0 == least).take(MOST_COMPARED) {
        // One that was removed or damaged since is no candidate.
        let Ok(Some(recorded)) = store::get(&entry.folder, &entry.key) else { continue };
        if recorded.is_stripped() {
            continue;
        }
        let found = envelope(&label.config, label.repeat, label.attempt, recorded.request);
        let mut differences = Differences::between(&with_plain_marks(found.clone()), &plain_target);
        if differences.first.is_none() {
            differences = Differences::between(&found, &target);
        }
        let Some(difference) = differences.first else { continue };
        if best.as_ref().is_none_or(|(count, _)| differences.count < *count) {
            let nearest = Nearest { key: entry.key.clone(), cell: label.cell.clone(), difference };
            best = Some((differences.count, nearest));
        }
    }
    best.map(|(_, nearest)| nearest)
}

/// How far a label is from what was asked for, before requests are compared.
fn distance(label: &Label, wanted: &Wanted<'_>) -> usize {
    let differs = [
        (label.role != wanted.role, 16),
        (label.cell != wanted.cell, 8),
        (label.config.name() != wanted.config.name(), 4),
        (label.repeat != wanted.repeat, 2),
        (label.attempt != wanted.attempt, 1),
    ];
    differs.iter().filter(|(differs, _)| *differs).map(|(_, weight)| weight).sum()
}

/// Everything that a key is made of.
fn envelope(config: &RoleConfig, repeat: u32, attempt: u32, request: Value) -> Value {
    serde_json::json!({
        "provider": config.provider,
        "model": config.model,
        "identity": config.identity,
        "repeat": repeat,
        "try": attempt,
        "request": request,
    })
}

/// The fewest hexadecimal digits of a mark's hash.
const LEAST_MARK_DIGITS: usize = 12;

/// What stands for the hash of a mark.
const PLAIN_MARK: &str = "…";

/// The value with all marks of its texts in one form.
fn with_plain_marks(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain_marks(text)),
        Value::Array(elements) => elements.into_iter().map(with_plain_marks).collect(),
        Value::Object(members) => members.into_iter().map(|(name, member)| (name, with_plain_marks(member))).collect(),
        other => other,
    }
}

/// A text in which the hash of each mark is [`PLAIN_MARK`], also where a sentence names the mark. A mark stands in two lines or more.
fn plain_marks(text: String) -> String {
    let mut hashes: Vec<&str> = text.lines().filter_map(hash_of_mark).collect();
    hashes.sort_unstable();
    let marks: BTreeSet<&str> = hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    marks.into_iter().fold(text.clone(), |text, hash| text.replace(hash, PLAIN_MARK))
}

/// The hash in a line that is a mark: set between signs, beside one name at most.
fn hash_of_mark(line: &str) -> Option<&str> {
    let signs = ['<', '>', '=', '-', '#', '*', '~', '[', ']'];
    if !line.starts_with(signs) || !line.ends_with(signs) {
        return None;
    }
    let is_hash = |word: &&str| {
        word.len() >= LEAST_MARK_DIGITS && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let words = || line.split(|of: char| !of.is_alphanumeric()).filter(|word| !word.is_empty());
    let hash = words().find(is_hash)?;
    (words().count() <= 2 && words().filter(is_hash).count() == 1).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_compared_without_their_hashes() {
        for (text, plain) in [
            ("<data 0123456789abcdef>\n/a 1\n</data 0123456789abcdef>\nScore.", "<data …>\n/a 1\n</data …>\nScore."),
            ("<log 0123456789ab>\nL1| x\n</log 0123456789ab>", "<log …>\nL1| x\n</log …>"),
            (
                "Between lines that read ==== 0123456789abcdef ====.\n==== 0123456789abcdef ====\nx\n==== 0123456789abcdef ====",
                "Between lines that read ==== … ====.\n==== … ====\nx\n==== … ====",
            ),
        ] {
            assert_eq!(plain_marks(text.to_owned()), plain);
        }
        for data in [
            "/a 0123456789abcdef\n/a 0123456789abcdef",
            "L1| 0123456789abcdef\nL1| 0123456789abcdef",
            "\"0123456789abcdef\",\n\"0123456789abcdef\",",
            "0123456789abcdef\n0123456789abcdef",
            "<data 0123456789abcdef>\nonce",
            "<data 0123>\n</data 0123>",
            "- the file is 0123456789abcdef -\n- the file is 0123456789abcdef -",
        ] {
            assert_eq!(plain_marks(data.to_owned()), data);
        }
    }
}
