//! `parthack task`: show, lint, scaffold and generate tasks.

use clap::Subcommand;

use super::{Output, task_generate, task_lint, task_new, task_show};
use crate::failure::{Exit, Failure};

/// Show, check, scaffold and generate tasks
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
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    match &args.command {
        Command::Lint(args) => task_lint::run(args, out),
        Command::Show(args) => task_show::run(args, out),
        Command::New(args) => task_new::run(args, out),
        Command::Generate(args) => task_generate::run(args, out),
    }
}
