//! `parthack task`: show, lint, scaffold, generate, seal, commit to and reveal tasks.

use clap::Subcommand;

use super::{Output, task_commit, task_generate, task_lint, task_new, task_seal, task_show, task_suite};
use crate::failure::{Exit, Failure};

/// Show, check, scaffold, generate, seal and reveal tasks
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Lint(task_lint::Args),
    Show(task_show::Args),
    New(task_new::Args),
    Generate(task_generate::Args),
    Suite(task_suite::Args),
    Seal(task_seal::SealArgs),
    Unseal(task_seal::UnsealArgs),
    Commit(task_commit::CommitArgs),
    Reveal(task_commit::RevealArgs),
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    match &args.command {
        Command::Lint(args) => task_lint::run(args, out),
        Command::Show(args) => task_show::run(args, out),
        Command::New(args) => task_new::run(args, out),
        Command::Generate(args) => task_generate::run(args, out),
        Command::Suite(args) => task_suite::run(args, out),
        Command::Seal(args) => task_seal::seal(args, out),
        Command::Unseal(args) => task_seal::unseal(args, out),
        Command::Commit(args) => task_commit::commit(args, out),
        Command::Reveal(args) => task_commit::reveal(args, out),
    }
}
