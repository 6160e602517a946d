//! The public payload `parthack.payload/1` and its schema-free projection (SPEC §5; P §3.4): a closed structure, the
//! same bytes for the same log.

use crate::canonical::{push_key, push_number_entry, push_text_entry};
use crate::engine::Diff;
use crate::log::push_diff;
use crate::replay::{Origin, Replay, StepResult, TranscriptEntry};
use crate::steps::Step;
use crate::task::{FieldIndex, Task};
use crate::world::{Lifecycle, World};

/// Version of the payload format.
pub const PAYLOAD_FORMAT: &str = "parthack.payload/1";
/// Version of the projection format.
pub const PROJECTION_FORMAT: &str = "parthack.projection/1";

/// Canonical bytes of the payload of a trajectory.
#[must_use]
pub fn payload(replay: &Replay<'_>) -> Vec<u8> {
    let task = replay.task();
    let mut out = Vec::with_capacity(8192);
    out.push(b'{');
    push_number_entry(&mut out, "active_goal_version", u64::from(task.spec.active_goal_version));
    push_text_entry(&mut out, "environment_revision", &task.spec.environment_revision);
    push_key(&mut out, "events");
    push_list(&mut out, &replay.events, |out, event| event.push_public_json(task, out));
    push_text_entry(&mut out, "format", PAYLOAD_FORMAT);
    push_key(&mut out, "goal_schema");
    push_goal_schema(task, &mut out);
    push_key(&mut out, "initial_state");
    task.initial.push_json(task, &mut out);
    push_key(&mut out, "instruction");
    push_instruction(replay, &mut out);
    push_key(&mut out, "state_diff");
    push_state_diff(task, &task.initial, replay.world(), &mut out);
    push_text_entry(&mut out, "task_id", &task.spec.id);
    push_key(&mut out, "terminal_state");
    replay.world().push_json(task, &mut out);
    push_key(&mut out, "transcript");
    push_list(&mut out, &replay.transcript, |out, entry| push_entry(replay, entry, out));
    out.push(b'}');
    out
}

fn push_list<T>(out: &mut Vec<u8>, items: &[T], mut push: impl FnMut(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push(out, item);
    }
    out.push(b']');
}

fn push_goal_schema(task: &Task, out: &mut Vec<u8>) {
    let goal = task.spec.goal_versions.iter().find(|goal| goal.version == task.spec.active_goal_version);
    let predicates = goal.map_or(&[][..], |goal| &goal.predicates);
    push_list(out, predicates, |out, predicate| {
        out.push(b'{');
        push_text_entry(out, "description", &predicate.description);
        push_text_entry(out, "id", &predicate.id);
        push_key(out, "predicate");
        predicate.predicate.push_json(out);
        out.push(b'}');
    });
}

fn push_instruction(replay: &Replay<'_>, out: &mut Vec<u8>) {
    let texts: Vec<(u32, &str)> = replay.task().instructions_in_force(replay.world().goal_version()).collect();
    push_list(out, &texts, |out, (version, text)| {
        out.push(b'{');
        push_number_entry(out, "goal_version", u64::from(*version));
        push_text_entry(out, "text", text);
        out.push(b'}');
    });
}

/// The net change from one state to another, entity by entity in id order.
fn push_state_diff(task: &Task, before: &World, after: &World, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"entities\":[");
    let mut first = true;
    for ((slot, old), (_, new)) in before.entities().zip(after.entities()) {
        let mut diff = Diff::default();
        if old.lifecycle != new.lifecycle {
            diff.lifecycle = Some((old.lifecycle, new.lifecycle));
        }
        if old.incarnation != new.incarnation {
            diff.incarnation = Some((old.incarnation, new.incarnation));
        }
        for (index, (was, is)) in (0u16..).zip(old.fields.iter().zip(&new.fields)) {
            if was != is {
                diff.fields.push((FieldIndex(index), was.clone(), is.clone()));
            }
        }
        if diff.is_empty() {
            continue;
        }
        if !first {
            out.push(b',');
        }
        first = false;
        out.push(b'{');
        push_key(out, "diff");
        push_diff(task, Some(slot), &diff, out);
        push_text_entry(out, "id", &task.slots[slot.at()].id);
        push_text_entry(out, "type", &task.type_of_slot(slot).name);
        out.push(b'}');
    }
    out.push(b']');
    if before.goal_version() != after.goal_version() {
        push_key(out, "goal");
        out.push(b'[');
        crate::canonical::push_u64(out, u64::from(before.goal_version()));
        out.push(b',');
        crate::canonical::push_u64(out, u64::from(after.goal_version()));
        out.push(b']');
    }
    out.push(b'}');
}

fn push_entry(replay: &Replay<'_>, entry: &TranscriptEntry, out: &mut Vec<u8>) {
    let task = replay.task();
    let step = match entry.origin {
        Origin::Agent(index) => &replay.steps[index],
        Origin::Script(index) => &task.spec.script[index].action,
    };
    out.push(b'{');
    push_text_entry(out, "actor", entry.actor.word());
    if let StepResult::Applied(sequence) = entry.result {
        push_number_entry(out, "event", u64::from(sequence));
    }
    if matches!(entry.result, StepResult::Noted) {
        push_output(task, step, replay.snapshot(entry.events_before), out);
    }
    if let StepResult::Refused(refusal) = &entry.result {
        push_key(out, "refusal");
        out.push(b'{');
        push_text_entry(out, "code", refusal.code.word());
        push_text_entry(out, "message", &refusal.message);
        out.push(b'}');
    }
    let word = match entry.result {
        StepResult::Applied(_) => "applied",
        StepResult::Noted => "noted",
        StepResult::Refused(_) => "refused",
    };
    push_text_entry(out, "result", word);
    push_key(out, "step");
    step.push_json(out);
    push_number_entry(out, "tick", u64::from(entry.tick));
    out.push(b'}');
}

/// What a `read` or `list` showed: entities, in id order.
fn push_output(task: &Task, step: &Step, world: &World, out: &mut Vec<u8>) {
    let shown: Vec<_> = match step {
        Step::Read { entity_type, id } => {
            task.type_index(entity_type).and_then(|index| task.slot(index, id)).into_iter().collect()
        }
        Step::List { entity_type } => task
            .type_index(entity_type)
            .map(|index| task.slots_of_type(index))
            .unwrap_or_default()
            .into_iter()
            .filter(|slot| world.entity(*slot).lifecycle == Lifecycle::Live)
            .collect(),
        _ => return,
    };
    push_key(out, "output");
    push_list(out, &shown, |out, slot| world.entity(*slot).push_json(task, *slot, out));
}

/// Canonical bytes of the projection: the payload less the goal schema, the tokens and everything derived from them
/// (cells of sealed fields; SPEC §5).
#[must_use]
pub fn projection(replay: &Replay<'_>) -> Vec<u8> {
    let bytes = payload(replay);
    let Ok(json) = crate::json::Json::parse(&bytes) else { return Vec::new() };
    let mut out = Vec::with_capacity(bytes.len());
    crate::canonical::push_json(&mut out, &project(json));
    out
}

fn project(json: crate::json::Json<'_>) -> crate::json::Json<'_> {
    use crate::json::Json;
    match json {
        Json::Object(entries) => Json::Object(
            entries
                .into_iter()
                .filter(|(key, value)| key != "goal_schema" && key != "environment_revision" && !mentions_token(value))
                .map(|(key, value)| {
                    let value = if key == "format" { Json::String(PROJECTION_FORMAT.into()) } else { project(value) };
                    (key, value)
                })
                .collect(),
        ),
        Json::Array(items) => Json::Array(items.into_iter().map(project).collect()),
        other => other,
    }
}

/// Whether a value is a token, or a list (a set, or a before-and-after pair) with a token in it.
fn mentions_token(json: &crate::json::Json<'_>) -> bool {
    use crate::json::Json;
    match json {
        Json::Object(entries) => matches!(entries.as_slice(), [(key, Json::String(_))] if key == "token"),
        Json::Array(items) => items.iter().any(mentions_token),
        _ => false,
    }
}
