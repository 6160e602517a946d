//! What a cassette has recordings of: which roles, which answer mode, which judges on which tasks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use parthack_env::payload::payload;
use parthack_env::replay::Replay;
use parthack_evaluators::judge::{self, AnswerMode};
use parthack_evaluators::registry::payload_hash;
use parthack_model::role::RoleConfig;

use crate::ledger::Subject;
use crate::run::error::RunError;
use crate::run::judge_processes::JudgeProcesses;
use crate::run::judging::{Exhibit, Judging};
use crate::run::manifest::{FrozenJudge, Recorded, SemanticChoices, freeze_judge};
use crate::run::models::Asking;
use crate::run::suite::Suite;

/// Takes the one configuration of a role out of what a cassette has ([`parthack_model::cassette::Cassette::roles`]): the one
/// that `wanted` names, or the only one there is.
///
/// # Errors
/// [`RunError::Usage`] for none, or for several to choose from.
pub fn recorded_role(
    recorded: &mut BTreeMap<String, Vec<RoleConfig>>,
    role: &str,
    wanted: Option<&RoleConfig>,
) -> Result<Option<RoleConfig>, RunError> {
    let mut recorded = recorded.remove(role).unwrap_or_default();
    if let Some(wanted) = wanted {
        recorded.retain(|config| config.name() == wanted.name());
        if recorded.is_empty() {
            let message = format!("--role {role}={}: nothing is recorded of it", wanted.name());
            return Err(RunError::usage(message, "`parthack cassette list` shows what is recorded"));
        }
    }
    if recorded.len() > 1 {
        let names: Vec<String> = recorded.iter().map(RoleConfig::name).collect();
        let message = format!("role {role}: {} configurations are recorded: {}", names.len(), names.join(", "));
        return Err(RunError::usage(message, "choose one with --role, or keep each in a folder of its own"));
    }
    Ok(recorded.pop())
}

/// Which honest trajectories each judge is recorded on, and in which answer mode: the one that is asked for, or else the
/// first that has any recording. The judges read in `judges`.
///
/// # Errors
/// [`RunError`] for a cassette that can't be read, or a task that can't be replayed.
pub fn recorded_judgements(
    suite: &Suite,
    folders: &[PathBuf],
    semantic: &SemanticChoices,
    mode: Option<AnswerMode>,
    judges: &Arc<JudgeProcesses>,
) -> Result<(AnswerMode, Recorded), RunError> {
    let modes = mode.map_or_else(|| AnswerMode::ALL.to_vec(), |mode| vec![mode]);
    for mode in &modes {
        let recorded = of_mode(suite, folders, &SemanticChoices { answer_mode: *mode, ..semantic.clone() }, judges)?;
        if !recorded.tasks.is_empty() {
            return Ok((*mode, recorded));
        }
    }
    Ok((modes[0], Recorded::default()))
}

fn of_mode(
    suite: &Suite,
    folders: &[PathBuf],
    semantic: &SemanticChoices,
    judges: &Arc<JudgeProcesses>,
) -> Result<Recorded, RunError> {
    let ids: Vec<&str> = suite.tasks.iter().map(|task| task.task.spec.id.as_str()).collect();
    let frozen: BTreeMap<&str, FrozenJudge> = (judge::judges().iter())
        .map(|judge| Ok((judge.id(), freeze_judge(judge.as_ref(), Some(semantic), &ids)?)))
        .collect::<Result<_, RunError>>()?;
    let asking = Asking::reading(folders.to_vec())?;
    let judging = Judging::of_judges(frozen.iter().map(|(id, frozen)| (*id, frozen)), Some(&asking), judges)?;
    let mut recorded = Recorded::default();
    let subject = Subject::Honest {};
    for entry in &suite.tasks {
        let task = &entry.task;
        let bytes = payload(&Replay::run(task, &task.spec.honest));
        let hash = payload_hash(&bytes).hex();
        let exhibit = Exhibit { task: &task.spec.id, subject: &subject, hash: &hash, payload: &bytes };
        for (id, frozen) in &frozen {
            if frozen.checklist_role.is_some() {
                judging.checklist(task, id)?;
            }
            let judged = judging.judge(id, exhibit, false)?;
            if judged.judgements.iter().any(|judgement| !judgement.exchanges.is_empty()) {
                recorded.tasks.entry((*id).to_owned()).or_default().insert(task.spec.id.clone());
            }
        }
    }
    Ok(recorded)
}
