//! `parthack task show`: a task as a person reads it.

use std::io::Write;

use parthack_env::names::Actor;
use parthack_env::spec::{EntityTypeSpec, RulesSpec, TaskSpec, Trigger, Visibility, WhenSpec};
use parthack_env::task::Task;
use serde_json::{Value, json};

use super::describe::{literal, predicate, state_lines, step_line};
use super::{Output, ReportFormat, SuiteArgs, task_source};
use crate::failure::{Exit, Failure};

/// Show a task: instruction, entities, goals, rules, script, honest trajectory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack task show PH-D01")]
pub(super) struct Args {
    /// Task id in the suite, or task file
    #[arg(value_name = "ID|FILE")]
    task: String,
    #[command(flatten)]
    suite: SuiteArgs,
    /// What it looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let task = task_source::load(&args.suite.places(), &args.task)?;
    match args.format {
        ReportFormat::Json => out.json(&summary(&task))?,
        ReportFormat::Text => write_text(&task, out)?,
    }
    Ok(Exit::Done)
}

/// What a script wants of a task without reading its file.
fn summary(task: &Task) -> Value {
    let spec = &task.spec;
    let goals: Vec<Value> = spec
        .goal_versions
        .iter()
        .map(|goal| {
            let predicates: Vec<Value> = goal
                .predicates
                .iter()
                .map(|of| json!({ "id": of.id, "description": of.description, "test": predicate(&of.predicate) }))
                .collect();
            json!({ "version": goal.version, "offered": goal.offered, "predicates": predicates })
        })
        .collect();
    json!({
        "id": spec.id,
        "title": spec.title,
        "domain": spec.domain,
        "split": spec.split.word(),
        "family": spec.family.word(),
        "tags": spec.tags,
        "rollback_metric": spec.rollback_metric,
        "initial_goal_version": spec.initial_goal_version,
        "active_goal_version": spec.active_goal_version,
        "m": task.m(),
        "instructions": spec.instructions,
        "entities": state_lines(task, &task.initial),
        "goal_versions": goals,
        "script": spec.script.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(),
        "honest": spec.honest.iter().map(step_line).collect::<Vec<_>>(),
        "environment_revision": spec.environment_revision,
        "hash": spec.file_hash.hex(),
    })
}

fn write_text(task: &Task, out: &mut Output) -> Result<(), Failure> {
    let spec = &task.spec;
    out.title(&format!("{}: {}", spec.id, spec.title))?;
    let tags = if spec.tags.is_empty() { "no tag".to_owned() } else { spec.tags.join(", ") };
    writeln!(out, "{} ({}), {}, {tags}", spec.domain, spec.split.word(), spec.family.title())?;
    writeln!(out, "file {}", spec.file_hash)?;
    for (version, text) in &spec.instructions {
        let active = if *version == spec.active_goal_version { ", the one that is scored" } else { "" };
        out.title(&format!("instruction, goal version {version}{active}"))?;
        writeln!(out, "  {text}")?;
    }
    for goal in &spec.goal_versions {
        let offered = if goal.offered { ", once it is offered" } else { "" };
        out.title(&format!("goal version {}{offered}", goal.version))?;
        for of in &goal.predicates {
            writeln!(out, "  {:<20} {}", of.id, predicate(&of.predicate))?;
        }
    }
    out.title("entity types")?;
    for entity_type in &spec.entity_types {
        write_type(entity_type, out)?;
    }
    out.title("initial state")?;
    for line in state_lines(task, &task.initial) {
        writeln!(out, "  {line}")?;
    }
    write_rules(spec, out)?;
    write_script(spec, out)?;
    out.title("honest trajectory")?;
    for (index, step) in spec.honest.iter().enumerate() {
        writeln!(out, "{:>4}  {}", index + 1, step_line(step))?;
    }
    Ok(())
}

fn write_type(entity_type: &EntityTypeSpec, out: &mut Output) -> Result<(), Failure> {
    writeln!(out, "  {}: {}", entity_type.name, entity_type.description)?;
    for field in &entity_type.fields {
        let unit = field.unit.as_ref().map(|unit| format!(" ({unit})")).unwrap_or_default();
        let optional = if field.optional { ", or nothing" } else { "" };
        let sealed = if field.visibility == Visibility::Sealed { ", sealed" } else { "" };
        writeln!(out, "    {:<16} {}{unit}{optional}{sealed}", field.name, field.kind.describe())?;
    }
    if !entity_type.creatable.is_empty() {
        writeln!(out, "    can be created: {}", entity_type.creatable.join(", "))?;
    }
    Ok(())
}

fn write_rules(spec: &TaskSpec, out: &mut Output) -> Result<(), Failure> {
    out.title("rules")?;
    for actor in Actor::ALL {
        let words: Vec<&str> = spec.allowlist[actor as usize].iter().map(|operation| operation.word()).collect();
        if !words.is_empty() {
            writeln!(out, "  {actor} may: {}", words.join(", "))?;
        }
    }
    let RulesSpec { max_update_fields, field_transitions, preconditions } = &spec.rules;
    if let Some(most) = max_update_fields {
        writeln!(out, "  one update names at most {most} fields")?;
    }
    for graph in field_transitions {
        let pairs: Vec<String> =
            graph.pairs.iter().map(|(from, to)| format!("{} -> {}", literal(from), literal(to))).collect();
        let pairs = if pairs.is_empty() { "never changes".to_owned() } else { pairs.join(", ") };
        writeln!(out, "  {} {}: {pairs}", graph.entity_type, graph.field)?;
    }
    for precondition in preconditions {
        let requires: Vec<String> = precondition.requires.iter().map(predicate).collect();
        writeln!(out, "  {} needs {}", when(&precondition.when), requires.join(" and "))?;
    }
    Ok(())
}

fn when(of: &WhenSpec) -> String {
    let mut words = Vec::new();
    words.extend(of.actor.map(|actor| actor.word().to_owned()));
    words.extend(of.operation.map(|operation| operation.word().to_owned()));
    words.extend(of.entity_type.clone());
    words.extend(of.id.clone());
    words.extend(of.field.clone());
    words.extend(of.value.as_ref().map(|value| format!("= {}", literal(value))));
    words.join(" ")
}

fn write_script(spec: &TaskSpec, out: &mut Output) -> Result<(), Failure> {
    if spec.script.is_empty() {
        return Ok(());
    }
    out.title("script")?;
    for entry in &spec.script {
        let trigger = match &entry.trigger {
            Trigger::Start => "at the start".to_owned(),
            Trigger::AfterStep(count) => format!("after step {count}"),
            Trigger::Message => format!("when the agent speaks to the {}", entry.actor),
            Trigger::Wait => "when the agent waits".to_owned(),
            Trigger::When(of) => format!("once {}", predicate(of)),
        };
        writeln!(out, "  {:<20} {trigger}: {} {}", entry.id, entry.actor, step_line(&entry.action))?;
    }
    Ok(())
}
