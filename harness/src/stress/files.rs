//! The folder of a report.

use std::path::Path;

use crate::ledger::canonical_value;
use crate::run::error::RunError;
use crate::run::files::{create_folder, write_atomically};
use crate::stress::pool::Pool;
use crate::stress::report::{PairScores, Report};
use crate::stress::text::{faults, side_by_side};

/// Writes `report.json`, `report.txt`, `faults.txt` if there were faults, and for the worst pair of all and of each violated relation both payloads and their steps side by side below
/// `pairs/`.
///
/// # Errors
/// [`RunError::Storage`].
pub fn write(folder: &Path, report: &Report, pool: &Pool, text: &str) -> Result<(), RunError> {
    let pairs = folder.join("pairs");
    create_folder(&pairs)?;
    let line = |bytes: &[u8]| [bytes, b"\n"].concat();
    write_atomically(&folder.join("report.json"), &line(&canonical_value(&report.json())))?;
    write_atomically(&folder.join("report.txt"), text.as_bytes())?;
    let said = faults(report);
    if !said.is_empty() {
        write_atomically(&folder.join("faults.txt"), said.as_bytes())?;
    }
    let write_pair = |name: &str, pair: &PairScores| -> Result<(), RunError> {
        for (side, place) in [("first", pair.first), ("second", pair.second)] {
            let bytes = pool.payloads.get(place).map(Vec::as_slice).unwrap_or_default();
            write_atomically(&pairs.join(format!("{name}-{side}.json")), &line(bytes))?;
        }
        let mut steps = format!("{} by {}\n", pair.task, pair.made_by);
        side_by_side(pool, pair).iter().for_each(|line| {
            steps.push_str(line);
            steps.push('\n');
        });
        write_atomically(&pairs.join(format!("{name}.txt")), steps.as_bytes())
    };
    if let Some(worst) = report.worst_pair() {
        write_pair("worst", worst)?;
    }
    for of in &report.relations {
        if let Some(worst) = &of.worst {
            write_pair(of.relation.id(), worst)?;
        }
    }
    Ok(())
}
