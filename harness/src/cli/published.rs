//! `parthack published`: the paper's tables from the paper's own values.

use std::io::Write;

use clap::ValueEnum;

use super::Output;
use crate::failure::{Exit, Failure};
use crate::published::{PublishedError, Status, published_report, render};
use crate::table::Format;

/// Rebuild the paper's aggregates from its printed per-task values, and say what agrees
///
/// Prints the tables, each printed aggregate beside ours, and which printed per-task values no trajectory could have
/// produced. Exits with 1 if a recomputed aggregate differs from the printed one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack published --format markdown")]
pub(super) struct Args {
    /// What the tables look like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: TableFormat,
}

/// A form of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TableFormat {
    /// Aligned columns
    #[default]
    Text,
    /// Pipe tables
    Markdown,
    /// One record a row
    Csv,
    /// {"tables": […]}
    Json,
    /// booktabs
    Latex,
}

impl From<TableFormat> for Format {
    fn from(format: TableFormat) -> Format {
        match format {
            TableFormat::Text => Format::Text,
            TableFormat::Markdown => Format::Markdown,
            TableFormat::Csv => Format::Csv,
            TableFormat::Json => Format::Json,
            TableFormat::Latex => Format::Latex,
        }
    }
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let report = published_report()?;
    let text = render(&report, args.format.into());
    write!(out, "{text}{}", if text.ends_with('\n') { "" } else { "\n" })?;
    let differs = report.comparisons.iter().any(|comparison| comparison.status == Status::Differs);
    Ok(if differs { Exit::Failed } else { Exit::Done })
}

impl From<PublishedError> for Failure {
    /// The data are part of the program.
    fn from(error: PublishedError) -> Failure {
        Failure::Other { exit: Exit::Bug, message: error.to_string(), source: Some(Box::new(error)) }
    }
}
