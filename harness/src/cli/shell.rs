//! `parthack completions` and `parthack man`: what a shell and a manual reader need, from the one definition.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap_complete::Shell;
use clap_mangen::Man;

use super::{Output, definition};
use crate::failure::{Exit, Failure};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack completions bash > /etc/bash_completion.d/parthack")]
pub(super) struct CompletionArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Print the manual page of a command, or write all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack man search | man -l -")]
pub(super) struct ManArgs {
    /// The command, such as search or task lint [default: parthack itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write a page for every command into a folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub(super) fn completions(args: &CompletionArgs, out: &mut Output) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut definition(), "parthack", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Done)
}

pub(super) fn man(args: &ManArgs, out: &mut Output) -> Result<Exit, Failure> {
    let mut root = definition();
    root.build();
    if let Some(folder) = &args.out {
        let failed = |error| {
            Failure::environment(format!("cannot write to {}", folder.display()), error, "name another folder by --out")
        };
        fs::create_dir_all(folder).map_err(failed)?;
        for (name, command) in pages(&root, "parthack") {
            fs::write(folder.join(format!("{name}.1")), page(&command, &name)?).map_err(failed)?;
        }
        return Ok(Exit::Done);
    }
    let name = std::iter::once("parthack").chain(args.command.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
    let found = pages(&root, "parthack").into_iter().find(|(known, _)| *known == name);
    let Some((name, command)) = found else {
        return Err(Failure::usage(
            format!("there is no command {:?}", args.command.join(" ")),
            "`parthack --help` lists them",
        ));
    };
    out.write_all(&page(&command, &name)?)?;
    Ok(Exit::Done)
}

/// Every command with its page's name: `parthack`, `parthack-task`, `parthack-task-lint`.
fn pages(command: &clap::Command, name: &str) -> Vec<(String, clap::Command)> {
    let mut found = vec![(name.to_owned(), command.clone())];
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        found.extend(pages(sub, &format!("{name}-{}", sub.get_name())));
    }
    found
}

fn page(command: &clap::Command, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    Man::new(command.clone().name(name.to_owned())).title(name).render(&mut bytes)?;
    Ok(bytes)
}
