//! This project's own files: payloads (`parthack.payload/1`) with what an agent and others did, and candidates
//! (`parthack.candidate/1`) with an agent's steps alone.

use std::path::Path;
use std::sync::Arc;

use parthack_env::json::Json;

use crate::builder::{Builder, Output, canonical_text};
use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::json;
use crate::kind::Kind;
use crate::log::{Fact, FactSource, Outcome, Requestor, Role};
use crate::node::Node;

const EXPECTED: &str = "an object with the format parthack.payload/1 or parthack.candidate/1";

pub(crate) fn open(path: &Path, text: &str, file: &Arc<str>) -> Result<Items, Fault> {
    let (document, notes) = json::parse(text)?;
    let root = Node::new(&document, "");
    let format = root.text("format").unwrap_or("");
    if !matches!(format, "parthack.payload/1" | "parthack.candidate/1") {
        let found = if format.is_empty() { root.describe() } else { format!("the format {format:?}") };
        return Err(Fault::at(RefusalCode::NotOfKind, "", found, EXPECTED));
    }
    let mut build = Builder::new(Kind::Parthackbench, file, Some("parthackbench"));
    build.notes(notes);
    let task = root.need("task_id", "the id of the task")?;
    build.identity.task = build.fact(Some(task));
    build.identity.run = build.fact(root.get("name")).or_else(|| {
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        Some(Fact { value: stem, source: FactSource::Path })
    });
    build.outcome = Outcome::none("the verdict on a trajectory is in the ledger of its run");
    if format == "parthack.payload/1" {
        for text in root.get("instruction").map(|list| list.list()).unwrap_or_default() {
            let text = text.need("text", "an instruction")?;
            let words = text.str().ok_or_else(|| text.fault("an instruction"))?;
            build.message(Role::User, words, &text.pointer)?;
        }
        for entry in root.need("transcript", "a list of entries")?.need_items("a list of entries")? {
            transcript_entry(&mut build, &entry)?;
        }
    } else {
        for step in root.need("steps", "a list of steps")?.need_items("a list of steps")? {
            act(&mut build, &step, "agent")?;
        }
    }
    Ok(input::one(Found::Log(Box::new(build.finish()))))
}

fn transcript_entry(build: &mut Builder, entry: &Node<'_, '_>) -> Result<(), Fault> {
    let actor = entry.text("actor").unwrap_or("agent");
    let step = entry.need("step", "a step")?;
    build.close_calls();
    act(build, &step, actor)?;
    if !build.has_open_call() {
        return Ok(());
    }
    let refusal = entry.get("refusal");
    let shown = refusal.clone().or_else(|| entry.get("output"));
    let (text, pointer) = match &shown {
        Some(shown) => (canonical_text(shown.json), shown.pointer.clone()),
        None => (entry.text("result").unwrap_or("").to_owned(), format!("{}/result", entry.pointer)),
    };
    let output = Output { id: None, name: None, text, error: refusal.is_some(), requestor: requestor_of(actor) };
    build.output(output, &pointer)
}

fn requestor_of(actor: &str) -> Requestor {
    match actor {
        "agent" => Requestor::Agent,
        "user" => Requestor::User,
        _ => Requestor::System,
    }
}

/// A step: a message where something is said, else a call of the operation.
fn act(build: &mut Builder, step: &Node<'_, '_>, actor: &str) -> Result<(), Fault> {
    let operation = step.need("op", "the name of an operation")?;
    let word = operation.str().ok_or_else(|| operation.fault("the name of an operation"))?;
    if word == "say"
        && let Some(text) = step.get("text")
    {
        let words = text.str().ok_or_else(|| text.fault("what is said"))?;
        return match actor {
            "agent" => build.agent_text(words, &text.pointer),
            "user" => build.message(Role::User, words, &text.pointer),
            _ => build.message(Role::Environment, words, &text.pointer),
        };
    }
    let Json::Object(entries) = step.json else { return Err(step.fault("a step")) };
    let arguments: Vec<_> = entries.iter().filter(|(key, _)| key != "op").cloned().collect();
    build.call(None, word, canonical_text(&Json::Object(arguments)), requestor_of(actor), &step.pointer)
}
