//! `parthack audit`: the integrity audits of a finished run.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use parthack_certifier::sealing::folder::find_key;

use crate::audit::access::Probing;
use crate::audit::{Audit, AuditJob, audit_run};
use crate::cli::run::{this_program, threads};
use crate::cli::{Output, ReportFormat, SealedArgs, SuiteArgs};
use crate::failure::{Exit, Failure};
use crate::run::certifier_process::CertifierProcess;
use crate::run::certifying::Certify;
use crate::run::error::RunError;
use crate::run::files::write_atomically;
use crate::run::suite::Suite;

/// Audit a finished run: schemas, leaks, payloads, isolation, requests, reproduction, certification, counts
///
/// Exits 1 if an audit fails. An audit that can't be done here says why and is no failure.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack audit runs/first --skip reproduction")]
pub(super) struct Args {
    /// Run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Only these audits [default: all]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    only: Vec<String>,
    /// Not these audits
    #[arg(long, value_delimiter = ',', value_name = "IDS", conflicts_with = "only")]
    skip: Vec<String>,
    /// Print also what came of every probe
    #[arg(long)]
    details: bool,
    /// Keep the report as audit.json in the run folder too; nothing else in it changes
    #[arg(long)]
    write: bool,
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

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let chosen = chosen(args)?;
    let places = args.suite.places_with(&args.sealed);
    let folder = places.suite()?;
    let suite = Suite::load(&folder)?;
    let certifier = || -> Result<Box<dyn Certify>, RunError> {
        // A copy of a run is audited by anyone as far as public bytes go: what needs packages says that they are missing.
        let absent = |failure: Failure| RunError::Certifier { fault: failure.parts().0 };
        let (program, sealed) = (places.certifier().map_err(absent)?, places.sealed().map_err(absent)?);
        Ok(Box::new(CertifierProcess::start(&program, &folder, &sealed)?))
    };
    let program = this_program()?;
    let job = AuditJob {
        folder: args.run.clone(),
        suite,
        certifier: &certifier,
        suite_key: places.sealed().ok().and_then(|sealed| {
            // Without a key that can be read the certifier says what is wrong.
            let (key, _) = find_key(&sealed, &|name| std::env::var_os(name)).ok()??;
            Some(key)
        }),
        evaluator_program: program.clone(),
        recordings: places.recordings().into_iter().collect(),
        probing: Probing { program, tier: None },
        threads: threads(args.threads),
    };
    let mut begun = Instant::now();
    let report = audit_run(&job, &chosen, &mut |audit, result| match result {
        None => begun = Instant::now(),
        Some(result) => {
            let talk = result.outcome.talk.iter().fold(String::new(), |talk, line| format!("{talk}; {line}"));
            eprintln!("{}: {} in {:.1} s{talk}", audit.id(), result.verdict.word(), begun.elapsed().as_secs_f64());
        }
    })?;
    if args.write {
        let mut bytes = serde_json::to_vec_pretty(&report.json()).map_err(std::io::Error::from)?;
        bytes.push(b'\n');
        write_atomically(&args.run.join("audit.json"), &bytes)?;
    }
    match args.format {
        ReportFormat::Json => out.json(&report.json())?,
        ReportFormat::Text => write!(out, "{}", report.text(args.details))?,
    }
    Ok(if report.passed() { Exit::Done } else { Exit::Failed })
}

fn chosen(args: &Args) -> Result<Vec<Audit>, Failure> {
    let read = |ids: &[String]| -> Result<Vec<Audit>, Failure> {
        let read = |id: &String| {
            let known: Vec<&str> = Audit::ALL.iter().map(|audit| audit.id()).collect();
            let unknown =
                || Failure::usage(format!("there is no audit {id:?}"), format!("one of: {}", known.join(", ")));
            Audit::from_id(id).ok_or_else(unknown)
        };
        ids.iter().map(read).collect()
    };
    let (only, skip) = (read(&args.only)?, read(&args.skip)?);
    let wanted = |audit: &Audit| (only.is_empty() || only.contains(audit)) && !skip.contains(audit);
    Ok(Audit::ALL.into_iter().filter(wanted).collect())
}
