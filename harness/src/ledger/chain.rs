//! `ledger.jsonl`: a first line that says how many records follow, the records sorted by cell key and chained by hash,
//! and a last line that closes the chain.

use std::collections::BTreeMap;
use std::fmt;

use parthack_env::canonical::Hash;
use serde::{Deserialize, Serialize};

use crate::ledger::{CellKey, Record, canonical_of, read_strict};

/// Format of a `ledger.jsonl` without records of models.
pub const LEDGER_FORMAT: &str = "parthack.ledger/1";
/// Format of a `ledger.jsonl` with records of models: checklists, judgements, exchanges ([`Record::is_semantic`]).
pub const SEMANTIC_LEDGER_FORMAT: &str = "parthack.ledger/2";

/// The lowest version that knows every record: a run of rules alone keeps the bytes that it always had.
fn format_of(lines: &[LedgerLine]) -> &'static str {
    if lines.iter().any(|line| line.record.is_semantic()) { SEMANTIC_LEDGER_FORMAT } else { LEDGER_FORMAT }
}

/// One record with its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLine {
    /// Key of the cell.
    pub cell: CellKey,
    /// BLAKE3 (label `ledger`) over the previous line's hash, the key and the record.
    pub hash: Hash,
    /// The record.
    pub record: Record,
}

/// A whole ledger.
///
/// Invariant: `lines` rise strictly by cell key, each key is that of its record's name, and the hashes chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Hash of the run's manifest.
    pub manifest: Hash,
    /// The records, sorted by cell key.
    pub lines: Vec<LedgerLine>,
    /// Hash of `private/certifications.jsonl`.
    pub private: Hash,
}

/// What is wrong with a ledger, and where first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {reason}", named(.cell))]
pub struct LedgerFault {
    /// From 1.
    pub line: usize,
    /// Name of the cell, where the line could be read.
    pub cell: Option<String>,
    /// What is wrong.
    pub reason: LedgerReason,
}

fn named(cell: &Option<String>) -> String {
    cell.as_ref().map(|cell| format!(" ({cell})")).unwrap_or_default()
}

/// Kinds of faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerReason {
    /// Not a canonical line of the format.
    Unreadable(String),
    /// Of another manifest.
    OtherManifest {
        /// The manifest it names.
        found: String,
        /// The run's.
        expected: String,
    },
    /// The line's hash is not that of the previous hash and its content: it was edited, or a line before it is gone.
    BrokenChain,
    /// The same cell as an earlier line.
    Duplicate {
        /// The earlier line, from 1.
        first: usize,
    },
    /// A lower cell key than the line before.
    OutOfOrder,
    /// A cell key that is not that of the record's name.
    WrongKey,
    /// A score outside [0, 1], or no number.
    BadScore,
    /// The ledger ends before its last record or its closing line.
    MissingTail {
        /// Records found.
        found: usize,
        /// Records that the first line promises.
        expected: usize,
    },
    /// Lines after the closing line, or more records than the first line promises.
    Surplus,
}

impl fmt::Display for LedgerReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerReason::Unreadable(why) => write!(out, "not a line of {LEDGER_FORMAT}: {why}"),
            LedgerReason::OtherManifest { found, expected } => {
                write!(out, "found a ledger of manifest {found}, expected {expected}")
            }
            LedgerReason::BrokenChain => {
                out.write_str("the hash does not follow from the line before: edited, or a line before it is missing")
            }
            LedgerReason::Duplicate { first } => write!(out, "the same cell as line {first}"),
            LedgerReason::OutOfOrder => out.write_str("a lower cell key than the line before"),
            LedgerReason::WrongKey => out.write_str("the cell key is not that of the record"),
            LedgerReason::BadScore => out.write_str("the score is no number in [0, 1]"),
            LedgerReason::MissingTail { found, expected } => {
                write!(out, "the tail is missing: found {found} records, expected {expected} and a closing line")
            }
            LedgerReason::Surplus => out.write_str("more lines than the first line promises"),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstLine {
    format: String,
    manifest: String,
    records: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordLine {
    cell: String,
    hash: String,
    record: Record,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LastLine {
    hash: String,
    private: String,
}

fn chained(previous: &Hash, cell: &CellKey, record: &Record) -> Hash {
    Hash::of("ledger", &canonical_of(&(previous.hex(), cell.0.hex(), record)))
}

fn closed(previous: &Hash, private: &Hash) -> Hash {
    Hash::of("ledger-end", &canonical_of(&(previous.hex(), private.hex())))
}

impl Ledger {
    /// The ledger of a run's records, whatever their order.
    #[must_use]
    pub fn build(manifest: Hash, records: impl IntoIterator<Item = Record>, private: Hash) -> Ledger {
        let sorted: BTreeMap<CellKey, Record> =
            records.into_iter().map(|record| (record.name().key(&manifest), record)).collect();
        let mut previous = manifest;
        let mut lines = Vec::with_capacity(sorted.len());
        for (cell, record) in sorted {
            previous = chained(&previous, &cell, &record);
            lines.push(LedgerLine { cell, hash: previous, record });
        }
        Ledger { manifest, lines, private }
    }

    /// The records in the order of their cell keys.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.lines.iter().map(|line| &line.record)
    }

    /// The bytes of `ledger.jsonl`.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512 * self.lines.len() + 512);
        let mut push = |line: Vec<u8>| {
            out.extend_from_slice(&line);
            out.push(b'\n');
        };
        let format = format_of(&self.lines).to_owned();
        push(canonical_of(&FirstLine { format, manifest: self.manifest.hex(), records: self.lines.len() }));
        let mut previous = self.manifest;
        for line in &self.lines {
            previous = line.hash;
            let record = line.record.clone();
            push(canonical_of(&RecordLine { cell: line.cell.0.hex(), hash: line.hash.hex(), record }));
        }
        let hash = closed(&previous, &self.private).hex();
        push(canonical_of(&LastLine { hash, private: self.private.hex() }));
        out
    }

    /// Reads and checks a ledger.
    ///
    /// # Errors
    /// The first line at fault.
    pub fn read(bytes: &[u8], manifest: &Hash) -> Result<Ledger, LedgerFault> {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let fault = |line: usize, reason| LedgerFault { line, cell: None, reason };
        let first: FirstLine = read_line(lines.next().unwrap_or_default(), 1)?;
        if first.format != LEDGER_FORMAT && first.format != SEMANTIC_LEDGER_FORMAT {
            return Err(fault(1, LedgerReason::Unreadable(format!("format {:?}", first.format))));
        }
        if first.manifest != manifest.hex() {
            let reason = LedgerReason::OtherManifest { found: first.manifest, expected: manifest.hex() };
            return Err(fault(1, reason));
        }
        let mut reader = Reader { manifest: *manifest, previous: *manifest, lines: Vec::new(), seen: BTreeMap::new() };
        for number in 2..first.records + 2 {
            let line = lines.next().filter(|line| !line.is_empty());
            let Some(line) = line.filter(|line| !line.starts_with(b"{\"hash\"")) else {
                let reason = LedgerReason::MissingTail { found: number - 2, expected: first.records };
                return Err(fault(number, reason));
            };
            reader.record(line, number)?;
        }
        let number = first.records + 2;
        let Some(last) = lines.next().filter(|line| !line.is_empty()) else {
            return Err(fault(number, LedgerReason::MissingTail { found: first.records, expected: first.records }));
        };
        if last.starts_with(b"{\"cell\"") {
            // A repeated line pushes every later one down; the reader names the repetition where it stands.
            reader.record(last, number)?;
            return Err(fault(number, LedgerReason::Surplus));
        }
        let last: LastLine = read_line(last, number)?;
        let private = Hash::from_hex(&last.private).ok_or_else(|| fault(number, LedgerReason::BrokenChain))?;
        if closed(&reader.previous, &private).hex() != last.hash {
            return Err(fault(number, LedgerReason::BrokenChain));
        }
        let format = format_of(&reader.lines);
        if first.format != format {
            let reason = format!("format {:?}, expected {format:?} for these records", first.format);
            return Err(fault(1, LedgerReason::Unreadable(reason)));
        }
        match (lines.next(), lines.next()) {
            (Some(b""), None) => Ok(Ledger { manifest: *manifest, lines: reader.lines, private }),
            (None, _) => Err(fault(number, LedgerReason::Unreadable("the last line has no end".to_owned()))),
            _ => Err(fault(number + 1, LedgerReason::Surplus)),
        }
    }
}

fn read_line<T: serde::de::DeserializeOwned>(line: &[u8], number: usize) -> Result<T, LedgerFault> {
    read_strict(line).map_err(|error| LedgerFault {
        line: number,
        cell: None,
        reason: LedgerReason::Unreadable(error.to_string()),
    })
}

struct Reader {
    manifest: Hash,
    previous: Hash,
    lines: Vec<LedgerLine>,
    seen: BTreeMap<String, usize>,
}

impl Reader {
    fn record(&mut self, line: &[u8], number: usize) -> Result<(), LedgerFault> {
        let line: RecordLine = read_line(line, number)?;
        let name = line.record.name();
        let fault = |reason| Err(LedgerFault { line: number, cell: Some(name.to_string()), reason });
        if let Some(first) = self.seen.get(&line.cell) {
            return fault(LedgerReason::Duplicate { first: *first });
        }
        let cell = name.key(&self.manifest);
        let hash = Hash::from_hex(&line.cell).map(|key| chained(&self.previous, &CellKey(key), &line.record));
        let Some(hash) = hash.filter(|hash| hash.hex() == line.hash) else {
            return fault(LedgerReason::BrokenChain);
        };
        if line.cell != cell.0.hex() {
            return fault(LedgerReason::WrongKey);
        }
        if self.lines.last().is_some_and(|last| last.cell > cell) {
            return fault(LedgerReason::OutOfOrder);
        }
        let score = match &line.record {
            Record::Score(record) => Some(&record.score),
            Record::Judgement(record) => Some(&record.score),
            Record::Attempt(record) => record.score.as_ref(),
            _ => None,
        };
        if score.is_some_and(|score| !score.is_well_formed()) {
            return fault(LedgerReason::BadScore);
        }
        self.seen.insert(line.cell, number);
        self.previous = hash;
        self.lines.push(LedgerLine { cell, hash, record: line.record });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{RecordedScore, ScoreRecord, Subject};

    fn sample() -> (Hash, Ledger) {
        let manifest = Hash::of("manifest", b"{}");
        let records = (0..6).map(|index| {
            Record::Score(ScoreRecord {
                task: format!("T-{index}"),
                subject: Subject::Honest {},
                evaluator: "csps".to_owned(),
                payload: Hash::of("payload", b"x").hex(),
                score: RecordedScore::Exact("1/2".to_owned()),
                others: BTreeMap::new(),
                fault: None,
            })
        });
        (manifest, Ledger::build(manifest, records, Hash::of("private", b"")))
    }

    fn lines(ledger: &Ledger) -> Vec<String> {
        String::from_utf8(ledger.bytes()).expect("UTF-8").lines().map(str::to_owned).collect()
    }

    fn joined(lines: &[String]) -> Vec<u8> {
        (lines.join("\n") + "\n").into_bytes()
    }

    #[test]
    fn reads_back() {
        let (manifest, ledger) = sample();
        assert_eq!(Ledger::read(&ledger.bytes(), &manifest), Ok(ledger));
    }

    #[test]
    fn every_flipped_bit_is_found_on_its_line() {
        let (manifest, ledger) = sample();
        let bytes = ledger.bytes();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            let fault = Ledger::read(&flipped, &manifest).expect_err("a flipped bit");
            // A flipped count or line break shows where the count or the next line does not fit.
            let exact = line > 1 && bytes[at] != b'\n';
            assert!(!exact || fault.line == line, "byte {at} of line {line}: {fault}");
        }
    }

    #[test]
    fn every_cut_is_a_missing_tail_or_an_unreadable_line() {
        let (manifest, ledger) = sample();
        let bytes = ledger.bytes();
        for cut in 0..bytes.len() {
            assert!(Ledger::read(&bytes[..cut], &manifest).is_err(), "cut at {cut}");
        }
        let whole = lines(&ledger);
        for kept in 1..whole.len() {
            let fault = Ledger::read(&joined(&whole[..kept]), &manifest).expect_err("cut");
            let expected = LedgerReason::MissingTail { found: kept - 1, expected: 6 };
            assert_eq!((fault.line, fault.reason), (kept + 1, expected));
        }
    }

    #[test]
    fn repeated_missing_and_swapped_lines_are_named() {
        let (manifest, ledger) = sample();
        let whole = lines(&ledger);
        for at in 1..=6 {
            let mut twice = whole.clone();
            twice.insert(at + 1, whole[at].clone());
            let fault = Ledger::read(&joined(&twice), &manifest).expect_err("repeated");
            assert_eq!((fault.line, fault.reason), (at + 2, LedgerReason::Duplicate { first: at + 1 }));
            let mut gone = whole.clone();
            gone.remove(at);
            let fault = Ledger::read(&joined(&gone), &manifest).expect_err("missing");
            let last = at == 6;
            let expected =
                if last { LedgerReason::MissingTail { found: 5, expected: 6 } } else { LedgerReason::BrokenChain };
            assert_eq!((fault.line, fault.reason), (at + 1, expected));
        }
        let mut swapped = whole.clone();
        swapped.swap(2, 3);
        assert_eq!(Ledger::read(&joined(&swapped), &manifest).expect_err("swapped").line, 3);
        let mut more = whole.clone();
        more.push(whole[7].clone());
        assert_eq!(Ledger::read(&joined(&more), &manifest).expect_err("more").reason, LedgerReason::Surplus);
    }

    #[test]
    fn a_ledger_of_another_manifest_is_refused() {
        let (_, ledger) = sample();
        let other = Hash::of("manifest", b"[]");
        let fault = Ledger::read(&ledger.bytes(), &other).expect_err("another manifest");
        assert!(matches!(fault.reason, LedgerReason::OtherManifest { .. }));
    }
}
