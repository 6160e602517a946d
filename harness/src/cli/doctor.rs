//! `parthack doctor`: what this installation consists of, and whether it works.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use parthack_certifier::protocol::PROTOCOL;
use parthack_env::payload::PAYLOAD_FORMAT;
use parthack_evaluators::serve::EVALUATOR_PROTOCOL;
use serde::Serialize;

use super::{Output, ReportFormat, SealedArgs, SuiteArgs, certifier};
use crate::failure::{Exit, Failure};
use crate::locate::Places;
use crate::run::suite::Suite;

/// Check the installation: versions, suite, packages, certifier, working folder
///
/// Exits with 4 if something that a run needs is missing. What only evaluators of your own need is marked `--` where it is
/// missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack doctor")]
pub(super) struct Args {
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    sealed: SealedArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// One thing that was looked at.
#[derive(Serialize)]
pub(super) struct Finding {
    what: String,
    works: bool,
    /// Whether a run of built-in evaluators needs it.
    needed: bool,
    says: String,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let places = args.suite.places_with(&args.sealed);
    let mut findings = vec![
        fine(
            "parthack",
            format!("{} ({}, {})", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH),
        ),
        fine("formats", format!("{PAYLOAD_FORMAT}, {EVALUATOR_PROTOCOL}, {PROTOCOL}")),
        fine("threads", super::available_threads().to_string()),
        finding("suite", suite(&places)),
        finding("private packages", places.sealed().map(|folder| folder.display().to_string())),
        finding("certifier", certifier_version(&places)),
        finding("certifier process", handshake(&places)),
        finding("certifier sandbox", super::doctor_certifier::sandbox(&places)),
        finding("evaluator process", evaluator()),
        finding("working folder", writable(Path::new("."))),
    ];
    findings.extend(super::doctor_sandbox::findings());
    let works = findings.iter().all(|finding| finding.works || !finding.needed);
    match args.format {
        ReportFormat::Json => out.json(&serde_json::json!({ "works": works, "findings": findings }))?,
        ReportFormat::Text => {
            for Finding { what, works, needed, says } in &findings {
                let mark = match (works, needed) {
                    (true, _) => "ok",
                    (false, true) => "NO",
                    (false, false) => "--",
                };
                writeln!(out, "{mark:<4} {what:<20} {says}")?;
            }
        }
    }
    Ok(if works { Exit::Done } else { Exit::Environment })
}

impl Finding {
    /// Something that users' own evaluators need, and a run of built-in ones doesn't.
    pub(super) fn of_plugins(what: String, works: bool, says: String) -> Finding {
        Finding { what, works, needed: false, says }
    }
}

fn fine(what: &'static str, says: String) -> Finding {
    Finding { what: what.to_owned(), works: true, needed: true, says }
}

fn finding(what: &'static str, result: Result<String, Failure>) -> Finding {
    match result {
        Ok(says) => fine(what, says),
        Err(failure) => {
            let (message, causes, hint) = failure.parts();
            let says = [vec![message], causes, vec![format!("hint: {hint}")]].concat().join("; ");
            Finding { what: what.to_owned(), works: false, needed: true, says }
        }
    }
}

fn suite(places: &Places) -> Result<String, Failure> {
    let folder = places.suite()?;
    let suite = Suite::load(&folder)?;
    Ok(format!("{} ({} tasks, {}) in {}", suite.id, suite.tasks.len(), suite.hash, folder.display()))
}

fn certifier_version(places: &Places) -> Result<String, Failure> {
    let program = places.certifier()?;
    let output = Command::new(&program).arg("--version").output();
    let output = output.map_err(|error| {
        Failure::environment(format!("cannot start {}", program.display()), error, "name another by --certifier")
    })?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let expected = format!("parthack-certifier {}", env!("CARGO_PKG_VERSION"));
    if version != expected {
        let message = format!("{} says {version:?}, expected {expected:?}", program.display());
        return Err(Failure::absent(message, "build both programs from one version"));
    }
    Ok(format!("{version}, {}", program.display()))
}

fn handshake(places: &Places) -> Result<String, Failure> {
    let certifier = certifier::start(places, None)?;
    Ok(format!("starts, speaks {PROTOCOL}, has {} packages", certifier.tasks().len()))
}

fn evaluator() -> Result<String, Failure> {
    let failed = |error| Failure::environment("cannot start this program again", error, "check its permissions");
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(&program);
    command.args(["__evaluate", "--rules", "csps", "--confinement"]).stdin(std::process::Stdio::null());
    let child = command.output().map_err(failed)?;
    if !String::from_utf8_lossy(&child.stdout).contains(EVALUATOR_PROTOCOL) {
        return Err(Failure::absent("the evaluator process says no hello", "please report it"));
    }
    let confinement = String::from_utf8_lossy(&child.stderr);
    Ok(format!("starts, speaks {EVALUATOR_PROTOCOL}, {}", confinement.trim()))
}

/// Writes a small file and removes it.
fn writable(folder: &Path) -> Result<String, Failure> {
    let shown = std::env::current_dir().map_or_else(|_| ".".to_owned(), |path| path.display().to_string());
    let file = folder.join(format!(".parthack-doctor-{}", std::process::id()));
    let tried = std::fs::write(&file, b"").and_then(|()| std::fs::remove_file(&file));
    tried.map_err(|error| {
        Failure::environment(format!("cannot write in {shown}"), error, "runs go elsewhere with --out DIR")
    })?;
    Ok(format!("{shown} is writable"))
}
