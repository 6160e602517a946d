//! `parthack tables`: the tables of a finished run, from its manifest and ledger alone.

use std::io::Write;
use std::path::PathBuf;

use crate::cli::Output;
use crate::failure::{Exit, Failure};
use crate::run::folder::RunFolder;
use crate::run::{read_ledger, read_manifest};
use crate::table::{Format, Table, render, render_table};
use crate::tables::build_tables;

/// Print the tables of a finished run
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack tables runs/first --table B.2 --format csv")]
pub(super) struct Args {
    /// Run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Only these tables, such as 2, 6.1, B.2, development [default: all]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    table: Vec<String>,
    /// text, markdown, csv, json or latex
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    format: Format,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let folder = RunFolder::at(&args.run);
    let manifest = read_manifest(&folder)?;
    let tables = build_tables(&manifest, &read_ledger(&folder, &manifest)?)?;
    let chosen = choose(tables, &args.table)?;
    let text = match chosen.as_slice() {
        [one] => render_table(one, args.format),
        several => render(several, args.format),
    };
    out.write_all(text.as_bytes())?;
    Ok(Exit::Done)
}

fn choose(tables: Vec<Table>, wanted: &[String]) -> Result<Vec<Table>, Failure> {
    let unknown = wanted.iter().find(|id| !tables.iter().any(|table| table.id == **id));
    if let Some(id) = unknown {
        let known: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        return Err(Failure::usage(format!("there is no table {id:?}"), format!("one of: {}", known.join(", "))));
    }
    let is_wanted = |table: &Table| wanted.is_empty() || wanted.contains(&table.id);
    Ok(tables.into_iter().filter(is_wanted).collect())
}
