//! The commitments of a suite, where it has some: the certifier checks packages against them when it starts, and whoever starts
//! it says so.

use std::path::Path;

use parthack_certifier::sealing::Commitments;
use parthack_certifier::sealing::folder::{COMMITMENTS_FILE, read_commitments};

use crate::failure::{Exit, Failure};

/// The commitments beside a suite's `suite.json`, if there are any.
///
/// # Errors
/// They can't be read, or are none.
pub(super) fn of_suite(folder: &Path) -> Result<Option<Commitments>, Failure> {
    read_commitments(folder).map_err(|error| Failure::Other {
        exit: if error.is_environment() { Exit::Environment } else { Exit::Input },
        message: format!("the commitments of the suite: {error}\nhint: take {COMMITMENTS_FILE} as it was published"),
        source: std::error::Error::source(&error).map(|cause| cause.to_string().into()),
    })
}

/// Says on standard error which commitments the packages were checked against; a certifier runs by now.
///
/// # Errors
/// As [`of_suite`].
pub(super) fn say(folder: &Path) -> Result<(), Failure> {
    if let Some(commitments) = of_suite(folder)? {
        eprintln!("packages are those of the commitments {}", commitments.hash());
    }
    Ok(())
}
