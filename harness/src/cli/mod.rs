//! The command line: one module a command, each with its `Args` and its `run`.
//!
//! Standard output is data, standard error is talk. A failure says what happened and ends in a hint; its exit code
//! stands in [`crate::failure::EXIT_CODES`].

mod audit;
mod bench;
mod bench_work;
mod cassette;
mod certifier;
mod certifier_command;
mod certify;
mod claimed_log;
mod commitments;
mod describe;
mod doctor;
mod doctor_certifier;
mod doctor_sandbox;
mod evaluators;
mod gcpc;
mod import;
mod models;
mod output;
mod places;
mod plugins;
mod published;
mod release_check;
mod replay;
mod run;
mod scaffold;
mod schema;
mod search;
mod shell;
mod stress;
mod tables;
mod task;
mod task_commit;
mod task_generate;
mod task_lint;
mod task_new;
mod task_seal;
mod task_show;
mod task_source;
mod task_suite;
mod verify;

use std::io::{self, IsTerminal, Write};
use std::panic;
use std::path::Path;
use std::process::ExitCode;

use clap::builder::FalseyValueParser;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use parthack_env::input::{InputError, Place};

use crate::failure::{Exit, Failure, exit_code_table};

pub use output::{ColorChoice, Output, ReportFormat};
pub use places::{SealedArgs, SuiteArgs};

/// Certified equal-progress stress tests for partial-credit evaluators.
#[derive(Debug, Parser)]
#[command(name = "parthack", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// When to colour the output
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Stress(stress::Args),
    Tables(tables::Args),
    Verify(verify::Args),
    Audit(audit::Args),
    Published(published::Args),
    ReleaseCheck(release_check::Args),
    Replay(replay::Args),
    Certify(certify::Args),
    Search(search::Args),
    Task(task::Args),
    Evaluators(evaluators::Args),
    Cassette(cassette::Args),
    Import(import::Args),
    Gcpc(gcpc::Args),
    Schema(schema::Args),
    Doctor(doctor::Args),
    Bench(bench::Args),
    Completions(shell::CompletionArgs),
    Man(shell::ManArgs),
    #[command(name = "__evaluate", hide = true)]
    Evaluate(evaluators::ServeArgs),
    #[command(name = "__judge", hide = true)]
    Judge(evaluators::JudgeArgs),
}

/// The whole definition of the command line; completions and man pages come from it.
#[must_use]
pub fn definition() -> clap::Command {
    let notes = format!(
        "Example:\n  parthack run --out runs/first\n\n{}\n\
         Every flag can also be set by a variable: --suite by PARTHACK_SUITE, --max-steps by PARTHACK_MAX_STEPS.",
        exit_code_table()
    );
    with_variables(Cli::command()).after_help(notes)
}

/// Lets `PARTHACK_<FLAG>` stand for every flag.
fn with_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let Some(long) = arg.get_long().filter(|long| !matches!(*long, "help" | "version")) else { return arg };
        let name = format!("PARTHACK_{}", long.replace('-', "_").to_ascii_uppercase());
        let arg = if matches!(arg.get_action(), ArgAction::SetTrue) {
            arg.value_parser(FalseyValueParser::new())
        } else {
            arg
        };
        arg.env(name).hide_env(true)
    });
    command.mut_subcommands(with_variables)
}

/// Runs the process's command line.
#[must_use]
pub fn main() -> ExitCode {
    // A confined probe of the sandbox must find the process as it was started.
    if let Some(code) = crate::audit::access::serve(std::env::args_os()) {
        return ExitCode::from(code);
    }
    install_panic_hook();
    let exit = panic::catch_unwind(|| {
        if let Err(failure) = read_dot_env() {
            return finish(Err(failure), ColorChoice::Auto);
        }
        let color = color_on_command_line();
        let parsed = definition().color(color.for_help()).try_get_matches();
        match parsed.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches)) {
            Ok(cli) => finish(dispatch(&cli), cli.color),
            Err(error) => {
                // Nobody is left to talk to if this fails.
                let _ = error.print();
                if error.use_stderr() { Exit::Usage } else { Exit::Done }
            }
        }
    });
    ExitCode::from(exit.unwrap_or(Exit::Bug).code())
}

/// Takes over what `.env` sets and the environment does not; the file is looked for from the working folder upward. No text of
/// it is ever shown: it is where keys are kept.
fn read_dot_env() -> Result<(), Failure> {
    let broken = |found: String| InputError::new(Place::File, found, "lines NAME=value").in_file(Path::new(".env"));
    match dotenvy::dotenv() {
        Ok(_) => Ok(()),
        Err(error) if error.not_found() => Ok(()),
        Err(dotenvy::Error::LineParse(line, at)) => {
            let name = line.split('=').next().filter(|name| name.len() < line.len()).unwrap_or("a line");
            Err(broken(format!("{name} that can't be read, at character {} of its line", at + 1)).into())
        }
        Err(dotenvy::Error::Io(error)) => Err(broken(error.to_string()).into()),
        Err(_) => Err(broken("a value that can't be read".to_owned()).into()),
    }
}

fn dispatch(cli: &Cli) -> Result<Exit, Failure> {
    let mut output = Output::new(cli.color);
    let out = &mut output;
    let exit = match &cli.command {
        Command::Run(args) => run::run(args, out),
        Command::Stress(args) => stress::run(args, out),
        Command::Tables(args) => tables::run(args, out),
        Command::Verify(args) => verify::run(args, out),
        Command::Audit(args) => audit::run(args, out),
        Command::Published(args) => published::run(args, out),
        Command::ReleaseCheck(args) => release_check::run(args, out),
        Command::Replay(args) => replay::run(args, out),
        Command::Certify(args) => certify::run(args, out),
        Command::Search(args) => search::run(args, out),
        Command::Task(args) => task::run(args, out),
        Command::Schema(args) => schema::run(args, out),
        Command::Doctor(args) => doctor::run(args, out),
        Command::Bench(args) => bench::run(args, out),
        Command::Completions(args) => shell::completions(args, out),
        Command::Man(args) => shell::man(args, out),
        Command::Evaluators(args) => evaluators::run(args, out),
        Command::Cassette(args) => cassette::run(args, out),
        Command::Import(args) => import::run(args, out),
        Command::Gcpc(args) => gcpc::run(args, out),
        Command::Evaluate(args) => evaluators::serve(args, out),
        Command::Judge(_) => evaluators::judge(out),
    };
    output.flush()?;
    exit
}

/// The one place where failures are printed.
fn finish(result: Result<Exit, Failure>, color: ColorChoice) -> Exit {
    let failure = match result {
        Ok(exit) => return exit,
        Err(failure) => failure,
    };
    if !failure.is_quiet() {
        let mut stderr = io::stderr().lock();
        let (message, causes, hint) = failure.parts();
        let (red, cyan, plain) =
            if color.colors(stderr.is_terminal()) { ("\u{1b}[1;31m", "\u{1b}[36m", "\u{1b}[0m") } else { ("", "", "") };
        let mut text = format!("{red}error:{plain} {message}\n");
        causes.iter().for_each(|cause| text.push_str(&format!("  caused by: {cause}\n")));
        if !hint.is_empty() {
            text.push_str(&format!("{cyan}hint:{plain} {hint}\n"));
        }
        // If standard error is closed, the exit code still tells.
        let _ = stderr.write_all(text.as_bytes());
    }
    failure.exit()
}

/// A panic is a bug: it says so, and the process ends with 70.
fn install_panic_hook() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("no message");
        let text = format!(
            "error: a bug in parthack {}: {message}{place}\n\
             hint: this should not happen; please report it with the command line and the input\n",
            env!("CARGO_PKG_VERSION")
        );
        let _ = io::stderr().write_all(text.as_bytes());
    }));
}

/// `--color` for help texts, which are printed before the command line is parsed.
fn color_on_command_line() -> ColorChoice {
    let mut choice = std::env::var("PARTHACK_COLOR").ok();
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--color") => choice = arguments.next().and_then(|value| value.into_string().ok()),
            Some(text) if text.starts_with("--color=") => choice = text.strip_prefix("--color=").map(str::to_owned),
            _ => {}
        }
    }
    match choice.as_deref() {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

/// Threads that the machine offers.
pub(crate) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
    }

    /// Every command has a sentence and an example, and every flag a help text.
    #[test]
    fn every_command_is_documented() {
        fn check(command: &clap::Command, path: &str) {
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
                let path = format!("{path} {}", sub.get_name());
                assert!(sub.get_about().is_some(), "{path} has no sentence");
                if sub.has_subcommands() {
                    check(sub, &path);
                    continue;
                }
                let notes = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(notes.contains("Example:") && notes.contains(&path), "{path} has no example");
                for arg in sub.get_arguments() {
                    assert!(arg.get_help().is_some(), "{path}: {} has no help", arg.get_id());
                }
            }
        }
        check(&definition(), "parthack");
    }
}
