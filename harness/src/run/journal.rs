//! The journal: what a killed run resumes from. One line a finished unit of work, with a checksum, in segments that are
//! only ever appended to; each process writes one segment.
//!
//! Private lines are flushed before the public line of the same unit, so that a unit whose public line is there has
//! its private one. A torn tail is cut; damage before it is an error that names segment and line, for nothing is
//! silently worked out again that someone may have edited.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use parthack_env::canonical::Hash;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ledger::{CellName, PrivateRecord, Record, canonical_of, read_strict};
use crate::run::error::RunError;
use crate::run::files::{owner_only, read_regular, sync_folder};

/// What a unit of work gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitResult {
    /// Public records.
    pub records: Vec<Record>,
    /// Private records, each with the cell that it belongs to.
    pub private: Vec<(CellName, PrivateRecord)>,
}

/// Finished units by name.
pub type Finished = BTreeMap<String, UnitResult>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<T> {
    checksum: String,
    /// Private records of the same unit, in the private journal.
    private: usize,
    records: Vec<T>,
    unit: String,
}

fn checksum<T: Serialize>(unit: &str, private: usize, records: &[T]) -> String {
    Hash::of("journal", &canonical_of(&(unit, private, records))).hex()[..16].to_owned()
}

fn line_of<T: Serialize + Clone>(unit: &str, private: usize, records: &[T]) -> Vec<u8> {
    let checksum = checksum(unit, private, records);
    let mut line = canonical_of(&Line { checksum, private, records: records.to_vec(), unit: unit.to_owned() });
    line.push(b'\n');
    line
}

/// One folder of segments.
#[derive(Debug)]
struct Segments {
    folder: PathBuf,
    /// Whether segments are their owner's alone.
    is_private: bool,
    file: Option<(PathBuf, File)>,
}

impl Segments {
    /// Reads every line of every segment; cuts a torn tail off the last one.
    fn read<T: DeserializeOwned + Serialize>(folder: &Path) -> Result<Vec<(String, usize, Vec<T>)>, RunError> {
        let mut lines = Vec::new();
        let names = segment_names(folder)?;
        for (index, name) in names.iter().enumerate() {
            let path = folder.join(name);
            let bytes = read_regular(&path).map_err(|error| RunError::storage("cannot read", &path, error))?;
            let (read, whole) = read_segment(&path, &bytes)?;
            if whole < bytes.len() {
                // Only the process that wrote the last segment can have been killed while it wrote.
                if index + 1 < names.len() {
                    let line = bytes[..whole].iter().filter(|byte| **byte == b'\n').count() + 1;
                    return Err(RunError::Journal { segment: path, line, found: "a torn line".to_owned() });
                }
                let cut = OpenOptions::new().write(true).open(&path).and_then(|file| {
                    file.set_len(whole as u64)?;
                    file.sync_data()
                });
                cut.map_err(|error| RunError::storage("cannot repair", &path, error))?;
            }
            lines.extend(read);
        }
        Ok(lines)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (path, file) = match &mut self.file {
            Some(open) => open,
            None => {
                let path = next_segment(&self.folder)?;
                let mut options = OpenOptions::new();
                options.create_new(true).append(true);
                if self.is_private {
                    owner_only(&mut options);
                }
                let file = options.open(&path);
                let file = file.map_err(|error| RunError::storage("cannot create", &path, error))?;
                sync_folder(&self.folder)?;
                self.file.insert((path, file))
            }
        };
        let before = file.metadata().map(|metadata| metadata.len());
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        written.map_err(|error| {
            // A half-written line would be cut on resume anyway; cutting it now frees a full disk's last bytes.
            if let Ok(before) = before {
                let _ = file.set_len(before);
            }
            RunError::storage("cannot write", path, error)
        })
    }
}

fn segment_names(folder: &Path) -> Result<Vec<String>, RunError> {
    let fault = |error| RunError::storage("cannot read", folder, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        let name = entry.map_err(fault)?.file_name();
        if let Some(name) = name.to_str().filter(|name| name.ends_with(".jsonl")) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn next_segment(folder: &Path) -> Result<PathBuf, RunError> {
    let last = segment_names(folder)?.pop().unwrap_or_default();
    let number = last.strip_suffix(".jsonl").and_then(|digits| digits.parse::<u32>().ok()).unwrap_or(0);
    Ok(folder.join(format!("{:06}.jsonl", number + 1)))
}

/// The lines of a segment, and how many bytes of it are whole lines.
#[expect(clippy::type_complexity, reason = "unit, private count and records of each line")]
fn read_segment<T: DeserializeOwned + Serialize>(
    path: &Path,
    bytes: &[u8],
) -> Result<(Vec<(String, usize, Vec<T>)>, usize), RunError> {
    let mut lines = Vec::new();
    let mut torn: Option<(usize, usize, String)> = None;
    let mut at = 0;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let parsed = read_line::<T>(line);
        match (parsed, &torn) {
            (Ok(_), Some((_, number, found))) => {
                return Err(RunError::Journal { segment: path.to_path_buf(), line: *number, found: found.clone() });
            }
            (Ok(read), None) => lines.push(read),
            (Err(found), None) => torn = Some((at, index + 1, found)),
            (Err(_), Some(_)) => {}
        }
        at += line.len();
    }
    // Damage that reaches the end is a torn tail only if it is one line: a write stops once.
    if let Some((start, number, found)) = torn {
        let rest = &bytes[start..];
        let ends = rest.iter().filter(|byte| **byte == b'\n').count();
        if ends > 1 || (ends == 1 && !rest.ends_with(b"\n")) {
            return Err(RunError::Journal { segment: path.to_path_buf(), line: number, found });
        }
        return Ok((lines, start));
    }
    Ok((lines, bytes.len()))
}

fn read_line<T: DeserializeOwned + Serialize>(line: &[u8]) -> Result<(String, usize, Vec<T>), String> {
    let Some(line) = line.strip_suffix(b"\n") else { return Err("a line without its end".to_owned()) };
    let line: Line<T> = read_strict(line).map_err(|error| error.to_string())?;
    if checksum(&line.unit, line.private, &line.records) != line.checksum {
        return Err("a checksum that does not fit".to_owned());
    }
    Ok((line.unit, line.private, line.records))
}

/// Both journals of a run, open for appending.
#[derive(Debug)]
pub struct Journal {
    public: Segments,
    private: Segments,
}

#[derive(Serialize, Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct PrivateLine {
    cell: CellName,
    record: PrivateRecord,
}

impl Journal {
    /// Reads what is done and opens the journals for more.
    ///
    /// # Errors
    /// [`RunError::Journal`] for damage before the tail, [`RunError::Storage`].
    pub fn open(public: &Path, private: &Path) -> Result<(Journal, Finished), RunError> {
        let mut secret: BTreeMap<String, Vec<PrivateLine>> = BTreeMap::new();
        for (unit, _, records) in Segments::read::<PrivateLine>(private)? {
            secret.insert(unit, records);
        }
        let mut finished = Finished::new();
        for (unit, count, records) in Segments::read::<Record>(public)? {
            let private = secret.get(&unit).map(Vec::as_slice).unwrap_or_default();
            if private.len() == count || count == 0 {
                let private = if count == 0 { &[] } else { private };
                let private = private.iter().map(|line| (line.cell.clone(), line.record.clone())).collect();
                finished.insert(unit, UnitResult { records, private });
            }
        }
        let segments = |folder: &Path, is_private| Segments { folder: folder.to_path_buf(), is_private, file: None };
        Ok((Journal { public: segments(public, false), private: segments(private, true) }, finished))
    }

    /// Appends finished units and flushes them to disk, the private lines first.
    ///
    /// # Errors
    /// [`RunError::Storage`].
    pub fn append(&mut self, units: &[(String, UnitResult)]) -> Result<(), RunError> {
        let (mut public, mut private) = (Vec::new(), Vec::new());
        for (unit, result) in units {
            if !result.private.is_empty() {
                let lines: Vec<PrivateLine> = (result.private.iter())
                    .map(|(cell, record)| PrivateLine { cell: cell.clone(), record: record.clone() })
                    .collect();
                private.extend_from_slice(&line_of(unit, lines.len(), &lines));
            }
            public.extend_from_slice(&line_of(unit, result.private.len(), &result.records));
        }
        self.private.append(&private)?;
        self.public.append(&public)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::AuditRecord;

    fn unit(number: u64) -> (String, UnitResult) {
        let record = Record::Audit(AuditRecord { name: format!("a{number}"), checked: number, faults: 0 });
        let private = PrivateRecord::Code { code: "eligible".to_owned() };
        (format!("unit {number}"), UnitResult { private: vec![(record.name(), private)], records: vec![record] })
    }

    fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let (public, private) = (scratch.path().join("public"), scratch.path().join("private"));
        fs::create_dir(&public).and_then(|()| fs::create_dir(&private)).expect("folders");
        (scratch, public, private)
    }

    #[test]
    fn every_cut_of_the_tail_keeps_the_lines_before_it() {
        let (_scratch, public, private) = folders();
        let (mut journal, _) = Journal::open(&public, &private).expect("empty");
        journal.append(&[unit(1), unit(2)]).expect("appended");
        let segment = public.join("000001.jsonl");
        let whole = fs::read(&segment).expect("segment");
        let first = whole.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        for cut in 0..whole.len() {
            fs::write(&segment, &whole[..cut]).expect("cut");
            let (_, finished) = Journal::open(&public, &private).expect("a torn tail is cut");
            assert_eq!(finished.len(), usize::from(cut >= first), "cut at {cut}");
        }
    }

    #[test]
    fn damage_before_the_tail_names_segment_and_line() {
        let (_scratch, public, private) = folders();
        let (mut journal, _) = Journal::open(&public, &private).expect("empty");
        journal.append(&[unit(1), unit(2), unit(3)]).expect("appended");
        let segment = public.join("000001.jsonl");
        let mut bytes = fs::read(&segment).expect("segment");
        let second = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 30;
        bytes[second] ^= 1;
        fs::write(&segment, &bytes).expect("damaged");
        match Journal::open(&public, &private) {
            Err(RunError::Journal { segment: named, line, .. }) => assert_eq!((named, line), (segment, 2)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_unit_without_its_private_half_is_not_done() {
        let (_scratch, public, private) = folders();
        let (mut journal, _) = Journal::open(&public, &private).expect("empty");
        journal.append(&[unit(1)]).expect("appended");
        fs::remove_file(private.join("000001.jsonl")).expect("removed");
        let (mut journal, finished) = Journal::open(&public, &private).expect("open");
        assert!(finished.is_empty());
        journal.append(&[unit(1)]).expect("again");
        let (_, finished) = Journal::open(&public, &private).expect("open");
        assert_eq!(finished.into_iter().collect::<Vec<_>>(), vec![unit(1)]);
    }
}
