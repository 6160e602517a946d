//! What a cassette has recordings of: which roles, which answer mode, which judges on which tasks, which attempts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use parthack_env::payload::payload;
use parthack_env::replay::Replay;
use parthack_evaluators::judge::{self, AnswerMode};
use parthack_evaluators::registry::{all_descriptors, payload_hash};
use parthack_model::cassette::Cassette;
use parthack_model::request::Request;
use parthack_model::role::RoleConfig;

use crate::ledger::{Record, Subject};
use crate::run::attackers::{FeedbackKind, ModelAttacker};
use crate::run::error::RunError;
use crate::run::journal::UnitResult;
use crate::run::judge_processes::JudgeProcesses;
use crate::run::judging::{Exhibit, Judging};
use crate::run::manifest::{FrozenJudge, Recorded, SemanticChoices, freeze_judge};
use crate::run::models::Asking;
use crate::run::suite::Suite;

/// What a user says of a role: a configuration, and which of its options were named rather than left as they are usual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedRole {
    /// The configuration.
    pub config: RoleConfig,
    /// Names of options, such as `max_tokens`.
    pub named: BTreeSet<String>,
}

impl WantedRole {
    /// Whether a configuration is of this model and has the named options. How long a try may last is no part of a recording.
    fn admits(&self, recorded: &RoleConfig) -> bool {
        let (wanted, named) = (&self.config, |option: &str| self.named.contains(option));
        let differs = [
            wanted.name() != recorded.name(),
            named("max_tokens") && wanted.max_tokens != recorded.max_tokens,
            named("top_logprobs") && wanted.top_logprobs != recorded.top_logprobs,
            named("temperature") && wanted.temperature != recorded.temperature,
            named("reasoning") && wanted.reasoning != recorded.reasoning,
            named("response_format") && wanted.response_format != recorded.response_format,
        ];
        !differs.contains(&true)
    }
}

/// A configuration as `--role` takes it, with every option that is part of a recording.
fn spelled(config: &RoleConfig) -> String {
    let RoleConfig { temperature, max_tokens, reasoning, response_format, top_logprobs, .. } = config;
    let reasoning = reasoning.map_or_else(String::new, |reasoning| format!(",reasoning={}", reasoning.word()));
    let name = config.name();
    let format = response_format.word();
    format!(
        "{name},temperature={temperature},max_tokens={max_tokens}{reasoning},response_format={format},top_logprobs={top_logprobs}"
    )
}

/// Takes the one configuration of a role out of what a cassette has ([`parthack_model::cassette::Cassette::roles`]): the one
/// that `wanted` describes (of several, the one that is as usual in all that `wanted` leaves open), or the only one there is.
///
/// # Errors
/// [`RunError::Usage`] for none, or for several to choose from.
pub fn recorded_role(
    recorded: &mut BTreeMap<String, Vec<RoleConfig>>,
    role: &str,
    wanted: Option<&WantedRole>,
) -> Result<Option<RoleConfig>, RunError> {
    let recorded = recorded.remove(role).unwrap_or_default();
    let list = |configs: &[RoleConfig]| configs.iter().map(spelled).collect::<Vec<_>>().join("; ");
    let mut fitting = recorded.clone();
    if let Some(wanted) = wanted {
        fitting.retain(|config| wanted.admits(config));
        let usual = |config: &&RoleConfig| {
            let wanted = RoleConfig { identity: config.identity.clone(), ..wanted.config.clone() };
            wanted.asks_the_same(config)
        };
        if let (2.., Some(exact)) = (fitting.len(), fitting.iter().find(usual)) {
            fitting = vec![exact.clone()];
        }
        if fitting.is_empty() {
            let message = match recorded.is_empty() {
                true => format!("--role {role}={}: nothing is recorded of this role", wanted.config.name()),
                false => format!(
                    "--role {role}={}: nothing is recorded of it; found {}",
                    spelled(&wanted.config),
                    list(&recorded)
                ),
            };
            return Err(RunError::usage(message, "`parthack cassette list` shows what is recorded"));
        }
    }
    if fitting.len() > 1 {
        let message = format!("role {role}: {} configurations are recorded: {}", fitting.len(), list(&fitting));
        let (first, others) = (spelled(&fitting[0]), &fitting[1..]);
        let hint = match others.iter().any(|other| spelled(other) == first) {
            true => "they are of different servers or model files: keep each in a folder of its own",
            false => "choose one with --role, as it stands here, or keep each in a folder of its own",
        };
        return Err(RunError::usage(message, hint));
    }
    Ok(fitting.pop())
}

/// Which attempts of a model are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAttempts {
    /// Tasks with any, in the suite's order.
    pub tasks: Vec<String>,
    /// Targets with any, in the order of the tables.
    pub targets: Vec<String>,
    /// Attempts a task and target: K.
    pub budget: u32,
}

/// The tasks and targets whose first attempt is recorded, and K: the one that is asked for, or else the greatest number
/// of an attempt. What an attempt asks says K, so that another K is another question.
///
/// # Errors
/// [`RunError::Usage`] if no attempt of this K is recorded; [`RunError`] for a cassette that can't be read.
pub fn recorded_attempts(
    suite: &Suite,
    folders: &[PathBuf],
    role: &RoleConfig,
    feedback: FeedbackKind,
    budget: Option<u32>,
) -> Result<RecordedAttempts, RunError> {
    let cassette = Cassette::new(None, folders.to_vec());
    let labels = cassette.list()?.into_iter().filter_map(|entry| entry.exchange.ok());
    let of_role = labels.filter(|label| label.role == "attacker" && label.config.asks_the_same(role));
    let cells = of_role.map(|label| label.cell);
    let most = cells.filter_map(|cell| attempt_of(&cell)).max().unwrap_or(1);
    let attacker = ModelAttacker { role: role.clone(), budget: budget.unwrap_or(most), feedback };
    let keys = cassette.keys()?;
    let (mut tasks, mut targets) = (Vec::new(), BTreeSet::new());
    for entry in &suite.tasks {
        let mut any = false;
        for target in all_descriptors() {
            let Ok(prompt) = attacker.prompt(&entry.task, target.id, 1, Vec::new()) else { continue };
            let tries = [0, 1].map(|attempt| Request::new(&prompt, role, 0, attempt));
            if tries.into_iter().flatten().any(|request| keys.contains(&request.key)) {
                targets.insert(target.id);
                any = true;
            }
        }
        if any {
            tasks.push(entry.task.spec.id.clone());
        }
    }
    if tasks.is_empty() {
        let message = format!("--attacker llm: no attempt of {} with K = {} is recorded", role.name(), attacker.budget);
        let hint = format!("recorded attempts go up to number {most}; `parthack cassette list` shows them");
        return Err(RunError::usage(message, hint));
    }
    let in_order = all_descriptors().into_iter().map(|descriptor| descriptor.id);
    let targets = in_order.filter(|id| targets.contains(id)).map(str::to_owned).collect();
    Ok(RecordedAttempts { tasks, targets, budget: attacker.budget })
}

/// The number in the name of an attempt's cell.
fn attempt_of(cell: &str) -> Option<u32> {
    cell.strip_prefix("attempt ")?.split(' ').next()?.parse().ok()
}

/// Which honest trajectories of these tasks each judge is recorded on, and in which answer mode: the one that is asked
/// for, or else the first that has any recording. No tasks named: all. The judges read in `judges`.
///
/// # Errors
/// [`RunError`] for a cassette that can't be read, or a task that can't be replayed.
pub fn recorded_judgements(
    suite: &Suite,
    tasks: Option<&[String]>,
    folders: &[PathBuf],
    semantic: &SemanticChoices,
    mode: Option<AnswerMode>,
    judges: &Arc<JudgeProcesses>,
) -> Result<(AnswerMode, Recorded), RunError> {
    let modes = mode.map_or_else(|| AnswerMode::ALL.to_vec(), |mode| vec![mode]);
    for mode in &modes {
        let choices = SemanticChoices { answer_mode: *mode, ..semantic.clone() };
        let recorded = of_mode(suite, tasks, folders, &choices, judges)?;
        if !recorded.tasks.is_empty() {
            return Ok((*mode, recorded));
        }
    }
    Ok((modes[0], Recorded::default()))
}

fn of_mode(
    suite: &Suite,
    tasks: Option<&[String]>,
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
    let wanted = |id: &String| tasks.is_none_or(|tasks| tasks.contains(id));
    for entry in suite.tasks.iter().filter(|entry| wanted(&entry.task.spec.id)) {
        let task = &entry.task;
        let bytes = payload(&Replay::run(task, &task.spec.honest));
        let hash = payload_hash(&bytes).hex();
        let exhibit = Exhibit { task: &task.spec.id, subject: &subject, hash: &hash, payload: &bytes };
        for (id, frozen) in &frozen {
            // A checklist that was answered and refused is all that there is to ask about the task.
            let refused = frozen.checklist_role.is_some() && is_refused(&judging.checklist(task, id)?);
            let judged = judging.judge(id, exhibit, false)?;
            if refused || judged.judgements.iter().any(|judgement| !judgement.exchanges.is_empty()) {
                recorded.tasks.entry((*id).to_owned()).or_default().insert(task.spec.id.clone());
            }
        }
    }
    Ok(recorded)
}

fn is_refused(checklist: &UnitResult) -> bool {
    let refused = |record: &Record| matches!(record, Record::Checklist(record) if record.is_refused());
    checklist.records.iter().any(refused)
}
