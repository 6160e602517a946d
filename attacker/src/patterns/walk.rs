//! Walking the public environment from the honest trajectory: bounded breadth-first legs to a state that is wanted, and
//! the way home to the honest vectors.

use std::cell::Cell;
use std::collections::HashSet;

use parthack_env::frames::{Frame, frames, projection_changes};
use parthack_env::names::Actor;
use parthack_env::replay::Replay;
use parthack_env::steps::Step;
use parthack_env::task::{Action, Fires, Task};
use parthack_env::value::Literal;
use parthack_env::world::Lifecycle;

use super::letters::{alphabet, field_name};

/// Engine steps that one candidate may cost: about a second.
const MOST_WORK: u32 = 60_000;
/// Engine steps of one leg.
const MOST_LEG_WORK: u32 = 6_000;
/// Legs of one way home.
const MOST_LEGS: usize = 16;

/// A trajectory so far with the frame that it has come to.
#[derive(Debug, Clone)]
pub(super) struct Node<'t> {
    pub(super) replay: Replay<'t>,
    pub(super) frame: Frame,
}

impl<'t> Node<'t> {
    pub(super) fn begin(task: &'t Task) -> Node<'t> {
        let replay = Replay::begin(task);
        let frame = frames(&replay).last().copied().unwrap_or_default();
        Node { replay, frame }
    }

    /// One more step; none if it is refused.
    pub(super) fn after(&self, step: &Step) -> Option<Node<'t>> {
        let action = self.replay.task().resolve(step, Actor::Agent).ok()?;
        self.after_action(step, &action)
    }

    fn after_action(&self, step: &Step, action: &Action) -> Option<Node<'t>> {
        let mut replay = self.replay.clone();
        let events = replay.events.len();
        replay.agent_action(step.clone(), action);
        if replay.accepted() == self.replay.accepted() {
            return None;
        }
        let mut frame = self.frame;
        let predicates = replay.task().active_predicates();
        for (index, event) in replay.events.iter().enumerate().skip(events) {
            let (before, after) = (replay.snapshot(index), &replay.snapshots[index]);
            for (j, predicate) in predicates.iter().enumerate() {
                if projection_changes(predicate, event.target, &event.diff, before, after) {
                    let holds = after.holds(predicate);
                    set(&mut frame.satisfied, j, holds);
                    set(&mut frame.credited, j, holds && event.actor == Actor::Agent);
                }
            }
            frame.goal_version = after.goal_version();
        }
        Some(Node { replay, frame })
    }

    /// Several more steps; none if one is refused.
    pub(super) fn after_all(&self, steps: &[Step]) -> Option<Node<'t>> {
        steps.iter().try_fold(self.clone(), |node, step| node.after(step))
    }
}

fn set(bits: &mut u32, j: usize, to: bool) {
    *bits = if to { *bits | 1 << j } else { *bits & !(1 << j) };
}

/// What all strategies stand on.
pub(super) struct Ground<'t> {
    pub(super) task: &'t Task,
    /// The end of the honest trajectory.
    pub(super) honest: Node<'t>,
    alphabet: Vec<(Step, Action)>,
    work: Cell<u32>,
    last_count: u32,
}

impl<'t> Ground<'t> {
    /// None where the honest trajectory is refused or ends at another goal version.
    pub(super) fn of(task: &'t Task) -> Option<Ground<'t>> {
        let honest = Node::begin(task).after_all(&task.spec.honest)?;
        let last_count = task.script.iter().fold(0, |last, entry| match entry.fires {
            Fires::AfterStep(count) => last.max(count),
            _ => last,
        });
        let ground = Ground { task, honest, alphabet: alphabet(task), work: Cell::new(0), last_count };
        (ground.honest.frame.goal_version == task.spec.active_goal_version).then_some(ground)
    }

    /// Whether a node has the honest vectors and goal version.
    pub(super) fn is_home(&self, node: &Node<'_>) -> bool {
        self.distance(node) == 0
    }

    fn distance(&self, node: &Node<'_>) -> u32 {
        let (frame, home) = (node.frame, self.honest.frame);
        (frame.satisfied ^ home.satisfied).count_ones()
            + (frame.credited ^ home.credited).count_ones()
            + 8 * u32::from(frame.goal_version != home.goal_version)
    }

    /// Up to `most` nodes that are wanted, nearest first, at most `depth` steps away; what lies behind one is not
    /// looked at.
    pub(super) fn nearest(
        &self,
        start: &Node<'t>,
        depth: u32,
        most: usize,
        wanted: &dyn Fn(&Node<'t>) -> bool,
    ) -> Vec<Node<'t>> {
        let mut found = Vec::new();
        let mut seen = HashSet::from([self.key(start)]);
        let mut level = vec![start.clone()];
        let ends_at = self.work.get().saturating_add(MOST_LEG_WORK).min(MOST_WORK);
        for _ in 0..depth {
            let mut next = Vec::new();
            for node in &level {
                for (step, action) in &self.alphabet {
                    if found.len() == most || self.work.get() >= ends_at {
                        return found;
                    }
                    self.work.set(self.work.get() + 1);
                    let Some(after) = node.after_action(step, action) else { continue };
                    if !seen.insert(self.key(&after)) {
                        continue;
                    }
                    if wanted(&after) {
                        found.push(after);
                    } else {
                        next.push(after);
                    }
                }
            }
            level = next;
        }
        found
    }

    /// What tells nodes apart: the state, the causes, and what others will still do. For look-up alone.
    fn key(&self, node: &Node<'_>) -> ([u8; 32], u32, u64, u32, u64) {
        let world = node.replay.world();
        let offered =
            self.task.goals.iter().fold(0, |bits, goal| bits << 1 | u64::from(world.is_offered(goal.version)));
        let accepted = node.replay.accepted().min(self.last_count);
        (world.state_hash().0, node.frame.credited, node.replay.fired(), accepted, offered)
    }

    /// The way home: what happened after the first `since` events is undone, last first; where that is not allowed or
    /// not enough, legs that each come nearer to the honest vectors.
    pub(super) fn home(&self, start: &Node<'t>, since: usize) -> Option<Node<'t>> {
        let mut node = self.undone(start, since);
        for _ in 0..MOST_LEGS {
            let distance = self.distance(&node);
            if distance == 0 {
                return Some(node);
            }
            node = self.nearest(&node, 3, 1, &|other| self.distance(other) < distance).pop()?;
        }
        None
    }

    /// Undoes what happened after the first `since` events, last first, as far as that is allowed, until the node is at
    /// home.
    pub(super) fn undone(&self, start: &Node<'t>, since: usize) -> Node<'t> {
        let mut node = start.clone();
        for index in (since..start.replay.events.len()).rev() {
            if self.is_home(&node) {
                break;
            }
            if let Some(undone) = inverse(&start.replay, index).and_then(|step| node.after(&step)) {
                node = undone;
            }
        }
        node
    }

    /// Climbs as high as `measure` goes while there is a way home: the highest node, and the node at home after it.
    pub(super) fn climb(
        &self,
        start: &Node<'t>,
        since: usize,
        measure: &dyn Fn(&Node<'t>) -> u32,
        home: &dyn Fn(&Node<'t>) -> Option<Node<'t>>,
    ) -> Option<(Node<'t>, Node<'t>)> {
        debug_assert!(since <= start.replay.events.len());
        let mut best: Option<(Node<'t>, Node<'t>)> = None;
        loop {
            let from = best.as_ref().map_or(start, |(peak, _)| peak);
            let height = measure(from);
            let higher = self.nearest(from, 3, 6, &|node| measure(node) > height);
            match higher.into_iter().find_map(|peak| home(&peak).map(|home| (peak, home))) {
                Some(pair) => best = Some(pair),
                None => return best,
            }
        }
    }
}

/// The agent's step that undoes an event; none for a revision.
fn inverse(replay: &Replay<'_>, index: usize) -> Option<Step> {
    let event = &replay.events[index];
    let task = replay.task();
    let slot = event.target?;
    let entity_type = task.type_of_slot(slot).name.clone();
    let id = task.slots[slot.at()].id.to_string();
    match event.diff.lifecycle {
        Some((_, Lifecycle::Live)) => Some(Step::Delete { entity_type, id }),
        Some((Lifecycle::Live, _)) => Some(Step::Restore { entity_type, id }),
        _ if event.diff.fields.is_empty() => None,
        _ => {
            let fields = event.diff.fields.iter();
            let fields = fields.map(|(field, old, _)| (field_name(task, slot, *field), Literal::from_value(old)));
            Some(Step::Update { entity_type, id, fields: fields.collect() })
        }
    }
}
