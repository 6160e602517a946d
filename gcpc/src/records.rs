//! The lines of a pipeline's ledgers: judgements, questions of baselines, audits. Text and integers only, so that equal work gives equal
//! bytes; a ratio is written `yes/decided`.

use serde::{Deserialize, Serialize};

use crate::checklist::Route;
use crate::label::{Label, Outcome};

/// The name of the format of a judgement.
pub const JUDGEMENT_FORMAT: &str = "parthack.gcpc-judgement/1";
/// The name of the format of a baseline's questions.
pub const QUESTIONS_FORMAT: &str = "parthack.gcpc-questions/1";
/// The name of the format of a coverage audit.
pub const AUDIT_FORMAT: &str = "parthack.gcpc-audit/1";

/// What pairing and clustering need to know of a log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogIdentity {
    /// Hash of the log's content, 64 hexadecimal digits.
    pub log: String,
    /// The format that it came in, such as `tau2`.
    pub kind: String,
    /// The task with its suite, `suite/task`: what logs are clustered by.
    pub task: String,
    /// The agent program.
    pub harness: Option<String>,
    /// Its version.
    pub harness_version: Option<String>,
    /// The model and its source.
    pub model: Option<String>,
    /// `with-skill`, `without-skill`, `self-generated` or `none-known`.
    pub condition: String,
    /// What tells this run from others of the same task, harness, model and condition.
    pub run: Option<String>,
    /// The official outcome; `None` where there is none that is binary.
    pub outcome: Option<Outcome>,
}

/// How a judgement was asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Variant {
    /// As the method has it.
    Primary {},
    /// Abstain was not offered.
    Forced {},
    /// The log of an agent that does nothing of substance on the task: `silent`, `claims` or `looks`.
    Idle {
        /// What it does instead.
        idleness: String,
    },
    /// The log without its tool outputs and file contents.
    WithoutEvidence {},
    /// The log with the evidence of one item replaced wherever it stands.
    Replacement {
        /// The item.
        item: String,
        /// Old and new texts.
        pairs: Vec<(String, String)>,
    },
}

/// A piece of evidence that occurs in the log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceSpan {
    /// The label of the span in the prompt.
    pub span: String,
    /// The number of the step.
    pub step: usize,
    /// Byte offset of its start in the span's text.
    pub start: usize,
    /// Byte offset of its end.
    pub end: usize,
    /// Its text.
    pub text: String,
}

/// What was said of one item or question.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedItem {
    /// The item's id.
    pub id: String,
    /// The item's route; `None` for a baseline's question.
    pub route: Option<Route>,
    /// The label, from the log alone.
    pub label: Label,
    /// Evidence for the label.
    pub evidence: Vec<EvidenceSpan>,
    /// Evidence for the opposite that another window gave.
    pub contrary: Vec<EvidenceSpan>,
    /// Windows whose verdict had no evidence that occurs in the log.
    pub unfounded: usize,
}

/// One judgement of one log: a line of `judgements.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// [`JUDGEMENT_FORMAT`].
    pub format: String,
    /// The log.
    pub identity: LogIdentity,
    /// `gcpc`, `holistic`, `generic-checklist`, `tick` or `tick-trajectory`.
    pub method: String,
    /// How it was asked for.
    pub variant: Variant,
    /// The pass, from 1.
    pub pass: u32,
    /// `provider/model`.
    pub judge: String,
    /// Hash of the judge's whole configuration, what the server told of itself included.
    pub judge_hash: String,
    /// Hash of the frozen checklist, or of the questions; `None` for a method that has neither.
    pub checklist: Option<String>,
    /// Hash of what else was chosen: asking together or apart, token budget, prompts.
    pub setting: String,
    /// Windows that the log was read in.
    pub windows: usize,
    /// The labels; empty for a holistic score.
    pub items: Vec<JudgedItem>,
    /// A baseline's score, `numerator/denominator` in [0, 1]; `None` for `gcpc`, whose scores follow from labels and outcome.
    pub score: Option<String>,
    /// Why there is no judgement. It is never a score.
    pub no_verdict: Option<String>,
    /// Keys of the exchanges that it rests on.
    pub exchanges: Vec<String>,
}

/// A baseline's questions for a task: a line of `questions.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Questions {
    /// [`QUESTIONS_FORMAT`].
    pub format: String,
    /// The task.
    pub task: String,
    /// The method.
    pub method: String,
    /// Hash of the instruction.
    pub instruction: String,
    /// The questions; empty where none were made.
    pub questions: Vec<String>,
    /// Why there are none.
    pub no_answer: Option<String>,
    /// Keys of the exchanges.
    pub exchanges: Vec<String>,
}

/// A requirement that the instruction states, and the category that each scheme sorted it into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditedRequirement {
    /// The words that state it.
    pub quote: String,
    /// The same in a sentence.
    pub text: String,
    /// Whether the quote stands in the instruction; one that does not is kept out of the count.
    pub is_stated: bool,
}

/// How one scheme sorted a task's stated requirements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sorting {
    /// `real`, `reduced`, `irrelevant` or `name_permuted`.
    pub scheme: String,
    /// For each stated requirement the name of its category, or `None`.
    pub categories: Vec<Option<String>>,
    /// Why there is no sorting.
    pub no_answer: Option<String>,
}

/// The coverage audit of a task: a line of `audits.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// [`AUDIT_FORMAT`].
    pub format: String,
    /// The task.
    pub task: String,
    /// The requirements found.
    pub requirements: Vec<AuditedRequirement>,
    /// Why there are none.
    pub no_answer: Option<String>,
    /// The sortings, in the order of G's table.
    pub sortings: Vec<Sorting>,
    /// Keys of the exchanges.
    pub exchanges: Vec<String>,
}

/// What became of an attempt at a checklist, as an analysis counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptSummary {
    /// The task with its suite.
    pub task: String,
    /// The benchmark that the task belongs to: its suite, or the kind of its source.
    pub benchmark: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// `accepted`, `rejected`, `unreadable` or `no_answer`.
    pub result: String,
    /// Items of the answer.
    pub items: usize,
    /// Items that no gate refused.
    pub sound_items: usize,
}
