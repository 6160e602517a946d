//! Units of work: what is worked out in one go and journalled in one line.

use std::collections::BTreeMap;
use std::fmt;

use crate::ledger::{Record, RecordedScore, SelectionRecord, Subject};
use crate::run::journal::Finished;
use crate::run::manifest::Manifest;

/// A unit of work. Units know nothing of each other but for the records that the second phase reads of the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// The honest trajectory of a task.
    Honest {
        /// Task id.
        task: String,
    },
    /// One attempt against one target.
    Attempt {
        /// Task id.
        task: String,
        /// Target id.
        target: String,
        /// From 1.
        attempt: u32,
        /// Attempts on this task against this target.
        budget: u32,
    },
    /// The three sets of rollbacks of a task.
    Rollbacks {
        /// Task id.
        task: String,
    },
    /// The mutation controls of a task.
    Controls {
        /// Task id.
        task: String,
    },
    /// Every evaluator's score of one trajectory.
    Scores {
        /// Task id.
        task: String,
        /// Which trajectory.
        subject: Subject,
        /// Hash of its payload.
        payload: String,
    },
}

impl fmt::Display for Unit {
    /// The unit's name in the journal.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Honest { task } => write!(out, "honest {task}"),
            Unit::Attempt { task, target, attempt, .. } => write!(out, "attempt {task} {target} {attempt}"),
            Unit::Rollbacks { task } => write!(out, "rollbacks {task}"),
            Unit::Controls { task } => write!(out, "controls {task}"),
            Unit::Scores { task, subject, .. } => write!(out, "scores {task} {subject}"),
        }
    }
}

/// Units of the first phase: what depends on the manifest alone. `attempts` says how many each task gets a target.
#[must_use]
pub fn first_phase(manifest: &Manifest, attempts: &BTreeMap<String, u32>) -> Vec<Unit> {
    let mut units = Vec::new();
    for entry in &manifest.tasks {
        let task = entry.id.clone();
        units.push(Unit::Honest { task: task.clone() });
        let budget = attempts.get(&task).copied().unwrap_or(0);
        for target in &manifest.targets {
            for attempt in 1..=budget {
                units.push(Unit::Attempt { task: task.clone(), target: target.clone(), attempt, budget });
            }
        }
        if entry.rollback_metric {
            units.push(Unit::Rollbacks { task: task.clone() });
        }
        units.push(Unit::Controls { task });
    }
    units
}

/// Units of the second phase: scores of every trajectory that the first phase gave.
#[must_use]
pub fn second_phase(finished: &Finished, selections: &[SelectionRecord]) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut push = |task: &String, subject: Subject, payload: &String| {
        units.push(Unit::Scores { task: task.clone(), subject, payload: payload.clone() });
    };
    for record in finished.values().flat_map(|result| &result.records) {
        match record {
            Record::Honest(r) => push(&r.task, Subject::Honest {}, &r.payload),
            Record::Rollback(r) => {
                push(&r.task, Subject::Rollback { set: r.set.clone(), index: r.index }, &r.payload);
            }
            _ => {}
        }
    }
    for selection in selections {
        if let Some(payload) = &selection.payload {
            push(&selection.task, Subject::Adversary { target: selection.target.clone() }, payload);
        }
    }
    units.sort_by_key(ToString::to_string);
    units
}

/// For each task and target the eligible candidate of greatest public score, the earliest among equals; one without a
/// verdict only if no other is eligible (P A.5).
#[must_use]
pub fn select(manifest: &Manifest, finished: &Finished) -> Vec<SelectionRecord> {
    let mut best: BTreeMap<(&str, &str), (u32, &Record)> = BTreeMap::new();
    for record in finished.values().flat_map(|result| &result.records) {
        let Record::Attempt(attempt) = record else { continue };
        if !attempt.eligible {
            continue;
        }
        let rank = |record: &Record| match record {
            Record::Attempt(attempt) => attempt.score.as_ref().and_then(RecordedScore::score),
            _ => None,
        };
        let key = (attempt.task.as_str(), attempt.target.as_str());
        let better = best.get(&key).is_none_or(|(number, other)| match (rank(record), rank(other)) {
            (Some(new), Some(old)) => match new.compare(old) {
                std::cmp::Ordering::Equal => attempt.attempt < *number,
                order => order.is_gt(),
            },
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => attempt.attempt < *number,
        });
        if better {
            best.insert(key, (attempt.attempt, record));
        }
    }
    let mut selections = Vec::new();
    for task in &manifest.tasks {
        for target in &manifest.targets {
            let chosen = match best.get(&(task.id.as_str(), target.as_str())) {
                Some((_, Record::Attempt(attempt))) => Some(attempt),
                _ => None,
            };
            selections.push(SelectionRecord {
                task: task.id.clone(),
                target: target.clone(),
                attempt: chosen.map(|attempt| attempt.attempt),
                candidate: chosen.and_then(|attempt| attempt.candidate.clone()),
                payload: chosen.and_then(|attempt| attempt.payload.clone()),
            });
        }
    }
    selections
}
