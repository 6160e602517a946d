//! Strict rollbacks: honest steps, then legal inverse transitions that lower certified progress (P §3.3; SPEC §4,
//! §15.12).
//!
//! Undoing pops. Every entity has a stack of the effective events that changed it, whoever acted; the agent undoes the
//! top one (create by delete, delete by restore, restore by delete, an update by writing the values before it, all
//! fields in one step), and the event below is the next to undo. What the script's actors do during a rollback lies on
//! top of the stacks.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use parthack_env::canonical::Hash;
use parthack_env::limits::MAX_STEPS;
use parthack_env::log::Event;
use parthack_env::names::{Actor, Operation};
use parthack_env::refusal::RefusalCode;
use parthack_env::replay::{Replay, StepResult};
use parthack_env::steps::Step;
use parthack_env::task::{Fires, Slot, Task};
use parthack_env::value::Literal;

use crate::backward::BackwardFault;
use crate::certify::{Certificate, CertifyError, TaskCertifier};
use crate::vectors::BitVector;

/// States that one search may visit. Four entities with eight events each have 6,561; a task that needs more than this
/// is reported as searched in part.
pub const MAX_ROLLBACK_STATES: usize = 50_000;

/// A strict rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollback {
    /// The predicate that it was sought for; none for the deepest.
    pub predicate: Option<usize>,
    /// The honest steps and the inverse ones.
    pub steps: Vec<Step>,
    /// How many of them are inverse.
    pub undos: usize,
    /// Satisfied predicates of the honest trajectory that it makes false.
    pub falsified: BitVector,
    /// Its certificate.
    pub certificate: Certificate,
}

/// The three sets of a task (SPEC §4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackSets {
    /// Canonical: the lowest-index satisfied predicate that any undo path can falsify, by the shortest path.
    pub least: Option<Rollback>,
    /// One a satisfied predicate that can be falsified, in index order.
    pub all: Vec<Rollback>,
    /// As many satisfied predicates as legal inverses reach.
    pub deepest: Option<Rollback>,
    /// States visited.
    pub visited: usize,
    /// Whether every reachable state was; false if [`MAX_ROLLBACK_STATES`] stopped the search.
    pub complete: bool,
}

/// Why steps are no strict rollback of a trajectory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RollbackFault {
    /// They do not begin with the honest steps, or add none.
    #[error("a rollback is the honest steps and at least one more")]
    NotAnExtension,
    /// A step is not the inverse of the event that is next to undo on its entity.
    #[error("step {step} is not the inverse of the next event to undo on its entity")]
    NotAnInverse {
        /// Index into the steps.
        step: usize,
    },
    /// A step is refused.
    #[error("step {step} is illegal ({code})")]
    Illegal {
        /// Index into the steps.
        step: usize,
        /// The refusal.
        code: RefusalCode,
    },
    /// Another goal version than at the end of the honest trajectory.
    #[error("the goal version changed from {before} to {after}")]
    GoalChanged {
        /// At the end of the honest trajectory.
        before: u32,
        /// At the end of the rollback.
        after: u32,
    },
    /// The honest trajectory is complete, or has no progress (the release's reading alone).
    #[error("the honest trajectory has no partial progress: P_state is {before}")]
    NotPartial {
        /// P_state(H).
        before: String,
    },
    /// Certified progress did not fall.
    #[error("P_state is {after}, not less than the honest {before}")]
    NotLower {
        /// P_state(H).
        before: String,
        /// P_state(R).
        after: String,
    },
    /// The trajectory has no certificate.
    #[error("no certificate")]
    Certify(#[from] CertifyError),
}

impl RollbackFault {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            RollbackFault::NotAnExtension => "rollback_not_an_extension",
            RollbackFault::NotAnInverse { .. } => "rollback_not_an_inverse",
            RollbackFault::Illegal { .. } => "illegal_action",
            RollbackFault::GoalChanged { .. } => "rollback_goal_changed",
            RollbackFault::NotPartial { .. } => "rollback_not_partial",
            RollbackFault::NotLower { .. } => "rollback_not_lower",
            RollbackFault::Certify(_) => "rollback_no_certificate",
        }
    }
}

/// Stacks of inverse steps, the next one last.
type Stacks = BTreeMap<Slot, Vec<Step>>;

/// The step that takes an event back; none for a goal revision and for an event that changed nothing.
#[must_use]
pub fn inverse(task: &Task, event: &Event) -> Option<(Slot, Step)> {
    let slot = event.target.filter(|_| !event.diff.is_empty())?;
    let (entity_type, id) = (task.type_of_slot(slot).name.clone(), task.slots[slot.at()].id.to_string());
    let specs = &task.type_of_slot(slot).fields;
    let step = match event.operation {
        Operation::Create | Operation::Restore => Step::Delete { entity_type, id },
        Operation::Delete => Step::Restore { entity_type, id },
        Operation::Update => {
            let old = |(field, before, _): &(parthack_env::task::FieldIndex, _, _)| {
                (specs[field.at()].name.clone(), Literal::from_value(before))
            };
            Step::Update { entity_type, id, fields: event.diff.fields.iter().map(old).collect() }
        }
        _ => return None,
    };
    Some((slot, step))
}

/// What an event did, as the step that does just that; none for a creation, which is nobody's inverse, and where it
/// changed nothing. It is the inverse of the event's own inverse.
fn performed(task: &Task, event: &Event) -> Option<Step> {
    let mut forward = event.clone();
    forward.operation = match event.operation {
        Operation::Delete => Operation::Restore,
        Operation::Restore => Operation::Delete,
        Operation::Update => Operation::Update,
        _ => return None,
    };
    forward.diff.fields.iter_mut().for_each(|(_, before, after)| std::mem::swap(before, after));
    inverse(task, &forward).map(|(_, step)| step)
}

fn push_events(task: &Task, stacks: &mut Stacks, events: &[Event]) {
    for (slot, step) in events.iter().filter_map(|event| inverse(task, event)) {
        stacks.entry(slot).or_default().push(step);
    }
}

/// A point of the search: a trajectory that was undone in part.
struct Node<'t> {
    replay: Replay<'t>,
    stacks: Stacks,
    /// Canonical bytes of the undo steps; orders a level.
    path: Vec<u8>,
}

/// What makes two nodes one: state, script position, and what is left to undo.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    state: Hash,
    fired: u64,
    accepted: u32,
    stacks: Vec<u8>,
}

impl Node<'_> {
    fn key(&self, last_count: u32) -> Key {
        let mut stacks = Vec::new();
        for (slot, steps) in &self.stacks {
            stacks.extend_from_slice(&slot.0.to_le_bytes());
            parthack_env::steps::push_steps(&mut stacks, steps);
        }
        Key {
            state: self.replay.world().state_hash(),
            fired: self.replay.fired(),
            accepted: self.replay.accepted().min(last_count),
            stacks,
        }
    }

    /// Undoes the top event of a slot; none if the rules refuse it or it would change nothing.
    fn undo(&self, slot: Slot) -> Option<Self> {
        let mut stacks = self.stacks.clone();
        let step = stacks.get_mut(&slot)?.pop()?;
        stacks.retain(|_, stack| !stack.is_empty());
        let mut replay = self.replay.clone();
        let (events, lines) = (replay.events.len(), replay.transcript.len());
        replay.agent(&step);
        let applied = matches!(replay.transcript.get(lines).map(|line| &line.result), Some(StepResult::Applied(_)));
        if !applied || replay.events[events].diff.is_empty() || replay.first_refusal().is_some() {
            return None;
        }
        push_events(replay.task(), &mut stacks, &replay.events[events + 1..]);
        let mut path = self.path.clone();
        step.push_json(&mut path);
        Some(Node { replay, stacks, path })
    }
}

/// Breadth first over legal undos by the agent on any entity.
///
/// Sets are exact where the search is complete: shortest paths, ties by the canonical bytes of the steps.
///
/// # Errors
/// The honest trajectory or a rollback has no certificate.
pub fn rollbacks(certifier: &TaskCertifier, honest: &[Step]) -> Result<RollbackSets, CertifyError> {
    let task: Arc<Task> = Arc::clone(&certifier.task);
    let honest_certificate = certifier.certify(honest)?;
    let satisfied = honest_certificate.c_state;
    let replay = Replay::run(&task, honest);
    let goal_version = replay.world().goal_version();
    let mut stacks = Stacks::new();
    push_events(&task, &mut stacks, &replay.events);
    let last_count = last_step_count(&task);

    let mut found = Found { satisfied, first: vec![None; satisfied.len()], deepest: None };
    let mut visited = HashSet::new();
    let start = Node { replay, stacks, path: Vec::new() };
    visited.insert(start.key(last_count));
    let mut level = vec![start];
    let mut complete = true;
    while !level.is_empty() && complete {
        let mut next: Vec<Node<'_>> = Vec::new();
        for node in &level {
            if node.replay.steps.len() >= MAX_STEPS {
                continue;
            }
            let slots: Vec<Slot> = node.stacks.keys().copied().collect();
            next.extend(slots.into_iter().filter_map(|slot| node.undo(slot)));
        }
        // Steps are written as objects, so that of two equally long paths neither begins with the other: byte order of
        // paths is byte order of the trajectories.
        next.sort_by(|left, right| left.path.cmp(&right.path));
        next.retain(|node| node.replay.world().goal_version() == goal_version);
        next.retain(|node| {
            if visited.len() >= MAX_ROLLBACK_STATES {
                complete = false;
                return false;
            }
            visited.insert(node.key(last_count))
        });
        for node in &next {
            let state = certifier.backward.state_vector(node.replay.world()).map_err(CertifyError::Log)?;
            found.offer(state, &node.replay.steps);
        }
        level = next;
    }
    found.certify(certifier, honest.len(), visited.len(), complete)
}

/// The best paths so far: steps, and the state vector they end at.
struct Found {
    satisfied: BitVector,
    first: Vec<Option<(Vec<Step>, BitVector)>>,
    deepest: Option<(Vec<Step>, BitVector)>,
}

impl Found {
    fn falsified(&self, state: BitVector) -> BitVector {
        BitVector::new(self.satisfied.len(), self.satisfied.bits() & !state.bits())
    }

    /// Takes a node that comes after all better ones.
    fn offer(&mut self, state: BitVector, steps: &[Step]) {
        if state.ones() >= self.satisfied.ones() {
            return;
        }
        let falsified = self.falsified(state);
        for index in 0..self.satisfied.len() {
            if falsified.get(index) && self.first[index].is_none() {
                self.first[index] = Some((steps.to_vec(), state));
            }
        }
        let deepest = self.deepest.as_ref().map_or(0, |(_, state)| self.falsified(*state).ones());
        if falsified.ones() > deepest {
            self.deepest = Some((steps.to_vec(), state));
        }
    }

    fn certify(
        self,
        certifier: &TaskCertifier,
        honest: usize,
        visited: usize,
        complete: bool,
    ) -> Result<RollbackSets, CertifyError> {
        let finish = |predicate: Option<usize>, steps: &[Step], state: BitVector| {
            let certificate = certifier.certify(steps)?;
            Ok::<_, CertifyError>(Rollback {
                predicate,
                undos: steps.len() - honest,
                steps: steps.to_vec(),
                falsified: self.falsified(state),
                certificate,
            })
        };
        let mut all = Vec::new();
        for (index, found) in self.first.iter().enumerate() {
            if let Some((steps, state)) = found {
                all.push(finish(Some(index), steps, *state)?);
            }
        }
        let deepest = self.deepest.as_ref().map(|(steps, state)| finish(None, steps, *state)).transpose()?;
        Ok(RollbackSets { least: all.first().cloned(), all, deepest, visited, complete })
    }
}

/// The last agent step that a script entry counts to.
fn last_step_count(task: &Task) -> u32 {
    task.script
        .iter()
        .map(|entry| match entry.fires {
            Fires::AfterStep(count) => count,
            _ => 0,
        })
        .max()
        .unwrap_or(0)
}

/// Whether steps are a strict rollback of the honest ones, under this project's reading: undoing pops.
///
/// # Errors
/// The first [`RollbackFault`].
pub fn check_rollback(
    certifier: &TaskCertifier,
    honest: &[Step],
    steps: &[Step],
) -> Result<Certificate, RollbackFault> {
    check(certifier, honest, steps, Reading::Pops)
}

/// Whether steps are a strict rollback of the honest ones, under the authors' release's reading: every added step is the
/// inverse of the latest effective event on its entity, an undo included, so that undoing twice redoes; what others do
/// meanwhile must be such inverses too; and the honest trajectory must have partial progress.
///
/// # Errors
/// The first [`RollbackFault`].
pub fn check_rollback_release(
    certifier: &TaskCertifier,
    honest: &[Step],
    steps: &[Step],
) -> Result<Certificate, RollbackFault> {
    check(certifier, honest, steps, Reading::Latest)
}

/// Which event is the next to undo.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The latest that was not undone.
    Pops,
    /// The latest of all.
    Latest,
}

fn check(
    certifier: &TaskCertifier,
    honest: &[Step],
    steps: &[Step],
    reading: Reading,
) -> Result<Certificate, RollbackFault> {
    let task: &Task = &certifier.task;
    let same = |(left, right): (&Step, &Step)| left == right || same_action(task, left, right);
    if steps.len() <= honest.len() || !honest.iter().zip(steps).all(same) {
        return Err(RollbackFault::NotAnExtension);
    }
    let before = certifier.certify(honest)?;
    let partial = (1..before.p_state().denominator).contains(&before.p_state().numerator);
    if reading == Reading::Latest && !partial {
        return Err(RollbackFault::NotPartial { before: before.p_state().to_string() });
    }
    let mut replay = Replay::run(task, honest);
    let mut stacks = Stacks::new();
    push_events(task, &mut stacks, &replay.events);
    for (index, step) in steps.iter().enumerate().skip(honest.len()) {
        let events = replay.events.len();
        replay.agent(step);
        if let Some((_, refusal)) = replay.first_refusal() {
            return Err(RollbackFault::Illegal { step: index, code: refusal.code });
        }
        let undone =
            replay.events.get(events).and_then(|event| event.target).and_then(|slot| stacks.get_mut(&slot)?.pop());
        let effective = replay.events.get(events).is_some_and(|event| !event.diff.is_empty());
        if !effective || !undone.is_some_and(|undone| same_action(task, &undone, step)) {
            return Err(RollbackFault::NotAnInverse { step: index });
        }
        match reading {
            Reading::Pops => push_events(task, &mut stacks, &replay.events[events + 1..]),
            Reading::Latest => {
                push_events(task, &mut stacks, &replay.events[events..=events]);
                for event in &replay.events[events + 1..] {
                    let undone = event.target.and_then(|slot| stacks.get_mut(&slot)?.pop());
                    if undone.is_none() || undone != performed(task, event) {
                        return Err(RollbackFault::NotAnInverse { step: index });
                    }
                    push_events(task, &mut stacks, std::slice::from_ref(event));
                }
            }
        }
    }
    let after = certifier.certify_replay(&replay)?;
    if before.goal_version != after.goal_version {
        return Err(RollbackFault::GoalChanged { before: before.goal_version, after: after.goal_version });
    }
    if after.c_state.ones() >= before.c_state.ones() {
        let (before, after) = (before.p_state().to_string(), after.p_state().to_string());
        return Err(RollbackFault::NotLower { before, after });
    }
    Ok(after)
}

/// Whether two steps are one action of the task.
fn same_action(task: &Task, left: &Step, right: &Step) -> bool {
    match (task.resolve(left, Actor::Agent), task.resolve(right, Actor::Agent)) {
        (Ok(left), Ok(right)) => left == right,
        _ => false,
    }
}

impl From<BackwardFault> for RollbackFault {
    fn from(fault: BackwardFault) -> RollbackFault {
        RollbackFault::Certify(fault.into())
    }
}
