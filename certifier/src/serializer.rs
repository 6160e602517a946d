//! The closed serializer: a fixed structure, versioned, without room for an unknown field (P §3.4; SPEC §4, §5).
//!
//! Payloads are written by the environment's one writer, and only for trajectories that have a certificate; here stands
//! the reader that refuses everything else, and the schemas that are published.

use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use parthack_env::limits::MAX_GOAL_VERSION;
use parthack_env::names::{Actor, Operation};
use parthack_env::payload::{PAYLOAD_FORMAT, payload};
use parthack_env::predicate::Predicate;
use parthack_env::replay::Replay;
use parthack_env::steps::{Step, StepFault, StepSource};
use serde_json::Value as Document;

use crate::certify::{Certificate, CertifyError, TaskCertifier};

/// A payload with the certificate of its trajectory and the hash that score records name it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serialized {
    /// Canonical bytes; public.
    pub bytes: Vec<u8>,
    /// Their hash, label `payload`; public.
    pub hash: Hash,
    /// The certificate; private.
    pub certificate: Certificate,
}

/// Certifies a trajectory and writes its payload.
///
/// # Errors
/// The trajectory has no certificate: then it has no payload.
pub fn serialize(certifier: &TaskCertifier, steps: &[Step]) -> Result<Serialized, CertifyError> {
    let replay = Replay::run(&certifier.task, steps);
    let certificate = certifier.certify_replay(&replay)?;
    let bytes = payload(&replay);
    Ok(Serialized { hash: Hash::of("payload", &bytes), bytes, certificate })
}

/// What a sound payload says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadFacts {
    /// The task.
    pub task_id: String,
    /// The task's environment revision.
    pub environment_revision: String,
    /// The goal version that is scored.
    pub active_goal_version: u32,
    /// Predicates in the goal schema.
    pub predicates: usize,
    /// Events.
    pub events: usize,
    /// Lines of the transcript.
    pub lines: usize,
}

/// Reads a payload strictly.
///
/// # Errors
/// An unknown, missing or duplicate key, a value of another shape, events or transcript lines out of order, a line
/// whose result and keys disagree, or bytes that are not canonical.
pub fn read_payload(bytes: &[u8]) -> Result<PayloadFacts, InputError> {
    let json = Json::parse(bytes)?;
    let root = Cursor::root(&json);
    root.format(PAYLOAD_FORMAT)?;
    root.object(&[
        "active_goal_version",
        "environment_revision",
        "events",
        "format",
        "goal_schema",
        "initial_state",
        "instruction",
        "state_diff",
        "task_id",
        "terminal_state",
        "transcript",
    ])?;
    let events = root.key("events")?.items()?;
    for (sequence, event) in (1..).zip(&events) {
        check_event(event, sequence)?;
    }
    let goal_schema = root.key("goal_schema")?.items()?;
    for predicate in &goal_schema {
        predicate.object(&["description", "id", "predicate"])?;
        predicate.key("id")?.identifier()?;
        predicate.key("description")?.text()?;
        Predicate::read(&predicate.key("predicate")?)?;
    }
    for text in root.key("instruction")?.items()? {
        text.object(&["goal_version", "text"])?;
        version(&text.key("goal_version")?)?;
        text.key("text")?.text()?;
    }
    check_state(&root.key("initial_state")?)?;
    check_state(&root.key("terminal_state")?)?;
    check_state_diff(&root.key("state_diff")?)?;
    let transcript = root.key("transcript")?.items()?;
    for (tick, line) in (1..).zip(&transcript) {
        check_line(line, tick)?;
    }
    let facts = PayloadFacts {
        task_id: root.key("task_id")?.identifier()?.to_owned(),
        environment_revision: root.key("environment_revision")?.text()?.to_owned(),
        active_goal_version: version(&root.key("active_goal_version")?)?,
        predicates: goal_schema.len(),
        events: events.len(),
        lines: transcript.len(),
    };
    if canonical_bytes(&json) != bytes {
        return Err(root.fault_found("the same document in other bytes", "canonical bytes"));
    }
    Ok(facts)
}

fn version(cursor: &Cursor<'_, '_>) -> Result<u32, InputError> {
    cursor.u32(0, MAX_GOAL_VERSION)
}

fn actor(cursor: &Cursor<'_, '_>) -> Result<Actor, InputError> {
    cursor.word(&Actor::ALL.map(|actor| (actor.word(), actor)))
}

fn check_event(event: &Cursor<'_, '_>, sequence: u32) -> Result<(), InputError> {
    event.object(&["actor", "diff", "goal_version", "id", "op", "seq", "tick", "type"])?;
    actor(&event.key("actor")?)?;
    check_diff(&event.key("diff")?)?;
    version(&event.key("goal_version")?)?;
    let op = event.key("op")?;
    let operation = op.word(&Operation::ALL.map(|operation| (operation.word(), operation)))?;
    if !operation.is_event() {
        return Err(op.fault("an operation that changes the state"));
    }
    if operation == Operation::ReviseGoal {
        event.object(&["actor", "diff", "goal_version", "op", "seq", "tick"])?;
    } else {
        event.key("id")?.identifier()?;
        event.key("type")?.identifier()?;
    }
    event.key("seq")?.u32(sequence, sequence)?;
    event.key("tick")?.u32(sequence, u32::MAX)?;
    Ok(())
}

fn check_diff(diff: &Cursor<'_, '_>) -> Result<(), InputError> {
    diff.object(&["fields", "goal", "incarnation", "lifecycle"])?;
    if let Some(fields) = diff.optional("fields") {
        for (name, change) in fields.entries()? {
            check_name(name, &change)?;
            for value in pair(&change)? {
                check_value(&value)?;
            }
        }
    }
    for key in ["goal", "incarnation"] {
        if let Some(change) = diff.optional(key) {
            for number in pair(&change)? {
                number.u32(0, u32::MAX)?;
            }
        }
    }
    if let Some(change) = diff.optional("lifecycle") {
        for word in pair(&change)? {
            word.word(&["absent", "live", "deleted"].map(|word| (word, ())))?;
        }
    }
    Ok(())
}

fn pair<'j, 'a>(cursor: &Cursor<'j, 'a>) -> Result<Vec<Cursor<'j, 'a>>, InputError> {
    let items = cursor.items()?;
    if items.len() == 2 { Ok(items) } else { Err(cursor.fault("[before, after]")) }
}

fn check_name(name: &str, cursor: &Cursor<'_, '_>) -> Result<(), InputError> {
    if parthack_env::names::is_identifier(name) {
        return Ok(());
    }
    Err(cursor.fault_found(format!("the key {name:?}"), "a field name"))
}

fn check_value(cursor: &Cursor<'_, '_>) -> Result<(), InputError> {
    match cursor.json {
        Json::Array(_) => cursor.items()?.iter().try_for_each(check_scalar),
        _ => check_scalar(cursor),
    }
}

fn check_scalar(cursor: &Cursor<'_, '_>) -> Result<(), InputError> {
    match cursor.json {
        Json::Null | Json::Bool(_) | Json::String(_) => Ok(()),
        Json::Number(_) => cursor.integer(i64::MIN, i64::MAX).map(drop),
        Json::Object(_) => {
            cursor.object(&["token"])?;
            let token = cursor.key("token")?;
            let digits = token.text()?.strip_prefix("tok_").unwrap_or_default();
            let sound = digits.len() == 32 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            if sound { Ok(()) } else { Err(token.fault("tok_ and 32 hexadecimal digits")) }
        }
        Json::Array(_) => Err(cursor.fault("a scalar or a token")),
    }
}

fn check_state(state: &Cursor<'_, '_>) -> Result<(), InputError> {
    state.object(&["entities", "goal_version"])?;
    version(&state.key("goal_version")?)?;
    state.key("entities")?.items()?.iter().try_for_each(check_entity)
}

fn check_entity(entity: &Cursor<'_, '_>) -> Result<(), InputError> {
    entity.object(&["fields", "id", "incarnation", "lifecycle", "type"])?;
    entity.key("id")?.identifier()?;
    entity.key("type")?.identifier()?;
    entity.key("incarnation")?.u32(1, u32::MAX)?;
    entity.key("lifecycle")?.word(&["live", "deleted"].map(|word| (word, ())))?;
    for (name, value) in entity.key("fields")?.entries()? {
        check_name(name, &value)?;
        check_value(&value)?;
    }
    Ok(())
}

fn check_state_diff(diff: &Cursor<'_, '_>) -> Result<(), InputError> {
    diff.object(&["entities", "goal"])?;
    for entity in diff.key("entities")?.items()? {
        entity.object(&["diff", "id", "type"])?;
        entity.key("id")?.identifier()?;
        entity.key("type")?.identifier()?;
        check_diff(&entity.key("diff")?)?;
    }
    if let Some(goal) = diff.optional("goal") {
        for number in pair(&goal)? {
            version(&number)?;
        }
    }
    Ok(())
}

fn check_line(line: &Cursor<'_, '_>, tick: u32) -> Result<(), InputError> {
    let result = line.key("result")?;
    match result.text()? {
        "applied" => {
            line.object(&["actor", "event", "result", "step", "tick"])?;
            line.key("event")?.u32(1, u32::MAX)?;
        }
        "noted" => {
            line.object(&["actor", "output", "result", "step", "tick"])?;
            if let Some(output) = line.optional("output") {
                output.items()?.iter().try_for_each(check_entity)?;
            }
        }
        "refused" => {
            line.object(&["actor", "refusal", "result", "step", "tick"])?;
            let refusal = line.key("refusal")?;
            refusal.object(&["code", "message"])?;
            refusal.key("code")?.identifier()?;
            refusal.key("message")?.text()?;
        }
        _ => return Err(result.fault("applied, noted or refused")),
    }
    actor(&line.key("actor")?)?;
    Step::read(&line.key("step")?, StepSource::Script).map_err(StepFault::into_error)?;
    line.key("tick")?.u32(tick, tick)?;
    Ok(())
}

/// JSON Schema (2020-12) of `parthack.payload/1`.
#[must_use]
pub fn payload_schema() -> Document {
    parse(include_str!("schema/payload.json"))
}

/// JSON Schema (2020-12) of `parthack.projection/1`.
#[must_use]
pub fn projection_schema() -> Document {
    parse(include_str!("schema/projection.json"))
}

/// JSON Schema (2020-12) of `parthack.private/1`.
#[must_use]
pub fn private_schema() -> Document {
    parse(include_str!("schema/private.json"))
}

/// The schemas are compiled in and a test reads each.
pub(crate) fn parse(text: &str) -> Document {
    serde_json::from_str(text).unwrap_or(Document::Null)
}
