//! Conversations in the OpenAI message format: JSONL with a conversation a line (`{"messages": […], …}` or a bare list), JSONL
//! with a message a line (then the file is one conversation), and the same as one JSON document.

use std::path::Path;
use std::sync::Arc;

use crate::builder::Builder;
use crate::condition;
use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::json::{self, Notes};
use crate::kind::Kind;
use crate::limits::MAX_FILE_BYTES;
use crate::lines::{self, Lines};
use crate::messages::{self, looks_like_messages};
use crate::node::Node;

const EXPECTED: &str = "conversations: objects with a list of messages, lists of messages, or a message a line";

pub(crate) fn open(path: &Path, file: &Arc<str>) -> Result<Items, Fault> {
    if !lines::is_in_lines(path)? {
        return document(input::read_text(path)?, file);
    }
    if has_a_message_a_line(path)? {
        return one_conversation(path, file);
    }
    let file = file.clone();
    lines::each(path, EXPECTED, move |node, notes, number| conversation(node, notes, &file, Some(number)))
}

/// Whether the first line that can be read is a message, and no conversation.
fn has_a_message_a_line(path: &Path) -> Result<bool, Fault> {
    for (_, line) in Lines::open(path)? {
        let Ok(line) = line else { continue };
        let Ok((value, _)) = json::parse(&line) else { continue };
        let node = Node::new(&value, "");
        return Ok(node.is_object() && conversation_of(&node).is_none() && node.text("role").is_some());
    }
    Ok(false)
}

fn document(text: String, file: &Arc<str>) -> Result<Items, Fault> {
    let text: Arc<str> = Arc::from(text);
    let (value, notes) = json::parse(&text)?;
    let root = Node::new(&value, "");
    if looks_like_messages(&root) || conversation_of(&root).is_some() {
        return conversation(&root, notes, file, None).map(input::one);
    }
    let Some(first) = root.items().and_then(|mut items| items.next()) else {
        return Err(Fault::at(RefusalCode::NotOfKind, "", root.describe(), EXPECTED));
    };
    if conversation_of(&first).is_none() && !looks_like_messages(&first) {
        let found = format!("a list whose first item is {}", first.describe());
        return Err(Fault::at(RefusalCode::NotOfKind, "/0", found, EXPECTED));
    }
    let json::Outline::Array(ranges) = json::outline(&text, 0..text.len(), "")? else {
        return Err(root.fault(EXPECTED));
    };
    let file = file.clone();
    Ok(input::each(text.clone(), ranges, "", move |node, notes| conversation(node, notes, &file, None)))
}

/// The list of messages in an object: under `messages`, or in the request of a recorded exchange.
fn conversation_of<'j, 'a>(node: &Node<'j, 'a>) -> Option<Node<'j, 'a>> {
    [
        &["messages"][..],
        &["conversation"],
        &["request", "messages"],
        &["body", "messages"],
        &["request", "body", "messages"],
        // The responses interface.
        &["input"],
        &["request", "input"],
    ]
    .iter()
    .find_map(|keys| node.path(keys).filter(|list| list.items().is_some()))
}

fn conversation(node: &Node<'_, '_>, notes: Notes, file: &Arc<str>, line: Option<usize>) -> Result<Found, Fault> {
    let list = if looks_like_messages(node) { Some(node.clone()) } else { conversation_of(node) };
    let Some(list) = list else {
        return Err(Fault::at(RefusalCode::NotOfKind, &node.pointer, node.describe(), EXPECTED));
    };
    let mut build = Builder::new(Kind::Openai, file, None);
    if let Some(line) = line {
        build.on_line(line);
    }
    build.notes(notes);
    if node.is_object() {
        // The object itself, then the request that it may hold, whatever that is wrapped in; each may have its own metadata.
        for keys in [&[][..], &["request"], &["body"], &["request", "body"]] {
            let Some(outer) = node.path(keys) else { continue };
            condition::note_stated(&mut build, &outer);
            for key in ["metadata", "info"] {
                if let Some(inner) = outer.get(key) {
                    condition::note_stated(&mut build, &inner);
                }
            }
        }
    }
    let messages = list.need_items("a list of messages")?;
    if messages.is_empty() {
        return Err(Fault::at(RefusalCode::NothingInIt, &list.pointer, "no message", "at least one message"));
    }
    for message in &messages {
        messages::message(&mut build, message)?;
    }
    let choices = node.get("choices").or_else(|| node.path(&["response", "choices"]));
    let choices = choices.or_else(|| node.path(&["response", "body", "choices"]));
    if let Some(answer) = choices.and_then(|choices| choices.list().first()?.get("message")) {
        messages::message(&mut build, &answer)?;
    }
    for keys in [&["output"][..], &["response", "output"]] {
        for item in node.path(keys).map(|items| items.list()).unwrap_or_default() {
            messages::message(&mut build, &item)?;
        }
    }
    Ok(Found::Log(Box::new(build.finish())))
}

/// A file with a message a line. A line that cannot be read refuses the file: a conversation with a hole is none.
fn one_conversation(path: &Path, file: &Arc<str>) -> Result<Items, Fault> {
    let mut build = Builder::new(Kind::Openai, file, None);
    let mut bytes = 0;
    for (number, line) in Lines::open(path)? {
        let line = line?;
        bytes += line.len() as u64;
        if bytes > MAX_FILE_BYTES {
            let found = format!("a conversation of more than {MAX_FILE_BYTES} bytes");
            return Err(Fault::file(RefusalCode::TooLarge, found, "a shorter one").on_line(number));
        }
        build.on_line(number);
        json::parse(&line)
            .and_then(|(value, notes)| {
                build.notes(notes);
                messages::message(&mut build, &Node::new(&value, ""))
            })
            .map_err(|fault| fault.on_line(number))?;
    }
    Ok(input::one(Found::Log(Box::new(build.finish()))))
}
