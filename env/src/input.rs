//! What can be wrong with a file, and a cursor that decodes JSON while it remembers where it stands.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::json::Json;

/// Bytes that one input file may have: a task with every limit used stays below it.
pub const MAX_FILE_BYTES: u64 = 1 << 20;
/// Levels of nesting: no format of this project goes beyond a dozen.
pub const MAX_DEPTH: usize = 64;

/// Where in a file something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A byte offset, for text that is not UTF-8.
    Byte(usize),
    /// Line and column (from 1) and the JSON pointer of the value that was being read.
    Text {
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// RFC 6901; empty for the whole document.
        pointer: String,
    },
    /// A JSON pointer.
    Pointer(String),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => write!(out, "the file"),
            Place::Byte(offset) => write!(out, "byte {offset}"),
            Place::Text { line, column, pointer } if pointer.is_empty() => write!(out, "line {line}, column {column}"),
            Place::Text { line, column, pointer } => write!(out, "line {line}, column {column}, at {pointer}"),
            Place::Pointer(pointer) if pointer.is_empty() => write!(out, "the top level"),
            Place::Pointer(pointer) => write!(out, "{pointer}"),
        }
    }
}

/// A fault of an input file: where, what was found, what was expected, and a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{place}: found {found}, expected {expected}{}", file_prefix(.file), hint_suffix(.hint))]
pub struct InputError {
    /// The file, where there is one.
    pub file: Option<PathBuf>,
    /// Where in it.
    pub place: Place,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
    /// What a user may do about it.
    pub hint: Option<String>,
}

fn file_prefix(file: &Option<PathBuf>) -> String {
    file.as_ref().map(|file| format!("{}: ", file.display())).unwrap_or_default()
}

fn hint_suffix(hint: &Option<String>) -> String {
    hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default()
}

impl InputError {
    /// A fault at a place.
    #[must_use]
    pub fn new(place: Place, found: impl Into<String>, expected: impl Into<String>) -> Self {
        InputError { file: None, place, found: found.into(), expected: expected.into(), hint: None }
    }

    /// A fault at a JSON pointer.
    #[must_use]
    pub fn at(pointer: impl Into<String>, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(Place::Pointer(pointer.into()), found, expected)
    }

    /// The same fault with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same fault, in a file.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_path_buf());
        self
    }
}

/// Appends `/key`, escaped as RFC 6901 asks.
pub fn push_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    for character in key.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Appends `/index`.
pub fn push_index(pointer: &mut String, index: usize) {
    pointer.push('/');
    pointer.push_str(&index.to_string());
}

/// A JSON value and the pointer that leads to it.
#[derive(Debug, Clone)]
pub struct Cursor<'j, 'a> {
    /// The value.
    pub json: &'j Json<'a>,
    /// Its RFC 6901 pointer.
    pub pointer: String,
}

impl<'j, 'a> Cursor<'j, 'a> {
    /// A cursor on a whole document.
    #[must_use]
    pub fn root(json: &'j Json<'a>) -> Self {
        Cursor { json, pointer: String::new() }
    }

    /// A fault here.
    #[must_use]
    pub fn fault(&self, expected: impl Into<String>) -> InputError {
        InputError::at(self.pointer.clone(), self.json.describe(), expected)
    }

    /// A fault here, with another description of what was found.
    #[must_use]
    pub fn fault_found(&self, found: impl Into<String>, expected: impl Into<String>) -> InputError {
        InputError::at(self.pointer.clone(), found, expected)
    }

    /// The entries of an object whose keys must all be among `known`.
    ///
    /// # Errors
    /// Not an object, or a key that is not known.
    pub fn object(&self, known: &[&str]) -> Result<(), InputError> {
        let Json::Object(entries) = self.json else {
            return Err(self.fault("an object"));
        };
        for (key, _) in entries {
            if !known.contains(&key.as_ref()) {
                let mut pointer = self.pointer.clone();
                push_key(&mut pointer, key);
                return Err(InputError::at(pointer, "an unknown key", format!("one of: {}", known.join(", "))));
            }
        }
        Ok(())
    }

    /// All entries of an object, whatever their keys.
    ///
    /// # Errors
    /// Not an object.
    pub fn entries(&self) -> Result<Vec<(&'j str, Cursor<'j, 'a>)>, InputError> {
        let Json::Object(entries) = self.json else {
            return Err(self.fault("an object"));
        };
        Ok(entries
            .iter()
            .map(|(key, json)| {
                let mut pointer = self.pointer.clone();
                push_key(&mut pointer, key);
                (key.as_ref(), Cursor { json, pointer })
            })
            .collect())
    }

    /// The value behind a key, if it is there.
    #[must_use]
    pub fn optional(&self, key: &str) -> Option<Cursor<'j, 'a>> {
        self.json.get(key).map(|json| {
            let mut pointer = self.pointer.clone();
            push_key(&mut pointer, key);
            Cursor { json, pointer }
        })
    }

    /// The value behind a key that must be there.
    ///
    /// # Errors
    /// The key is missing.
    pub fn key(&self, key: &str) -> Result<Cursor<'j, 'a>, InputError> {
        self.optional(key).ok_or_else(|| match self.json {
            Json::Object(_) => self.fault_found(format!("no key {key:?}"), format!("the key {key:?}")),
            _ => self.fault("an object"),
        })
    }

    /// The items of an array.
    ///
    /// # Errors
    /// Not an array.
    pub fn items(&self) -> Result<Vec<Cursor<'j, 'a>>, InputError> {
        let Json::Array(items) = self.json else {
            return Err(self.fault("an array"));
        };
        Ok(items
            .iter()
            .enumerate()
            .map(|(index, json)| {
                let mut pointer = self.pointer.clone();
                push_index(&mut pointer, index);
                Cursor { json, pointer }
            })
            .collect())
    }

    /// A string.
    ///
    /// # Errors
    /// Not a string.
    pub fn text(&self) -> Result<&'j str, InputError> {
        match self.json {
            Json::String(text) => Ok(text),
            _ => Err(self.fault("a string")),
        }
    }

    /// A string of at most `most` characters without control characters other than line feed and tab.
    ///
    /// # Errors
    /// Not a string, too long, or a control character in it.
    pub fn prose(&self, most: usize) -> Result<&'j str, InputError> {
        let text = self.text()?;
        let length = text.chars().count();
        if length > most {
            return Err(self.fault_found(format!("{length} characters"), format!("at most {most} characters")));
        }
        if let Some(bad) = text.chars().find(|c| c.is_control() && *c != '\n' && *c != '\t') {
            return Err(self.fault_found(format!("the control character {bad:?}"), "text without control characters"));
        }
        Ok(text)
    }

    /// An identifier: `[A-Za-z0-9][A-Za-z0-9._:-]{0,63}`.
    ///
    /// # Errors
    /// Anything else.
    pub fn identifier(&self) -> Result<&'j str, InputError> {
        let text = self.text()?;
        if crate::names::is_identifier(text) {
            return Ok(text);
        }
        Err(self.fault("an identifier").hint(
            "1 to 64 letters, digits, '.', '_', ':' or '-', beginning with a letter or a digit; no path, no space",
        ))
    }

    /// A boolean.
    ///
    /// # Errors
    /// Not a boolean.
    pub fn bool(&self) -> Result<bool, InputError> {
        match self.json {
            Json::Bool(value) => Ok(*value),
            _ => Err(self.fault("true or false")),
        }
    }

    /// An integer from `least` to `most`.
    ///
    /// # Errors
    /// Not an integer in the range.
    pub fn integer(&self, least: i64, most: i64) -> Result<i64, InputError> {
        let value = match self.json {
            Json::Number(text) => text.parse::<i64>().ok().filter(|_| text != "-0"),
            _ => None,
        };
        value
            .filter(|value| (least..=most).contains(value))
            .ok_or_else(|| self.fault(format!("an integer from {least} to {most}")))
    }

    /// An integer from `least` to `most` as `u32`.
    ///
    /// # Errors
    /// Not an integer in the range.
    pub fn u32(&self, least: u32, most: u32) -> Result<u32, InputError> {
        let value = self.integer(i64::from(least), i64::from(most))?;
        u32::try_from(value).map_err(|_| self.fault("an integer"))
    }

    /// One of a few words.
    ///
    /// # Errors
    /// Not a string, or not one of them.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, InputError> {
        let text = self.json.as_str();
        words.iter().find(|(word, _)| Some(*word) == text).map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.fault(format!("one of: {}", known.join(", ")))
        })
    }

    /// Checks the document's `format`.
    ///
    /// # Errors
    /// No `format`, or another than `expected`.
    pub fn format(&self, expected: &str) -> Result<(), InputError> {
        let cursor = self.key("format")?;
        if cursor.json.as_str() == Some(expected) {
            return Ok(());
        }
        Err(cursor
            .fault(format!("the format {expected:?}"))
            .hint("this program reads one version of each format; convert the file or use the version it was made for"))
    }
}
