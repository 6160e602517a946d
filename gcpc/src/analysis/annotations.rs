//! What people said of judged logs: ratings, preferences and criterion labels, read from a CSV file.
//!
#![doc = include_str!("annotations.md")]

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use parthack_statistics::{Preferred, Ratio};

use crate::label::Label;
use crate::records::LogIdentity;

/// The columns.
pub const COLUMNS: [&str; 6] = ["annotator", "kind", "log", "other", "item", "value"];
/// The fewest digits of a hash that name a log.
const LEAST_DIGITS: usize = 8;
/// The best rating.
const BEST: Ratio = Ratio::integer(10);
/// The most digits of a rating after its point.
const MOST_DECIMALS: usize = 12;

/// A rating of a log's progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rating {
    /// The line that it stands in, from 1.
    pub line: u64,
    /// Who said it.
    pub annotator: String,
    /// The log's hash.
    pub log: String,
    /// From 0 to 10.
    pub value: Ratio,
}

/// A preference between two logs of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The line that it stands in, from 1.
    pub line: u64,
    /// Who said it.
    pub annotator: String,
    /// The first log's hash, the lower one of the two.
    pub first: String,
    /// The second log's hash.
    pub second: String,
    /// Which is better.
    pub preferred: Preferred,
}

/// A label of one item of a checklist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// The line that it stands in, from 1.
    pub line: u64,
    /// Who said it.
    pub annotator: String,
    /// The log's hash.
    pub log: String,
    /// The item's id.
    pub item: String,
    /// The label.
    pub label: Label,
}

/// All annotations of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Annotations {
    /// Ratings.
    pub ratings: Vec<Rating>,
    /// Preferences.
    pub comparisons: Vec<Comparison>,
    /// Labels of items.
    pub criteria: Vec<Criterion>,
    /// Who annotated which task, by task.
    pub annotators: BTreeMap<String, BTreeSet<String>>,
}

/// Why a file of annotations can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnnotationError {
    /// Bytes that are no text.
    #[error("line {line}: found bytes that are not UTF-8, expected UTF-8 (hint: save the file as CSV in UTF-8)")]
    Encoding {
        /// The line.
        line: u64,
    },
    /// A header that is not the one.
    #[error("line 1: found {found}, expected the columns annotator, kind, log, other, item, value, each once")]
    Header {
        /// What is wrong with it.
        found: String,
    },
    /// A row that has too many or too few fields.
    #[error("line {line}: found {found} fields, expected 6")]
    Fields {
        /// The line.
        line: u64,
        /// Its fields.
        found: usize,
    },
    /// A field that holds what it can't.
    #[error("line {line}, column {column}: found {found:?}, expected {expected}")]
    Field {
        /// The line.
        line: u64,
        /// The column.
        column: &'static str,
        /// What stands there.
        found: String,
        /// What can stand there.
        expected: &'static str,
    },
    /// A text that names no judged log.
    #[error(
        "line {line}, column {column}: found no judged log that is {found:?}, expected a hash, at least its first 8 digits, or a run id"
    )]
    UnknownLog {
        /// The line.
        line: u64,
        /// The column.
        column: &'static str,
        /// What stands there.
        found: String,
    },
    /// A text that names several.
    #[error("line {line}, column {column}: found {count} judged logs that are {found:?}, expected one: {among}")]
    AmbiguousLog {
        /// The line.
        line: u64,
        /// The column.
        column: &'static str,
        /// What stands there.
        found: String,
        /// How many.
        count: usize,
        /// Their hashes.
        among: String,
    },
    /// Two logs that can't be compared.
    #[error("line {line}: found a preference between {found}, expected two logs of one task")]
    Incomparable {
        /// The line.
        line: u64,
        /// What the two are.
        found: String,
    },
    /// Something that was said already.
    #[error(
        "line {line}: found a second {kind} of the same by {annotator:?}, expected one (the first is in line {first})"
    )]
    Twice {
        /// The line.
        line: u64,
        /// What kind.
        kind: &'static str,
        /// Who.
        annotator: String,
        /// The line of the first.
        first: u64,
    },
    /// Tasks that one person annotated alone.
    #[error("found one annotator alone for {}, expected at least two a task", tasks.join(", "))]
    Single {
        /// The tasks.
        tasks: Vec<String>,
    },
    /// A file that is no CSV.
    #[error("found a file that can't be read as CSV: {reason}")]
    Csv {
        /// Why.
        reason: String,
    },
}

impl Annotations {
    /// Reads a file's bytes; `logs` are the judged ones, in any order and as often as they were judged.
    ///
    /// # Errors
    /// The first fault, with its line; then [`AnnotationError::Single`], unless `allow_single`.
    pub fn read<'i>(
        bytes: &[u8],
        logs: impl IntoIterator<Item = &'i LogIdentity>,
        allow_single: bool,
    ) -> Result<Annotations, AnnotationError> {
        let text = text_of(bytes)?;
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut records = reader.records();
        let fault = |error: csv::Error| AnnotationError::Csv { reason: error.to_string() };
        let Some(header) = records.next().transpose().map_err(fault)? else {
            return Err(AnnotationError::Header { found: "an empty file".to_owned() });
        };
        let places = places(&header)?;
        let mut reading = Reading { logs: Names::new(logs), seen: BTreeMap::new(), read: Annotations::default() };
        for record in records {
            let record = record.map_err(fault)?;
            let line = line_of(&text, &record);
            if record.len() != COLUMNS.len() {
                return Err(AnnotationError::Fields { line, found: record.len() });
            }
            let fields = places.map(|place| record.get(place).unwrap_or_default());
            reading.row(&Fields { line, fields })?;
        }
        let read = reading.read;
        let single = read.single();
        if single.is_empty() || allow_single { Ok(read) } else { Err(AnnotationError::Single { tasks: single }) }
    }

    /// The tasks that one person annotated alone.
    #[must_use]
    pub fn single(&self) -> Vec<String> {
        let alone = self.annotators.iter().filter(|(_, annotators)| annotators.len() < 2);
        alone.map(|(task, _)| task.clone()).collect()
    }
}

/// The text with line feeds for all line ends and without a byte order mark.
fn text_of(bytes: &[u8]) -> Result<Cow<'_, str>, AnnotationError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) if text.contains('\r') => Ok(text.replace("\r\n", "\n").replace('\r', "\n").into()),
        Ok(text) => Ok(text.into()),
        Err(error) => {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).replace("\r\n", "\n");
            let ends = before.matches(['\n', '\r']).count();
            Err(AnnotationError::Encoding { line: ends as u64 + 1 })
        }
    }
}

/// The line that a record starts in: empty lines before it are not part of it.
fn line_of(text: &str, record: &csv::StringRecord) -> u64 {
    let start = record.position().and_then(|position| usize::try_from(position.byte()).ok()).unwrap_or_default();
    let (before, rest) = text.split_at_checked(start).unwrap_or((text, ""));
    let empty = rest.len() - rest.trim_start_matches('\n').len();
    (before.matches('\n').count() + empty) as u64 + 1
}

/// Where each column stands.
fn places(header: &csv::StringRecord) -> Result<[usize; 6], AnnotationError> {
    let fault = |found: String| Err(AnnotationError::Header { found });
    let mut places = [None; COLUMNS.len()];
    for (place, name) in header.iter().enumerate() {
        match COLUMNS.iter().position(|column| *column == name) {
            None => return fault(format!("the unknown column {name:?}")),
            Some(column) if places[column].is_some() => return fault(format!("the column {name:?} twice")),
            Some(column) => places[column] = Some(place),
        }
    }
    if let Some(missing) = places.iter().position(Option::is_none) {
        return fault(format!("no column {:?}", COLUMNS[missing]));
    }
    Ok(places.map(Option::unwrap_or_default))
}

/// One row, its fields in the order of [`COLUMNS`].
struct Fields<'r> {
    line: u64,
    fields: [&'r str; 6],
}

impl Fields<'_> {
    fn fault(&self, column: usize, expected: &'static str) -> AnnotationError {
        let found = self.fields[column].to_owned();
        AnnotationError::Field { line: self.line, column: COLUMNS[column], found, expected }
    }

    /// Columns that the kind has no use for must be empty.
    fn empty(&self, columns: &[usize]) -> Result<(), AnnotationError> {
        match columns.iter().find(|column| !self.fields[**column].is_empty()) {
            Some(column) => Err(self.fault(*column, "nothing, for this kind")),
            None => Ok(()),
        }
    }
}

// Places in `COLUMNS`.
const ANNOTATOR: usize = 0;
const KIND: usize = 1;
const LOG: usize = 2;
const OTHER: usize = 3;
const ITEM: usize = 4;
const VALUE: usize = 5;

/// What is being read.
struct Reading<'i> {
    logs: Names<'i>,
    /// Lines of what was said, by annotator, kind, log, other log, item.
    seen: BTreeMap<[String; 5], u64>,
    read: Annotations,
}

impl Reading<'_> {
    fn row(&mut self, row: &Fields<'_>) -> Result<(), AnnotationError> {
        let annotator = row.fields[ANNOTATOR].to_owned();
        if annotator.is_empty() || annotator.chars().any(char::is_control) {
            return Err(row.fault(ANNOTATOR, "a name in one line"));
        }
        let line = row.line;
        match row.fields[KIND] {
            "rating" => {
                row.empty(&[OTHER, ITEM])?;
                let log = self.logs.find(row, LOG)?;
                let value = rating(row.fields[VALUE]).ok_or_else(|| row.fault(VALUE, "a decimal from 0 to 10"))?;
                self.once(row, "rating", [log, "", ""])?;
                self.annotated(log, &annotator);
                self.read.ratings.push(Rating { line, annotator, log: log.to_owned(), value });
            }
            "preference" => {
                row.empty(&[ITEM])?;
                let (log, other) = (self.logs.find(row, LOG)?, self.logs.find(row, OTHER)?);
                let told = match row.fields[VALUE] {
                    "first" => Preferred::First,
                    "second" => Preferred::Second,
                    "neither" => Preferred::Neither,
                    _ => return Err(row.fault(VALUE, "first, second or neither")),
                };
                let (task, other_task) = (self.logs.task(log), self.logs.task(other));
                if log == other {
                    let found = format!("a log and itself, {log}");
                    return Err(AnnotationError::Incomparable { line, found });
                }
                if task != other_task {
                    let found = format!("logs of two tasks, {task} and {other_task}");
                    return Err(AnnotationError::Incomparable { line, found });
                }
                let (first, second, preferred) = match (log < other, told) {
                    (true, told) => (log, other, told),
                    (false, Preferred::First) => (other, log, Preferred::Second),
                    (false, Preferred::Second) => (other, log, Preferred::First),
                    (false, Preferred::Neither) => (other, log, Preferred::Neither),
                };
                self.once(row, "preference", [first, second, ""])?;
                self.annotated(log, &annotator);
                let (first, second) = (first.to_owned(), second.to_owned());
                self.read.comparisons.push(Comparison { line, annotator, first, second, preferred });
            }
            "criterion" => {
                row.empty(&[OTHER])?;
                let log = self.logs.find(row, LOG)?;
                let item = row.fields[ITEM];
                if item.is_empty() {
                    return Err(row.fault(ITEM, "an item's id"));
                }
                let label = Label::WORDS.iter().find(|(word, _)| *word == row.fields[VALUE]);
                let (_, label) = label.ok_or_else(|| row.fault(VALUE, "yes, no or abstain"))?;
                self.once(row, "criterion", [log, "", item])?;
                self.annotated(log, &annotator);
                let (log, item) = (log.to_owned(), item.to_owned());
                self.read.criteria.push(Criterion { line, annotator, log, item, label: *label });
            }
            _ => return Err(row.fault(KIND, "rating, preference or criterion")),
        }
        Ok(())
    }

    fn once(&mut self, row: &Fields<'_>, kind: &'static str, of: [&str; 3]) -> Result<(), AnnotationError> {
        let annotator = row.fields[ANNOTATOR];
        let [log, other, item] = of;
        let key = [annotator, kind, log, other, item].map(str::to_owned);
        match self.seen.insert(key, row.line) {
            Some(first) => Err(AnnotationError::Twice { line: row.line, kind, annotator: annotator.to_owned(), first }),
            None => Ok(()),
        }
    }

    fn annotated(&mut self, log: &str, annotator: &str) {
        let task = self.logs.task(log).to_owned();
        self.read.annotators.entry(task).or_default().insert(annotator.to_owned());
    }
}

/// A rating: digits, perhaps a point and more digits.
fn rating(text: &str) -> Option<Ratio> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > MOST_DECIMALS {
        return None;
    }
    text.parse::<Ratio>().ok().filter(|value| (Ratio::ZERO..=BEST).contains(value))
}

/// The judged logs by what can name them.
struct Names<'i> {
    /// Tasks by hash.
    tasks: BTreeMap<&'i str, &'i str>,
    /// Hashes by run id.
    runs: BTreeMap<&'i str, BTreeSet<&'i str>>,
}

impl<'i> Names<'i> {
    fn new(logs: impl IntoIterator<Item = &'i LogIdentity>) -> Names<'i> {
        let mut names = Names { tasks: BTreeMap::new(), runs: BTreeMap::new() };
        for identity in logs {
            names.tasks.insert(&identity.log, &identity.task);
            if let Some(run) = &identity.run {
                names.runs.entry(run).or_default().insert(&identity.log);
            }
        }
        names
    }

    fn task(&self, log: &str) -> &'i str {
        self.tasks.get(log).copied().unwrap_or_default()
    }

    /// The hash of the one log that a field names.
    fn find(&self, row: &Fields<'_>, column: usize) -> Result<&'i str, AnnotationError> {
        let text = row.fields[column];
        if let Some((log, _)) = self.tasks.get_key_value(text) {
            return Ok(log);
        }
        let (line, column, found) = (row.line, COLUMNS[column], text.to_owned());
        let mut among: BTreeSet<&'i str> = self.runs.get(text).cloned().unwrap_or_default();
        if text.len() >= LEAST_DIGITS {
            let from = self.tasks.range::<str, _>((Bound::Included(text), Bound::Unbounded));
            among.extend(from.map(|(log, _)| *log).take_while(|log| log.starts_with(text)));
        }
        let mut logs = among.iter().copied();
        match (logs.next(), logs.next()) {
            (Some(log), None) => Ok(log),
            (None, _) => Err(AnnotationError::UnknownLog { line, column, found }),
            _ => {
                let told = among.iter().take(5).map(|log| format!("{log:.16}")).collect::<Vec<_>>().join(", ");
                Err(AnnotationError::AmbiguousLog { line, column, found, count: among.len(), among: told })
            }
        }
    }
}
