//! The folder of a Harbor trial around a trajectory: who ran what, and the verdict of the verifier.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::atif::agree;
use crate::builder::Builder;
use crate::condition::{self, condition_of};
use crate::fault::Fault;
use crate::input;
use crate::json;
use crate::log::{Fact, FactSource, Outcome, Provenance, Verdict, WarningCode};
use crate::node::Node;

/// The folder of the trial that a trajectory belongs to.
pub(crate) fn folder_of(trajectory: &Path) -> Option<PathBuf> {
    let parent = trajectory.parent()?;
    let looks_like_trial =
        |folder: &Path| ["result.json", "config.json", "verifier"].iter().any(|name| folder.join(name).exists());
    if parent.file_name().is_some_and(|name| name == "agent") {
        let folder = parent.parent()?;
        return looks_like_trial(folder).then(|| folder.to_path_buf());
    }
    looks_like_trial(parent).then(|| parent.to_path_buf())
}

/// Whether a file is one of those that a trial or a job keeps beside its trajectories.
pub(crate) fn is_companion(path: &Path) -> bool {
    let name = input::file_name(path);
    let Some(parent) = path.parent() else { return false };
    if parent.file_name().is_some_and(|folder| folder == "verifier") {
        return parent
            .parent()
            .is_some_and(|trial| trial.join("agent").is_dir() || trial.join("result.json").is_file());
    }
    if !matches!(name.as_str(), "result.json" | "config.json" | "job.json" | "lock.json") {
        return false;
    }
    let is_of_trial = |folder: &Path| folder.join("agent").is_dir() || folder.join("verifier").is_dir();
    if is_of_trial(parent) || parent.join("trajectory.json").is_file() {
        return true;
    }
    if name != "result.json" && parent.join("result.json").is_file() {
        return true;
    }
    // A job: folders of trials below it.
    std::fs::read_dir(parent)
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.path().is_dir() && is_of_trial(&entry.path())))
}

/// Whether this is the result of a trial that left no trajectory.
pub(crate) fn lacks_trajectory(path: &Path) -> bool {
    let Some(parent) = path.parent() else { return false };
    input::file_name(path) == "result.json"
        && !parent.join("agent/trajectory.json").is_file()
        && !parent.join("trajectory.json").is_file()
        && (parent.join("agent").is_dir() || parent.join("verifier").is_dir())
}

/// Adds what the folder of a trial tells.
pub(crate) fn read(build: &mut Builder, folder: &Path) {
    let config = companion(build, &folder.join("config.json"));
    if let Some((file, text)) = &config
        && let Some(parsed) = parsed(build, file, text)
    {
        from_config(build, file, &Node::new(&parsed, ""));
    }
    let (mut rewards, mut is_several) = (Vec::new(), false);
    let result = companion(build, &folder.join("result.json"));
    if let Some((file, text)) = &result
        && let Some(parsed) = parsed(build, file, text)
    {
        let root = Node::new(&parsed, "");
        from_result(build, file, &root, &mut rewards);
        is_several |= root.path(&["verifier_result", "rewards"]).as_ref().is_some_and(has_several);
    }
    if let Some((file, text)) = companion(build, &folder.join("verifier/reward.json"))
        && let Some(parsed) = parsed(build, &file, &text)
    {
        let root = Node::new(&parsed, "");
        rewards.extend(reward_of(&root).map(|(reward, at)| Outcome::of_reward(&reward, place(&file, &at))));
        is_several |= has_several(&root);
    }
    if let Some((file, text)) = companion(build, &folder.join("verifier/reward.txt")) {
        rewards.push(Outcome::of_reward(&text, place(&file, "")));
    }
    let none = if is_several { "several rewards, none named reward" } else { "the trial has no reward" };
    decide(build, rewards, none);
    if let Some((file, text)) = companion(build, &folder.join("verifier/ctrf.json"))
        && let Some(parsed) = parsed(build, &file, &text)
    {
        compare_tests(build, &file, &Node::new(&parsed, ""));
    }
}

fn place(file: &Arc<str>, pointer: &str) -> Provenance {
    Provenance { file: file.clone(), line: None, pointer: pointer.to_owned() }
}

fn fact(file: &Arc<str>, node: Option<Node<'_, '_>>) -> Option<Fact> {
    let node = node?;
    let value = node.scalar().filter(|value| !value.trim().is_empty())?;
    Some(Fact { value, source: FactSource::Field(place(file, &node.pointer)) })
}

/// A model that is told in two fields, as other files tell it in one: `provider/name`.
fn served_model(file: &Arc<str>, info: &Node<'_, '_>) -> Option<Fact> {
    let name = fact(file, info.get("name"))?;
    let Some(provider) = fact(file, info.get("provider")) else { return Some(name) };
    let is_there = name.value.strip_prefix(&provider.value).is_some_and(|rest| rest.starts_with('/'));
    Some(if is_there { name } else { Fact { value: format!("{}/{}", provider.value, name.value), ..name } })
}

/// The text of a companion file that is there.
fn companion(build: &mut Builder, path: &Path) -> Option<(Arc<str>, String)> {
    if !input::is_file(path) {
        return None;
    }
    let file = input::shown(path);
    match input::read_text(path) {
        Ok(text) => {
            build.add_file(&file);
            Some((file, text))
        }
        Err(fault) => {
            unreadable(build, &file, &fault);
            None
        }
    }
}

fn parsed<'t>(build: &mut Builder, file: &Arc<str>, text: &'t str) -> Option<parthack_env::json::Json<'t>> {
    match json::parse(text) {
        Ok((json, _)) => Some(json),
        Err(fault) => {
            unreadable(build, file, &fault);
            None
        }
    }
}

fn unreadable(build: &mut Builder, file: &Arc<str>, fault: &Fault) {
    let found = format!("{}: found {}, expected {}", fault.place, fault.found, fault.expected);
    build.warn_at(WarningCode::CompanionUnreadable, Some(place(file, "")), found);
}

fn from_config(build: &mut Builder, file: &Arc<str>, config: &Node<'_, '_>) {
    let task_path = config.path(&["task", "path"]);
    if build.identity.task.is_none() {
        build.identity.task = fact(file, config.path(&["task", "name"])).or_else(|| {
            let node = task_path.clone()?;
            let name = node.str()?.trim_end_matches('/').rsplit('/').next()?.to_owned();
            Some(Fact { value: name, source: FactSource::Field(place(file, &node.pointer)) })
        });
    }
    if build.identity.suite.is_none() {
        build.identity.suite = fact(file, config.path(&["task", "source"]));
    }
    let model = fact(file, config.path(&["agent", "model_name"]));
    build.identity.model = agree(build, model, build.identity.model.clone());
    if build.identity.harness.is_none() {
        build.identity.harness = fact(file, config.path(&["agent", "name"]));
    }
    for keys in [&[][..], &["agent"][..], &["agent", "kwargs"], &["metadata"], &["task"]] {
        if let Some(node) = config.path(keys) {
            condition::note_fields(build, &node);
        }
    }
    if let Some(node) = task_path
        && let Some(told) = node.str().and_then(|path| path.rsplit('/').find_map(condition_of))
    {
        condition::note(build, told, FactSource::Field(place(file, &node.pointer)));
    }
}

fn from_result(build: &mut Builder, file: &Arc<str>, result: &Node<'_, '_>, rewards: &mut Vec<Outcome>) {
    if let Some(task) = fact(file, result.get("task_name")) {
        build.identity.task = Some(task);
    }
    if let Some(suite) = fact(file, result.get("source")) {
        build.identity.suite = Some(suite);
    }
    if let Some(run) = fact(file, result.get("trial_name")).or_else(|| fact(file, result.get("id"))) {
        build.identity.run = Some(run);
    }
    if let Some(harness) = fact(file, result.path(&["agent_info", "name"])) {
        build.identity.harness = Some(harness);
    }
    if let Some(version) = fact(file, result.path(&["agent_info", "version"])) {
        build.identity.harness_version = Some(version);
    }
    let model = result.path(&["agent_info", "model_info"]).and_then(|info| served_model(file, &info));
    build.identity.model = agree(build, model, build.identity.model.clone());
    let verifier = result.get("verifier_result");
    let stated = verifier
        .as_ref()
        .and_then(|verifier| verifier.get("rewards").as_ref().and_then(reward_of).or_else(|| reward_of(verifier)));
    if let Some((reward, pointer)) = stated {
        rewards.push(Outcome::of_reward(&reward, place(file, &pointer)));
    }
    if let Some(exception) = result.get("exception_info") {
        let what = exception.text("exception_type").unwrap_or("an exception");
        let why = exception.text("exception_message").unwrap_or("");
        let found = format!("{what}: {}", json::shorten(why));
        build.warn_at(WarningCode::HarnessError, Some(place(file, &exception.pointer)), found);
    }
}

/// The reward in an object of rewards: under `reward`, or the only number that is there. A bare number is one too.
fn reward_of(node: &Node<'_, '_>) -> Option<(String, String)> {
    if let Some(reward) = node.get("reward") {
        return Some((reward.scalar()?, reward.pointer));
    }
    if !node.is_object() {
        return node.scalar().map(|text| (text, node.pointer.clone()));
    }
    let mut numbers = node.entries().into_iter().filter_map(|(_, value)| Some((value.scalar()?, value.pointer)));
    let only = numbers.next()?;
    numbers.next().is_none().then_some(only)
}

/// Whether an object has more than one reward and none that is named so.
fn has_several(node: &Node<'_, '_>) -> bool {
    node.get("reward").is_none() && node.entries().iter().filter(|(_, value)| value.scalar().is_some()).count() > 1
}

/// The harness's own record decides, then `reward.json`, then `reward.txt`; where they differ there is a warning, and
/// without the harness's record there is no verdict.
fn decide(build: &mut Builder, rewards: Vec<Outcome>, none: &str) {
    let is_of_harness =
        |outcome: &Outcome| outcome.source.as_ref().is_some_and(|source| source.file.ends_with("result.json"));
    let Some(first) = rewards.first() else {
        build.outcome = Outcome::none(none);
        return;
    };
    let verdicts =
        |outcome: &Outcome| (outcome.verdict, outcome.reward.as_deref().and_then(|text| text.parse::<f64>().ok()));
    let Some(other) = rewards.iter().skip(1).find(|other| verdicts(other) != verdicts(first)) else {
        build.outcome = first.clone();
        return;
    };
    let name = |outcome: &Outcome| {
        let file = outcome.source.as_ref().map_or("", |source| source.file.as_ref());
        format!("{} in {}", outcome.reward.as_deref().unwrap_or(""), file.rsplit('/').next().unwrap_or(file))
    };
    let found = format!("{}, {}", name(first), name(other));
    build.warn_at(WarningCode::RewardsDiffer, other.source.clone(), found.clone());
    build.outcome = if is_of_harness(first) {
        first.clone()
    } else {
        Outcome {
            verdict: Verdict::None,
            reward: None,
            source: first.source.clone(),
            reason: Some(format!("the records of the reward differ: {found}")),
        }
    };
}

fn compare_tests(build: &mut Builder, file: &Arc<str>, report: &Node<'_, '_>) {
    let tests = report.path(&["results", "tests"]).map(|tests| tests.list()).unwrap_or_default();
    let status = |test: &Node<'_, '_>, word: &str| test.text("status") == Some(word);
    let failed = tests.iter().filter(|test| status(test, "failed")).count();
    let passed = tests.iter().filter(|test| status(test, "passed")).count();
    if build.outcome.source.is_none() && !tests.is_empty() {
        // Which tests the reward needs, a report doesn't say.
        let found = format!("{passed} tests passed and {failed} failed, and no reward says what that makes");
        let reason = build.outcome.reason.take().unwrap_or_default();
        build.outcome.reason = Some(format!("{reason}; {passed} tests passed and {failed} failed"));
        return build.warn_at(WarningCode::TestsWithoutReward, Some(place(file, "/results/tests")), found);
    }
    let contradicts = match build.outcome.verdict {
        Verdict::Pass => failed > 0,
        Verdict::Fail => failed == 0 && passed > 0 && passed == tests.len(),
        Verdict::None => false,
    };
    if contradicts {
        let reward = build.outcome.reward.clone().unwrap_or_default();
        let found = format!("{passed} tests passed and {failed} failed, and the reward is {reward}");
        build.warn_at(WarningCode::TestsContradictReward, Some(place(file, "/results/tests")), found);
    }
}
