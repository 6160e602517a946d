//! A task of any size: cells of k values on a ring, each of which an agent may turn one step either way. A cell may not
//! take the value 1 while the cell before it stands at 2, so that every cell matters to its neighbour.

use std::collections::{BTreeMap, BTreeSet};

use parthack_env::canonical::Hash;
use parthack_env::names::Operation;
use parthack_env::predicate::{FieldTest, Predicate};
use parthack_env::spec::{
    EntitySpec, EntityTypeSpec, Family, FieldSpec, GoalPredicateSpec, GoalSpec, PreconditionSpec, Recreate, RulesSpec,
    Semantics, Split, TaskSpec, TransitionSpec, Visibility, WhenSpec,
};
use parthack_env::task::Task;
use parthack_env::value::{FieldKind, Literal};

/// The task with so many cells (at least four) of so many values (at least four); the goal is that each of the first
/// three stands at 1. Nobody but the agent acts, so that who caused what follows from the cells: a state of the search is
/// the position of every cell, and whether anything has happened yet.
pub(crate) fn task(cells: usize, values: usize) -> Task {
    let symbol = |value: usize| format!("v{}", value % values);
    let id = |cell: usize| format!("cell-{cell}");
    let is = |cell: usize, value: usize| Predicate::Field {
        entity_type: "cell".to_owned(),
        id: id(cell),
        field: "value".to_owned(),
        incarnation: None,
        test: FieldTest::Equals(Literal::Text(symbol(value))),
        refers: false,
    };
    let goal = |id: &str, predicate: Predicate| GoalPredicateSpec {
        id: id.to_owned(),
        description: "The cell stands at 1.".to_owned(),
        predicate,
    };
    let gate = |cell: usize| PreconditionSpec {
        when: WhenSpec {
            operation: Some(Operation::Update),
            entity_type: Some("cell".to_owned()),
            id: Some(id(cell)),
            field: Some("value".to_owned()),
            value: Some(Literal::Text(symbol(1))),
            actor: None,
        },
        requires: vec![Predicate::Not(Box::new(is((cell + cells - 1) % cells, 2)))],
        message: "the cell before it stands at 2".to_owned(),
    };
    let pairs = (0..values).flat_map(|value| [(value, value + 1), (value + 1, value)]);
    let pairs = pairs.map(|(from, to)| (Literal::Text(symbol(from)), Literal::Text(symbol(to))));
    let spec = TaskSpec {
        id: "GRID".to_owned(),
        title: "Cells on a ring".to_owned(),
        domain: "benchmark".to_owned(),
        split: Split::Development,
        family: Family::Persistent,
        goal_form: "multi-step".to_owned(),
        tags: Vec::new(),
        rollback_metric: false,
        initial_goal_version: 1,
        active_goal_version: 1,
        instructions: BTreeMap::from([(1, "Turn every cell.".to_owned())]),
        entity_types: vec![EntityTypeSpec {
            name: "cell".to_owned(),
            description: String::new(),
            recreate: Recreate::Refuse,
            creatable: Vec::new(),
            fields: vec![FieldSpec {
                name: "value".to_owned(),
                description: String::new(),
                kind: FieldKind::Enum { symbols: (0..values).map(|value| symbol(value).into()).collect() },
                unit: None,
                optional: false,
                visibility: Visibility::Public,
                universe: None,
            }],
        }],
        initial_state: (0..cells)
            .map(|cell| EntitySpec {
                entity_type: "cell".to_owned(),
                id: id(cell),
                live: true,
                fields: vec![("value".to_owned(), Literal::Text(symbol(0)))],
            })
            .collect(),
        allowlist: [vec![Operation::Update], Vec::new(), Vec::new(), Vec::new()],
        rules: RulesSpec {
            max_update_fields: Some(1),
            field_transitions: vec![TransitionSpec {
                entity_type: "cell".to_owned(),
                field: "value".to_owned(),
                pairs: pairs.collect(),
            }],
            preconditions: (0..cells).map(gate).collect(),
        },
        script: Vec::new(),
        goal_versions: vec![GoalSpec {
            version: 1,
            offered: false,
            predicates: (0..3).map(|cell| goal(&format!("turned-{cell}"), is(cell, 1))).collect(),
        }],
        honest: Vec::new(),
        environment_revision: "bench".to_owned(),
        file_hash: Hash::of("task", b"grid"),
        semantics: Semantics::Native,
        unnameable: BTreeSet::new(),
    };
    Task::compile(spec).expect("the grid is a task")
}

/// States that its search has: every position, and the untouched initial one.
pub(crate) fn states(cells: usize, values: usize) -> u64 {
    (values as u64).pow(u32::try_from(cells).unwrap_or(u32::MAX)) + 1
}
