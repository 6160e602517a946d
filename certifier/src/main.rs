//! The certifier process: the only program that opens sealed packages (SPEC §4, §15.6).
//!
//! `parthack-certifier --tasks DIR --sealed DIR` reads every package of `--sealed`, plain or sealed, and its public file,
//! closes them, wipes the key, gives up every right but to read, write and compute, and then talks `parthack.certifier/1` on
//! stdin and stdout until stdin ends. With the name of a command it seals, opens, commits to or reveals packages instead.

mod commands;
mod confinement;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use parthack_certifier::protocol::PROTOCOL;
use parthack_certifier::sealing::folder::{KEY_FILE, KEY_FILE_VARIABLE, KEY_VARIABLE, load};
use parthack_certifier::serve::serve;

use commands::with_causes;

const USAGE: &str = "usage: parthack-certifier --tasks DIR --sealed DIR";
/// Exit codes of the project's table: usage, bad input file, environment.
const EXIT_USAGE: u8 = 2;
const EXIT_INPUT: u8 = 3;
const EXIT_ENVIRONMENT: u8 = 4;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(code) = commands::run(&arguments) {
        return code;
    }
    let (tasks, sealed) = match read_arguments(arguments.into_iter()) {
        Ok(Arguments::Folders { tasks, sealed }) => (tasks, sealed),
        Ok(Arguments::Say(text)) => {
            println!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(message) => return fail(EXIT_USAGE, &format!("{message}\n{USAGE}")),
    };
    let store = match load(&tasks, &sealed, &|name| std::env::var_os(name)) {
        Ok(store) => store,
        Err(error) => {
            let code = if error.is_environment() { EXIT_ENVIRONMENT } else { EXIT_INPUT };
            return fail(code, &with_causes(&error));
        }
    };
    // Everything is read; nothing but the three pipes is needed from here on.
    let confinement = confinement::confine();
    if let Some(warning) = confinement::warning(&confinement) {
        eprintln!("parthack-certifier: {warning}");
    }
    match serve(store, confinement, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(EXIT_ENVIRONMENT, &error.to_string()),
    }
}

fn fail(code: u8, message: &str) -> ExitCode {
    eprintln!("parthack-certifier: {message}");
    ExitCode::from(code)
}

enum Arguments {
    Folders { tasks: PathBuf, sealed: PathBuf },
    Say(String),
}

fn read_arguments(mut arguments: impl Iterator<Item = OsString>) -> Result<Arguments, String> {
    let (mut tasks, mut sealed) = (None, None);
    while let Some(argument) = arguments.next() {
        let place = match argument.to_str() {
            Some("--tasks") => &mut tasks,
            Some("--sealed") => &mut sealed,
            Some("--help" | "-h") => {
                let text = format!(
                    "{USAGE}\n{}\n\nThe first form talks {PROTOCOL} on stdin and stdout.\n\nThe key of sealed packages is that of the variable {KEY_VARIABLE}, of the file that\n{KEY_FILE_VARIABLE} names, or of {KEY_FILE} in the sealed folder.",
                    commands::USAGE
                );
                return Ok(Arguments::Say(text));
            }
            Some("--version" | "-V") => {
                return Ok(Arguments::Say(format!("parthack-certifier {}", env!("CARGO_PKG_VERSION"))));
            }
            _ => return Err(format!("found the argument {argument:?}, expected --tasks or --sealed")),
        };
        let folder = arguments.next().ok_or_else(|| format!("{argument:?} needs a folder"))?;
        if place.replace(PathBuf::from(folder)).is_some() {
            return Err(format!("{argument:?} stands twice"));
        }
    }
    match (tasks, sealed) {
        (Some(tasks), Some(sealed)) => Ok(Arguments::Folders { tasks, sealed }),
        _ => Err("both folders are needed".to_owned()),
    }
}
