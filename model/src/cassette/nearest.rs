//! For a request that has no recording: the nearest one that has, and what differs.

use std::fmt;

use serde_json::Value;

use super::{CassetteError, Entry, Label, store};
use crate::role::RoleConfig;
use crate::schema;

/// The most recordings that are compared in full.
const MOST_COMPARED: usize = 64;

/// The most characters of a differing text on each side.
const WINDOW: usize = 40;

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
    /// The first difference.
    pub difference: Difference,
}

/// Where two requests differ first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// JSON pointer, such as `/request/messages/1/content`.
    pub pointer: String,
    /// What the recording has.
    pub recorded: String,
    /// What was asked for.
    pub wanted: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: recorded {}, asked for {}", self.pointer, self.recorded, self.wanted)
    }
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
        let mut differences = Differences::default();
        differences.compare(&found, &target, "");
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

#[derive(Default)]
struct Differences {
    count: usize,
    first: Option<Difference>,
}

impl Differences {
    fn compare(&mut self, recorded: &Value, wanted: &Value, at: &str) {
        match (recorded, wanted) {
            (Value::Object(a), Value::Object(b)) => {
                let mut keys: Vec<&String> = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).collect();
                keys.sort_unstable();
                for key in keys {
                    let here = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                    self.compare_members(a.get(key), b.get(key), &here);
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                for index in 0..a.len().max(b.len()) {
                    self.compare_members(a.get(index), b.get(index), &format!("{at}/{index}"));
                }
            }
            (Value::String(a), Value::String(b)) if a != b => {
                let (a, b) = around_difference(a, b);
                self.add(at, a, b);
            }
            (a, b) if a != b => self.add(at, schema::short(a), schema::short(b)),
            _ => {}
        }
    }

    fn compare_members(&mut self, recorded: Option<&Value>, wanted: Option<&Value>, at: &str) {
        match (recorded, wanted) {
            (Some(recorded), Some(wanted)) => self.compare(recorded, wanted, at),
            (recorded, wanted) => {
                let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), schema::short);
                self.add(at, text(recorded), text(wanted));
            }
        }
    }

    fn add(&mut self, at: &str, recorded: String, wanted: String) {
        self.count += 1;
        self.first.get_or_insert_with(|| Difference { pointer: at.to_owned(), recorded, wanted });
    }
}

/// Two texts around the first character that differs.
fn around_difference(a: &str, b: &str) -> (String, String) {
    let equal = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let start = equal.saturating_sub(WINDOW / 4);
    let cut = |text: &str| {
        let window: String = text.chars().skip(start).take(WINDOW).collect();
        let before = if start > 0 { "…" } else { "" };
        let after = if text.chars().count() > start + WINDOW { "…" } else { "" };
        format!("{:?}", format!("{before}{window}{after}"))
    };
    (cut(a), cut(b))
}
