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
    /// A judge's checklist of a task.
    Checklist {
        /// Task id.
        task: String,
        /// The judge.
        judge: String,
    },
    /// A judge's score of one trajectory.
    Judgement {
        /// Task id.
        task: String,
        /// Which trajectory.
        subject: Subject,
        /// Hash of its payload.
        payload: String,
        /// The judge.
        judge: String,
    },
    /// The score of one trajectory by an evaluator of a user's own.
    Plugin {
        /// Task id.
        task: String,
        /// Which trajectory.
        subject: Subject,
        /// Hash of its payload.
        payload: String,
        /// The evaluator.
        plugin: String,
    },
    /// The same payload asked about again: how an evaluator of a user's own agrees with itself on an honest trajectory.
    PluginAgain {
        /// Task id.
        task: String,
        /// Hash of its payload.
        payload: String,
        /// The evaluator.
        plugin: String,
    },
    /// Every rule evaluator's score of one trajectory.
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
            Unit::Checklist { task, judge } => write!(out, "checklist {task} {judge}"),
            Unit::Judgement { task, subject, judge, .. } => write!(out, "judgement {task} {judge} {subject}"),
            Unit::Plugin { task, subject, plugin, .. } => write!(out, "plugin {task} {plugin} {subject}"),
            Unit::PluginAgain { task, plugin, .. } => write!(out, "plugin-again {task} {plugin}"),
            Unit::Scores { task, subject, .. } => write!(out, "scores {task} {subject}"),
        }
    }
}

/// Units of the phase before all others: checklists are frozen before any trajectory is scored (SPEC §15.18).
#[must_use]
pub fn checklist_phase(manifest: &Manifest) -> Vec<Unit> {
    let with_checklist = manifest.judges().filter(|(_, judge)| judge.checklist_role.is_some());
    with_checklist
        .flat_map(|(id, judge)| {
            judge.tasks.iter().map(|task| Unit::Checklist { task: task.clone(), judge: id.to_owned() })
        })
        .collect()
}

/// Units of the first phase: what depends on the manifest, and on checklists, alone.
#[must_use]
pub fn first_phase(manifest: &Manifest) -> Vec<Unit> {
    let mut units = Vec::new();
    for entry in &manifest.tasks {
        let task = entry.id.clone();
        units.push(Unit::Honest { task: task.clone() });
        for target in &manifest.targets {
            let budget = manifest.attempts(&task, target);
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
pub fn second_phase(manifest: &Manifest, finished: &Finished, selections: &[SelectionRecord]) -> Vec<Unit> {
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
    // Judges come judge by judge, honest trajectories first, so that what a stop keeps is of most use.
    let judged: Vec<Unit> = (manifest.judges())
        .flat_map(|(id, frozen)| {
            let mut of_judge: Vec<(u8, Unit)> = (units.iter())
                .filter_map(|unit| {
                    let Unit::Scores { task, subject, payload } = unit else { return None };
                    let rank = rank_of_judged(manifest, id, subject)?;
                    let (task, subject, payload) = (task.clone(), subject.clone(), payload.clone());
                    let is_judged = frozen.tasks.contains(&task);
                    is_judged.then(|| (rank, Unit::Judgement { task, subject, payload, judge: id.to_owned() }))
                })
                .collect();
            of_judge.sort_by_key(|(rank, _)| *rank);
            of_judge.into_iter().map(|(_, unit)| unit)
        })
        .collect();
    units.extend(judged);
    units
}

/// Units of the last phase: what evaluators of users' own say of every trajectory that the rules score in the second, and say
/// again of the honest ones.
#[must_use]
pub fn plugin_phase(manifest: &Manifest, second: &[Unit]) -> Vec<Unit> {
    let of_plugin = |plugin: &str| {
        let unit = |unit: &Unit| match unit {
            Unit::Scores { task, subject, payload } => {
                let (task, subject, payload) = (task.clone(), subject.clone(), payload.clone());
                Some(Unit::Plugin { task, subject, payload, plugin: plugin.to_owned() })
            }
            _ => None,
        };
        let again = |unit: &Unit| match unit {
            Unit::Scores { task, subject: Subject::Honest {}, payload } => {
                Some(Unit::PluginAgain { task: task.clone(), payload: payload.clone(), plugin: plugin.to_owned() })
            }
            _ => None,
        };
        // In reverse, so that what a program keeps from payload to payload shows.
        second.iter().filter_map(unit).chain(second.iter().rev().filter_map(again)).collect::<Vec<_>>()
    };
    manifest.plugins().flat_map(|(id, _)| of_plugin(id)).collect()
}

/// Whether a judge is asked about a trajectory, and how early: H, A_ref, the rollback of the set `least`, and its own
/// adversary.
fn rank_of_judged(manifest: &Manifest, judge: &str, subject: &Subject) -> Option<u8> {
    match subject {
        Subject::Honest {} => Some(0),
        Subject::Adversary { target } if *target == manifest.reference_target => Some(1),
        Subject::Rollback { set, .. } if is_judged_set(set) => Some(2),
        Subject::Adversary { target } if target == judge => Some(3),
        Subject::Adversary { .. } | Subject::Rollback { .. } => None,
    }
}

/// Whether semantic judges are asked about rollbacks of a set: about `least` alone, the set of the tables, for the others
/// would double what a run costs.
#[must_use]
pub fn is_judged_set(set: &str) -> bool {
    set == "least"
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
