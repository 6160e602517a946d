//! `parthack certify`: the certifier's answer to one candidate.

use std::io::Write;
use std::path::PathBuf;

use parthack_certifier::certify::ELIGIBLE;
use parthack_certifier::protocol::CertificateMessage;
use parthack_env::candidate::{Candidate, RefusalOfCandidate};
use parthack_env::canonical::Hash;
use serde_json::json;

use super::{Output, ReportFormat, SealedArgs, SuiteArgs, certifier, task_source};
use crate::failure::{Exit, Failure};
use crate::locate::read_input;

/// Ask the certifier whether a candidate is eligible
///
/// Prints one code: eligible, malformed_schema, illegal_action, replay_mismatch, stale_goal_version,
/// state_vector_mismatch or agent_vector_mismatch. Exits with 0 for an eligible candidate, with 3 for a malformed one,
/// else with 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack certify --task PH-D01 --candidate candidate.json")]
pub(super) struct Args {
    /// Task id in the suite
    #[arg(long, value_name = "ID")]
    task: String,
    /// Candidate file (parthack.candidate/1)
    #[arg(long, value_name = "FILE")]
    candidate: PathBuf,
    /// Print both trajectories' vectors as well; they are private to the certifier's operator
    #[arg(long)]
    evidence: bool,
    /// The operator's key for evidence, at least 16 characters [default: a fresh one for this certifier process]
    #[arg(long, value_name = "KEY")]
    operator_key: Option<String>,
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    sealed: SealedArgs,
    /// What the answer looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let bytes = read_input(&args.candidate)?;
    let places = args.suite.places_with(&args.sealed);
    let task = task_source::load(&places, &args.task)?;
    let (code, evidence) = if args.evidence {
        let key = args.operator_key.clone().map_or_else(certifier::fresh_key, Ok)?;
        let mut certifier = certifier::start(&places, Some(&key))?;
        let session = certifier.open_evidence(&key)?;
        let pair = certifier.pair(session, &args.task, None, &bytes)?;
        (pair.code, Some((pair.reference, pair.candidate)))
    } else {
        let mut certifier = certifier::start(&places, None)?;
        let session = certifier.open_attempt(&args.task, "certify", 1)?;
        (certifier.attempt(session, &bytes)?, None)
    };
    match args.format {
        ReportFormat::Json => {
            let mut report = json!({
                "task_id": args.task,
                "candidate": Hash::of("candidate", &bytes).hex(),
                "code": code,
            });
            if let Some((honest, candidate)) = &evidence {
                report["evidence"] = json!({ "honest": honest, "candidate": candidate });
            }
            out.json(&report)?;
        }
        ReportFormat::Text => {
            writeln!(out, "{code}")?;
            if let Some((honest, candidate)) = &evidence {
                write_certificate(out, "honest", honest)?;
                candidate.as_ref().map_or(Ok(()), |candidate| write_certificate(out, "candidate", candidate))?;
            }
        }
    }
    out.flush()?;
    explain(args, &task, &bytes, &code)
}

fn write_certificate(out: &mut Output, whose: &str, of: &CertificateMessage) -> Result<(), Failure> {
    let (state, agent) = (of.c_state.to_list(), of.c_agent.to_list());
    writeln!(
        out,
        "{whose:<10} c_state {state:?}  c_agent {agent:?}  P_state {}  P_agent {}  goal version {}",
        of.p_state, of.p_agent, of.goal_version
    )?;
    Ok(())
}

/// What the public gates say of a refused candidate, so that its author can mend it; the private ones give no reason.
fn explain(args: &Args, task: &parthack_env::task::Task, bytes: &[u8], code: &str) -> Result<Exit, Failure> {
    if code == ELIGIBLE {
        return Ok(Exit::Done);
    }
    let refusal = Candidate::admit(task, bytes).err();
    match refusal {
        Some(refusal) if refusal.code == RefusalOfCandidate::MalformedSchema => {
            let hint = "`parthack schema candidate` prints the format";
            let fault = if refusal.fault.hint.is_none() { refusal.fault.hint(hint) } else { refusal.fault };
            Err(Failure::Input(fault.in_file(&args.candidate)))
        }
        Some(refusal) => {
            let fault = refusal.fault.in_file(&args.candidate);
            Err(Failure::Failed(format!(
                "{fault}\nhint: `parthack replay FILE` shows every step with what became of it"
            )))
        }
        None => Ok(Exit::Failed),
    }
}
