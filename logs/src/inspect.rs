//! Inspect logs: `.eval` archives and JSON. Each sample is a log.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parthack_env::json::Json;

use crate::archive;
use crate::builder::Builder;
use crate::condition;
use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::inspect_events;
use crate::json::{self, Notes, Outline};
use crate::kind::Kind;
use crate::log::{Condition, Fact, FactSource, Outcome, Provenance, Verdict, WarningCode};
use crate::messages;
use crate::node::Node;

const EXPECTED: &str = "an Inspect log: an object with version, status, eval and samples";
const REFERENCE: &str = "attachment://";

/// What the header of a log tells of every sample.
#[derive(Debug, Clone, Default)]
struct Header {
    suite: Option<Fact>,
    model: Option<Fact>,
    harness: Option<Fact>,
    version: Option<Fact>,
    run: Option<Fact>,
    /// Every condition that is told; the first counts, and one that differs is warned of.
    conditions: Vec<(Condition, FactSource)>,
    /// Set where the run did not end well.
    status: Option<(Provenance, String)>,
    repeated_members: bool,
    /// Set where the version of the format is newer than those known.
    version_of_format: Option<String>,
}

/// The newest version of the format whose description this reader follows.
const NEWEST_VERSION: u32 = 3;

pub(crate) fn open_json(text: String, file: &Arc<str>) -> Result<Items, Fault> {
    let whole = json::outline(&text, 0..text.len(), "")?;
    let (Some(eval), Some(_)) = (whole.get("eval"), whole.get("status")) else {
        return Err(Fault::at(RefusalCode::NotOfKind, "", whole.describe(), EXPECTED));
    };
    let (eval, _) = json::parse_part(&text, eval, "/eval")?;
    let status = whole.get("status").map_or("", |range| text[range].trim_matches('"')).to_owned();
    let mut header = header(&Node::new(&eval, "/eval"), &status, file);
    header.version_of_format = whole.get("version").and_then(|range| newer(&text[range]));
    let samples = match whole.get("samples") {
        None => Vec::new(),
        Some(range) => match json::outline(&text, range.clone(), "/samples")? {
            Outline::Array(ranges) => ranges,
            _ if &text[range] == "null" => Vec::new(),
            other => return Err(Fault::at(RefusalCode::WrongShape, "/samples", other.describe(), "a list of samples")),
        },
    };
    if samples.is_empty() {
        let found = format!("a log with the status {status:?} and no samples");
        return Err(Fault::at(RefusalCode::NothingInIt, "/samples", found, "at least one sample"));
    }
    drop(eval);
    let file = file.clone();
    Ok(input::each(Arc::from(text), samples, "/samples", move |node, notes| sample(node, notes, &header, &file)))
}

pub(crate) fn open_eval(path: &Path, file: &Arc<str>) -> Result<Items, Fault> {
    let mut archive = archive::open(path)?;
    let mut member = "header.json";
    let mut unfinished = false;
    if !archive.has(member) {
        member = "_journal/start.json";
        unfinished = true;
    }
    if !archive.has(member) {
        let found = format!("an archive of {} members without header.json", archive.names().len());
        return Err(Fault::file(RefusalCode::NotOfKind, found, "an Inspect log: header.json and samples/"));
    }
    let member_file: Arc<str> = Arc::from(format!("{file}!{member}"));
    let text = archive.text(member)?;
    let mut header = read_header(&text, unfinished, &member_file).map_err(|fault| fault.in_member(member))?;
    header.repeated_members = archive.has_repeated_names();
    let names: Vec<String> =
        archive.names().into_iter().filter(|name| name.starts_with("samples/") && name.ends_with(".json")).collect();
    if names.is_empty() {
        return Err(Fault::file(RefusalCode::NothingInIt, "an archive without samples", "at least one sample"));
    }
    let file = file.clone();
    Ok(Box::new(names.into_iter().map(move |name| {
        let member_file: Arc<str> = Arc::from(format!("{file}!{name}"));
        let text = archive.text(&name)?;
        json::parse(&text)
            .and_then(|(value, notes)| sample(&Node::new(&value, ""), notes, &header, &member_file))
            .map_err(|fault| fault.in_member(&name))
    })))
}

fn read_header(text: &str, unfinished: bool, file: &Arc<str>) -> Result<Header, Fault> {
    let (document, _) = json::parse(text)?;
    let root = Node::new(&document, "");
    let status = if unfinished { "started" } else { root.text("status").unwrap_or("") };
    let mut header = header(&root.need("eval", "what was run")?, status, file);
    header.version_of_format = root.get("version").and_then(|version| newer(&version.scalar()?));
    Ok(header)
}

fn newer(version: &str) -> Option<String> {
    let is_known = version.parse::<u32>().is_ok_and(|version| version <= NEWEST_VERSION);
    (!is_known).then(|| format!("version {}", json::shorten(version)))
}

fn header(eval: &Node<'_, '_>, status: &str, file: &Arc<str>) -> Header {
    let at = |pointer: &str| Provenance { file: file.clone(), line: None, pointer: pointer.to_owned() };
    let fact = |keys: &[&str]| {
        let node = eval.path(keys)?;
        let value = node.scalar().filter(|text| !text.is_empty())?;
        Some(Fact { value, source: FactSource::Field(at(&node.pointer)) })
    };
    let mut conditions = Vec::new();
    for keys in [&["metadata"][..], &["task_args"], &["solver_args"]] {
        let Some(node) = eval.path(keys) else { continue };
        let word = node.get("skills");
        let skills = word.as_ref().and_then(|word| Some((condition::condition_of(word.str()?)?, word.pointer.clone())));
        conditions.extend(condition::told(&node).into_iter().chain(skills));
    }
    for tag in eval.get("tags").map(|tags| tags.list()).unwrap_or_default() {
        conditions.extend(tag.str().and_then(condition::condition_of).map(|told| (told, tag.pointer.clone())));
    }
    let conditions = conditions.into_iter().map(|(told, pointer)| (told, FactSource::Field(at(&pointer)))).collect();
    Header {
        suite: fact(&["task"]),
        model: fact(&["model"]).filter(|model| model.value != "none/none"),
        harness: fact(&["solver"]),
        version: fact(&["packages", "inspect_ai"]),
        run: fact(&["eval_id"]).or_else(|| fact(&["run_id"])),
        conditions,
        status: (status != "success").then(|| (at("/status"), format!("the status {status:?}"))),
        repeated_members: false,
        version_of_format: None,
    }
}

fn sample(node: &Node<'_, '_>, notes: Notes, header: &Header, file: &Arc<str>) -> Result<Found, Fault> {
    if !node.is_object() {
        return Err(node.fault("a sample: an object with id, epoch and messages"));
    }
    let mut build = Builder::new(Kind::Inspect, file, Some("inspect_ai"));
    build.notes(notes);
    identify(&mut build, node, header)?;
    if let Some(metadata) = node.get("metadata") {
        condition::note_fields(&mut build, &metadata);
    }
    if let Some((at, found)) = &header.status {
        build.warn_at(WarningCode::RunUnfinished, Some(at.clone()), found.clone());
    }
    if let Some(version) = &header.version_of_format {
        build.warn(WarningCode::UnknownVersion, "", version.clone());
    }
    if header.repeated_members {
        build.warn(WarningCode::MemberRepeated, "", "an archive with a repeated member name; the last counts");
    }
    if let Some(error) = node.get("error") {
        let found = error.text("message").map_or_else(|| error.describe(), json::shorten);
        build.warn(WarningCode::HarnessError, &error.pointer, found);
    }
    outcome(&mut build, node);
    let attachments = attachments_of(node);
    let list = match node.get("messages") {
        Some(list) => list.need_items("a list of messages")?,
        None if node.get("events").is_some() => Vec::new(),
        None => {
            return Err(node.need("messages", "a list of messages").err().unwrap_or_else(|| node.fault("messages")));
        }
    };
    let list = if list.is_empty() { inspect_events::last_exchange(node) } else { list };
    let mut missing = 0;
    for message in &list {
        let resolved = refers(message.json).then(|| resolve(message.json, &attachments, &mut missing));
        let json = resolved.as_ref().unwrap_or(message.json);
        messages::message(&mut build, &Node::new(json, message.pointer.as_str()))?;
    }
    if missing > 0 {
        build.warn(WarningCode::AttachmentMissing, &node.pointer, format!("{missing} references without attachment"));
    }
    Ok(Found::Log(Box::new(build.finish())))
}

fn identify(build: &mut Builder, node: &Node<'_, '_>, header: &Header) -> Result<(), Fault> {
    let id = node.need("id", "the id of the sample")?;
    let task = build.fact(Some(id.clone())).ok_or_else(|| id.fault("the id of the sample: text or a number"))?;
    let epoch = node.get("epoch").and_then(|epoch| epoch.scalar()).unwrap_or_else(|| "1".to_owned());
    build.identity.run = header
        .run
        .as_ref()
        .map(|run| Fact { value: format!("{}/{}/{epoch}", run.value, task.value), source: run.source.clone() });
    build.identity.task = Some(task);
    build.identity.suite.clone_from(&header.suite);
    build.identity.model = header.model.clone().or_else(|| build.fact(node.path(&["output", "model"])));
    if header.harness.is_some() {
        build.identity.harness.clone_from(&header.harness);
    }
    build.identity.harness_version.clone_from(&header.version);
    for (condition, source) in &header.conditions {
        condition::note(build, *condition, source.clone());
    }
    Ok(())
}

/// The verdict of the scores: `C` and `I` (and what Inspect takes for them), true and false, 1 and 0. `N`, no answer, fails,
/// and `P`, partly, is no binary verdict. Of several scorers those with a binary verdict have to agree.
fn outcome(build: &mut Builder, node: &Node<'_, '_>) {
    let scores = match (node.get("scores"), node.get("score")) {
        (Some(scores), _) => scores.entries().into_iter().map(|(_, score)| score).collect(),
        (None, Some(score)) => vec![score],
        (None, None) => Vec::new(),
    };
    let mut outcomes: Vec<Outcome> = Vec::new();
    for score in &scores {
        let Some(value) = score.get("value") else { continue };
        let at = build.at(&value.pointer);
        let Some(text) = value.scalar() else {
            let mut none = Outcome::none(format!("the score is {}", value.describe()));
            none.source = Some(at);
            outcomes.push(none);
            continue;
        };
        let number = match text.to_lowercase().as_str() {
            "c" | "yes" | "true" => "1",
            "i" | "n" | "no" | "false" => "0",
            "p" => "0.5",
            "nan" => continue,
            _ => &text,
        };
        let mut outcome = Outcome::of_reward(number, at);
        outcome.reward = Some(text.clone());
        outcomes.push(outcome);
    }
    let binary: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.verdict != Verdict::None).collect();
    build.outcome = match (binary.first(), outcomes.first()) {
        (Some(first), _) if binary.iter().all(|other| other.verdict == first.verdict) => (*first).clone(),
        (Some(_), _) => {
            let found: Vec<&str> = binary.iter().filter_map(|outcome| outcome.reward.as_deref()).collect();
            let found = format!("the scores {}", found.join(", "));
            build.warn(WarningCode::ScorersDisagree, &format!("{}/scores", node.pointer), found.clone());
            Outcome::none(format!("the scorers disagree: {found}"))
        }
        (None, Some(first)) => first.clone(),
        (None, None) => Outcome::none("the sample has no score"),
    };
}

/// Attachments of a sample; in the older ages they are the content of its transcript.
fn attachments_of<'j>(node: &Node<'j, '_>) -> BTreeMap<&'j str, &'j str> {
    let places = [node.get("attachments"), node.path(&["transcript", "content"])];
    let entries = places.into_iter().flatten().flat_map(|place| place.entries());
    entries.filter_map(|(key, value)| Some((key, value.str()?))).collect()
}

fn refers(json: &Json<'_>) -> bool {
    match json {
        Json::String(text) => text.contains(REFERENCE),
        Json::Array(items) => items.iter().any(refers),
        Json::Object(entries) => entries.iter().any(|(_, value)| refers(value)),
        _ => false,
    }
}

/// A document with the texts of attachments in place of references to them.
fn resolve<'a>(json: &Json<'a>, attachments: &BTreeMap<&str, &str>, missing: &mut usize) -> Json<'a> {
    match json {
        Json::String(text) if text.contains(REFERENCE) => {
            Json::String(Cow::Owned(resolve_text(text, attachments, missing)))
        }
        Json::Array(items) => Json::Array(items.iter().map(|item| resolve(item, attachments, missing)).collect()),
        Json::Object(entries) => Json::Object(
            entries.iter().map(|(key, value)| (key.clone(), resolve(value, attachments, missing))).collect(),
        ),
        other => other.clone(),
    }
}

fn resolve_text(text: &str, attachments: &BTreeMap<&str, &str>, missing: &mut usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(REFERENCE) {
        let after = &rest[at + REFERENCE.len()..];
        let length = after.bytes().take_while(u8::is_ascii_hexdigit).count();
        out.push_str(&rest[..at]);
        match attachments.get(&after[..length]) {
            Some(attachment) => out.push_str(attachment),
            None => {
                // A mention of the scheme without a hash is ordinary text.
                *missing += usize::from(length >= 16);
                out.push_str(&rest[at..at + REFERENCE.len() + length]);
            }
        }
        rest = &after[length..];
    }
    out.push_str(rest);
    out
}
