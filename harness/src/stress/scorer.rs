//! What `stress` needs of an evaluator.

use std::collections::BTreeMap;
use std::path::PathBuf;

use parthack_evaluators::plugin::{Fault, FaultCode, Reply};
use parthack_evaluators::registry::Builtin;

use crate::ledger::RecordedScore;
use crate::plugin::{Plugin, recorded};
use crate::run::error::RunError;
use crate::run::evaluators::{EvaluatorCommand, EvaluatorProcess};

/// What an evaluator said of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scored {
    /// The score, or why there is none.
    pub score: RecordedScore,
    /// The fault that left it without a verdict; none where the evaluator itself gave none.
    pub fault: Option<Fault>,
}

/// An evaluator that scores payloads.
pub trait Scorer {
    /// Its name in reports.
    fn id(&self) -> String;

    /// One answer a payload, in order.
    ///
    /// # Errors
    /// What stops the whole work; a fault on one payload stands in its answer.
    fn score(&mut self, payloads: &[&[u8]]) -> Result<Vec<Scored>, RunError>;

    /// How it was kept apart, for the report.
    fn isolation(&self) -> String;

    /// Processes that failed with several payloads, which were asked again: how often, by what happened.
    fn restarts(&self) -> BTreeMap<FaultCode, u64> {
        BTreeMap::new()
    }

    /// What the user should know, sorted.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The first fault of each kind, by its code.
#[must_use]
pub fn first_faults(scored: &[Scored]) -> BTreeMap<String, Fault> {
    let mut first = BTreeMap::new();
    for fault in scored.iter().filter_map(|of| of.fault.as_ref()) {
        first.entry(fault.code.code().to_owned()).or_insert_with(|| fault.clone());
    }
    first
}

/// A command as it can stand in a sentence: line ends and other control characters escaped.
fn on_one_line(command: &str) -> String {
    let mut text = String::with_capacity(command.len());
    for character in command.chars() {
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}

/// A user's own evaluator.
impl Scorer for Plugin {
    fn id(&self) -> String {
        on_one_line(&self.frozen.command)
    }

    fn score(&mut self, payloads: &[&[u8]]) -> Result<Vec<Scored>, RunError> {
        let scored = |reply: &Reply| Scored { score: recorded(reply), fault: reply.fault().cloned() };
        Ok(self.score(payloads).iter().map(scored).collect())
    }

    fn isolation(&self) -> String {
        self.isolation()
    }

    fn restarts(&self) -> BTreeMap<FaultCode, u64> {
        self.restarts()
    }

    fn notes(&self) -> Vec<String> {
        self.notes()
    }
}

/// A built-in evaluator, in a public-only process.
#[derive(Debug)]
pub struct BuiltinScorer {
    id: &'static str,
    process: EvaluatorProcess,
}

impl BuiltinScorer {
    /// One that `program` serves: this binary.
    #[must_use]
    pub fn new(program: PathBuf, builtin: Builtin) -> BuiltinScorer {
        let command = EvaluatorCommand { program, evaluators: vec![builtin] };
        BuiltinScorer { id: builtin.id(), process: EvaluatorProcess::new(command) }
    }
}

impl Scorer for BuiltinScorer {
    fn id(&self) -> String {
        self.id.to_owned()
    }

    fn score(&mut self, payloads: &[&[u8]]) -> Result<Vec<Scored>, RunError> {
        let scores = self.process.score(payloads)?;
        Ok(scores.into_iter().flatten().map(|score| Scored { score, fault: None }).collect())
    }

    fn isolation(&self) -> String {
        "a process of its own, public bytes alone".to_owned()
    }
}
