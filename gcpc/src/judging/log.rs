//! A log as a judge sees it: spans of text in order, each of a kind.

use crate::block::{Line, line_tokens, plain};

/// What a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpanKind {
    /// A call of a tool with its arguments.
    ToolCall,
    /// Output of a tool as it was displayed.
    ToolOutput,
    /// Content of a file that the log holds.
    FileContent,
    /// Words of the agent.
    AgentText,
    /// Anything else: the instruction, a user's words, notes of the harness.
    Other,
}

impl SpanKind {
    /// All kinds.
    pub const ALL: [SpanKind; 5] =
        [SpanKind::ToolCall, SpanKind::ToolOutput, SpanKind::FileContent, SpanKind::AgentText, SpanKind::Other];

    /// The letter of its labels.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            SpanKind::ToolCall => 'c',
            SpanKind::ToolOutput => 'o',
            SpanKind::FileContent => 'f',
            SpanKind::AgentText => 'a',
            SpanKind::Other => 'x',
        }
    }

    /// Whether it counts as evidence: tool outputs and file contents alone (G §3.3).
    #[must_use]
    pub fn is_evidence(self) -> bool {
        matches!(self, SpanKind::ToolOutput | SpanKind::FileContent)
    }
}

/// A piece of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Where it comes from, such as the number of the step; several spans may share it.
    pub index: usize,
    /// What it is.
    pub kind: SpanKind,
    /// Its text.
    pub text: String,
}

/// A log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogView {
    /// Invariant: texts are plain ([`plain`]), so that what is shown is what is searched.
    spans: Vec<Span>,
}

impl LogView {
    /// A log of spans in order. Texts are made plain: offsets of evidence refer to that form.
    #[must_use]
    pub fn new(spans: Vec<Span>) -> LogView {
        let plain = |span: Span| Span { text: plain(&span.text), ..span };
        LogView { spans: spans.into_iter().map(plain).collect() }
    }

    /// The spans.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// A span's label in prompts, from its place: its letter and its number from 1.
    #[must_use]
    pub fn label(&self, place: usize) -> String {
        let letter = self.spans.get(place).map_or('x', |span| span.kind.letter());
        format!("{letter}{}", place + 1)
    }

    /// The place of a label.
    #[must_use]
    pub fn place(&self, label: &str) -> Option<usize> {
        let digits = label.get(1..)?;
        let place = digits.parse::<usize>().ok()?.checked_sub(1)?;
        (place < self.spans.len() && self.label(place) == label).then_some(place)
    }

    /// Whether anything in it can be evidence.
    #[must_use]
    pub fn has_evidence(&self) -> bool {
        self.spans.iter().any(|span| span.kind.is_evidence() && !span.text.trim().is_empty())
    }

    /// Its lines for a prompt, blank ones left out; a line of more tokens than `most` is cut into several of the same label.
    #[must_use]
    pub fn lines(&self, most: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for (place, span) in self.spans.iter().enumerate() {
            let label = self.label(place);
            for text in span.text.lines().filter(|line| !line.trim().is_empty()) {
                let line = Line { label: label.clone(), text: text.to_owned() };
                if line_tokens(&line) <= most {
                    lines.push(line);
                    continue;
                }
                lines.extend(
                    pieces(text, (3 * most).max(12)).map(|text| Line { label: label.clone(), text: text.to_owned() }),
                );
            }
        }
        lines
    }
}

/// Pieces of at most so many bytes, cut between characters.
fn pieces(text: &str, bytes: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = bytes.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, left) = rest.split_at(end.max(1));
        rest = left;
        Some(piece)
    })
}
