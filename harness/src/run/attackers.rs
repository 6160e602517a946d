//! Who makes candidates: exact search, or a folder of other people's files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use parthack_attacker::search::{SearchError, SearchOptions, SearchOutcome, search};
use parthack_env::candidate::Candidate;
use parthack_env::canonical::Hash;
use parthack_env::input::InputError;
use parthack_env::json::Json;
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;

use crate::ledger::SearchRecord;
use crate::locate::read_input;
use crate::run::error::RunError;
use crate::run::manifest::{FrozenAttacker, FrozenCandidate};

/// The most candidate files of one folder.
const MAX_FILES: usize = 100_000;

/// A candidate file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateFile {
    /// File name.
    pub name: String,
    /// The task that it names.
    pub task: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Who makes the candidates.
#[derive(Debug, Clone)]
pub enum Attacker {
    /// Exact search (SPEC §7).
    Search,
    /// Files, in the order of their names.
    Files(Arc<Vec<CandidateFile>>),
    /// What attempts of a finished run produced, by task, target and number; for verification.
    Recorded(Arc<BTreeMap<(String, String, u32), Generated>>),
}

/// What an attempt produced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The candidate's bytes; none if there is no candidate.
    pub candidate: Option<Vec<u8>>,
    /// A name for reports.
    pub name: Option<String>,
    /// What exact search found.
    pub search: Option<SearchRecord>,
}

/// Hash of a candidate or trajectory: the name of its object.
#[must_use]
pub fn candidate_hash(bytes: &[u8]) -> Hash {
    Hash::of("candidate", bytes)
}

impl Attacker {
    /// Reads every `*.json` of a folder, in the order of names. What a file's steps say is an attempt's affair; that it
    /// is JSON and names a task of the suite is the caller's.
    ///
    /// # Errors
    /// [`RunError::Input`] for a folder or file that can't be read, or a file that names no task in `known`.
    pub fn from_folder(folder: &Path, known: &[&str]) -> Result<Attacker, RunError> {
        let fault = |error: std::io::Error| {
            InputError::new(parthack_env::input::Place::File, error.to_string(), "a folder of candidate files")
                .in_file(folder)
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).map_err(fault)? {
            let name = entry.map_err(fault)?.file_name();
            let Some(name) = name.to_str().filter(|name| name.ends_with(".json")) else { continue };
            names.push(name.to_owned());
        }
        names.sort();
        if names.is_empty() || names.len() > MAX_FILES {
            let found = format!("{} files that end in .json", names.len());
            let place = parthack_env::input::Place::File;
            return Err(InputError::new(place, found, format!("1 to {MAX_FILES} candidate files"))
                .in_file(folder)
                .into());
        }
        let mut files = Vec::with_capacity(names.len());
        for name in names {
            let path = folder.join(&name);
            let bytes = read_input(&path)?;
            let task = named_task(&bytes, known).map_err(|error| error.in_file(&path))?;
            files.push(CandidateFile { name, task, bytes });
        }
        Ok(Attacker::Files(Arc::new(files)))
    }

    /// What the manifest says of it.
    #[must_use]
    pub fn freeze(&self, search: &SearchOptions, tasks: &[&str]) -> FrozenAttacker {
        match self {
            Attacker::Search => {
                let SearchOptions { max_steps, max_states, prove, .. } = *search;
                FrozenAttacker::Search { max_steps, max_states, prove }
            }
            Attacker::Recorded(_) => FrozenAttacker::File { candidates: Vec::new() },
            Attacker::Files(files) => FrozenAttacker::File {
                candidates: (files.iter().filter(|file| tasks.contains(&file.task.as_str())))
                    .map(|file| FrozenCandidate {
                        name: file.name.clone(),
                        task: file.task.clone(),
                        hash: candidate_hash(&file.bytes).hex(),
                    })
                    .collect(),
            },
        }
    }

    /// The n-th attempt, from 1, on a task against a target.
    ///
    /// # Errors
    /// [`RunError::Search`] if the packed model and the engine differ: a bug.
    pub fn generate(
        &self,
        task: &Task,
        target: Rule,
        attempt: u32,
        options: &SearchOptions,
    ) -> Result<Generated, RunError> {
        match self {
            Attacker::Search => by_search(task, target, options),
            Attacker::Recorded(recorded) => {
                let key = (task.spec.id.clone(), target.id().to_owned(), attempt);
                let found = recorded.get(&key).cloned();
                found.ok_or_else(|| RunError::Incomplete(format!("no record of attempt {key:?}")))
            }
            Attacker::Files(files) => {
                let mut of_task = files.iter().filter(|file| file.task == task.spec.id);
                let file = of_task.nth(attempt.saturating_sub(1) as usize);
                Ok(Generated {
                    candidate: file.map(|file| file.bytes.clone()),
                    name: file.map(|file| file.name.clone()),
                    search: None,
                })
            }
        }
    }
}

fn named_task(bytes: &[u8], known: &[&str]) -> Result<String, InputError> {
    let json = Json::parse(bytes)?;
    let named = json.get("task_id");
    match named.and_then(Json::as_str) {
        Some(task) if known.contains(&task) => Ok(task.to_owned()),
        _ => {
            let found = named.map_or_else(|| "nothing".to_owned(), Json::describe);
            Err(InputError::at("/task_id", found, format!("one of: {}", known.join(", "))))
        }
    }
}

fn by_search(task: &Task, target: Rule, options: &SearchOptions) -> Result<Generated, RunError> {
    let outcome = match search(task, target, options) {
        Ok(outcome) => outcome,
        Err(error @ SearchError::ModelMismatch(..)) => {
            let (task, target) = (task.spec.id.clone(), target.id().to_owned());
            return Err(RunError::Search { task, target, source: error });
        }
        Err(error) => {
            let search = SearchRecord { incomplete: Some(error.to_string()), ..empty_record("incomplete") };
            return Ok(Generated { candidate: None, name: None, search: Some(search) });
        }
    };
    let candidate = outcome.witness.as_ref().map(|steps| Candidate::new(&task.spec.id, steps.clone()).bytes());
    Ok(Generated { candidate, name: None, search: Some(record_of(&outcome)) })
}

fn empty_record(bound: &str) -> SearchRecord {
    SearchRecord {
        bound: bound.to_owned(),
        honest: None,
        best: None,
        witness_length: None,
        digest: None,
        states: 0,
        transitions: 0,
        depth: 0,
        incomplete: None,
    }
}

fn record_of(outcome: &SearchOutcome) -> SearchRecord {
    SearchRecord {
        honest: Some(outcome.honest.to_string()),
        best: outcome.best.map(|best| best.to_string()),
        witness_length: outcome.witness_length,
        digest: outcome.digest.map(|digest| digest.hex()),
        states: outcome.statistics.states,
        transitions: outcome.statistics.transitions,
        depth: outcome.statistics.depth,
        ..empty_record(outcome.bound.word())
    }
}
