//! Mutation controls: what the run recorded of each, publicly and privately, and what both certifiers say now.

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::context::Context;
use crate::audit::outcome::Outcome;
use crate::ledger::{PrivateRecord, Record};
use crate::run::certifying::Control;
use crate::run::error::RunError;
use crate::run::manifest::REFERENCE_SUITE;

/// The ten mutations that are asked for by name, with the code that each must draw (SPEC §4).
const NAMED: [(&str, &str); 10] = [
    ("dropped-key", "malformed_schema"),
    ("unknown-operation", "illegal_action"),
    ("wrong-value-type", "malformed_schema"),
    ("edited-diff", "replay_mismatch"),
    ("claimed-actor", "malformed_schema"),
    ("reordered-events", "replay_mismatch"),
    ("stale-goal", "stale_goal_version"),
    ("state-vector-same-scalar", "state_vector_mismatch"),
    ("agent-vector-same-scalar", "agent_vector_mismatch"),
    ("cut-tail", "replay_mismatch"),
];

pub(super) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
    let ledger = context.ledger()?;
    let Some(mut certifier) = context.certifier(outcome) else { return Ok(()) };
    let Some(private) = context.private(outcome) else { return Ok(()) };
    let mut now: BTreeMap<(String, String), Control> = BTreeMap::new();
    for task in &context.manifest.tasks {
        let Some(entry) = context.job.suite.task(&task.id) else { continue };
        for control in certifier.controls(&entry.task)? {
            now.insert((task.id.clone(), control.mutation.clone()), control);
        }
    }
    let mut tried: BTreeSet<(String, String)> = BTreeSet::new();
    let mut expressed: BTreeSet<&str> = BTreeSet::new();
    for record in ledger.records() {
        let Record::Control(r) = record else { continue };
        let place = record.name().to_string();
        let key = (r.task.clone(), r.mutation.clone());
        let named = NAMED.iter().find(|(name, _)| *name == r.mutation);
        if let (Some((name, _)), true) = (named, r.applicable) {
            expressed.insert(name);
        }
        outcome.compare("public records", &format!("{place}, as_expected"), &r.as_expected, &true);
        match (context.private_of(&private, &record.name()), now.get(&key)) {
            (Some(PrivateRecord::Control { expected, backward, forward }), Some(control)) => {
                if let Some((_, code)) = named {
                    outcome.compare(
                        "expected codes",
                        &format!("{place}, expected code"),
                        expected,
                        &(*code).to_owned(),
                    );
                }
                for (who, recorded, again) in
                    [("backward", backward, &control.backward), ("forward", forward, &control.forward)]
                {
                    let place = format!("{place}, {who} certifier");
                    let word = |code: &Option<String>| code.clone().unwrap_or_else(|| "not applicable".to_owned());
                    outcome.compare("codes recorded", &place, &word(recorded), &word(again));
                    if again.as_ref().is_some_and(|code| *code != control.expected) {
                        outcome.finds(place, word(again), control.expected.clone());
                    }
                }
                outcome.compare("applicable", &place, &r.applicable, &(backward.is_some() && forward.is_some()));
            }
            (None | Some(_), None) => outcome.finds(place, "a mutation that no certifier knows", "one of its table"),
            (_, Some(_)) => outcome.finds(place, "no private record of the codes", "one"),
        }
        tried.insert(key);
    }
    for (task, mutation) in now.keys().filter(|key| !tried.contains(*key)) {
        outcome.finds(format!("control {mutation} on {task}"), "no record", "a record of every control");
    }
    outcome.counts("named mutations that a task of the run can express", expressed.len());
    let never: Vec<&str> = NAMED.iter().map(|(name, _)| *name).filter(|name| !expressed.contains(name)).collect();
    // Of the reference suite all ten are promised; another suite may have no task that can express one.
    let promised = context.manifest.suite.whole && context.manifest.suite.id == REFERENCE_SUITE;
    match (never.is_empty(), promised) {
        (true, _) => {}
        (false, true) => outcome.finds("mutations by name", never.join(", "), "each on at least one task of the suite"),
        (false, false) => outcome.notes.push(format!("no task of this run can express: {}", never.join(", "))),
    }
    Ok(())
}
