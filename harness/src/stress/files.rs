//! The folder of a report.

use std::fs;
use std::io;
use std::path::Path;

use parthack_attacker::patterns::relations::Relation;
use serde_json::Value;

use crate::ledger::canonical_value;
use crate::run::error::RunError;
use crate::run::files::{create_folder, read_regular, write_atomically};
use crate::stress::report::{Evidence, PairScores, Report, STRESS_FORMAT};
use crate::stress::scores;
use crate::stress::text::{faults, side_by_side};

/// The file that shows whose folder it is.
const REPORT: &str = "report.json";
/// The folder of pairs.
const PAIRS: &str = "pairs";
/// The worst pair of all in it; others have the names of their relations.
const WORST: &str = "worst";
/// The payloads of a pair.
const SIDES: [&str; 2] = ["first", "second"];
/// What the first faults were.
const FAULTS: &str = "faults.txt";

/// Whether a folder is free for a report: absent, empty, or that of an earlier report of this format, which gives way.
///
/// # Errors
/// [`RunError::Usage`] if it is something else, [`RunError::Storage`] if it can't be read.
pub fn check(folder: &Path) -> Result<(), RunError> {
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(RunError::storage("cannot read", folder, error)),
    };
    if entries.next().is_none() {
        return Ok(());
    }
    let report = read_regular(folder.join(REPORT)).ok();
    let report: Option<Value> = report.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if report.is_some_and(|report| report["format"] == STRESS_FORMAT) {
        return Ok(());
    }
    let message = format!("{} is not empty, and holds no earlier report of parthack stress", folder.display());
    Err(RunError::usage(message, "give another folder with --out"))
}

/// Writes `report.json`, `report.txt`, `scores.jsonl`, `faults.txt` if there were faults, and for the worst pair of all and of each violated
/// relation both payloads and their steps side by side below `pairs/`. What an earlier report left of these goes first; other files stay.
///
/// # Errors
/// As [`check`].
pub fn write(folder: &Path, report: &Report, evidence: &Evidence<'_>, text: &str) -> Result<(), RunError> {
    check(folder)?;
    let pairs = folder.join(PAIRS);
    for name in [WORST].into_iter().chain(Relation::ALL.into_iter().map(Relation::id)) {
        for path in SIDES
            .map(|side| pairs.join(format!("{name}-{side}.json")))
            .into_iter()
            .chain([pairs.join(format!("{name}.txt"))])
        {
            gone(fs::remove_file(&path), &path)?;
        }
    }
    gone(fs::remove_file(folder.join(FAULTS)), &folder.join(FAULTS))?;
    create_folder(folder)?;
    let line = |bytes: &[u8]| [bytes, b"\n"].concat();
    // First, so that a folder that was not finished can be written again.
    write_atomically(&folder.join(REPORT), &line(&canonical_value(&report.json())))?;
    create_folder(&pairs)?;
    write_atomically(&folder.join("report.txt"), text.as_bytes())?;
    write_atomically(&folder.join("scores.jsonl"), &scores::lines(evidence))?;
    let said = faults(report);
    if !said.is_empty() {
        write_atomically(&folder.join(FAULTS), said.as_bytes())?;
    }
    let pool = evidence.pool;
    let write_pair = |name: &str, pair: &PairScores| -> Result<(), RunError> {
        for (side, place) in SIDES.into_iter().zip([pair.first, pair.second]) {
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
        write_pair(WORST, worst)?;
    }
    for of in &report.relations {
        if let Some(worst) = &of.worst {
            write_pair(of.relation.id(), worst)?;
        }
    }
    Ok(())
}

/// What removing came to; that nothing was there is as good.
fn gone(removed: io::Result<()>, path: &Path) -> Result<(), RunError> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(RunError::storage("cannot remove", path, error)),
        _ => Ok(()),
    }
}
