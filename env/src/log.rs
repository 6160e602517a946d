//! The append-only, hash-chained event log (SPEC §2; P A.1).

use std::fmt;

use crate::canonical::{Hash, push_key, push_string, push_text_entry, push_u64};
use crate::engine::Diff;
use crate::names::{Actor, Operation};
use crate::task::{Slot, Task};
use crate::world::{Entity, World};

/// One successful operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// From 1.
    pub sequence: u32,
    /// Position in the transcript, from 1.
    pub tick: u32,
    /// Who acted; assigned by the wrapper.
    pub actor: Actor,
    /// What.
    pub operation: Operation,
    /// On which entity; none for a goal revision.
    pub target: Option<Slot>,
    /// What changed.
    pub diff: Diff,
    /// The goal version after it.
    pub goal_version: u32,
    /// Hash of the state after it.
    pub state_hash: Hash,
    /// Hash of the event before it, or the log's first hash.
    pub previous_hash: Hash,
    /// Hash of this event (label `event`).
    pub hash: Hash,
}

impl Event {
    /// Completes an event with its hash.
    pub(crate) fn seal(&mut self, task: &Task, buffer: &mut Vec<u8>) {
        self.hash = self.computed_hash(task, buffer);
    }

    /// The hash that the other fields call for.
    #[must_use]
    pub fn computed_hash(&self, task: &Task, buffer: &mut Vec<u8>) -> Hash {
        buffer.clear();
        buffer.extend_from_slice(b"event\0");
        self.push_public_json(task, buffer);
        buffer.extend_from_slice(&self.state_hash.0);
        buffer.extend_from_slice(&self.previous_hash.0);
        Hash::of_labelled(buffer)
    }

    /// Appends canonical JSON without the hashes: what the public payload shows.
    pub fn push_public_json(&self, task: &Task, out: &mut Vec<u8>) {
        self.push_entries(task, out, false);
    }

    /// Appends canonical JSON with the hashes: what a claimed log holds.
    pub fn push_json(&self, task: &Task, out: &mut Vec<u8>) {
        self.push_entries(task, out, true);
    }

    fn push_entries(&self, task: &Task, out: &mut Vec<u8>, hashes: bool) {
        let target = self.target.map(|slot| &task.spelling.slots[slot.at()]);
        out.extend_from_slice(b"{\"actor\":\"");
        out.extend_from_slice(self.actor.word().as_bytes());
        out.extend_from_slice(b"\",\"diff\":");
        push_diff(task, self.target, &self.diff, out);
        out.extend_from_slice(b",\"goal_version\":");
        push_u64(out, u64::from(self.goal_version));
        if hashes {
            push_text_entry(out, "hash", &self.hash.hex());
        }
        if let Some(spelling) = target {
            out.extend_from_slice(&spelling.id);
        }
        out.extend_from_slice(b",\"op\":\"");
        out.extend_from_slice(self.operation.word().as_bytes());
        out.push(b'"');
        if hashes {
            push_text_entry(out, "previous_hash", &self.previous_hash.hex());
        }
        out.extend_from_slice(b",\"seq\":");
        push_u64(out, u64::from(self.sequence));
        if hashes {
            push_text_entry(out, "state_hash", &self.state_hash.hex());
        }
        out.extend_from_slice(b",\"tick\":");
        push_u64(out, u64::from(self.tick));
        match target {
            Some(spelling) => out.extend_from_slice(&spelling.entity_type),
            None => out.push(b'}'),
        }
    }
}

/// Keys of an event in a claimed log.
pub const EVENT_KEYS: [&str; 11] =
    ["actor", "diff", "goal_version", "hash", "id", "op", "previous_hash", "seq", "state_hash", "tick", "type"];

/// Appends a diff: `{"fields":{name:[before,after]},"goal":[…],"incarnation":[…],"lifecycle":[…]}`, only what changed.
pub(crate) fn push_diff(task: &Task, target: Option<Slot>, diff: &Diff, out: &mut Vec<u8>) {
    out.push(b'{');
    if let (Some(slot), false) = (target, diff.fields.is_empty()) {
        out.extend_from_slice(b"\"fields\":{");
        let mut first = true;
        for (wanted, key) in &task.spelling.fields[task.slots[slot.at()].entity_type] {
            if let Some((_, before, after)) = diff.fields.iter().find(|(field, ..)| field == wanted) {
                if !first {
                    out.push(b',');
                }
                first = false;
                out.extend_from_slice(key);
                out.push(b'[');
                before.push_json(out);
                out.push(b',');
                after.push_json(out);
                out.push(b']');
            }
        }
        out.push(b'}');
    }
    let mut pair = |key: &str, before: u64, after: u64| {
        push_key(out, key);
        out.push(b'[');
        crate::canonical::push_u64(out, before);
        out.push(b',');
        crate::canonical::push_u64(out, after);
        out.push(b']');
    };
    if let Some((before, after)) = diff.goal {
        pair("goal", u64::from(before), u64::from(after));
    }
    if let Some((before, after)) = diff.incarnation {
        pair("incarnation", u64::from(before), u64::from(after));
    }
    if let Some((before, after)) = diff.lifecycle {
        push_key(out, "lifecycle");
        out.push(b'[');
        push_string(out, before.word());
        out.push(b',');
        push_string(out, after.word());
        out.push(b']');
    }
    out.push(b'}');
}

/// The hash before the first event: label `log`, over the task's environment revision and the initial state hash.
#[must_use]
pub fn first_hash(task: &Task) -> Hash {
    let mut bytes = task.spec.environment_revision.clone().into_bytes();
    bytes.push(0);
    bytes.extend_from_slice(&task.initial.state_hash().0);
    Hash::of("log", &bytes)
}

/// What is wrong with a log, and where first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFault {
    /// Sequence number of the first event at fault; one past the end for a log that was cut.
    pub sequence: u32,
    /// What is wrong there.
    pub reason: LogFaultReason,
}

/// Ways in which a log can be at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFaultReason {
    /// The sequence number is not the next one.
    Sequence,
    /// The previous hash is not the hash of the event before.
    Chain,
    /// The event's own hash does not fit its content.
    Hash,
    /// A value before the change is not what the state holds.
    Before,
    /// The state after the change has another hash.
    State,
    /// The log ends before its declared head.
    Cut,
}

impl fmt::Display for LogFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.reason {
            LogFaultReason::Sequence => "its sequence number is not the next one",
            LogFaultReason::Chain => "its previous hash is not that of the event before it",
            LogFaultReason::Hash => "its hash does not fit its content",
            LogFaultReason::Before => "a value before the change is not what the state held",
            LogFaultReason::State => "the state after it has another hash",
            LogFaultReason::Cut => "the log ends before its head",
        };
        write!(out, "event {}: {what}", self.sequence)
    }
}

/// Checks a log against its task: numbers, chain, hashes, and every change against the state before it.
///
/// `head` is the hash that the log must end with, where it is known from elsewhere; it finds a cut tail.
///
/// # Errors
/// The first event at fault.
pub fn verify(task: &Task, events: &[Event], head: Option<Hash>) -> Result<World, LogFault> {
    let mut world = task.initial.clone();
    let mut previous = first_hash(task);
    let mut buffer = Vec::new();
    for (expected, event) in (1u32..).zip(events) {
        let fault = |reason| Err(LogFault { sequence: expected, reason });
        if event.sequence != expected {
            return fault(LogFaultReason::Sequence);
        }
        if event.previous_hash != previous {
            return fault(LogFaultReason::Chain);
        }
        if event.computed_hash(task, &mut buffer) != event.hash {
            return fault(LogFaultReason::Hash);
        }
        let Some(after) = apply_diff(task, &world, event, &mut buffer) else {
            return fault(LogFaultReason::Before);
        };
        if after.state_hash() != event.state_hash || after.goal_version() != event.goal_version {
            return fault(LogFaultReason::State);
        }
        previous = event.hash;
        world = after;
    }
    match head {
        Some(head) if head != previous => {
            let sequence = u32::try_from(events.len()).unwrap_or(u32::MAX).saturating_add(1);
            Err(LogFault { sequence, reason: LogFaultReason::Cut })
        }
        _ => Ok(world),
    }
}

fn apply_diff(task: &Task, world: &World, event: &Event, buffer: &mut Vec<u8>) -> Option<World> {
    let diff = &event.diff;
    if let Some((before, after)) = diff.goal {
        return (before == world.goal_version()).then(|| world.with_goal(task, after, buffer));
    }
    if diff.is_empty() {
        return Some(world.clone());
    }
    let slot = event.target.filter(|slot| slot.at() < task.slots.len())?;
    let mut entity: Entity = world.entity(slot).clone();
    if let Some((before, after)) = diff.lifecycle {
        if entity.lifecycle != before {
            return None;
        }
        entity.lifecycle = after;
    }
    if let Some((before, after)) = diff.incarnation {
        if entity.incarnation != before {
            return None;
        }
        entity.incarnation = after;
    }
    for (field, before, after) in &diff.fields {
        let cell = entity.fields.get_mut(field.at())?;
        if cell != before {
            return None;
        }
        *cell = after.clone();
    }
    Some(world.with_entity(task, slot, entity, buffer))
}
