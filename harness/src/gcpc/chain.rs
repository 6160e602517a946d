//! An append-only file of records, each line chained to the one before by its hash: an edited, dropped or moved line is found. A line that a
//! kill cut off is removed when work goes on.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use parthack_env::canonical::Hash;
use parthack_env::input::{InputError, Place};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ledger::canonical_of;
use crate::run::error::RunError;
use crate::run::files::read_regular;

/// What stands before the first line.
const ORIGIN: &str = "";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    hash: String,
    previous: String,
    record: Value,
}

fn hash_of(previous: &str, record: &Value) -> String {
    Hash::of("gcpc-ledger", &canonical_of(&(previous, record))).hex()
}

/// A file of records that can be appended to.
#[derive(Debug)]
pub struct Chain {
    path: PathBuf,
    head: String,
}

/// The whole lines of a file, and its length up to the last of them.
fn read_lines(path: &Path) -> Result<(Vec<Line>, usize, usize), RunError> {
    let bytes = match read_regular(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), 0, 0)),
        Err(error) => return Err(RunError::storage("cannot read", path, error)),
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let mut lines = Vec::new();
    let mut previous = ORIGIN.to_owned();
    for (index, text) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        let fault = |found: String, expected: &str| {
            let place = Place::Text { line: number, column: 1, pointer: String::new() };
            RunError::Input(InputError::new(place, found, expected).in_file(path))
        };
        let text = &text[..text.len() - 1];
        let line: Line = serde_json::from_slice(text)
            .map_err(|error| fault(error.to_string(), "a record with its hash and the hash before it"))?;
        if line.previous != previous || line.hash != hash_of(&previous, &line.record) || canonical_of(&line) != text {
            let found = format!("a line whose hash {:.12} is not that of its content after {previous:.12}", line.hash);
            return Err(fault(found, "an unbroken chain: no line edited, dropped or moved"));
        }
        previous.clone_from(&line.hash);
        lines.push(line);
    }
    Ok((lines, whole, bytes.len()))
}

/// The records of a file; none where there is no file. A line without its end is left out.
///
/// # Errors
/// [`RunError::Storage`]; [`RunError::Input`] with the line where the chain breaks or a record is of another form.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, RunError> {
    let (lines, ..) = read_lines(path)?;
    records_of(path, lines)
}

fn records_of<T: DeserializeOwned>(path: &Path, lines: Vec<Line>) -> Result<Vec<T>, RunError> {
    let record = |(index, line): (usize, Line)| {
        serde_json::from_value(line.record).map_err(|error| {
            let place = Place::Text { line: index + 1, column: 1, pointer: "/record".to_owned() };
            RunError::Input(InputError::new(place, error.to_string(), "a record of this file's format").in_file(path))
        })
    };
    lines.into_iter().enumerate().map(record).collect()
}

impl Chain {
    /// Opens a file to be appended to, with the records that are there; makes none before the first record.
    ///
    /// # Errors
    /// As [`read`]; [`RunError::Storage`] if a line that was cut off can't be removed.
    pub fn open<T: DeserializeOwned>(path: &Path) -> Result<(Chain, Vec<T>), RunError> {
        let (lines, whole, length) = read_lines(path)?;
        if whole < length {
            let cut = OpenOptions::new().write(true).open(path).and_then(|file| {
                file.set_len(whole as u64)?;
                file.sync_data()
            });
            cut.map_err(|error| RunError::storage("cannot repair", path, error))?;
        }
        let head = lines.last().map_or_else(|| ORIGIN.to_owned(), |line| line.hash.clone());
        Ok((Chain { path: path.to_path_buf(), head }, records_of(path, lines)?))
    }

    /// Appends a record and flushes it to the disk.
    ///
    /// # Errors
    /// [`RunError::Storage`].
    pub fn append<T: Serialize>(&mut self, record: &T) -> Result<(), RunError> {
        let record = serde_json::to_value(record).map_err(|error| RunError::Incomplete(error.to_string()))?;
        let line = Line { hash: hash_of(&self.head, &record), previous: self.head.clone(), record };
        let mut bytes = canonical_of(&line);
        bytes.push(b'\n');
        let written = OpenOptions::new().create(true).append(true).open(&self.path).and_then(|mut file: File| {
            let before = file.metadata()?.len();
            let written = file.write_all(&bytes).and_then(|()| file.sync_data());
            if written.is_err() {
                // A half-written line would be cut when work goes on; cutting it now frees a full disk's last bytes.
                let _ = file.set_len(before);
            }
            written
        });
        written.map_err(|error| RunError::storage("cannot write", &self.path, error))?;
        self.head = line.hash;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn records_come_back_and_edits_are_found() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("records.jsonl");
        assert_eq!(read::<u32>(&path).expect("nothing yet"), Vec::<u32>::new());
        let (mut chain, _) = Chain::open::<u32>(&path).expect("open");
        for record in [7, 8, 9] {
            chain.append(&record).expect("append");
        }
        assert_eq!(read::<u32>(&path).expect("whole"), [7, 8, 9]);
        let whole = fs::read(&path).expect("file");
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        for broken in [[lines[0], lines[2]].concat(), [lines[1], lines[0]].concat()] {
            fs::write(&path, broken).expect("write");
            let error = read::<u32>(&path).expect_err("a broken chain").to_string();
            assert!(error.contains("unbroken chain"), "{error}");
        }
        let edited = String::from_utf8(whole.clone()).expect("text").replace("\"record\":8", "\"record\":5");
        fs::write(&path, edited).expect("write");
        assert!(read::<u32>(&path).is_err());
        // Cut within the last line: it is left out, and work goes on after the second.
        fs::write(&path, &whole[..whole.len() - 5]).expect("write");
        assert_eq!(read::<u32>(&path).expect("two"), [7, 8]);
        let (mut chain, there) = Chain::open::<u32>(&path).expect("open");
        assert_eq!(there, [7, 8]);
        chain.append(&9).expect("append");
        assert_eq!(fs::read(&path).expect("file"), whole);
    }
}
