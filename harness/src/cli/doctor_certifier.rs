//! What `parthack doctor` says of the certifier's confinement and of a suite's commitments.

use super::certifier;
use super::evaluators::confined_by;
use crate::failure::Failure;
use crate::locate::Places;
use crate::run::suite::commitments_of;

/// What the certifier's process has given up, as it says itself, and what its packages were checked against.
pub(super) fn sandbox(places: &Places) -> Result<String, Failure> {
    let found = certifier::start(places, None)?.confinement()?;
    let confined = found
        .filter_instructions
        .map_or_else(|| "NOT confined".to_owned(), |instructions| confined_by(instructions, found.landlock));
    let missing: String = found.missing.iter().map(|missing| format!("; {missing}")).collect();
    let committed = match commitments_of(&places.suite()?)? {
        Some(hash) => format!("; packages are those of the commitments {hash}"),
        None => String::new(),
    };
    Ok(format!("{confined}{missing}{committed}"))
}
