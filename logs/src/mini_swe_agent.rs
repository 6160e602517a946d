//! mini-swe-agent `.traj.json` files: version 1, where an action is a fenced block in the answer and the next user message
//! its output, and version 2, with tool calls, actions under `extra`, or items of the responses interface.

use std::path::Path;
use std::sync::Arc;

use crate::builder::{Builder, Output};
use crate::condition;
use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::json;
use crate::kind::Kind;
use crate::log::{Fact, FactSource, Outcome, Requestor, WarningCode};
use crate::messages::{self, content_text};
use crate::node::Node;
use crate::report;
use crate::swe_agent::command_arguments;

pub(crate) fn open(path: &Path, text: &str, file: &Arc<str>) -> Result<Items, Fault> {
    let (document, notes) = json::parse(text)?;
    let root = Node::new(&document, "");
    let format = root.text("trajectory_format").unwrap_or("");
    let is_mini = format.starts_with("mini-swe-agent")
        || (root.get("info").is_some() && root.get("messages").is_some() && root.get("trajectory").is_none());
    if !is_mini {
        let expected = "a mini-swe-agent trajectory: an object with info, messages and trajectory_format";
        return Err(Fault::at(RefusalCode::NotOfKind, "", root.describe(), expected));
    }
    let mut build = Builder::new(Kind::MiniSweAgent, file, Some("mini-swe-agent"));
    build.notes(notes);
    let known = ["mini-swe-agent-1", "mini-swe-agent-1.0", "mini-swe-agent-1.1", ""];
    if !known.contains(&format) {
        build.warn(WarningCode::UnknownVersion, "/trajectory_format", format);
    }
    identify(&mut build, &root, path);
    let messages = root.need("messages", "a list of messages")?.need_items("a list of messages")?;
    if messages.is_empty() {
        return Err(Fault::at(RefusalCode::NothingInIt, "/messages", "no message", "at least one message"));
    }
    for message in &messages {
        one(&mut build, message)?;
    }
    build.close_calls();
    build.outcome = Outcome::none("the harness records how a run ended, not whether it passed");
    match root.path(&["info", "exit_status"]).as_ref().and_then(Node::scalar) {
        None => build.warn(WarningCode::RunUnfinished, "/info", "no exit status"),
        Some(status) if status.contains("Error") || status.contains("Exception") => {
            build.warn(WarningCode::HarnessError, "/info/exit_status", status);
        }
        Some(_) => {}
    }
    report::note(&mut build, path);
    Ok(input::one(Found::Log(Box::new(build.finish()))))
}

fn identify(build: &mut Builder, root: &Node<'_, '_>, path: &Path) {
    build.identity.harness_version = build.fact(root.path(&["info", "mini_version"]));
    build.identity.model = build
        .fact(root.path(&["info", "config", "model", "model_name"]))
        .or_else(|| build.fact(root.path(&["info", "model_name"])));
    build.identity.task =
        build.fact(root.get("instance_id")).or_else(|| build.fact(root.path(&["info", "instance_id"])));
    if let Some(info) = root.get("info") {
        condition::note_fields(build, &info);
    }
    if build.identity.task.is_none() {
        let name = input::file_name(path);
        let stem = name.strip_suffix(".traj.json").or_else(|| name.strip_suffix(".traj"));
        // The interactive program always writes to this name, which says nothing of the task.
        if let Some(stem) = stem.filter(|stem| !stem.is_empty() && !stem.starts_with("last_mini_run")) {
            build.identity.task = Some(Fact { value: stem.to_owned(), source: FactSource::Path });
        }
    }
}

fn one(build: &mut Builder, message: &Node<'_, '_>) -> Result<(), Fault> {
    let role = message.text("role").unwrap_or("");
    let content = message.get("content");
    let pointer = content.as_ref().map_or_else(|| message.pointer.clone(), |content| content.pointer.clone());
    if role == "user" && build.has_open_call() {
        let text = content_text(build, content.as_ref())?;
        let output = Output { id: None, name: None, text, error: false, requestor: Requestor::Agent };
        return build.output(output, &pointer);
    }
    let before = build.len();
    messages::message(build, message)?;
    let is_answer = role == "assistant" || message.text("object") == Some("response");
    let has_calls = (before..build.len())
        .any(|step| matches!(build.step(step).map(|step| &step.content), Some(crate::log::Content::ToolCall { .. })));
    if !is_answer || has_calls {
        return Ok(());
    }
    build.close_calls();
    let actions = message.path(&["extra", "actions"]).map(|actions| actions.list()).unwrap_or_default();
    for action in &actions {
        let command = action.get("command").or_else(|| action.get("action")).unwrap_or_else(|| action.clone());
        if let Some(text) = command.str() {
            let id = action.text("tool_call_id").map(str::to_owned);
            build.call(id, "bash", command_arguments(text), Requestor::Agent, &command.pointer)?;
        }
    }
    if actions.is_empty()
        && let Some(content) = &content
    {
        let text = content_text(build, Some(content))?;
        if let [command] = fenced(&text)[..] {
            build.call(None, "bash", command_arguments(command), Requestor::Agent, &pointer)?;
        }
    }
    Ok(())
}

/// The blocks that version 1 takes for actions. It runs an answer with exactly one.
fn fenced(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("```") {
        let after = &rest[start + 3..];
        let (tag, body) = after.split_once('\n').unwrap_or((after, ""));
        let Some(end) = body.find("\n```") else { break };
        if matches!(tag.trim(), "bash" | "mswea_bash_command") {
            blocks.push(body[..end].trim());
        }
        rest = &body[end + 4..];
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_commands() {
        assert_eq!(fenced("think\n```bash\nls -la\n```\nok"), ["ls -la"]);
        assert_eq!(fenced("```python\nx\n```\n```bash\na\nb\n```"), ["a\nb"]);
        assert_eq!(fenced("```bash\na\n```\n```bash\nb\n```").len(), 2);
        assert!(fenced("```bash\nunfinished").is_empty());
    }
}
