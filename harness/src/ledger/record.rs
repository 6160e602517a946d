//! Records: the public result of a cell.

use std::collections::BTreeMap;

use parthack_evaluators::judge::Grounding;
use serde::{Deserialize, Serialize};

use crate::ledger::{CellName, RecordedScore, Subject, Variant, is_lost_on_the_way, mentions};

/// The public result of a cell. Hashes are 64 hexadecimal digits; ratios are text in lowest terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Record {
    /// The honest trajectory was certified.
    Honest(HonestRecord),
    /// An attempt passed through the gates (P, Table A.5).
    Attempt(Box<AttemptRecord>),
    /// A target's adversary was selected, or there is none.
    Selection(SelectionRecord),
    /// A strict rollback was constructed and certified.
    Rollback(RollbackRecord),
    /// A mutation control was tried.
    Control(ControlRecord),
    /// A trajectory was scored.
    Score(ScoreRecord),
    /// A judge's checklist was made and frozen.
    Checklist(ChecklistRecord),
    /// A judge was asked about a trajectory.
    Judgement(Box<JudgementRecord>),
    /// The run as a whole was audited.
    Audit(AuditRecord),
}

/// The honest trajectory of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HonestRecord {
    /// Task id.
    pub task: String,
    /// Object of the trajectory (`parthack.candidate/1`).
    pub trajectory: String,
    /// Object of the payload; label `payload`.
    pub payload: String,
    /// Agent steps.
    pub steps: u32,
    /// Events.
    pub events: u32,
    /// Goal version at the end.
    pub goal_version: u32,
    /// P_state(H).
    pub p_state: String,
    /// P_agent(H).
    pub p_agent: String,
}

/// One attempt against one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptRecord {
    /// Task id.
    pub task: String,
    /// Target id.
    pub target: String,
    /// From 1.
    pub attempt: u32,
    /// The candidate's name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Object of the candidate; none if the attacker produced none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<String>,
    /// What a public gate found at fault; none for a protocol-valid candidate (SPEC §14.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<PublicFault>,
    /// Object of the payload of a protocol-valid candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// Agent steps of a protocol-valid candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Whether its event log is the honest trajectory's: then it is no adversary (SPEC §7).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeats_honest: bool,
    /// Whether both certifiers match it with the honest trajectory, component by component.
    pub eligible: bool,
    /// The target's public score of an eligible candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<RecordedScore>,
    /// What exact search found and proved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchRecord>,
    /// What a model was asked: objects of the exchanges, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<String>,
    /// Why a model gave no candidate; such an attempt consumes budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_answer: Option<String>,
}

impl AttemptRecord {
    /// Whether a candidate met the schema and replayed legally.
    #[must_use]
    pub fn is_protocol_valid(&self) -> bool {
        self.candidate.is_some() && self.fault.is_none()
    }

    /// Whether there is no candidate because a replay had no recording of the attempt.
    #[must_use]
    pub fn is_unrecorded(&self) -> bool {
        self.no_answer.as_deref().is_some_and(|reason| mentions(reason, "not_recorded"))
    }

    /// Whether it gave a candidate, or a model was asked and gave none: both consume budget (P A.5: 54 of 54).
    #[must_use]
    pub fn is_generated(&self) -> bool {
        self.candidate.is_some() || (self.no_answer.is_some() && !self.is_unrecorded())
    }
}

/// A fault that the submitter may see: schema, legality, claimed log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicFault {
    /// `malformed_schema`, `illegal_action` or `replay_mismatch`.
    pub code: String,
    /// Where, what was found, what was expected.
    pub detail: String,
}

/// What exact search says of a target on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchRecord {
    /// Why no trajectory does better (`closed_set`, `greatest_score`, `step_limit`), or `incomplete`.
    pub bound: String,
    /// The target's score of the honest trajectory, where the search got so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub honest: Option<String>,
    /// The best score of an eligible trajectory; none if there is no eligible trajectory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<String>,
    /// Length of the shortest trajectory with the best score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness_length: Option<u32>,
    /// Digest of the closed set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Different states.
    pub states: u64,
    /// Transitions generated.
    pub transitions: u64,
    /// Depth of the last level.
    pub depth: u32,
    /// Why an incomplete search ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

/// A target's adversary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectionRecord {
    /// Task id.
    pub task: String,
    /// Target id.
    pub target: String,
    /// The selected attempt; none if no candidate is eligible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Object of its trajectory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<String>,
    /// Object of its payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}

/// A strict rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollbackRecord {
    /// Task id.
    pub task: String,
    /// `least`, `all` or `deepest`.
    pub set: String,
    /// Place in the set, from 0.
    pub index: u32,
    /// Object of the trajectory (`parthack.candidate/1`): H's steps and the undo steps.
    pub trajectory: String,
    /// Object of the payload.
    pub payload: String,
    /// Steps after H's.
    pub undo_steps: u32,
    /// P_state(R), strictly less than P_state(H).
    pub p_state: String,
}

/// A mutation control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlRecord {
    /// Task id.
    pub task: String,
    /// The mutation.
    pub mutation: String,
    /// Whether the task can express it.
    pub applicable: bool,
    /// Whether both certifiers drew the expected code, or it is not applicable.
    pub as_expected: bool,
}

/// One evaluator's score of one trajectory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreRecord {
    /// Task id.
    pub task: String,
    /// Which trajectory.
    pub subject: Subject,
    /// Evaluator id.
    pub evaluator: String,
    /// Hash of the payload's bytes, the same for every evaluator.
    pub payload: String,
    /// What it said.
    pub score: RecordedScore,
    /// Other aggregates of a judge's answers, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, RecordedScore>,
    /// The code of the fault that left it without a score, of an evaluator of a user's own; none where the evaluator itself gave
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A judge's checklist of a task, made from the instruction alone and frozen before any trajectory is scored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChecklistRecord {
    /// Task id.
    pub task: String,
    /// The judge.
    pub evaluator: String,
    /// Hash of the items, label `checklist`; none if there is no checklist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The items' texts, in order.
    pub items: Vec<String>,
    /// What each item rests on, for judges that ground their checklists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grounding: Vec<Grounding>,
    /// What each item corresponds to in the goal, in order; no judge sees it.
    pub alignment: Vec<AlignedItem>,
    /// What a model was asked: objects of the exchanges, in order.
    pub exchanges: Vec<String>,
    /// Why there is no checklist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_answer: Option<String>,
}

impl ChecklistRecord {
    /// Whether a model answered and its answer was no checklist, by form or by the judge's gates.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        !self.exchanges.is_empty() && self.no_answer.as_deref().is_some_and(|reason| mentions(reason, "schema"))
    }

    /// Whether there is no checklist because a replay had no recording of it.
    #[must_use]
    pub fn is_unrecorded(&self) -> bool {
        self.no_answer.as_deref().is_some_and(|reason| mentions(reason, "not_recorded"))
    }
}

/// What an item of a checklist corresponds to (P B.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlignedItem {
    /// Ids of the predicates, in the goal's order.
    pub predicates: Vec<String>,
    /// `one-to-one`, `merged, split or indirect`, `absent or implicit`.
    pub correspondence: String,
}

/// One judgement of one trajectory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgementRecord {
    /// Task id.
    pub task: String,
    /// Which trajectory.
    pub subject: Subject,
    /// The judge.
    pub evaluator: String,
    /// Which of its judgements.
    pub variant: Variant,
    /// Hash of the payload's bytes.
    pub payload: String,
    /// What a model was asked: objects of the exchanges, in order.
    pub exchanges: Vec<String>,
    /// What it said.
    pub score: RecordedScore,
    /// To which degree each item is met, in the checklist's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// JSON pointers into the payload or its projection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cites: Vec<String>,
}

/// An audit of the whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditRecord {
    /// Its name.
    pub name: String,
    /// Things looked at.
    pub checked: u64,
    /// Things at fault.
    pub faults: u64,
}

impl Record {
    /// Whether an answer of a model was lost on the way to it, so that asking again may give one.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        let missing = match self {
            Record::Checklist(record) => record.no_answer.as_deref(),
            Record::Attempt(record) => {
                record.no_answer.as_deref().or_else(|| record.score.as_ref().and_then(RecordedScore::why_not))
            }
            Record::Judgement(record) => record.score.why_not(),
            // A program's faults have codes of their own.
            Record::Score(record) if record.fault.is_none() => record.score.why_not(),
            _ => None,
        };
        missing.is_some_and(is_lost_on_the_way)
    }

    /// Whether only [`crate::ledger::SEMANTIC_LEDGER_FORMAT`] knows it.
    #[must_use]
    pub fn is_semantic(&self) -> bool {
        match self {
            Record::Checklist(_) | Record::Judgement(_) => true,
            Record::Attempt(r) => !r.exchanges.is_empty() || r.no_answer.is_some(),
            Record::Score(r) => !r.others.is_empty() || r.fault.is_some(),
            _ => false,
        }
    }

    /// The name of its cell.
    #[must_use]
    pub fn name(&self) -> CellName {
        match self {
            Record::Honest(r) => CellName::Honest { task: r.task.clone() },
            Record::Attempt(r) => {
                CellName::Attempt { task: r.task.clone(), target: r.target.clone(), attempt: r.attempt }
            }
            Record::Selection(r) => CellName::Selection { task: r.task.clone(), target: r.target.clone() },
            Record::Rollback(r) => CellName::Rollback { task: r.task.clone(), set: r.set.clone(), index: r.index },
            Record::Control(r) => CellName::Control { task: r.task.clone(), mutation: r.mutation.clone() },
            Record::Score(r) => {
                CellName::Score { task: r.task.clone(), subject: r.subject.clone(), evaluator: r.evaluator.clone() }
            }
            Record::Checklist(r) => CellName::Checklist { task: r.task.clone(), evaluator: r.evaluator.clone() },
            Record::Judgement(r) => CellName::Judgement {
                task: r.task.clone(),
                subject: r.subject.clone(),
                evaluator: r.evaluator.clone(),
                variant: r.variant,
            },
            Record::Audit(r) => CellName::Audit { name: r.name.clone() },
        }
    }
}
