//! A run (SPEC §8): plan → work → merge, in one process.
//!
//! The plan is the manifest: it lists units of work that depend on nothing else. Work goes through a journal, in
//! whatever order threads finish it; the merge sorts the records into the ledger, so that neither threads, nor time, nor
//! a kill in between leave a trace in it. Built-in evaluators and the certifier are processes of their own.

pub mod attackers;
pub mod canaries;
pub mod certifier_process;
pub mod certifying;
pub mod error;
pub mod estimate;
pub mod evaluators;
pub mod execute;
pub(crate) mod files;
pub mod folder;
pub mod interrupt;
pub mod journal;
pub mod judge_processes;
pub mod judging;
pub mod manifest;
pub mod merge;
pub mod models;
pub mod plugins;
pub mod public_process;
pub mod recorded;
pub(crate) mod spending;
pub mod suite;
pub mod units;
pub mod verify;
pub mod work;
pub mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use parthack_env::input::{InputError, Place};
use parthack_evaluators::registry::Builtin;
use parthack_model::accounting::Accounting;
use parthack_model::price::Cost;

use crate::ledger::{AuditRecord, Ledger, Record};
use crate::table::Table;
use crate::tables;

use certifying::Certify;
use error::RunError;
use evaluators::{EvaluatorCommand, EvaluatorProcess};
use execute::{Phase, execute};
use files::read_regular;
use folder::{Found, RunFolder};
use journal::{Finished, Journal, UnitResult};
use judge_processes::JudgeProcesses;
use judging::Judging;
use manifest::{Choices, Manifest};
use models::Models;
use plugins::PluginScores;
use suite::Suite;
use units::{Unit, checklist_phase, first_phase, plugin_phase, second_phase, select};
use work::{Shared, earlier_attempts};
use writer::{Done, has_objects, write_all};

/// What a run is made of.
pub struct Job<'j> {
    /// The suite.
    pub suite: Suite,
    /// What the user chose; goes into the manifest.
    pub choices: Choices,
    /// The certifier.
    pub certifier: Box<dyn Certify>,
    /// This binary, which serves the built-in evaluators.
    pub evaluator_program: PathBuf,
    /// The run folder; none: `runs/<suite>-<hash>` below `runs_root`.
    pub out: Option<PathBuf>,
    /// Where run folders go by default.
    pub runs_root: PathBuf,
    /// Whether an unfinished run in the folder goes on.
    pub resume: bool,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// How answers of models are come by.
    pub models: Models,
    /// How scores of users' own evaluators are come by.
    pub plugins: PluginScores,
    /// Set to stop after the units under way.
    pub stop: &'j AtomicBool,
    /// Hears how far the run is.
    pub progress: Box<dyn FnMut(Progress) + Send + 'j>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// `checklists`, `attempts and certification`, `scores`, or `scores of plugins`.
    pub phase: &'static str,
    /// Units on disk.
    pub done: usize,
    /// Units of the phase.
    pub total: usize,
    /// Questions to models that ended so far; none where no model is asked.
    pub calls: Option<u64>,
    /// What they cost so far, earlier starts of the run included.
    pub cost: Cost,
}

/// A finished run.
#[derive(Debug)]
pub struct RunReport {
    /// The run folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its ledger.
    pub ledger: Ledger,
    /// Its tables.
    pub tables: Vec<Table>,
    /// Whether it was finished before.
    pub was_finished: bool,
    /// What models were asked, and what it cost; none where no model takes part.
    pub accounting: Option<Accounting>,
    /// What earlier starts of the run paid.
    pub spent_before: Cost,
}

impl RunReport {
    /// 0; 1 if a mutation control was not rejected as it must be, or a canary stands in a payload; 5 if a cell has no
    /// verdict. A replay's cells without a recording are no failure: their rows say "not recorded".
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let own = |id: &str| self.manifest.evaluator(id).is_some_and(|evaluator| evaluator.plugin.is_some());
        let mut code = 0;
        for record in self.ledger.records() {
            match record {
                Record::Control(control) if !control.as_expected => return 1,
                Record::Audit(audit) if audit.name == canaries::AUDIT && audit.faults > 0 => return 1,
                // An evaluator of a user's own may well have no verdict; only its faults leave a run incomplete.
                Record::Score(score) if own(&score.evaluator) && score.fault.is_none() => {}
                Record::Score(score) if score.score.why_not().is_some() && !score.score.is_unrecorded() => code = 5,
                _ => {}
            }
        }
        code
    }

    /// Scores and attempts whose answer was lost on the way: `--resume` asks again.
    #[must_use]
    pub fn lost(&self) -> usize {
        let counted = |record: &&Record| matches!(record, Record::Score(_) | Record::Attempt(_)) && record.is_lost();
        self.ledger.records().filter(counted).count()
    }

    /// Scores and attempts that a replay has no recording of.
    #[must_use]
    pub fn unrecorded(&self) -> usize {
        let unrecorded = |record: &&Record| match record {
            Record::Score(score) => score.score.is_unrecorded(),
            Record::Attempt(attempt) => attempt.is_unrecorded(),
            _ => false,
        };
        self.ledger.records().filter(unrecorded).count()
    }
}

/// The default folder of a run: suite and the first twelve digits of the manifest's hash.
#[must_use]
pub fn default_folder(runs_root: &Path, manifest: &Manifest) -> PathBuf {
    runs_root.join(format!("{}-{}", manifest.suite.id, &manifest.hash().hex()[..12]))
}

/// Runs a job to its end, or reports the finished run that is there already; with `resume`, what of it was lost on the way to a
/// model that can be asked is asked again.
///
/// # Errors
/// [`RunError`]; whatever was finished is in the journal, and the same job with `resume` goes on.
pub fn run(mut job: Job<'_>) -> Result<RunReport, RunError> {
    let mut manifest = Manifest::freeze(&job.suite, &job.choices, &job.certifier.protocol())?;
    for task in &manifest.tasks {
        let entry = job.suite.task(&task.id);
        entry.map_or(Ok(()), |entry| job.certifier.check(&entry.task))?;
    }
    let root = job.out.clone().unwrap_or_else(|| default_folder(&job.runs_root, &manifest));
    let folder = RunFolder::at(&root);
    let (_lock, found) = folder.open(&manifest)?;
    match found {
        Found::Finished => {
            let report = report_finished(&folder, manifest)?;
            if !(job.resume && job.models.asks() && report.lost() > 0) {
                return Ok(report);
            }
            manifest = report.manifest;
            folder.reopen()?;
        }
        Found::Begun if !job.resume => return Err(RunError::Unfinished { folder: root }),
        Found::Begun | Found::Nothing => folder.prepare(&manifest, found)?,
    }
    let WorkedOut { finished, canaries, accounting, spent_before } = work_out(job, &manifest, &folder)?;
    let merged = merge::merge(&manifest, &finished, canaries);
    let tables = tables::build_tables(&manifest, &merged.ledger)?;
    let files = tables::files(&tables);
    folder.finish(&merged.certifications, &merged.ledger.bytes(), &files)?;
    let ledger = merged.ledger;
    Ok(RunReport { folder: root, manifest, ledger, tables, was_finished: false, accounting, spent_before })
}

fn report_finished(folder: &RunFolder, manifest: Manifest) -> Result<RunReport, RunError> {
    let ledger = read_ledger(folder, &manifest)?;
    let tables = tables::build_tables(&manifest, &ledger)?;
    let (root, spent_before) = (folder.root.clone(), spending::spent(folder));
    Ok(RunReport { folder: root, manifest, ledger, tables, was_finished: true, accounting: None, spent_before })
}

/// Reads the manifest of a run folder.
///
/// # Errors
/// [`RunError::Input`] for a folder that holds no run.
pub fn read_manifest(folder: &RunFolder) -> Result<Manifest, RunError> {
    let path = folder.path("manifest.json");
    let bytes = read_regular(&path).map_err(|error| {
        InputError::new(Place::File, error.to_string(), "the manifest of a run folder").in_file(&path)
    })?;
    Ok(Manifest::read(&bytes).map_err(|error| error.in_file(&path))?)
}

/// Reads and checks the ledger of a finished run.
///
/// # Errors
/// [`RunError::Input`] if there is none, [`RunError::Ledger`] with the first line at fault.
pub fn read_ledger(folder: &RunFolder, manifest: &Manifest) -> Result<Ledger, RunError> {
    let path = folder.ledger();
    let bytes = read_regular(&path).map_err(|error| {
        let fault = InputError::new(Place::File, error.to_string(), "the ledger of a finished run").in_file(&path);
        match error.kind() {
            std::io::ErrorKind::NotFound => fault.hint("the run is not finished; go on with `parthack run --resume`"),
            _ => fault.hint("the run is damaged; take it from a sound copy, or do it again in another folder"),
        }
    })?;
    Ledger::read(&bytes, &manifest.hash()).map_err(|source| RunError::Ledger { path, source })
}

/// Evaluators that the processes serve: targets and evaluators that need no model, in the order of the tables.
fn served_evaluators(manifest: &Manifest) -> Vec<Builtin> {
    let served = |builtin: &Builtin| {
        let id = builtin.id();
        manifest.targets.iter().any(|target| target == id) || manifest.evaluator(id).is_some()
    };
    Builtin::all().into_iter().filter(served).collect()
}

/// Every unit of a run, the audit of its payloads, and what models cost.
struct WorkedOut {
    finished: Finished,
    canaries: AuditRecord,
    accounting: Option<Accounting>,
    spent_before: Cost,
}

/// Works out what the journal lacks.
fn work_out(job: Job<'_>, manifest: &Manifest, folder: &RunFolder) -> Result<WorkedOut, RunError> {
    let Job { suite, choices, certifier, evaluator_program, threads, stop, mut progress, models, mut plugins, .. } =
        job;
    let (mut journal, mut finished) = Journal::open(&folder.path("journal"), &folder.path("private/journal"))?;
    let asks = models.asks();
    let stands = |result: &UnitResult| !(asks && result.records.iter().any(Record::is_lost));
    finished.retain(|_, result| has_objects(folder, result) && stands(result));
    let builtins = served_evaluators(manifest);
    let judges = Arc::new(JudgeProcesses::new(&evaluator_program));
    let command = EvaluatorCommand { program: evaluator_program, evaluators: builtins.clone() };
    let mut processes: Vec<_> = (0..threads.max(1)).map(|_| EvaluatorProcess::new(command.clone())).collect();
    let spent_before = spending::spent(folder);
    let asking = models.asking(folder, spent_before)?;
    let judging = Judging::new(manifest, asking.as_ref(), &judges)?;
    judging.resume(&finished);
    let shared = Shared {
        manifest,
        judging: &judging,
        suite: &suite,
        folder,
        attacker: &choices.attacker,
        search: parthack_attacker::search::SearchOptions { threads: 1, ..choices.search },
        certifier: &Mutex::new(certifier),
        builtins: &builtins,
        earlier: Mutex::new(earlier_attempts(folder, &finished)),
        scored: Mutex::new(BTreeMap::new()),
    };
    type Sink<'s> = Box<dyn FnOnce(Receiver<Done>) -> Result<Finished, RunError> + Send + 's>;
    type Work<'w> = &'w mut dyn FnMut(Vec<Unit>, &Finished, Sink<'_>) -> Result<Phase, RunError>;
    let mut phase = |name: &'static str, planned: Vec<Unit>, finished: &mut Finished, work: Work<'_>| {
        let total = planned.len();
        let missing: Vec<Unit> = planned.into_iter().filter(|unit| !finished.contains_key(&unit.to_string())).collect();
        let mut done = total - missing.len();
        let mut report = |batch: usize| {
            done += batch;
            let accounting = asking.as_ref().map(|asking| asking.client.spent());
            let calls = accounting.as_ref().map(Accounting::calls);
            let cost = accounting.map_or(Cost::ZERO, |accounting| accounting.cost()).plus(spent_before);
            progress(Progress { phase: name, done, total, calls, cost });
        };
        if total > 0 {
            report(0);
        }
        let sink = Box::new(|done| write_all(folder, &mut journal, done, &mut report));
        let phase = work(missing, finished, sink)?;
        finished.extend(phase.finished);
        if phase.stopped { Err(RunError::Interrupted { folder: folder.root.clone() }) } else { Ok(()) }
    };
    let mut on_threads =
        |units: Vec<Unit>, _: &Finished, sink: Sink<'_>| execute(&shared, units, &mut processes, stop, sink);
    let checklists = checklist_phase(manifest);
    phase("checklists", checklists.clone(), &mut finished, &mut on_threads)?;
    let first = first_phase(manifest);
    phase("attempts and certification", first.clone(), &mut finished, &mut on_threads)?;
    let second = second_phase(manifest, &finished, &select(manifest, &finished));
    phase("scores", second.clone(), &mut finished, &mut on_threads)?;
    let last = plugin_phase(manifest, &second);
    let mut in_turn =
        |units: Vec<Unit>, before: &Finished, sink: Sink<'_>| plugins.work(folder, &units, before, stop, sink);
    phase("scores of plugins", last.clone(), &mut finished, &mut in_turn)?;
    // A journal may hold units of an earlier state of the same run, never others; the plan decides.
    let planned: std::collections::BTreeSet<String> =
        checklists.iter().chain(&first).chain(&second).chain(&last).map(ToString::to_string).collect();
    finished.retain(|unit, _| planned.contains(unit));
    drop(processes);
    let canaries = shared.certify(|certifier| certifier.canaries())?;
    let audit = canaries::audit(folder, &finished, &canaries);
    let accounting = asking.map(|asking| asking.client.spent());
    Ok(WorkedOut { finished, canaries: audit, accounting, spent_before })
}
