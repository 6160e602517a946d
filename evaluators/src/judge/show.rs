//! What a prompt shows of a payload or projection: few lines, in a fixed order, bounded.
//!
//! Shown are the instruction, the goal schema (if it is there and asked for), events as before and after, messages and refused
//! steps, and the terminal state. The initial state isn't: events tell what it was. Bounds, all of them stated in the
//! lines themselves where they bite: the first and last 20 events, the first and last 10 messages or refusals, 300 characters a
//! string and 1,200 a line (4,000 for an instruction), 2,400 characters of entities. Entities come in this order: changed since the beginning;
//! named in the instruction or the goal schema, or by a field of a changed entity; the rest. With a goal schema the rest is
//! listed by name alone, as are entities beyond the bound.

use parthack_env::json::Json;

use super::block::Line;
use super::notation::{push_quoted, push_string, push_value};

/// Version of what is shown and how; it changes with anything in this module, the notation or the block, and is part of every
/// judge's prompt hash.
pub const VIEW: &str = "parthack.judge-view/1";
/// The most characters of an instruction.
const MAX_INSTRUCTION: usize = 4_000;
/// Events shown at the beginning, and as many at the end.
const EVENTS_EACH_END: usize = 20;
/// Messages and refusals shown at the beginning, and as many at the end.
const NOTES_EACH_END: usize = 10;
/// The most characters of a line other than an instruction's.
const MAX_LINE: usize = 1_200;
/// The most characters of entity lines.
const MAX_ENTITIES: usize = 2_400;
/// The most names in the list of entities that are not shown.
const MAX_NAMES: usize = 60;
/// The most predicates of a goal schema that a judge takes on.
pub const MAX_GOALS: usize = 32;

/// The lines of an instruction, from its texts alone.
#[must_use]
pub fn instruction_lines(texts: &[String]) -> Vec<Line> {
    let line = |(index, text): (usize, &String)| Line {
        pointer: format!("/instruction/{index}/text"),
        text: quoted(text, MAX_INSTRUCTION),
    };
    texts.iter().enumerate().map(line).collect()
}

/// The instruction texts of a document.
#[must_use]
pub fn instructions(document: &Json<'_>) -> Vec<String> {
    let text = |item: &Json<'_>| item.get("text").and_then(Json::as_str).unwrap_or_default().to_owned();
    items(document.get("instruction")).iter().map(text).collect()
}

/// All lines of a document. `goals` are the places of the predicates to show, in the order in which they are shown.
#[must_use]
pub fn lines(document: &Json<'_>, goals: &[usize]) -> Vec<Line> {
    let mut lines = instruction_lines(&instructions(document));
    let schema = items(document.get("goal_schema"));
    lines.extend(goals.iter().filter_map(|index| Some((index, schema.get(*index)?))).map(goal_line));
    event_lines(items(document.get("events")), &mut lines);
    note_lines(items(document.get("transcript")), &mut lines);
    state_lines(document, !goals.is_empty(), &mut lines);
    lines.iter_mut().for_each(cut);
    lines
}

/// Cuts a long line, and says by how much.
fn cut(line: &mut Line) {
    let count = line.text.chars().count();
    if count > MAX_LINE && !line.pointer.starts_with("/instruction/") {
        line.text = line.text.chars().take(MAX_LINE).collect();
        line.text.push_str(&format!(" (+{} characters)", count - MAX_LINE));
    }
}

/// `g1`, `g2`, …: what a predicate is called in prompts and answers.
#[must_use]
pub fn goal_key(index: usize) -> String {
    format!("g{}", index + 1)
}

fn goal_line((index, goal): (&usize, &Json<'_>)) -> Line {
    let mut text = goal_key(*index);
    text.push(' ');
    text.push_str(&quoted(goal.get("description").and_then(Json::as_str).unwrap_or_default(), 300));
    text.push_str(" = ");
    push_predicate(&mut text, goal.get("predicate").unwrap_or(&Json::Null));
    Line { pointer: format!("/goal_schema/{index}"), text }
}

/// `field_equals ticket tk-1 state value=open`: kind, type, id and field first, then what else there is.
fn push_predicate(out: &mut String, predicate: &Json<'_>) {
    const FIRST: [&str; 4] = ["kind", "type", "id", "field"];
    let Json::Object(entries) = predicate else { return push_value(out, predicate) };
    let mut space = "";
    for value in FIRST.iter().filter_map(|key| predicate.get(key)) {
        out.push_str(std::mem::replace(&mut space, " "));
        push_value(out, value);
    }
    for (key, value) in entries.iter().filter(|(key, _)| !FIRST.contains(&key.as_ref())) {
        out.push_str(std::mem::replace(&mut space, " "));
        push_string(out, key);
        out.push('=');
        push_nested(out, value);
    }
}

/// A predicate within a predicate stands in round brackets.
fn push_nested(out: &mut String, value: &Json<'_>) {
    match value {
        Json::Object(_) if value.get("kind").is_some() => {
            out.push('(');
            push_predicate(out, value);
            out.push(')');
        }
        Json::Array(items) if items.iter().any(|item| item.get("kind").is_some()) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                push_nested(out, item);
            }
            out.push(']');
        }
        other => push_value(out, other),
    }
}

fn event_lines(events: &[Json<'_>], lines: &mut Vec<Line>) {
    let shown: Vec<usize> = (0..events.len()).collect();
    both_ends(&shown, EVENTS_EACH_END, "/events", "events", lines, |index| event_text(&events[index]));
}

pub(super) fn event_text(event: &Json<'_>) -> String {
    let mut text = String::new();
    push_words(&mut text, event, &["actor", "op", "type", "id"]);
    let diff = event.get("diff");
    let mut mark = ": ";
    if let Some(change) = diff.and_then(|diff| diff.get("goal")) {
        text.push_str(std::mem::replace(&mut mark, ", "));
        push_change(&mut text, "goal_version", change);
    }
    if let Some(change) = diff.and_then(|diff| diff.get("lifecycle")) {
        text.push_str(std::mem::replace(&mut mark, ", "));
        push_change(&mut text, "lifecycle", change);
    }
    if let Some(Json::Object(fields)) = diff.and_then(|diff| diff.get("fields")) {
        for (field, change) in fields {
            text.push_str(std::mem::replace(&mut mark, ", "));
            push_change(&mut text, field, change);
        }
    }
    if mark == ": " {
        text.push_str(": no change");
    }
    text
}

/// `severity 4 -> 3`.
fn push_change(out: &mut String, field: &str, change: &Json<'_>) {
    push_string(out, field);
    out.push(' ');
    match change {
        Json::Array(pair) if pair.len() == 2 => {
            push_value(out, &pair[0]);
            out.push_str(" -> ");
            push_value(out, &pair[1]);
        }
        other => push_value(out, other),
    }
}

fn note_lines(transcript: &[Json<'_>], lines: &mut Vec<Line>) {
    let word = |entry: &Json<'_>, key: &str| entry.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let op = |entry: &Json<'_>| entry.get("step").map(|step| word(step, "op")).unwrap_or_default();
    let is_note = |entry: &Json<'_>| word(entry, "result") == "refused" || op(entry) == "say";
    let shown: Vec<usize> = (0..transcript.len()).filter(|index| is_note(&transcript[*index])).collect();
    both_ends(&shown, NOTES_EACH_END, "/transcript", "messages and refusals", lines, |index| {
        note_text(&transcript[index])
    });
    let quiet = transcript.iter().filter(|entry| !is_note(entry) && word(entry, "result") == "noted").count();
    if quiet > 0 {
        let text = format!("{quiet} steps that only read or waited are not shown");
        lines.push(Line { pointer: "/transcript".to_owned(), text });
    }
}

fn note_text(entry: &Json<'_>) -> String {
    let mut text = String::new();
    push_words(&mut text, entry, &["actor"]);
    let step = entry.get("step").unwrap_or(&Json::Null);
    if entry.get("result").and_then(Json::as_str) == Some("refused") {
        text.push_str(" refused: ");
        push_words(&mut text, step, &["op", "type", "id"]);
        if let Some(fields) = step.get("fields") {
            text.push(' ');
            push_value(&mut text, fields);
        }
        text.push_str(" (");
        push_words(&mut text, entry.get("refusal").unwrap_or(&Json::Null), &["code"]);
        text.push(')');
        return text;
    }
    text.push_str(" says to ");
    push_words(&mut text, step, &["to"]);
    text.push_str(": ");
    text.push_str(&quoted(step.get("text").and_then(Json::as_str).unwrap_or_default(), 300));
    if let Some(version) = step.get("offers") {
        text.push_str(" (offers goal version ");
        push_value(&mut text, version);
        text.push(')');
    }
    text
}

fn state_lines(document: &Json<'_>, related_only: bool, lines: &mut Vec<Line>) {
    let Some(state) = document.get("terminal_state") else { return };
    if let Some(version) = state.get("goal_version") {
        let mut text = String::new();
        push_value(&mut text, version);
        lines.push(Line { pointer: "/terminal_state/goal_version".to_owned(), text });
    }
    let entities = items(state.get("entities"));
    let ranks = ranks(document, entities, related_only);
    let mut order: Vec<usize> = (0..entities.len()).collect();
    order.sort_by_key(|index| ranks[*index]);
    let (mut shown, mut left) = (Vec::new(), Vec::new());
    let mut size = 0;
    for index in order {
        let text = entity_text(&entities[index]);
        size += text.chars().count();
        if size <= MAX_ENTITIES && !(related_only && ranks[index] == Rank::Other) {
            shown.push((index, text));
        } else {
            left.push(index);
        }
    }
    shown.sort_unstable();
    left.sort_unstable();
    for (index, text) in shown {
        lines.push(Line { pointer: format!("/terminal_state/entities/{index}"), text });
    }
    if left.is_empty() {
        return;
    }
    let mut text = format!("{} entities without details:", left.len());
    for index in left.iter().take(MAX_NAMES) {
        text.push(' ');
        push_words(&mut text, &entities[*index], &["id"]);
    }
    if left.len() > MAX_NAMES {
        text.push_str(" and more");
    }
    lines.push(Line { pointer: "/terminal_state/entities".to_owned(), text });
}

/// Why an entity is shown; the first comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Changed,
    Related,
    Other,
}

fn ranks(document: &Json<'_>, entities: &[Json<'_>], with_goals: bool) -> Vec<Rank> {
    let key = |entity: &Json<'_>| {
        let word = |key| entity.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        (word("type"), word("id"))
    };
    let changed: Vec<_> =
        items(document.get("state_diff").and_then(|diff| diff.get("entities"))).iter().map(key).collect();
    let touched: Vec<_> = items(document.get("events")).iter().map(key).collect();
    let mut named = Vec::new();
    for entity in entities.iter().filter(|entity| changed.contains(&key(entity))) {
        strings(entity.get("fields").unwrap_or(&Json::Null), &mut named);
    }
    if with_goals {
        strings(document.get("goal_schema").unwrap_or(&Json::Null), &mut named);
    }
    let prose = instructions(document).join("\n");
    let rank = |entity: &Json<'_>| {
        let key = key(entity);
        if changed.contains(&key) {
            Rank::Changed
        } else if touched.contains(&key) || named.contains(&key.1.as_str()) || mentions(&prose, &key.1) {
            Rank::Related
        } else {
            Rank::Other
        }
    };
    entities.iter().map(rank).collect()
}

/// All strings within a value.
fn strings<'j>(json: &'j Json<'_>, out: &mut Vec<&'j str>) {
    match json {
        Json::String(text) => out.push(text),
        Json::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Json::Object(entries) => entries.iter().for_each(|(_, value)| strings(value, out)),
        _ => {}
    }
}

/// Whether a text names an id: not as a part of a longer one.
#[must_use]
pub fn mentions(prose: &str, id: &str) -> bool {
    let part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    !id.is_empty()
        && prose.match_indices(id).any(|(at, _)| {
            !prose[..at].chars().next_back().is_some_and(part)
                && !prose[at + id.len()..].chars().next().is_some_and(part)
        })
}

fn entity_text(entity: &Json<'_>) -> String {
    let mut text = String::new();
    push_words(&mut text, entity, &["type", "id"]);
    match entity.get("lifecycle").and_then(Json::as_str) {
        Some("live") | None => {}
        Some(word) => {
            text.push(' ');
            push_string(&mut text, word);
            return text;
        }
    }
    if let Some(Json::Object(fields)) = entity.get("fields") {
        for (field, value) in fields {
            text.push(' ');
            push_string(&mut text, field);
            text.push('=');
            push_value(&mut text, value);
        }
    }
    text
}

/// The first and the last lines of a list, with a line that counts what is left out between.
fn both_ends(
    shown: &[usize],
    each_end: usize,
    pointer: &str,
    what: &str,
    lines: &mut Vec<Line>,
    text: impl Fn(usize) -> String,
) {
    let line = |index: &usize| Line { pointer: format!("{pointer}/{index}"), text: text(*index) };
    let left_out = shown.len().saturating_sub(2 * each_end);
    if left_out == 0 {
        lines.extend(shown.iter().map(line));
        return;
    }
    lines.extend(shown[..each_end].iter().map(line));
    lines.push(Line { pointer: pointer.to_owned(), text: format!("{left_out} {what} are left out here") });
    lines.extend(shown[each_end + left_out..].iter().map(line));
}

fn push_words(out: &mut String, json: &Json<'_>, keys: &[&str]) {
    let mut space = "";
    for value in keys.iter().filter_map(|key| json.get(key)) {
        out.push_str(std::mem::replace(&mut space, " "));
        push_value(out, value);
    }
}

fn quoted(text: &str, most: usize) -> String {
    let mut out = String::new();
    push_quoted(&mut out, text, most);
    out
}

/// The items of an array; none of anything else.
pub(super) fn items<'j, 'a>(json: Option<&'j Json<'a>>) -> &'j [Json<'a>] {
    match json {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}
