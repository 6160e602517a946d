//! `parthack task commit` and `reveal`: what binds an operator to private packages before anything is scored, and what shows
//! afterwards that they were the ones. The certifier's program does the work.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::certifier_command::{KeyArgs, call, typed};
use super::{Output, ReportFormat, SealedArgs, SuiteArgs};
use crate::failure::{Exit, Failure};

/// Commit to the sealed packages of a suite
///
/// Writes commitments.json beside suite.json, to be published before anything is scored, and the salts, which stay secret until the
/// reveal. From then on the certifier opens no other packages for this suite.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack task commit --suite my-suite/tasks --salts ~/my-suite.salts")]
pub(super) struct CommitArgs {
    /// File for the salts, for its owner alone; `reveal` needs it
    #[arg(long, value_name = "FILE")]
    salts: PathBuf,
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    sealed: SealedArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// Reveal the packages of a suite, or check a reveal
///
/// Writes reveal.json beside commitments.json: the salts, and the key of each package, so that the suite's key can stay secret; where
/// that key lies beside the packages, the salts alone. With --check, everything is compared: commitments, reveal, sealed files and what is
/// in them. Exits with 1 if something differs.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  parthack task reveal --suite my-suite/tasks --salts ~/my-suite.salts\n  parthack task reveal --suite my-suite/tasks --check"
)]
pub(super) struct RevealArgs {
    /// The file of salts that `commit` wrote
    #[arg(long, value_name = "FILE", required_unless_present = "check")]
    salts: Option<PathBuf>,
    /// Check a published reveal; needs no secret
    #[arg(long, conflicts_with = "salts")]
    check: bool,
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    sealed: SealedArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Committed {
    suite: String,
    tasks: usize,
    commitments: String,
    hash: String,
    salts: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Revealed {
    suite: String,
    tasks: usize,
    reveal: String,
    commitments_hash: String,
    with_keys: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Checked {
    suite: String,
    commitments_hash: String,
    tasks: usize,
    holds: bool,
    mismatches: Vec<Mismatch>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mismatch {
    code: String,
    task: Option<String>,
    message: String,
}

/// The certifier's program and the folders of a suite.
struct Folders {
    program: PathBuf,
    tasks: PathBuf,
    sealed: PathBuf,
}

impl Folders {
    fn find(suite: &SuiteArgs, sealed: &SealedArgs) -> Result<Folders, Failure> {
        let places = suite.places_with(sealed);
        Ok(Folders { program: places.certifier()?, tasks: places.suite()?, sealed: places.sealed()? })
    }

    fn flags<'f>(&'f self, salts: Option<&'f Path>) -> Vec<(&'static str, &'f Path)> {
        let folders = [("--tasks", self.tasks.as_path()), ("--sealed", self.sealed.as_path())];
        folders.into_iter().chain(salts.map(|salts| ("--salts", salts))).collect()
    }
}

pub(super) fn commit(args: &CommitArgs, out: &mut Output) -> Result<Exit, Failure> {
    let folders = Folders::find(&args.suite, &args.sealed)?;
    let flags = folders.flags(Some(&args.salts));
    let report: Committed = call(&folders.program, "commit", &flags, None, &args.key)?.report;
    match args.format {
        ReportFormat::Json => out.json(&report)?,
        ReportFormat::Text => {
            let Committed { suite, tasks, commitments, hash, salts } = &report;
            writeln!(out, "committed to {} of {suite}: {hash}", of_tasks(*tasks))?;
            writeln!(out, "publish {commitments} (or this hash of it) before anything is scored")?;
            writeln!(out, "keep {salts} secret until the reveal; without it nothing can be shown")?;
        }
    }
    Ok(Exit::Done)
}

pub(super) fn reveal(args: &RevealArgs, out: &mut Output) -> Result<Exit, Failure> {
    let folders = Folders::find(&args.suite, &args.sealed)?;
    let flags = folders.flags(args.salts.as_deref());
    if args.check {
        return check(args, &folders, &flags, out);
    }
    let report: Revealed = call(&folders.program, "reveal", &flags, None, &args.key)?.report;
    match args.format {
        ReportFormat::Json => out.json(&report)?,
        ReportFormat::Text => {
            let Revealed { suite, tasks, reveal, commitments_hash, with_keys } = &report;
            writeln!(out, "revealed {} of {suite}, committed to by {commitments_hash}", of_tasks(*tasks))?;
            let what = if *with_keys { "salts and the keys of the packages" } else { "salts" };
            writeln!(out, "publish {reveal} ({what}), the sealed files and commitments.json")?;
            writeln!(out, "anybody checks them with: parthack task reveal --suite {} --check", typed(&folders.tasks))?;
        }
    }
    Ok(Exit::Done)
}

fn check(args: &RevealArgs, folders: &Folders, flags: &[(&str, &Path)], out: &mut Output) -> Result<Exit, Failure> {
    let checked = call::<Checked>(&folders.program, "check-reveal", flags, None, &args.key)?;
    let Checked { suite, commitments_hash, tasks, holds, mismatches } = &checked.report;
    match args.format {
        ReportFormat::Json => out.json(&checked.report)?,
        ReportFormat::Text if *holds => {
            writeln!(
                out,
                "{} of {suite}: the packages are those of the commitments {commitments_hash}",
                of_tasks(*tasks)
            )?;
        }
        ReportFormat::Text => {
            for Mismatch { code, message, .. } in mismatches {
                writeln!(out, "{code:<20} {message}")?;
            }
            writeln!(out, "{suite} is NOT what was committed to by {commitments_hash}")?;
        }
    }
    Ok(if *holds && checked.holds { Exit::Done } else { Exit::Failed })
}

fn of_tasks(count: usize) -> String {
    if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") }
}
