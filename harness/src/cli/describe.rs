//! Steps, events, states and predicates in one line each, for people.

use parthack_env::log::Event;
use parthack_env::predicate::{Comparison, FieldTest, Predicate};
use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_env::value::{Literal, Value};
use parthack_env::world::{Lifecycle, World};

/// A literal as JSON.
pub(super) fn literal(value: &Literal) -> String {
    let mut bytes = Vec::new();
    value.push_json(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A step: `update loan loan-204 state="approved"`.
pub(super) fn step_line(step: &Step) -> String {
    let word = step.operation().word();
    match step {
        Step::Create { entity_type, id, fields } | Step::Update { entity_type, id, fields } => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!(" {name}={}", literal(value))).collect();
            format!("{word} {entity_type} {id}{}", fields.concat())
        }
        Step::Delete { entity_type, id } | Step::Restore { entity_type, id } | Step::Read { entity_type, id } => {
            format!("{word} {entity_type} {id}")
        }
        Step::ReviseGoal { version } => format!("{word} {version}"),
        Step::List { entity_type } => format!("{word} {entity_type}"),
        Step::Say { to, text, offers } => {
            let offer = offers.map(|version| format!(" (offers goal version {version})")).unwrap_or_default();
            format!("{word} to {to}: {text}{offer}")
        }
        Step::Wait => word.to_owned(),
    }
}

/// An event: `update loan loan-204 state: "requested" -> "approved"`.
pub(super) fn event_line(task: &Task, event: &Event) -> String {
    let mut line = event.operation.word().to_owned();
    if let Some(slot) = event.target {
        line.push_str(&format!(" {} {}", task.type_of_slot(slot).name, task.slots[slot.at()].id));
        for (field, before, after) in &event.diff.fields {
            let name = &task.type_of_slot(slot).fields[field.at()].name;
            line.push_str(&format!(" {name}: {} -> {};", before.json(), after.json()));
        }
    }
    if let Some((before, after)) = event.diff.lifecycle {
        line.push_str(&format!(" ({} -> {})", before.word(), after.word()));
    }
    if let Some((before, after)) = event.diff.goal {
        line.push_str(&format!(" {before} -> {after}"));
    }
    if event.diff.is_empty() {
        line.push_str(" (no change)");
    }
    line.trim_end_matches(';').to_owned()
}

/// A line an entity: `loan loan-204: state="approved", lender="lib-penrose"`.
pub(super) fn state_lines(task: &Task, world: &World) -> Vec<String> {
    let there = world.entities().filter(|(_, entity)| entity.lifecycle != Lifecycle::Absent);
    there
        .map(|(slot, entity)| {
            let spec = task.type_of_slot(slot);
            let fields = spec.fields.iter().zip(&entity.fields).filter(|(_, value)| **value != Value::Null);
            let fields: Vec<String> = fields.map(|(field, value)| format!("{}={}", field.name, value.json())).collect();
            let deleted = if entity.lifecycle == Lifecycle::Deleted { " (deleted)" } else { "" };
            format!("{} {}{deleted}: {}", spec.name, task.slots[slot.at()].id, fields.join(", "))
        })
        .collect()
}

/// A predicate: `loan loan-204 lender refers to lib-penrose`.
pub(super) fn predicate(of: &Predicate) -> String {
    let pinned = |incarnation: &Option<u32>| incarnation.map(|n| format!(" (incarnation {n})")).unwrap_or_default();
    let join = |of: &[Predicate], word: &str| {
        let parts: Vec<String> = of.iter().map(predicate).collect();
        format!("({})", parts.join(word))
    };
    match of {
        Predicate::Exists { entity_type, id, incarnation } => {
            format!("{entity_type} {id} exists{}", pinned(incarnation))
        }
        Predicate::Absent { entity_type, id } => format!("{entity_type} {id} was never created"),
        Predicate::Deleted { entity_type, id, incarnation } => {
            format!("{entity_type} {id} is deleted{}", pinned(incarnation))
        }
        Predicate::Field { entity_type, id, field, incarnation, test, refers } => {
            let test = if *refers { field_test(test).replacen("=", "refers to", 1) } else { field_test(test) };
            format!("{entity_type} {id} {field} {test}{}", pinned(incarnation))
        }
        Predicate::Count { entity_type, filter, compare, count } => {
            let filter: Vec<String> =
                filter.iter().map(|(field, test)| format!("{field} {}", field_test(test))).collect();
            let filter = if filter.is_empty() { String::new() } else { format!(" with {}", filter.join(" and ")) };
            let compare = match compare {
                Comparison::AtLeast => "at least",
                Comparison::AtMost => "at most",
                Comparison::Equals => "exactly",
            };
            format!("{compare} {count} {entity_type}{filter}")
        }
        Predicate::GoalVersion(version) => format!("goal version {version} is in force"),
        Predicate::All(of) => join(of, " and "),
        Predicate::Any(of) => join(of, " or "),
        Predicate::Not(of) => format!("not ({})", predicate(of)),
    }
}

fn field_test(test: &FieldTest) -> String {
    match test {
        FieldTest::Equals(value) => format!("= {}", literal(value)),
        FieldTest::In(values) => format!("is one of {}", literal(&Literal::List(values.clone()))),
        FieldTest::AtLeast(bound) => format!(">= {bound}"),
        FieldTest::AtMost(bound) => format!("<= {bound}"),
        FieldTest::Contains(value) => format!("contains {}", literal(value)),
    }
}
