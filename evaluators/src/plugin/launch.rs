//! How the host starts a process and ends it: plainly, or confined by whoever implements [`Launch`].

use std::fmt;
use std::io::{self, Read, Write};
use std::time::Duration;

use super::fault::{Fault, FaultCode};
use super::spec::Program;

/// Starts processes. The host calls [`Launch::launch`] from several threads; each thread outlives the processes that it
/// starts.
pub trait Launch: Send + Sync + fmt::Debug {
    /// Starts a program: exactly its arguments, environment and working folder, and three pipes.
    ///
    /// # Errors
    /// [`LaunchError`]; the program has not run then.
    fn launch(&self, program: &Program) -> Result<Launched, LaunchError>;

    /// How processes are kept apart, for reports.
    fn isolation(&self) -> String;
}

/// A process that was started.
pub struct Launched {
    /// Its standard input. Dropping it ends the input.
    pub input: Box<dyn Write + Send>,
    /// Its standard output.
    pub output: Box<dyn Read + Send>,
    /// Its standard error.
    pub errors: Box<dyn Read + Send>,
    /// The process itself.
    pub process: Box<dyn Process>,
    /// What the user should know about how it was started, if anything.
    pub note: Option<String>,
}

impl fmt::Debug for Launched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Launched").field("process", &self.process).field("note", &self.note).finish_non_exhaustive()
    }
}

/// A process. Dropping it must kill and reap it.
pub trait Process: Send + fmt::Debug {
    /// Waits for its end, at most this long; none when the time is over and it still runs. Once it has ended, the answer
    /// stays the same.
    ///
    /// # Errors
    /// It can't be waited for.
    fn wait(&mut self, at_most: Duration) -> io::Result<Option<Ended>>;

    /// Kills it and all that it started, as far as they can be found. No error if it has ended already.
    ///
    /// # Errors
    /// The system refuses.
    fn kill(&mut self) -> io::Result<()>;
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It returned this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// It used up its processor time.
    CpuLimit,
    /// In a way that the system doesn't tell.
    Unknown,
}

impl fmt::Display for Ended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Code(code) => write!(out, "it ended with exit code {code}"),
            Ended::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(out, "{name} (signal {signal}) ended it"),
                None => write!(out, "signal {signal} ended it"),
            },
            Ended::CpuLimit => write!(out, "it used up its processor time"),
            Ended::Unknown => write!(out, "it ended"),
        }
    }
}

/// Names of signals that have one number on every system this runs on.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        _ => return None,
    })
}

/// Why a process was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The program can't be executed.
    #[error("{0}")]
    NotStarted(String),
    /// Its confinement can't be set up.
    #[error("{0}")]
    Sandbox(String),
}

impl LaunchError {
    pub(super) fn fault(self) -> Fault {
        match self {
            LaunchError::NotStarted(message) => Fault::new(FaultCode::NotStarted, message),
            LaunchError::Sandbox(message) => Fault::new(FaultCode::Sandbox, message),
        }
    }
}
