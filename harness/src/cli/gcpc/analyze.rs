//! `parthack gcpc analyze`: G's tables and the data of its figures, from a pipeline's ledgers alone.

use std::io::Write;
use std::path::PathBuf;

use parthack_gcpc::analysis::annotations::Annotations;
use parthack_gcpc::analysis::{Input, analyze};

use super::existing;
use crate::cli::Output;
use crate::failure::{Exit, Failure};
use crate::gcpc::folder::GcpcFolder;
use crate::gcpc::render::tables_of;
use crate::locate::read_input;
use crate::run::files::{create_folder, write_atomically};
use crate::table::{Format, Table, render, render_table};

/// Tables and figures' data of a pipeline's judgements
///
/// All tables are written to DIR/tables and those asked for are printed. They are a function of the ledgers and the annotations alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack gcpc analyze study --annotations people.csv --table 2,3")]
pub(super) struct Args {
    /// Folder of the pipeline
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only these tables, such as 2, 3, 4, paired, figure-5 [default: all]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    table: Vec<String>,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

/// Flags of an analysis.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Analysis")]
pub(super) struct AnalysisArgs {
    /// What people said of judged logs: a CSV file with the columns annotator, kind, log, other, item, value
    ///
    /// One row is one thing that one person said: kind is rating (value 0 to 10), preference (other is the second log; first, second or neither) or
    /// criterion (item is the checklist item's id; yes, no or abstain). A log is named by its content hash, the first digits of it, or its run id.
    /// The section "Annotations" of docs/formats.md has the whole schema with an example.
    #[arg(long, value_name = "FILE")]
    annotations: Option<PathBuf>,
    /// Take annotations of tasks that only one person annotated too
    #[arg(long)]
    allow_single_annotator: bool,
    /// Whose judgements count, as PROVIDER/MODEL [default: the judge with the most]
    #[arg(long, value_name = "NAME")]
    primary_judge: Option<String>,
    /// Seed of resamples and of controls
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(super) seed: u64,
    /// Resamples of each interval
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    resamples: u32,
    /// text, markdown, csv, json or latex
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    format: Format,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    print_tables(&existing(&args.folder)?, &args.analysis, &args.table, out)?;
    Ok(Exit::Done)
}

/// Analyzes a folder, writes all tables and prints those that are wanted.
pub(super) fn print_tables(
    folder: &GcpcFolder,
    args: &AnalysisArgs,
    wanted: &[String],
    out: &mut Output,
) -> Result<(), Failure> {
    let judgements = folder.read_judgements()?;
    let annotations = match &args.annotations {
        None => None,
        Some(path) => {
            let bytes = read_input(path)?;
            let identities = judgements.iter().map(|judgement| &judgement.identity);
            let read = Annotations::read(&bytes, identities, args.allow_single_annotator);
            Some(read.map_err(|error| Failure::Other {
                exit: Exit::Input,
                message: format!("{}: {error}", path.display()),
                source: None,
            })?)
        }
    };
    let analysis = analyze(&Input {
        judgements: &judgements,
        checklists: &folder.checklists()?,
        attempts: &folder.attempts()?,
        audits: &folder.read_audits()?,
        annotations: annotations.as_ref(),
        seed: args.seed,
        resamples: args.resamples,
        primary_judge: args.primary_judge.as_deref(),
    });
    let analysis =
        analysis.map_err(|error| Failure::Other { exit: Exit::Input, message: error.to_string(), source: None })?;
    let tables = tables_of(&analysis)?;
    create_folder(&folder.tables())?;
    for (name, format) in [("tables.txt", Format::Text), ("tables.md", Format::Markdown), ("tables.json", Format::Json)]
    {
        write_atomically(&folder.tables().join(name), render(&tables, format).as_bytes())?;
    }
    for table in &tables {
        let name = format!("table-{}.csv", table.id);
        write_atomically(&folder.tables().join(name), render_table(table, Format::Csv).as_bytes())?;
    }
    if let Some(unknown) = wanted.iter().find(|id| !tables.iter().any(|table| table.id == **id)) {
        let known: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        return Err(Failure::usage(format!("there is no table {unknown:?}"), format!("one of: {}", known.join(", "))));
    }
    let chosen: Vec<Table> =
        tables.into_iter().filter(|table| wanted.is_empty() || wanted.contains(&table.id)).collect();
    let text = match chosen.as_slice() {
        [one] => render_table(one, args.format),
        several => render(several, args.format),
    };
    out.write_all(text.as_bytes())?;
    Ok(())
}
