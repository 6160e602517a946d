//! Names and keys of cells: what is worked out, apart from when, where and by which thread.

use std::fmt;

use parthack_env::canonical::Hash;
use serde::{Deserialize, Serialize};

use crate::ledger::canonical_of;

/// Key of a cell: BLAKE3 (label `cell`) over the manifest's hash and the cell's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellKey(pub Hash);

impl fmt::Display for CellKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// Which trajectory a score is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Subject {
    /// The honest trajectory H.
    Honest {},
    /// The selected adversary A_f of a target; the reference target's is A_ref.
    Adversary {
        /// The target f.
        target: String,
    },
    /// A strict rollback R.
    Rollback {
        /// `least`, `all` or `deepest` (SPEC §4).
        set: String,
        /// Place in the set, from 0.
        index: u32,
    },
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Honest {} => out.write_str("honest"),
            Subject::Adversary { target } => write!(out, "adversary of {target}"),
            Subject::Rollback { set, index } => write!(out, "rollback {set} {index}"),
        }
    }
}

/// Which of a judge's judgements of one trajectory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Variant {
    /// One of those that make the score; from 1.
    Repeat {
        /// From 1.
        number: u32,
    },
    /// The first repeat asked once more: what differs is noise.
    Again {},
    /// The answer's fields in the other order.
    FieldOrder {},
    /// Items in reverse order.
    ItemOrder {},
}

impl Variant {
    /// The probes of P's noise floor and of order sensitivity, in the order of the tables.
    pub const PROBES: [Variant; 3] = [Variant::Again {}, Variant::FieldOrder {}, Variant::ItemOrder {}];

    /// `repeat 1`, `again`, `field order`, `item order`.
    #[must_use]
    pub fn word(self) -> String {
        match self {
            Variant::Repeat { number } => format!("repeat {number}"),
            Variant::Again {} => "again".to_owned(),
            Variant::FieldOrder {} => "field order".to_owned(),
            Variant::ItemOrder {} => "item order".to_owned(),
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.word())
    }
}

/// Name of a cell. Cells with equal names of one manifest have equal records, on any machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CellName {
    /// Certification of the honest trajectory.
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
    },
    /// Which attempt the target's public score selects.
    Selection {
        /// Task id.
        task: String,
        /// Target id.
        target: String,
    },
    /// One strict rollback.
    Rollback {
        /// Task id.
        task: String,
        /// `least`, `all` or `deepest`.
        set: String,
        /// Place in the set, from 0.
        index: u32,
    },
    /// One mutation control.
    Control {
        /// Task id.
        task: String,
        /// The mutation.
        mutation: String,
    },
    /// One evaluator's score of one trajectory.
    Score {
        /// Task id.
        task: String,
        /// Which trajectory.
        subject: Subject,
        /// Evaluator id.
        evaluator: String,
    },
    /// A judge's checklist of a task.
    Checklist {
        /// Task id.
        task: String,
        /// The judge.
        evaluator: String,
    },
    /// One judgement: a repeat, or a probe of the judge's sensitivity.
    Judgement {
        /// Task id.
        task: String,
        /// Which trajectory.
        subject: Subject,
        /// The judge.
        evaluator: String,
        /// Which of its judgements.
        variant: Variant,
    },
    /// One audit of the whole run.
    Audit {
        /// Its name.
        name: String,
    },
}

impl CellName {
    /// The key under a manifest.
    #[must_use]
    pub fn key(&self, manifest: &Hash) -> CellKey {
        CellKey(Hash::of("cell", &canonical_of(&(manifest.hex(), self))))
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellName::Honest { task } => write!(out, "honest trajectory of {task}"),
            CellName::Attempt { task, target, attempt } => write!(out, "attempt {attempt} on {task} against {target}"),
            CellName::Selection { task, target } => write!(out, "selection on {task} for {target}"),
            CellName::Rollback { task, set, index } => write!(out, "rollback {set} {index} of {task}"),
            CellName::Control { task, mutation } => write!(out, "control {mutation} on {task}"),
            CellName::Score { task, subject, evaluator } => write!(out, "score of {task}, {subject}, by {evaluator}"),
            CellName::Checklist { task, evaluator } => write!(out, "checklist of {evaluator} for {task}"),
            CellName::Judgement { task, subject, evaluator, variant } => {
                write!(out, "judgement of {task}, {subject}, by {evaluator}, {variant}")
            }
            CellName::Audit { name } => write!(out, "audit {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_of_the_name_and_the_manifest() {
        let name = CellName::Honest { task: "T-1".to_owned() };
        let manifest = Hash::of("manifest", b"{}");
        let golden = Hash::of("cell", format!(r#"["{manifest}",{{"kind":"honest","task":"T-1"}}]"#).as_bytes());
        assert_eq!(name.key(&manifest), CellKey(golden));
        assert_ne!(name.key(&manifest), name.key(&Hash::of("manifest", b"[]")));
    }

    #[test]
    fn names_read_back() {
        let subject = Subject::Rollback { set: "all".to_owned(), index: 2 };
        let name = CellName::Score { task: "T".to_owned(), subject, evaluator: "csps".to_owned() };
        let bytes = canonical_of(&name);
        assert_eq!(crate::ledger::read_strict::<CellName>(&bytes), Ok(name));
    }
}
