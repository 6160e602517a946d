//! tau-bench results: a list of `{task_id, trial, reward, info, traj}`.

use std::path::Path;
use std::sync::Arc;

use crate::builder::{Builder, Output};
use crate::condition;
use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::json::{self, Notes, Outline};
use crate::kind::Kind;
use crate::log::{Fact, FactSource, Outcome, Requestor, WarningCode};
use crate::messages;
use crate::node::Node;

const EXPECTED: &str = "tau-bench results: a list of objects with task_id, reward and traj";

pub(crate) fn open(path: &Path, text: String, file: &Arc<str>) -> Result<Items, Fault> {
    let ranges = match json::outline(&text, 0..text.len(), "")? {
        Outline::Array(ranges) => ranges,
        other => return Err(Fault::at(RefusalCode::NotOfKind, "", other.describe(), EXPECTED)),
    };
    let Some(first) = ranges.first() else {
        return Err(Fault::at(RefusalCode::NothingInIt, "", "an empty list", EXPECTED));
    };
    let (value, _) = json::parse_part(&text, first.clone(), "/0")?;
    let node = Node::new(&value, "/0");
    if node.get("traj").is_none() {
        let is_verdict = node.get("task_id").is_some() && node.get("reward").is_some();
        let found = format!("a list of {} whose first item is {}", ranges.len(), node.describe());
        return Err(if is_verdict && node.get("trial").is_some() {
            Fault::at(RefusalCode::NothingInIt, "/0", format!("{found}: verdicts without conversations"), EXPECTED)
        } else {
            Fault::at(RefusalCode::NotOfKind, "/0", found, EXPECTED)
        });
    }
    let (path, file) = (path.to_path_buf(), file.clone());
    Ok(input::each(Arc::from(text), ranges, "", move |node, notes| run(node, notes, &path, &file)))
}

fn run(node: &Node<'_, '_>, notes: Notes, path: &Path, file: &Arc<str>) -> Result<Found, Fault> {
    if !node.is_object() {
        return Err(node.fault("a run: an object with task_id, reward and traj"));
    }
    let mut build = Builder::new(Kind::Tau, file, Some("tau-bench"));
    build.notes(notes);
    let task = node.need("task_id", "the number of the task")?;
    build.identity.task = build.fact(Some(task));
    build.identity.run = build.fact(node.get("trial"));
    from_name(&mut build, path);
    condition::note_fields(&mut build, node);
    let reward = node.get("reward");
    if let Some(reward) = &reward {
        let text = reward.scalar().ok_or_else(|| reward.fault("a number"))?;
        build.outcome = Outcome::of_reward(&text, build.at(&reward.pointer));
        let inner = node.path(&["info", "reward_info", "reward"]);
        if let Some(inner) = inner
            && let Some(other) = inner.scalar()
            && other.parse::<f64>().ok() != text.parse::<f64>().ok()
        {
            build.warn(WarningCode::RewardsDiffer, &inner.pointer, format!("{other} here, {text} as reward"));
        }
    }
    if let Some(error) = node.path(&["info", "error"]) {
        let found = error.scalar().map_or_else(|| error.describe(), |text| json::shorten(&text));
        build.warn(WarningCode::HarnessError, &error.pointer, found);
    }
    for message in node.need("traj", "a list of messages")?.need_items("a list of messages")? {
        turn(&mut build, &message)?;
    }
    Ok(Found::Log(Box::new(build.finish())))
}

/// The domain that a name tells, and the model where the program named the file: `tool-calling-<model>-0.0_range_…`.
fn from_name(build: &mut Builder, path: &Path) {
    let name = input::file_name(path);
    let folders = path.ancestors().take(3).map(input::file_name).collect::<Vec<_>>().join("/");
    if let Some(domain) = ["retail", "airline"].into_iter().find(|domain| folders.contains(domain)) {
        build.identity.suite = Some(Fact { value: domain.to_owned(), source: FactSource::Path });
    }
    let strategy = ["tool-calling-", "few-shot-", "react-", "act-"].into_iter().find(|word| name.starts_with(word));
    if let Some(strategy) = strategy
        && let Some((model, _)) = name[strategy.len()..].split_once("_range_")
    {
        let model = model.rsplit_once('-').map_or(model, |(model, _temperature)| model);
        build.identity.model = Some(Fact { value: model.to_owned(), source: FactSource::Path });
        let harness = format!("tau-bench {}", strategy.trim_end_matches('-'));
        build.identity.harness = Some(Fact { value: harness, source: FactSource::Path });
    }
}

/// A message. The strategies without tool calls write `Action:` and JSON, and are answered by a user message
/// `API output: …`.
fn turn(build: &mut Builder, message: &Node<'_, '_>) -> Result<(), Fault> {
    const ANSWER: &str = "API output:";
    let content = message.get("content");
    let text = content.as_ref().and_then(Node::str).unwrap_or("");
    let pointer = content.as_ref().map_or(message.pointer.as_str(), |content| content.pointer.as_str());
    if message.text("role") == Some("user")
        && let Some(answer) = text.strip_prefix(ANSWER)
    {
        let text = answer.strip_prefix(' ').unwrap_or(answer).to_owned();
        let output = Output { id: None, name: None, text, error: false, requestor: Requestor::Agent };
        return build.output(output, pointer);
    }
    messages::message(build, message)?;
    if message.text("role") == Some("assistant")
        && message.get("tool_calls").is_none()
        && let Some((_, action)) = text.rsplit_once("Action:")
        && let Ok((value, _)) = json::parse(action.trim())
    {
        let action = Node::new(&value, "");
        if let Some(name) = action.text("name").filter(|name| *name != "respond") {
            let arguments = build.arguments(action.get("arguments").or_else(|| action.get("kwargs")).as_ref());
            build.close_calls();
            build.call(None, name, arguments, Requestor::Agent, pointer)?;
        }
    }
    Ok(())
}
