//! What a verdict cites, checked against the log.
//!
//! A citation holds where its label is one of the log's, the span is a tool output or a file content, and the text stands in it byte for
//! byte. It needs three letters or digits, or must be a whole line; else any log would hold it. The rule for verdicts: a Yes or No none of whose
//! citations holds says nothing that the log shows, so it becomes Abstain (what was told is kept). Where no abstention is allowed (forced
//! verdicts) it becomes No. A citation that does not hold costs nothing beside one that does. This is no fault of form, and no retry follows: asking until a text happens to
//! occur would select for luck.

use super::log::LogView;
use crate::label::Label;

/// What a model cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The label of a span.
    pub span: String,
    /// Text that is said to stand there.
    pub text: String,
}

/// A citation that holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Evidence {
    /// The span's place in the log, from 0.
    pub place: usize,
    /// The first byte in the span's plain text.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// What stands there.
    pub text: String,
}

/// Why a citation does not hold. Codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unfounded {
    /// The log has no such label.
    NoSuchSpan,
    /// The span is no evidence: a call, a claim, or something else.
    NotEvidence,
    /// Too little text to point at anything.
    TooShort,
    /// The text does not stand in the span.
    NotThere,
}

impl Unfounded {
    /// The stable code.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Unfounded::NoSuchSpan => "no_such_span",
            Unfounded::NotEvidence => "not_evidence",
            Unfounded::TooShort => "too_short",
            Unfounded::NotThere => "not_there",
        }
    }
}

/// Checks a citation.
///
/// # Errors
/// Why it does not hold.
pub fn check(log: &LogView, citation: &Citation) -> Result<Evidence, Unfounded> {
    let place = log.place(&citation.span).ok_or(Unfounded::NoSuchSpan)?;
    let span = &log.spans()[place];
    if !span.kind.is_evidence() {
        return Err(Unfounded::NotEvidence);
    }
    let text = citation.text.as_str();
    let letters = text.chars().filter(|character| character.is_alphanumeric()).count();
    let is_line = || !text.trim().is_empty() && span.text.lines().any(|line| line.trim() == text.trim());
    if letters < 3 && !is_line() {
        return Err(Unfounded::TooShort);
    }
    let start = span.text.find(text).ok_or(Unfounded::NotThere)?;
    Ok(Evidence { place, start, end: start + text.len(), text: text.to_owned() })
}

/// One verdict with its citations, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What the model told.
    pub told: Label,
    /// What it is worth.
    pub label: Label,
    /// Citations that hold, in the order of the log, none twice.
    pub evidence: Vec<Evidence>,
    /// Citations that do not.
    pub unfounded: Vec<(Citation, Unfounded)>,
}

/// Settles a verdict by the rule above.
#[must_use]
pub fn settle(log: &LogView, told: Label, citations: Vec<Citation>, forced: bool) -> Settled {
    let mut settled = Settled { told, label: told, evidence: Vec::new(), unfounded: Vec::new() };
    for citation in citations {
        match check(log, &citation) {
            Ok(evidence) => settled.evidence.push(evidence),
            Err(reason) => settled.unfounded.push((citation, reason)),
        }
    }
    settled.evidence.sort();
    settled.evidence.dedup();
    if settled.evidence.is_empty() || told == Label::Abstain {
        settled.label = if forced { Label::No } else { Label::Abstain };
    }
    settled
}
