//! Facts that many formats state in fields of the same names, and the condition that fields and folders tell.

use std::path::Path;

use crate::builder::Builder;
use crate::log::{Condition, Fact, FactSource, Log, Outcome, Provenance, Verdict, Warning, WarningCode};
use crate::node::Node;

/// The condition that a word or a folder's name tells.
pub(crate) fn condition_of(text: &str) -> Option<Condition> {
    let plain: String = text
        .to_lowercase()
        .chars()
        .map(|character| if character.is_alphanumeric() { character } else { '-' })
        .collect();
    let has = |word: &str| format!("-{plain}-").contains(&format!("-{word}-"));
    let any = |words: &[&str]| words.iter().any(|word| has(word));
    if any(&["self-generated", "selfgenerated", "self-gen", "selfgen", "self-generated-skill", "self-generated-skills"])
    {
        return Some(Condition::SelfGenerated);
    }
    let without = [
        "no-skill",
        "no-skills",
        "noskill",
        "noskills",
        "without-skill",
        "without-skills",
        "withoutskill",
        "withoutskills",
        "wo-skill",
        "wo-skills",
        "w-o-skill",
        "w-o-skills",
        "without",
    ];
    if any(&without) {
        return Some(Condition::WithoutSkill);
    }
    let with = [
        "with-skill",
        "with-skills",
        "withskill",
        "withskills",
        "w-skill",
        "w-skills",
        "curated",
        "curated-skill",
        "curated-skills",
    ];
    if any(&with) {
        return Some(Condition::WithSkill);
    }
    None
}

/// Notes a condition; another one than known is a contradiction, and the first stands.
pub(crate) fn note(build: &mut Builder, condition: Condition, source: FactSource) {
    let known = build.identity.condition;
    if known == Condition::NoneKnown {
        build.identity.condition = condition;
        build.identity.condition_source = Some(source);
    } else if known != condition {
        let at = match source {
            FactSource::Field(at) => Some(at),
            FactSource::Path | FactSource::Format => None,
        };
        let found = format!("{} here, {} elsewhere", condition.word(), known.word());
        build.warn_at(WarningCode::ConditionContradicted, at, found);
    }
}

/// The condition that the name of a file or of one of its folders tells, the nearest first.
pub(crate) fn of_path(path: &Path) -> Option<Condition> {
    path.ancestors().filter_map(|part| condition_of(&part.file_name()?.to_string_lossy())).next()
}

/// Notes the condition that a log's path tells; what the log says itself comes first.
pub(crate) fn note_path(log: &mut Log, told: Condition) {
    let known = log.identity.condition;
    if known == Condition::NoneKnown {
        log.identity.condition = told;
        log.identity.condition_source = Some(FactSource::Path);
    } else if known != told {
        let found = format!("{} here, {} elsewhere", told.word(), known.word());
        log.warnings.push(Warning { code: WarningCode::ConditionContradicted, at: None, found });
    }
}

/// The conditions that fields of this object tell, each with its pointer.
pub(crate) fn told(node: &Node<'_, '_>) -> Vec<(Condition, String)> {
    let words = ["condition", "skill_condition", "skills_condition", "skill_mode"].iter().filter_map(|key| {
        let field = node.get(key)?;
        Some((condition_of(field.str()?)?, field.pointer))
    });
    let flags = [("with_skill", true), ("with_skills", true), ("no_skills", false)].iter().filter_map(|(key, yes)| {
        let condition = if node.bool(key)? == *yes { Condition::WithSkill } else { Condition::WithoutSkill };
        Some((condition, format!("{}/{key}", node.pointer)))
    });
    words.chain(flags).collect()
}

/// Notes the condition that a field of this object tells.
pub(crate) fn note_fields(build: &mut Builder, node: &Node<'_, '_>) {
    for (condition, pointer) in told(node) {
        let at = build.at(&pointer);
        note(build, condition, FactSource::Field(at));
    }
}

/// Notes task, suite, model, harness, run, condition and verdict where an object states them under their usual names.
pub(crate) fn note_stated(build: &mut Builder, node: &Node<'_, '_>) {
    note_fields(build, node);
    let first = |build: &Builder, keys: &[&str]| keys.iter().find_map(|key| build.fact(node.get(key)));
    let keep = |slot: &mut Option<Fact>, fact: Option<Fact>| {
        if slot.is_none() {
            *slot = fact;
        }
    };
    let task = first(build, &["task_id", "instance_id", "task_name", "task"]);
    let suite = first(build, &["suite", "dataset", "benchmark", "domain"]);
    let model = first(build, &["model", "model_name", "model_name_or_path"]);
    let harness = first(build, &["harness", "agent", "agent_name", "scaffold"]);
    let run =
        first(build, &["run_id", "session_id", "trial", "trial_id", "trial_name", "trace_id", "conversation_id", "id"]);
    keep(&mut build.identity.task, task);
    keep(&mut build.identity.suite, suite);
    keep(&mut build.identity.model, model);
    keep(&mut build.identity.harness, harness);
    keep(&mut build.identity.run, run);
    if build.outcome.source.is_none()
        && let Some(outcome) = stated_outcome(build, node)
    {
        build.outcome = outcome;
    }
}

/// The verdict that an object states: the first of its fields that is a plain yes or no, or a reward. Fields that are neither are warned of.
fn stated_outcome(build: &mut Builder, node: &Node<'_, '_>) -> Option<Outcome> {
    let (mut decided, mut open) = (None::<Outcome>, Vec::new());
    for key in ["resolved", "passed", "success", "is_resolved", "outcome", "verdict", "result", "reward", "score"] {
        if decided.is_some() && matches!(key, "reward" | "score") {
            // Beside a verdict, a reward may be partial.
            break;
        }
        let Some(field) = node.get(key) else { continue };
        let Some(text) = field.scalar() else {
            // An object of several rewards, or of details, is no verdict and claims to be none.
            continue;
        };
        let is_count = key == "passed" && ["failed", "total", "errors"].iter().any(|key| node.get(key).is_some());
        let outcome = match yes_or_no(&text).filter(|_| !is_count) {
            Some(yes) => {
                let verdict = if yes { Verdict::Pass } else { Verdict::Fail };
                Outcome { verdict, reward: Some(text), source: Some(build.at(&field.pointer)), reason: None }
            }
            None if is_count => undecided(build, &field, &text, "counts tests"),
            None if matches!(key, "reward" | "score") => Outcome::of_reward(&text, build.at(&field.pointer)),
            // A result may be anything that a run brought forth.
            None if key == "result" => continue,
            None => undecided(build, &field, &text, "is neither yes nor no"),
        };
        if outcome.verdict == Verdict::None {
            open.push(outcome);
        } else if decided.is_none() {
            decided = Some(outcome);
        }
    }
    let Some(decided) = decided else {
        let first = (!open.is_empty()).then(|| open.remove(0));
        warn_of(build, open);
        return first;
    };
    warn_of(build, open);
    Some(decided)
}

fn undecided(build: &Builder, field: &Node<'_, '_>, text: &str, why: &str) -> Outcome {
    let reason = format!("{:?} {why}", crate::json::shorten(text));
    let source = Some(build.at(&field.pointer));
    Outcome { verdict: Verdict::None, reward: Some(text.to_owned()), source, reason: Some(reason) }
}

fn warn_of(build: &mut Builder, open: Vec<Outcome>) {
    for outcome in open {
        build.warn_at(WarningCode::RewardNotBinary, outcome.source, outcome.reason.unwrap_or_default());
    }
}

/// What a word, a flag or a number says where only yes and no are meant.
fn yes_or_no(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "true" | "yes" | "1" | "1.0" | "pass" | "passed" | "success" | "resolved" => Some(true),
        "false" | "no" | "0" | "0.0" | "fail" | "failed" | "failure" | "unresolved" => Some(false),
        _ => None,
    }
}

/// The verdict of a yes or no.
pub(crate) fn of_bool(passed: bool, at: Provenance) -> Outcome {
    let verdict = if passed { Verdict::Pass } else { Verdict::Fail };
    Outcome { verdict, reward: Some(passed.to_string()), source: Some(at), reason: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_conditions() {
        for (text, expected) in [
            ("with-skills", Some(Condition::WithSkill)),
            ("tasks_no_skills", Some(Condition::WithoutSkill)),
            ("opus.without-skill", Some(Condition::WithoutSkill)),
            ("claude-code_self_generated", Some(Condition::SelfGenerated)),
            ("skillsbench", None),
            ("herewith-skillful", None),
        ] {
            assert_eq!(condition_of(text), expected, "{text}");
        }
    }
}
