//! `parthack schema`: JSON Schemas of every format.

use std::io::Write;

use super::Output;
use crate::failure::{Exit, Failure};
use crate::schemas::{SCHEMAS, schema};

/// Print the JSON Schema of a format
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack schema task > task.schema.json")]
pub(super) struct Args {
    /// The format's name
    #[arg(value_name = "NAME", required_unless_present = "list")]
    name: Option<String>,
    /// List the names
    #[arg(long, conflicts_with = "name")]
    list: bool,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let Some(name) = args.name.as_ref().filter(|_| !args.list) else {
        for (name, format) in SCHEMAS.iter().map(|schema| (schema.name, schema.about)) {
            writeln!(out, "{name:<16} {format}")?;
        }
        return Ok(Exit::Done);
    };
    let Some(schema) = schema(name) else {
        let known: Vec<&str> = SCHEMAS.iter().map(|schema| schema.name).collect();
        return Err(Failure::usage(format!("there is no schema {name:?}"), format!("one of: {}", known.join(", "))));
    };
    out.write_all(schema.text().as_bytes())?;
    Ok(Exit::Done)
}
