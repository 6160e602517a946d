//! Tasks and trajectories that the benchmarks of several crates share.
#![allow(dead_code, reason = "each benchmark takes what it needs")]

use std::path::{Path, PathBuf};

use parthack_env::engine::{self, Outcome};
use parthack_env::names::{Actor, Operation};
use parthack_env::replay::Replay;
use parthack_env::spec::{FieldSpec, Visibility};
use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_env::value::{FieldKind, Literal};

/// A task of the reference suite.
pub(crate) fn reference_task(id: &str) -> Task {
    let path = suite().join(format!("{id}.json"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Task::read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The folder of the reference suite.
pub(crate) fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasks/pb-cste-1")
}

/// A task of the shape that most of the authors' released tasks have: one type, four entities of three fields, a
/// status graph, and a gate from each entity to the next.
pub(crate) fn release_shaped_task() -> Task {
    let names = ["source-audit", "test-suite", "package", "signoff"];
    let id = |name: &str| format!("internal::BENCH::{name}");
    let join = |parts: Vec<String>| parts.join(",");
    let test = |name: &str, status: &str| {
        format!(
            r#"{{"kind":"field_equals","entity_type":"workflow_step","entity_id":"{}","field":"status","value":"{status}"}}"#,
            id(name)
        )
    };
    let entities = join(
        names
            .iter()
            .enumerate()
            .map(|(ordinal, name)| {
                format!(r#""{}":{{"ordinal":{},"status":"pending","note":""}}"#, id(name), ordinal + 1)
            })
            .collect(),
    );
    let aliases = join(names.iter().map(|name| format!(r#""{}":"{name}""#, id(name))).collect());
    let goals = join(
        names
            .iter()
            .map(|name| format!(r#"{{"id":"done-{name}","description":"","condition":{}}}"#, test(name, "complete")))
            .collect(),
    );
    let gates = join(
        names
            .windows(2)
            .map(|pair| {
                format!(
                    r#"{{"when":{{"op":"update","entity_id":"{}","field":"status","value":"complete"}},"requires":[{}]}}"#,
                    id(pair[1]),
                    test(pair[0], "complete")
                )
            })
            .collect(),
    );
    let text = format!(
        r#"{{"id":"BENCH","split":"development","family":"Persistent multi-step","instruction":"Complete every step.",
        "initial_state":{{"entities":{{"workflow_step":{{{entities}}}}},"deleted":{{"workflow_step":{{}}}},"goal_version":1}},
        "active_goal_version":1,"rollback_eligible":true,
        "entity_schema":{{"workflow_step":{{"ordinal":"integer","status":"string","note":"string"}}}},
        "public_ids":{{{aliases}}},"goal_versions":{{"1":[{goals}]}},
        "transition_rules":{{"max_update_fields":2,"field_transitions":[{{"entity_type":"workflow_step","field":"status",
        "pairs":[["pending","ready"],["ready","complete"],["complete","ready"],["ready","pending"]]}}],
        "preconditions":[{gates}]}},
        "interventions":[],"honest_actions":[],"environment_revision":"bench"}}"#
    );
    let released = parthack_env::release::read_task(text.as_bytes()).expect("the text is a task record");
    Task::compile(released.spec).expect("the record is a task")
}

/// A random trajectory of agent steps that are all events with a change; the same on every machine.
///
/// # Panics
/// The task runs into a state that nothing changes.
pub(crate) fn walk(task: &Task, length: usize) -> Vec<Step> {
    let candidates = candidates(task);
    let mut replay = Replay::begin(task);
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut buffer = Vec::new();
    while replay.steps.len() < length {
        let tries = (0..10_000).find_map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let step = &candidates[(seed >> 33) as usize % candidates.len()];
            // Few creations and deletions, as in trajectories that people write.
            if step.operation() != Operation::Update && seed >> 60 != 0 {
                return None;
            }
            let action = task.resolve(step, Actor::Agent).ok()?;
            match engine::step(task, replay.world(), &action, Actor::Agent, &mut buffer) {
                Outcome::Applied { diff, .. } if !diff.is_empty() => Some(step),
                _ => None,
            }
        });
        replay.agent(tries.expect("a legal step that changes something"));
    }
    assert!(replay.first_refusal().is_none(), "every step of the walk is legal");
    replay.steps
}

fn candidates(task: &Task) -> Vec<Step> {
    let mut steps = Vec::new();
    for info in &task.slots {
        let spec = &task.spec.entity_types[info.entity_type];
        let (entity_type, id) = (spec.name.clone(), info.id.to_string());
        for field in spec.fields.iter().filter(|field| field.visibility == Visibility::Public) {
            for value in values(task, field) {
                let fields = vec![(field.name.clone(), value)];
                steps.push(Step::Update { entity_type: entity_type.clone(), id: id.clone(), fields });
            }
        }
        steps.push(Step::Delete { entity_type: entity_type.clone(), id: id.clone() });
        steps.push(Step::Restore { entity_type, id });
    }
    steps
}

fn values(task: &Task, field: &FieldSpec) -> Vec<Literal> {
    let text = |text: &str| Literal::Text(text.to_owned());
    let number = |number: i64| Literal::Number(number.to_string());
    match &field.kind {
        FieldKind::Bool => vec![Literal::Bool(true), Literal::Bool(false)],
        FieldKind::Integer { min, max } => (0..4).map(|step| number((min + step * 7).min(*max))).collect(),
        FieldKind::Tick => vec![number(1), number(2)],
        FieldKind::Enum { symbols } => symbols.iter().map(|symbol| text(symbol)).collect(),
        FieldKind::Ref { entity_type } => task
            .type_index(entity_type)
            .map(|index| task.slots_of_type(index))
            .unwrap_or_default()
            .iter()
            .map(|slot| text(&task.slots[slot.at()].id))
            .collect(),
        FieldKind::Set { of } => match &**of {
            FieldKind::Enum { symbols } => {
                vec![Literal::List(Vec::new()), Literal::List(vec![text(&symbols[0])])]
            }
            _ => vec![Literal::List(Vec::new())],
        },
        _ => ["pending", "ready", "complete", "a note of a few words"].map(text).to_vec(),
    }
}
