//! Released tasks, imported and certified on their honest trajectory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use parthack_certifier::certify::{Certificate, TaskCertifier};
use parthack_env::frames::{Frame, frames};
use parthack_env::input::{Cursor, InputError, Place};
use parthack_env::json::Json;
use parthack_env::log::Event;
use parthack_env::release::read_task;
use parthack_env::replay::Replay;
use parthack_env::task::Task;

use super::report::{Difference, Tally};
use super::some_files;
use crate::locate::read_input;

/// A released task with everything that lines are compared against.
pub(super) struct Imported {
    /// The task over the release's private ids.
    pub(super) task: Arc<Task>,
    /// Whether the release's rollback metric includes it.
    pub(super) rollback_eligible: bool,
    /// Both certifiers.
    pub(super) certifier: TaskCertifier,
    /// The honest trajectory.
    pub(super) honest: Honest,
    claimed: Option<Claim>,
    path: PathBuf,
}

/// What a task file says of its honest trajectory.
struct Claim {
    c_state: Vec<u8>,
    c_agent: Vec<u8>,
    goal_version: u32,
}

/// The honest trajectory of a task.
pub(super) struct Honest {
    /// Whether it is legal and ends at the active goal version.
    pub(super) valid: bool,
    /// The last frame.
    pub(super) last: Frame,
    /// Its log.
    pub(super) log: Vec<Event>,
    /// What the certifiers say of it.
    pub(super) certificate: Option<Certificate>,
    fault: Option<String>,
}

/// Imports every `*.json` of the folders.
pub(super) fn import_all(folders: &[PathBuf]) -> Result<BTreeMap<String, Imported>, InputError> {
    let mut tasks: BTreeMap<String, Imported> = BTreeMap::new();
    for folder in folders {
        for path in some_files(folder, "json")? {
            let bytes = read_input(&path)?;
            let imported = import(&bytes, path.clone()).map_err(|error| {
                let hint = "--tasks takes the release's task definitions, not tasks of this project";
                let error = if error.hint.is_none() { error.hint(hint) } else { error };
                error.in_file(&path)
            })?;
            let id = imported.task.spec.id.clone();
            if let Some(other) = tasks.insert(id.clone(), imported) {
                let place = Place::Pointer("/id".to_owned());
                let fault = InputError::new(place, format!("{id:?} a second time"), "each task once").in_file(&path);
                return Err(fault.hint(format!("{} has it too", other.path.display())));
            }
        }
    }
    Ok(tasks)
}

fn import(bytes: &[u8], path: PathBuf) -> Result<Imported, InputError> {
    let released = read_task(bytes)?;
    let claimed = read_claim(bytes)?;
    let task = Arc::new(Task::compile(released.spec)?);
    let certifier = TaskCertifier::public(Arc::clone(&task))
        .map_err(|error| InputError::new(Place::File, error.to_string(), "a task that both certifiers read alike"))?;
    let honest = honest(&task, &certifier);
    Ok(Imported { task, rollback_eligible: released.rollback_eligible, certifier, honest, claimed, path })
}

fn read_claim(bytes: &[u8]) -> Result<Option<Claim>, InputError> {
    let json = Json::parse(bytes)?;
    let Some(claim) = Cursor::root(&json).optional("honest_certification") else { return Ok(None) };
    let vector = |key: &str| super::line::read_vector(&claim.key(key)?);
    let goal_version = claim.key("goal_version")?.u32(0, u32::MAX)?;
    Ok(Some(Claim { c_state: vector("cstate")?, c_agent: vector("cagent")?, goal_version }))
}

fn honest(task: &Task, certifier: &TaskCertifier) -> Honest {
    let replay = Replay::run(task, &task.spec.honest);
    let legal = replay.first_refusal().is_none();
    let version = replay.world().goal_version();
    let (certificate, fault) = match certifier.certify_replay(&replay) {
        Ok(certificate) => (Some(certificate), None),
        Err(error) => (None, Some(super::checks::chain(&error))),
    };
    Honest {
        valid: legal && version == task.spec.active_goal_version,
        last: frames(&replay).last().copied().unwrap_or_default(),
        log: replay.events,
        certificate,
        fault,
    }
}

/// Compares the certificate of the honest trajectory with what the task file says of it.
pub(super) fn check_honest(task: &Imported, tally: &mut Tally) {
    let found = match (&task.honest.certificate, &task.honest.fault) {
        (Some(certificate), _) => {
            show(&certificate.c_state.to_list(), &certificate.c_agent.to_list(), certificate.goal_version)
        }
        (None, fault) => fault.clone().unwrap_or_default(),
    };
    let expected = task.claimed.as_ref().map(|claim| show(&claim.c_state, &claim.c_agent, claim.goal_version));
    let agrees = expected.as_ref().map_or(task.honest.certificate.is_some(), |expected| *expected == found);
    tally.add(agrees, || Difference {
        place: task.path.display().to_string(),
        task: task.task.spec.id.clone(),
        check: "honest certificate".to_owned(),
        found,
        expected: expected.unwrap_or_else(|| "a legal honest trajectory".to_owned()),
    });
}

fn show(state: &[u8], agent: &[u8], version: u32) -> String {
    format!("c_state {state:?}, c_agent {agent:?}, goal version {version}")
}
