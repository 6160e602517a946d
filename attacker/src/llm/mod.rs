//! The model attacker (P §3.5, A.4): what is asked of a model, and what is made of its answer. It does no IO: whoever
//! runs it gets the prompts answered.
//!
//! The prompt is white-box: public interface, rules, script, instruction, initial state, goal predicates, honest
//! trajectory, and the public description of the evaluator to be misled. The form of the answer is a grammar of the task's
//! own steps. Prompt files are frozen by [`prompt_hash`]; a test holds it, so that recordings stay good.

mod form;
mod targets;
mod words;

use parthack_env::canonical::Hash;
use parthack_env::task::Task;
use parthack_model::prompt::{AnswerForm, Prompt};

pub use form::read;
pub use targets::{TargetDescription, target_description};

const SYSTEM: &str = include_str!("prompts/system.txt");
const USER: &str = include_str!("prompts/user.txt");
const ANGLES: &str = include_str!("prompts/angles.txt");
const FEEDBACK: &str = include_str!("prompts/feedback.txt");

/// P, Table A.4: reasoning counts too. The steps themselves take about 40 tokens each; a role may have a lower cap.
const MAX_TOKENS: u32 = 12_000;

/// What an attempt is told of those before it (SPEC §14.5). Never a certified vector or a certifier's verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Feedback {
    /// Nothing, as in the paper.
    #[default]
    None,
    /// The faults of their own schema and replay.
    Protocol(Vec<Earlier>),
    /// Those, and the target's public score.
    PublicScore(Vec<Earlier>),
}

impl Feedback {
    /// The word of manifests and of the command line.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Feedback::None => "none",
            Feedback::Protocol(_) => "protocol",
            Feedback::PublicScore(_) => "public-score",
        }
    }
}

/// What became of an earlier attempt, as far as its author may know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// From 1.
    pub attempt: u32,
    /// Its own fault of schema or replay; none if it is protocol-valid.
    pub fault: Option<String>,
    /// The target's public score, such as `3/4`; shown by [`Feedback::PublicScore`] alone.
    pub score: Option<String>,
}

/// What the `attempt`-th of `budget` attempts asks, from 1.
///
/// Its bytes are a function of the arguments; the attempt's number is part of them, because at temperature 0 equal
/// prompts would get equal answers (SPEC §14.6).
#[must_use]
pub fn prompt(task: &Task, target: &TargetDescription, attempt: u32, budget: u32, feedback: &Feedback) -> Prompt {
    let data = words::task_in_words(task);
    let angles: Vec<&str> = ANGLES.lines().collect();
    let angle = angles[attempt.saturating_sub(1) as usize % angles.len()];
    let user = fill(
        USER.trim_end(),
        &[
            ("mark", &mark(&data)),
            ("task", &data),
            ("title", &target.title),
            ("description", &target.description),
            ("attempt", &attempt.to_string()),
            ("budget", &budget.to_string()),
            ("angle", angle),
            ("feedback", &earlier(feedback)),
            ("most", &form::most_steps(task).to_string()),
        ],
    );
    let form = AnswerForm { name: "trajectory".to_owned(), schema: form::schema(task), token_probabilities: false };
    Prompt { system: SYSTEM.trim_end().to_owned(), user, form, max_tokens: MAX_TOKENS }
}

/// The hash of the frozen prompt files (label `prompt`), as text. Descriptions of targets and the words for a task are
/// not in it: they reach the request, whose hash is kept with every exchange.
#[must_use]
pub fn prompt_hash() -> String {
    let mut bytes = Vec::new();
    for file in [SYSTEM, USER, ANGLES, FEEDBACK] {
        bytes.extend_from_slice(&(file.len() as u64).to_le_bytes());
        bytes.extend_from_slice(file.as_bytes());
    }
    Hash::of("prompt", &bytes).hex()
}

/// A line that the quoted data can't hold, for it is made of their hash.
fn mark(data: &str) -> String {
    format!("==== {} ====", &Hash::of("quoted", data.as_bytes()).hex()[..16])
}

/// Replaces `{name}` once each, in one pass: what is filled in is never looked at again.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let named = after[1..]
            .split_once('}')
            .and_then(|(name, rest)| values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value, rest)));
        match named {
            Some((value, left)) => {
                out.push_str(value);
                rest = left;
            }
            None => {
                out.push('{');
                rest = &after[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn earlier(feedback: &Feedback) -> String {
    let (list, with_score) = match feedback {
        Feedback::None => return String::new(),
        Feedback::Protocol(list) => (list, false),
        Feedback::PublicScore(list) => (list, true),
    };
    if list.is_empty() {
        return String::new();
    }
    let mut text = FEEDBACK.to_owned();
    for one in list {
        let outcome = match (&one.fault, &one.score) {
            (Some(fault), _) => format!("void ({fault})"),
            (None, Some(score)) if with_score => format!("it runs; the evaluator gives {score}"),
            (None, _) => "it runs".to_owned(),
        };
        text.push_str(&format!("- attempt {}: {outcome}\n", one.attempt));
    }
    text
}
