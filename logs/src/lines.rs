//! Files that have a document a line, read one line at a time: memory holds a line, whatever the file's size.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use parthack_env::input::Place;

use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::json::{self, Notes};
use crate::limits::MAX_LINE_BYTES;
use crate::node::Node;

/// The lines that are not blank, with their numbers from 1. A line that is too long or no UTF-8 is a fault of its own.
pub(crate) struct Lines {
    reader: BufReader<File>,
    number: usize,
    limit: u64,
    /// The end of the last line was not reached.
    is_within: bool,
    is_done: bool,
}

impl Lines {
    /// # Errors
    /// What is no readable regular file.
    pub(crate) fn open(path: &Path) -> Result<Lines, Fault> {
        let unreadable =
            |error: std::io::Error| Fault::file(RefusalCode::Unreadable, error.to_string(), "a readable file");
        let file = File::open(path).map_err(unreadable)?;
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(Fault::file(RefusalCode::Unreadable, "something that is no regular file", "a file"));
        }
        Ok(Lines { reader: BufReader::new(file), number: 0, limit: MAX_LINE_BYTES, is_within: false, is_done: false })
    }

    /// The next line as it stands; `None` at the end.
    fn read(&mut self) -> std::io::Result<Option<Result<String, Fault>>> {
        if self.is_within {
            self.reader.skip_until(b'\n')?;
            self.is_within = false;
        }
        let mut bytes = Vec::new();
        self.reader.by_ref().take(self.limit + 1).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let has_end = bytes.last() == Some(&b'\n');
        if !has_end && bytes.len() as u64 > self.limit {
            self.is_within = true;
            let (found, expected) = ("a longer line".to_owned(), format!("at most {} bytes in a line", self.limit));
            return Ok(Some(Err(Fault::file(RefusalCode::TooLarge, found, expected))));
        }
        if has_end {
            bytes.pop();
        }
        Ok(Some(input::into_text(bytes)))
    }
}

impl Iterator for Lines {
    type Item = (usize, Result<String, Fault>);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_done {
            let line = match self.read() {
                Ok(Some(Ok(line))) if line.trim().is_empty() => continue,
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    self.is_done = true;
                    Err(Fault::file(RefusalCode::Unreadable, error.to_string(), "a readable file"))
                }
            };
            let number = self.number;
            return Some((number, line.map_err(|fault| in_line(fault).on_line(number))));
        }
        self.is_done = true;
        None
    }
}

/// A fault at a byte of a line, at its column.
fn in_line(mut fault: Fault) -> Fault {
    if let Place::Byte(at) = fault.place {
        fault.place = Place::Text { line: 1, column: at + 1, pointer: String::new() };
    }
    fault
}

/// Whether a file has a document a line: its name says so, or its first line is one and another follows.
///
/// # Errors
/// As [`Lines::open`].
pub(crate) fn is_in_lines(path: &Path) -> Result<bool, Fault> {
    let name = input::file_name(path).to_lowercase();
    if name.ends_with(".jsonl") || name.ends_with(".ndjson") {
        return Ok(true);
    }
    let mut lines = Lines::open(path)?;
    let is_document = lines.next().is_some_and(|(_, line)| line.is_ok_and(|line| json::parse(&line).is_ok()));
    Ok(is_document && lines.next().is_some())
}

/// The documents of a file in lines, each read when its turn comes. A line that can't be read costs itself alone.
///
/// # Errors
/// As [`Lines::open`], and a file without a line.
pub(crate) fn each(
    path: &Path,
    expected: &str,
    mut read: impl FnMut(&Node<'_, '_>, Notes, usize) -> Result<Found, Fault> + 'static,
) -> Result<Items, Fault> {
    let mut lines = Lines::open(path)?.peekable();
    if lines.peek().is_none() {
        return Err(Fault::file(RefusalCode::NothingInIt, "an empty file", expected));
    }
    Ok(Box::new(lines.map(move |(number, line)| {
        let line = line?;
        json::parse(&line)
            .and_then(|(value, notes)| read(&Node::new(&value, ""), notes, number))
            .map_err(|fault| fault.on_line(number))
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8], limit: u64) -> Vec<(usize, String)> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.jsonl");
        std::fs::write(&path, bytes).expect("written");
        let lines = Lines { limit, ..Lines::open(&path).expect("opens") };
        let told = |fault: Fault| format!("{} at {}", fault.code, fault.place);
        lines.map(|(number, line)| (number, line.unwrap_or_else(told))).collect()
    }

    #[test]
    fn lines_with_their_numbers() {
        let check = |bytes: &[u8], expected: &[(usize, &str)]| {
            let expected: Vec<_> = expected.iter().map(|(number, text)| (*number, (*text).to_owned())).collect();
            assert_eq!(shown(bytes, 4), expected, "{bytes:?}");
        };
        check(b"", &[]);
        check(b"\n \r\n", &[]);
        check(b"\xef\xbb\xbfa\n\nb", &[(1, "a"), (3, "b")]);
        check(b"abcd\nabcd", &[(1, "abcd"), (2, "abcd")]);
        let long = "too-large at line 1, column 1";
        check(b"abcde\nx\n", &[(1, long), (2, "x")]);
        check(b"abcdefghij", &[(1, long)]);
        check(b"abcdefghij\n\nx", &[(1, long), (3, "x")]);
        check(b"a\nb\xff\nc\n", &[(1, "a"), (2, "not-utf8 at line 2, column 2"), (3, "c")]);
    }
}
