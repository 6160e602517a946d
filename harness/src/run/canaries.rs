//! The leak audit: no canary of a private package stands in a payload, in any of the encodings in which it could slip
//! through (P §4.3).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use parthack_certifier::leaks::Encoding;

use crate::ledger::{AuditRecord, Record};
use crate::run::folder::{ObjectKind, RunFolder};
use crate::run::journal::Finished;
use crate::run::models::exchange_bytes;
use crate::run::work::exchanges_of;

/// Name of the audit.
pub const AUDIT: &str = "canaries";
/// Bytes of a trace that select the traces to compare: no trace is shorter (the certifier's shortest is longer).
const KEY: usize = 6;

/// Traces by their first bytes, so that a payload is read once however many canaries there are.
#[derive(Debug)]
struct Traces {
    by_key: HashMap<[u8; KEY], Vec<(usize, Vec<u8>)>>,
    /// Whether any key has this digest: nearly every place of a text is passed over without a look-up.
    digests: Vec<bool>,
}

impl Default for Traces {
    fn default() -> Traces {
        Traces { by_key: HashMap::new(), digests: vec![false; 1 << 16] }
    }
}

/// Sixteen bits of the first four bytes of a key.
fn digest(key: &[u8; KEY]) -> usize {
    let word = u32::from_le_bytes([key[0], key[1], key[2], key[3]]);
    (word.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

impl Traces {
    fn insert(&mut self, canary: usize, trace: Vec<u8>) {
        if let Some(key) = trace.first_chunk::<KEY>() {
            self.digests[digest(key)] = true;
            self.by_key.entry(*key).or_default().push((canary, trace));
        }
    }

    fn find(&self, bytes: &[u8], hits: &mut BTreeSet<usize>) {
        for (at, key) in bytes.windows(KEY).enumerate() {
            let Some(key) = key.first_chunk::<KEY>().filter(|key| self.digests[digest(key)]) else { continue };
            let Some(traces) = self.by_key.get(key) else { continue };
            for (canary, trace) in traces {
                if bytes[at..].starts_with(trace) {
                    hits.insert(*canary);
                }
            }
        }
    }
}

/// Looks for every canary in every payload, and in what every model was asked and answered: checked is the number of canaries, faults those that were found.
#[must_use]
pub fn audit(folder: &RunFolder, finished: &Finished, canaries: &[String]) -> AuditRecord {
    let (mut exact, mut folded) = (Traces::default(), Traces::default());
    for (canary, text) in canaries.iter().enumerate() {
        for encoding in Encoding::ALL {
            let into = if encoding == Encoding::Base64 { &mut exact } else { &mut folded };
            encoding.traces(text).into_iter().for_each(|trace| into.insert(canary, trace));
        }
    }
    let mut payloads: BTreeMap<&str, ()> = BTreeMap::new();
    for record in finished.values().flat_map(|result| &result.records) {
        let payload = match record {
            Record::Honest(record) => Some(&record.payload),
            Record::Rollback(record) => Some(&record.payload),
            Record::Attempt(record) => record.payload.as_ref(),
            _ => None,
        };
        payloads.extend(payload.map(|payload| (payload.as_str(), ())));
    }
    let records = || finished.values().flat_map(|result| &result.records);
    let exchanges: BTreeSet<&String> = records().flat_map(exchanges_of).collect();
    let mut hits = BTreeSet::new();
    // What is missing was scored already; `verify` names it.
    let payloads = payloads.keys().filter_map(|payload| folder.read_object(ObjectKind::Payload, payload));
    for bytes in payloads.chain(exchanges.into_iter().filter_map(|key| exchange_bytes(folder, key))) {
        exact.find(&bytes, &mut hits);
        folded.find(String::from_utf8_lossy(&bytes).to_lowercase().as_bytes(), &mut hits);
    }
    AuditRecord { name: AUDIT.to_owned(), checked: canaries.len() as u64, faults: hits.len() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_is_found_and_nothing_else() {
        let canaries = ["canary-4711-alpha".to_owned(), "canary-4712-beta-x".to_owned()];
        let mut traces = Traces::default();
        for (canary, text) in canaries.iter().enumerate() {
            for encoding in Encoding::ALL {
                encoding.traces(text).into_iter().for_each(|trace| traces.insert(canary, trace));
            }
        }
        let found = |text: &str| {
            let mut hits = BTreeSet::new();
            traces.find(text.as_bytes(), &mut hits);
            hits.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(found("a canary-4711-alpha b"), [0]);
        assert_eq!(found("ateb-2174-yranac x-ateb-2174-yranac"), [1]);
        assert_eq!(found("63616e6172792d343731312d616c706861"), [0]);
        assert_eq!(found("Y2FuYXJ5LTQ3MTEtYWxwaGE="), [0]);
        assert_eq!(found("canary-4713-gamma canary-4711-alph"), [0; 0]);
    }
}
