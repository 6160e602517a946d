//! `parthack gcpc score`: the scores of anyone's labels.

use std::io::{self, Write};
use std::path::PathBuf;

use parthack_gcpc::metrics::score;
use parthack_gcpc::outcome::Labels;
use serde_json::Value;

use crate::cli::{Output, ReportFormat};
use crate::failure::{Exit, Failure};
use crate::locate::read_input;

/// Score the labels of a checklist, before and after the official outcome
///
/// The file: {"format":"parthack.labels/1","items":[{"id":"c1","route":"assertion","label":"yes"}],"outcome":"fail"}; route is assertion,
/// generated or judge, label is yes, no or abstain, outcome is pass, fail or null.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack gcpc score labels.json --format json")]
pub(super) struct Args {
    /// File of labels (parthack.labels/1)
    #[arg(value_name = "LABELS")]
    labels: PathBuf,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let bytes = read_input(&args.labels)?;
    let labels = Labels::read(&bytes).map_err(|error| error.in_file(&args.labels))?;
    let report = score(&labels).json();
    match args.format {
        ReportFormat::Json => out.json(&report)?,
        ReportFormat::Text => text(&report, out)?,
    }
    Ok(Exit::Done)
}

fn text(report: &Value, out: &mut Output) -> io::Result<()> {
    let shown = |key: &str| match (report[key].as_f64(), report[format!("{key}_exact")].as_str()) {
        (Some(number), Some(exact)) => format!("{number:.3} ({exact})"),
        _ => "undefined".to_owned(),
    };
    writeln!(out, "GCPC                 {}", shown("gcpc"))?;
    writeln!(out, "GCPC with outcome    {}", shown("gcpc_outcome"))?;
    let perfect = match report["perfect"].as_u64() {
        Some(1) => "yes",
        Some(_) => "no",
        None => "undefined",
    };
    writeln!(out, "Perfect              {perfect}")?;
    writeln!(out, "evidence coverage    {}", shown("evidence_coverage"))?;
    writeln!(out, "decided coverage     {}", shown("decided_coverage"))
}
