//! The part of a `pb-cste-public-v1` payload that rule evaluators read, written for any imported trajectory.
//!
//! It lets an oracle line be scored from public bytes, by code that shares nothing with the engine's frames. Entities
//! keep the release's private ids; the evaluators read nothing but equality from them.

use parthack_env::canonical::{push_key, push_number_entry, push_text_entry};
use parthack_env::predicate::{FieldTest, Predicate};
use parthack_env::release::RELEASE_PAYLOAD_FORMAT;
use parthack_env::replay::Replay;
use parthack_env::task::Task;
use parthack_env::value::Value;
use parthack_env::world::{Lifecycle, World};

/// Bytes that [`parthack_evaluators::public_view::read`] reads.
pub(super) fn payload(replay: &Replay<'_>) -> Vec<u8> {
    let task = replay.task();
    let mut out = vec![b'{'];
    push_text_entry(&mut out, "format", RELEASE_PAYLOAD_FORMAT);
    push_key(&mut out, "provenance");
    push_list(&mut out, &replay.events, |out, event| {
        out.push(b'{');
        push_text_entry(out, "actor", event.actor.word());
        out.push(b'}');
    });
    push_key(&mut out, "public_goal_schema");
    let goals = task.spec.goal_versions.iter().find(|goal| goal.version == task.spec.active_goal_version);
    push_list(&mut out, goals.map_or(&[][..], |goal| &goal.predicates), |out, predicate| {
        out.extend_from_slice(b"{\"rule\":");
        push_rule(out, &predicate.predicate);
        out.push(b'}');
    });
    push_key(&mut out, "snapshots");
    let states: Vec<&World> = std::iter::once(&task.initial).chain(&replay.snapshots).collect();
    push_list(&mut out, &states, |out, world| push_state(out, task, world));
    push_text_entry(&mut out, "task_id", &task.spec.id);
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

fn push_rule(out: &mut Vec<u8>, predicate: &Predicate) {
    out.push(b'{');
    let entity = |out: &mut Vec<u8>, kind: &str, entity_type: &str, id: &str| {
        push_text_entry(out, "kind", kind);
        push_text_entry(out, "entity_type", entity_type);
        push_text_entry(out, "entity_id", id);
    };
    match predicate {
        Predicate::Exists { entity_type, id, .. } => entity(out, "exists", entity_type, id),
        Predicate::Deleted { entity_type, id, .. } => entity(out, "deleted", entity_type, id),
        Predicate::Field { entity_type, id, field, test: FieldTest::Equals(value), .. } => {
            entity(out, "field_equals", entity_type, id);
            push_text_entry(out, "field", field);
            push_key(out, "value");
            value.push_json(out);
        }
        Predicate::Count { entity_type, count, .. } => {
            push_text_entry(out, "kind", "count_at_least");
            push_text_entry(out, "entity_type", entity_type);
            push_number_entry(out, "count", u64::from(*count));
        }
        Predicate::GoalVersion(version) => {
            push_text_entry(out, "kind", "goal_version");
            push_number_entry(out, "version", u64::from(*version));
        }
        // The release has no other kind; an unknown one makes the evaluators give no verdict.
        _ => push_text_entry(out, "kind", "unknown"),
    }
    out.push(b'}');
}

fn push_state(out: &mut Vec<u8>, task: &Task, world: &World) {
    out.push(b'{');
    for (key, lifecycle) in [("deleted", Lifecycle::Deleted), ("entities", Lifecycle::Live)] {
        push_key(out, key);
        out.push(b'{');
        for (index, entity_type) in task.spec.entity_types.iter().enumerate() {
            push_key(out, &entity_type.name);
            out.push(b'{');
            for slot in task.slots_of_type(index) {
                let entity = world.entity(slot);
                if entity.lifecycle != lifecycle {
                    continue;
                }
                push_key(out, &task.slots[slot.at()].id);
                out.push(b'{');
                for (field, value) in entity_type.fields.iter().zip(&entity.fields) {
                    if *value != Value::Null {
                        push_key(out, &field.name);
                        value.push_json(out);
                    }
                }
                out.push(b'}');
            }
            out.push(b'}');
        }
        out.push(b'}');
    }
    push_number_entry(out, "goal_version", u64::from(world.goal_version()));
    out.push(b'}');
}
