//! `parthack run`: the whole job, from candidates to tables.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use parthack_attacker::search::SearchOptions;

use crate::cli::{Output, SealedArgs, SuiteArgs};
use crate::failure::{Exit, Failure};
use crate::run::attackers::Attacker;
use crate::run::certifier_process::CertifierProcess;
use crate::run::error::RunError;
use crate::run::interrupt::stop_on_signal;
use crate::run::manifest::Choices;
use crate::run::suite::Suite;
use crate::run::{Job, Progress, RunReport, run as run_job};
use crate::statistics::BootstrapPlan;
use crate::table::{Format, Table, render};
use crate::tables::CORE;

/// Run the whole job: candidates, certification, scores, tables
///
/// Without flags: the reference suite, exact search against every rule evaluator, and every rule evaluator's scores of
/// honest trajectories, adversaries and rollbacks. What is done is kept in the run folder; a run that was stopped or
/// killed goes on with --resume and ends in the same bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack run --out runs/first")]
pub(super) struct Args {
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    sealed: SealedArgs,
    /// Who makes the candidates: search, or file:DIR with one parthack.candidate/1 a file
    #[arg(long, default_value = "search", value_name = "WHO")]
    attacker: String,
    /// Only these tasks [default: all]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    tasks: Option<Vec<String>>,
    /// Evaluators that are attacked [default: every rule evaluator]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    targets: Option<Vec<String>>,
    /// Evaluators that score [default: every rule evaluator]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    evaluators: Option<Vec<String>>,
    /// Run folder [default: runs/<suite>-<hash> in the working folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the unfinished run in the run folder, or begin it
    #[arg(long)]
    resume: bool,
    /// Worker threads; results don't depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Only trajectories of at most so many agent steps [default: any length]
    #[arg(long, value_name = "N")]
    max_steps: Option<u32>,
    /// States after which a search gives up
    #[arg(long, default_value_t = SearchOptions::default().max_states, value_name = "N")]
    max_states: usize,
    /// Explore every reachable state also where the bound is plain without it
    #[arg(long)]
    prove: bool,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Resamples of each interval
    #[arg(long, default_value_t = BootstrapPlan::default().resamples, value_name = "N")]
    resamples: u32,
    /// What the core tables look like: text, markdown, csv, json or latex
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    format: Format,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let places = args.suite.places_with(&args.sealed);
    let (program, folder, sealed) = (places.certifier()?, places.suite()?, places.sealed()?);
    let suite = Suite::load(&folder)?;
    let attacker = attacker(&args.attacker, &suite)?;
    let certifier = CertifierProcess::start(&program, &folder, &sealed)?;
    let stop = stop_on_signal()?;
    let report = run_job(Job {
        suite,
        choices: choices(args, attacker),
        certifier: Box::new(certifier),
        evaluator_program: this_program()?,
        out: args.out.clone(),
        runs_root: PathBuf::from("runs"),
        resume: args.resume,
        threads: threads(args.threads),
        stop: &stop,
        progress: progress(),
    })?;
    print(&report, args.format, out)?;
    Ok(Exit::from_code(report.exit_code()))
}

fn choices(args: &Args, attacker: Attacker) -> Choices {
    let (max_steps, max_states, prove) = (args.max_steps, args.max_states, args.prove);
    Choices {
        tasks: args.tasks.clone(),
        targets: args.targets.clone(),
        evaluators: args.evaluators.clone(),
        attacker,
        search: SearchOptions { max_steps, max_states, prove, ..SearchOptions::default() },
        bootstrap: BootstrapPlan { resamples: args.resamples, seed: args.seed, ..BootstrapPlan::default() },
    }
}

fn attacker(name: &str, suite: &Suite) -> Result<Attacker, RunError> {
    let known: Vec<&str> = suite.tasks.iter().map(|task| task.task.spec.id.as_str()).collect();
    match name.split_once(':') {
        None if name == "search" => Ok(Attacker::Search),
        Some(("file", folder)) if !folder.is_empty() => Attacker::from_folder(Path::new(folder), &known),
        _ => {
            let message = format!("--attacker: found {name:?}, expected search or file:DIR");
            Err(RunError::usage(message, "DIR holds one candidate a file, *.json"))
        }
    }
}

/// The path of this executable: the evaluator processes are started from it.
pub(super) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::environment("cannot find this program's own file", error, "call it by its full path"))
}

/// Threads to use: as asked for, else one a core.
pub(super) fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| available_parallelism().map_or(1, usize::from)).clamp(1, 256)
}

/// A line on standard error that is written over, on a terminal alone.
fn progress() -> Box<dyn FnMut(Progress) + Send> {
    let terminal = io::stderr().is_terminal();
    Box::new(move |Progress { phase, done, total }| {
        if terminal {
            let end = if done == total { "\n" } else { "" };
            let mut stderr = io::stderr().lock();
            // Talk that can't be heard changes nothing.
            let _ = write!(stderr, "\r\x1b[K{phase}: {done} of {total}{end}").and_then(|()| stderr.flush());
        }
    })
}

fn print(report: &RunReport, format: Format, out: &mut Output) -> io::Result<()> {
    let core: Vec<Table> = report.tables.iter().filter(|table| CORE.contains(&table.id.as_str())).cloned().collect();
    write!(out, "{}", render(&core, format))?;
    out.flush()?;
    let folder = report.folder.display();
    if report.was_finished {
        eprintln!("the run was finished already; nothing was written");
    }
    match format {
        Format::Text | Format::Markdown => {
            writeln!(out, "\nrun folder: {folder}\nall tables: {folder}/tables/tables.txt, or parthack tables {folder}")
        }
        // Data for programs stays data alone.
        Format::Csv | Format::Json | Format::Latex => {
            eprintln!("run folder: {folder}");
            Ok(())
        }
    }
}
