//! What the certifier's program does besides serving: it seals packages, opens them for their owner, commits to them and
//! reveals them. Folders stand on the command line, keys never; the report is one JSON object on standard output.

mod commit;
mod files;
mod seal;

use std::collections::VecDeque;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use parthack_certifier::sealing::folder::{FolderError, KEY_FILE, KEY_FILE_VARIABLE, KEY_VARIABLE};
use serde::Serialize;

/// Exit codes of the project's table: a check that failed, usage, a wrong input file, the environment.
const EXIT_FAILED: u8 = 1;
const EXIT_USAGE: u8 = 2;
const EXIT_INPUT: u8 = 3;
const EXIT_ENVIRONMENT: u8 = 4;

/// What each command takes, for the help text.
pub(crate) const USAGE: &str = "\
       parthack-certifier seal SEALED [--new-key FILE]
       parthack-certifier unseal SEALED [--out DIR]
       parthack-certifier commit --tasks DIR --sealed DIR --salts FILE
       parthack-certifier reveal --tasks DIR --sealed DIR --salts FILE
       parthack-certifier check-reveal --tasks DIR --sealed DIR";

/// Why a command ended without its work done.
pub(crate) struct Failure {
    code: u8,
    message: String,
    hint: String,
}

impl Failure {
    fn new(code: u8, message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), hint: hint.into() }
    }

    fn usage(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::new(EXIT_USAGE, message, hint)
    }

    fn input(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::new(EXIT_INPUT, message, hint)
    }

    fn environment(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::new(EXIT_ENVIRONMENT, message, hint)
    }

    fn taken(path: &Path) -> Failure {
        Failure::usage(
            format!("{} is there already", path.display()),
            "nothing is overwritten: move it or name another",
        )
    }

    fn written(path: &Path, error: &io::Error) -> Failure {
        let hint = "check disk and permissions; what was there before is there still";
        Failure::environment(format!("cannot write {}: {error}", path.display()), hint)
    }

    fn caused(code: u8, error: &dyn Error, hint: impl Into<String>) -> Failure {
        Failure::new(code, with_causes(error), hint)
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Failure {
        let hint = match &error {
            FolderError::NoKey { .. } => format!("{KEY_FILE_VARIABLE}=FILE names the file with the key"),
            FolderError::TwoKeys => format!("unset one of them; the file is the safer place than {KEY_VARIABLE}"),
            FolderError::Key { .. } => "a key is one line of 64 hexadecimal digits".to_owned(),
            FolderError::Seal { .. } => {
                format!(
                    "if it is the wrong key, name the suite's by {KEY_FILE_VARIABLE}; {KEY_FILE} beside the packages comes last"
                )
            }
            FolderError::Both { .. } => "`parthack task seal` finishes a sealing that was interrupted".to_owned(),
            FolderError::Links { .. } => {
                "remove its second name; an interrupted write leaves one beside it, .NAME.….unfinished".to_owned()
            }
            FolderError::Committed { .. } => {
                "take the committed files, or commit anew before anything is scored".to_owned()
            }
            _ => "check the path and its permissions".to_owned(),
        };
        let code = if error.is_environment() { EXIT_ENVIRONMENT } else { EXIT_INPUT };
        Failure::caused(code, &error, hint)
    }
}

/// An error and its causes on one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}

/// Runs the command that the first argument names; none if it names no command.
pub(crate) fn run(arguments: &[OsString]) -> Option<ExitCode> {
    let (name, rest) = arguments.split_first()?;
    let rest = Rest(rest.iter().cloned().collect());
    let done = match name.to_str()? {
        "seal" => seal::seal_folder(rest).and_then(|report| say(&report, 0)),
        "unseal" => seal::unseal_folder(rest).and_then(|report| say(&report, 0)),
        "commit" => commit::commit(rest).and_then(|report| say(&report, 0)),
        "reveal" => commit::reveal(rest).and_then(|report| say(&report, 0)),
        "check-reveal" => {
            commit::check(rest).and_then(|report| say(&report, if report.holds { 0 } else { EXIT_FAILED }))
        }
        _ => return None,
    };
    Some(done.unwrap_or_else(|Failure { code, message, hint }| {
        eprintln!("parthack-certifier: {message}\nhint: {hint}");
        ExitCode::from(code)
    }))
}

fn say(report: &impl Serialize, code: u8) -> Result<ExitCode, Failure> {
    let failed =
        |error: io::Error| Failure::environment(format!("cannot write the report: {error}"), "the work is done");
    let mut line = serde_json::to_vec(report).map_err(|error| failed(error.into()))?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line).and_then(|()| output.flush()).map_err(failed)?;
    Ok(ExitCode::from(code))
}

/// Arguments that are left to be read.
struct Rest(VecDeque<OsString>);

impl Rest {
    /// Takes a flag and the path behind it, if it is there.
    fn path(&mut self, flag: &str) -> Result<Option<PathBuf>, Failure> {
        let Some(at) = self.0.iter().position(|argument| argument == flag) else { return Ok(None) };
        self.0.remove(at);
        match self.0.remove(at) {
            Some(path) if !path.is_empty() => Ok(Some(PathBuf::from(path))),
            _ => Err(Failure::usage(format!("{flag} needs a path"), "parthack-certifier --help says what is taken")),
        }
    }

    fn needed_path(&mut self, flag: &str) -> Result<PathBuf, Failure> {
        let missing = || Failure::usage(format!("{flag} is missing"), "parthack-certifier --help says what is taken");
        self.path(flag)?.ok_or_else(missing)
    }

    /// Takes the one argument that is left.
    fn folder(mut self) -> Result<PathBuf, Failure> {
        let folder = self.0.pop_front().filter(|folder| !folder.is_empty());
        self.end()?;
        folder.map(PathBuf::from).ok_or_else(|| Failure::usage("there is no folder", "name the folder of packages"))
    }

    fn end(self) -> Result<(), Failure> {
        match self.0.front() {
            None => Ok(()),
            Some(found) => {
                let message = format!("found the argument {found:?}, expected nothing more");
                Err(Failure::usage(message, "parthack-certifier --help says what is taken"))
            }
        }
    }
}

/// A variable of the environment.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A path as reports show it.
fn shown(path: impl AsRef<OsStr>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}
