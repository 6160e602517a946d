//! Logs that somebody claims: compared with a replay, or checked on their own.

use parthack_env::canonical::Hash;
use parthack_env::engine::Diff;
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use parthack_env::log::{EVENT_KEYS, Event, LogFault, verify};
use parthack_env::names::{Actor, Operation};
use parthack_env::replay::Replay;
use parthack_env::task::{Slot, Task};
use parthack_env::value::{Literal, Value};
use parthack_env::world::{Lifecycle, World};

/// What came of comparing a claimed log with the replay's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClaimedLog {
    /// Byte for byte the same.
    Reproduced,
    /// The first event at fault, in a sentence.
    Differs(String),
}

/// Compares a candidate's claimed log with the replay of its steps.
pub(super) fn compare(task: &Task, replay: &Replay<'_>, claimed: &[Vec<u8>]) -> ClaimedLog {
    let mut bytes = Vec::new();
    for (index, event) in replay.events.iter().enumerate() {
        bytes.clear();
        event.push_json(task, &mut bytes);
        match claimed.get(index) {
            Some(claimed) if *claimed == bytes => {}
            Some(_) => return ClaimedLog::Differs(format!("event {} is not the one that replay produces", index + 1)),
            None => {
                let (found, expected) = (claimed.len(), replay.events.len());
                return ClaimedLog::Differs(format!("it ends after {found} events, replay produces {expected}"));
            }
        }
    }
    if claimed.len() > replay.events.len() {
        let (found, expected) = (claimed.len(), replay.events.len());
        return ClaimedLog::Differs(format!("it has {found} events, replay produces {expected}"));
    }
    ClaimedLog::Reproduced
}

/// Reads a list of events and checks numbers, chain, hashes and every change against the task's initial state.
///
/// # Errors
/// [`InputError`] for a text that is no list of events of this task. A log that is one, and at fault, is the inner error.
pub(super) fn verified(task: &Task, bytes: &[u8]) -> Result<(Vec<Event>, Result<World, LogFault>), InputError> {
    let json = Json::parse(bytes)?;
    let root = Cursor::root(&json);
    let events = root.items()?.iter().map(|item| read_event(task, item)).collect::<Result<Vec<_>, _>>()?;
    let checked = verify(task, &events, None);
    Ok((events, checked))
}

fn read_event(task: &Task, cursor: &Cursor<'_, '_>) -> Result<Event, InputError> {
    cursor.object(&EVENT_KEYS)?;
    let target = match (cursor.optional("type"), cursor.optional("id")) {
        (None, None) => None,
        _ => Some(read_target(task, cursor)?),
    };
    let operations = Operation::ALL.map(|operation| (operation.word(), operation));
    Ok(Event {
        sequence: cursor.key("seq")?.u32(0, u32::MAX)?,
        tick: cursor.key("tick")?.u32(0, u32::MAX)?,
        actor: cursor.key("actor")?.word(&Actor::ALL.map(|actor| (actor.word(), actor)))?,
        operation: cursor.key("op")?.word(&operations)?,
        target,
        diff: read_diff(task, target, &cursor.key("diff")?)?,
        goal_version: cursor.key("goal_version")?.u32(0, u32::MAX)?,
        state_hash: read_hash(&cursor.key("state_hash")?)?,
        previous_hash: read_hash(&cursor.key("previous_hash")?)?,
        hash: read_hash(&cursor.key("hash")?)?,
    })
}

fn read_target(task: &Task, cursor: &Cursor<'_, '_>) -> Result<Slot, InputError> {
    let (kind, id) = (cursor.key("type")?, cursor.key("id")?);
    let index = task.type_index(kind.text()?).ok_or_else(|| kind.fault("the name of an entity type"))?;
    task.slot(index, id.text()?).ok_or_else(|| id.fault("the id of an entity that can exist"))
}

fn read_hash(cursor: &Cursor<'_, '_>) -> Result<Hash, InputError> {
    Hash::from_hex(cursor.text()?).ok_or_else(|| cursor.fault("64 lower-case hexadecimal digits"))
}

fn read_diff(task: &Task, target: Option<Slot>, cursor: &Cursor<'_, '_>) -> Result<Diff, InputError> {
    cursor.object(&["fields", "goal", "incarnation", "lifecycle"])?;
    let number = |key: &str| {
        let read = |pair: Cursor<'_, '_>| {
            let [before, after] = two(&pair)?;
            Ok((before.u32(0, u32::MAX)?, after.u32(0, u32::MAX)?))
        };
        cursor.optional(key).map(read).transpose()
    };
    let lifecycle = |pair: Cursor<'_, '_>| {
        let [before, after] = two(&pair)?;
        let words = [Lifecycle::Absent, Lifecycle::Live, Lifecycle::Deleted].map(|word| (word.word(), word));
        Ok((before.word(&words)?, after.word(&words)?))
    };
    let mut diff = Diff {
        goal: number("goal")?,
        incarnation: number("incarnation")?,
        lifecycle: cursor.optional("lifecycle").map(lifecycle).transpose()?,
        fields: Vec::new(),
    };
    if let Some(fields) = cursor.optional("fields") {
        let Some(slot) = target else { return Err(fields.fault("no fields in an event without an entity")) };
        for (name, pair) in fields.entries()? {
            let entity_type = task.slots[slot.at()].entity_type;
            let field = task.field_index(entity_type, name).ok_or_else(|| pair.fault("a field of the type"))?;
            let [before, after] = two(&pair)?;
            let value = |cursor: &Cursor<'_, '_>| match Literal::read(cursor.json) {
                Literal::Null => Ok(Value::Null),
                literal => task.admit(entity_type, field, &literal).map_err(|_| cursor.fault("a value of the field")),
            };
            diff.fields.push((field, value(&before)?, value(&after)?));
        }
        diff.fields.sort_by_key(|(field, ..)| *field);
    }
    Ok(diff)
}

fn two<'j, 'a>(cursor: &Cursor<'j, 'a>) -> Result<[Cursor<'j, 'a>; 2], InputError> {
    <[Cursor<'j, 'a>; 2]>::try_from(cursor.items()?).map_err(|_| cursor.fault("[before, after]"))
}
