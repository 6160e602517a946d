//! Who makes candidates: exact search, the catalogue of patterns, a model, or a folder of other people's files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use parthack_attacker::llm::{self, Earlier, Feedback, target_description};
use parthack_attacker::patterns::{self, Strategy};
use parthack_attacker::search::{SearchError, SearchOptions, SearchOutcome, search};
use parthack_env::candidate::Candidate;
use parthack_env::canonical::Hash;
use parthack_env::input::InputError;
use parthack_env::json::Json;
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;
use parthack_model::prompt::Prompt;
use parthack_model::role::RoleConfig;

use crate::ledger::SearchRecord;
use crate::locate::read_input;
use crate::run::error::RunError;
use crate::run::manifest::{FrozenAttacker, FrozenCandidate, REFERENCE_TARGET};

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
    /// The catalogue of patterns (SPEC §7).
    Patterns,
    /// A model.
    Llm(Box<ModelAttacker>),
    /// Files, in the order of their names.
    Files(Arc<Vec<CandidateFile>>),
    /// What attempts of a finished run produced, by task, target and number; for verification.
    Recorded(Arc<BTreeMap<(String, String, u32), Generated>>),
}

/// A model as the attacker (P §3.5, Table A.4).
#[derive(Debug, Clone)]
pub struct ModelAttacker {
    /// The model.
    pub role: RoleConfig,
    /// Attempts a task and target: K.
    pub budget: u32,
    /// What an attempt hears of those before it.
    pub feedback: FeedbackKind,
}

/// What an attempt hears of those before it (SPEC §14.5): never a verdict of the certifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeedbackKind {
    /// Nothing.
    #[default]
    None,
    /// The faults of their own schema and replay.
    Protocol,
    /// Those, and the target's public score of each that replays, eligible or not.
    PublicScore,
}

impl FeedbackKind {
    /// All kinds.
    pub const ALL: [FeedbackKind; 3] = [FeedbackKind::None, FeedbackKind::Protocol, FeedbackKind::PublicScore];

    /// The word of manifests and of the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.with(Vec::new()).word()
    }

    /// The kind of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<FeedbackKind> {
        FeedbackKind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    fn with(self, earlier: Vec<Earlier>) -> Feedback {
        match self {
            FeedbackKind::None => Feedback::None,
            FeedbackKind::Protocol => Feedback::Protocol(earlier),
            FeedbackKind::PublicScore => Feedback::PublicScore(earlier),
        }
    }
}

impl ModelAttacker {
    /// What the n-th attempt asks.
    ///
    /// # Errors
    /// [`RunError::Incomplete`] for a target without a public description.
    pub fn prompt(&self, task: &Task, target: &str, attempt: u32, earlier: Vec<Earlier>) -> Result<Prompt, RunError> {
        let Some(description) = target_description(target) else {
            return Err(RunError::Incomplete(format!("no public description of {target}")));
        };
        Ok(llm::prompt(task, &description, attempt, self.budget, &self.feedback.with(earlier)))
    }
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
    /// Keys of the exchanges with a model, in order.
    pub exchanges: Vec<String>,
    /// Why a model gave no candidate.
    pub no_answer: Option<String>,
}

impl Generated {
    fn named(candidate: Option<Vec<u8>>, name: Option<String>) -> Generated {
        Generated { candidate, name, search: None, exchanges: Vec::new(), no_answer: None }
    }
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
    pub fn freeze(&self, search: &SearchOptions, tasks: &[&str], targets: &[&str]) -> FrozenAttacker {
        let strategies = || Strategy::ALL.iter().map(|strategy| strategy.id().to_owned()).collect();
        match self {
            Attacker::Search => {
                let SearchOptions { max_steps, max_states, prove, .. } = *search;
                let all_rules = targets.iter().all(|target| Rule::from_id(target).is_some());
                let fallback = if all_rules { Vec::new() } else { strategies() };
                FrozenAttacker::Search { max_steps, max_states, prove, fallback }
            }
            Attacker::Patterns => FrozenAttacker::Patterns { strategies: strategies() },
            Attacker::Llm(llm) => FrozenAttacker::Llm {
                budget: llm.budget,
                feedback: llm.feedback.word().to_owned(),
                prompts: llm::prompt_hash(),
                role: llm.role.clone(),
            },
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

    /// Whether an attempt needs what became of those before it, so that they are made in order.
    #[must_use]
    pub fn is_sequential(&self) -> bool {
        matches!(self, Attacker::Llm(llm) if llm.feedback != FeedbackKind::None)
    }

    /// Targets unless others are named, among the evaluators of a run: every rule; for a model or patterns, which try a
    /// target a number of times, those that the paper attacks. A run of judges alone has the target of A_ref.
    #[must_use]
    pub fn default_targets<'e>(&self, evaluators: &[&'e str]) -> Vec<&'e str> {
        let attacked = |id: &&&str| match self {
            Attacker::Patterns | Attacker::Llm(_) => {
                matches!(**id, "historical-milestone" | "cape-max") || Rule::from_id(id).is_none()
            }
            _ => Rule::from_id(id).is_some(),
        };
        let targets: Vec<&str> = evaluators.iter().filter(attacked).copied().collect();
        if targets.is_empty() { vec![REFERENCE_TARGET.id()] } else { targets }
    }

    /// The n-th attempt, from 1, on a task against a target. A model's attempts are made where its client is.
    ///
    /// # Errors
    /// [`RunError::Search`] if the packed model and the engine differ: a bug.
    pub fn generate(
        &self,
        task: &Task,
        target: &str,
        attempt: u32,
        options: &SearchOptions,
    ) -> Result<Generated, RunError> {
        match self {
            Attacker::Search => match Rule::from_id(target) {
                Some(rule) => by_search(task, rule, options),
                // What is no fold can't be searched exactly: the manifest says so, as its fallback.
                None => Ok(by_pattern(task, attempt)),
            },
            Attacker::Patterns => Ok(by_pattern(task, attempt)),
            Attacker::Llm(_) => Err(RunError::Incomplete(format!("attempt {attempt}: a model without its client"))),
            Attacker::Recorded(recorded) => {
                let key = (task.spec.id.clone(), target.to_owned(), attempt);
                let found = recorded.get(&key).cloned();
                found.ok_or_else(|| RunError::Incomplete(format!("no record of attempt {key:?}")))
            }
            Attacker::Files(files) => {
                let mut of_task = files.iter().filter(|file| file.task == task.spec.id);
                let file = of_task.nth(attempt.saturating_sub(1) as usize);
                let candidate = file.map(|file| file.bytes.clone());
                Ok(Generated::named(candidate, file.map(|file| file.name.clone())))
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

/// The attempt of the n-th strategy; without a candidate where the strategy does not apply to the task.
fn by_pattern(task: &Task, attempt: u32) -> Generated {
    let strategy = Strategy::ALL.get(attempt.saturating_sub(1) as usize);
    let steps = strategy.and_then(|strategy| patterns::generate(task, *strategy));
    let candidate = steps.map(|steps| Candidate::new(&task.spec.id, steps).bytes());
    Generated::named(candidate, strategy.map(|strategy| strategy.id().to_owned()))
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
            return Ok(Generated { search: Some(search), ..Generated::named(None, None) });
        }
    };
    let candidate = outcome.witness.as_ref().map(|steps| Candidate::new(&task.spec.id, steps.clone()).bytes());
    Ok(Generated { search: Some(record_of(&outcome)), ..Generated::named(candidate, None) })
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
