//! What is compared of one oracle line, and who computes it here.

use std::error::Error;

use parthack_certifier::certify::{Certificate, CertifyError, eligibility};
use parthack_env::frames::frames;
use parthack_env::replay::Replay;
use parthack_evaluators::public_view;
use parthack_evaluators::rules::Rule;

use super::line::OracleLine;
use super::public::payload;
use super::rollback::is_rollback;
use super::tasks::Imported;
use super::values::FlatState;

/// One comparison: what, and who computes it here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Check {
    /// What is compared.
    pub(super) kind: &'static str,
    /// Who computes it here.
    pub(super) by: &'static str,
}

const ENGINE: &str = "engine";
const CERTIFIERS: &str = "both certifiers";
const EVALUATORS: &str = "evaluators";

const fn check(kind: &'static str, by: &'static str) -> Check {
    Check { kind, by }
}

/// The task that a line names was imported.
pub(super) const TASK: Check = check("task", ENGINE);
const LEGAL: Check = check("legality", ENGINE);
const LEGAL_CERTIFIED: Check = check("legality", CERTIFIERS);
const VALID: Check = check("replay validity", ENGINE);
const VALID_CERTIFIED: Check = check("replay validity", CERTIFIERS);
const STATE_VECTOR: Check = check("state vector", ENGINE);
const STATE_VECTOR_CERTIFIED: Check = check("state vector", CERTIFIERS);
const STATE_VECTOR_PUBLIC: Check = check("state vector", EVALUATORS);
const AGENT_VECTOR: Check = check("agent vector", ENGINE);
const AGENT_VECTOR_CERTIFIED: Check = check("agent vector", CERTIFIERS);
const AGENT_VECTOR_PUBLIC: Check = check("agent vector", EVALUATORS);
const GOAL_VERSION: Check = check("goal version", ENGINE);
const GOAL_VERSION_CERTIFIED: Check = check("goal version", CERTIFIERS);
const STATE: Check = check("terminal state", ENGINE);
const ELIGIBLE: Check = check("eligibility against the honest trajectory", ENGINE);
const ELIGIBLE_CERTIFIED: Check = check("eligibility against the honest trajectory", CERTIFIERS);
const ROLLBACK: Check = check("rollback validity", ENGINE);
const EVENTS: Check = check("number of events", ENGINE);
const NOOP_EVENTS: Check = check("number of events without effect", ENGINE);
const ACTORS: Check = check("actors of the events", ENGINE);
const SCORES: [Check; 6] = [
    check("score of historical", EVALUATORS),
    check("score of predicate-max (there the same as historical)", EVALUATORS),
    check("score of cape-max", EVALUATORS),
    check("score of csps", EVALUATORS),
    check("score of lightweight-cape", EVALUATORS),
    check("score of terminal", EVALUATORS),
];
/// Our rules, in the order of the release's scores. Its `predicate-max` is one function with its `historical`.
const RULES: [Rule; 6] = [
    Rule::HistoricalMilestone,
    Rule::HistoricalMilestone,
    Rule::CapeMax,
    Rule::Csps,
    Rule::LightweightCape,
    Rule::TerminalOutcome,
];

/// Everything that is compared, in the order of the report.
pub(super) const ALL: [Check; 26] = [
    TASK,
    LEGAL,
    LEGAL_CERTIFIED,
    VALID,
    VALID_CERTIFIED,
    STATE_VECTOR,
    STATE_VECTOR_CERTIFIED,
    STATE_VECTOR_PUBLIC,
    AGENT_VECTOR,
    AGENT_VECTOR_CERTIFIED,
    AGENT_VECTOR_PUBLIC,
    GOAL_VERSION,
    GOAL_VERSION_CERTIFIED,
    STATE,
    ELIGIBLE,
    ELIGIBLE_CERTIFIED,
    ROLLBACK,
    EVENTS,
    NOOP_EVENTS,
    ACTORS,
    SCORES[0],
    SCORES[1],
    SCORES[2],
    SCORES[3],
    SCORES[4],
    SCORES[5],
];

/// What differs on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) check: Check,
    pub(super) found: String,
    pub(super) expected: String,
}

/// What this program says of a line's trajectory.
struct Findings {
    legal: bool,
    valid: bool,
    c_state: Vec<u8>,
    c_agent: Vec<u8>,
    goal_version: u32,
    eligible: bool,
}

impl Findings {
    /// What the release says of an illegal trajectory: nothing, at the first version.
    const ILLEGAL: Findings = Findings {
        legal: false,
        valid: false,
        c_state: Vec::new(),
        c_agent: Vec::new(),
        goal_version: 1,
        eligible: false,
    };
}

/// Collects what differs.
struct Comparison(Vec<Mismatch>);

impl Comparison {
    fn same<T: PartialEq + std::fmt::Debug>(&mut self, check: Check, found: &T, expected: &T) {
        if found != expected {
            self.0.push(Mismatch { check, found: format!("{found:?}"), expected: format!("{expected:?}") });
        }
    }
}

/// Computes a line's trajectory here, and lists what differs, in the order of [`ALL`].
pub(super) fn differences(task: &Imported, line: &OracleLine) -> Vec<Mismatch> {
    let mut comparison = Comparison(Vec::new());
    let steps = line.steps.as_ref().ok();
    let replay = steps.map(|steps| Replay::run(&task.task, steps));
    let replay = replay.as_ref().filter(|replay| replay.first_refusal().is_none());
    compare_vectors(&mut comparison, line, &engine(task, replay), [LEGAL, VALID, STATE_VECTOR, AGENT_VECTOR]);
    comparison.same(GOAL_VERSION, &engine(task, replay).goal_version, &line.goal_version);
    comparison.same(ELIGIBLE, &engine(task, replay).eligible, &line.eligible);
    certified(&mut comparison, task, line);
    compare_events(&mut comparison, task, line, replay);
    compare_scores(&mut comparison, line, replay);
    comparison.0.sort_by_key(|mismatch| ALL.iter().position(|check| *check == mismatch.check));
    comparison.0
}

fn compare_vectors(comparison: &mut Comparison, line: &OracleLine, findings: &Findings, checks: [Check; 4]) {
    comparison.same(checks[0], &findings.legal, &line.legal);
    comparison.same(checks[1], &findings.valid, &line.replay_valid);
    comparison.same(checks[2], &findings.c_state, &line.c_state);
    comparison.same(checks[3], &findings.c_agent, &line.c_agent);
}

fn engine(task: &Imported, replay: Option<&Replay<'_>>) -> Findings {
    let Some(replay) = replay else { return Findings::ILLEGAL };
    let last = frames(replay).last().copied().unwrap_or_default();
    let valid = last.goal_version == task.task.spec.active_goal_version;
    let honest = &task.honest;
    Findings {
        legal: true,
        valid,
        c_state: bits(last.satisfied, task.task.m()),
        c_agent: bits(last.credited, task.task.m()),
        goal_version: last.goal_version,
        eligible: valid
            && honest.valid
            && (honest.last.satisfied, honest.last.credited) == (last.satisfied, last.credited),
    }
}

fn bits(bits: u32, m: usize) -> Vec<u8> {
    (0..m).map(|j| u8::from(bits >> j & 1 == 1)).collect()
}

/// Asks both certifiers; where they disagree with each other, that is the difference.
fn certified(comparison: &mut Comparison, task: &Imported, line: &OracleLine) {
    let findings = match line.steps.as_ref().map(|steps| task.certifier.certify(steps)) {
        Err(_) | Ok(Err(CertifyError::Illegal { .. })) => Findings::ILLEGAL,
        Ok(Ok(certificate)) => of_certificate(task, &certificate),
        Ok(Err(error)) => {
            let expected = "both certifiers say the same".to_owned();
            comparison.0.push(Mismatch { check: LEGAL_CERTIFIED, found: chain(&error), expected });
            return;
        }
    };
    let checks = [LEGAL_CERTIFIED, VALID_CERTIFIED, STATE_VECTOR_CERTIFIED, AGENT_VECTOR_CERTIFIED];
    compare_vectors(comparison, line, &findings, checks);
    comparison.same(GOAL_VERSION_CERTIFIED, &findings.goal_version, &line.goal_version);
    comparison.same(ELIGIBLE_CERTIFIED, &findings.eligible, &line.eligible);
}

fn of_certificate(task: &Imported, certificate: &Certificate) -> Findings {
    let honest = task.honest.certificate.as_ref();
    Findings {
        legal: true,
        valid: !certificate.is_stale(),
        c_state: certificate.c_state.to_list(),
        c_agent: certificate.c_agent.to_list(),
        goal_version: certificate.goal_version,
        eligible: honest.is_some_and(|honest| eligibility(honest, certificate).is_ok()),
    }
}

fn compare_events(comparison: &mut Comparison, task: &Imported, line: &OracleLine, replay: Option<&Replay<'_>>) {
    let count = |count: usize| u32::try_from(count).ok();
    let rollback = replay.filter(|_| task.rollback_eligible).map(|replay| {
        let satisfied = replay.world().satisfied(task.task.active_predicates());
        is_rollback(task, replay, satisfied)
    });
    comparison.same(ROLLBACK, &rollback, &line.rollback);
    let noop = |replay: &Replay<'_>| replay.events.iter().filter(|event| event.diff.is_empty()).count();
    comparison.same(EVENTS, &replay.and_then(|replay| count(replay.events.len())), &line.events);
    comparison.same(NOOP_EVENTS, &replay.and_then(|replay| count(noop(replay))), &line.noop_events);
    let actors = replay.map(|replay| replay.events.iter().map(|event| &event.actor.word()[..1]).collect::<String>());
    comparison.same(ACTORS, &actors, &line.actors);
    let state = replay.map(|replay| FlatState::of(&task.task, replay.world()));
    match (&state, &line.state) {
        (Some(found), Some(expected)) => {
            if let Some((found, expected)) = found.difference(expected) {
                comparison.0.push(Mismatch { check: STATE, found, expected });
            }
        }
        (found, expected) => comparison.same(STATE, &found.is_some(), &expected.is_some()),
    }
}

/// Scores the trajectory from public bytes, as evaluators see it.
fn compare_scores(comparison: &mut Comparison, line: &OracleLine, replay: Option<&Replay<'_>>) {
    let Some(replay) = replay else {
        for (check, expected) in SCORES.into_iter().zip(&line.scores) {
            comparison.same(check, &None, expected);
        }
        return;
    };
    let view = match public_view::read(&payload(replay)) {
        Ok(view) => view,
        Err(error) => {
            let expected = "a payload that evaluators read".to_owned();
            comparison.0.push(Mismatch { check: SCORES[0], found: error.to_string(), expected });
            return;
        }
    };
    let last = view.frames.last().copied().unwrap_or_default();
    comparison.same(STATE_VECTOR_PUBLIC, &bits(last.satisfied, view.m as usize), &line.c_state);
    comparison.same(AGENT_VECTOR_PUBLIC, &bits(last.credited, view.m as usize), &line.c_agent);
    for ((check, rule), expected) in SCORES.into_iter().zip(RULES).zip(&line.scores) {
        let found = rule.score(view.m, &view.frames);
        if !expected.is_some_and(|expected| same_score(found.to_f64(), expected)) {
            let expected = expected.map_or("no score".to_owned(), |score| score.to_string());
            comparison.0.push(Mismatch { check, found: found.to_string(), expected });
        }
    }
}

/// Whether two scores are the same fraction of a goal: denominators are far below the tolerance's reciprocal.
pub(super) fn same_score(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-9
}

/// An error with its causes, in one line.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
