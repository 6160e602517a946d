//! `parthack verify`: a finished run worked out again from what it stored.

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::run::{this_program, threads};
use crate::cli::{Output, ReportFormat, SealedArgs, SuiteArgs, commitments};
use crate::failure::{Exit, Failure};
use crate::run::certifier_process::CertifierProcess;
use crate::run::suite::Suite;
use crate::run::verify::{Verification, VerifyJob, verify_run};

/// Verify a finished run: chain, objects, replay, certification, scores, tables
///
/// Names the first record at fault and exits 1 if there is one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack verify runs/first")]
pub(super) struct Args {
    /// Run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    sealed: SealedArgs,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

#[derive(Serialize)]
struct Report<'r> {
    verified: bool,
    passed: Vec<Check<'r>>,
    fault: Option<Fault<'r>>,
}

#[derive(Serialize)]
struct Check<'r> {
    check: &'r str,
    count: usize,
}

#[derive(Serialize)]
struct Fault<'r> {
    record: &'r str,
    detail: &'r str,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let places = args.suite.places_with(&args.sealed);
    let (program, folder, sealed) = (places.certifier()?, places.suite()?, places.sealed()?);
    let suite = Suite::load(&folder)?;
    let certifier = CertifierProcess::start(&program, &folder, &sealed)?;
    commitments::say(&suite);
    let verification = verify_run(VerifyJob {
        folder: args.run.clone(),
        suite,
        certifier: Box::new(certifier),
        evaluator_program: this_program()?,
        threads: threads(args.threads),
    })?;
    print(&verification, args.format, out)?;
    Ok(if verification.fault.is_none() { Exit::Done } else { Exit::Failed })
}

fn print(verification: &Verification, format: ReportFormat, out: &mut Output) -> std::io::Result<()> {
    let Verification { passed, fault } = verification;
    match format {
        ReportFormat::Json => out.json(&Report {
            verified: fault.is_none(),
            passed: passed.iter().map(|(check, count)| Check { check, count: *count }).collect(),
            fault: fault.as_ref().map(|fault| Fault { record: &fault.what, detail: &fault.detail }),
        }),
        ReportFormat::Text => {
            for (check, count) in passed {
                writeln!(out, "ok     {check}: {count}")?;
            }
            match fault {
                None => writeln!(out, "verified"),
                Some(fault) => writeln!(out, "FAULT  {}: {}", fault.what, fault.detail),
            }
        }
    }
}
