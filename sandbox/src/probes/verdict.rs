//! What came of a probe, and the line by which it says so.

use std::fmt;

use crate::error::Errno;

/// The first word of the line that a probe prints last.
pub(super) const MARK: &str = "parthack-probe/1";

/// What stopped an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// The system answered with an error.
    Errno(Errno),
    /// The process was killed by this signal.
    Signal(i32),
    /// A bound that the parent or the kernel keeps ended the process.
    Limit(&'static str),
    /// The set-up refused to start a program beside what would give the private file away.
    Refused(String),
}

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The attempt succeeded.
    Open {
        /// It read the planted secret.
        read_secret: bool,
    },
    /// The attempt failed.
    Blocked(How),
    /// The attempt could not be made: never to be counted as blocked.
    NotSetUp(String),
}

impl Verdict {
    /// Did the attempt fail?
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        matches!(self, Self::Blocked(_))
    }

    /// Did the attempt succeed?
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// The line that a probe prints.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Open { read_secret } => format!("{MARK} open {}", u8::from(*read_secret)),
            Self::Blocked(How::Errno(errno)) => format!("{MARK} blocked {}", errno.0),
            Self::Blocked(other) => format!("{MARK} not-set-up {other}"),
            Self::NotSetUp(reason) => format!("{MARK} not-set-up {}", reason.replace('\n', " ")),
        }
    }

    /// Reads the last such line.
    pub(super) fn read(output: &[u8]) -> Option<Self> {
        let output = String::from_utf8_lossy(output);
        let line = output.lines().rev().find_map(|line| line.strip_prefix(MARK))?;
        match line.trim_start().split_once(' ')? {
            ("open", secret) => Some(Self::Open { read_secret: secret == "1" }),
            ("blocked", number) => Some(Self::Blocked(How::Errno(Errno(number.parse().ok()?)))),
            ("not-set-up", reason) => Some(Self::NotSetUp(reason.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for How {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Errno(errno) => errno.fmt(formatter),
            Self::Signal(number) => write!(formatter, "killed by signal {number}"),
            Self::Limit(name) => write!(formatter, "limit: {name}"),
            Self::Refused(reason) => write!(formatter, "refused before the start: {reason}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { read_secret: true } => formatter.write_str("open, read the secret"),
            Self::Open { read_secret: false } => formatter.write_str("open"),
            Self::Blocked(how) => write!(formatter, "blocked ({how})"),
            Self::NotSetUp(reason) => write!(formatter, "could not be set up ({reason})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back() {
        for verdict in [
            Verdict::Open { read_secret: true },
            Verdict::Open { read_secret: false },
            Verdict::Blocked(How::Errno(Errno(13))),
            Verdict::NotSetUp("no victim".into()),
        ] {
            let output = format!("noise\n{MARK} open 1\nmore\n{}\n", verdict.line());
            assert_eq!(Verdict::read(output.as_bytes()), Some(verdict));
        }
        for nothing in ["", "open 1", "parthack-probe/1 perhaps 1", "parthack-probe/1 blocked much"] {
            assert_eq!(Verdict::read(nothing.as_bytes()), None, "{nothing}");
        }
    }
}
