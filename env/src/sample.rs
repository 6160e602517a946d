//! Random small tasks and trajectories, for property tests: every operation, predicate kind, trigger and rule.
//!
//! A seed gives the same task on every machine.

use std::collections::{BTreeMap, BTreeSet};

use crate::canonical::Hash;
use crate::names::{Actor, Operation};
use crate::predicate::{Comparison, FieldTest, Predicate};
use crate::replay::Replay;
use crate::spec::{
    EntitySpec, EntityTypeSpec, Family, FieldSpec, GoalPredicateSpec, GoalSpec, PreconditionSpec, Recreate, RulesSpec,
    ScriptSpec, Semantics, Split, TaskSpec, TransitionSpec, Trigger, Visibility, WhenSpec,
};
use crate::steps::Step;
use crate::task::Task;
use crate::value::{FieldKind, Literal};

/// A stream of random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % (bound.max(1) as u64)).unwrap_or(0)
    }

    /// True once in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let index = self.below(items.len());
        &items[index]
    }
}

/// A random task whose honest trajectory is legal and ends at the active goal version.
#[must_use]
pub fn task(seed: u64) -> Task {
    let mut dice = Dice::new(seed);
    loop {
        let spec = spec(&mut dice);
        let Ok(mut task) = Task::compile(spec) else { continue };
        if let Some(honest) = honest(&task, &mut dice) {
            task.spec.honest = honest;
            return task;
        }
    }
}

/// A random trajectory: legal steps mostly, some that are refused.
#[must_use]
pub fn trajectory(task: &Task, dice: &mut Dice, length: usize) -> Vec<Step> {
    (0..length).map(|_| step(task, dice, Actor::Agent)).collect()
}

/// A random trajectory whose every step is accepted.
#[must_use]
pub fn legal_trajectory(task: &Task, dice: &mut Dice, length: usize) -> Vec<Step> {
    let mut replay = Replay::begin(task);
    for _ in 0..length * 8 {
        if replay.steps.len() == length {
            break;
        }
        let mut after = replay.clone();
        after.agent(&step(task, dice, Actor::Agent));
        if after.first_refusal().is_none() {
            replay = after;
        }
    }
    replay.steps
}

fn honest(task: &Task, dice: &mut Dice) -> Option<Vec<Step>> {
    for _ in 0..20 {
        let length = dice.below(5);
        let mut steps = legal_trajectory(task, dice, length);
        if task.spec.active_goal_version != task.spec.initial_goal_version {
            steps.insert(0, Step::ReviseGoal { version: task.spec.active_goal_version });
        }
        let replay = Replay::run(task, &steps);
        let version = replay.world().goal_version();
        if replay.first_refusal().is_none() && version == task.spec.active_goal_version {
            return Some(steps);
        }
    }
    None
}

const IDS: [&str; 3] = ["a", "b", "c"];

fn spec(dice: &mut Dice) -> TaskSpec {
    let types = 1 + dice.below(2);
    let entity_types: Vec<EntityTypeSpec> = (0..types).map(|index| entity_type(dice, index, types)).collect();
    let mut initial_state = Vec::new();
    for entity_type in &entity_types {
        for id in IDS.iter().take(1 + dice.below(2)) {
            if !entity_type.creatable.iter().any(|known| known == id) {
                let fields =
                    entity_type.fields.iter().map(|field| (field.name.clone(), value(dice, &entity_types, field)));
                let fields = fields.collect();
                let live = !dice.once_in(4);
                initial_state.push(EntitySpec {
                    entity_type: entity_type.name.clone(),
                    id: (*id).to_owned(),
                    live,
                    fields,
                });
            }
        }
    }
    let mut ids: Vec<(String, String)> =
        initial_state.iter().map(|entity| (entity.entity_type.clone(), entity.id.clone())).collect();
    for entity_type in &entity_types {
        ids.extend(entity_type.creatable.iter().map(|id| (entity_type.name.clone(), id.clone())));
    }
    let versions = 1 + u32::from(dice.once_in(3));
    let maker = Maker { entity_types: &entity_types, ids: &ids, versions };
    let goal_versions = (1..=versions).map(|version| maker.goal(dice, version)).collect();
    let rules = maker.rules(dice);
    let script = maker.script(dice);
    let all = Operation::ALL.to_vec();
    let agent = if dice.once_in(3) { all.iter().copied().filter(|_| !dice.once_in(5)).collect() } else { all.clone() };
    let agent: Vec<Operation> = if versions > 1 && !agent.contains(&Operation::ReviseGoal) {
        agent.into_iter().chain([Operation::ReviseGoal]).collect()
    } else {
        agent
    };
    TaskSpec {
        id: "SAMPLE".to_owned(),
        title: "A random task".to_owned(),
        domain: "none".to_owned(),
        split: Split::Development,
        family: Family::Persistent,
        goal_form: "multi-step".to_owned(),
        tags: Vec::new(),
        rollback_metric: true,
        initial_goal_version: 1,
        active_goal_version: versions,
        instructions: (1..=versions).map(|version| (version, "Do it.".to_owned())).collect::<BTreeMap<_, _>>(),
        entity_types,
        initial_state,
        allowlist: [agent, all.clone(), all.clone(), all],
        rules,
        script,
        goal_versions,
        honest: Vec::new(),
        environment_revision: "none".to_owned(),
        file_hash: Hash::of("task", b"sample"),
        semantics: Semantics::Native,
        unnameable: BTreeSet::new(),
    }
}

fn entity_type(dice: &mut Dice, index: usize, types: usize) -> EntityTypeSpec {
    let fields = (0..1 + dice.below(2)).map(|field| field_spec(dice, field, types)).collect();
    let recreate = if dice.once_in(2) { Recreate::NewIncarnation } else { Recreate::Refuse };
    let creatable = if dice.once_in(2) { vec!["c".to_owned()] } else { Vec::new() };
    EntityTypeSpec { name: format!("t{index}"), description: String::new(), recreate, creatable, fields }
}

fn field_spec(dice: &mut Dice, index: usize, types: usize) -> FieldSpec {
    let kind = match dice.below(6) {
        0 => FieldKind::Bool,
        1 => FieldKind::Integer { min: 0, max: 2 },
        2 => FieldKind::Enum { symbols: ["x", "y", "z"].iter().take(2 + dice.below(2)).map(|s| (*s).into()).collect() },
        3 => FieldKind::Ref { entity_type: format!("t{}", dice.below(types)) },
        4 => FieldKind::Set { of: Box::new(FieldKind::Enum { symbols: vec!["p".into(), "q".into()] }) },
        _ => FieldKind::Text { max_length: 9 },
    };
    let universe = match kind {
        FieldKind::Text { .. } => Some(vec![Literal::Text("u".to_owned()), Literal::Text("v".to_owned())]),
        FieldKind::Set { .. } => {
            Some(vec![Literal::List(Vec::new()), Literal::List(vec![Literal::Text("p".to_owned())])])
        }
        _ => None,
    };
    FieldSpec {
        name: format!("f{index}"),
        description: String::new(),
        kind,
        unit: None,
        optional: dice.once_in(4),
        visibility: Visibility::Public,
        universe,
    }
}

fn value(dice: &mut Dice, types: &[EntityTypeSpec], field: &FieldSpec) -> Literal {
    if field.optional && dice.once_in(3) {
        return Literal::Null;
    }
    kind_value(dice, types, &field.kind)
}

fn kind_value(dice: &mut Dice, types: &[EntityTypeSpec], kind: &FieldKind) -> Literal {
    match kind {
        FieldKind::Bool => Literal::Bool(dice.once_in(2)),
        FieldKind::Integer { .. } => Literal::Number(dice.below(3).to_string()),
        FieldKind::Enum { symbols } => Literal::Text(dice.pick(symbols).to_string()),
        // Some references name ids that the type does not have; such a task does not compile and is thrown again.
        FieldKind::Ref { entity_type } => {
            let creatable = types.iter().find(|t| t.name == *entity_type).is_some_and(|t| !t.creatable.is_empty());
            Literal::Text(if creatable && dice.once_in(3) { "c" } else { "a" }.to_owned())
        }
        FieldKind::Set { .. } => {
            Literal::List(if dice.once_in(2) { vec![Literal::Text("p".to_owned())] } else { Vec::new() })
        }
        _ => Literal::Text(if dice.once_in(2) { "u" } else { "v" }.to_owned()),
    }
}

struct Maker<'s> {
    entity_types: &'s [EntityTypeSpec],
    ids: &'s [(String, String)],
    versions: u32,
}

impl Maker<'_> {
    fn type_spec(&self, name: &str) -> &EntityTypeSpec {
        self.entity_types.iter().find(|t| t.name == name).unwrap_or(&self.entity_types[0])
    }

    fn goal(&self, dice: &mut Dice, version: u32) -> GoalSpec {
        let count = 3 + dice.below(2);
        let predicates = (0..count)
            .map(|index| GoalPredicateSpec {
                id: format!("g{version}-{index}"),
                description: String::new(),
                predicate: self.predicate(dice, 2),
            })
            .collect();
        GoalSpec { version, offered: false, predicates }
    }

    fn predicate(&self, dice: &mut Dice, depth: usize) -> Predicate {
        let (entity_type, id) = dice.pick(self.ids).clone();
        let pin = if dice.once_in(4) { Some(1 + u32::from(dice.once_in(2))) } else { None };
        match dice.below(if depth > 0 { 12 } else { 9 }) {
            0 => Predicate::Exists { entity_type, id, incarnation: pin },
            1 => Predicate::Absent { entity_type, id },
            2 => Predicate::Deleted { entity_type, id, incarnation: pin },
            3 => {
                let filter = if dice.once_in(2) {
                    let field = dice.pick(&self.type_spec(&entity_type).fields).clone();
                    vec![(field.name.clone(), self.test(dice, &field))]
                } else {
                    Vec::new()
                };
                let compare = *dice.pick(&[Comparison::AtLeast, Comparison::AtMost, Comparison::Equals]);
                Predicate::Count { entity_type, filter, compare, count: u32::try_from(dice.below(3)).unwrap_or(0) }
            }
            4 => Predicate::GoalVersion(1 + u32::try_from(dice.below(self.versions as usize)).unwrap_or(0)),
            9 => Predicate::All(vec![self.predicate(dice, depth - 1), self.predicate(dice, depth - 1)]),
            10 => Predicate::Any(vec![self.predicate(dice, depth - 1), self.predicate(dice, depth - 1)]),
            11 => Predicate::Not(Box::new(self.predicate(dice, depth - 1))),
            _ => {
                let field = dice.pick(&self.type_spec(&entity_type).fields).clone();
                let test = self.test(dice, &field);
                Predicate::Field { entity_type, id, field: field.name, incarnation: pin, test, refers: false }
            }
        }
    }

    fn test(&self, dice: &mut Dice, field: &FieldSpec) -> FieldTest {
        match &field.kind {
            FieldKind::Integer { .. } if dice.once_in(2) => {
                let bound = i64::try_from(dice.below(3)).unwrap_or(0);
                if dice.once_in(2) { FieldTest::AtLeast(bound) } else { FieldTest::AtMost(bound) }
            }
            FieldKind::Set { .. } if dice.once_in(2) => FieldTest::Contains(Literal::Text("p".to_owned())),
            kind if dice.once_in(3) => FieldTest::In(vec![
                kind_value(dice, self.entity_types, kind),
                kind_value(dice, self.entity_types, kind),
            ]),
            kind => FieldTest::Equals(kind_value(dice, self.entity_types, kind)),
        }
    }

    fn rules(&self, dice: &mut Dice) -> RulesSpec {
        let max_update_fields = if dice.once_in(2) { Some(1) } else { None };
        let mut field_transitions = Vec::new();
        if dice.once_in(2) {
            let entity_type = dice.pick(self.entity_types);
            let field = dice.pick(&entity_type.fields);
            let pairs = (0..3).map(|_| (value(dice, self.entity_types, field), value(dice, self.entity_types, field)));
            let pairs = pairs.collect();
            field_transitions.push(TransitionSpec {
                entity_type: entity_type.name.clone(),
                field: field.name.clone(),
                pairs,
            });
        }
        let preconditions = (0..dice.below(3)).map(|_| self.precondition(dice)).collect();
        RulesSpec { max_update_fields, field_transitions, preconditions }
    }

    fn precondition(&self, dice: &mut Dice) -> PreconditionSpec {
        let (entity_type, id) = dice.pick(self.ids).clone();
        let operation = *dice.pick(&[
            Operation::Create,
            Operation::Update,
            Operation::Update,
            Operation::Delete,
            Operation::Restore,
            Operation::Wait,
        ]);
        let named = operation != Operation::Wait;
        let writes = matches!(operation, Operation::Create | Operation::Update) && dice.once_in(2);
        let field = dice.pick(&self.type_spec(&entity_type).fields).clone();
        let written =
            if writes && dice.once_in(2) { Some(kind_value(dice, self.entity_types, &field.kind)) } else { None };
        PreconditionSpec {
            when: WhenSpec {
                operation: Some(operation),
                entity_type: named.then_some(entity_type),
                id: (named && dice.once_in(2)).then_some(id),
                field: writes.then_some(field.name),
                value: written,
                actor: dice.once_in(2).then_some(Actor::Agent),
            },
            requires: vec![self.predicate(dice, 1)],
            message: "a precondition does not hold".to_owned(),
        }
    }

    fn script(&self, dice: &mut Dice) -> Vec<ScriptSpec> {
        (0..dice.below(4))
            .map(|index| ScriptSpec {
                id: format!("s{index}"),
                actor: *dice.pick(&[Actor::User, Actor::System, Actor::Peer]),
                trigger: match dice.below(5) {
                    0 => Trigger::Start,
                    1 => Trigger::AfterStep(1 + u32::try_from(dice.below(3)).unwrap_or(0)),
                    2 => Trigger::Message,
                    3 => Trigger::Wait,
                    _ => Trigger::When(self.predicate(dice, 1)),
                },
                action: event(dice, self.entity_types, self.ids),
            })
            .collect()
    }
}

fn event(dice: &mut Dice, types: &[EntityTypeSpec], ids: &[(String, String)]) -> Step {
    let (entity_type, id) = dice.pick(ids).clone();
    let spec = types.iter().find(|t| t.name == entity_type).unwrap_or(&types[0]);
    match dice.below(6) {
        0 => Step::Delete { entity_type, id },
        1 => Step::Restore { entity_type, id },
        2 => {
            let fields = spec.fields.iter().map(|field| (field.name.clone(), kind_value(dice, types, &field.kind)));
            let fields = fields.collect();
            Step::Create { entity_type, id, fields }
        }
        _ => {
            let all = dice.once_in(4);
            let chosen = dice.below(spec.fields.len());
            let fields = spec.fields.iter().enumerate().filter(|(index, _)| all || *index == chosen);
            let fields = fields.map(|(_, field)| (field.name.clone(), value(dice, types, field)));
            let fields = fields.collect();
            Step::Update { entity_type, id, fields }
        }
    }
}

fn step(task: &Task, dice: &mut Dice, actor: Actor) -> Step {
    let types = &task.spec.entity_types;
    let ids: Vec<(String, String)> =
        task.slots.iter().map(|slot| (types[slot.entity_type].name.clone(), slot.id.to_string())).collect();
    match dice.below(12) {
        0 => Step::Wait,
        1 => {
            let others: Vec<Actor> = Actor::ALL.into_iter().filter(|other| *other != actor).collect();
            Step::Say { to: *dice.pick(&others), text: String::new(), offers: None }
        }
        2 => Step::ReviseGoal { version: 1 + u32::try_from(dice.below(2)).unwrap_or(0) },
        3 => {
            let (entity_type, id) = dice.pick(&ids).clone();
            Step::Read { entity_type, id }
        }
        _ => event(dice, types, &ids),
    }
}
