//! Serializer and schemas: what the run wrote, checked by a validator that shares no code with the writers and readers, and
//! canonical where its bytes are hashed.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::Validator;
use parthack_env::canonical::canonical_bytes;
use parthack_env::json::Json;
use parthack_evaluators::judge::projection::projection_of_payload;
use serde_json::{Value, json};

use crate::audit::context::{Context, Listed, PRIVATE, files_below, lines, read};
use crate::audit::outcome::Outcome;
use crate::ledger::Record;
use crate::run::error::RunError;
use crate::run::files::read_regular;
use crate::schemas::schema;

/// What the bytes of a kind of file must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bytes {
    /// Canonical: they are hashed.
    Canonical,
    /// As their writer has them.
    Any,
}

/// Validators by name of the schema.
struct Validators(BTreeMap<&'static str, Validator>);

/// A journal's lines hold records of the ledger.
const JOURNAL_RECORD: &str = "journal record";

pub(super) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
    let validators = Validators::new()?;
    for (schema, name, form) in [
        ("manifest", "manifest.json", Bytes::Canonical),
        ("complete", "complete.json", Bytes::Canonical),
        ("tables", "tables/tables.json", Bytes::Any),
    ] {
        if let Some(bytes) = context.file(name, outcome) {
            validators.check(outcome, schema, name, bytes.strip_suffix(b"\n").unwrap_or(&bytes), form);
        }
    }
    for (number, line) in (1..).zip(lines(&read(&context.folder.ledger())?)) {
        validators.check(outcome, "ledger", &format!("ledger.jsonl, line {number}"), line, Bytes::Canonical);
    }
    if let Ok(bytes) = read_regular(context.folder.certifications()) {
        for (number, line) in (1..).zip(lines(&bytes)) {
            let place = format!("{PRIVATE}/certifications.jsonl, line {number}");
            validators.check(outcome, "private-ledger", &place, line, Bytes::Canonical);
        }
    }
    for Listed { name, path } in files_of(context, "objects", outcome)? {
        let bytes = read(&path)?;
        let place = format!("objects/{name}");
        match name.split_once('/') {
            Some(("payloads", _)) => {
                validators.check(outcome, "payload", &place, &bytes, Bytes::Canonical);
                if let Ok(projection) = projection_of_payload(&bytes) {
                    validators.check(
                        outcome,
                        "projection",
                        &format!("projection of {place}"),
                        &projection,
                        Bytes::Canonical,
                    );
                }
            }
            Some(("exchanges", _)) => validators.check(outcome, "exchange", &place, &bytes, Bytes::Any),
            _ => {}
        }
    }
    journal(context, outcome, &validators)?;
    trajectories(context, outcome, &validators)
}

/// Trajectories: what passed the first gate must meet the schema of candidates; what the gate refused must not have to.
fn trajectories(context: &Context<'_>, outcome: &mut Outcome, validators: &Validators) -> Result<(), RunError> {
    let ledger = context.ledger()?;
    let mut refused = BTreeSet::new();
    for record in ledger.records() {
        let Record::Attempt(attempt) = record else { continue };
        let malformed = attempt.fault.as_ref().is_some_and(|fault| fault.code == "malformed_schema");
        refused.extend(attempt.candidate.iter().filter(|_| malformed).cloned());
    }
    for Listed { name, path } in files_of(context, "objects/trajectories", outcome)? {
        if refused.contains(name.trim_end_matches(".json")) {
            outcome.counts("malformed candidates, refused by the first gate", 1);
            continue;
        }
        validators.check(outcome, "candidate", &format!("objects/trajectories/{name}"), &read(&path)?, Bytes::Any);
    }
    Ok(())
}

/// The files of one of the run's folders; that there is no such folder is a finding.
fn files_of(context: &Context<'_>, name: &str, outcome: &mut Outcome) -> Result<Vec<Listed>, RunError> {
    let folder = context.folder.path(name);
    if folder.is_dir() {
        return files_below(&folder, &[]);
    }
    outcome.finds(name, "no folder", "a folder of the run");
    Ok(Vec::new())
}

fn journal(context: &Context<'_>, outcome: &mut Outcome, validators: &Validators) -> Result<(), RunError> {
    for Listed { name, path } in files_of(context, "journal", outcome)? {
        let bytes = read(&path)?;
        for (number, line) in (1..).zip(lines(&bytes)) {
            let place = format!("journal/{name}, line {number}");
            let parsed: Option<Value> = serde_json::from_slice(line).ok();
            let Some(Value::Array(records)) = parsed.as_ref().and_then(|line| line.get("records")) else {
                outcome.finds(place, "no list of records", "a line of the journal");
                continue;
            };
            for record in records {
                validators.check_value(outcome, JOURNAL_RECORD, &place, record);
            }
        }
    }
    Ok(())
}

impl Validators {
    fn new() -> Result<Validators, RunError> {
        const NAMES: [&str; 9] = [
            "manifest",
            "complete",
            "ledger",
            "private-ledger",
            "tables",
            "payload",
            "projection",
            "candidate",
            "exchange",
        ];
        let mut validators = BTreeMap::new();
        for name in NAMES {
            let text = schema(name).map(|schema| schema.text()).unwrap_or_default();
            let value: Value = serde_json::from_str(&text).map_err(|error| unusable(name, &error.to_string()))?;
            if name == "ledger" {
                let record = json!({"$defs": value["$defs"], "$ref": "#/$defs/record"});
                validators.insert(JOURNAL_RECORD, compiled(JOURNAL_RECORD, &record)?);
            }
            validators.insert(name, compiled(name, &value)?);
        }
        Ok(Validators(validators))
    }

    /// Checks a document's bytes.
    fn check(&self, outcome: &mut Outcome, name: &str, place: &str, bytes: &[u8], form: Bytes) {
        // The project's own reader sees what the validator can't: a key twice, a number that is no integer, other bytes.
        if form == Bytes::Canonical {
            match Json::parse(bytes) {
                Ok(json) if canonical_bytes(&json) == bytes => {}
                Ok(_) => outcome.finds(place, "other bytes of the same document", "canonical bytes"),
                Err(error) => outcome.finds(place, error.to_string(), "a JSON document"),
            }
        }
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => self.check_value(outcome, name, place, &value),
            Err(error) => {
                outcome.checks(name, 1);
                outcome.finds(place, error.to_string(), format!("a document of schema {name}"));
            }
        }
    }

    fn check_value(&self, outcome: &mut Outcome, name: &str, place: &str, value: &Value) {
        outcome.checks(name, 1);
        let Some(validator) = self.0.get(name) else { return };
        if validator.is_valid(value) {
            return;
        }
        if let Some(error) = validator.iter_errors(value).next() {
            let at = error.instance_path().to_string();
            let mut found = error.to_string();
            if found.chars().count() > 300 {
                found = found.chars().take(300).chain(['…']).collect();
            }
            outcome.finds(format!("{place}, at {at:?}"), found, format!("what schema {name} says"));
        }
    }
}

fn compiled(name: &str, schema: &Value) -> Result<Validator, RunError> {
    jsonschema::draft202012::new(schema).map_err(|error| unusable(name, &error.to_string()))
}

fn unusable(name: &str, why: &str) -> RunError {
    RunError::Incomplete(format!("schema {name}: {why}"))
}
