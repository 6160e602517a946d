//! `parthack import`: logs and tasks of other programs, as one type.

use std::io::{self, Write};
use std::path::PathBuf;

use parthack_logs::{Imported, Kind, Summary, import};
use serde::Serialize;
use serde_json::json;

use crate::cli::{Output, ReportFormat};
use crate::failure::{Exit, Failure};

/// Files that were passed over and are listed in a summary as text.
const MOST_LISTED: usize = 20;

/// Read logs and tasks of other programs
///
/// PATH is a file, or a folder that is walked for files of the kind. Without --summary, each log and each task is a line of JSON
/// on standard output. A file that can't be read is refused with its place and the reason, and the rest goes on.
///
/// Duplicates are dropped and counted. Two logs are duplicates if suite, task, harness, model and run id agree as far as their files state them,
/// and the condition, the outcome with its reward, and every step. Where a file lies, what only its path tells, and ids of calls make no difference.
/// Two tasks are duplicates if id, instruction, verifier and named tests agree. docs/formats.md says it in full.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack import tau2 results.json --summary")]
pub(super) struct Args {
    /// harbor-tasks, swe-bench, atif, inspect, swe-agent, mini-swe-agent, tau2, tau, openai or parthackbench
    #[arg(value_name = "KIND")]
    kind: Kind,
    /// A file or a folder
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Say what was read and what was not, instead of printing it
    #[arg(long)]
    summary: bool,
    /// End with exit code 3 if anything was refused
    #[arg(long)]
    strict: bool,
    /// What the summary looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let mut run = import(args.kind, &args.path);
    for imported in run.by_ref() {
        match imported {
            Ok(_) if args.summary => {}
            Ok(Imported::Log(log)) => line(out, &json!({ "log": log }))?,
            Ok(Imported::Task(task)) => line(out, &json!({ "task": task }))?,
            // The summary as text lists them.
            Err(_) if args.summary && args.format == ReportFormat::Text => {}
            Err(refusal) => eprintln!("refused: {refusal}"),
        }
    }
    let summary = run.summary();
    if args.summary {
        match args.format {
            ReportFormat::Json => out.json(&summary)?,
            ReportFormat::Text => text(&summary, out)?,
        }
    }
    let nothing = summary.logs + summary.tasks + summary.duplicates == 0;
    let refused = !summary.refused.is_empty();
    Ok(if nothing || (refused && (args.strict || !args.path.is_dir())) { Exit::Input } else { Exit::Done })
}

fn line(out: &mut Output, value: &serde_json::Value) -> io::Result<()> {
    writeln!(out, "{value}")
}

/// The stable word of a code, as JSON has it.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn text(summary: &Summary, out: &mut Output) -> io::Result<()> {
    let Summary { files, files_read, files_companions, files_passed_over, files_refused, .. } = summary;
    writeln!(
        out,
        "files         {files}: {files_read} read, {files_refused} refused, {files_companions} parts of others, \
         {files_passed_over} of other names"
    )?;
    writeln!(out, "logs          {} of {} tasks", summary.logs, summary.tasks_of_logs)?;
    writeln!(out, "tasks         {}, with {} named tests", summary.tasks, summary.named_tests)?;
    writeln!(out, "duplicates    {}", summary.duplicates)?;
    writeln!(
        out,
        "steps         {}: {} tool calls, {} tool outputs",
        summary.steps, summary.tool_calls, summary.tool_outputs
    )?;
    let outcomes = summary.outcomes;
    writeln!(out, "outcomes      {} passed, {} failed, {} none", outcomes.pass, outcomes.fail, outcomes.none)?;
    for (model, logs) in summary.models.iter().filter(|(model, _)| !model.is_empty()) {
        writeln!(out, "model         {model}: {logs}")?;
    }
    for (condition, logs) in &summary.conditions {
        writeln!(out, "condition     {}: {logs}", word(condition))?;
    }
    for (code, count) in &summary.warnings {
        writeln!(out, "warning       {}: {count}", word(code))?;
    }
    for refused in &summary.refused {
        let (file, place, found, expected) = (&refused.file, &refused.place, &refused.found, &refused.expected);
        writeln!(out, "refused       {}: {file}, {place}: found {found}, expected {expected}", word(&refused.code))?;
    }
    for file in summary.passed_over.iter().take(MOST_LISTED) {
        writeln!(out, "passed over   {file}")?;
    }
    if let Some(more) = summary.passed_over.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
        writeln!(out, "passed over   {more} more; --format json lists all")?;
    }
    Ok(())
}
