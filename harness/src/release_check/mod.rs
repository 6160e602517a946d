//! `parthack release-check`: does this program say of a trajectory what the authors' release says of it?
//!
//! The release's task definitions are imported through [`parthack_env::release`]. Each oracle line is then computed
//! four ways (engine, both certifiers, rule evaluators from public bytes) and compared; released payloads are scored;
//! released optima are found again by exact search.

mod checks;
mod line;
mod optima;
mod payloads;
mod public;
mod report;
mod rollback;
mod tasks;
mod values;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use parthack_env::input::{InputError, Place};

use crate::locate::files_of;
pub use report::{Difference, Report, Tally};

/// Format of the JSON report.
pub const RELEASE_CHECK_FORMAT: &str = "parthack.release-check/1";
/// Bytes of one oracle line: a trajectory of 512 steps with its final state stays far below.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// What to check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Folders of released task definitions (`*.json`).
    pub tasks: Vec<PathBuf>,
    /// Folders of oracle lines (`*.jsonl`); subfolders are not entered.
    pub oracles: Vec<PathBuf>,
    /// Folder of released honest payloads (`*.json`).
    pub payloads: Option<PathBuf>,
    /// File of released optima.
    pub optimum: Option<PathBuf>,
    /// Threads of exact search.
    pub threads: usize,
}

/// Imports and compares.
///
/// # Errors
/// [`InputError`] for a file that cannot be read; a difference is not an error but part of the report.
pub fn check(options: &Options) -> Result<Report, InputError> {
    let tasks = tasks::import_all(&options.tasks)?;
    let mut report = Report::new(tasks.len());
    for task in tasks.values() {
        tasks::check_honest(task, &mut report.honest);
    }
    for folder in &options.oracles {
        for path in some_files(folder, "jsonl")? {
            each_line(&path, |number, bytes| {
                let line = line::OracleLine::read(bytes)?;
                let place = format!("{}:{number}", path.display());
                match tasks.get(&line.task) {
                    Some(task) => report.line(&place, &line, checks::differences(task, &line)),
                    None => report.line(&place, &line, vec![absent_task(folder)]),
                }
                Ok(())
            })?;
        }
    }
    if let Some(folder) = &options.payloads {
        let tally = report.payloads.insert(Tally::default());
        for path in some_files(folder, "json")? {
            payloads::check(&path, &tasks, tally)?;
        }
    }
    if let Some(path) = &options.optimum {
        let tally = report.optima.insert(Tally::default());
        optima::check(path, &tasks, options.threads, tally)?;
    }
    Ok(report)
}

/// A line about a task that was not imported.
fn absent_task(folder: &Path) -> checks::Mismatch {
    let beside = folder.join("tasks");
    let mut expected = "a task of the folders given by --tasks".to_owned();
    if beside.is_dir() {
        expected.push_str(&format!(" (perhaps one of {}: add it as another --tasks)", beside.display()));
    }
    checks::Mismatch { check: checks::TASK, found: "no such task".to_owned(), expected }
}

fn some_files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, InputError> {
    let paths = files_of(folder, extension)?;
    if paths.is_empty() {
        let found = format!("no *.{extension} file");
        let fault = InputError::new(Place::File, found, format!("a folder of *.{extension} files")).in_file(folder);
        return Err(fault.hint("subfolders are not entered; name the folder that holds the files"));
    }
    Ok(paths)
}

/// Calls `each` with the number (from 1) and the bytes of every line that is not empty.
fn each_line(path: &Path, mut each: impl FnMut(usize, &[u8]) -> Result<(), InputError>) -> Result<(), InputError> {
    let unreadable =
        |error: std::io::Error| InputError::new(Place::File, error.to_string(), "a readable file").in_file(path);
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(unreadable)?);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if reader.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut bytes).map_err(unreadable)? == 0 {
            break;
        }
        if bytes.len() as u64 > MAX_LINE_BYTES {
            let place = Place::Text { line: number, column: 1, pointer: String::new() };
            let found = format!("a line of more than {MAX_LINE_BYTES} bytes");
            return Err(InputError::new(place, found, "one trajectory a line").in_file(path));
        }
        while bytes.last().is_some_and(u8::is_ascii_whitespace) {
            bytes.pop();
        }
        if !bytes.is_empty() {
            each(number, &bytes).map_err(|error| on_line(error, number).in_file(path))?;
        }
    }
    Ok(())
}

/// The same fault, with the line of the file in place of the line of the text.
fn on_line(mut error: InputError, number: usize) -> InputError {
    error.place = match error.place {
        Place::Text { column, pointer, .. } => Place::Text { line: number, column, pointer },
        Place::Pointer(pointer) => Place::Text { line: number, column: 1, pointer },
        Place::Byte(offset) => Place::Text { line: number, column: offset + 1, pointer: String::new() },
        Place::File => Place::Text { line: number, column: 1, pointer: String::new() },
    };
    if error.hint.is_none() {
        error.hint = Some("each line is one trajectory with what the release says of it".to_owned());
    }
    error
}
