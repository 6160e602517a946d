//! What was said of each payload: `scores.jsonl` of a report's folder (`parthack.stress-scores/1`).

use std::collections::{BTreeMap, BTreeSet};

use parthack_evaluators::registry::payload_hash;
use serde_json::{Map, Value, json};

use crate::ledger::canonical_value;
use crate::stress::pool::{Place, Pool};
use crate::stress::report::{Evidence, exact};
use crate::stress::scorer::Scored;

/// The name of the lines' format.
pub const SCORES_FORMAT: &str = "parthack.stress-scores/1";

/// One line a payload, in the order in which they were asked: its hash, its task, what it is used as, and what was said of it, the first time and
/// when it was asked again.
#[must_use]
pub fn lines(evidence: &Evidence<'_>) -> Vec<u8> {
    let uses = uses(evidence.pool);
    let mut again: BTreeMap<Place, Vec<Value>> = BTreeMap::new();
    for (place, scored) in evidence.repeats {
        again.entry(*place).or_default().push(Value::Object(answer(scored)));
    }
    let mut out = Vec::new();
    for (place, (payload, scored)) in evidence.pool.payloads.iter().zip(evidence.scores).enumerate() {
        let mut line = answer(scored);
        let (task, what) = uses.get(&place).cloned().unwrap_or_default();
        line.insert("format".to_owned(), json!(SCORES_FORMAT));
        line.insert("payload".to_owned(), json!(payload_hash(payload).hex()));
        line.insert("task".to_owned(), json!(task));
        line.insert("what".to_owned(), json!(what));
        if let Some(again) = again.remove(&place) {
            line.insert("again".to_owned(), Value::Array(again));
        }
        out.extend(canonical_value(&Value::Object(line)));
        out.push(b'\n');
    }
    out
}

/// Task and uses of each payload: `honest`, what made an adversary, `rollback:SET`, and for other relations `RELATION:first` or `:second`.
fn uses(pool: &Pool) -> BTreeMap<Place, (&str, BTreeSet<String>)> {
    let mut uses: BTreeMap<Place, (&str, BTreeSet<String>)> = BTreeMap::new();
    for case in &pool.cases {
        let mut put = |place: Place, what: String| {
            uses.entry(place).or_insert_with(|| (case.task.as_str(), BTreeSet::new())).1.insert(what);
        };
        put(case.honest, "honest".to_owned());
        case.adversaries.iter().for_each(|adversary| put(adversary.place, adversary.made_by.clone()));
        case.rollbacks.iter().for_each(|rollback| put(rollback.place, format!("rollback:{}", rollback.set)));
        // The others are made of honest trajectories, adversaries and rollbacks.
        for pair in case.relations.iter().filter(|pair| pair.made_by == pair.relation.id()) {
            put(pair.first, format!("{}:first", pair.made_by));
            put(pair.second, format!("{}:second", pair.made_by));
        }
    }
    uses
}

fn answer(scored: &Scored) -> Map<String, Value> {
    let mut out = Map::new();
    match (scored.score.score(), &scored.fault) {
        (Some(score), _) => {
            out.insert("score".to_owned(), json!(score));
            if let ratio @ Value::String(_) = exact(Some(score)) {
                out.insert("exact".to_owned(), ratio);
            }
        }
        (None, Some(fault)) => {
            out.insert("fault".to_owned(), json!(fault.code.code()));
            out.insert("message".to_owned(), json!(fault.message));
        }
        (None, None) => {
            out.insert("no_verdict".to_owned(), json!(scored.score.why_not().unwrap_or_default()));
        }
    }
    out
}
