//! `parthack task suite`: the `suite.json` of a folder of tasks.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use parthack_certifier::sealing::folder::{COMMITMENTS_FILE, REVEAL_FILE, SUITE_FILE};
use parthack_env::frames::frames;
use parthack_env::names::is_identifier;
use parthack_env::replay::Replay;
use parthack_env::task::Task;
use parthack_generator::{SuiteEntry, suite_manifest};
use serde_json::json;

use super::{Output, ReportFormat, task_source};
use crate::failure::{Exit, Failure};
use crate::locate::files_of;
use crate::run::suite::Suite;

/// Write the suite.json of a folder of tasks
///
/// Reads every task file of DIR, replays its honest trajectory, and lists the tasks by id with their hashes. A suite.json that is there
/// is replaced, unless commitments.json lies beside it: commitments hold for one suite.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack task suite my-suite/tasks --id my-suite")]
pub(super) struct Args {
    /// Folder of task files
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Id of the suite
    #[arg(long, value_name = "ID")]
    id: String,
    /// Version of the suite
    #[arg(long, default_value = "1", value_name = "TEXT")]
    suite_version: String,
    /// A sentence about the suite
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    description: String,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    if !is_identifier(&args.id) {
        return Err(Failure::usage(format!("{:?} is no suite id", args.id), "letters, digits, '.', '_', ':' and '-'"));
    }
    let committed = args.folder.join(COMMITMENTS_FILE);
    if committed.exists() {
        let hint = "they hold for the suite as it is; to commit anew before anything is scored, move them away";
        return Err(Failure::usage(format!("{} is there", committed.display()), hint));
    }
    let mut entries = Vec::new();
    for path in files_of(&args.folder, "json")? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if [SUITE_FILE, COMMITMENTS_FILE, REVEAL_FILE].contains(&name) {
            continue;
        }
        let task = task_source::load_file(&path)?;
        if name != format!("{}.json", task.spec.id) {
            let message = format!("{} holds the task {}", path.display(), task.spec.id);
            return Err(Failure::usage(message, format!("name it {}.json", task.spec.id)));
        }
        entries.push(entry(&task)?);
    }
    if entries.is_empty() {
        let message = format!("{} holds no task", args.folder.display());
        return Err(Failure::usage(message, "`parthack task new` scaffolds one"));
    }
    let tasks = if entries.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", entries.len()) };
    let description = if args.description.is_empty() { tasks.clone() } else { args.description.clone() };
    let text = suite_manifest(&args.id, &args.suite_version, &description, &entries)
        .map_err(|error| Failure::Bug(error.to_string()))?;
    replace(&args.folder.join(SUITE_FILE), text.as_bytes())?;
    let suite = Suite::load(&args.folder)?;
    match args.format {
        ReportFormat::Json => out.json(&json!({
            "suite": suite.id, "tasks": entries.len(), "hash": suite.hash.hex(), "file": args.folder.join(SUITE_FILE),
        }))?,
        ReportFormat::Text => {
            writeln!(out, "{}: {tasks}, {}", args.folder.join(SUITE_FILE).display(), suite.hash)?;
        }
    }
    Ok(Exit::Done)
}

fn entry(task: &Task) -> Result<SuiteEntry, Failure> {
    let replay = Replay::run(task, &task.spec.honest);
    if replay.first_refusal().is_some() {
        let message = format!("{}: a step of the honest trajectory is refused", task.spec.id);
        return Err(Failure::usage(message, "`parthack task lint` says which, and why"));
    }
    let satisfied = frames(&replay).last().map_or(0, |frame| frame.satisfied);
    Ok(SuiteEntry {
        id: task.spec.id.clone(),
        split: task.spec.split.word(),
        family: task.spec.family.word(),
        m: task.m(),
        p_state_honest: format!("{}/{}", satisfied.count_ones(), task.m()),
        tags: task.spec.tags.clone(),
        rollback_metric: task.spec.rollback_metric,
        hash: task.spec.file_hash.hex(),
    })
}

/// Replaces a file, so that its name has the old content or the new one whenever this ends.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let beside = path.with_extension(format!("{}.unfinished", std::process::id()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&beside);
        let hint = "check disk and permissions; what was there before is there still";
        Failure::environment(format!("cannot write {}", path.display()), error, hint)
    })
}
