//! How a command fails: one error type, one table of exit codes (SPEC §11), one way to print a failure.

use std::error::Error;
use std::fmt::Write as _;
use std::io;

use parthack_env::input::InputError;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Exit {
    /// Done, and nothing failed.
    Done = 0,
    /// A bar or a verification failed.
    Failed = 1,
    /// The command line was wrong.
    Usage = 2,
    /// An input file was wrong.
    Input = 3,
    /// The environment: sandbox, disk, permission, a missing program.
    Environment = 4,
    /// Cells were left without a verdict.
    Incomplete = 5,
    /// A bug of this program.
    Bug = 70,
    /// Stopped by a signal.
    Interrupted = 130,
}

/// The table of exit codes, as help and documentation print it.
pub const EXIT_CODES: [(Exit, &str); 8] = [
    (Exit::Done, "done, and nothing failed"),
    (Exit::Failed, "a --fail-on bar or a verification failed"),
    (Exit::Usage, "the command line was wrong"),
    (Exit::Input, "an input file was wrong"),
    (Exit::Environment, "environment: sandbox, disk, permission, a program that is not there"),
    (Exit::Incomplete, "model or plugin faults left cells without a verdict, and --allow-missing was not given"),
    (Exit::Bug, "a bug of this program"),
    (Exit::Interrupted, "stopped by a signal; what a run did is kept, and stress keeps nothing"),
];

impl Exit {
    /// The number.
    ///
    /// ```
    /// # use parthack::failure::Exit;
    /// assert_eq!((Exit::Done.code(), Exit::Input.code(), Exit::Bug.code()), (0, 3, 70));
    /// ```
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The exit of a number; what is in no table is a bug.
    #[must_use]
    pub fn from_code(code: u8) -> Exit {
        EXIT_CODES.iter().map(|(exit, _)| *exit).find(|exit| exit.code() == code).unwrap_or(Exit::Bug)
    }
}

/// The table of exit codes as text, for `--help`.
#[must_use]
pub fn exit_code_table() -> String {
    let mut text = String::from("Exit codes:\n");
    for (exit, meaning) in EXIT_CODES {
        let _ = writeln!(text, "  {:>3}  {meaning}", exit.code());
    }
    text
}

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A check failed; what differs has been reported.
    #[error("{0}")]
    Failed(String),
    /// The command line does not fit together.
    #[error("{message}")]
    Usage {
        /// What does not fit.
        message: String,
        /// What to do.
        hint: String,
    },
    /// An input file is wrong.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The system refused something, or something is not installed.
    #[error("{message}")]
    Environment {
        /// What was tried.
        message: String,
        /// What the system said.
        source: Option<io::Error>,
        /// What to do.
        hint: String,
    },
    /// Another module's failure with an exit code of its own.
    #[error("{message}")]
    Other {
        /// How the process ends.
        exit: Exit,
        /// What happened; may end in a line that begins with `hint:`.
        message: String,
        /// What caused it.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// Something that should be impossible.
    #[error("{0}")]
    Bug(String),
    /// Writing to standard output failed. Files are never written through this variant.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

/// What an [`InputError`] without a hint of its own tells the user.
const FORMAT_HINT: &str =
    "docs/formats.md says what each format holds; `parthack schema --list` names those with a JSON Schema";
const BUG_HINT: &str = "this should not happen; please report it with the command line and the input";

impl Failure {
    /// A command line that does not fit together.
    #[must_use]
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::Usage { message: message.into(), hint: hint.into() }
    }

    /// Something that the system refused.
    #[must_use]
    pub fn environment(message: impl Into<String>, source: io::Error, hint: impl Into<String>) -> Failure {
        Failure::Environment { message: message.into(), source: Some(source), hint: hint.into() }
    }

    /// Something that is not there.
    #[must_use]
    pub fn absent(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::Environment { message: message.into(), source: None, hint: hint.into() }
    }

    /// How the process ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Failure::Failed(_) => Exit::Failed,
            Failure::Usage { .. } => Exit::Usage,
            Failure::Input(_) => Exit::Input,
            Failure::Environment { .. } => Exit::Environment,
            Failure::Other { exit, .. } => *exit,
            Failure::Bug(_) => Exit::Bug,
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Failure::Output(_) => Exit::Environment,
        }
    }

    /// Whether nobody is left to talk to: the reader of standard output has gone.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What happened, what caused it, and what to do: three parts, the last perhaps empty.
    ///
    /// ```
    /// # use parthack::failure::Failure;
    /// let (message, causes, hint) = Failure::usage("two of --a and --b", "give one").parts();
    /// assert_eq!((message.as_str(), causes.len(), hint.as_str()), ("two of --a and --b", 0, "give one"));
    /// ```
    #[must_use]
    pub fn parts(&self) -> (String, Vec<String>, String) {
        let text = self.to_string();
        let (message, in_text) = text.split_once("\nhint: ").map_or((text.as_str(), None), |(m, h)| (m, Some(h)));
        let mut causes = Vec::new();
        let mut cause = self.source();
        while let Some(error) = cause {
            let line = error.to_string();
            if !message.contains(&line) {
                causes.push(line);
            }
            cause = error.source();
        }
        let own = match self {
            Failure::Usage { hint, .. } | Failure::Environment { hint, .. } => hint,
            Failure::Input(_) => FORMAT_HINT,
            Failure::Bug(_) => BUG_HINT,
            Failure::Output(_) => "check the disk or the program that reads the output",
            Failure::Other { exit: Exit::Input, .. } => FORMAT_HINT,
            Failure::Other { exit: Exit::Bug, .. } => BUG_HINT,
            _ => "",
        };
        (message.to_owned(), causes, in_text.unwrap_or(own).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_is_in_the_table_once() {
        for (exit, _) in EXIT_CODES {
            assert_eq!(Exit::from_code(exit.code()), exit);
        }
        let mut codes: Vec<u8> = EXIT_CODES.iter().map(|(exit, _)| exit.code()).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 70, 130]);
        assert_eq!(Exit::from_code(99), Exit::Bug);
    }

    #[test]
    fn hints_come_last_and_causes_before_them() {
        let error = InputError::at("/id", "\"../x\"", "an identifier").in_file("a.json".as_ref());
        let (message, causes, hint) = Failure::from(error.clone()).parts();
        assert_eq!(message, "a.json: /id: found \"../x\", expected an identifier");
        assert!(causes.is_empty());
        assert_eq!(hint, FORMAT_HINT);
        assert_eq!(Failure::from(error.hint("rename it")).parts().2, "rename it");

        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let failure = Failure::environment("cannot read x", denied, "check it");
        assert_eq!(failure.exit(), Exit::Environment);
        assert_eq!(failure.parts().1, ["permission denied"]);
    }

    #[test]
    fn a_closed_pipe_is_quiet() {
        let closed = Failure::Output(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(closed.is_quiet());
        assert_eq!(closed.exit(), Exit::Done);
        assert_eq!(Failure::Output(io::Error::other("full")).exit(), Exit::Environment);
    }
}
