//! The gate on quotes: verbatim in the instruction, byte for byte.
//!
//! What is not verbatim gets the most telling code, in this order: it would be verbatim but for one of white space, invisible characters,
//! case, look-alike characters; it stands in the verifier, as written or as the program and a reader of its comments see it; it joins passages with an ellipsis; it is near a span; it is not there. A reader
//! gets the nearest true span each time, with its byte offsets.

use super::plain::is_empty;
use super::{Code, Fault, Options, TrueSpan, shown};
use crate::text::fold::{Folded, Folding, fold};
use crate::text::nearest::nearest;
use crate::text::token::{Kind, Token, tokens, words};
use crate::verifier::lexicon::{Lexicon, comments};
use crate::verifier::{Source, SourceKind, Verifier};

/// A short quote has at least so many letters and digits.
const LEAST_DISTINCTIVE: usize = 4;
/// What the instruction says more often is no passage of it.
const MOST_PLACES: usize = 3;
/// Beyond so many pairs of characters no nearest span is looked for.
const MOST_WORK: usize = 400_000_000;

pub(super) struct Gate<'a> {
    instruction: &'a str,
    verifier: &'a Verifier,
    options: &'a Options,
    foldings: Vec<(Code, Folding, Folded)>,
    /// The verifier's texts, and what they say without the writing of code, white space folded.
    verifier_texts: Vec<(&'a str, Folded)>,
}

const SPACE: Folding = Folding { space: true, invisible: false, case: false, look: false };

impl<'a> Gate<'a> {
    pub(super) fn new(instruction: &'a str, verifier: &'a Verifier, options: &'a Options) -> Gate<'a> {
        let none = Folding::default();
        let foldings = [
            (Code::QuoteWhitespace, SPACE),
            (Code::QuoteInvisible, Folding { invisible: true, ..none }),
            (Code::QuoteCase, Folding { case: true, ..none }),
            (Code::QuoteLookalike, Folding { look: true, ..none }),
        ];
        let foldings = foldings.map(|(code, folding)| (code, folding, fold(instruction, folding))).to_vec();
        let sources = verifier.sources().iter().filter(|(_, kind)| *kind != SourceKind::Other);
        let folded =
            |source: &'a Source| [&source.text, &said(source)].map(|text| (source.path.as_str(), fold(text, SPACE)));
        let verifier_texts = sources.flat_map(|(source, _)| folded(source)).collect();
        Gate { instruction, verifier, options, foldings, verifier_texts }
    }

    pub(super) fn check(&self, index: usize, quote: &str) -> Option<Fault> {
        let fault = |code, message: String| Some(Fault::new(code, index, "quote", quote, message));
        if is_empty(quote) {
            return None;
        }
        if self.instruction.contains(quote) {
            let characters = quote.chars().filter(|character| character.is_alphanumeric()).count();
            let (least_words, least) = (self.options.least_quote_words, self.options.least_quote_characters);
            if (words(quote).len() >= least_words && characters >= least) || self.is_distinctive(quote, characters) {
                return None;
            }
            let message = format!(
                "{} grounds nothing: expected {least_words} words and {least} letters and digits, or a name, a number \
                 or a marked text as a whole",
                shown(quote)
            );
            return fault(Code::QuoteTooShort, message);
        }
        for (code, folding, folded) in &self.foldings {
            if let Some((start, end)) = folded.find(&fold(quote, *folding)) {
                let what = match code {
                    Code::QuoteWhitespace => "white space",
                    Code::QuoteInvisible => "characters that show nothing",
                    Code::QuoteCase => "case",
                    _ => "characters that look alike",
                };
                return self.off_by(index, quote, *code, &format!("but for {what}"), (start, end));
            }
        }
        if let Some(place) = self.place_in_verifier(quote) {
            let mut fault = fault(
                Code::QuoteFromVerifier,
                format!("{} stands in the verifier ({place}), not in the instruction", shown(quote)),
            )?;
            self.add_nearest(&mut fault, quote);
            return Some(fault);
        }
        if is_joined(quote, self.instruction) {
            return fault(Code::QuoteJoined, format!("{} joins passages; quote one of them", shown(quote)));
        }
        let folded = fold(self.instruction, Folding::ALL);
        if let Some(span) = folded.find(&fold(quote, Folding::ALL)) {
            return self.off_by(
                index,
                quote,
                Code::QuoteNear,
                "but for more than one of case, white space and look",
                span,
            );
        }
        let mut missing =
            fault(Code::QuoteMissing, format!("{} is not in the instruction, nor near anything in it", shown(quote)))?;
        if let Some(distance) = self.add_nearest(&mut missing, quote) {
            missing.code = Code::QuoteNear;
            let span = missing.nearest.clone()?;
            missing.message = format!(
                "{} is not in the instruction; {distance} characters off, at bytes {} to {}, stands {}{}",
                shown(quote),
                span.start,
                span.end,
                shown(&span.text),
                first_difference(quote, &span.text)
            );
        }
        Some(missing)
    }

    /// Whether a short quote is about one thing all the same: it begins and ends where words of the instruction do, and has a name (with an
    /// underscore, an inner capital, or a point between words as in `report.json`), a number with a word beside it (`ISO 8601`, `22.0C`),
    /// or a text between back-ticks or quotation marks. The instruction says it at most [`MOST_PLACES`] times.
    fn is_distinctive(&self, quote: &str, characters: usize) -> bool {
        let found = tokens(quote);
        let inside = |before: Option<char>, after: Option<char>| {
            let is_part = |of: char| of.is_alphanumeric() || of == '_';
            before.is_some_and(is_part) && after.is_some_and(is_part)
        };
        let is_whole = |at: usize| {
            let (before, after) = (&self.instruction[..at], &self.instruction[at + quote.len()..]);
            !inside(before.chars().next_back(), quote.chars().next())
                && !inside(quote.chars().next_back(), after.chars().next())
        };
        let places: Vec<usize> = self.instruction.match_indices(quote).map(|(at, _)| at).collect();
        if characters < LEAST_DISTINCTIVE || places.len() > MOST_PLACES || !places.into_iter().any(is_whole) {
            return false;
        }
        let is_name = |token: &Token<'_>| {
            let mut letters = token.text.chars().zip(token.text.chars().skip(1));
            let has_inner_capital = letters.any(|(before, after)| before.is_lowercase() && after.is_uppercase());
            token.kind == Kind::Word && (token.text.trim_matches('_').contains('_') || has_inner_capital)
        };
        let has_point = found.windows(3).any(|three| {
            let [left, point, right] = three else { return false };
            let are_words = left.kind == Kind::Word && right.kind == Kind::Word;
            are_words
                && point.text == "."
                && point.start == left.start + left.text.len()
                && right.start == point.start + 1
        });
        let has = |kind| found.iter().any(|token| token.kind == kind);
        let is_marked = [('`', '`'), ('"', '"'), ('“', '”')].iter().any(|(open, close)| {
            let inner = quote.split_once(*open).and_then(|(_, rest)| rest.split_once(*close)).map(|(inner, _)| inner);
            inner.is_some_and(|inner| inner.chars().filter(|of| of.is_alphanumeric()).count() >= LEAST_DISTINCTIVE)
        });
        found.iter().any(is_name) || has_point || is_marked || (has(Kind::Number) && has(Kind::Word))
    }

    fn off_by(&self, index: usize, quote: &str, code: Code, what: &str, (start, end): (usize, usize)) -> Option<Fault> {
        let text = self.instruction.get(start..end)?.to_owned();
        let message = format!(
            "{} is verbatim {what}; at bytes {start} to {end} of the instruction stands {}{}",
            shown(quote),
            shown(&text),
            first_difference(quote, &text)
        );
        let mut fault = Fault::new(code, index, "quote", quote, message);
        fault.nearest = Some(TrueSpan { start, end, text });
        Some(fault)
    }

    /// Sets the nearest span where one is near enough, and says how many characters differ.
    fn add_nearest(&self, fault: &mut Fault, quote: &str) -> Option<usize> {
        let length = quote.chars().count();
        if self.instruction.len().saturating_mul(length) > MOST_WORK {
            return None;
        }
        let span = nearest(self.instruction, quote)?;
        if 100 * span.distance > self.options.near_percent * length {
            return None;
        }
        let text = self.instruction.get(span.start..span.end)?.to_owned();
        fault.nearest = Some(TrueSpan { start: span.start, end: span.end, text });
        Some(span.distance)
    }

    /// Where the verifier says it: a file, or a named check.
    fn place_in_verifier(&self, quote: &str) -> Option<String> {
        let wanted = fold(quote, SPACE);
        if let Some((path, _)) = self.verifier_texts.iter().find(|(_, text)| text.find(&wanted).is_some()) {
            return Some((*path).to_owned());
        }
        let test = self.verifier.tests().iter().find(|test| fold(&test.text, SPACE).find(&wanted).is_some());
        test.map(super::super::verifier::VerifierTest::node)
    }
}

/// The literals of code as the program sees them, and its comments without their marks; what is between two of them is in no quote.
fn said(source: &Source) -> String {
    let mut lexicon = Lexicon::default();
    if source.path.ends_with(".py") {
        lexicon.add(&source.text);
    }
    lexicon.literals.into_iter().chain(comments(&source.text)).collect::<Vec<_>>().join("\0")
}

/// Whether the parts between ellipses stand in the instruction, in order.
fn is_joined(quote: &str, instruction: &str) -> bool {
    let plain = quote.replace('…', "...");
    let parts: Vec<&str> = plain.split("...").map(str::trim).filter(|part| !part.is_empty()).collect();
    let mut rest = instruction;
    parts.len() > 1
        && parts.iter().all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
}

fn first_difference(quote: &str, text: &str) -> String {
    let mut pairs = quote.char_indices().zip(text.chars());
    let described = |character: Option<char>| match character {
        Some(character) => format!("{character:?} (U+{:04X})", u32::from(character)),
        None => "the end".to_owned(),
    };
    match pairs.find(|((_, own), other)| own != other) {
        Some(((at, own), other)) => {
            format!("; first apart at byte {at}: {} for {}", described(Some(own)), described(Some(other)))
        }
        None => String::new(),
    }
}
