//! A small bounded search for trajectories with other vectors; the material of mutation controls. It finds witnesses and
//! proves nothing: exact search is the attacker's.

use std::collections::{BTreeSet, HashSet};

use parthack_env::canonical::Hash;
use parthack_env::names::{Actor, Operation};
use parthack_env::predicate::{FieldTest, Predicate};
use parthack_env::replay::Replay;
use parthack_env::spec::Trigger;
use parthack_env::steps::Step;
use parthack_env::task::Task;

use crate::certify::{Certificate, CertifyError, TaskCertifier};
use crate::rollback::inverse;
use crate::vectors::Finding;

/// Trajectories that one search may execute: a tenth of a second.
pub(crate) const MAX_EXECUTIONS: usize = 4_000;
/// Trajectories with different vectors that are kept.
const MAX_KEPT: usize = 64;

/// A trajectory that was reached, certified.
#[derive(Debug, Clone)]
pub(crate) struct Reached {
    pub(crate) steps: Vec<Step>,
    pub(crate) certificate: Certificate,
}

/// Legal trajectories with pairwise different (vectors, goal version), shortest first.
pub(crate) fn reach(certifier: &TaskCertifier, seeds: &[Vec<Step>]) -> Result<Vec<Reached>, CertifyError> {
    let task: &Task = &certifier.task;
    let alphabet = alphabet(task, seeds);
    let last_count = task.spec.script.iter().map(|entry| match entry.trigger {
        Trigger::AfterStep(count) => count as usize,
        _ => 0,
    });
    let last_count = last_count.max().unwrap_or(0);
    let mut kept: Vec<(Vec<Step>, Finding)> = Vec::new();
    let mut known = HashSet::new();
    let mut seen: HashSet<(Hash, u32, usize, usize)> = HashSet::new();
    let mut executions = 0;
    let mut level: Vec<Vec<Step>> = vec![Vec::new()];
    // Whole seeds first: they end where a blind search rarely gets.
    for steps in std::iter::once(&task.spec.honest).chain(seeds) {
        for length in 0..=steps.len() {
            offer(certifier, steps[..length].to_vec(), &mut kept, &mut known);
        }
    }
    while !level.is_empty() && executions < MAX_EXECUTIONS && kept.len() < MAX_KEPT {
        let mut next = Vec::new();
        for steps in &level {
            for step in &alphabet {
                if executions >= MAX_EXECUTIONS {
                    break;
                }
                executions += 1;
                let mut longer = steps.clone();
                longer.push(step.clone());
                let Some(finding) = offer(certifier, longer.clone(), &mut kept, &mut known) else { continue };
                // Script positions differ with messages and waits; steps count up to the last counted trigger.
                let heard = longer.iter().filter(|step| !step.operation().is_event()).count().min(4);
                let key = (finding.state_hash, finding.c_agent.bits(), longer.len().min(last_count), heard);
                if seen.insert(key) {
                    next.push(longer);
                }
            }
        }
        level = next;
    }
    let certify = |(steps, _): (Vec<Step>, Finding)| {
        let certificate = certifier.certify(&steps)?;
        Ok(Reached { steps, certificate })
    };
    kept.into_iter().map(certify).collect()
}

/// Executes a trajectory; keeps it if it is legal and its vectors are new.
fn offer(
    certifier: &TaskCertifier,
    steps: Vec<Step>,
    kept: &mut Vec<(Vec<Step>, Finding)>,
    known: &mut HashSet<(u32, u32, u32)>,
) -> Option<Finding> {
    let execution = certifier.forward.execute(&steps);
    if execution.refused.is_some() {
        return None;
    }
    let finding = execution.finding;
    if known.insert((finding.c_state.bits(), finding.c_agent.bits(), finding.goal_version)) {
        kept.push((steps, finding));
    }
    Some(finding)
}

/// The steps that are tried: those of the seeds, their inverses, those of the script, what speaks to the script, and
/// single writes of expected values.
fn alphabet(task: &Task, seeds: &[Vec<Step>]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for seed in std::iter::once(&task.spec.honest).chain(seeds) {
        steps.extend(seed.iter().cloned());
        let replay = Replay::run(task, seed);
        steps.extend(replay.events.iter().filter_map(|event| inverse(task, event)).map(|(_, step)| step));
    }
    for entry in &task.spec.script {
        steps.push(match (&entry.trigger, &entry.action) {
            (Trigger::Message, _) => Step::Say { to: entry.actor, text: "hello".to_owned(), offers: None },
            (Trigger::Wait, _) => Step::Wait,
            (_, action) => action.clone(),
        });
        steps.push(entry.action.clone());
    }
    steps.extend(task.spec.goal_versions.iter().map(|goal| Step::ReviseGoal { version: goal.version }));
    steps.push(Step::Wait);
    for goal in &task.spec.goal_versions {
        goal.predicates.iter().for_each(|predicate| predicate.predicate.leaves(&mut |leaf| writes(leaf, &mut steps)));
    }
    general(task, &mut steps);
    let mut known = BTreeSet::new();
    steps.retain(|step| {
        let agents = !matches!(step, Step::Say { offers: Some(_), .. } | Step::Say { to: Actor::Agent, .. });
        let useful = !matches!(step.operation(), Operation::Read | Operation::List);
        agents && useful && task.resolve(step, Actor::Agent).is_ok() && known.insert(step.json())
    });
    steps
}

/// Deletion and restoration of every entity, and single writes of every value that a field's universe, a predicate's
/// entity or the script names.
fn general(task: &Task, steps: &mut Vec<Step>) {
    for slot in &task.slots {
        let kind = &task.spec.entity_types[slot.entity_type];
        let (entity_type, id) = (kind.name.clone(), slot.id.to_string());
        for field in &kind.fields {
            for value in field.universe.iter().flatten() {
                let fields = vec![(field.name.clone(), value.clone())];
                steps.push(Step::Update { entity_type: entity_type.clone(), id: id.clone(), fields });
            }
        }
        steps.push(Step::Delete { entity_type: entity_type.clone(), id: id.clone() });
        steps.push(Step::Restore { entity_type, id });
    }
}

/// Single steps that make a leaf true.
fn writes(leaf: &Predicate, steps: &mut Vec<Step>) {
    match leaf {
        Predicate::Field { entity_type, id, field, test, .. } => {
            let values = match test {
                FieldTest::Equals(value) => vec![value.clone()],
                FieldTest::In(values) => values.clone(),
                _ => Vec::new(),
            };
            steps.extend(values.into_iter().map(|value| Step::Update {
                entity_type: entity_type.clone(),
                id: id.clone(),
                fields: vec![(field.clone(), value)],
            }));
        }
        Predicate::Exists { entity_type, id, .. } | Predicate::Deleted { entity_type, id, .. } => {
            steps.push(Step::Delete { entity_type: entity_type.clone(), id: id.clone() });
            steps.push(Step::Restore { entity_type: entity_type.clone(), id: id.clone() });
        }
        _ => {}
    }
}
