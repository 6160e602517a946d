//! tau2-bench: results with all simulations in one file, results as a header with a file a simulation beside it, single
//! simulations, and files of tasks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parthack_env::json::Json;

use crate::builder::Builder;
use crate::condition;
use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::json::{self, Notes, Outline};
use crate::kind::Kind;
use crate::log::{Fact, FactSource, Outcome, Provenance, WarningCode};
use crate::messages;
use crate::node::Node;
use crate::tau2_tasks;
use crate::tau2_ticks;

const EXPECTED: &str =
    "tau2 results (info, tasks, simulations), a simulation (task_id with messages or ticks), or a list of tasks";

/// What the header of a results file tells of every simulation.
#[derive(Debug, Clone, Default)]
struct Header {
    file: Option<Arc<str>>,
    suite: Option<Fact>,
    model: Option<Fact>,
    harness: Option<Fact>,
    version: Option<Fact>,
    /// Ids of the gold actions of each task.
    tasks: BTreeMap<String, Vec<String>>,
}

/// Headers of results in the shape with a file a simulation, so that each is read once.
#[derive(Default)]
pub(crate) struct Headers(Option<(std::path::PathBuf, Arc<Header>)>);

pub(crate) fn open(path: &Path, text: String, file: &Arc<str>, headers: &mut Headers) -> Result<Items, Fault> {
    let whole = json::outline(&text, 0..text.len(), "")?;
    let text: Arc<str> = Arc::from(text);
    let suite = domain_of_path(path);
    match &whole {
        Outline::Object(_) if whole.get("simulations").is_some() || is_header(&whole) => {
            results(path, &text, file, &whole, suite.as_deref())
        }
        Outline::Object(_) if whole.get("messages").is_some() || whole.get("ticks").is_some() => {
            let header = headers.beside(path);
            single(&text, file, &header)
        }
        Outline::Array(ranges) => list(text, file, ranges.clone(), suite),
        _ => Err(not_of_kind(&whole)),
    }
}

fn not_of_kind(outline: &Outline) -> Fault {
    Fault::at(RefusalCode::NotOfKind, "", outline.describe(), EXPECTED)
}

fn is_header(outline: &Outline) -> bool {
    outline.get("info").is_some() && outline.get("tasks").is_some()
}

/// The domain that the folders above a file tell: `…/domains/retail/tasks.json`.
fn domain_of_path(path: &Path) -> Option<String> {
    let folders: Vec<String> =
        path.ancestors().skip(1).filter_map(|part| Some(part.file_name()?.to_string_lossy().into_owned())).collect();
    let at = folders.iter().position(|name| name == "domains")?;
    folders.get(at.checked_sub(1)?).cloned()
}

impl Headers {
    /// The header that belongs to a file of one simulation: `results.json` one folder up, or beside it.
    fn beside(&mut self, path: &Path) -> Arc<Header> {
        let up = path.parent().and_then(Path::parent).map(|folder| folder.join("results.json"));
        let here = path.with_file_name("results.json");
        let found = up.into_iter().chain([here]).find(|candidate| candidate != path && input::is_file(candidate));
        let Some(found) = found else { return Arc::default() };
        if let Some((known, header)) = &self.0
            && *known == found
        {
            return header.clone();
        }
        let header = Arc::new(read_header(&found).unwrap_or_default());
        self.0 = Some((found, header.clone()));
        header
    }
}

fn read_header(path: &Path) -> Result<Header, Fault> {
    let text = input::read_text(path)?;
    let whole = json::outline(&text, 0..text.len(), "")?;
    header(&text, &input::shown(path), &whole)
}

fn header(text: &str, file: &Arc<str>, whole: &Outline) -> Result<Header, Fault> {
    let mut header = Header { file: Some(file.clone()), ..Header::default() };
    if let Some(range) = whole.get("info") {
        let (info, _) = json::parse_part(text, range, "/info")?;
        let info = Node::new(&info, "/info");
        let fact = |keys: &[&str]| {
            let node = info.path(keys)?;
            let at = Provenance { file: file.clone(), line: None, pointer: node.pointer.clone() };
            Some(Fact { value: node.scalar()?, source: FactSource::Field(at) })
        };
        header.suite = fact(&["environment_info", "domain_name"]);
        header.model = fact(&["agent_info", "llm"]).or_else(|| fact(&["audio_native_config", "model"]));
        header.harness = fact(&["agent_info", "implementation"]);
        header.version = fact(&["git_commit"]);
    }
    if let Some(range) = whole.get("tasks") {
        let (tasks, _) = json::parse_part(text, range, "/tasks")?;
        for task in Node::new(&tasks, "/tasks").list() {
            if let Some(id) = task.get("id").and_then(|id| id.scalar()) {
                header.tasks.insert(id, tau2_tasks::action_ids(&task));
            }
        }
    }
    Ok(header)
}

fn results(
    path: &Path,
    text: &Arc<str>,
    file: &Arc<str>,
    whole: &Outline,
    suite: Option<&str>,
) -> Result<Items, Fault> {
    let header = Arc::new(header(text, file, whole)?);
    let suite = header.suite.as_ref().map(|fact| fact.value.clone()).or_else(|| suite.map(str::to_owned));
    let ranges = |key: &str| match whole.get(key) {
        None => Ok(Vec::new()),
        Some(range) => match json::outline(text, range.clone(), &format!("/{key}"))? {
            Outline::Array(ranges) => Ok(ranges),
            _ if &text[range] == "null" => Ok(Vec::new()),
            other => Err(Fault::at(RefusalCode::WrongShape, &format!("/{key}"), other.describe(), "a list")),
        },
    };
    let tasks = ranges("tasks")?;
    let simulations = ranges("simulations")?;
    let has_folder = path.parent().is_some_and(|folder| folder.join("simulations").is_dir());
    if tasks.is_empty() && simulations.is_empty() && !has_folder {
        let found =
            format!("{} without any task or simulation, and no folder `simulations` beside it", whole.describe());
        return Err(Fault::at(RefusalCode::NothingInIt, "", found, "at least one simulation"));
    }
    let task_file = file.clone();
    let tasks = input::each(text.clone(), tasks, "/tasks", move |node, notes| {
        tau2_tasks::read(node, notes, &task_file, suite.clone())
    });
    let file = file.clone();
    let logs = input::each(text.clone(), simulations, "/simulations", move |node, notes| {
        simulation(node, notes, &file, &header)
    });
    Ok(Box::new(tasks.chain(logs)))
}

fn single(text: &Arc<str>, file: &Arc<str>, header: &Header) -> Result<Items, Fault> {
    let (document, notes) = json::parse(text)?;
    let root = Node::new(&document, "");
    if root.get("task_id").is_none() {
        return Err(Fault::at(RefusalCode::NotOfKind, "", root.describe(), EXPECTED));
    }
    simulation(&root, notes, file, header).map(input::one)
}

fn list(
    text: Arc<str>,
    file: &Arc<str>,
    ranges: Vec<std::ops::Range<usize>>,
    suite: Option<String>,
) -> Result<Items, Fault> {
    let Some(first) = ranges.first() else {
        return Err(Fault::at(RefusalCode::NothingInIt, "", "an empty list", EXPECTED));
    };
    let (value, _) = json::parse_part(&text, first.clone(), "/0")?;
    let node = Node::new(&value, "/0");
    let (is_task, is_simulation) = (tau2_tasks::looks_like_task(&node), looks_like_simulation(&node));
    if !is_task && !is_simulation {
        let found = format!("a list whose first item is {}", node.describe());
        return Err(Fault::at(RefusalCode::NotOfKind, "/0", found, EXPECTED));
    }
    let file = file.clone();
    Ok(input::each(text.clone(), ranges, "", move |node, notes| {
        if is_task {
            tau2_tasks::read(node, notes, &file, suite.clone())
        } else {
            simulation(node, notes, &file, &Header::default())
        }
    }))
}

fn looks_like_simulation(node: &Node<'_, '_>) -> bool {
    node.get("task_id").is_some()
        && (node.get("messages").is_some() || node.get("ticks").is_some())
        && node.get("traj").is_none()
}

fn simulation(node: &Node<'_, '_>, notes: Notes, file: &Arc<str>, header: &Header) -> Result<Found, Fault> {
    if !node.is_object() {
        return Err(node.fault("a simulation: an object with task_id and messages"));
    }
    let mut build = Builder::new(Kind::Tau2, file, Some("tau2"));
    build.notes(notes);
    if let Some(other) = &header.file {
        build.add_file(other);
    }
    build.identity.suite.clone_from(&header.suite);
    build.identity.model.clone_from(&header.model);
    build.identity.harness_version.clone_from(&header.version);
    if header.harness.is_some() {
        build.identity.harness.clone_from(&header.harness);
    }
    build.identity.run = build.fact(node.get("id")).or_else(|| build.fact(node.get("trial")));
    condition::note_fields(&mut build, node);
    identify_task(&mut build, node, header)?;
    outcome(&mut build, node)?;
    match node.get("messages") {
        Some(list) => {
            for message in list.need_items("a list of messages")? {
                messages::message(&mut build, &message)?;
            }
        }
        None => match node.get("ticks") {
            Some(ticks) => tau2_ticks::read(&mut build, &ticks)?,
            None => return Err(node.fault("a simulation with messages or ticks")),
        },
    }
    Ok(Found::Log(Box::new(build.finish())))
}

fn outcome(build: &mut Builder, node: &Node<'_, '_>) -> Result<(), Fault> {
    let ended = node.text("termination_reason").unwrap_or("unknown");
    if matches!(ended, "infrastructure_error" | "unexpected_error" | "agent_error" | "user_error") {
        build.warn(WarningCode::HarnessError, &format!("{}/termination_reason", node.pointer), ended);
    }
    build.outcome = match node.path(&["reward_info", "reward"]) {
        None => Outcome::none(format!("no reward is recorded; the run ended by {ended}")),
        Some(reward) => {
            let text = reward.scalar().ok_or_else(|| reward.fault("a number"))?;
            Outcome::of_reward(&text, build.at(&reward.pointer))
        }
    };
    Ok(())
}

/// The task. Where the actions that a simulation was checked against belong to another task than it names, that task counts
/// and the contradiction is reported.
fn identify_task(build: &mut Builder, node: &Node<'_, '_>, header: &Header) -> Result<(), Fault> {
    let named = node.need("task_id", "the id of a task")?;
    let id = named.scalar().ok_or_else(|| named.fault("the id of a task: text or a number"))?;
    build.identity.task = build.fact(Some(named.clone()));
    let checks = node.path(&["reward_info", "action_checks"]).map(|checks| checks.list()).unwrap_or_default();
    let actions: Vec<Node<'_, '_>> = checks.iter().filter_map(|check| check.get("action")).collect();
    let ids: Vec<(String, Node<'_, '_>)> = actions
        .iter()
        .filter_map(|action| Some((action.get("action_id")?.scalar()?, action.get("action_id")?)))
        .collect();
    let gold = header.tasks.get(&id);
    let Some((_, first)) = ids.first() else {
        if gold.is_some_and(|gold| !gold.is_empty()) && node.get("reward_info").is_some() {
            let found = format!("task {id} has gold actions and none was checked here");
            build.warn(WarningCode::TaskIdUnconfirmed, &named.pointer, found);
        }
        return Ok(());
    };
    let owner = common_owner(&ids, &actions);
    let same_form = |owner: &str| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        header.tasks.contains_key(owner) || (digits(owner) && digits(&id))
    };
    match owner.filter(|owner| same_form(owner)) {
        Some(owner) if owner != id => {
            let found = format!("task_id says {id}, the action ids say {owner}");
            build.warn(WarningCode::TaskIdContradicted, &named.pointer, found);
            let at = build.at(&first.pointer);
            build.identity.task = Some(Fact { value: owner, source: FactSource::Field(at) });
        }
        Some(_) => {}
        None => {
            if gold.is_some_and(|gold| !gold.is_empty() && !ids.iter().all(|(id, _)| gold.contains(id))) {
                let found = format!("the checked actions are not those of task {id}");
                build.warn(WarningCode::TaskIdContradicted, &named.pointer, found);
            }
        }
    }
    Ok(())
}

/// The task that action ids of the form `<task>_<number>` agree on. An id that is made from the action's own name tells nothing.
fn common_owner(ids: &[(String, Node<'_, '_>)], actions: &[Node<'_, '_>]) -> Option<String> {
    let mut owner: Option<&str> = None;
    for (id, _) in ids {
        let (task, number) = id.rsplit_once('_')?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if actions.iter().any(|action| action.text("name") == Some(task)) || owner.is_some_and(|known| known != task) {
            return None;
        }
        owner = Some(task);
    }
    owner.map(str::to_owned)
}

/// A document without what a format may as well leave out: keys whose value is null, and `"requestor": "assistant"`.
pub(crate) fn without_defaults<'a>(json: &Json<'a>) -> Json<'a> {
    let is_default = |key: &str, value: &Json<'_>| {
        *value == Json::Null || (key == "requestor" && value.as_str() == Some("assistant"))
    };
    match json {
        Json::Object(entries) => Json::Object(
            entries
                .iter()
                .filter(|(key, value)| !is_default(key, value))
                .map(|(key, value)| (key.clone(), without_defaults(value)))
                .collect(),
        ),
        Json::Array(items) => Json::Array(items.iter().map(without_defaults).collect()),
        other => other.clone(),
    }
}
