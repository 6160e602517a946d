//! Requests: each question to a model is made again from the manifest and public objects; its key, which is a hash of every
//! byte of it, must be that of the recorded exchange. And how many calls were made, by purpose and model (P §4.3).

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::context::Context;
use crate::audit::outcome::Outcome;
use crate::ledger::{Record, Variant};
use crate::run::error::RunError;
use crate::run::manifest::FrozenAttacker;
use crate::run::models::archive_of;
use crate::run::verify::{VerifyJob, work_again};
use crate::run::work::exchanges_of;

pub(super) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
    let ledger = context.ledger()?;
    let manifest = &context.manifest;
    let by_model = matches!(manifest.attacker, FrozenAttacker::Llm { .. });
    if !by_model && manifest.judges().next().is_none() {
        outcome.notes.push("no model takes part in this run".to_owned());
        return Ok(());
    }
    let archive = archive_of(&context.folder);
    let mut kept: BTreeMap<String, String> = BTreeMap::new();
    for key in archive.keys()? {
        match archive.get(&key) {
            Ok(Some(exchange)) => {
                if exchange.is_stripped() {
                    outcome.counts("requests left out of the recording: checked by their key alone", 1);
                }
                kept.insert(key, exchange.config.name());
            }
            Ok(None) => {}
            Err(error) => outcome.finds(format!("objects/exchanges, {key}"), error.to_string(), "a whole exchange"),
        }
    }
    let Some(certifier) = context.certifier(outcome) else { return Ok(()) };
    let job = VerifyJob {
        folder: context.folder.root.clone(),
        suite: context.job.suite.clone(),
        certifier,
        evaluator_program: context.job.evaluator_program.clone(),
        threads: context.job.threads,
    };
    // An exchange that is not whole was named above; what can't be asked again then is a consequence of it.
    let again = match work_again(job, &context.folder, manifest, &ledger) {
        Ok(again) => again,
        Err(RunError::Model(_)) if !outcome.findings.is_empty() => return Ok(()),
        Err(error) => return Err(error),
    };
    let reconstructed: BTreeMap<String, Vec<String>> =
        again.ledger.records().map(|record| (record.name().to_string(), exchanges_of(record).to_vec())).collect();
    let mut used: BTreeSet<&String> = BTreeSet::new();
    let mut recounted: BTreeMap<&str, u64> = BTreeMap::new();
    for record in ledger.records() {
        if matches!(record, Record::Judgement(r) if manifest.plugins().any(|(id, _)| id == r.evaluator)) {
            continue;
        }
        let Some((purpose, total)) = purpose(record) else { continue };
        let name = record.name().to_string();
        let made = reconstructed.get(&name).map(Vec::as_slice).unwrap_or_default();
        *recounted.entry(total).or_default() += exchanges_of(record).len() as u64;
        for (number, key) in exchanges_of(record).iter().enumerate() {
            used.insert(key);
            let model = kept.get(key).map_or("a missing exchange", String::as_str);
            outcome.checks(&format!("calls: {purpose}, {model}"), 1);
            let place = format!("{name}, call {}", number + 1);
            match made.get(number) {
                Some(again) if again == key => {}
                Some(again) => {
                    outcome.finds(place, format!("exchange {key}"), format!("{again}, the request made again"))
                }
                None => outcome.finds(place, format!("exchange {key}"), "a request that can be made again"),
            }
        }
    }
    for record in ledger.records() {
        let Record::Audit(audit) = record else { continue };
        if audit.name.starts_with("model-calls-") {
            let found = recounted.get(audit.name.as_str()).copied().unwrap_or_default();
            outcome.compare(
                "counts in the ledger",
                &format!("audit {} of the ledger", audit.name),
                &audit.checked,
                &found,
            );
            outcome.counts(&format!("questions without a valid answer: {}", &audit.name[12..]), audit.faults as usize);
        }
    }
    outcome.counts("exchanges kept that no record rests on", kept.keys().filter(|key| !used.contains(key)).count());
    Ok(())
}

/// What a call was for, and the ledger's own count that it belongs to.
fn purpose(record: &Record) -> Option<(&'static str, &'static str)> {
    match record {
        Record::Attempt(r) if !r.exchanges.is_empty() => Some(("attack", "model-calls-attacker")),
        Record::Checklist(_) => Some(("checklist", "model-calls-checklist")),
        Record::Judgement(r) => Some(match r.variant {
            Variant::Repeat { .. } => ("judgement", "model-calls-judge"),
            Variant::Again {} | Variant::FieldOrder {} | Variant::ItemOrder {} => ("probe", "model-calls-probe"),
        }),
        _ => None,
    }
}
