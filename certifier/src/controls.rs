//! Mutation controls: candidates that must be refused, each with its code (P §4.3; SPEC §4, §15.5).
//!
//! A table of named mutations. Most take the honest trajectory and its log apart; those that need another trajectory
//! look for one with a small bounded search (`reach.rs`). Where a task lets nobody else do the agent's work, the
//! attribution controls run on a *variant* of it: the same task, with a script in which others do an honest step when
//! the agent waits or speaks. A control that a task cannot express is not applicable there; over a suite each must be
//! applicable somewhere.

use std::sync::Arc;

use parthack_env::candidate::{Candidate, RefusalOfCandidate};
use parthack_env::limits::MAX_STEPS;
use parthack_env::names::{Actor, Operation};
use parthack_env::replay::Replay;
use parthack_env::spec::{ScriptSpec, TaskSpec, Trigger};
use parthack_env::steps::Step;
use parthack_env::task::Task;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Document, json};

use crate::binding::PrivateTask;
use crate::certify::{Certificate, CertifyError, ELIGIBLE, TaskCertifier};
use crate::reach::{Reached, reach};
use crate::vectors::Finding;

/// What became of one control on one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlResult {
    /// The control's name.
    pub name: String,
    /// The code it must be refused with.
    pub expected: String,
    /// Whether the task, or its variant, can express it.
    pub applicable: bool,
    /// Whether it ran on a variant of the task.
    pub on_variant: bool,
    /// What the gates with certifier 1 say: a code, or `eligible`; none where it is not applicable.
    pub found_backward: Option<String>,
    /// What the gates of certifier 2 say.
    pub found_forward: Option<String>,
}

impl ControlResult {
    /// Whether both certifiers refused it with its code, or it is not applicable.
    #[must_use]
    pub fn passed(&self) -> bool {
        let right = |found: &Option<String>| found.as_ref() == Some(&self.expected);
        !self.applicable || right(&self.found_backward) && right(&self.found_forward)
    }
}

/// What the mutations work on.
struct Material<'m> {
    task: &'m Task,
    honest: &'m [Step],
    honest_certificate: Certificate,
    /// The honest candidate, with its claimed log, as a document.
    claimed: Document,
    /// Other trajectories.
    reached: Vec<Reached>,
    /// Both certifiers for a variant of the task.
    rebuild: &'m dyn Fn(TaskSpec) -> Option<TaskCertifier>,
}

/// A mutated candidate, and the trajectory that it is matched with.
struct Mutant {
    bytes: Vec<u8>,
    reference: Certificate,
    variant: Option<TaskCertifier>,
}

type Mutation = fn(&Material<'_>) -> Option<Mutant>;

/// The table: name, expected code, mutation.
const CONTROLS: [(&str, RefusalOfCandidate, Mutation); 22] = {
    use RefusalOfCandidate::{
        AgentVectorMismatch, IllegalAction, MalformedSchema, ReplayMismatch, StaleGoalVersion, StateVectorMismatch,
    };
    [
        ("dropped-key", MalformedSchema, |m| m.edit(|d| d.as_object_mut()?.remove("steps").map(drop))),
        ("dropped-step-key", MalformedSchema, |m| m.edit(|d| first_step(d, "op")?.remove("op").map(drop))),
        ("unknown-key", MalformedSchema, |m| m.edit(|d| put(d.as_object_mut()?, "verdict", json!("eligible")))),
        ("duplicate-key", MalformedSchema, duplicate_key),
        ("other-task", MalformedSchema, |m| m.edit(|d| put(d.as_object_mut()?, "task_id", json!("another-task")))),
        ("too-many-steps", MalformedSchema, too_many_steps),
        ("wrong-value-type", MalformedSchema, |m| m.edit(wrong_value_type)),
        ("claimed-actor", MalformedSchema, |m| m.edit(|d| put(first_step(d, "op")?, "actor", json!("user")))),
        ("unknown-operation", IllegalAction, |m| m.edit(|d| put(first_step(d, "op")?, "op", json!("overwrite")))),
        ("unknown-entity", IllegalAction, |m| m.edit(|d| put(first_step(d, "id")?, "id", json!("no-such-entity")))),
        ("refused-step", IllegalAction, refused_step),
        ("edited-diff", ReplayMismatch, |m| m.edit(edited_diff)),
        ("edited-actor", ReplayMismatch, |m| m.edit(|d| put(event(d, 0)?, "actor", json!("system")))),
        ("edited-state-hash", ReplayMismatch, |m| m.edit(|d| put(event(d, 0)?, "state_hash", json!("0".repeat(64))))),
        ("reordered-events", ReplayMismatch, |m| m.edit(reordered_events)),
        ("inserted-event", ReplayMismatch, |m| m.edit(inserted_event)),
        ("cut-tail", ReplayMismatch, |m| m.edit(|d| log(d)?.pop().map(drop))),
        ("stale-goal", StaleGoalVersion, |m| m.against_honest(|_, found| found.is_stale())),
        ("state-vector", StateVectorMismatch, |m| {
            m.against_honest(|h, found| !found.is_stale() && found.c_state.ones() != h.c_state.ones())
        }),
        ("state-vector-same-scalar", StateVectorMismatch, |m| {
            m.against_honest(|h, found| {
                !found.is_stale() && found.c_state.ones() == h.c_state.ones() && found.c_state != h.c_state
            })
        }),
        ("agent-vector", AgentVectorMismatch, agent_vector),
        ("agent-vector-same-scalar", AgentVectorMismatch, agent_vector_same_scalar),
    ]
};

/// Names and expected codes of every control, in order.
#[must_use]
pub fn names() -> Vec<(&'static str, RefusalOfCandidate)> {
    CONTROLS.iter().map(|(name, code, _)| (*name, *code)).collect()
}

/// Runs every control on a task; `seeds` are trajectories to look for others from, beside the honest one.
///
/// # Errors
/// The honest trajectory has no certificate, or the certifiers disagree.
pub fn run_controls(certifier: &TaskCertifier, seeds: &[Vec<Step>]) -> Result<Vec<ControlResult>, CertifyError> {
    run(certifier, seeds, &|spec| TaskCertifier::public(Arc::new(Task::compile(spec).ok()?)).ok())
}

/// Runs every control on a bound package; its hidden tests are the seeds.
///
/// # Errors
/// As [`run_controls`].
pub fn run_private_controls(
    certifier: &TaskCertifier,
    private: &PrivateTask,
) -> Result<Vec<ControlResult>, CertifyError> {
    let seeds: Vec<Vec<Step>> = private.package.hidden_tests.iter().map(|test| test.steps.clone()).collect();
    run(certifier, &seeds, &|spec| {
        // The names and tokens are the task's own, so that the package's mapping holds for the variant too.
        let task = Arc::new(Task::compile(spec).ok()?);
        TaskCertifier::private(&PrivateTask { task, ..private.clone() }).ok()
    })
}

fn run(
    certifier: &TaskCertifier,
    seeds: &[Vec<Step>],
    rebuild: &dyn Fn(TaskSpec) -> Option<TaskCertifier>,
) -> Result<Vec<ControlResult>, CertifyError> {
    let task: &Task = &certifier.task;
    let honest = &task.spec.honest;
    let replay = Replay::run(task, honest);
    let mut candidate = Candidate::new(&task.spec.id, honest.clone());
    let push = |event: &parthack_env::log::Event| {
        let mut bytes = Vec::new();
        event.push_json(task, &mut bytes);
        bytes
    };
    candidate.log = Some(replay.events.iter().map(push).collect());
    let material = Material {
        task,
        honest,
        honest_certificate: certifier.certify_replay(&replay)?,
        claimed: serde_json::from_slice(&candidate.bytes()).unwrap_or(Document::Null),
        reached: reach(certifier, seeds)?,
        rebuild,
    };
    CONTROLS
        .iter()
        .map(|(name, expected, mutate)| {
            let mut result = ControlResult {
                name: (*name).to_owned(),
                expected: expected.word().to_owned(),
                applicable: false,
                on_variant: false,
                found_backward: None,
                found_forward: None,
            };
            if let Some(mutant) = mutate(&material) {
                let judge = mutant.variant.as_ref().unwrap_or(certifier);
                let backward = judge.judge(&mutant.reference, &mutant.bytes)?;
                let forward =
                    judge.forward.admit(&finding(&mutant.reference), task.spec.active_goal_version, &mutant.bytes);
                result.applicable = true;
                result.on_variant = mutant.variant.is_some();
                result.found_backward = Some(backward.word().to_owned());
                result.found_forward = Some(forward.map_or_else(|code| code.word(), |()| ELIGIBLE).to_owned());
            }
            Ok(result)
        })
        .collect()
}

fn finding(certificate: &Certificate) -> Finding {
    Finding {
        c_state: certificate.c_state,
        c_agent: certificate.c_agent,
        goal_version: certificate.goal_version,
        state_hash: certificate.state_hash,
    }
}

impl Material<'_> {
    fn mutant(&self, bytes: Vec<u8>) -> Option<Mutant> {
        Some(Mutant { bytes, reference: self.honest_certificate, variant: None })
    }

    /// The honest candidate with its log, edited; not applicable where `edit` finds nothing to edit.
    fn edit(&self, edit: fn(&mut Document) -> Option<()>) -> Option<Mutant> {
        let mut document = self.claimed.clone();
        edit(&mut document)?;
        (document != self.claimed).then(|| self.mutant(document.to_string().into_bytes()))?
    }

    /// The first other trajectory whose certificate `wanted` picks, given the honest one.
    fn against_honest(&self, wanted: fn(&Certificate, &Certificate) -> bool) -> Option<Mutant> {
        let found = self.reached.iter().find(|reached| wanted(&self.honest_certificate, &reached.certificate))?;
        self.mutant(self.candidate(found.steps.clone()))
    }

    /// The task with script entries that do one honest step on a wait and, if asked for, one on a message to the peer.
    fn variant(&self, by_user: usize, by_peer: Option<usize>) -> Option<TaskCertifier> {
        let mut spec = self.task.spec.clone();
        let entries = [(Actor::User, Trigger::Wait, Some(by_user)), (Actor::Peer, Trigger::Message, by_peer)];
        for (actor, trigger, index) in entries {
            if let Some(index) = index {
                let action = self.honest[index].clone();
                spec.allowlist[actor as usize].push(action.operation());
                spec.script.push(ScriptSpec { id: format!("control-{actor}"), actor, trigger, action });
            }
        }
        spec.allowlist[Actor::Agent as usize].extend([Operation::Wait, Operation::Say]);
        (self.rebuild)(spec)
    }

    fn candidate(&self, steps: Vec<Step>) -> Vec<u8> {
        Candidate::new(&self.task.spec.id, steps).bytes()
    }
}

fn put(object: &mut serde_json::Map<String, Document>, key: &str, value: Document) -> Option<()> {
    object.insert(key.to_owned(), value);
    Some(())
}

/// The first step that has a key.
fn first_step<'d>(document: &'d mut Document, key: &str) -> Option<&'d mut serde_json::Map<String, Document>> {
    let steps = document.get_mut("steps")?.as_array_mut()?;
    steps.iter_mut().filter_map(Document::as_object_mut).find(|step| step.contains_key(key))
}

fn log(document: &mut Document) -> Option<&mut Vec<Document>> {
    document.get_mut("log")?.as_array_mut()
}

fn event(document: &mut Document, index: usize) -> Option<&mut serde_json::Map<String, Document>> {
    log(document)?.get_mut(index)?.as_object_mut()
}

/// A value of another JSON type: no field takes a list of objects.
fn wrong_value_type(document: &mut Document) -> Option<()> {
    let fields = first_step(document, "fields")?.get_mut("fields")?.as_object_mut()?;
    *fields.values_mut().next()? = json!([{"value": 1}]);
    Some(())
}

/// The value after the first change of the first event that has one.
fn edited_diff(document: &mut Document) -> Option<()> {
    let events = log(document)?;
    let diff = events.iter_mut().find_map(|event| event.get_mut("diff").filter(|diff| diff["fields"].is_object()))?;
    let pair = diff.get_mut("fields")?.as_object_mut()?.values_mut().next()?.as_array_mut()?;
    pair.swap(0, 1);
    Some(())
}

fn reordered_events(document: &mut Document) -> Option<()> {
    let events = log(document)?;
    (events.len() >= 2).then(|| events.swap(0, 1))
}

fn inserted_event(document: &mut Document) -> Option<()> {
    let events = log(document)?;
    events.push(events.first()?.clone());
    Some(())
}

fn duplicate_key(material: &Material<'_>) -> Option<Mutant> {
    let bytes = material.candidate(material.honest.to_vec());
    let text = String::from_utf8(bytes).ok()?;
    material.mutant(text.replacen('{', "{\"format\":\"parthack.candidate/1\",", 1).into_bytes())
}

fn too_many_steps(material: &Material<'_>) -> Option<Mutant> {
    let mut steps = material.honest.to_vec();
    steps.resize(MAX_STEPS + 1, Step::Wait);
    material.mutant(material.candidate(steps))
}

/// A step that the rules refuse, at the end: a goal version that no task declares.
fn refused_step(material: &Material<'_>) -> Option<Mutant> {
    let mut steps = material.honest.to_vec();
    steps.push(Step::ReviseGoal { version: parthack_env::limits::MAX_GOAL_VERSION + 1 });
    material.mutant(material.candidate(steps))
}

/// Two trajectories with one state vector, and attribution vectors of one mean. Where the honest vectors are equal, no
/// such trajectory can be matched with the honest one, so that the pair is looked for among all that were reached.
fn agent_vector_same_scalar(material: &Material<'_>) -> Option<Mutant> {
    let current = || material.reached.iter().filter(|reached| !reached.certificate.is_stale());
    for (index, candidate) in current().enumerate() {
        let (state, agent) = (candidate.certificate.c_state, candidate.certificate.c_agent);
        let twin = current().take(index).find(|other| {
            let other = &other.certificate;
            other.c_state == state && other.c_agent.ones() == agent.ones() && other.c_agent != agent
        });
        if let Some(twin) = twin {
            let bytes = material.candidate(candidate.steps.clone());
            return Some(Mutant { bytes, reference: twin.certificate, variant: None });
        }
    }
    let steps = 0..material.honest.len();
    steps.clone().flat_map(|by_user| steps.clone().map(move |by_peer| (by_user, by_peer))).find_map(
        |(by_user, by_peer)| {
            let variant = material.variant(by_user, Some(by_peer))?;
            let reference = variant.certify(&handed_over(material.honest, by_user, Cue::Wait)).ok()?;
            let candidate = handed_over(material.honest, by_peer, Cue::Ask);
            let found = variant.certify(&candidate).ok()?;
            let twins = found.c_state == reference.c_state
                && found.c_agent.ones() == reference.c_agent.ones()
                && found.c_agent != reference.c_agent;
            twins.then(|| Mutant { bytes: material.candidate(candidate), reference, variant: Some(variant) })
        },
    )
}

/// The honest state vector with another attribution vector: reached in the task itself, or in a variant in which the
/// user does one honest step.
fn agent_vector(material: &Material<'_>) -> Option<Mutant> {
    let own = material
        .against_honest(|h, found| !found.is_stale() && found.c_state == h.c_state && found.c_agent != h.c_agent);
    own.or_else(|| {
        (0..material.honest.len()).find_map(|by_user| {
            let variant = material.variant(by_user, None)?;
            let reference = variant.certify(material.honest).ok()?;
            let candidate = handed_over(material.honest, by_user, Cue::Wait);
            let found = variant.certify(&candidate).ok()?;
            let wanted = found.c_state == reference.c_state && found.c_agent != reference.c_agent;
            wanted.then(|| Mutant { bytes: material.candidate(candidate), reference, variant: Some(variant) })
        })
    })
}

/// What makes another actor do an honest step in a variant.
#[derive(Clone, Copy)]
enum Cue {
    /// The agent waits: the user acts.
    Wait,
    /// The agent speaks to the peer: the peer acts.
    Ask,
}

/// The honest steps, one of them left to another actor.
fn handed_over(honest: &[Step], index: usize, cue: Cue) -> Vec<Step> {
    let mut steps = honest.to_vec();
    steps[index] = match cue {
        Cue::Wait => Step::Wait,
        Cue::Ask => Step::Say { to: Actor::Peer, text: "Please do it.".to_owned(), offers: None },
    };
    steps
}
