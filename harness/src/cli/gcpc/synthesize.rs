//! `parthack gcpc synthesize`: checklists from instructions and verifiers.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use parthack_gcpc::gates::Options;
use parthack_gcpc::synthesis::Fate;
use parthack_logs::Kind;
use serde_json::{Value, json};

use super::source::{imported, named};
use super::{pipeline, say_spent};
use crate::cli::models::ClientArgs;
use crate::cli::{Output, ReportFormat};
use crate::failure::{Exit, Failure};
use crate::gcpc::checklists::{Attempts, Synthesized, synthesize};
use crate::gcpc::folder::GcpcFolder;

/// Make checklists of tasks with a model, and put them through the gates
///
/// One attempt a task. An attempt that a gate refuses is kept with its reasons; another is made only with --regenerate. Nothing is frozen yet.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  parthack gcpc synthesize harbor-tasks tasks/ --out study --model-mode live --role checklist=openai/gpt-4.1"
)]
pub(super) struct Args {
    /// harbor-tasks, swe-bench or tau2
    #[arg(value_name = "KIND")]
    kind: Kind,
    /// A file or a folder of tasks
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Folder of the pipeline
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only these tasks [default: all]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    task: Vec<String>,
    /// Make another attempt at tasks that have one
    #[arg(long)]
    regenerate: bool,
    #[command(flatten)]
    items: ItemArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
    #[command(flatten)]
    client: ClientArgs,
}

/// Flags about the number of items.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct ItemArgs {
    /// The fewest items of a checklist
    #[arg(long, default_value_t = Options::default().least_items, value_name = "N")]
    least_items: usize,
    /// The most items of a checklist
    #[arg(long, default_value_t = Options::default().most_items, value_name = "N")]
    most_items: usize,
}

impl ItemArgs {
    /// The gates' bounds.
    pub(super) fn options(self) -> Result<Options, Failure> {
        let ItemArgs { least_items, most_items } = self;
        if least_items == 0 || least_items > most_items || most_items > 100 {
            let message = format!("found {least_items} to {most_items} items");
            return Err(Failure::usage(
                message,
                "--least-items is at least 1, and at most --most-items, which is at most 100",
            ));
        }
        Ok(Options { least_items, most_items, ..Options::default() })
    }
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let options = args.items.options()?;
    let mut tasks = imported(args.kind, &args.path)?;
    let wanted: BTreeSet<String> = args.task.iter().map(|name| named(&tasks, name)).collect::<Result<_, _>>()?;
    tasks.retain(|task| wanted.is_empty() || wanted.contains(&task.task));
    let folder = GcpcFolder::at(&args.out);
    let _lock = folder.open()?;
    let pipeline = pipeline(&args.client, &folder)?;
    let mut attempts = Attempts::open(&folder)?;
    let (mut rows, mut exit) = (Vec::new(), Exit::Done);
    for task in &tasks {
        folder.keep_task(task)?;
        let made = synthesize(&mut attempts, &pipeline, task, &options, args.regenerate)?;
        let failed = |exit: Exit| if exit == Exit::Incomplete { exit } else { Exit::Failed };
        match &made {
            Synthesized::Accepted(_) => {}
            Synthesized::Made(made) => match &made.result {
                Fate::Accepted(_) => {}
                Fate::NoAnswer(_) => exit = Exit::Incomplete,
                Fate::Rejected(..) | Fate::Unreadable(_) => exit = failed(exit),
            },
            Synthesized::Failed(_) | Synthesized::NoVerifier(_) => exit = failed(exit),
        }
        let row = report(&task.task, &made);
        if args.format == ReportFormat::Text {
            writeln!(out, "{:<40} {}", task.task, row["told"].as_str().unwrap_or_default())?;
            for fault in row["faults"].as_array().into_iter().flatten() {
                let text = |key: &str| fault[key].as_str().unwrap_or_default();
                writeln!(out, "  {} {}: {}", text("pointer"), text("code"), text("message"))?;
            }
            out.flush()?;
        }
        rows.push(row);
    }
    if args.format == ReportFormat::Json {
        out.json(&json!({ "tasks": rows }))?;
    }
    say_spent(&pipeline);
    Ok(if exit == Exit::Incomplete && args.client.allow_missing { Exit::Done } else { exit })
}

fn report(task: &str, made: &Synthesized) -> Value {
    let (attempt, result, told, faults) = match made {
        Synthesized::Accepted(attempt) => {
            (Some(*attempt), "accepted", format!("accepted before (attempt {attempt})"), Value::Null)
        }
        Synthesized::Failed(attempt) => {
            let told = format!("attempt {attempt} failed; --regenerate makes another");
            (Some(*attempt), "failed", told, Value::Null)
        }
        Synthesized::NoVerifier(error) => {
            (None, "no_verifier", format!("the verifier can't be read: {error}"), Value::Null)
        }
        Synthesized::Made(made) => {
            let attempt = made.attempt;
            let (told, faults) = match &made.result {
                Fate::Accepted(checklist) => {
                    (format!("attempt {attempt}: accepted, {} items", checklist.items.len()), Value::Null)
                }
                Fate::Rejected(_, report) => {
                    let (sound, items) = (report.sound_items(), report.items);
                    (
                        format!("attempt {attempt}: refused, {sound} of {items} items sound"),
                        report.json()["faults"].clone(),
                    )
                }
                Fate::Unreadable(fault) => (format!("attempt {attempt}: no checklist: {fault}"), Value::Null),
                Fate::NoAnswer(missing) => (format!("attempt {attempt}: no answer: {missing}"), Value::Null),
            };
            (Some(attempt), made.word(), told, faults)
        }
    };
    json!({"task": task, "attempt": attempt, "result": result, "told": told, "faults": faults})
}
