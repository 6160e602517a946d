//! `parthack release-check`: agreement with the authors' release.

use std::path::PathBuf;

use crate::cli::{Output, ReportFormat};
use crate::failure::{Exit, Failure};
use crate::release_check::{Options, check};

/// Compare this program with the authors' release, trajectory by trajectory
///
/// Imports the release's task definitions and computes every oracle line with the engine, both certifiers and the rule
/// evaluators. Exits with 1 if anything differs, with 3 if a file cannot be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  parthack release-check --tasks release/tasks --oracle release/oracle --payloads release/public_payloads \
--optimum release/optimum.json")]
pub(super) struct Args {
    /// Folder of released task definitions (*.json); may be given again
    #[arg(long, required = true, value_name = "DIR")]
    tasks: Vec<PathBuf>,
    /// Folder of oracle lines (*.jsonl, subfolders are not entered); may be given again
    #[arg(long, value_name = "DIR")]
    oracle: Vec<PathBuf>,
    /// Folder of released honest payloads (*.json)
    #[arg(long, value_name = "DIR")]
    payloads: Option<PathBuf>,
    /// File of released optima, which exact search must find again
    #[arg(long, value_name = "FILE")]
    optimum: Option<PathBuf>,
    /// Threads of exact search; the result does not depend on it
    #[arg(long, default_value_t = super::available_threads(), value_name = "N")]
    threads: usize,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let report = check(&Options {
        tasks: args.tasks.clone(),
        oracles: args.oracle.clone(),
        payloads: args.payloads.clone(),
        optimum: args.optimum.clone(),
        threads: args.threads,
    })?;
    match args.format {
        ReportFormat::Json => out.json(&report)?,
        ReportFormat::Text => report.write_text(out)?,
    }
    Ok(if report.differences() == 0 { Exit::Done } else { Exit::Failed })
}
