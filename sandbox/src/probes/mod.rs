//! Escape attempts: each tries one way out of confinement and says what came of it. Claims about isolation come from these.
//!
//! A probe is run in a process of its own, by a program that hands its arguments to [`probe_main`]: `parthack-probe`, or
//! any other that does so (see [`Host`]). [`audit`] runs them inside the real sandbox; [`control`] runs the same ones
//! without, which shows that they can succeed on this host at all.

mod audit;
mod files;
mod fixture;
mod inside;
mod kernel;
mod network;
mod processes;
mod resources;
mod verdict;

pub use audit::{Host, ProbeResult, Selection, audit, audit_with_network, control};
pub use fixture::reachable;
pub use inside::{probe_main, run_inside};
pub use verdict::{How, Verdict};

use crate::Tier;
use crate::error::Errno;
use inside::Context;

/// From which tier on a probe is claimed to be blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Where the program runs as the user that starts it, who isn't root.
    pub unprivileged: Tier,
    /// Where root starts it as another user.
    pub dropped: Tier,
}

/// Does the attempt succeed without a sandbox?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Possible {
    /// On every host.
    Always,
    /// Where this is so.
    Where(&'static str),
}

/// One escape attempt.
pub struct Probe {
    /// Its stable name.
    pub id: &'static str,
    /// What it tries, as a phrase.
    pub what: &'static str,
    /// It takes longer than a few milliseconds.
    pub slow: bool,
    /// From which tier on it is blocked.
    pub claim: Claim,
    /// Whether it succeeds unconfined.
    pub possible: Possible,
    run: fn(&Context) -> Attempt,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Probe").field("id", &self.id).field("claim", &self.claim).finish_non_exhaustive()
    }
}

/// What an attempt got hold of, or why it failed.
type Attempt = Result<Vec<u8>, Failure>;

/// Why an attempt failed.
#[derive(Debug)]
enum Failure {
    /// The system refused.
    Refused(Errno),
    /// The attempt could not be made.
    NotMade(String),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Refused(errno)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::Refused(Errno(number)),
            None => Self::NotMade(error.to_string()),
        }
    }
}

impl Probe {
    /// Blocked from this tier on, whoever starts the program; possible everywhere.
    const fn new(id: &'static str, what: &'static str, from: Tier, run: fn(&Context) -> Attempt) -> Self {
        let claim = Claim { unprivileged: from, dropped: from };
        Self { id, what, slow: false, claim, possible: Possible::Always, run }
    }

    const fn dropped(mut self, from: Tier) -> Self {
        self.claim.dropped = from;
        self
    }

    const fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    const fn possible_where(mut self, condition: &'static str) -> Self {
        self.possible = Possible::Where(condition);
        self
    }

    /// Does it try the network, so that it shows nothing where that is open?
    #[must_use]
    pub fn is_of_network(&self) -> bool {
        network::PROBES.iter().any(|probe| probe.id == self.id)
    }

    /// Is the probe claimed to be blocked at this tier?
    #[must_use]
    pub fn claimed(&self, tier: Tier, dropped: bool) -> bool {
        tier >= if dropped { self.claim.dropped } else { self.claim.unprivileged }
    }
}

/// Every probe, by topic.
pub static ALL: [&[Probe]; 5] = [files::PROBES, processes::PROBES, network::PROBES, kernel::PROBES, resources::PROBES];

/// Every probe in one row.
pub fn all() -> impl Iterator<Item = &'static Probe> {
    ALL.iter().flat_map(|topic| topic.iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_claims_are_ordered() {
        let mut names: Vec<&str> = all().map(|probe| probe.id).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(count >= 67, "{count} probes");
        for probe in all() {
            assert!(probe.claim.dropped <= probe.claim.unprivileged, "{}: a change of user never weakens", probe.id);
            assert!(probe.claimed(Tier::Full, false), "{}: tier 3 leaves nothing open", probe.id);
            assert!(probe.claimed(Tier::Landlocked, true), "{}: nor does tier 2 after a change of user", probe.id);
        }
        let open = |tier| all().filter(|probe| !probe.claimed(tier, false)).count();
        assert_eq!(open(Tier::Landlocked), 2, "a known path's status and the own standard input");
    }
}
