//! ATIF, the Agent Trajectory Interchange Format, versions 1.0 to 1.7: alone, or as `agent/trajectory.json` of a Harbor
//! trial; a long run's `*.cont-N.json` are joined.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parthack_env::canonical::canonical_bytes;
use parthack_env::json::Json;

use crate::builder::{Builder, Output};
use crate::condition;
use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::json;
use crate::kind::Kind;
use crate::limits::MAX_CONTINUATIONS;
use crate::log::{Fact, Origin, Requestor, Role, WarningCode};
use crate::messages::{self, content_text};
use crate::node::Node;
use crate::trial;

/// The newest minor version whose description this reader follows.
const NEWEST_MINOR: u32 = 7;

pub(crate) fn open(path: &Path, text: &str, file: &Arc<str>) -> Result<Items, Fault> {
    let (document, notes) = json::parse(text)?;
    let root = Node::new(&document, "");
    let mut build = Builder::new(Kind::Atif, file, None);
    build.notes(notes);
    check_version(&mut build, &root)?;
    identify(&mut build, &root);
    let trial_folder = trial::folder_of(path);
    if let Some(folder) = &trial_folder {
        trial::read(&mut build, folder);
    }
    if let Some(extra) = root.get("extra") {
        condition::note_stated(&mut build, &extra);
    }
    let mut seen = Vec::new();
    steps(&mut build, &root, &mut seen)?;
    let broken = continuations(&mut build, &root, path, &mut seen);
    build.close_calls();
    let embedded = root.get("subagent_trajectories").map(|list| list.list().len()).unwrap_or(0);
    if embedded > 0 {
        build.warn_at(WarningCode::SubagentLeftOut, None, format!("{embedded} trajectories of sub-agents"));
    }
    if build.outcome.source.is_none() && trial_folder.is_none() {
        build.outcome.reason = Some("a trajectory alone records no verdict".to_owned());
    }
    let log = Found::Log(Box::new(build.finish()));
    Ok(Box::new(std::iter::once(Ok(log)).chain(broken.map(Err))))
}

fn check_version(build: &mut Builder, root: &Node<'_, '_>) -> Result<(), Fault> {
    let other = || {
        Fault::at(
            RefusalCode::NotOfKind,
            "",
            root.describe(),
            "a trajectory with schema_version ATIF-v1.0 to ATIF-v1.7",
        )
    };
    let version = root.get("schema_version").ok_or_else(other)?;
    let word = version.scalar().unwrap_or_default();
    let lower = word.to_lowercase();
    let prefixed = lower.strip_prefix("atif-v").or_else(|| lower.strip_prefix("atif-"));
    // A bare number may be any format's: steps tell this one.
    let bare = || Some(lower.as_str()).filter(|_| root.get("steps").is_some_and(|steps| steps.items().is_some()));
    let number = prefixed.or_else(bare).ok_or_else(other)?;
    let minor = number.strip_prefix("1.").and_then(|minor| minor.split('.').next()?.parse::<u32>().ok());
    match minor {
        Some(minor) if minor <= NEWEST_MINOR => Ok(()),
        Some(_) => {
            build.warn(WarningCode::UnknownVersion, &version.pointer, word);
            Ok(())
        }
        None => {
            let expected = "ATIF-v1.0 to ATIF-v1.7";
            Err(Fault::at(RefusalCode::UnsupportedVersion, &version.pointer, version.describe(), expected))
        }
    }
}

fn identify(build: &mut Builder, root: &Node<'_, '_>) {
    let agent = root.get("agent");
    let field = |key: &str| agent.as_ref().and_then(|agent| agent.get(key));
    build.identity.harness = build.fact(field("name"));
    build.identity.harness_version = build.fact(field("version"));
    build.identity.model = build.fact(field("model_name"));
    build.identity.run = build.fact(root.get("session_id")).or_else(|| build.fact(root.get("trajectory_id")));
    for extra in [field("extra"), root.get("extra")].into_iter().flatten() {
        condition::note_fields(build, &extra);
    }
}

/// Reads the steps of one document; `seen` collects what each holds, for recognizing copies in a continuation.
fn steps(build: &mut Builder, root: &Node<'_, '_>, seen: &mut Vec<Vec<u8>>) -> Result<(), Fault> {
    let list = root.need("steps", "a list of steps")?;
    let earlier = std::mem::take(seen);
    let is_continuation = !earlier.is_empty();
    let mut copied = 0;
    let mut still_copied = is_continuation;
    for (index, step) in list.need_items("a list of steps")?.into_iter().enumerate() {
        if !step.is_object() {
            return Err(step.fault("a step: an object with source and message"));
        }
        if let Some(id) = step.get("step_id")
            && !is_continuation
            && id.scalar() != Some((index + 1).to_string())
            && !build.has_warning(WarningCode::StepsMisnumbered)
        {
            let found = format!("{} as step {}", id.describe(), index + 1);
            build.warn(WarningCode::StepsMisnumbered, &id.pointer, found);
        }
        let key = substance(&step);
        still_copied &= earlier.get(index) == Some(&key);
        let is_copied = still_copied || step.bool("is_copied_context") == Some(true);
        copied += usize::from(is_copied);
        build.origin = if is_copied { Origin::Copied } else { Origin::Run };
        one_step(build, &step)?;
        seen.push(key);
    }
    build.origin = Origin::Run;
    if copied > 0 {
        build.warn(WarningCode::StepsCopied, &list.pointer, format!("{copied} steps that repeat earlier ones"));
    }
    Ok(())
}

/// What a step says and does, without numbers, times and metrics.
fn substance(step: &Node<'_, '_>) -> Vec<u8> {
    let parts = ["source", "message", "reasoning_content", "tool_calls", "observation"]
        .map(|key| step.json.get(key).cloned().unwrap_or(Json::Null));
    canonical_bytes(&Json::Array(parts.into()))
}

fn one_step(build: &mut Builder, step: &Node<'_, '_>) -> Result<(), Fault> {
    let source = step.need("source", "system, user or agent")?;
    let word = source.str().ok_or_else(|| source.fault("system, user or agent"))?;
    let message = step.get("message");
    let pointer = message.as_ref().map_or_else(|| step.pointer.clone(), |message| message.pointer.clone());
    build.close_calls();
    let requestor = if word == "agent" { Requestor::Agent } else { Requestor::System };
    if word == "agent" {
        if build.identity.model.is_none() {
            build.identity.model = build.fact(step.get("model_name"));
        }
        if let Some(reasoning) = step.get("reasoning_content") {
            let text = content_text(build, Some(&reasoning))?;
            build.reasoning(text, &reasoning.pointer)?;
        }
        let text = content_text(build, message.as_ref())?;
        build.agent_text(text, &pointer)?;
    } else {
        let role = match word {
            "system" => Role::System,
            "user" => Role::User,
            other => {
                build.warn(WarningCode::UnknownRole, &source.pointer, format!("the source {other:?}"));
                Role::Environment
            }
        };
        let text = content_text(build, message.as_ref())?;
        if !text.is_empty() || step.get("observation").is_none() {
            build.message(role, text, &pointer)?;
        }
    }
    if let Some(calls) = step.get("tool_calls") {
        for call in calls.need_items("a list of calls")? {
            messages::call(build, &call, requestor)?;
        }
    }
    observe(build, step, requestor)
}

fn observe(build: &mut Builder, step: &Node<'_, '_>, requestor: Requestor) -> Result<(), Fault> {
    let Some(observation) = step.get("observation") else { return Ok(()) };
    let Some(results) = observation.get("results") else { return Ok(()) };
    for result in results.need_items("a list of results")? {
        if !result.is_object() {
            return Err(result.fault("a result: an object with content"));
        }
        let content = result.get("content");
        let text = content_text(build, content.as_ref())?;
        let pointer = content.as_ref().map_or(result.pointer.as_str(), |content| content.pointer.as_str());
        let id = result.get("source_call_id").and_then(|id| id.scalar());
        if id.is_none() && !build.has_open_call() {
            build.observation(text, requestor, pointer)?;
        } else {
            build.output(Output { id, name: None, text, error: false, requestor }, pointer)?;
        }
    }
    Ok(())
}

/// Joins the continuations; gives the fault of the first that cannot be read.
fn continuations(build: &mut Builder, root: &Node<'_, '_>, head: &Path, seen: &mut Vec<Vec<u8>>) -> Option<Fault> {
    let named = |node: &Node<'_, '_>| node.text("continued_trajectory_ref").map(str::to_owned);
    let mut visited = BTreeSet::from([head.to_path_buf()]);
    let mut reference = named(root);
    for number in 1..=MAX_CONTINUATIONS {
        let by_name = continuation_path(head, number);
        // Only a file beside the head: a reference is no way out of its folder.
        let by_reference = reference.as_ref().map(|name| head.with_file_name(input::file_name(Path::new(name))));
        let next = match (by_reference, by_name) {
            (Some(path), _) if input::is_file(&path) => path,
            (None, Some(path)) if input::is_file(&path) => path,
            (Some(path), _) => {
                build.warn(WarningCode::ContinuationMissing, "/continued_trajectory_ref", input::file_name(&path));
                return None;
            }
            _ => return None,
        };
        if !visited.insert(next.clone()) {
            build.warn(WarningCode::ContinuationMissing, "/continued_trajectory_ref", "a reference to itself");
            return None;
        }
        let file = input::shown(&next);
        match join(build, &next, &file, seen) {
            Ok(after) => reference = after,
            Err(fault) => {
                let found = format!("{}: {}", input::file_name(&next), fault.found);
                build.warn(WarningCode::ContinuationMissing, "", found);
                return Some(fault.in_file(&file));
            }
        }
    }
    None
}

fn join(build: &mut Builder, path: &Path, file: &Arc<str>, seen: &mut Vec<Vec<u8>>) -> Result<Option<String>, Fault> {
    let text = input::read_text(path)?;
    let (document, notes) = json::parse(&text)?;
    let root = Node::new(&document, "");
    build.in_file(file);
    build.notes(notes);
    check_version(build, &root)?;
    steps(build, &root, seen)?;
    Ok(root.text("continued_trajectory_ref").map(str::to_owned))
}

/// `x.json` and 2 → `x.cont-2.json`.
fn continuation_path(head: &Path, number: usize) -> Option<PathBuf> {
    let name = input::file_name(head);
    let stem = name.strip_suffix(".json")?;
    Some(head.with_file_name(format!("{stem}.cont-{number}.json")))
}

/// Whether a file is joined to, or belongs to, another trajectory that is there: `x.cont-2.json` to `x.json`, so does
/// `x.summarization-1-summary.json` (a sub-agent's), and anything `trajectory.….json` in the `agent` folder of a trial.
pub(crate) fn belongs_to_another(path: &Path) -> bool {
    let name = input::file_name(path);
    for infix in [".cont-", ".summarization-"] {
        if let Some((stem, _)) = name.rsplit_once(infix) {
            return input::is_file(&path.with_file_name(format!("{stem}.json")));
        }
    }
    name.starts_with("trajectory.")
        && name != "trajectory.json"
        && path.parent().is_some_and(|folder| folder.ends_with("agent"))
        && input::is_file(&path.with_file_name("trajectory.json"))
}

/// One name for a model that two places name: where one has the provider in front of what the other says, the fuller one; else the first,
/// with a warning if they differ.
pub(crate) fn agree(build: &mut Builder, first: Option<Fact>, second: Option<Fact>) -> Option<Fact> {
    let (Some(first), Some(second)) = (&first, &second) else { return first.or(second) };
    let is_fuller = |fuller: &str, name: &str| {
        let front = fuller.to_lowercase();
        front.strip_suffix(&name.to_lowercase()).is_some_and(|front| front.is_empty() || front.ends_with('/'))
    };
    if is_fuller(&first.value, &second.value) {
        return Some(first.clone());
    }
    if is_fuller(&second.value, &first.value) {
        return Some(second.clone());
    }
    let found = format!("{} here, {} elsewhere", second.value, first.value);
    let at = match &second.source {
        crate::log::FactSource::Field(at) => Some(at.clone()),
        _ => None,
    };
    build.warn_at(WarningCode::ModelContradicted, at, found);
    Some(first.clone())
}
