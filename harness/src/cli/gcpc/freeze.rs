//! `parthack gcpc freeze`: what passed the gates is fixed by its hash, before any log is read.

use std::io::Write;
use std::path::PathBuf;

use parthack_gcpc::checklist::{Frozen, instruction_hash};
use serde_json::json;

use super::existing;
use super::source::{Checked, SourceArgs};
use super::synthesize::ItemArgs;
use crate::cli::{Output, ReportFormat};
use crate::failure::{Exit, Failure};
use crate::gcpc::checklists::freeze_all;
use crate::gcpc::folder::GcpcFolder;

/// Freeze checklists by hash
///
/// PATH is the folder of a pipeline: the last accepted attempt of each task is frozen. Or it is a checklist of your own: it goes through the
/// gates, and the folder of --into gets it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack gcpc freeze study")]
pub(super) struct Args {
    /// Folder of a pipeline, or a checklist
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// For a checklist of your own, the folder of the pipeline that gets it
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    items: ItemArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let options = args.items.options()?;
    let (folder, new) = if args.path.is_dir() || args.into.is_none() {
        let folder = existing(&args.path)?;
        let _lock = folder.open()?;
        let new = freeze_all(&folder, &options)?;
        (folder, new)
    } else {
        let folder = GcpcFolder::at(args.into.as_deref().unwrap_or(&args.path));
        let Checked { document, task, verifier, report } = args.source.check(&args.path, &options)?;
        if !report.is_accepted() {
            report.faults.iter().for_each(|fault| eprintln!("{fault}"));
            let message = format!("{}: the gates refuse it", args.path.display());
            return Err(Failure::Failed(message));
        }
        let frozen = Frozen {
            task: task.task.clone(),
            instruction: instruction_hash(&task.instruction),
            verifier: verifier.hash(),
            generation: None,
            checklist: document.checklist().clone(),
        };
        let _lock = folder.open()?;
        folder.keep_task(&task)?;
        folder.freeze(&frozen)?;
        (folder, vec![task.task])
    };
    let (tasks, frozen) = (folder.tasks()?, folder.checklists()?);
    let open: Vec<&String> = tasks.keys().filter(|task| !frozen.contains_key(*task)).collect();
    if args.format == ReportFormat::Json {
        let all: Vec<_> = frozen
            .values()
            .map(|of| json!({"task": of.task, "hash": of.hash().hex(), "items": of.checklist.items.len(), "new": new.contains(&of.task)}))
            .collect();
        out.json(&json!({"frozen": all, "open": open}))?;
    } else {
        for of in frozen.values() {
            let when = if new.contains(&of.task) { "frozen" } else { "frozen before" };
            writeln!(out, "{:<40} {when}: {} items, {:.12}", of.task, of.checklist.items.len(), of.hash().hex())?;
        }
        for task in &open {
            writeln!(out, "{task:<40} no accepted checklist")?;
        }
    }
    Ok(Exit::Done)
}
