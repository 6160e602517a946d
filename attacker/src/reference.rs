//! A slow, plain explorer: the reference engine, states as text, no cone, no classes, no packing.
//!
//! It shares nothing with [`crate::search`] but the task's value universe, and is what proofs and property tests are
//! checked against.

use std::collections::{BTreeSet, HashSet};

use parthack_env::frames::frames;
use parthack_env::names::{Actor, Operation};
use parthack_env::predicate::Predicate;
use parthack_env::replay::Replay;
use parthack_env::spec::{Trigger, Visibility};
use parthack_env::steps::Step;
use parthack_env::task::{FieldIndex, Slot, Task};
use parthack_env::value::{Literal, Value};
use parthack_evaluators::rules::Rule;
use parthack_evaluators::score::ExactScore;

use crate::search::universe;

/// What the plain explorer found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceOptimum {
    /// Best score of an eligible trajectory whose log is not the honest one's.
    pub best: Option<ExactScore>,
    /// Length of the shortest trajectory with that score.
    pub length: Option<u32>,
    /// One such trajectory.
    pub witness: Option<Vec<Step>>,
    /// Different states, as this explorer tells them apart.
    pub states: usize,
    /// Every pair of satisfied and credited predicates that is reachable, sorted.
    pub vectors: Vec<(u32, u32)>,
}

/// Explores until nothing new is found, or `max_steps`.
///
/// # Errors
/// The number of states at which it gave up.
pub fn reference_optimum(
    task: &Task,
    rule: Rule,
    max_steps: Option<u32>,
    max_states: usize,
) -> Result<ReferenceOptimum, usize> {
    let honest = Replay::run(task, &task.spec.honest);
    let target = frames(&honest).last().copied().unwrap_or_default();
    let mentioned = Mentioned::of(task);
    let alphabet = mentioned.alphabet(task);
    let m = u32::try_from(task.m()).unwrap_or(0);
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut found = ReferenceOptimum { best: None, length: None, witness: None, states: 0, vectors: Vec::new() };
    let mut vectors = BTreeSet::new();
    let mut level = vec![Replay::begin(task)];
    seen.insert(mentioned.key(task, &level[0], &honest, rule));
    let mut depth = 0;
    while !level.is_empty() {
        for replay in &level {
            let all = frames(replay);
            let last = all.last().copied().unwrap_or_default();
            vectors.insert((last.satisfied, last.credited));
            let eligible = (last.satisfied, last.credited) == (target.satisfied, target.credited)
                && replay.world().goal_version() == task.spec.active_goal_version
                && replay.events != honest.events;
            let score = rule.score(m, &all);
            if eligible && found.best.is_none_or(|best| score > best) {
                found.best = Some(score);
                found.length = Some(depth);
                found.witness = Some(replay.steps.clone());
            }
        }
        if max_steps == Some(depth) {
            break;
        }
        let mut next = Vec::new();
        for replay in &level {
            for step in &alphabet {
                let mut after = replay.clone();
                after.agent(step);
                if after.first_refusal().is_some() {
                    continue;
                }
                if seen.insert(mentioned.key(task, &after, &honest, rule)) {
                    next.push(after);
                }
            }
            if seen.len() > max_states {
                return Err(seen.len());
            }
        }
        level = next;
        depth += 1;
    }
    found.states = seen.len();
    found.vectors = vectors.into_iter().collect();
    Ok(found)
}

/// Everything that a predicate, a rule or a script mentions: what is never mentioned cannot matter.
struct Mentioned {
    /// Ordered, without repeats.
    slots: Vec<Slot>,
    fields: BTreeSet<(usize, FieldIndex)>,
    pinned: bool,
    last_count: u32,
}

impl Mentioned {
    fn of(task: &Task) -> Mentioned {
        let mut mentioned = Mentioned { slots: Vec::new(), fields: BTreeSet::new(), pinned: false, last_count: 0 };
        let active = task.spec.active_goal_version;
        for goal in task.spec.goal_versions.iter().filter(|goal| goal.version == active) {
            goal.predicates.iter().for_each(|predicate| mentioned.predicate(task, &predicate.predicate));
        }
        for precondition in &task.spec.rules.preconditions {
            precondition.requires.iter().for_each(|predicate| mentioned.predicate(task, predicate));
            for (index, entity_type) in task.spec.entity_types.iter().enumerate() {
                if precondition.when.entity_type.as_ref().is_none_or(|name| *name == entity_type.name) {
                    mentioned.field(task, index, precondition.when.field.as_deref());
                }
            }
        }
        for entry in &task.spec.script {
            match &entry.trigger {
                Trigger::AfterStep(count) => mentioned.last_count = mentioned.last_count.max(*count),
                Trigger::When(predicate) => mentioned.predicate(task, predicate),
                Trigger::Start | Trigger::Message | Trigger::Wait => {}
            }
            match &entry.action {
                Step::Create { entity_type, id, fields } | Step::Update { entity_type, id, fields } => {
                    mentioned.entity(task, entity_type, id, None);
                    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                    names.into_iter().for_each(|name| mentioned.entity(task, entity_type, id, Some(name)));
                }
                Step::Delete { entity_type, id } | Step::Restore { entity_type, id } => {
                    mentioned.entity(task, entity_type, id, None);
                }
                _ => {}
            }
        }
        mentioned.slots.sort_unstable();
        mentioned.slots.dedup();
        mentioned
    }

    fn predicate(&mut self, task: &Task, predicate: &Predicate) {
        predicate.leaves(&mut |leaf| match leaf {
            Predicate::Exists { entity_type, id, incarnation }
            | Predicate::Deleted { entity_type, id, incarnation } => {
                self.pinned |= incarnation.is_some();
                self.entity(task, entity_type, id, None);
            }
            Predicate::Absent { entity_type, id } => self.entity(task, entity_type, id, None),
            Predicate::Field { entity_type, id, field, incarnation, .. } => {
                self.pinned |= incarnation.is_some();
                self.entity(task, entity_type, id, Some(field));
            }
            Predicate::Count { entity_type, filter, .. } => {
                if let Some(index) = task.type_index(entity_type) {
                    self.slots.extend(task.slots_of_type(index));
                    filter.iter().for_each(|(field, _)| self.field(task, index, Some(field)));
                }
            }
            _ => {}
        });
    }

    fn entity(&mut self, task: &Task, entity_type: &str, id: &str, field: Option<&str>) {
        if let Some(index) = task.type_index(entity_type) {
            self.slots.extend(task.slot(index, id));
            self.field(task, index, field);
        }
    }

    fn field(&mut self, task: &Task, entity_type: usize, field: Option<&str>) {
        let index = field.and_then(|field| task.field_index(entity_type, field));
        self.fields.extend(index.map(|index| (entity_type, index)));
    }

    /// A state as text: what is mentioned, the script's position, the cause of each predicate, the target's memory, and
    /// how far the log equals the honest one.
    fn key(&self, task: &Task, replay: &Replay<'_>, honest: &Replay<'_>, rule: Rule) -> Vec<u8> {
        let mut key = Vec::new();
        let world = replay.world();
        for slot in &self.slots {
            let entity = world.entity(*slot);
            let entity_type = task.slots[slot.at()].entity_type;
            key.push(entity.lifecycle as u8);
            if self.pinned || task.recreates(*slot) {
                key.extend_from_slice(&entity.incarnation.min(3).to_le_bytes());
            }
            for (_, field) in self.fields.iter().filter(|(of, _)| *of == entity_type) {
                entity.fields[field.at()].push_json(&mut key);
                key.push(b';');
            }
        }
        let all = frames(replay);
        let last = all.last().copied().unwrap_or_default();
        let memory = all.iter().fold(0, |memory, frame| rule.observe(memory, *frame));
        let equal = replay.events.iter().zip(&honest.events).take_while(|(a, b)| a == b).count();
        let position = if equal == replay.events.len() { equal } else { usize::MAX };
        let offered = task.goals.iter().map(|goal| u64::from(world.is_offered(goal.version)));
        let offered = offered.enumerate().fold(0, |bits, (i, bit)| bits | bit << i);
        for number in [
            u64::from(world.goal_version()),
            offered,
            replay.fired(),
            u64::from(replay.accepted().min(self.last_count)),
            u64::from(last.credited),
            u64::from(memory),
            position as u64,
        ] {
            key.extend_from_slice(&number.to_le_bytes());
        }
        key
    }

    /// Every step that could matter, by canonical bytes.
    fn alphabet(&self, task: &Task) -> Vec<Step> {
        let mut steps = vec![Step::Wait];
        steps.extend(task.spec.entity_types.iter().map(|t| Step::List { entity_type: t.name.clone() }));
        for to in [Actor::User, Actor::System, Actor::Peer] {
            steps.push(Step::Say { to, text: String::new(), offers: None });
        }
        steps.extend(task.goals.iter().map(|goal| Step::ReviseGoal { version: goal.version }));
        for slot in &self.slots {
            let index = task.slots[slot.at()].entity_type;
            let entity_type = task.spec.entity_types[index].name.clone();
            let id = task.slots[slot.at()].id.to_string();
            steps.push(Step::Delete { entity_type: entity_type.clone(), id: id.clone() });
            steps.push(Step::Restore { entity_type: entity_type.clone(), id: id.clone() });
            let most = task.spec.rules.max_update_fields.map_or(usize::MAX, |most| most as usize);
            for fields in self.combinations(task, index, false) {
                if (1..=most).contains(&fields.len()) {
                    steps.push(Step::Update { entity_type: entity_type.clone(), id: id.clone(), fields });
                }
            }
            for fields in self.combinations(task, index, true) {
                steps.push(Step::Create { entity_type: entity_type.clone(), id: id.clone(), fields });
            }
        }
        steps.retain(|step| task.allows(Actor::Agent, step.operation()));
        if self.last_count == 0 {
            steps.retain(|step| step.operation() != Operation::List);
        }
        steps.sort_by_key(Step::json);
        steps
    }

    /// Every assignment of values to mentioned fields; for a creation with every field that it needs.
    fn combinations(&self, task: &Task, entity_type: usize, creation: bool) -> Vec<Vec<(String, Literal)>> {
        let mut partial: Vec<Vec<(String, Literal)>> = vec![Vec::new()];
        for (index, spec) in (0u16..).zip(&task.spec.entity_types[entity_type].fields) {
            let field = FieldIndex(index);
            if spec.visibility == Visibility::Sealed {
                continue;
            }
            let mentioned = self.fields.contains(&(entity_type, field));
            let mut values = universe(task, entity_type, field);
            if !mentioned {
                if !creation || spec.optional {
                    continue;
                }
                values.retain(|value| *value != Value::Null);
                values.sort_by_key(Value::json);
                values.truncate(1);
            }
            let mut extended = if creation && !spec.optional { Vec::new() } else { partial.clone() };
            for fields in &partial {
                for value in values.iter().filter(|value| !(creation && **value == Value::Null)) {
                    let mut fields = fields.clone();
                    fields.push((spec.name.clone(), Literal::from_value(value)));
                    extended.push(fields);
                }
            }
            partial = extended;
        }
        partial
    }
}
