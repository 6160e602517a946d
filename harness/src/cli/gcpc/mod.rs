//! `parthack gcpc`: Grounded Checklist Partial Credit over anyone's logs (G §3).

mod analyze;
mod check;
mod control;
mod freeze;
mod judge;
mod score;
mod source;
mod synthesize;
mod verifier_files;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Subcommand;

use crate::cli::Output;
use crate::cli::models::{ClientArgs, ModelModeArg, ResolvedRoles, recorded_roles};
use crate::failure::{Exit, Failure};
use crate::gcpc::folder::GcpcFolder;
use crate::gcpc::pipeline::Pipeline;
use crate::run::interrupt::stop_on_signal;
use crate::run::models::{Models, Strict, archive_folder};
use crate::run::recorded::recorded_role;
use crate::run::spending;

/// Grounded Checklist Partial Credit
///
/// The order of work: synthesize checklists, freeze them, judge logs by them, analyze. Everything is kept in one folder.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Synthesize(synthesize::Args),
    Check(check::Args),
    Freeze(freeze::Args),
    Judge(judge::Args),
    Score(score::Args),
    Control(control::Args),
    Analyze(analyze::Args),
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    match &args.command {
        Command::Synthesize(args) => synthesize::run(args, out),
        Command::Check(args) => check::run(args, out),
        Command::Freeze(args) => freeze::run(args, out),
        Command::Judge(args) => judge::run(args, out),
        Command::Score(args) => score::run(args, out),
        Command::Control(args) => control::run(args, out),
        Command::Analyze(args) => analyze::run(args, out),
    }
}

/// The models of a command on a folder.
fn pipeline(args: &ClientArgs, folder: &GcpcFolder) -> Result<Pipeline, Failure> {
    let run = folder.as_run();
    let roles = args.roles()?;
    if roles.attacker.is_some() {
        return Err(Failure::usage("--role attacker: there is no attacker here", "the roles are checklist and judge"));
    }
    let mode = args.model_mode.ok_or_else(|| {
        Failure::usage(
            "no model takes part",
            "add --model-mode live, record or replay, and --role judge=PROVIDER/MODEL",
        )
    })?;
    let (models, checklist, judge) = match mode {
        ModelModeArg::Replay => {
            let recordings = args.cassettes.clone().unwrap_or_else(|| archive_folder(&run));
            let mut recorded = recorded_roles(&recordings)?;
            let checklist = recorded_role(&mut recorded, "checklist", roles.checklist.as_ref())?;
            let judge = recorded_role(&mut recorded, "judge", roles.judge.as_ref())?;
            (Models::Replay { folders: vec![recordings], strict: Strict::ALL }, checklist, judge)
        }
        ModelModeArg::Live | ModelModeArg::Record => {
            let stop: Arc<AtomicBool> = stop_on_signal()?;
            let options = args.options(&stop)?;
            let ResolvedRoles { checklist, judge, .. } = roles.resolved(&options)?;
            let models = match mode {
                ModelModeArg::Record => Models::Record(options, args.record_folder()?),
                _ => Models::Live(options),
            };
            (models, checklist, judge)
        }
    };
    let asking = models.asking(&run, spending::spent(&run))?;
    let asking = asking.ok_or_else(|| Failure::Bug("a mode without a client".to_owned()))?;
    Ok(Pipeline { asking, checklist, judge })
}

/// What models were asked, on standard error: it is not the same in a replay.
fn say_spent(pipeline: &Pipeline) {
    for (role, account) in &pipeline.asking.client.spent().roles {
        eprintln!(
            "{role}: {} calls ({} requests sent, {} from recordings, {} retries), {}",
            account.calls, account.requests, account.from_cassette, account.retries, account.cost
        );
    }
}

/// The folder of a pipeline that must be there.
fn existing(path: &Path) -> Result<GcpcFolder, Failure> {
    if path.is_dir() {
        return Ok(GcpcFolder::at(path));
    }
    Err(Failure::absent(format!("{}: no such folder", path.display()), "parthack gcpc synthesize makes one"))
}
