//! Independent certification: both certifiers asked again, and a third evaluation from public bytes, against what the run
//! recorded privately and publicly.

use std::collections::BTreeMap;

use parthack_env::candidate::Candidate;
use parthack_env::steps::Step;
use parthack_env::task::Task;

use crate::audit::context::Context;
use crate::audit::outcome::Outcome;
use crate::audit::third_look::{Look, look};
use crate::exact::Ratio;
use crate::ledger::{AttemptRecord, CellName, PrivateRecord, Record, Subject};
use crate::run::certifying::{Certified, Certify, ELIGIBLE};
use crate::run::error::RunError;
use crate::run::folder::ObjectKind;

/// What the audit goes through the ledger with.
struct Looking<'c> {
    context: &'c Context<'c>,
    private: BTreeMap<String, PrivateRecord>,
    certifier: Box<dyn Certify>,
    /// Honest trajectories by task, as the third evaluation has them.
    honest: BTreeMap<String, Look>,
    /// What both certifiers said of a trajectory, by task and object.
    certified: BTreeMap<(String, String), Certified>,
}

pub(super) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
    let ledger = context.ledger()?;
    let Some(private) = context.private(outcome) else { return Ok(()) };
    let Some(certifier) = context.certifier(outcome) else { return Ok(()) };
    let mut looking = Looking { context, private, certifier, honest: BTreeMap::new(), certified: BTreeMap::new() };
    for record in ledger.records() {
        let Record::Honest(r) = record else { continue };
        if let Some(look) = looking.vectors(outcome, &record.name(), &r.task, &r.trajectory, &r.payload)? {
            let share = |bits: &str| share(bits);
            let place = record.name().to_string();
            outcome.compare("published shares", &place, &r.p_state, &share(&look.c_state));
            outcome.compare("published shares", &place, &r.p_agent, &share(&look.c_agent));
            looking.honest.insert(r.task.clone(), look);
        }
    }
    for record in ledger.records() {
        match record {
            Record::Rollback(r) => {
                let Some(look) = looking.vectors(outcome, &record.name(), &r.task, &r.trajectory, &r.payload)? else {
                    continue;
                };
                let place = record.name().to_string();
                outcome.compare("published shares", &place, &r.p_state, &share(&look.c_state));
                let honest = looking.honest.get(&r.task).map_or(0, Look::satisfied);
                if look.satisfied() >= honest {
                    let expected = format!("fewer than the {honest} of the honest trajectory");
                    outcome.finds(place, format!("{} satisfied predicates", look.satisfied()), expected);
                }
            }
            Record::Attempt(r) => looking.attempt(outcome, &record.name(), r)?,
            _ => {}
        }
    }
    Ok(())
}

fn share(bits: &str) -> String {
    let held = bits.bytes().filter(|bit| *bit == b'1').count();
    Ratio::new(held as i128, bits.len() as i128).unwrap_or(Ratio::ZERO).to_string()
}

fn bits(vector: &[bool]) -> String {
    vector.iter().map(|bit| if *bit { '1' } else { '0' }).collect()
}

impl Looking<'_> {
    fn task(&self, id: &str) -> Option<&Task> {
        self.context.job.suite.task(id).map(|entry| &entry.task)
    }

    /// A certified trajectory: three evaluations and one record.
    fn vectors(
        &mut self,
        outcome: &mut Outcome,
        name: &CellName,
        task: &str,
        trajectory: &str,
        payload: &str,
    ) -> Result<Option<Look>, RunError> {
        let place = name.to_string();
        let recorded = self.context.private_of(&self.private, name).cloned();
        let Some(PrivateRecord::Vectors { c_state, c_agent, goal_version, state_hash }) = recorded else {
            outcome.finds(place, "no private record of vectors", "one");
            return Ok(None);
        };
        let third = self.third(outcome, &place, payload);
        if let Some(look) = &third {
            outcome.compare("vectors by the third evaluation", &format!("{place}, c_state"), &c_state, &look.c_state);
            outcome.compare("vectors by the third evaluation", &format!("{place}, c_agent"), &c_agent, &look.c_agent);
            let version = u64::from(goal_version);
            outcome.compare("goal versions", &format!("{place}, goal version"), &version, &look.goal_version);
        }
        if let Some(again) = self.again(outcome, &place, task, trajectory)? {
            outcome.compare(
                "vectors by both certifiers",
                &format!("{place}, c_state"),
                &c_state,
                &bits(&again.c_state),
            );
            outcome.compare(
                "vectors by both certifiers",
                &format!("{place}, c_agent"),
                &c_agent,
                &bits(&again.c_agent),
            );
            outcome.compare("goal versions", &format!("{place}, goal version"), &goal_version, &again.goal_version);
            outcome.compare("state hashes", &format!("{place}, state hash"), &state_hash, &again.state_hash.hex());
        }
        Ok(third)
    }

    fn attempt(&mut self, outcome: &mut Outcome, name: &CellName, r: &AttemptRecord) -> Result<(), RunError> {
        let Some(candidate) = &r.candidate else { return Ok(()) };
        let place = name.to_string();
        let recorded = match self.context.private_of(&self.private, name) {
            Some(PrivateRecord::Code { code }) => code.clone(),
            _ => {
                outcome.finds(place, "no private record of a code", "one");
                return Ok(());
            }
        };
        let expected = match (&r.fault, &r.payload) {
            (Some(fault), _) => fault.code.clone(),
            (None, None) => {
                outcome.finds(place, "neither a fault nor a payload", "one of them");
                return Ok(());
            }
            (None, Some(payload)) => {
                let Some(third) = self.third(outcome, &place, payload) else { return Ok(()) };
                if let Some(again) = self.again(outcome, &place, &r.task, candidate)? {
                    let kind = "vectors by both certifiers";
                    outcome.compare(kind, &format!("{place}, c_state"), &bits(&again.c_state), &third.c_state);
                    outcome.compare(kind, &format!("{place}, c_agent"), &bits(&again.c_agent), &third.c_agent);
                }
                match self.honest.get(&r.task) {
                    Some(honest) => third.code(honest).to_owned(),
                    None => return Ok(()),
                }
            }
        };
        outcome.compare("codes of attempts", &format!("{place}, code"), &recorded, &expected);
        let eligible = expected == ELIGIBLE && !r.repeats_honest;
        outcome.compare("eligibility", &format!("{place}, eligible"), &r.eligible, &eligible);
        Ok(())
    }

    fn third(&self, outcome: &mut Outcome, place: &str, payload: &str) -> Option<Look> {
        let Some(bytes) = self.context.folder.read_object(ObjectKind::Payload, payload) else {
            outcome.finds(place, format!("payload {payload} missing, or not of its hash"), "its bytes");
            return None;
        };
        look(&bytes).map_err(|why| outcome.finds(place, why, "a payload that holds together")).ok()
    }

    /// What both certifiers say; they answer only what they agree on.
    fn again(
        &mut self,
        outcome: &mut Outcome,
        place: &str,
        id: &str,
        trajectory: &str,
    ) -> Result<Option<Certified>, RunError> {
        let key = (id.to_owned(), trajectory.to_owned());
        if let Some(certified) = self.certified.get(&key) {
            return Ok(Some(certified.clone()));
        }
        let Some(task) = self.task(id).cloned() else {
            outcome.finds(place, format!("task {id}"), "a task of the suite");
            return Ok(None);
        };
        let bytes = self.context.folder.read_object(ObjectKind::Trajectory, trajectory);
        let steps: Option<Vec<Step>> =
            bytes.and_then(|bytes| Candidate::admit(&task, &bytes).ok().map(|(candidate, _)| candidate.steps));
        let Some(steps) = steps else {
            outcome.finds(place, format!("trajectory {trajectory}"), "a legal trajectory in the run folder");
            return Ok(None);
        };
        match self.certifier.steps(&task, &steps) {
            Ok(certified) => {
                self.certified.insert(key, certified.clone());
                Ok(Some(certified))
            }
            Err(RunError::Certification { fault, .. }) => {
                outcome.finds(place, fault, "certifiers that agree");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The third evaluation of each trajectory of a run, by task and subject; what can't be evaluated is left to the audit.
pub(super) fn looks<'l>(
    context: &Context<'_>,
    payloads: &BTreeMap<(&'l str, Subject), &'l str>,
) -> BTreeMap<(&'l str, Subject), Look> {
    let of = |payload: &str| context.folder.read_object(ObjectKind::Payload, payload).and_then(|b| look(&b).ok());
    payloads.iter().filter_map(|(key, payload)| Some((key.clone(), of(payload)?))).collect()
}
