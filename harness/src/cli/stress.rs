//! `parthack stress`: any evaluator under certified stress, in one command.

use std::io::Write;
use std::path::{Path, PathBuf};

use parthack_evaluators::judge::judge;
use parthack_evaluators::registry::Builtin;

use crate::cli::plugins::PluginArgs;
use crate::cli::run::{this_program, threads};
use crate::cli::{Output, ReportFormat, SealedArgs, SuiteArgs, commitments};
use crate::failure::{Exit, Failure};
use crate::plugin::{self, Plugin};
use crate::run::certifier_process::CertifierProcess;
use crate::run::error::RunError;
use crate::run::files::write_output;
use crate::run::suite::Suite;
use crate::statistics::{Bootstrap, BootstrapPlan};
use crate::stress::bars::{Bar, Checked, Outcome, measures};
use crate::stress::junit::{Faults, junit};
use crate::stress::report::{Evidence, report};
use crate::stress::scorer::{BuiltinScorer, Scored, Scorer};
use crate::stress::{files, pool, text};

/// Stress-test an evaluator: any program that reads payloads and prints scores
///
/// EVALUATOR is exec:'COMMAND', http:URL, or the id of a built-in one. A program gets one payload (parthack.payload/1) a line on standard input and answers one
/// line each: {"score": 0.5}, {"no_verdict": "why"}, or a bare number; it runs in a sandbox. It is run on honest trajectories, on certified adversaries (the exact
/// ones of every rule, and the patterns), on strict rollbacks and on pairs of the other certified relations.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack stress exec:'python3 examples/python/ten_lines.py' --fail-on 'asr > 0.1'")]
pub(super) struct Args {
    /// exec:'COMMAND', http:URL, or a built-in evaluator's id
    #[arg(value_name = "EVALUATOR")]
    evaluator: String,
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    sealed: SealedArgs,
    /// Only these tasks [default: all]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    tasks: Option<Vec<String>>,
    /// End with exit code 1 where the report goes beyond, such as 'asr > 0.1' or 'rollback < 1'; also where the evaluator gave no score to tell; may be given several times
    #[arg(long, value_name = "BAR")]
    fail_on: Vec<String>,
    /// Folder for the report, with every score, and payloads and steps of the worst pairs; an earlier report in it gives way
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// JUnit file for build servers
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Times that honest payloads are scored again to measure noise
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    repeats: u32,
    /// Worker threads for making trajectories; results don't depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Resamples of each interval
    #[arg(long, default_value_t = BootstrapPlan::default().resamples, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    resamples: u32,
    /// End with exit code 0 although faults left payloads without a score
    #[arg(long)]
    allow_missing: bool,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
    #[command(flatten)]
    plugins: PluginArgs,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let bar = |text: &String| {
        text.parse::<Bar>()
            .map_err(|error| Failure::usage(format!("--fail-on: {error}"), format!("measures: {}", measures())))
    };
    let bars = args.fail_on.iter().map(bar).collect::<Result<Vec<_>, _>>()?;
    if let Some(folder) = &args.out {
        files::check(folder).map_err(for_out)?;
    }
    let places = args.suite.places_with(&args.sealed);
    let (program, folder, sealed) = (places.certifier()?, places.suite()?, places.sealed()?);
    let mut scorer = scorer(args, &sealed)?;
    let suite = Suite::load(&folder)?;
    let mut certifier = CertifierProcess::start(&program, &folder, &sealed)?;
    commitments::say(&suite);
    eprintln!("making and certifying trajectories of {}", suite.id);
    let pool = pool::make(&suite, args.tasks.as_deref(), &mut certifier, threads(args.threads))?;
    eprintln!("scoring {} payloads with {}", pool.payloads.len(), scorer.id());
    let payloads: Vec<&[u8]> = pool.payloads.iter().map(Vec::as_slice).collect();
    let scores = scorer.score(&payloads)?;
    let repeats = repeats(args.repeats, &pool, scorer.as_mut())?;
    let evidence = Evidence {
        evaluator: scorer.id(),
        suite: (suite.id.clone(), suite.hash.hex()),
        pool: &pool,
        scores: &scores,
        repeats: &repeats,
        isolation: scorer.isolation(),
        restarts: scorer.restarts(),
    };
    let bootstrap =
        Bootstrap::new(BootstrapPlan { resamples: args.resamples, seed: args.seed, ..BootstrapPlan::default() });
    let bootstrap = bootstrap.map_err(|error| Failure::usage(error.to_string(), "--resamples takes 2 to 1000000"))?;
    let report = report(&evidence, &bootstrap)?;
    for note in scorer.notes() {
        eprintln!("note: {note}");
    }
    eprint!("{}", text::faults(&report));
    let json = report.json();
    let checked: Vec<Checked> = bars.into_iter().map(|bar| bar.check(&json)).collect();
    for note in checked.iter().filter_map(Checked::note) {
        eprintln!("note: {note}");
    }
    let told = text::text(&report, &pool, &checked).map_err(RunError::from)?;
    if let Some(folder) = &args.out {
        files::write(folder, &report, &evidence, &told).map_err(for_out)?;
    }
    if let Some(path) = &args.junit {
        let faults = if args.allow_missing { Faults::Allowed } else { Faults::Count };
        let hint = "check that the file of --junit, and its folder, can be written to";
        write_output(path, junit(&report, &checked, faults).as_bytes()).map_err(|error| hinting(error, hint))?;
    }
    match args.format {
        ReportFormat::Json => out.json(&json)?,
        ReportFormat::Text => write!(out, "{told}")?,
    }
    let is_missing = !report.faults.is_empty() && !args.allow_missing;
    Ok(if checked.iter().any(|checked| checked.outcome == Outcome::Failed) {
        Exit::Failed
    } else if is_missing {
        Exit::Incomplete
    } else {
        Exit::Done
    })
}

fn for_out(error: RunError) -> RunError {
    hinting(error, "check the path, or give another folder with --out")
}

/// The same failure of storage with a hint that fits here: nothing goes on with `--resume`.
fn hinting(error: RunError, hint: &'static str) -> RunError {
    match error {
        RunError::Storage { action, path, source, .. } => RunError::Storage { action, path, source, hint },
        other => other,
    }
}

fn scorer(args: &Args, sealed: &Path) -> Result<Box<dyn Scorer>, Failure> {
    let text = args.evaluator.as_str();
    if let Some(parsed) = plugin::parse(text) {
        let (id, spec) = parsed?;
        let mut conditions = args.plugins.conditions(sealed, None)?;
        args.out.iter().for_each(|folder| conditions.hide(folder));
        return Ok(Box::new(Plugin::open(id, &spec, &conditions)?));
    }
    match Builtin::from_id(text) {
        Some(builtin) => Ok(Box::new(BuiltinScorer::new(this_program()?, builtin))),
        None if judge(text).is_some() => {
            let hint = format!(
                "parthack run --targets {text} --evaluators {text} puts it under certified stress, with --role judge=MODEL or --model-mode replay"
            );
            Err(Failure::usage(format!("{text} asks a model, which stress does not"), hint))
        }
        None => {
            let known: Vec<&str> = Builtin::all().into_iter().map(Builtin::id).collect();
            let hint = format!("exec:'COMMAND', http:URL, or one of {}", known.join(", "));
            Err(Failure::usage(format!("no evaluator {text:?}"), hint))
        }
    }
}

/// Honest payloads scored again, as often as wanted, in reverse order: what a program keeps from payload to payload shows.
fn repeats(count: u32, pool: &pool::Pool, scorer: &mut dyn Scorer) -> Result<Vec<(pool::Place, Scored)>, Failure> {
    let places: Vec<pool::Place> = pool.cases.iter().rev().map(|case| case.honest).collect();
    let payloads: Vec<&[u8]> = places.iter().filter_map(|place| pool.payloads.get(*place)).map(Vec::as_slice).collect();
    let mut all = Vec::new();
    for _ in 0..count {
        all.extend(places.iter().copied().zip(scorer.score(&payloads)?));
    }
    Ok(all)
}
