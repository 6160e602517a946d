//! Verification of a finished run (SPEC §8): the chain, every object's hash, then everything worked out again from the
//! stored candidates (replayed, re-certified, re-scored) and compared record by record.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, PoisonError};

use parthack_attacker::search::SearchOptions;
use parthack_env::canonical::Hash;

use crate::ledger::{ChecklistRecord, JudgementRecord, Ledger, Record, RecordedScore, ScoreRecord, is_lost_on_the_way};
use crate::run::attackers::{Attacker, FeedbackKind, Generated, ModelAttacker};
use crate::run::certifying::Certify;
use crate::run::error::RunError;
use crate::run::evaluators::{EvaluatorCommand, EvaluatorProcess};
use crate::run::execute::execute;
use crate::run::files::read_regular;
use crate::run::folder::{ObjectKind, RunFolder};
use crate::run::journal::Finished;
use crate::run::judge_processes::JudgeProcesses;
use crate::run::judging::Judging;
use crate::run::manifest::{FrozenAttacker, Manifest};
use crate::run::merge::{Merged, merge};
use crate::run::models::{Asking, archive_of};
use crate::run::plugins::PluginScores;
use crate::run::suite::Suite;
use crate::run::units::{checklist_phase, first_phase, plugin_phase, second_phase, select};
use crate::run::work::{Shared, exchanges_of};
use crate::run::writer::Done;
use crate::run::{canaries, read_ledger, read_manifest, served_evaluators};
use crate::tables;

/// What verification needs.
pub struct VerifyJob {
    /// The run folder.
    pub folder: PathBuf,
    /// The suite that the run was over.
    pub suite: Suite,
    /// The certifier.
    pub certifier: Box<dyn Certify>,
    /// This binary, which serves the built-in evaluators.
    pub evaluator_program: PathBuf,
    /// Worker threads, at least 1.
    pub threads: usize,
}

/// What was verified, and what is at fault first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// Checks that passed, in order: what, and how many.
    pub passed: Vec<(&'static str, usize)>,
    /// The first thing at fault; none if the run stands.
    pub fault: Option<VerifyFault>,
}

/// A fault of a run folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyFault {
    /// The file or record at fault.
    pub what: String,
    /// What was found and expected.
    pub detail: String,
}

fn fault(what: impl Into<String>, detail: impl Into<String>) -> VerifyFault {
    VerifyFault { what: what.into(), detail: detail.into() }
}

/// Verifies a finished run.
///
/// # Errors
/// [`RunError`] if verification itself can't be done; what is wrong with the run is in the [`Verification`].
pub fn verify_run(job: VerifyJob) -> Result<Verification, RunError> {
    let folder = RunFolder::at(&job.folder);
    let manifest = read_manifest(&folder)?;
    if manifest.suite.hash != job.suite.hash.hex() {
        let (found, expected) = (job.suite.hash, &manifest.suite.hash);
        let message = format!("the run is of another suite: found suite hash {found}, expected {expected}");
        return Err(RunError::usage(message, "name the suite that the run was over with --suite"));
    }
    let mut passed = vec![("manifest", 1)];
    let fault = match checks(job, &folder, &manifest, &mut passed) {
        Ok(()) => None,
        Err(Stop::Fault(fault)) => Some(fault),
        Err(Stop::Error(error)) => return Err(error),
    };
    Ok(Verification { passed, fault })
}

enum Stop {
    Fault(VerifyFault),
    Error(RunError),
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Stop {
        match error {
            RunError::Ledger { path, source } => Stop::Fault(fault(path.display().to_string(), source.to_string())),
            RunError::Certification { task, fault: why } => Stop::Fault(fault(format!("certification of {task}"), why)),
            error => Stop::Error(error),
        }
    }
}

impl From<VerifyFault> for Stop {
    fn from(fault: VerifyFault) -> Stop {
        Stop::Fault(fault)
    }
}

fn checks(
    job: VerifyJob,
    folder: &RunFolder,
    manifest: &Manifest,
    passed: &mut Vec<(&'static str, usize)>,
) -> Result<(), Stop> {
    let ledger = read_ledger(folder, manifest)?;
    passed.push(("ledger records chained", ledger.lines.len()));
    let certifications = read(folder, "private/certifications.jsonl")?;
    if Hash::of("private", &certifications) != ledger.private {
        let detail = format!("its hash is not {}, which the ledger names", ledger.private);
        return Err(fault("private/certifications.jsonl", detail).into());
    }
    passed.push(("private ledger", 1));
    passed.push(("objects", check_objects(folder, &ledger)?));
    let again = work_again(job, folder, manifest, &ledger)?;
    compare(&ledger, &again.ledger)?;
    let of_plugins = plugin_scores(manifest, &ledger);
    passed.push(("records worked out again", ledger.lines.len() - of_plugins));
    if of_plugins > 0 {
        passed.push(("scores of plugins, taken as recorded", of_plugins));
    }
    if again.certifications != certifications {
        return Err(fault("private/certifications.jsonl", "certification gives other vectors or codes").into());
    }
    passed.push(("private records worked out again", certifications.iter().filter(|byte| **byte == b'\n').count() - 1));
    let files = tables::files(&tables::build_tables(manifest, &ledger)?);
    for (name, expected) in &files {
        let name = format!("tables/{name}");
        if read(folder, &name)? != *expected {
            return Err(fault(name, "it is not what the ledger gives").into());
        }
    }
    passed.push(("table files", files.len()));
    check_complete(folder, &ledger, &files)?;
    passed.push(("complete.json", 1));
    Ok(())
}

/// Scores that only evaluators of users' own can give: they are not asked again.
fn plugin_scores(manifest: &Manifest, ledger: &Ledger) -> usize {
    let is_plugin = |id: &str| manifest.evaluator(id).is_some_and(|evaluator| evaluator.plugin.is_some());
    let of_plugin = |record: &&Record| match record {
        Record::Score(score) => is_plugin(&score.evaluator),
        Record::Judgement(judgement) => is_plugin(&judgement.evaluator),
        _ => false,
    };
    ledger.records().filter(of_plugin).count()
}

fn read(folder: &RunFolder, name: &str) -> Result<Vec<u8>, Stop> {
    read_regular(folder.path(name)).map_err(|error| fault(name, error.to_string()).into())
}

fn check_objects(folder: &RunFolder, ledger: &Ledger) -> Result<usize, VerifyFault> {
    let (mut seen, mut exchanges) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    let archive = archive_of(folder);
    for (number, line) in (2..).zip(&ledger.lines) {
        for key in exchanges_of(&line.record) {
            match archive.get(key) {
                Ok(Some(_)) => exchanges.insert(key),
                Ok(None) => {
                    let detail = format!("line {number} needs the exchange {key}, which is missing");
                    return Err(fault(line.record.name().to_string(), detail));
                }
                Err(error) => return Err(fault(line.record.name().to_string(), error.to_string())),
            };
        }
        for (kind, hash) in objects_of(&line.record) {
            if seen.insert((kind, hash.to_owned())) && folder.read_object(kind, hash).is_none() {
                let path = folder.object(kind, hash);
                let detail = format!("line {number} needs {}, which is missing or not of its hash", path.display());
                return Err(fault(line.record.name().to_string(), detail));
            }
        }
    }
    Ok(seen.len() + exchanges.len())
}

fn objects_of(record: &Record) -> Vec<(ObjectKind, &str)> {
    let trajectory = |hash| (ObjectKind::Trajectory, hash);
    let payload = |hash| (ObjectKind::Payload, hash);
    match record {
        Record::Honest(r) => vec![trajectory(r.trajectory.as_str()), payload(r.payload.as_str())],
        Record::Rollback(r) => vec![trajectory(&r.trajectory), payload(&r.payload)],
        Record::Attempt(r) => {
            let candidate = r.candidate.iter().map(|hash| trajectory(hash));
            candidate.chain(r.payload.iter().map(|hash| payload(hash))).collect()
        }
        Record::Selection(r) => {
            let candidate = r.candidate.iter().map(|hash| trajectory(hash));
            candidate.chain(r.payload.iter().map(|hash| payload(hash))).collect()
        }
        Record::Score(r) => vec![payload(&r.payload)],
        Record::Control(_) | Record::Audit(_) | Record::Checklist(_) | Record::Judgement(_) => Vec::new(),
    }
}

/// A model's attempts come out of the archive again; all others are taken as the run stored them.
fn attacker_again(folder: &RunFolder, manifest: &Manifest, ledger: &Ledger) -> Attacker {
    match &manifest.attacker {
        FrozenAttacker::Llm { role, budget, feedback, .. } => {
            let feedback = FeedbackKind::from_word(feedback).unwrap_or_default();
            Attacker::Llm(Box::new(ModelAttacker { role: role.clone(), budget: *budget, feedback }))
        }
        _ => recorded(folder, ledger),
    }
}

/// Every attempt's candidate as the run stored it.
fn recorded(folder: &RunFolder, ledger: &Ledger) -> Attacker {
    let mut attempts = BTreeMap::new();
    for record in ledger.records() {
        let Record::Attempt(attempt) = record else { continue };
        let candidate = attempt.candidate.as_ref();
        let candidate = candidate.and_then(|hash| folder.read_object(ObjectKind::Trajectory, hash));
        let key = (attempt.task.clone(), attempt.target.clone(), attempt.attempt);
        let (name, search) = (attempt.name.clone(), attempt.search.clone());
        let (exchanges, no_answer) = (attempt.exchanges.clone(), attempt.no_answer.clone());
        attempts.insert(key, Generated { candidate, name, search, exchanges, no_answer });
    }
    Attacker::Recorded(Arc::new(attempts))
}

/// Everything of a run worked out again: models are asked out of the run's own archive, candidates are taken as stored.
///
/// # Errors
/// As [`verify_run`].
pub(crate) fn work_again(
    job: VerifyJob,
    folder: &RunFolder,
    manifest: &Manifest,
    ledger: &Ledger,
) -> Result<Merged, RunError> {
    let builtins = served_evaluators(manifest);
    let judges = Arc::new(JudgeProcesses::new(&job.evaluator_program));
    let command = EvaluatorCommand { program: job.evaluator_program, evaluators: builtins.clone() };
    let mut processes: Vec<_> = (0..job.threads.max(1)).map(|_| EvaluatorProcess::new(command.clone())).collect();
    let certifier = Mutex::new(job.certifier);
    // Models are asked again, out of the run's own archive: each request is reconstructed, or it would not be found.
    let asking = Asking::again(folder)?;
    let judging = Judging::new(manifest, Some(&asking), &judges)?;
    let attacker = attacker_again(folder, manifest, ledger);
    let shared = Shared {
        manifest,
        judging: &judging,
        suite: &job.suite,
        folder,
        attacker: &attacker,
        search: SearchOptions::default(),
        certifier: &certifier,
        builtins: &builtins,
        earlier: Mutex::default(),
        scored: Mutex::new(BTreeMap::new()),
    };
    let go_on = AtomicBool::new(false);
    let mut finished = Finished::new();
    let take = |done: Receiver<Done>| Ok(done.iter().map(|done| (done.output.0, done.output.1)).collect::<Finished>());
    let mut phase = |units, finished: &mut Finished| -> Result<(), RunError> {
        finished.extend(execute(&shared, units, &mut processes, &go_on, take)?.finished);
        Ok(())
    };
    phase(checklist_phase(manifest), &mut finished)?;
    phase(first_phase(manifest), &mut finished)?;
    let second = second_phase(manifest, &finished, &select(manifest, &finished));
    phase(second.clone(), &mut finished)?;
    let evaluators = manifest.plugins().map(|(id, _)| id).collect();
    let last = plugin_phase(manifest, &second);
    let as_recorded =
        PluginScores::of_ledger(ledger, &evaluators).work(folder, &last, &Finished::new(), &go_on, take)?;
    finished.extend(as_recorded.finished);
    let canaries = certifier.lock().unwrap_or_else(PoisonError::into_inner).canaries()?;
    Ok(merge(manifest, &finished, canaries::audit(folder, &finished, &canaries)))
}

/// The first record that differs, in the ledger's order.
fn compare(found: &Ledger, expected: &Ledger) -> Result<(), VerifyFault> {
    let again: BTreeMap<_, _> = expected.lines.iter().map(|line| (line.cell, &line.record)).collect();
    for (number, line) in (2..).zip(&found.lines) {
        let name = line.record.name().to_string();
        match again.get(&line.cell) {
            None => return Err(fault(name, format!("line {number}: the run's plan has no such cell"))),
            Some(record) if !same(&line.record, record) => {
                let text = |record: &Record| String::from_utf8_lossy(&crate::ledger::canonical_of(record)).into_owned();
                let detail = format!("line {number}: found {}, expected {}", text(&line.record), text(record));
                return Err(fault(name, detail));
            }
            Some(_) => {}
        }
    }
    let there: std::collections::BTreeSet<_> = found.lines.iter().map(|line| line.cell).collect();
    match expected.lines.iter().find(|line| !there.contains(&line.cell)) {
        None => Ok(()),
        Some(line) => Err(fault(line.record.name().to_string(), "the ledger has no record of this cell")),
    }
}

/// Whether a record is what was worked out again; where an answer was lost on the way, whether all else is.
pub(crate) fn same(found: &Record, again: &Record) -> bool {
    let lost = is_lost_on_the_way;
    let lost_score = |score: &RecordedScore| score.why_not().is_some_and(lost);
    if found == again {
        return true;
    }
    match (found, again) {
        (Record::Score(found), Record::Score(again)) => {
            lost_score(&found.score)
                && again.score.is_unrecorded()
                && *found == ScoreRecord { score: found.score.clone(), ..again.clone() }
        }
        (Record::Judgement(found), Record::Judgement(again)) => {
            lost_score(&found.score)
                && again.score.is_unrecorded()
                && **found == JudgementRecord { score: found.score.clone(), ..(**again).clone() }
        }
        (Record::Checklist(found), Record::Checklist(again)) => {
            found.no_answer.as_deref().is_some_and(lost)
                && *found == ChecklistRecord { no_answer: found.no_answer.clone(), ..again.clone() }
        }
        (Record::Attempt(found), Record::Attempt(again)) => {
            let (lost_answer, lost_score) =
                (found.no_answer.as_deref().is_some_and(lost), found.score.as_ref().is_some_and(lost_score));
            let mut expected = again.clone();
            if lost_answer {
                expected.no_answer.clone_from(&found.no_answer);
            }
            if lost_score {
                expected.score.clone_from(&found.score);
            }
            *found == expected
        }
        _ => false,
    }
}

fn check_complete(folder: &RunFolder, ledger: &Ledger, tables: &BTreeMap<String, Vec<u8>>) -> Result<(), VerifyFault> {
    let Some(complete) = folder.complete() else {
        return Err(fault("complete.json", "missing or unreadable; `parthack run --resume` writes it"));
    };
    let hash = |bytes: &[u8]| Hash::of("file", bytes).hex();
    let expected: BTreeMap<String, String> = tables.iter().map(|(name, bytes)| (name.clone(), hash(bytes))).collect();
    if complete.ledger != hash(&ledger.bytes()) || complete.tables != expected {
        return Err(fault("complete.json", "its hashes are not those of the ledger and the tables"));
    }
    Ok(())
}
