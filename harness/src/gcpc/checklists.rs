//! Checklists of a pipeline: attempts, gates, freezing (G §3.2).

use parthack_gcpc::gates::Options;
use parthack_gcpc::synthesis::{Generation, Next, Setting, Task, generation, next, prompt, read};
use serde_json::Value;

use crate::gcpc::chain::Chain;
use crate::gcpc::folder::GcpcFolder;
use crate::gcpc::pipeline::{Pipeline, Role};
use crate::gcpc::task::GcpcTask;
use crate::run::error::RunError;

/// What was done for a task.
#[derive(Debug)]
pub enum Synthesized {
    /// An attempt was made.
    Made(Box<Generation>),
    /// An earlier attempt is accepted.
    Accepted(u32),
    /// An earlier attempt failed, and nobody asked for another.
    Failed(u32),
    /// The verifier can't be read, so that no attempt can be made.
    NoVerifier(parthack_env::input::InputError),
}

/// The attempts of a folder.
#[derive(Debug)]
pub struct Attempts {
    chain: Chain,
    records: Vec<Value>,
}

impl Attempts {
    /// Reads those that were made.
    ///
    /// # Errors
    /// As [`Chain::open`].
    pub fn open(folder: &GcpcFolder) -> Result<Attempts, RunError> {
        let (chain, records) = Chain::open(&folder.generations())?;
        Ok(Attempts { chain, records })
    }
}

/// Makes the next attempt at a task's checklist, if there is one to be made, and keeps it whatever becomes of it.
///
/// # Errors
/// [`RunError`].
pub fn synthesize(
    attempts: &mut Attempts,
    pipeline: &Pipeline,
    task: &GcpcTask,
    options: &Options,
    regenerate: bool,
) -> Result<Synthesized, RunError> {
    let verifier = match task.read_verifier() {
        Ok(verifier) => verifier,
        Err(error) => return Ok(Synthesized::NoVerifier(error)),
    };
    let history: Vec<(u32, &str)> = attempts
        .records
        .iter()
        .filter(|record| record["task"] == task.task)
        .map(|record| {
            let attempt = record["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok());
            (attempt.unwrap_or_default(), record["result"].as_str().unwrap_or_default())
        })
        .collect();
    let attempt = match next(&history, regenerate) {
        Next::Attempt(attempt) => attempt,
        Next::Accepted(attempt) => return Ok(Synthesized::Accepted(attempt)),
        Next::NeedsCommand(attempt) => return Ok(Synthesized::Failed(attempt)),
    };
    let of = Task { id: &task.task, instruction: &task.instruction, verifier: &verifier };
    let setting = Setting { items: (options.least_items, options.most_items), ..Setting::default() };
    let cell = format!("checklist of {}, attempt {attempt}", task.task);
    let check = |answer: &parthack_model::answer::Answer| read(answer, of.instruction).map(|_| ());
    let asked = pipeline.ask(&cell, Role::Checklist, &prompt(of, attempt, setting), 0, &check)?;
    let made = generation(of, attempt, setting, options, &asked.result);
    let record = made.json();
    attempts.chain.append(&record)?;
    attempts.records.push(record);
    Ok(Synthesized::Made(Box::new(made)))
}

/// Freezes the last accepted attempt of each task that has no frozen checklist; returns the tasks.
///
/// # Errors
/// [`RunError`]; [`RunError::Incomplete`] for a generation that the gates do not accept as the ledger says.
pub fn freeze_all(folder: &GcpcFolder, options: &Options) -> Result<Vec<String>, RunError> {
    let (tasks, frozen) = (folder.tasks()?, folder.checklists()?);
    let records = folder.read_generations()?;
    let mut done = Vec::new();
    for (name, task) in tasks.iter().filter(|(name, _)| !frozen.contains_key(*name)) {
        let accepted = records.iter().rev().find(|record| record["task"] == *name && record["result"] == "accepted");
        let Some(record) = accepted else { continue };
        let verifier = task.read_verifier()?;
        let of = Task { id: name, instruction: &task.instruction, verifier: &verifier };
        let attempt = record["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or_default();
        let content = record["answer"].as_str().unwrap_or_default().to_owned();
        let answer = Ok(parthack_model::answer::Answer { content, tokens: Vec::new() });
        let setting = Setting { items: (options.least_items, options.most_items), ..Setting::default() };
        // The gates decide again: a ledger says what was, not what is right.
        let again = generation(of, attempt, setting, options, &answer);
        let Some(checklist) = again.freeze().filter(|_| again.json() == *record) else {
            return Err(RunError::Incomplete(format!(
                "{}: attempt {attempt} at the checklist of {name} does not pass the gates as its record says",
                folder.generations().display()
            )));
        };
        folder.freeze(&checklist)?;
        done.push(name.clone());
    }
    Ok(done)
}
