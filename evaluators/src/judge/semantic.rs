//! The judges that ask a model: one table of what makes each of them, and what they share.

use std::fmt::Write as _;

use parthack_env::canonical::Hash;
use parthack_env::json::Json;
use parthack_model::answer::{Answer, NoAnswer};
use parthack_model::prompt::{AnswerForm, Prompt};
use serde_json::{Map, Value, json};

use super::block::{Line, block};
use super::reading::{self, MAX_CITES, Scale};
use super::{AnswerMode, Checklist, ChecklistSource, Combined, FieldOrder, ItemOrder, Judge, Judgement, Setting};
use super::{aggregate, checklist, document_of, no_verdict, notation, projection, show};
use crate::registry::Descriptor;
use crate::score::{ExactScore, NoVerdict};

/// The most tokens of a judge's answer (P, Table A.4): reasoning counts too. A role may have a lower cap.
const ANSWER_TOKENS: u32 = 4_096;
/// The most characters of a rationale.
const MAX_RATIONALE: usize = 200;
/// Up to so many pointers are listed in the answer's schema; more are told by a pattern.
const MAX_LISTED: usize = 60;

const COMMON: &str = include_str!("prompts/common.txt");
const FIELDS: &str = include_str!("prompts/fields.txt");
const ANSWER: &str = include_str!("prompts/answer.txt");

/// What a judge reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// The payload, goal schema included.
    Payload,
    /// The schema-free projection.
    Projection,
}

/// Where a judge's items come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    /// The predicates of the goal schema, `g1`, `g2`, …
    Goal,
    /// The task's frozen checklist, `c1`, `c2`, …
    Checklist,
    /// The same questions for all tasks, `q1`, `q2`, …; one a line of this file, lines with `#` in front being headings.
    Fixed(&'static str),
    /// Only in mode `logprobs`, which needs one: this question.
    Whole(&'static str),
}

/// What makes a judge.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub id: &'static str,
    pub title: &'static str,
    pub decomposition: &'static str,
    pub repeats: u32,
    pub reads: Reads,
    pub items: Items,
    /// Scales of the score in modes `number` and `integer`; `None`: the score is the mean of the items.
    pub scales: Option<(Scale, Scale)>,
    /// The line of the prompts' fields that says what verdicts are: `verdicts` or `answers`.
    pub field: &'static str,
    /// What the judge is told after the common rules.
    pub prompt: &'static str,
    /// What makes its checklist.
    pub checklist: Option<checklist::Maker>,
}

/// A judge that asks a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Semantic(pub &'static Spec);

/// An item as a prompt has it.
struct Item {
    key: String,
    text: String,
}

/// What one setting makes of a judge and a document.
struct Shape {
    /// In the judge's own order.
    items: Vec<Item>,
    scale: Option<Scale>,
    setting: Setting,
}

impl Shape {
    fn keys(&self) -> Vec<String> {
        self.items.iter().map(|item| item.key.clone()).collect()
    }

    /// In the order in which they are shown.
    fn shown(&self) -> Vec<&Item> {
        match self.setting.items {
            ItemOrder::Forward => self.items.iter().collect(),
            ItemOrder::Reversed => self.items.iter().rev().collect(),
        }
    }

    /// The answer's fields in the order in which they are written.
    fn fields(&self) -> Vec<&'static str> {
        let verdict = [("verdicts", !self.items.is_empty()), ("score", self.scale.is_some())];
        let verdict = verdict.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name);
        match self.setting.fields {
            FieldOrder::VerdictFirst => verdict.chain(["cites", "rationale"]).collect(),
            FieldOrder::RationaleFirst => ["rationale"].into_iter().chain(verdict).chain(["cites"]).collect(),
        }
    }
}

impl Spec {
    /// What tables and manifests say of the judge.
    pub(super) fn descriptor(&self) -> Descriptor {
        Descriptor {
            id: self.id,
            version: 1,
            title: self.title,
            temporal_rule: "semantic",
            attribution: "prompted",
            decomposition: self.decomposition,
            deterministic: false,
            reads: match self.reads {
                Reads::Payload => "instruction, goal_schema, events, transcript, terminal_state",
                Reads::Projection => "projection: instruction, events, transcript, terminal_state",
            },
        }
    }
}

impl Semantic {
    /// Reads the payload, and leaves what the judge may read of it.
    fn document<'a>(&self, payload: &'a [u8]) -> Result<Json<'a>, NoVerdict> {
        let json = document_of(payload)?;
        Ok(match self.0.reads {
            Reads::Payload => json,
            Reads::Projection => projection::project(json),
        })
    }

    fn shape(&self, document: &Json<'_>, list: Option<&Checklist>, setting: Setting) -> Result<Shape, NoVerdict> {
        let item = |key: String, text: &str| Item { key, text: text.to_owned() };
        let items = match self.0.items {
            Items::Goal => (0..goals(document)?).map(|index| item(show::goal_key(index), "")).collect(),
            Items::Checklist => {
                let list = list.ok_or_else(|| no_verdict("the task has no checklist".to_owned()))?;
                list.items.iter().map(|of| item(of.id.clone(), &of.text)).collect()
            }
            Items::Fixed(file) => {
                (1..).zip(questions(file)).map(|(number, text)| item(format!("q{number}"), text)).collect()
            }
            Items::Whole(question) if setting.mode == AnswerMode::Logprobs => vec![item("q1".to_owned(), question)],
            Items::Whole(_) => Vec::new(),
        };
        let scale = self.0.scales.and_then(|(number, integer)| match setting.mode {
            AnswerMode::Number => Some(number),
            AnswerMode::Integer => Some(integer),
            AnswerMode::Logprobs => None,
        });
        Ok(Shape { items, scale, setting })
    }

    fn prompt(&self, document: &Json<'_>, shape: &Shape) -> Prompt {
        let mut goals: Vec<usize> = match self.0.items {
            Items::Goal => (0..shape.items.len()).collect(),
            _ => Vec::new(),
        };
        if shape.setting.items == ItemOrder::Reversed {
            goals.reverse();
        }
        let lines = show::lines(document, &goals);
        let mut system = format!("{COMMON}\n{}\n{ANSWER}", self.0.prompt);
        for field in shape.fields() {
            let _ = writeln!(system, "{}", self.field_text(field, shape));
        }
        let mut user = block(&lines);
        let told: Vec<_> = shape.shown().into_iter().filter(|item| !item.text.is_empty()).collect();
        for item in told {
            user.push_str(&item.key);
            user.push(' ');
            notation::push_quoted(&mut user, &item.text, 400);
            user.push('\n');
        }
        Prompt {
            system,
            user,
            form: AnswerForm {
                name: format!("{}_{}", self.0.id.replace('-', "_"), shape.setting.mode.word()),
                schema: answer_schema(shape, &lines),
                token_probabilities: shape.setting.mode == AnswerMode::Logprobs,
            },
            max_tokens: ANSWER_TOKENS,
        }
    }

    fn field_text(&self, field: &'static str, shape: &Shape) -> &'static str {
        let name = match (field, shape.scale) {
            ("verdicts", _) => self.0.field,
            ("score", Some(Scale::Unit)) => "unit",
            ("score", Some(Scale::Percent)) => "percent",
            ("score", Some(Scale::Ten)) => "ten",
            ("score", Some(Scale::WholeTen)) => "whole-ten",
            _ => field,
        };
        let text = FIELDS.lines().filter_map(|line| line.split_once(" = ")).find(|(of, _)| *of == name);
        text.map_or("", |(_, text)| text)
    }

    /// An answer, read as far as it goes.
    fn read_answer(&self, document: &Json<'_>, shape: &Shape, answer: &Answer) -> Result<Judgement, String> {
        let json = reading::object(answer, &shape.fields())?;
        reading::rationale(&json)?;
        let keys = shape.keys();
        let items = match shape.setting.mode {
            _ if keys.is_empty() => Vec::new(),
            AnswerMode::Logprobs => {
                reading::verdicts(&json, &keys)?;
                reading::probabilities(answer, &keys)?
            }
            AnswerMode::Number | AnswerMode::Integer => {
                reading::verdicts(&json, &keys)?.into_iter().map(|yes| ExactScore::new(u32::from(yes), 1)).collect()
            }
        };
        let score = match shape.scale {
            Some(scale) => reading::score_field(&json, scale)?,
            None => aggregate::mean(&items).ok_or("no items")?,
        };
        Ok(Judgement { score, items, labels: Vec::new(), cites: reading::cites(&json, document)? })
    }
}

fn goals(document: &Json<'_>) -> Result<usize, NoVerdict> {
    let count = match document.get("goal_schema") {
        Some(Json::Array(items)) => items.len(),
        _ => 0,
    };
    match count {
        0 => Err(no_verdict("the goal schema has no predicate".to_owned())),
        1..=show::MAX_GOALS => Ok(count),
        _ => Err(no_verdict(format!("the goal schema has {count} predicates, the most is {}", show::MAX_GOALS))),
    }
}

/// The questions of a file: its lines, without headings and empty ones.
pub(super) fn questions(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn answer_schema(shape: &Shape, lines: &[Line]) -> Value {
    let fields = shape.fields();
    let mut properties = Map::new();
    for field in &fields {
        properties.insert((*field).to_owned(), field_schema(field, shape, lines));
    }
    closed_object(properties, &fields)
}

fn field_schema(field: &str, shape: &Shape, lines: &[Line]) -> Value {
    match (field, shape.scale) {
        ("verdicts", _) => {
            let keys: Vec<&str> = shape.shown().into_iter().map(|item| item.key.as_str()).collect();
            let verdict = |key: &&str| ((*key).to_owned(), json!({"type": "string", "enum": ["yes", "no"]}));
            closed_object(keys.iter().map(verdict).collect(), &keys)
        }
        ("score", Some(Scale::Unit)) => json!({"type": "number", "minimum": 0, "maximum": 1}),
        ("score", Some(Scale::Ten)) => json!({"type": "number", "minimum": 0, "maximum": 10}),
        ("score", Some(Scale::Percent)) => json!({"type": "integer", "minimum": 0, "maximum": 100}),
        ("score", _) => json!({"type": "integer", "minimum": 0, "maximum": 10}),
        ("cites", _) => {
            json!({"type": "array", "items": pointer_schema(lines), "minItems": 1, "maxItems": MAX_CITES})
        }
        _ => json!({"type": "string", "maxLength": MAX_RATIONALE}),
    }
}

/// The pointers that the prompt shows, or their form where they are many.
fn pointer_schema(lines: &[Line]) -> Value {
    let mut pointers: Vec<&str> = Vec::new();
    for line in lines {
        if !pointers.contains(&line.pointer.as_str()) {
            pointers.push(&line.pointer);
        }
    }
    if pointers.len() <= MAX_LISTED {
        json!({"type": "string", "enum": pointers})
    } else {
        json!({"type": "string", "pattern": "^(/[a-z_]{1,20}|/[0-9]{1,3}){1,4}$"})
    }
}

pub(super) fn closed_object(properties: Map<String, Value>, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

impl Judge for Semantic {
    fn id(&self) -> &'static str {
        self.0.id
    }

    fn repeats(&self) -> u32 {
        self.0.repeats
    }

    fn has_checklist(&self) -> bool {
        self.0.checklist.is_some()
    }

    fn has_items(&self) -> bool {
        !matches!(self.0.items, Items::Whole(_))
    }

    fn prompt_hash(&self) -> String {
        let items = match self.0.items {
            Items::Fixed(text) | Items::Whole(text) => text,
            Items::Goal | Items::Checklist => "",
        };
        let checklist = self.0.checklist.map_or("", |maker| maker.prompt);
        let parts = [self.0.id, show::VIEW, COMMON, self.0.prompt, ANSWER, FIELDS, items, checklist];
        Hash::of("judge-prompts", Value::from(parts.to_vec()).to_string().as_bytes()).hex()
    }

    fn checklist_prompt(&self, source: &ChecklistSource<'_>) -> Option<Prompt> {
        self.0.checklist.map(|maker| maker.prompt(self.0.id, source.instruction))
    }

    fn read_checklist(&self, _source: &ChecklistSource<'_>, answer: &Answer) -> Result<Checklist, String> {
        match self.0.checklist {
            Some(maker) => maker.read(answer),
            None => Err(format!("{} has no checklist", self.0.id)),
        }
    }

    fn plan(&self, payload: &[u8], checklist: Option<&Checklist>, setting: Setting) -> Result<Vec<Prompt>, NoVerdict> {
        let document = self.document(payload)?;
        let shape = self.shape(&document, checklist, setting)?;
        Ok(vec![self.prompt(&document, &shape)])
    }

    fn read(
        &self,
        payload: &[u8],
        checklist: Option<&Checklist>,
        setting: Setting,
        prompt: usize,
        answer: &Answer,
    ) -> Result<(), String> {
        if prompt != 0 {
            return Err(format!("no prompt {prompt} in a plan of one"));
        }
        let document = self.document(payload).map_err(|error| error.reason)?;
        let shape = self.shape(&document, checklist, setting).map_err(|error| error.reason)?;
        self.read_answer(&document, &shape, answer).map(drop)
    }

    fn judge(
        &self,
        payload: &[u8],
        checklist: Option<&Checklist>,
        setting: Setting,
        answers: &[Result<Answer, NoAnswer>],
    ) -> Result<Judgement, NoVerdict> {
        let document = self.document(payload)?;
        let shape = self.shape(&document, checklist, setting)?;
        match answers {
            [Ok(answer)] => self.read_answer(&document, &shape, answer).map_err(no_verdict),
            [Err(missing)] => Err(no_verdict(missing.to_string())),
            _ => Err(no_verdict(format!("{} answers to a plan of one prompt", answers.len()))),
        }
    }

    fn combine(&self, judgements: &[Result<Judgement, NoVerdict>]) -> Result<Combined, NoVerdict> {
        aggregate::combine(self.0.repeats, judgements)
    }
}
