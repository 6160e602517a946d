//! `parthack task seal` and `unseal`: private packages encrypted at rest, by the certifier's program.

use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::certifier_command::{KeyArgs, call, packages, typed};
use super::{Output, ReportFormat};
use crate::failure::{Exit, Failure};
use crate::locate::Places;

/// Encrypt the private packages of a folder
///
/// Each DIR/ID.json becomes DIR/ID.sealed under the suite's key. A plain package is removed when its sealed one lies on disk and was
/// read back; where that was interrupted, the same command goes on. Every command opens sealed packages by itself, if it finds the key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack task seal my-suite/sealed --new-key ~/my-suite.key")]
pub(super) struct SealArgs {
    /// Folder of private packages
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Make a new key and write it into this file, for its owner alone
    #[arg(long, value_name = "FILE", conflicts_with = "suite_key_file")]
    new_key: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
    /// The certifier's program [default: beside this one]
    #[arg(long, value_name = "FILE")]
    certifier: Option<PathBuf>,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// Decrypt the private packages of a folder, to edit them
///
/// Each DIR/ID.sealed becomes DIR/ID.json, or OUT/ID.json with --out, where the sealed ones stay. A package that is sealed again is
/// another file, also if nothing was edited: commitments to the one before don't hold for it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  parthack task unseal my-suite/sealed --suite-key-file ~/my-suite.key --out /tmp/plain"
)]
pub(super) struct UnsealArgs {
    /// Folder of sealed packages
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Folder for the plain packages; the sealed ones stay [default: in place]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
    /// The certifier's program [default: beside this one]
    #[arg(long, value_name = "FILE")]
    certifier: Option<PathBuf>,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    folder: String,
    sealed: usize,
    sealed_before: usize,
    key: String,
    new_key: bool,
    key_beside: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unsealed {
    folder: String,
    opened: usize,
    in_place: bool,
}

pub(super) fn seal(args: &SealArgs, out: &mut Output) -> Result<Exit, Failure> {
    let program = Places { certifier: args.certifier.clone(), ..Places::default() }.certifier()?;
    let new_key = args.new_key.as_deref();
    let flags: Vec<_> = new_key.map(|file| ("--new-key", file)).into_iter().collect();
    let Sealed { folder, sealed, sealed_before, key, new_key: _, key_beside } =
        match (args.format, call::<Sealed>(&program, "seal", &flags, Some(&args.folder), &args.key)?.report) {
            (ReportFormat::Json, report) => {
                out.json(&report)?;
                return Ok(Exit::Done);
            }
            (ReportFormat::Text, report) => report,
        };
    writeln!(out, "sealed {} in {folder}", packages(sealed))?;
    if sealed_before > 0 {
        writeln!(out, "{} sealed before, and opened with the key", packages(sealed_before))?;
    }
    match new_key {
        Some(file) => {
            writeln!(
                out,
                "the new key is in {}; without it nothing opens: keep it, and keep it apart",
                file.display()
            )?;
        }
        None => writeln!(out, "the key is that of {key}")?,
    }
    if key_beside {
        writeln!(out, "the key lies beside the packages: whoever gets the folder can open them")?;
    } else if let Some(file) = new_key {
        writeln!(out, "PARTHACK_SUITE_KEY_FILE={} lets commands open them", typed(file))?;
    }
    Ok(Exit::Done)
}

pub(super) fn unseal(args: &UnsealArgs, out: &mut Output) -> Result<Exit, Failure> {
    let program = Places { certifier: args.certifier.clone(), ..Places::default() }.certifier()?;
    let flags: Vec<_> = args.out.as_deref().map(|folder| ("--out", folder)).into_iter().collect();
    let report: Unsealed = call(&program, "unseal", &flags, Some(&args.folder), &args.key)?.report;
    match args.format {
        ReportFormat::Json => out.json(&report)?,
        ReportFormat::Text => {
            writeln!(out, "opened {} into {}", packages(report.opened), report.folder)?;
            if report.in_place {
                writeln!(out, "the sealed files are gone; `parthack task seal` makes new ones, with other bytes")?;
            }
        }
    }
    Ok(Exit::Done)
}
