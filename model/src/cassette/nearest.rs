//! For a request that has no recording: the nearest one that has, and what differs.

use serde_json::Value;

use super::{CassetteError, Entry, Label, store};
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
pub(super) fn nearest(index: &[Entry], wanted: &Wanted<'_>) -> Result<Option<Nearest>, CassetteError> {
    let mut candidates: Vec<(usize, &Entry, &Label)> = Vec::new();
    for entry in index {
        let Ok(label) = &entry.exchange else { continue };
        candidates.push((distance(label, wanted), entry, label));
    }
    candidates.sort_by(|a, b| (a.0, &a.1.key).cmp(&(b.0, &b.1.key)));
    let Some(least) = candidates.first().map(|first| first.0) else { return Ok(None) };
    let target = envelope(wanted.config, wanted.repeat, wanted.attempt, wanted.request.clone());
    let mut best: Option<(usize, Nearest)> = None;
    for (_, entry, label) in candidates.into_iter().take_while(|one| one.0 == least).take(MOST_COMPARED) {
        // One that was removed since is no candidate.
        let Some(recorded) = store::get(&entry.folder, &entry.key)? else { continue };
        if recorded.is_stripped() {
            continue;
        }
        let found = envelope(&label.config, label.repeat, label.attempt, recorded.request);
        let differences = Differences::between(&found, &target);
        let Some(difference) = differences.first else { continue };
        if best.as_ref().is_none_or(|(count, _)| differences.count < *count) {
            let nearest = Nearest { key: entry.key.clone(), cell: label.cell.clone(), difference };
            best = Some((differences.count, nearest));
        }
    }
    Ok(best.map(|(_, nearest)| nearest))
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
