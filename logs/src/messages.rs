//! Messages as chat interfaces have them, to steps: `{role, content, tool_calls, …}`, content as text or as parts, and
//! the items of the responses interface.

use crate::builder::{Builder, Output, canonical_text};
use crate::fault::Fault;
use crate::log::{Origin, Requestor, Role, WarningCode};
use crate::node::Node;

/// The text of a content field: a string, a list of parts, or nothing.
///
/// Parts are parted by a line break. A part that is no text is named in brackets and warned of; parts that are steps of
/// their own (reasoning, calls, results) are left to [`parts`].
pub(crate) fn content_text(build: &mut Builder, content: Option<&Node<'_, '_>>) -> Result<String, Fault> {
    let Some(content) = content else { return Ok(String::new()) };
    if let Some(text) = content.str() {
        return Ok(text.to_owned());
    }
    let Some(items) = content.items() else {
        if content.is_object() {
            return part_text(build, content).map(Option::unwrap_or_default);
        }
        return content.scalar().ok_or_else(|| content.fault("text, a list of parts, or null"));
    };
    let mut texts = Vec::new();
    for part in items {
        if !is_step_of_its_own(&part)
            && let Some(text) = part_text(build, &part)?
        {
            texts.push(text);
        }
    }
    Ok(texts.join("\n"))
}

fn part_kind<'j>(part: &Node<'j, '_>) -> &'j str {
    part.text("type").unwrap_or("")
}

fn is_step_of_its_own(part: &Node<'_, '_>) -> bool {
    matches!(
        part_kind(part),
        "reasoning" | "thinking" | "redacted_thinking" | "tool_use" | "tool_result" | "tool_call" | "function_call"
    )
}

fn part_text(build: &mut Builder, part: &Node<'_, '_>) -> Result<Option<String>, Fault> {
    if let Some(text) = part.str() {
        return Ok(Some(text.to_owned()));
    }
    if !part.is_object() {
        return Err(part.fault("a part: text or an object with a type"));
    }
    for key in ["text", "refusal", "output_text"] {
        if let Some(text) = part.text(key) {
            return Ok(Some(text.to_owned()));
        }
    }
    match part_kind(part) {
        "text" | "input_text" | "output_text" => Ok(None),
        kind => {
            let kind = if kind.is_empty() { "part" } else { kind };
            build.warn(WarningCode::PartNotText, &part.pointer, format!("a part of type {kind:?}"));
            Ok(Some(format!("[{kind}]")))
        }
    }
}

/// Steps that stand among the parts of a message's content.
fn parts(build: &mut Builder, content: &Node<'_, '_>, requestor: Requestor) -> Result<(), Fault> {
    for part in content.list() {
        match part_kind(&part) {
            "reasoning" | "thinking" | "redacted_thinking" => {
                reasoning_part(build, &part)?;
            }
            "tool_use" | "tool_call" | "function_call" => call(build, &part, requestor)?,
            "tool_result" => {
                let inner = part.get("content").or_else(|| part.get("output"));
                let text = content_text(build, inner.as_ref())?;
                let pointer = inner.as_ref().map_or(part.pointer.as_str(), |inner| inner.pointer.as_str());
                let id = ["tool_use_id", "tool_call_id", "call_id"].iter().find_map(|key| part.text(key));
                let output = Output {
                    id: id.map(str::to_owned),
                    name: part.text("name"),
                    text,
                    error: part.bool("is_error").unwrap_or(false),
                    requestor: Requestor::Agent,
                };
                build.output(output, pointer)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reasoning as a part or an item: under `reasoning`, `thinking`, `text`, or as a list of summaries.
fn reasoning_part(build: &mut Builder, part: &Node<'_, '_>) -> Result<(), Fault> {
    for key in ["reasoning", "thinking", "text"] {
        if let Some(text) = part.get(key)
            && let Some(words) = text.str()
        {
            return build.reasoning(words, &text.pointer);
        }
    }
    for key in ["summary", "content"] {
        for piece in part.get(key).map(|list| list.list()).unwrap_or_default() {
            if let Some(text) = piece.get("text")
                && let Some(words) = text.str()
            {
                build.reasoning(words, &text.pointer)?;
            }
        }
    }
    Ok(())
}

/// A call: `{id, function: {name, arguments}}`, `{id, function: "name", arguments}`, `{id, name, arguments | input}` or
/// `{call_id, name, arguments}`.
pub(crate) fn call(build: &mut Builder, node: &Node<'_, '_>, requestor: Requestor) -> Result<(), Fault> {
    let id = ["call_id", "id", "tool_call_id"].iter().find_map(|key| node.get(key)?.scalar());
    let function = node.get("function");
    let inner = function.clone().filter(Node::is_object).unwrap_or_else(|| node.clone());
    let name = function
        .as_ref()
        .and_then(Node::str)
        .or_else(|| inner.text("name"))
        .or_else(|| inner.text("function_name"))
        .ok_or_else(|| node.fault("a call with the name of its function"))?;
    let arguments = ["arguments", "input", "kwargs", "args"].iter().find_map(|key| inner.get(key));
    let arguments = build.arguments(arguments.as_ref());
    let requestor = match node.text("requestor") {
        Some("user") => Requestor::User,
        Some("assistant") => Requestor::Agent,
        _ => requestor,
    };
    build.call(id, name, arguments, requestor, &node.pointer)
}

/// Reads one message, or one item of the responses interface.
pub(crate) fn message(build: &mut Builder, node: &Node<'_, '_>) -> Result<(), Fault> {
    if !node.is_object() {
        return Err(node.fault("a message: an object with a role"));
    }
    let Some(role) = node.get("role") else { return item(build, node) };
    let word = role.str().ok_or_else(|| role.fault("a role: system, user, assistant or tool"))?;
    let content = node.get("content");
    let pointer = content.as_ref().map_or_else(|| node.pointer.clone(), |content| content.pointer.clone());
    let before = build.origin;
    if node.bool("is_demo") == Some(true) {
        build.origin = Origin::Demonstration;
    }
    match word {
        "system" | "developer" => {
            let text = content_text(build, content.as_ref())?;
            build.message(Role::System, text, &pointer)?;
        }
        "user" | "human" => user(build, node, content.as_ref(), &pointer)?,
        "assistant" | "agent" | "ai" | "model" => assistant(build, node, content.as_ref(), &pointer)?,
        "tool" | "function" | "ipython" => tool(build, node, content.as_ref(), &pointer)?,
        other => {
            if !matches!(other, "exit" | "environment" | "observation") {
                build.warn(WarningCode::UnknownRole, &role.pointer, format!("the role {other:?}"));
            }
            let text = content_text(build, content.as_ref())?;
            build.message(Role::Environment, text, &pointer)?;
        }
    }
    build.origin = before;
    Ok(())
}

fn user(build: &mut Builder, node: &Node<'_, '_>, content: Option<&Node<'_, '_>>, pointer: &str) -> Result<(), Fault> {
    let text = content_text(build, content)?;
    let own_steps = content.map(Node::list).unwrap_or_default().iter().any(is_step_of_its_own);
    let calls = node.get("tool_calls").map(|calls| calls.list()).unwrap_or_default();
    if !text.is_empty() || (!own_steps && calls.is_empty()) {
        build.message(Role::User, text, pointer)?;
    }
    if let Some(content) = content {
        parts(build, content, Requestor::User)?;
    }
    for item in calls {
        call(build, &item, Requestor::User)?;
    }
    Ok(())
}

fn assistant(
    build: &mut Builder,
    node: &Node<'_, '_>,
    content: Option<&Node<'_, '_>>,
    pointer: &str,
) -> Result<(), Fault> {
    for key in ["reasoning_content", "reasoning", "thinking"] {
        if let Some(text) = node.get(key)
            && let Some(words) = text.str()
        {
            build.reasoning(words, &text.pointer)?;
            break;
        }
    }
    for block in node.get("thinking_blocks").map(|blocks| blocks.list()).unwrap_or_default() {
        reasoning_part(build, &block)?;
    }
    let reasoning_first = content.map(Node::list).unwrap_or_default();
    for part in &reasoning_first {
        if matches!(part_kind(part), "reasoning" | "thinking") {
            reasoning_part(build, part)?;
        }
    }
    let text = content_text(build, content)?;
    build.agent_text(text, pointer)?;
    if let Some(refusal) = node.get("refusal")
        && let Some(words) = refusal.str()
    {
        build.agent_text(words, &refusal.pointer)?;
    }
    for part in &reasoning_first {
        if matches!(part_kind(part), "tool_use" | "tool_call" | "function_call") {
            call(build, part, Requestor::Agent)?;
        }
    }
    if let Some(calls) = node.get("tool_calls") {
        for item in calls.need_items("a list of calls")? {
            call(build, &item, Requestor::Agent)?;
        }
    }
    if let Some(old) = node.get("function_call")
        && old.is_object()
    {
        call(build, &old, Requestor::Agent)?;
    }
    Ok(())
}

fn tool(build: &mut Builder, node: &Node<'_, '_>, content: Option<&Node<'_, '_>>, pointer: &str) -> Result<(), Fault> {
    if let Some(several) = node.get("tool_messages") {
        for inner in several.need_items("a list of tool messages")? {
            message(build, &inner)?;
        }
        return Ok(());
    }
    let id = ["tool_call_id", "call_id", "id"].iter().find_map(|key| node.get(key)?.scalar());
    // SWE-agent has a list of one id.
    let id = match node.get("tool_call_ids") {
        Some(ids) => ids.list().first().and_then(Node::scalar),
        None => id.filter(|_| node.get("tool_call_id").is_some() || node.get("requestor").is_some()),
    };
    let mut text = content_text(build, content)?;
    let mut pointer = pointer.to_owned();
    let error = node.get("error");
    // Under another name in Inspect of the older ages.
    let old_error = node.get("tool_error").filter(|error| error.str().is_some());
    let message = error.as_ref().and_then(|error| error.get("message")).or_else(|| old_error.clone());
    if let Some(message) = message
        && let Some(words) = message.str()
        && text.is_empty()
    {
        words.clone_into(&mut text);
        pointer.clone_from(&message.pointer);
    }
    let requestor = if node.text("requestor") == Some("user") { Requestor::User } else { Requestor::Agent };
    let output = Output {
        id,
        name: node.text("name").or_else(|| node.text("function")),
        text,
        error: old_error.is_some()
            || error.is_some_and(|error| error.is_object() || error.scalar().as_deref() == Some("true")),
        requestor,
    };
    build.output(output, &pointer)
}

/// An item of the responses interface: a call, an output, reasoning, or a response that holds several.
fn item(build: &mut Builder, node: &Node<'_, '_>) -> Result<(), Fault> {
    match node.text("type").or_else(|| node.text("object")).unwrap_or("") {
        "function_call" | "custom_tool_call" => call(build, node, Requestor::Agent),
        "function_call_output" | "custom_tool_call_output" => {
            let inner = node.get("output");
            let text = match &inner {
                Some(output) if output.is_object() => canonical_text(output.json),
                other => content_text(build, other.as_ref())?,
            };
            let pointer = inner.as_ref().map_or(node.pointer.as_str(), |inner| inner.pointer.as_str());
            let output = Output {
                id: node.text("call_id").map(str::to_owned),
                name: None,
                text,
                error: false,
                requestor: Requestor::Agent,
            };
            build.output(output, pointer)
        }
        "reasoning" => reasoning_part(build, node),
        "response" => {
            for inner in node.need("output", "a list of items")?.need_items("a list of items")? {
                message(build, &inner)?;
            }
            Ok(())
        }
        _ => {
            Err(node
                .fault("a message with a role, or an item of type function_call, function_call_output or reasoning"))
        }
    }
}

/// Whether a list looks like a conversation.
pub(crate) fn looks_like_messages(list: &Node<'_, '_>) -> bool {
    list.items().and_then(|mut items| items.next()).is_some_and(|first| {
        first.text("role").is_some() || matches!(first.text("type"), Some("function_call" | "reasoning" | "message"))
    })
}
