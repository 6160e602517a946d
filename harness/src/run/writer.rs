//! The one thread that writes: objects first, then the journals, in batches of whatever is ready (group commit).

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::mpsc::Receiver;

use crate::ledger::canonical_of;
use crate::run::error::RunError;
use crate::run::files::{sync_folder, write_atomically};
use crate::run::folder::{ObjectKind, RunFolder};
use crate::run::journal::{Finished, Journal};
use crate::run::models::has_exchange;
use crate::run::work::{Output, exchanges_of};

/// Units of one batch: bounds what a crash can lose and how long a stop waits.
const BATCH: usize = 256;

/// A finished unit on its way to disk.
#[derive(Debug)]
pub struct Done {
    /// Name, result, objects.
    pub output: Output,
    /// Time that the work took; for telemetry alone.
    pub microseconds: u128,
}

/// Writes what comes in until every sender is gone, and returns what was written.
///
/// # Errors
/// [`RunError::Storage`]; senders then find the channel closed.
pub fn write_all(
    folder: &RunFolder,
    journal: &mut Journal,
    done: Receiver<Done>,
    mut after_batch: impl FnMut(usize),
) -> Result<Finished, RunError> {
    let mut finished = Finished::new();
    let mut stored = BTreeSet::new();
    while let Ok(first) = done.recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Ok(next) = done.try_recv()
        {
            batch.push(next);
        }
        let mut touched = BTreeSet::new();
        for object in batch.iter().flat_map(|done| &done.output.2) {
            if stored.insert((object.kind, object.hash.clone())) {
                let path = folder.object(object.kind, &object.hash);
                if folder.read_object(object.kind, &object.hash).is_none() {
                    write_atomically(&path, &object.bytes)?;
                    touched.insert(object.kind);
                }
            }
        }
        for kind in touched {
            sync_folder(&folder.path("objects").join(kind.folder()))?;
        }
        write_telemetry(folder, &batch);
        let units: Vec<_> = batch.into_iter().map(|done| (done.output.0, done.output.1)).collect();
        journal.append(&units)?;
        after_batch(units.len());
        finished.extend(units);
    }
    Ok(finished)
}

/// Whether every object of a unit is there, so that it need not be worked out again.
pub(crate) fn has_objects(folder: &RunFolder, result: &crate::run::journal::UnitResult) -> bool {
    use crate::ledger::Record;
    let there = |kind, hash: &str| folder.read_object(kind, hash).is_some();
    let asked = |record: &Record| exchanges_of(record).iter().all(|key| has_exchange(folder, key));
    result.records.iter().all(asked)
        && result.records.iter().all(|record| match record {
            Record::Honest(r) => there(ObjectKind::Trajectory, &r.trajectory) && there(ObjectKind::Payload, &r.payload),
            Record::Rollback(r) => {
                there(ObjectKind::Trajectory, &r.trajectory) && there(ObjectKind::Payload, &r.payload)
            }
            Record::Attempt(r) => {
                r.candidate.iter().all(|hash| there(ObjectKind::Trajectory, hash))
                    && r.payload.iter().all(|hash| there(ObjectKind::Payload, hash))
            }
            _ => true,
        })
}

/// Timings are a help, not evidence: where they can't be written, the run goes on.
fn write_telemetry(folder: &RunFolder, batch: &[Done]) {
    let mut lines = Vec::new();
    for done in batch {
        let micros = u64::try_from(done.microseconds).unwrap_or(u64::MAX);
        let line = std::collections::BTreeMap::from([
            ("microseconds", serde_json::Value::from(micros)),
            ("unit", serde_json::Value::from(done.output.0.as_str())),
        ]);
        lines.extend_from_slice(&canonical_of(&line));
        lines.push(b'\n');
    }
    let file = OpenOptions::new().create(true).append(true).open(folder.path("telemetry.jsonl"));
    let _ = file.and_then(|mut file| file.write_all(&lines));
}
