//! From finished units to the ledger: selections and audits are worked out from the records alone, so that the merge
//! of any number of journals gives one result.

use std::collections::{BTreeMap, BTreeSet};

use parthack_env::canonical::Hash;
use serde::Serialize;

use crate::ledger::{
    AuditRecord, CellKey, Ledger, PRIVATE_LEDGER_FORMAT, PrivateRecord, Record, Subject, Variant, canonical_of,
};
use crate::run::journal::Finished;
use crate::run::manifest::Manifest;
use crate::run::units::select;
use crate::run::work::exchanges_of;

/// A merged run: the ledger and the bytes of `private/certifications.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The public ledger.
    pub ledger: Ledger,
    /// The private one.
    pub certifications: Vec<u8>,
}

#[derive(Serialize)]
struct PrivateFirstLine<'a> {
    format: &'a str,
    manifest: String,
    records: usize,
}

#[derive(Serialize)]
struct PrivateLedgerLine<'a> {
    cell: String,
    record: &'a PrivateRecord,
}

/// Merges finished units; `canaries` is the audit that needs the payloads' bytes.
#[must_use]
pub fn merge(manifest: &Manifest, finished: &Finished, canaries: AuditRecord) -> Merged {
    let hash = manifest.hash();
    let mut records: Vec<Record> = finished.values().flat_map(|result| result.records.iter().cloned()).collect();
    records.extend(select(manifest, finished).into_iter().map(Record::Selection));
    let judged = |record: &&Record| !matches!(record, Record::Judgement(r) if manifest.plugins().any(|(id, _)| id == r.evaluator));
    let of_models: Vec<&Record> = records.iter().filter(judged).collect();
    let mut audits = audits(&records, &of_models);
    audits.push(canaries);
    records.extend(audits.into_iter().map(Record::Audit));
    let certifications = private_bytes(&hash, finished);
    let private = Hash::of("private", &certifications);
    Merged { ledger: Ledger::build(hash, records, private), certifications }
}

fn private_bytes(manifest: &Hash, finished: &Finished) -> Vec<u8> {
    let sorted: BTreeMap<CellKey, &PrivateRecord> = (finished.values())
        .flat_map(|result| &result.private)
        .map(|(cell, record)| (cell.key(manifest), record))
        .collect();
    let format = PRIVATE_LEDGER_FORMAT;
    let mut out = canonical_of(&PrivateFirstLine { format, manifest: manifest.hex(), records: sorted.len() });
    out.push(b'\n');
    for (cell, record) in sorted {
        out.extend_from_slice(&canonical_of(&PrivateLedgerLine { cell: cell.0.hex(), record }));
        out.push(b'\n');
    }
    out
}

/// The audits of P §4.3 that follow from the records: same payload for every evaluator, no verdicts, mutation controls,
/// and trajectories that both certifiers agreed on; of the second list the calls of models.
#[must_use]
pub fn audits(records: &[Record], of_models: &[&Record]) -> Vec<AuditRecord> {
    let mut payloads: BTreeMap<(&str, &Subject), BTreeSet<&str>> = BTreeMap::new();
    let (mut scores, mut no_verdicts, mut controls, mut failed, mut certified) = (0, 0, 0, 0, 0);
    for record in records {
        match record {
            Record::Score(r) => {
                payloads.entry((&r.task, &r.subject)).or_default().insert(&r.payload);
                // What a replay has no recording of nobody was asked.
                if !r.score.is_unrecorded() {
                    scores += 1;
                    no_verdicts += u64::from(r.score.why_not().is_some());
                }
            }
            Record::Control(r) => {
                controls += u64::from(r.applicable);
                failed += u64::from(!r.as_expected);
            }
            // The certifier process answers only what both certifiers agree on, and stops the run otherwise.
            Record::Honest(_) | Record::Rollback(_) => certified += 1,
            Record::Attempt(r) => certified += u64::from(r.is_protocol_valid()),
            Record::Selection(_) | Record::Audit(_) | Record::Checklist(_) | Record::Judgement(_) => {}
        }
    }
    let subjects = payloads.len() as u64;
    let differing = payloads.values().filter(|hashes| hashes.len() > 1).count() as u64;
    let audit = |name: &str, checked, faults| AuditRecord { name: name.to_owned(), checked, faults };
    let calls = calls_by_purpose(of_models).into_iter().map(|(name, (calls, faults))| audit(name, calls, faults));
    let mut audits = vec![
        audit("double-certification", certified, 0),
        audit("mutation-controls", controls, failed),
        audit("no-verdict", scores, no_verdicts),
        audit("same-payload", subjects, differing),
    ];
    audits.extend(calls);
    audits
}

/// Exchanges with models by purpose, and the questions that they left without an answer (P §4.3).
fn calls_by_purpose(records: &[&Record]) -> BTreeMap<&'static str, (u64, u64)> {
    let mut calls: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    for record in records {
        let (name, unanswered) = match record {
            Record::Attempt(r) if !r.exchanges.is_empty() => ("model-calls-attacker", r.no_answer.is_some()),
            Record::Checklist(r) if !r.is_unrecorded() => ("model-calls-checklist", r.no_answer.is_some()),
            Record::Judgement(r) if !r.score.is_unrecorded() => {
                let name = match r.variant {
                    Variant::Repeat { .. } => "model-calls-judge",
                    _ => "model-calls-probe",
                };
                (name, r.score.why_not().is_some())
            }
            _ => continue,
        };
        let (count, faults) = calls.entry(name).or_default();
        *count += exchanges_of(record).len() as u64;
        *faults += u64::from(unanswered);
    }
    calls
}
