//! Semantic judges (P §4.1, A.4; G §3, §4): what they ask a model, and what they make of its answers.
//!
//! A judge does no IO. [`Judge::plan`] turns payload bytes (and, where the judge has one, its frozen checklist) into
//! prompts; whoever runs it gets them answered; [`Judge::read`] checks one answer, so that a retry can follow a failure; [`Judge::judge`] makes a judgement of a plan's
//! answers;
//! [`Judge::combine`] makes the verdict. Only public bytes go in.

use parthack_env::json::Json;
use parthack_env::payload::PAYLOAD_FORMAT;
use parthack_model::answer::{Answer, NoAnswer};
use parthack_model::prompt::Prompt;
use serde::{Deserialize, Serialize};

use crate::registry::Descriptor;
use crate::score::{ExactScore, NoVerdict};

pub mod aggregate;
pub mod alignment;
pub mod block;
mod catalogue;
mod checklist;
pub mod decimal;
pub mod evidence;
mod gcpc;
pub mod notation;
pub mod pointer;
pub mod projection;
pub mod reading;
pub mod remote;
mod semantic;
pub mod show;
pub mod words;

/// All judges that ask a model, in the order of the tables.
#[must_use]
pub fn judges() -> Vec<Box<dyn Judge>> {
    let semantic = catalogue::SPECS.iter().map(|spec| Box::new(semantic::Semantic(spec)) as Box<dyn Judge>);
    semantic.chain(gcpc::Gcpc::ALL.map(|judge| Box::new(judge) as Box<dyn Judge>)).collect()
}

/// The judge of an id.
#[must_use]
pub fn judge(id: &str) -> Option<Box<dyn Judge>> {
    judges().into_iter().find(|judge| judge.id() == id)
}

/// What tables and manifests say of the judges, in the order of [`judges`].
#[must_use]
pub fn descriptors() -> Vec<Descriptor> {
    let semantic = catalogue::SPECS.iter().map(semantic::Spec::descriptor);
    semantic.chain(gcpc::Gcpc::ALL.map(gcpc::Gcpc::descriptor)).collect()
}

/// The payload that a judge reads.
fn document_of(payload: &[u8]) -> Result<Json<'_>, NoVerdict> {
    let json = Json::parse(payload).map_err(|error| no_verdict(format!("not a payload: {error}")))?;
    if json.get("format").and_then(Json::as_str) != Some(PAYLOAD_FORMAT) {
        return Err(no_verdict(format!("not a payload of format {PAYLOAD_FORMAT}, which judges read")));
    }
    Ok(json)
}

fn no_verdict(reason: String) -> NoVerdict {
    NoVerdict { reason }
}

/// How a judge is asked to answer (SPEC §6; the manifest says which).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerMode {
    /// The paper's: a JSON number in [0, 1].
    Number,
    /// An integer from 0 to 100, or an enum an item.
    Integer,
    /// P(yes) an item from the probabilities of the answer's tokens.
    Logprobs,
}

impl AnswerMode {
    /// All modes.
    pub const ALL: [AnswerMode; 3] = [AnswerMode::Number, AnswerMode::Integer, AnswerMode::Logprobs];

    /// `number`, `integer` or `logprobs`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            AnswerMode::Number => "number",
            AnswerMode::Integer => "integer",
            AnswerMode::Logprobs => "logprobs",
        }
    }

    /// The mode of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<AnswerMode> {
        AnswerMode::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// In which order the answer's fields are to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FieldOrder {
    /// Score (or item verdicts), then rationale.
    VerdictFirst,
    /// Rationale, then score (or item verdicts).
    RationaleFirst,
}

/// In which order checklist items or predicates are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ItemOrder {
    /// As they stand.
    Forward,
    /// Last first. Verdicts are mapped back.
    Reversed,
}

/// Everything about a judgement that is chosen and not read from a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// How to answer.
    pub mode: AnswerMode,
    /// Order of the answer's fields.
    pub fields: FieldOrder,
    /// Order of items.
    pub items: ItemOrder,
}

/// An item of a frozen checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecklistItem {
    /// `c1`, `c2`, …
    pub id: String,
    /// The condition.
    pub text: String,
    /// What it rests on, for judges that ground their checklists.
    pub grounding: Option<Grounding>,
}

/// What an item of a grounded checklist rests on (G §3.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grounding {
    /// Words of the instruction, verbatim.
    pub quote: String,
    /// `assertion`, `generated` or `judge`.
    pub route: String,
    /// The named check that covers it; there on route `assertion` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
}

/// What a checklist may be made from: public, and no trajectory.
#[derive(Debug, Clone, Copy)]
pub struct ChecklistSource<'s> {
    /// The instruction texts in force, in order.
    pub instruction: &'s [String],
    /// The public goal schema. Judges with a decomposition of their own do not look at it (P §4.1).
    pub goal_schema: &'s Json<'s>,
}

/// A checklist, frozen by its hash before any trajectory is scored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checklist {
    /// At least one item, ids unique.
    pub items: Vec<ChecklistItem>,
}

/// What one answer says, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The score in [0, 1], in millionths where a decimal or a probability was given.
    pub score: ExactScore,
    /// For each item of the checklist or predicate, in their own order, the degree to which it is met; empty for a
    /// judge without items.
    pub items: Vec<ExactScore>,
    /// The items' labels, for a judge that may abstain; then `items` is empty.
    pub labels: Vec<&'static str>,
    /// JSON pointers into the payload (or the projection), each of which exists.
    pub cites: Vec<String>,
}

/// The verdict over all answers of one trajectory.
#[derive(Debug, Clone, PartialEq)]
pub struct Combined {
    /// The primary result (for `idj` the median of three).
    pub primary: ExactScore,
    /// Other aggregates by name, such as `mean_of_three` and `item_majority`.
    pub others: Vec<(&'static str, ExactScore)>,
}

/// A semantic judge.
pub trait Judge: Send + Sync {
    /// Its id, such as `idj`.
    fn id(&self) -> &'static str;

    /// How often each trajectory is asked about (three for `idj`, else one).
    fn repeats(&self) -> u32;

    /// Whether it has a checklist for each task, made before any trajectory is seen.
    fn has_checklist(&self) -> bool;

    /// Whether it has items at all (checklist items, questions, or predicates): then their order can be varied.
    fn has_items(&self) -> bool;

    /// Whether the order of its answer's fields can be varied.
    fn has_fields(&self) -> bool {
        true
    }

    /// Hash of its frozen prompt files.
    fn prompt_hash(&self) -> String;

    /// The prompt that makes a task's checklist.
    fn checklist_prompt(&self, source: &ChecklistSource<'_>) -> Option<Prompt>;

    /// Reads a checklist.
    ///
    /// # Errors
    /// What is wrong, in one sentence.
    fn read_checklist(&self, source: &ChecklistSource<'_>, answer: &Answer) -> Result<Checklist, String>;

    /// The prompts whose answers make one judgement; most judges have one. The same prompts are asked again for each
    /// repeat.
    ///
    /// # Errors
    /// Why the payload can't be judged.
    fn plan(&self, payload: &[u8], checklist: Option<&Checklist>, setting: Setting) -> Result<Vec<Prompt>, NoVerdict>;

    /// Checks the answer to one prompt of the plan: form, range, cited pointers. `Ok` means that [`Judge::judge`] will
    /// accept it; an error is a schema failure, after which one retry may follow.
    ///
    /// # Errors
    /// What is wrong, in one sentence.
    fn read(
        &self,
        payload: &[u8],
        checklist: Option<&Checklist>,
        setting: Setting,
        prompt: usize,
        answer: &Answer,
    ) -> Result<(), String>;

    /// One judgement from the answers to the whole plan.
    ///
    /// # Errors
    /// Why there is no verdict; an answer that is missing is one reason.
    fn judge(
        &self,
        payload: &[u8],
        checklist: Option<&Checklist>,
        setting: Setting,
        answers: &[Result<Answer, NoAnswer>],
    ) -> Result<Judgement, NoVerdict>;

    /// The verdict from the repeats' judgements, in order.
    ///
    /// # Errors
    /// Why there is no verdict.
    fn combine(&self, judgements: &[Result<Judgement, NoVerdict>]) -> Result<Combined, NoVerdict>;
}
