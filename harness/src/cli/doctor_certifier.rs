//! What `parthack doctor` says of the certifier's confinement and of a suite's commitments.

use super::certifier;
use crate::failure::Failure;
use crate::locate::Places;
use crate::run::suite::commitments_of;

/// What the certifier's process has given up, as it says itself, and what its packages were checked against.
pub(super) fn sandbox(places: &Places) -> Result<String, Failure> {
    let found = certifier::start(places, None)?.confinement()?;
    let filter = match found.filter_instructions {
        Some(instructions) => format!("confined by {instructions} instructions of seccomp"),
        None => "NOT confined".to_owned(),
    };
    let landlock =
        found.landlock.map_or_else(String::new, |version| format!(", an empty Landlock ruleset ({version})"));
    let missing: String = found.missing.iter().map(|missing| format!("; {missing}")).collect();
    let committed = match commitments_of(&places.suite()?)? {
        Some(hash) => format!("; packages are those of the commitments {hash}"),
        None => String::new(),
    };
    Ok(format!("{filter}{landlock}{missing}{committed}"))
}
