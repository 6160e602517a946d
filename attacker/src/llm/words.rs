//! A public task in words: everything that a white-box attacker may know, as compact as a small model needs it.

use std::fmt::Write as _;

use parthack_env::frames::{Frame, frames};
use parthack_env::names::{Actor, Operation};
use parthack_env::predicate::{Comparison, FieldTest, Predicate};
use parthack_env::replay::Replay;
use parthack_env::spec::{FieldSpec, PreconditionSpec, Recreate, Trigger, Visibility};
use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_env::value::{FieldKind, Literal};

use super::form::answer_step;

/// The whole task. Sealed values stand as `<sealed 1>`, `<sealed 2>`, …: equal values, equal numbers.
pub(super) fn task_in_words(task: &Task) -> String {
    let mut out = String::new();
    let spec = &task.spec;
    line(&mut out, &format!("TASK {}: {}", spec.id, spec.title));
    for (version, text) in task.instructions_in_force(spec.active_goal_version) {
        line(&mut out, &format!("INSTRUCTION (goal version {version}): {text}"));
    }
    entity_types(task, &mut out);
    line(&mut out, "\nINITIAL STATE");
    for entity in &spec.initial_state {
        let deleted = if entity.live { "" } else { " (deleted)" };
        line(&mut out, &format!("{} {}{deleted}: {}", entity.entity_type, entity.id, fields(&entity.fields)));
    }
    rules(task, &mut out);
    script(task, &mut out);
    goal(task, &mut out);
    honest(task, &mut out);
    numbered_tokens(out.trim_end())
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn entity_types(task: &Task, out: &mut String) {
    line(out, "\nENTITY TYPES");
    for entity_type in &task.spec.entity_types {
        let fields: Vec<String> = entity_type.fields.iter().map(field).collect();
        let mut text = format!("{}: {}", entity_type.name, fields.join("; "));
        if !entity_type.creatable.is_empty() {
            let _ = write!(text, ". New ids: {}", entity_type.creatable.join(", "));
        }
        if entity_type.recreate == Recreate::NewIncarnation {
            text.push_str(". A deleted id may be created again, as a new incarnation");
        }
        line(out, &text);
    }
}

fn field(field: &FieldSpec) -> String {
    let mut text = format!("{} {}", field.name, kind(&field.kind));
    if let Some(unit) = &field.unit {
        let _ = write!(text, " ({unit})");
    }
    if field.optional {
        text.push_str(" or null");
    }
    if field.visibility == Visibility::Sealed {
        text.push_str(" [sealed: you can't write it]");
    }
    text
}

fn kind(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Bool => "true|false".to_owned(),
        FieldKind::Integer { min, max } => format!("{min}..{max}"),
        FieldKind::Text { .. } => "text".to_owned(),
        FieldKind::Enum { symbols } => symbols.join("|"),
        FieldKind::Ref { entity_type } => format!("id of {entity_type}"),
        FieldKind::Tick => "tick".to_owned(),
        FieldKind::Set { .. } => format!("set of {}", self::kind(kind.element())),
        FieldKind::ImportedInteger => "integer".to_owned(),
        FieldKind::ImportedNumber => "number".to_owned(),
        FieldKind::ImportedOpaque => "any value".to_owned(),
    }
}

fn fields(fields: &[(String, Literal)]) -> String {
    let parts: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", literal(value))).collect();
    parts.join(", ")
}

fn literal(literal: &Literal) -> String {
    let mut out = Vec::new();
    literal.push_json(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn rules(task: &Task, out: &mut String) {
    line(out, "\nRULES");
    let allowed: Vec<&str> =
        Operation::ALL.into_iter().filter(|op| task.allows(Actor::Agent, *op)).map(Operation::word).collect();
    line(out, &format!("- You may use: {}.", allowed.join(", ")));
    if let Some(most) = task.spec.rules.max_update_fields {
        line(out, &format!("- One update writes at most {most} field(s)."));
    }
    for graph in &task.spec.rules.field_transitions {
        let pairs: Vec<String> =
            graph.pairs.iter().map(|(from, to)| format!("{} to {}", literal(from), literal(to))).collect();
        line(out, &format!("- {}.{} may go only: {}.", graph.entity_type, graph.field, pairs.join(", ")));
    }
    for rule in &task.spec.rules.preconditions {
        line(out, &format!("- {}", precondition(rule)));
    }
}

fn precondition(rule: &PreconditionSpec) -> String {
    let when = &rule.when;
    let mut text = when.actor.map_or_else(String::new, |actor| format!("{actor}: "));
    text.push_str(when.operation.map_or("any step", Operation::word));
    for part in [&when.entity_type, &when.id].into_iter().flatten() {
        let _ = write!(text, " {part}");
    }
    if let Some(field) = &when.field {
        let value = when.value.as_ref().map_or_else(|| "anything".to_owned(), literal);
        let _ = write!(text, " {field}={value}");
    }
    let needs: Vec<String> = rule.requires.iter().map(predicate).collect();
    format!("{text} needs {}. ({})", needs.join(" and "), rule.message)
}

fn script(task: &Task, out: &mut String) {
    if task.spec.script.is_empty() {
        line(out, "- Nobody else acts.");
        return;
    }
    line(out, "\nOTHERS (each once)");
    for entry in &task.spec.script {
        let when = match &entry.trigger {
            Trigger::Start => "before your first step".to_owned(),
            Trigger::AfterStep(count) => format!("after your step {count}"),
            Trigger::Message => format!("when you say something to {}", entry.actor),
            Trigger::Wait => "when you wait".to_owned(),
            Trigger::When(test) => format!("as soon as {}", predicate(test)),
        };
        line(out, &format!("- {} {when}: {}", entry.actor, action(&entry.action)));
    }
}

fn action(step: &Step) -> String {
    match step {
        Step::Create { entity_type, id, fields: values } | Step::Update { entity_type, id, fields: values } => {
            format!("{} {entity_type} {id}: {}", step.operation().word(), fields(values))
        }
        Step::Delete { entity_type, id } | Step::Restore { entity_type, id } | Step::Read { entity_type, id } => {
            format!("{} {entity_type} {id}", step.operation().word())
        }
        Step::ReviseGoal { version } => format!("revise_goal {version}"),
        Step::List { entity_type } => format!("list {entity_type}"),
        Step::Say { to, text, offers } => {
            let offer = offers.map_or_else(String::new, |version| format!(", which offers goal version {version}"));
            format!("say to {to}: {}{offer}", literal(&Literal::Text(text.clone())))
        }
        Step::Wait => "wait".to_owned(),
    }
}

fn goal(task: &Task, out: &mut String) {
    let active = task.spec.active_goal_version;
    line(
        out,
        &format!(
            "\nGOAL PREDICATES (version {active}, the active one; the world starts at version {})",
            task.spec.initial_goal_version
        ),
    );
    for goal in &task.spec.goal_versions {
        if goal.version == active {
            for item in &goal.predicates {
                line(out, &format!("- {}: {}", item.id, predicate(&item.predicate)));
            }
        } else {
            let parts: Vec<String> = goal.predicates.iter().map(|item| predicate(&item.predicate)).collect();
            line(out, &format!("(version {} asks: {})", goal.version, parts.join("; ")));
        }
        if goal.offered {
            line(out, &format!("(version {} must be offered before you may revise to it)", goal.version));
        }
    }
}

fn predicate(predicate: &Predicate) -> String {
    let of = |incarnation: &Option<u32>| incarnation.map_or_else(String::new, |n| format!(" (incarnation {n})"));
    let join = |parts: &[Predicate], word: &str| {
        let parts: Vec<String> = parts.iter().map(self::predicate).collect();
        format!("({})", parts.join(word))
    };
    match predicate {
        Predicate::Exists { entity_type, id, incarnation } => format!("{entity_type} {id} exists{}", of(incarnation)),
        Predicate::Absent { entity_type, id } => format!("{entity_type} {id} was never created"),
        Predicate::Deleted { entity_type, id, incarnation } => {
            format!("{entity_type} {id} is deleted{}", of(incarnation))
        }
        Predicate::Field { entity_type, id, field, incarnation, test: of_field, .. } => {
            format!("{entity_type} {id}{}: {field} {}", of(incarnation), test(of_field))
        }
        Predicate::Count { entity_type, filter, compare, count } => {
            let compare = match compare {
                Comparison::AtLeast => "at least",
                Comparison::AtMost => "at most",
                Comparison::Equals => "exactly",
            };
            let filter: Vec<String> = filter.iter().map(|(field, of)| format!("{field} {}", test(of))).collect();
            format!("{compare} {count} {entity_type} with {}", filter.join(" and "))
        }
        Predicate::GoalVersion(version) => format!("the goal version is {version}"),
        Predicate::All(parts) => join(parts, " and "),
        Predicate::Any(parts) => join(parts, " or "),
        Predicate::Not(part) => format!("not ({})", self::predicate(part)),
    }
}

fn test(test: &FieldTest) -> String {
    match test {
        FieldTest::Equals(value) => format!("= {}", literal(value)),
        FieldTest::In(values) => {
            let values: Vec<String> = values.iter().map(literal).collect();
            format!("is one of {}", values.join(", "))
        }
        FieldTest::AtLeast(bound) => format!(">= {bound}"),
        FieldTest::AtMost(bound) => format!("<= {bound}"),
        FieldTest::Contains(value) => format!("contains {}", literal(value)),
    }
}

fn honest(task: &Task, out: &mut String) {
    line(out, "\nHONEST STEPS");
    for step in &task.spec.honest {
        line(out, &answer_step(step));
    }
    let replay = Replay::run(task, &task.spec.honest);
    let last = frames(&replay).last().copied().unwrap_or_default();
    line(out, &ending(task, last, replay.world().goal_version()));
}

/// What holds at the end of the honest steps, who is credited, and what is missing.
fn ending(task: &Task, last: Frame, version: u32) -> String {
    let goal = task.spec.goal_versions.iter().find(|goal| goal.version == task.spec.active_goal_version);
    let items = goal.map(|goal| goal.predicates.as_slice()).unwrap_or_default();
    let named = |bits: u32| {
        let names: Vec<&str> =
            (0..).zip(items).filter(|(j, _)| bits >> j & 1 == 1).map(|(_, item)| item.id.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let missing: Vec<String> = (0..)
        .zip(items)
        .filter(|(j, _)| last.satisfied >> j & 1 == 0)
        .map(|(_, item)| format!("{} ({})", item.id, predicate(&item.predicate)))
        .collect();
    format!(
        "They end at goal version {version}. Holding at their end: {}; credited to you: {}. Not holding at their end: {}.",
        named(last.satisfied),
        named(last.credited),
        missing.join("; ")
    )
}

/// Replaces equality tokens, which are long and mean nothing, by numbers in the order in which they come.
fn numbered_tokens(text: &str) -> String {
    const BEGIN: &str = "{\"token\":\"";
    let mut known: Vec<&str> = Vec::new();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let after = &rest[at + BEGIN.len()..];
        let Some(end) = after.find("\"}") else { break };
        out.push_str(&rest[..at]);
        let token = &after[..end];
        let number = known.iter().position(|one| *one == token).unwrap_or_else(|| {
            known.push(token);
            known.len() - 1
        });
        let _ = write!(out, "<sealed {}>", number + 1);
        rest = &after[end + 2..];
    }
    out.push_str(rest);
    out
}
