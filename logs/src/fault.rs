//! Why a file, or a part of one, was not imported: where, what was found, what was expected.

use std::fmt;
use std::sync::Arc;

use parthack_env::input::Place;
use serde::{Deserialize, Serialize};

/// The class of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalCode {
    /// The operating system refused to read it.
    Unreadable,
    /// Beyond one of the limits.
    TooLarge,
    /// Nested beyond the limit.
    TooDeep,
    /// Not UTF-8.
    NotUtf8,
    /// Not JSON (or TOML, or YAML).
    Syntax,
    /// Sound, but of another format.
    NotOfKind,
    /// Of this format, in a version that is not read.
    UnsupportedVersion,
    /// Of this format, with a part that has another shape than the format says.
    WrongShape,
    /// Of this format, with nothing to import in it.
    NothingInIt,
    /// A ZIP archive that is damaged or uses what is not supported.
    BadArchive,
    /// An archive that expands out of all proportion.
    ArchiveBomb,
}

impl RefusalCode {
    /// The code as text.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RefusalCode::Unreadable => "unreadable",
            RefusalCode::TooLarge => "too-large",
            RefusalCode::TooDeep => "too-deep",
            RefusalCode::NotUtf8 => "not-utf8",
            RefusalCode::Syntax => "syntax",
            RefusalCode::NotOfKind => "not-of-kind",
            RefusalCode::UnsupportedVersion => "unsupported-version",
            RefusalCode::WrongShape => "wrong-shape",
            RefusalCode::NothingInIt => "nothing-in-it",
            RefusalCode::BadArchive => "bad-archive",
            RefusalCode::ArchiveBomb => "archive-bomb",
        }
    }
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A file or a part of one (a line, a sample, a simulation) that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {place}: found {found}, expected {expected}")]
pub struct Refusal {
    /// The file as it was reached; a member of an archive is `archive!member`.
    pub file: Arc<str>,
    /// The class.
    pub code: RefusalCode,
    /// Where in it.
    pub place: Place,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
}

/// A refusal that does not know its file yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: RefusalCode,
    pub(crate) place: Place,
    pub(crate) found: String,
    pub(crate) expected: String,
    /// A member of an archive.
    pub(crate) member: Option<String>,
    /// Another file than the one that was opened.
    pub(crate) elsewhere: Option<Arc<str>>,
}

impl Fault {
    pub(crate) fn new(code: RefusalCode, place: Place, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Fault { code, place, found: found.into(), expected: expected.into(), member: None, elsewhere: None }
    }

    /// A fault of the file as a whole.
    pub(crate) fn file(code: RefusalCode, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(code, Place::File, found, expected)
    }

    /// A fault at a JSON pointer.
    pub(crate) fn at(code: RefusalCode, pointer: &str, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(code, Place::Pointer(pointer.to_owned()), found, expected)
    }

    pub(crate) fn in_file(mut self, file: &Arc<str>) -> Self {
        self.elsewhere.get_or_insert_with(|| file.clone());
        self
    }

    pub(crate) fn in_member(mut self, member: &str) -> Self {
        self.member.get_or_insert_with(|| member.to_owned());
        self
    }

    /// Moves a fault of a line, read as a document of its own, to where the line stands.
    pub(crate) fn on_line(mut self, number: usize) -> Self {
        self.place = match self.place {
            Place::Text { column, pointer, .. } => Place::Text { line: number, column, pointer },
            Place::Pointer(pointer) => Place::Text { line: number, column: 1, pointer },
            Place::File => Place::Text { line: number, column: 1, pointer: String::new() },
            other @ Place::Byte(_) => other,
        };
        self
    }

    pub(crate) fn into_refusal(self, file: &Arc<str>) -> Refusal {
        let file = self.elsewhere.as_ref().unwrap_or(file);
        let file = match &self.member {
            Some(member) => Arc::from(format!("{file}!{member}")),
            None => file.clone(),
        };
        Refusal { file, code: self.code, place: self.place, found: self.found, expected: self.expected }
    }
}
