//! `parthack task lint`: proofs about tasks, the public half here and the private half in the certifier process.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use parthack_attacker::lint::{Finding, Note, lint_public};
use parthack_certifier::client::Certifier;
use parthack_certifier::lint::{LintNote, Severity};
use parthack_env::task::Task;
use serde::Serialize;

use super::{Output, ReportFormat, SealedArgs, SuiteArgs, certifier, task_source};
use crate::failure::{Exit, Failure};
use crate::locate::Places;
use crate::run::suite::Suite;

/// Check tasks, with proofs by exhaustive search
///
/// The public half explores every reachable state; the private half runs in the certifier process. Exits with 1 if
/// anything failed. For a task FILE in DIR/tasks/, the package is looked for in DIR/sealed/.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack task lint --all")]
pub(super) struct Args {
    /// Task ids in the suite, or task files
    #[arg(value_name = "ID|FILE", required_unless_present = "all")]
    tasks: Vec<String>,
    /// Every task of the suite
    #[arg(long, conflicts_with = "tasks")]
    all: bool,
    /// Only the half that needs no private package
    #[arg(long)]
    public: bool,
    /// Threads; the report does not depend on it
    #[arg(long, default_value_t = super::available_threads(), value_name = "N")]
    threads: usize,
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    sealed: SealedArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// What was found of one task.
#[derive(Serialize)]
struct TaskNotes {
    task: String,
    failed: usize,
    notes: Vec<Line>,
}

/// One note of either half.
#[derive(Serialize)]
struct Line {
    /// `failed`, `warning` or `holds`.
    finding: &'static str,
    /// `public` or `private`.
    half: &'static str,
    code: String,
    message: String,
}

impl From<Note> for Line {
    fn from(note: Note) -> Line {
        let finding = if note.finding == Finding::Failed { "failed" } else { "holds" };
        Line { finding, half: "public", code: note.code.to_owned(), message: note.message }
    }
}

impl From<LintNote> for Line {
    fn from(note: LintNote) -> Line {
        let finding = match note.severity {
            Severity::Fault => "failed",
            Severity::Warning => "warning",
            Severity::Proof => "holds",
        };
        Line { finding, half: "private", code: note.code, message: note.message }
    }
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let places = args.suite.places_with(&args.sealed);
    let tasks = choose(args, &places)?;
    let mut reports = lint_all(&tasks, args.threads)?;
    if !args.public {
        for (folders, members) in by_folder(&places, &tasks)? {
            let key = certifier::fresh_key()?;
            let mut process = certifier::start(&folders, Some(&key))?;
            let session = process.open_evidence(&key)?;
            for index in members {
                let notes = private_notes(&mut process, session, &reports[index].task)?;
                reports[index].notes.extend(notes);
            }
        }
    }
    for report in &mut reports {
        report.failed = report.notes.iter().filter(|line| line.finding == "failed").count();
    }
    let failed: usize = reports.iter().map(|report| report.failed).sum();
    match args.format {
        ReportFormat::Json => {
            let warnings = reports.iter().flat_map(|r| &r.notes).filter(|line| line.finding == "warning").count();
            out.json(&serde_json::json!({ "failed": failed, "warnings": warnings, "tasks": reports }))?;
        }
        ReportFormat::Text => write_text(&reports, failed, out)?,
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// A task, and the file that it came from if it is of no suite.
struct Chosen {
    task: Task,
    file: Option<PathBuf>,
}

fn choose(args: &Args, places: &Places) -> Result<Vec<Chosen>, Failure> {
    if args.all {
        let suite = Suite::load(&places.suite()?)?;
        return Ok(suite.tasks.into_iter().map(|task| Chosen { task: task.task, file: None }).collect());
    }
    let load = |name: &String| {
        let file = task_source::is_path(name).then(|| PathBuf::from(name));
        Ok(Chosen { task: task_source::load(places, name)?, file })
    };
    args.tasks.iter().map(load).collect()
}

/// Lints the public halves on several threads; the reports come in the tasks' order.
fn lint_all(tasks: &[Chosen], threads: usize) -> Result<Vec<TaskNotes>, Failure> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(tasks.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, tasks.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(chosen) = tasks.get(index) else { break };
                    let notes = lint_public(&chosen.task);
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, notes));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    let report = |(index, notes): (usize, Result<Vec<Note>, _>)| {
        let notes: Vec<Note> = notes?;
        let notes = notes.into_iter().map(Line::from).collect();
        Ok(TaskNotes { task: tasks[index].task.spec.id.clone(), failed: 0, notes })
    };
    results.into_iter().map(report).collect()
}

/// Tasks by the folders of their public file and package: those of the suite, and those of each file's own folder.
fn by_folder(places: &Places, tasks: &[Chosen]) -> Result<Vec<(Places, Vec<usize>)>, Failure> {
    let mut groups: Vec<(Places, Vec<usize>)> = Vec::new();
    for (index, chosen) in tasks.iter().enumerate() {
        let folders = match &chosen.file {
            None => places.clone(),
            Some(file) => beside(places, file)?,
        };
        match groups.iter_mut().find(|(known, _)| *known == folders) {
            Some((_, members)) => members.push(index),
            None => groups.push((folders, vec![index])),
        }
    }
    Ok(groups)
}

/// A file's own folder in place of the suite, and the package folder beside it.
fn beside(places: &Places, file: &Path) -> Result<Places, Failure> {
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let sealed = places.sealed.clone().or_else(|| {
        let real = std::fs::canonicalize(&folder).ok()?;
        let (above, name) = (real.parent()?, real.file_name()?);
        let candidates = [above.parent().map(|root| root.join("sealed").join(name)), Some(above.join("sealed"))];
        candidates.into_iter().flatten().find(|candidate| candidate.is_dir())
    });
    let Some(sealed) = sealed else {
        let message = format!("no folder of private packages for {}", file.display());
        return Err(Failure::absent(message, "name it by --sealed DIR, or check the public half alone with --public"));
    };
    Ok(Places { suite: Some(folder), sealed: Some(sealed), certifier: places.certifier.clone() })
}

fn private_notes(certifier: &mut Certifier, session: u64, task: &str) -> Result<Vec<Line>, Failure> {
    if !certifier.tasks().iter().any(|known| known == task) {
        let message = "there is no private package for this task".to_owned();
        let code = "package".to_owned();
        return Ok(vec![Line { finding: "failed", half: "private", code, message }]);
    }
    Ok(certifier.lint(session, task)?.into_iter().map(Line::from).collect())
}

fn write_text(reports: &[TaskNotes], failed: usize, out: &mut Output) -> Result<(), Failure> {
    let mut notes = 0;
    for report in reports {
        out.title(&report.task)?;
        notes += report.notes.len();
        for line in &report.notes {
            writeln!(out, "  {:<7} {:<24} {}", line.finding, line.code, line.message)?;
        }
    }
    let tasks = if reports.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", reports.len()) };
    writeln!(out, "{tasks}, {notes} notes, {failed} failed")?;
    Ok(())
}
