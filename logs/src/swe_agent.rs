//! SWE-agent `.traj` files of all ages: the turns under `trajectory`, what came before them under `history`; files that
//! have a `history` alone (demonstrations) are read from there.

use std::path::Path;
use std::sync::Arc;

use parthack_env::json::Json;

use crate::builder::{Builder, Output, canonical_text};
use crate::condition;
use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::json;
use crate::kind::Kind;
use crate::log::{Fact, FactSource, Origin, Outcome, Requestor, Role, WarningCode};
use crate::messages::{self, content_text};
use crate::node::Node;
use crate::report;

pub(crate) fn open(path: &Path, text: &str, file: &Arc<str>) -> Result<Items, Fault> {
    let (document, notes) = json::parse(text)?;
    let root = Node::new(&document, "");
    let trajectory = root.get("trajectory").filter(|list| list.items().is_some());
    let history = root.get("history").filter(|list| list.items().is_some());
    if (trajectory.is_none() && history.is_none()) || root.get("trajectory_format").is_some() {
        let expected = "a SWE-agent trajectory: an object with the lists trajectory and history";
        return Err(Fault::at(RefusalCode::NotOfKind, "", root.describe(), expected));
    }
    let mut build = Builder::new(Kind::SweAgent, file, Some("swe-agent"));
    build.notes(notes);
    identify(&mut build, &root, path);
    let history = history.map(|list| list.list()).unwrap_or_default();
    match trajectory.map(|list| list.list()).filter(|turns| !turns.is_empty()) {
        Some(turns) => {
            preamble(&mut build, &history, &turns)?;
            all_turns(&mut build, &history, &turns)?;
        }
        None if history.is_empty() => {
            return Err(Fault::at(RefusalCode::NothingInIt, "", "no turn and no history", "at least one turn"));
        }
        None => from_history(&mut build, &history)?,
    }
    build.outcome = Outcome::none("the harness records how a run ended, not whether it passed");
    if let Some(status) = root.path(&["info", "exit_status"]) {
        let word = status.str().unwrap_or("");
        if word.is_empty() || word.contains("error") || word == "early_exit" {
            build.warn(WarningCode::HarnessError, &status.pointer, format!("the exit status {word:?}"));
        }
    } else if root.get("info").is_some() {
        build.warn(WarningCode::RunUnfinished, "/info", "no exit status");
    }
    report::note(&mut build, path);
    Ok(input::one(Found::Log(Box::new(build.finish()))))
}

fn identify(build: &mut Builder, root: &Node<'_, '_>, path: &Path) {
    let replay = root.get("replay_config");
    // The configuration is JSON text inside a string.
    let inner = replay.as_ref().and_then(Node::str).and_then(|text| json::parse(text).ok());
    let config = inner.as_ref().map(|(json, _)| Node::new(json, "/replay_config"));
    let config = config.or_else(|| replay.filter(Node::is_object));
    let model = config.as_ref().and_then(|config| config.path(&["agent", "model", "name"]));
    let from_config = FactSource::Field(build.at("/replay_config"));
    build.identity.model = model
        .as_ref()
        .and_then(Node::scalar)
        .filter(|name| !matches!(name.as_str(), "replay" | "instant_empty_submit" | "human" | "human_thought"))
        .map(|value| Fact { value, source: from_config.clone() });
    let problem = config.as_ref().and_then(|config| config.path(&["problem_statement", "id"]));
    build.identity.task = problem
        .as_ref()
        .and_then(Node::scalar)
        .map(|value| Fact { value, source: from_config })
        .or_else(|| build.fact(root.get("instance_id")));
    let stem = input::file_name(path);
    let stem = stem.strip_suffix(".traj").unwrap_or(&stem).to_owned();
    if build.identity.task.is_none() && !stem.is_empty() {
        build.identity.task = Some(Fact { value: stem, source: FactSource::Path });
    }
    // The folder of a run is named model__data__configuration__t-…, in the older ages.
    let folder = path.parent().map(input::file_name).unwrap_or_default();
    let parts: Vec<&str> = folder.split("__").collect();
    if parts.iter().any(|part| part.starts_with("t-")) && parts.len() > 3 {
        if build.identity.model.is_none() && parts[0] != "replay" {
            build.identity.model = Some(Fact { value: parts[0].to_owned(), source: FactSource::Path });
        }
        build.identity.run = Some(Fact { value: folder, source: FactSource::Path });
    }
    build.identity.harness_version = build.fact(root.path(&["info", "swe_agent_version"]));
    if let Some(info) = root.get("info") {
        condition::note_fields(build, &info);
    }
}

/// What the agent was shown before its first turn: the messages of the history before the first answer that is no
/// demonstration. Where there is no history, the first turn's query.
fn preamble(build: &mut Builder, history: &[Node<'_, '_>], turns: &[Node<'_, '_>]) -> Result<(), Fault> {
    let query = turns.first().and_then(|turn| turn.get("query").or_else(|| turn.get("messages")));
    let fallback = query.map(|query| query.list()).unwrap_or_default();
    let messages = if history.is_empty() { &fallback[..] } else { history };
    for message in messages {
        let is_demonstration = message.bool("is_demo") == Some(true);
        if message.text("role") == Some("assistant") && !is_demonstration {
            break;
        }
        shown_message(build, message)?;
    }
    Ok(())
}

/// A message of the history: an output where it is marked as an observation, else by its role.
fn shown_message(build: &mut Builder, message: &Node<'_, '_>) -> Result<(), Fault> {
    if message.bool("is_demo") == Some(true) || message.text("message_type") == Some("demonstration") {
        build.origin = Origin::Demonstration;
    }
    let is_observation = message.text("message_type") == Some("observation") && message.text("role") == Some("user");
    if is_observation && build.has_open_call() {
        let content = message.get("content");
        let text = content_text(build, content.as_ref())?;
        let pointer = content.as_ref().map_or(message.pointer.as_str(), |content| content.pointer.as_str());
        let output = Output { id: None, name: None, text, error: false, requestor: Requestor::Agent };
        build.output(output, pointer)?;
    } else {
        messages::message(build, message)?;
    }
    build.origin = Origin::Run;
    Ok(())
}

fn all_turns(build: &mut Builder, history: &[Node<'_, '_>], turns: &[Node<'_, '_>]) -> Result<(), Fault> {
    let mut answers = history
        .iter()
        .filter(|message| message.text("role") == Some("assistant") && message.bool("is_demo") != Some(true))
        .peekable();
    for turn in turns {
        if !turn.is_object() {
            return Err(turn.fault("a turn: an object with action and observation"));
        }
        build.close_calls();
        for block in turn.get("thinking_blocks").map(|blocks| blocks.list()).unwrap_or_default() {
            if let Some(text) = block.get("thinking")
                && let Some(words) = text.str()
            {
                build.reasoning(words, &text.pointer)?;
            }
        }
        // The thought is the answer without the action; an answer that is all action has an empty one.
        let said = turn.get("thought").or_else(|| turn.get("response"));
        let text = content_text(build, said.as_ref())?;
        if let Some(said) = &said {
            build.agent_text(text, &said.pointer)?;
        }
        let action = turn.get("action");
        let command = content_text(build, action.as_ref())?;
        let same = |answer: &&Node<'_, '_>| answer.text("action").map(str::trim) == Some(command.trim());
        let answer = answers.next_if(same);
        let calls = turn.get("tool_calls").or_else(|| answer.and_then(|answer| answer.get("tool_calls")));
        turn_calls(build, turn, calls, &command)?;
        turn_output(build, turn)?;
    }
    build.close_calls();
    Ok(())
}

fn turn_calls(
    build: &mut Builder,
    turn: &Node<'_, '_>,
    calls: Option<Node<'_, '_>>,
    command: &str,
) -> Result<(), Fault> {
    let calls = calls.map(|calls| calls.list()).unwrap_or_default();
    for call in &calls {
        messages::call(build, call, Requestor::Agent)?;
    }
    if calls.is_empty() && !command.trim().is_empty() {
        let pointer = format!("{}/action", turn.pointer);
        build.call(None, "shell", command_arguments(command), Requestor::Agent, &pointer)?;
    }
    Ok(())
}

/// A command as the arguments of a call.
pub(crate) fn command_arguments(command: &str) -> String {
    canonical_text(&Json::Object(vec![("command".into(), Json::String(command.into()))]))
}

fn turn_output(build: &mut Builder, turn: &Node<'_, '_>) -> Result<(), Fault> {
    let Some(observation) = turn.get("observation") else { return Ok(()) };
    let text = content_text(build, Some(&observation))?;
    if build.has_open_call() {
        let output = Output { id: None, name: None, text, error: false, requestor: Requestor::Agent };
        return build.output(output, &observation.pointer);
    }
    if text.is_empty() { Ok(()) } else { build.message(Role::Environment, text, &observation.pointer) }
}

/// A file with a history alone. An answer with an `action` and no calls acts through it, and the next message is its output.
fn from_history(build: &mut Builder, history: &[Node<'_, '_>]) -> Result<(), Fault> {
    for message in history {
        let role = message.text("role").unwrap_or("");
        if role == "user" && build.has_open_call() {
            let content = message.get("content");
            let text = content_text(build, content.as_ref())?;
            let pointer = content.as_ref().map_or(message.pointer.as_str(), |content| content.pointer.as_str());
            let origin = build.origin;
            if message.bool("is_demo") == Some(true) {
                build.origin = Origin::Demonstration;
            }
            let output = Output { id: None, name: None, text, error: false, requestor: Requestor::Agent };
            build.output(output, pointer)?;
            build.origin = origin;
            continue;
        }
        messages::message(build, message)?;
        let action = message.get("action").filter(|_| role == "assistant" && message.get("tool_calls").is_none());
        if let Some(action) = action
            && let Some(command) = action.str().filter(|command| !command.trim().is_empty())
        {
            if message.bool("is_demo") == Some(true) {
                build.origin = Origin::Demonstration;
            }
            build.call(None, "shell", command_arguments(command), Requestor::Agent, &action.pointer)?;
            build.origin = Origin::Run;
        }
    }
    build.close_calls();
    Ok(())
}
