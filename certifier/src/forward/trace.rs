//! Canonical forms and hashes, written a second time: entity leaf, state hash, event log (SPEC §2, §15.8).

use std::sync::Arc;

use parthack_env::canonical::{Hash, push_string, push_u64};
use parthack_env::names::{Actor, Operation};

use super::model::{Model, Stage, Thing, Things};

/// Hash of a thing's canonical form (label `entity`).
pub(super) fn leaf(kind: &str, id: &str, thing: &Thing) -> Hash {
    let mut text = Vec::with_capacity(256);
    text.extend_from_slice(b"{\"fields\":{");
    for (index, (name, datum)) in thing.cells.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        push_string(&mut text, name);
        text.push(b':');
        datum.write(&mut text);
    }
    text.extend_from_slice(b"},\"id\":");
    push_string(&mut text, id);
    text.extend_from_slice(b",\"incarnation\":");
    push_u64(&mut text, u64::from(thing.incarnation));
    text.extend_from_slice(b",\"lifecycle\":");
    push_string(&mut text, thing.stage.word());
    text.extend_from_slice(b",\"type\":");
    push_string(&mut text, kind);
    text.push(b'}');
    Hash::of("entity", &text)
}

/// Hash of a state (label `state`): goal version, then type, id and leaf of every created thing in order.
pub(super) fn state_hash(things: &Things, goal: u32) -> Hash {
    let mut bytes = goal.to_le_bytes().to_vec();
    for (kind, things) in things {
        for (id, thing) in things {
            if thing.stage == Stage::Absent {
                continue;
            }
            bytes.extend_from_slice(kind.as_bytes());
            bytes.push(b'/');
            bytes.extend_from_slice(id.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(&thing.leaf.unwrap_or_else(|| leaf(kind, id, thing)).0);
        }
    }
    Hash::of("state", &bytes)
}

/// A log under way.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    /// Canonical bytes of every event, hashes included.
    pub(super) events: Vec<Vec<u8>>,
    /// Hash of the last one, or the log's first hash.
    pub(super) head: Hash,
}

/// One effective or empty change, for the log.
pub(super) struct Deed<'d> {
    pub(super) actor: Actor,
    pub(super) operation: Operation,
    /// Type, id, before and after; none for a goal revision.
    pub(super) target: Option<(&'d str, &'d str, &'d Thing, &'d Thing)>,
    pub(super) goal: (u32, u32),
    pub(super) tick: u64,
    pub(super) state: Hash,
}

impl Trace {
    pub(super) fn begin(model: &Model) -> Trace {
        let mut bytes = model.revision.clone().into_bytes();
        bytes.push(0);
        bytes.extend_from_slice(&state_hash(&model.initial, model.initial_goal).0);
        Trace { events: Vec::new(), head: Hash::of("log", &bytes) }
    }

    pub(super) fn push(&mut self, deed: &Deed<'_>) {
        let sequence = self.events.len() as u64 + 1;
        let write = |hashes: Option<(Hash, Hash)>| {
            let mut out = Vec::with_capacity(512);
            out.extend_from_slice(b"{\"actor\":");
            push_string(&mut out, deed.actor.word());
            out.extend_from_slice(b",\"diff\":");
            write_diff(deed, &mut out);
            out.extend_from_slice(b",\"goal_version\":");
            push_u64(&mut out, u64::from(deed.goal.1));
            if let Some((own, _)) = hashes {
                write_hash(&mut out, "hash", own);
            }
            if let Some((_, id, ..)) = deed.target {
                out.extend_from_slice(b",\"id\":");
                push_string(&mut out, id);
            }
            out.extend_from_slice(b",\"op\":");
            push_string(&mut out, deed.operation.word());
            if let Some((_, previous)) = hashes {
                write_hash(&mut out, "previous_hash", previous);
            }
            out.extend_from_slice(b",\"seq\":");
            push_u64(&mut out, sequence);
            if hashes.is_some() {
                write_hash(&mut out, "state_hash", deed.state);
            }
            out.extend_from_slice(b",\"tick\":");
            push_u64(&mut out, deed.tick);
            if let Some((kind, ..)) = deed.target {
                out.extend_from_slice(b",\"type\":");
                push_string(&mut out, kind);
            }
            out.push(b'}');
            out
        };
        let mut bytes = write(None);
        bytes.extend_from_slice(&deed.state.0);
        bytes.extend_from_slice(&self.head.0);
        let hash = Hash::of("event", &bytes);
        self.events.push(write(Some((hash, self.head))));
        self.head = hash;
    }
}

fn write_hash(out: &mut Vec<u8>, key: &str, hash: Hash) {
    out.push(b',');
    push_string(out, key);
    out.push(b':');
    push_string(out, &hash.hex());
}

fn write_diff(deed: &Deed<'_>, out: &mut Vec<u8>) {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let numbers = |key: &str, before: u32, after: u32| {
        let mut part = Vec::new();
        push_string(&mut part, key);
        part.extend_from_slice(format!(":[{before},{after}]").as_bytes());
        part
    };
    if let Some((_, _, before, after)) = deed.target {
        let changed: Vec<&Arc<str>> = after
            .cells
            .iter()
            .filter(|(name, datum)| before.cells.get(*name) != Some(*datum))
            .map(|(n, _)| n)
            .collect();
        if !changed.is_empty() {
            let mut part = b"\"fields\":{".to_vec();
            for (index, name) in changed.into_iter().enumerate() {
                if index > 0 {
                    part.push(b',');
                }
                push_string(&mut part, name);
                for (mark, thing) in [(&b":["[..], before), (&b","[..], after)] {
                    part.extend_from_slice(mark);
                    if let Some(datum) = thing.cells.get(name) {
                        datum.write(&mut part);
                    }
                }
                part.push(b']');
            }
            part.push(b'}');
            parts.push(part);
        }
    }
    if deed.operation == Operation::ReviseGoal {
        parts.push(numbers("goal", deed.goal.0, deed.goal.1));
    }
    if let Some((_, _, before, after)) = deed.target {
        if before.incarnation != after.incarnation {
            parts.push(numbers("incarnation", before.incarnation, after.incarnation));
        }
        if before.stage != after.stage {
            let words = format!("\"lifecycle\":[\"{}\",\"{}\"]", before.stage.word(), after.stage.word());
            parts.push(words.into_bytes());
        }
    }
    out.push(b'{');
    out.extend_from_slice(&parts.join(&b','));
    out.push(b'}');
}
