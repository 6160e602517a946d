//! Same payload: one byte string a trajectory, whoever scores it.

use std::collections::BTreeMap;

use crate::audit::context::{Context, payload_hash, payloads_by_subject};
use crate::audit::outcome::Outcome;
use crate::ledger::{Record, Subject};
use crate::run::error::RunError;
use crate::run::files::read_regular;
use crate::run::folder::ObjectKind;

pub(super) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
    let ledger = context.ledger()?;
    let expected = payloads_by_subject(&ledger);
    // Hash of each object's bytes, whatever its name says.
    let mut hashes: BTreeMap<&str, Option<String>> = BTreeMap::new();
    let mut trajectories: BTreeMap<(&str, &Subject), usize> = BTreeMap::new();
    for record in ledger.records() {
        let (task, subject, evaluator, payload) = match record {
            Record::Score(r) => (&r.task, &r.subject, &r.evaluator, &r.payload),
            Record::Judgement(r) => (&r.task, &r.subject, &r.evaluator, &r.payload),
            _ => continue,
        };
        let place = record.name().to_string();
        *trajectories.entry((task, subject)).or_default() += 1;
        match expected.get(&(task.as_str(), subject.clone())) {
            Some(wanted) => outcome.compare("scores and judgements", &place, payload, &(*wanted).to_owned()),
            None => outcome.finds(place.as_str(), "a score of no trajectory of the run", "a trajectory of the plan"),
        }
        let of_bytes = hashes.entry(payload).or_insert_with(|| {
            let path = context.folder.object(ObjectKind::Payload, payload);
            read_regular(path).ok().map(|bytes| payload_hash(&bytes))
        });
        match of_bytes {
            None => outcome.finds(place, format!("payload {payload}, which is missing"), "its bytes in the run folder"),
            Some(hash) if hash != payload => {
                outcome.finds(place, format!("payload {payload}"), format!("{hash}, the hash of the bytes there"));
            }
            Some(_) => {}
        }
        let known = context.manifest.evaluator(evaluator).is_some();
        if !known {
            outcome.finds(record.name().to_string(), "a score by nobody of the run", "an evaluator of the manifest");
        }
    }
    outcome.counts("trajectories", trajectories.len());
    outcome.counts("different payloads", hashes.len());
    Ok(())
}
