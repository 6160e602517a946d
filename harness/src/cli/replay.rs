//! `parthack replay`: what becomes of a trajectory, without any verdict.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use parthack_env::candidate::Candidate;
use parthack_env::canonical::Hash;
use parthack_env::json::Json;
use parthack_env::log::Event;
use parthack_env::payload::{payload, projection};
use parthack_env::replay::{Origin, Replay, StepResult, TranscriptEntry};
use parthack_env::task::Task;
use parthack_env::world::World;
use serde_json::{Value, json};

use super::claimed_log::{ClaimedLog, compare, verified};
use super::describe::{event_line, state_lines, step_line};
use super::{Output, SuiteArgs, task_source};
use crate::failure::{Exit, Failure};
use crate::locate::read_input;

/// Replay a trajectory: transcript, events, final state, hashes
///
/// TRAJECTORY is a candidate file (parthack.candidate/1), or a JSON list of events as `--format json` prints it. A
/// refused step is an answer: it stands in the transcript. A log that replay does not reproduce exits with 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack replay candidate.json --format json")]
pub(super) struct Args {
    /// Candidate file, or list of events
    #[arg(value_name = "TRAJECTORY")]
    trajectory: PathBuf,
    /// Task id in the suite, or task file [default: the task that the candidate names]
    #[arg(long, value_name = "ID|FILE")]
    task: Option<String>,
    #[command(flatten)]
    suite: SuiteArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// What `replay` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// The public payload, canonical bytes
    Payload,
    /// Its projection without the goal schema, canonical bytes
    Projection,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let path = &args.trajectory;
    let bytes = read_input(path)?;
    let is_log = matches!(Json::parse(&bytes), Ok(Json::Array(_)));
    if is_log { run_log(args, path, &bytes, out) } else { run_candidate(args, path, &bytes, out) }
}

fn run_candidate(args: &Args, path: &Path, bytes: &[u8], out: &mut Output) -> Result<Exit, Failure> {
    let candidate = Candidate::read(bytes).map_err(|refusal| {
        let hint = "`parthack schema candidate` prints the format";
        let fault = refusal.fault;
        if fault.hint.is_none() { fault.hint(hint).in_file(path) } else { fault.in_file(path) }
    })?;
    let task = task_source::load(&args.suite.places(), args.task.as_deref().unwrap_or(&candidate.task_id))?;
    if candidate.task_id != task.spec.id {
        let message = format!("the candidate is for the task {:?}, not {:?}", candidate.task_id, task.spec.id);
        return Err(Failure::usage(message, "leave --task out, or name the candidate's task"));
    }
    let replay = Replay::run(&task, &candidate.steps);
    let claim = candidate.log.as_ref().map(|claimed| compare(&task, &replay, claimed));
    match args.format {
        Format::Payload => write_bytes(out, &payload(&replay))?,
        Format::Projection => write_bytes(out, &projection(&replay))?,
        Format::Json => out.json(&replay_json(&replay, claim.as_ref()))?,
        Format::Text => write_text(&replay, claim.as_ref(), out)?,
    }
    match claim {
        Some(ClaimedLog::Differs(what)) => {
            let message = format!("{}: the claimed log: {what}", path.display());
            Err(Failure::Failed(format!("{message}\nhint: without the key \"log\" the file claims nothing")))
        }
        _ => Ok(Exit::Done),
    }
}

fn run_log(args: &Args, path: &Path, bytes: &[u8], out: &mut Output) -> Result<Exit, Failure> {
    let Some(name) = &args.task else {
        return Err(Failure::usage("a list of events does not say which task it is of", "name it with --task ID"));
    };
    if matches!(args.format, Format::Payload | Format::Projection) {
        return Err(Failure::usage("a log has no transcript, and so no payload", "replay a candidate file"));
    }
    let task = task_source::load(&args.suite.places(), name)?;
    let (events, checked) = verified(&task, bytes).map_err(|error| error.in_file(path))?;
    let head = events.last().map_or_else(|| parthack_env::log::first_hash(&task), |event| event.hash);
    match &checked {
        Ok(world) if args.format == Format::Json => out.json(&json!({
            "task_id": task.spec.id,
            "events": events.iter().map(|event| event_json(&task, event)).collect::<Vec<_>>(),
            "state": state_json(&task, world),
            "state_hash": world.state_hash().hex(),
            "log_head": head.hex(),
        }))?,
        Ok(world) => {
            write_events(&task, &events, out)?;
            write_state(&task, world, head, out)?;
        }
        Err(_) => {}
    }
    match checked {
        Ok(_) => Ok(Exit::Done),
        Err(fault) => {
            let hint = "the events before it are sound; those from it on are not to be trusted";
            Err(Failure::Failed(format!("{}: {fault}\nhint: {hint}", path.display())))
        }
    }
}

fn write_bytes(out: &mut Output, bytes: &[u8]) -> Result<(), Failure> {
    out.write_all(bytes)?;
    Ok(writeln!(out)?)
}

fn replay_json(replay: &Replay<'_>, claim: Option<&ClaimedLog>) -> Value {
    let task = replay.task();
    let payload: Value = serde_json::from_slice(&payload(replay)).unwrap_or(Value::Null);
    let mut report = json!({
        "task_id": task.spec.id,
        "steps": replay.steps.len(),
        "transcript": payload["transcript"],
        "events": replay.events.iter().map(|event| event_json(task, event)).collect::<Vec<_>>(),
        "state": state_json(task, replay.world()),
        "state_hash": replay.world().state_hash().hex(),
        "log_head": replay.head().hex(),
    });
    if let Some(claim) = claim {
        report["claimed_log"] = match claim {
            ClaimedLog::Reproduced => json!("reproduced"),
            ClaimedLog::Differs(what) => json!(what),
        };
    }
    report
}

fn event_json(task: &Task, event: &Event) -> Value {
    let mut bytes = Vec::new();
    event.push_json(task, &mut bytes);
    serde_json::from_slice(&bytes).unwrap_or(Value::Null)
}

fn state_json(task: &Task, world: &World) -> Value {
    let mut bytes = Vec::new();
    world.push_json(task, &mut bytes);
    serde_json::from_slice(&bytes).unwrap_or(Value::Null)
}

fn write_text(replay: &Replay<'_>, claim: Option<&ClaimedLog>, out: &mut Output) -> Result<(), Failure> {
    let task = replay.task();
    writeln!(out, "{}: {}, {} agent steps", task.spec.id, task.spec.title, replay.steps.len())?;
    out.title("transcript")?;
    for entry in &replay.transcript {
        writeln!(out, "{}", transcript_line(replay, entry))?;
    }
    write_events(task, &replay.events, out)?;
    write_state(task, replay.world(), replay.head(), out)?;
    if let Some(ClaimedLog::Reproduced) = claim {
        writeln!(out, "claimed log  reproduced")?;
    }
    Ok(())
}

fn transcript_line(replay: &Replay<'_>, entry: &TranscriptEntry) -> String {
    let (step, by) = match entry.origin {
        Origin::Agent(index) => (&replay.steps[index], String::new()),
        Origin::Script(index) => {
            let entry = &replay.task().spec.script[index];
            (&entry.action, format!(" [{}]", entry.id))
        }
    };
    let result = match &entry.result {
        StepResult::Applied(sequence) => format!("  -> event {sequence}"),
        StepResult::Noted => String::new(),
        StepResult::Refused(refusal) => format!("  -> refused ({}): {}", refusal.code, refusal.message),
    };
    format!("{:>4}  {:<6} {}{by}{result}", entry.tick, entry.actor.word(), step_line(step))
}

fn write_events(task: &Task, events: &[Event], out: &mut Output) -> Result<(), Failure> {
    out.title("events")?;
    for event in events {
        writeln!(out, "{:>4}  {:<6} {}", event.sequence, event.actor.word(), event_line(task, event))?;
    }
    Ok(())
}

fn write_state(task: &Task, world: &World, head: Hash, out: &mut Output) -> Result<(), Failure> {
    out.title(&format!("final state, goal version {}", world.goal_version()))?;
    for line in state_lines(task, world) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "state hash   {}", world.state_hash())?;
    writeln!(out, "log head     {head}")?;
    Ok(())
}
