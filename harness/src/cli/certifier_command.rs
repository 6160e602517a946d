//! Calling the certifier's program for work on packages: it opens them, this process sees its report alone.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use parthack_certifier::sealing::folder::{KEY_FILE_VARIABLE, KEY_VARIABLE};
use serde::de::DeserializeOwned;

use crate::failure::{Exit, Failure};

/// Where the key of a suite is.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct KeyArgs {
    /// File with the suite's key [default: the variable PARTHACK_SUITE_KEY, else suite.key beside the packages]
    #[arg(long, value_name = "FILE")]
    suite_key_file: Option<PathBuf>,
}

impl KeyArgs {
    /// Names the key's file in the environment of a child. What the variable says already stays, so that the child can
    /// object to two keys; a flag goes before both variables.
    fn pass_on(&self, command: &mut Command) {
        let Some(file) = self.suite_key_file.as_ref().filter(|file| !file.as_os_str().is_empty()) else { return };
        if std::env::var_os(KEY_FILE_VARIABLE).as_deref() != Some(file.as_os_str()) {
            command.env(KEY_FILE_VARIABLE, file).env_remove(KEY_VARIABLE);
        }
    }
}

/// The exit of a command, and its report.
pub(super) struct Report<T> {
    /// Whether it said that all is well.
    pub(super) holds: bool,
    /// What it found.
    pub(super) report: T,
}

/// Runs a command of the certifier's program. No secret stands on its command line.
///
/// # Errors
/// The program does not start, ends with a failure, which is passed on with its exit code, or writes no report.
pub(super) fn call<T: DeserializeOwned>(
    program: &Path,
    name: &str,
    arguments: &[(&str, &Path)],
    operand: Option<&Path>,
    key: &KeyArgs,
) -> Result<Report<T>, Failure> {
    let mut command = Command::new(program);
    command.arg(name);
    for (flag, path) in arguments {
        command.arg(flag).arg(path);
    }
    // A folder whose name begins with a hyphen is no flag.
    command.args(operand.map(|path| if starts_like_a_flag(path) { Path::new(".").join(path) } else { path.into() }));
    key.pass_on(&mut command);
    let output = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    let output = output.map_err(|error| {
        Failure::environment(format!("cannot start {}", program.display()), error, "name another by --certifier")
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout);
    match (output.status.code(), report) {
        (Some(0), Ok(report)) => Ok(Report { holds: true, report }),
        (Some(1), Ok(report)) => Ok(Report { holds: false, report }),
        (Some(code), _) if code != 0 => {
            let message = said.trim_end().strip_prefix("parthack-certifier: ").unwrap_or(said.trim_end()).to_owned();
            Err(Failure::Other { exit: u8::try_from(code).map_or(Exit::Bug, Exit::from_code), message, source: None })
        }
        (code, report) => {
            let found = report.err().map_or_else(|| "no exit code".to_owned(), |error| error.to_string());
            let message = format!("{} {name} ended without a report ({found}, {code:?}): {said}", program.display());
            Err(Failure::absent(message, "build both programs from one version"))
        }
    }
}

fn starts_like_a_flag(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().starts_with(b"-")
}

/// `3 packages`, `1 package`.
pub(super) fn packages(count: usize) -> String {
    if count == 1 { "1 package".to_owned() } else { format!("{count} packages") }
}

/// A file name as a user types it into a shell.
pub(super) fn typed(path: impl AsRef<OsStr>) -> String {
    let text = OsString::from(path.as_ref()).to_string_lossy().into_owned();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
