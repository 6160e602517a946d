//! The gates of a candidate as the second certifier passes them: its own reading of the envelope, its own legality, its
//! own log (SPEC §4, §15.5). Mutation controls compare them with the environment's.

use parthack_env::candidate::{CANDIDATE_FORMAT, RefusalOfCandidate};
use parthack_env::canonical::canonical_bytes;
use parthack_env::input::Cursor;
use parthack_env::json::Json;
use parthack_env::limits::MAX_STEPS;
use parthack_env::names::{Actor, Operation};
use parthack_env::steps::{Step, StepSource};

use super::interpret::Refused;
use super::{Execution, Forward};
use crate::vectors::Finding;

/// What the second certifier makes of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// The first three gates let it pass.
    Passed(Execution),
    /// One of them refused it.
    Refused(RefusalOfCandidate),
}

impl Forward {
    /// The first three gates: schema, legality, claimed log.
    #[must_use]
    pub fn gate(&self, candidate: &[u8]) -> Gate {
        match self.pass(candidate) {
            Ok(execution) => Gate::Passed(execution),
            Err(code) => Gate::Refused(code),
        }
    }

    /// All six gates against a reference; `active` is the task's active goal version.
    ///
    /// # Errors
    /// The first code that applies.
    pub fn admit(&self, reference: &Finding, active: u32, candidate: &[u8]) -> Result<(), RefusalOfCandidate> {
        let found = self.pass(candidate)?.finding;
        if found.goal_version != active || reference.goal_version != active {
            return Err(RefusalOfCandidate::StaleGoalVersion);
        }
        // Component by component, never the sum.
        let differs =
            |left: &[u8], right: &[u8]| left.len() != right.len() || left.iter().zip(right).any(|(l, r)| l != r);
        if differs(&found.c_state.to_list(), &reference.c_state.to_list()) {
            return Err(RefusalOfCandidate::StateVectorMismatch);
        }
        if differs(&found.c_agent.to_list(), &reference.c_agent.to_list()) {
            return Err(RefusalOfCandidate::AgentVectorMismatch);
        }
        Ok(())
    }

    fn pass(&self, candidate: &[u8]) -> Result<Execution, RefusalOfCandidate> {
        let malformed = RefusalOfCandidate::MalformedSchema;
        let json = Json::parse(candidate).map_err(|_| malformed)?;
        let Json::Object(entries) = &json else { return Err(malformed) };
        let known = |key: &str| matches!(key, "format" | "task_id" | "steps" | "log" | "name");
        if entries.iter().any(|(key, _)| !known(key))
            || json.get("format").and_then(Json::as_str) != Some(CANDIDATE_FORMAT)
            || json.get("task_id").is_none_or(|id| Cursor::root(id).identifier().is_err())
            || json.get("name").is_some_and(|name| Cursor::root(name).prose(200).is_err())
        {
            return Err(malformed);
        }
        let log = match json.get("log") {
            None => None,
            Some(Json::Array(events)) if events.iter().all(is_event) => Some(events),
            Some(_) => return Err(malformed),
        };
        let Some(Json::Array(items)) = json.get("steps") else { return Err(malformed) };
        if items.len() > MAX_STEPS {
            return Err(malformed);
        }
        // Every fault of the schema comes before an operation that does not exist, wherever they stand.
        let mut steps = Vec::with_capacity(items.len());
        let mut unknown_operation = false;
        for item in items {
            match read_step(item) {
                Ok(step) => steps.push(step),
                Err(RefusalOfCandidate::IllegalAction) => unknown_operation = true,
                Err(other) => return Err(other),
            }
        }
        if json.get("task_id").and_then(Json::as_str) != Some(&self.model.task_id) {
            return Err(malformed);
        }
        if steps.iter().any(|step| self.model.fit(step, Actor::Agent).err() == Some(Refused::Kind)) {
            return Err(malformed);
        }
        if unknown_operation {
            return Err(RefusalOfCandidate::IllegalAction);
        }
        let Some(claimed) = log else {
            let execution = self.execute(&steps);
            return if execution.refused.is_some() { Err(RefusalOfCandidate::IllegalAction) } else { Ok(execution) };
        };
        let traced = self.trace(&steps);
        if traced.execution.refused.is_some() {
            return Err(RefusalOfCandidate::IllegalAction);
        }
        let claimed: Vec<Vec<u8>> = claimed.iter().map(canonical_bytes).collect();
        if claimed == traced.log { Ok(traced.execution) } else { Err(RefusalOfCandidate::ReplayMismatch) }
    }
}

fn read_step(item: &Json<'_>) -> Result<Step, RefusalOfCandidate> {
    let malformed = RefusalOfCandidate::MalformedSchema;
    let Json::Object(_) = item else { return Err(malformed) };
    if item.get("actor").is_some() {
        return Err(malformed);
    }
    let word = item.get("op").and_then(Json::as_str).ok_or(malformed)?;
    if !Operation::ALL.iter().any(|operation| operation.word() == word) {
        return Err(RefusalOfCandidate::IllegalAction);
    }
    Step::read(&Cursor::root(item), StepSource::Submitted).map_err(|_| malformed)
}

/// Whether an entry of a claimed log has an event's keys, with values of their types.
fn is_event(event: &Json<'_>) -> bool {
    let Json::Object(entries) = event else { return false };
    let text = |key: &str| event.get(key).and_then(Json::as_str).is_some();
    let number = |key: &str| match event.get(key) {
        Some(Json::Number(text)) => text.parse::<u32>().is_ok(),
        _ => false,
    };
    let revision = event.get("op").and_then(Json::as_str) == Some(Operation::ReviseGoal.word());
    let named = event.get("id").is_some() && event.get("type").is_some();
    let keys =
        ["actor", "diff", "goal_version", "hash", "id", "op", "previous_hash", "seq", "state_hash", "tick", "type"];
    entries.iter().all(|(key, _)| keys.contains(&key.as_ref()))
        && ["actor", "hash", "op", "previous_hash", "state_hash"].into_iter().all(text)
        && ["goal_version", "seq", "tick"].into_iter().all(number)
        && event.get("diff").is_some()
        && (revision || named)
}
