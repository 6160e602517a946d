//! Collects the steps of one log, links outputs to calls, and keeps warnings.

use std::collections::HashMap;
use std::sync::Arc;

use parthack_env::canonical::canonical_bytes;
use parthack_env::json::Json;

use crate::fault::{Fault, RefusalCode};
use crate::json::{self, Notes};
use crate::kind::Kind;
use crate::limits::{MAX_STEPS, MAX_WARNINGS};
use crate::log::{
    Condition, Content, Fact, FactSource, Identity, Log, Origin, Outcome, Provenance, Requestor, Role, Step, Warning,
    WarningCode,
};
use crate::node::Node;

/// A call that waits for its output.
struct Open {
    id: Option<String>,
    name: String,
    step: usize,
    requestor: Requestor,
}

/// A log in the making.
pub(crate) struct Builder {
    file: Arc<str>,
    line: Option<usize>,
    pub(crate) origin: Origin,
    pub(crate) identity: Identity,
    pub(crate) outcome: Outcome,
    steps: Vec<Step>,
    files: Vec<Arc<str>>,
    warnings: Warnings,
    open: Vec<Open>,
    ids: HashMap<String, usize>,
}

/// Warnings up to a limit.
#[derive(Default)]
pub(crate) struct Warnings {
    kept: Vec<Warning>,
    further: usize,
}

impl Warnings {
    pub(crate) fn push(&mut self, code: WarningCode, at: Option<Provenance>, found: impl Into<String>) {
        if self.kept.len() < MAX_WARNINGS {
            self.kept.push(Warning { code, at, found: found.into() });
        } else {
            self.further += 1;
        }
    }

    pub(crate) fn notes(&mut self, notes: Notes, at: &Provenance) {
        let rows = [
            (WarningCode::KeyRepeated, notes.repeated_keys, "repeated keys; the last of each counts"),
            (WarningCode::SurrogateReplaced, notes.surrogates, "halves of surrogate pairs"),
        ];
        for (code, count, what) in rows {
            if count > 0 {
                self.push(code, Some(at.clone()), format!("{count} {what}"));
            }
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Warning> {
        if self.further > 0 {
            let found = format!("{} further warnings", self.further);
            self.kept.push(Warning { code: WarningCode::Further, at: None, found });
        }
        self.kept
    }
}

impl Builder {
    pub(crate) fn new(kind: Kind, file: &Arc<str>, harness: Option<&str>) -> Self {
        let harness = harness.map(|name| Fact { value: name.to_owned(), source: FactSource::Format });
        Builder {
            file: file.clone(),
            line: None,
            origin: Origin::Run,
            identity: Identity {
                kind,
                suite: None,
                task: None,
                harness,
                harness_version: None,
                model: None,
                condition: Condition::NoneKnown,
                condition_source: None,
                run: None,
            },
            outcome: Outcome::none("the format records no verdict"),
            steps: Vec::new(),
            files: vec![file.clone()],
            warnings: Warnings::default(),
            open: Vec::new(),
            ids: HashMap::new(),
        }
    }

    /// What follows stands on a line of a file that has a document a line.
    pub(crate) fn on_line(&mut self, line: usize) {
        self.line = Some(line);
    }

    /// What follows stands in another file.
    pub(crate) fn in_file(&mut self, file: &Arc<str>) {
        self.file = file.clone();
        self.add_file(file);
    }

    /// Something was read from another file too.
    pub(crate) fn add_file(&mut self, file: &Arc<str>) {
        if !self.files.contains(file) {
            self.files.push(file.clone());
        }
    }

    pub(crate) fn at(&self, pointer: &str) -> Provenance {
        Provenance { file: self.file.clone(), line: self.line, pointer: pointer.to_owned() }
    }

    /// A fact that a field states; nothing for a missing or empty one.
    pub(crate) fn fact(&self, node: Option<Node<'_, '_>>) -> Option<Fact> {
        let node = node?;
        let value = node.scalar().filter(|text| !text.trim().is_empty())?;
        Some(Fact { value, source: FactSource::Field(self.at(&node.pointer)) })
    }

    pub(crate) fn warn(&mut self, code: WarningCode, pointer: &str, found: impl Into<String>) {
        let at = self.at(pointer);
        self.warnings.push(code, Some(at), found);
    }

    pub(crate) fn warn_at(&mut self, code: WarningCode, at: Option<Provenance>, found: impl Into<String>) {
        self.warnings.push(code, at, found);
    }

    pub(crate) fn notes(&mut self, notes: Notes) {
        let at = self.at("");
        self.warnings.notes(notes, &at);
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn step(&self, index: usize) -> Option<&Step> {
        self.steps.get(index)
    }

    fn push(&mut self, pointer: &str, content: Content) -> Result<usize, Fault> {
        if self.steps.len() >= MAX_STEPS {
            let found = format!("more than {MAX_STEPS} steps");
            return Err(Fault::at(RefusalCode::TooLarge, pointer, found, "a shorter log"));
        }
        let at = self.at(pointer);
        self.steps.push(Step { at, origin: self.origin, content });
        Ok(self.steps.len() - 1)
    }

    pub(crate) fn message(&mut self, role: Role, text: impl Into<String>, pointer: &str) -> Result<(), Fault> {
        self.push(pointer, Content::Message { role, text: text.into() }).map(|_| ())
    }

    /// What the agent says; nothing is kept of an empty text.
    pub(crate) fn agent_text(&mut self, text: impl Into<String>, pointer: &str) -> Result<(), Fault> {
        let text = text.into();
        if text.trim().is_empty() {
            return Ok(());
        }
        self.push(pointer, Content::AgentText { text }).map(|_| ())
    }

    /// What the agent thinks; nothing is kept of an empty text.
    pub(crate) fn reasoning(&mut self, text: impl Into<String>, pointer: &str) -> Result<(), Fault> {
        let text = text.into();
        if text.trim().is_empty() {
            return Ok(());
        }
        self.push(pointer, Content::Reasoning { text }).map(|_| ())
    }

    pub(crate) fn call(
        &mut self,
        id: Option<String>,
        name: impl Into<String>,
        arguments: String,
        requestor: Requestor,
        pointer: &str,
    ) -> Result<(), Fault> {
        let name = name.into();
        let id = id.filter(|id| !id.is_empty());
        if let Some(known) = id.as_ref().and_then(|id| self.ids.get(id))
            && self.open.iter().any(|open| open.step == *known)
        {
            let found = format!("{:?} again, before it was answered", id.as_deref().unwrap_or(""));
            self.warn(WarningCode::CallIdRepeated, pointer, found);
        }
        let content = Content::ToolCall { id: id.clone(), name: name.clone(), arguments, requestor };
        let step = self.push(pointer, content)?;
        if let Some(id) = &id {
            self.ids.insert(id.clone(), step);
        }
        self.open.push(Open { id, name, step, requestor });
        Ok(())
    }

    /// An output. It answers the call with its id; without an id, the first unanswered call of the same tool, or of any
    /// tool where the output names none.
    pub(crate) fn output(&mut self, output: Output<'_>, pointer: &str) -> Result<(), Fault> {
        let Output { id, name, text, error, requestor } = output;
        let id = id.filter(|id| !id.is_empty());
        let name = name.filter(|name| !name.is_empty());
        let open = match &id {
            Some(id) => self.open.iter().position(|open| open.id.as_ref() == Some(id)),
            None => self
                .open
                .iter()
                .position(|open| open.requestor == requestor && name.is_none_or(|name| name == open.name)),
        };
        let (call, called) = match open {
            Some(index) => {
                let open = self.open.remove(index);
                (Some(open.step), Some((open.name, open.requestor)))
            }
            // A second part of an answer, or an answer that comes after another call took the id.
            None => (id.as_ref().and_then(|id| self.ids.get(id).copied()), None),
        };
        if call.is_none() {
            let found = match (&id, name) {
                (Some(id), _) => format!("an output for the call {id:?}, which is not there"),
                (None, Some(name)) => format!("an output of {name:?} without a call"),
                (None, None) => "an output without a call".to_owned(),
            };
            self.warn(WarningCode::OutputWithoutCall, pointer, found);
        }
        let (called_name, called_by) = called.map_or((None, None), |(name, by)| (Some(name), Some(by)));
        let content = Content::ToolOutput {
            call,
            id,
            name: name.map(str::to_owned).or(called_name),
            text,
            error,
            requestor: called_by.unwrap_or(requestor),
        };
        self.push(pointer, content).map(|_| ())
    }

    /// What the environment displayed where the format asks for no call.
    pub(crate) fn observation(&mut self, text: String, requestor: Requestor, pointer: &str) -> Result<(), Fault> {
        let content = Content::ToolOutput { call: None, id: None, name: None, text, error: false, requestor };
        self.push(pointer, content).map(|_| ())
    }

    /// Forgets unanswered calls: what follows cannot answer them.
    pub(crate) fn close_calls(&mut self) {
        self.open.clear();
    }

    /// Whether a call waits for its output.
    pub(crate) fn has_open_call(&self) -> bool {
        !self.open.is_empty()
    }

    /// Arguments as canonical JSON; a text that is no JSON stays as it is, with a warning.
    pub(crate) fn arguments(&mut self, node: Option<&Node<'_, '_>>) -> String {
        let Some(node) = node else { return "{}".to_owned() };
        let Json::String(text) = node.json else { return canonical_text(node.json) };
        if text.trim().is_empty() {
            return "{}".to_owned();
        }
        match json::parse(text) {
            Ok((inner, _)) => canonical_text(&inner),
            Err(_) => {
                self.warn(WarningCode::ArgumentsNotJson, &node.pointer, json::shorten(text));
                text.to_string()
            }
        }
    }

    pub(crate) fn has_warning(&self, code: WarningCode) -> bool {
        self.warnings.kept.iter().any(|warning| warning.code == code)
    }

    pub(crate) fn finish(mut self) -> Log {
        let agent_acts = self.steps.iter().any(|step| {
            step.origin == Origin::Run
                && matches!(
                    step.content,
                    Content::AgentText { .. }
                        | Content::Reasoning { .. }
                        | Content::ToolCall { requestor: Requestor::Agent, .. }
                )
        });
        if !agent_acts {
            self.warn(WarningCode::AgentAbsent, "", format!("{} steps, none by the agent", self.steps.len()));
        }
        if self.outcome.verdict == crate::log::Verdict::None
            && self.outcome.reward.is_some()
            && !self.has_warning(WarningCode::RewardNotBinary)
        {
            let found = self.outcome.reason.clone().unwrap_or_default();
            self.warnings.push(WarningCode::RewardNotBinary, self.outcome.source.clone(), found);
        }
        Log {
            identity: self.identity,
            outcome: self.outcome,
            steps: self.steps,
            files: self.files,
            warnings: self.warnings.finish(),
        }
    }
}

/// An output of a tool as a file has it.
pub(crate) struct Output<'s> {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<&'s str>,
    pub(crate) text: String,
    pub(crate) error: bool,
    pub(crate) requestor: Requestor,
}

/// Canonical JSON as text.
pub(crate) fn canonical_text(json: &Json<'_>) -> String {
    String::from_utf8(canonical_bytes(json))
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
