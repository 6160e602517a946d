//! `parthack search`: the best score that any eligible trajectory can have.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use parthack_attacker::proof::{Proof, ProofFault};
use parthack_attacker::search::{SearchError, SearchOptions, SearchOutcome, curve, search};
use parthack_env::candidate::Candidate;
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;
use parthack_evaluators::score::ExactScore;
use serde_json::{Value, json};

use super::describe::step_line;
use super::{Output, ReportFormat, SuiteArgs, evaluators, task_source};
use crate::failure::{Exit, Failure};
use crate::locate::read_input;

/// Find the best eligible trajectory for an evaluator, exactly
///
/// Explores every trajectory of any length (or of at most --max-steps) that ends with the honest trajectory's vectors.
/// --check replays and refutes or confirms a proof with code that shares nothing with the search; exits with 1 if it
/// does not hold.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack search --task PH-D01 --target historical-milestone --prove")]
pub(super) struct Args {
    /// Task id in the suite, or task file
    #[arg(long, value_name = "ID|FILE")]
    task: String,
    /// Evaluator whose score the trajectory is to raise
    #[arg(long, value_name = "EVALUATOR")]
    target: String,
    /// Only trajectories of at most so many agent steps
    #[arg(long, value_name = "N")]
    max_steps: Option<u32>,
    /// The best score for each length up to this one, instead of a witness
    #[arg(long, value_name = "L", conflicts_with_all = ["max_steps", "prove", "check", "proof", "out"])]
    curve: Option<u32>,
    /// Threads; the result does not depend on it
    #[arg(long, default_value_t = super::available_threads(), value_name = "N")]
    threads: usize,
    /// States after which to give up
    #[arg(long, default_value_t = SearchOptions::default().max_states, value_name = "N")]
    max_states: usize,
    /// Explore the whole reachable set and print its digest
    #[arg(long)]
    prove: bool,
    /// Write the proof (parthack.proof/1)
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
    /// Check a proof instead of searching
    #[arg(long, value_name = "FILE", conflicts_with_all = ["max_steps", "prove", "proof", "out"])]
    check: Option<PathBuf>,
    /// Write the witness as a candidate file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    suite: SuiteArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let target = evaluators::rule(&args.target)?;
    let task = task_source::load(&args.suite.places(), &args.task)?;
    if let Some(path) = &args.check {
        return check(args, &task, target, path, out);
    }
    if let Some(longest) = args.curve {
        return print_curve(args, &task, target, longest, out);
    }
    let options = SearchOptions {
        max_steps: args.max_steps,
        threads: args.threads.max(1),
        prove: args.prove,
        max_states: args.max_states,
    };
    let outcome = search(&task, target, &options)?;
    if let Some(path) = &args.proof {
        write_file(path, &Proof::of(&task, target, &outcome).bytes())?;
    }
    if let Some(path) = &args.out {
        let Some(steps) = outcome.witness.clone() else {
            return Err(Failure::usage("there is no witness to write", "leave --out away"));
        };
        write_file(path, &Candidate::new(&task.spec.id, steps).bytes())?;
    }
    match args.format {
        ReportFormat::Json => out.json(&report(&task, target, &outcome))?,
        ReportFormat::Text => write_text(&task, target, &outcome, out)?,
    }
    Ok(Exit::Done)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error| Failure::environment(format!("cannot write {}", path.display()), error, "name another file");
    fs::write(path, [bytes, b"\n"].concat()).map_err(failed)
}

fn show(score: Option<ExactScore>) -> String {
    score.map_or_else(|| "none".to_owned(), |score| score.to_string())
}

fn report(task: &Task, target: Rule, outcome: &SearchOutcome) -> Value {
    let mut steps = Vec::new();
    parthack_env::steps::push_steps(&mut steps, outcome.witness.as_deref().unwrap_or_default());
    let witness: Value = serde_json::from_slice(&steps).unwrap_or(Value::Null);
    let statistics = outcome.statistics;
    json!({
        "task_id": task.spec.id,
        "target": target.id(),
        "honest": outcome.honest.to_f64(),
        "honest_exact": outcome.honest.to_string(),
        "best": outcome.best.map(ExactScore::to_f64),
        "best_exact": outcome.best.map(|best| best.to_string()),
        "witness_length": outcome.witness_length,
        "witness": if outcome.witness.is_some() { witness } else { Value::Null },
        "bound": outcome.bound.word(),
        "digest": outcome.digest.map(|digest| digest.hex()),
        "statistics": {
            "states": statistics.states,
            "transitions": statistics.transitions,
            "depth": statistics.depth,
            "state_bits": statistics.state_bits,
            "dropped_entities": statistics.dropped_entities,
        },
    })
}

fn write_text(task: &Task, target: Rule, outcome: &SearchOutcome, out: &mut Output) -> Result<(), Failure> {
    writeln!(out, "{} under {}: honest {}, best {}", task.spec.id, target.id(), outcome.honest, show(outcome.best))?;
    writeln!(out, "bound: {}", outcome.bound.word().replace('_', " "))?;
    let statistics = outcome.statistics;
    writeln!(
        out,
        "{} states of {} bits, {} transitions, {} levels, {} entities outside the cone of influence",
        statistics.states, statistics.state_bits, statistics.transitions, statistics.depth, statistics.dropped_entities
    )?;
    if let Some(digest) = outcome.digest {
        writeln!(out, "closed set: {digest}")?;
    }
    match (&outcome.witness, outcome.witness_length) {
        (Some(steps), _) => {
            out.title(&format!("witness, {} steps", steps.len()))?;
            for (index, step) in steps.iter().enumerate() {
                writeln!(out, "{:>4}  {}", index + 1, step_line(step))?;
            }
        }
        (None, Some(length)) => writeln!(out, "bound not witnessed: the shortest trajectory has {length} steps")?,
        (None, None) => writeln!(out, "no eligible trajectory has a log of its own")?,
    }
    Ok(())
}

fn print_curve(args: &Args, task: &Task, target: Rule, longest: u32, out: &mut Output) -> Result<Exit, Failure> {
    let scores = curve(task, target, longest)?;
    match args.format {
        ReportFormat::Json => {
            let points: Vec<Value> = scores
                .iter()
                .enumerate()
                .map(|(steps, score)| {
                    let exact = score.map(|score| score.to_string());
                    json!({ "max_steps": steps, "best": score.map(ExactScore::to_f64), "best_exact": exact })
                })
                .collect();
            out.json(&json!({ "task_id": task.spec.id, "target": target.id(), "curve": points }))?;
        }
        ReportFormat::Text => {
            out.title("steps  best")?;
            for (steps, score) in scores.iter().enumerate() {
                writeln!(out, "{steps:>5}  {}", show(*score))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn check(args: &Args, task: &Task, target: Rule, path: &Path, out: &mut Output) -> Result<Exit, Failure> {
    let proof = Proof::read(&read_input(path)?).map_err(|error| error.in_file(path))?;
    if proof.target != target.id() {
        let message = format!("the proof is about the target {:?}, not {:?}", proof.target, target.id());
        return Err(Failure::usage(message, "give the proof's target by --target"));
    }
    let checked = proof.check(task, args.max_states);
    let verdict = match &checked {
        Ok(()) => "holds",
        Err(ProofFault::TooLarge(_)) => "undecided",
        Err(_) => "refuted",
    };
    match args.format {
        ReportFormat::Json => {
            let why = checked.as_ref().err().map(ToString::to_string);
            out.json(&json!({ "task_id": task.spec.id, "target": target.id(), "verdict": verdict, "why": why }))?;
        }
        ReportFormat::Text => writeln!(out, "{} under {}: the proof {verdict}", task.spec.id, target.id())?,
    }
    out.flush()?;
    match checked {
        Ok(()) => Ok(Exit::Done),
        Err(fault) => {
            let hint =
                "`parthack search` without --check finds the optimum anew; --max-states lets the check go further";
            Err(Failure::Failed(format!("{}: {fault}\nhint: {hint}", path.display())))
        }
    }
}

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Failure {
        match error {
            SearchError::ModelMismatch(..) => Failure::Bug(error.to_string()),
            SearchError::TooManyStates(_) => Failure::Other {
                exit: Exit::Incomplete,
                message: format!("{error}\nhint: raise --max-states, or bound the length by --max-steps"),
                source: None,
            },
            other => Failure::Other {
                exit: Exit::Input,
                message: format!("{other}\nhint: `parthack task lint` says what search needs of a task"),
                source: None,
            },
        }
    }
}
