//! The commitments of a suite, where it has some: the certifier checks packages against them when it starts, and whoever starts
//! it says so.

use crate::run::suite::Suite;

/// Says on standard error which commitments the packages were checked against; a certifier runs by now.
pub(super) fn say(suite: &Suite) {
    if let Some(hash) = &suite.commitments {
        eprintln!("packages are those of the commitments {hash}");
    }
}
