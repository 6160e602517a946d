//! The probes' interface where there is no Linux sandbox to try: it compiles, and says that there is nothing to run.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::Tier;

/// One escape attempt; there are none here.
#[derive(Debug)]
pub struct Probe {
    /// Its stable name.
    pub id: &'static str,
    /// What it tries, as a phrase.
    pub what: &'static str,
    /// It takes longer than a few milliseconds.
    pub slow: bool,
}

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The attempt could not be made.
    NotSetUp(String),
}

impl Verdict {
    /// Did the attempt fail?
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        false
    }

    /// Did the attempt succeed?
    #[must_use]
    pub fn is_open(&self) -> bool {
        false
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::NotSetUp(reason) = self;
        write!(formatter, "could not be set up ({reason})")
    }
}

/// A program that runs probes.
#[derive(Clone, Debug)]
pub struct Host {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its own arguments, which come first.
    pub arguments: Vec<String>,
}

/// Which probes to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Those that take a few milliseconds each.
    Quick,
    /// All.
    All,
}

/// What came of one probe.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// The probe.
    pub probe: &'static Probe,
    /// What came of it.
    pub verdict: Verdict,
    /// It is claimed to be blocked.
    pub claimed: bool,
}

impl ProbeResult {
    /// Does the result fall short of what is claimed?
    #[must_use]
    pub fn falls_short(&self) -> bool {
        self.claimed
    }
}

/// Every probe, by topic: none.
pub static ALL: [&[Probe]; 0] = [];

/// Every probe in one row: none.
pub fn all() -> impl Iterator<Item = &'static Probe> {
    ALL.iter().flat_map(|topic| topic.iter())
}

/// There is nothing to try.
///
/// # Errors
///
/// Always, of the kind [`io::ErrorKind::Unsupported`].
pub fn audit(_: &Host, _: Tier, _: Selection) -> io::Result<Vec<ProbeResult>> {
    Err(unsupported())
}

/// There is nothing to try.
///
/// # Errors
///
/// Always, of the kind [`io::ErrorKind::Unsupported`].
pub fn control(_: &Host, _: Selection) -> io::Result<Vec<ProbeResult>> {
    Err(unsupported())
}

/// There is nothing to run; the code to exit with.
#[must_use]
pub fn probe_main(_: &[OsString]) -> u8 {
    eprintln!("{}", unsupported());
    4
}

fn unsupported() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "the probes try ways out of a Linux sandbox; this system has tier 0 alone",
    )
}
