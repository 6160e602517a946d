//! Marks of code in a requirement: what one writes in Python and hardly ever in a sentence.
//!
//! They count where the verifier has Python code and the instruction does not write the same. Strong: an index behind a name
//! (`plan[0]`, `data['key']`); two names with a point between them that the code has (`json.load`); `assert` as the first word; `for x in
//! items` with a variable of the code's loops, if it is of one or two letters or a colon follows; a prefix of a literal (`b'…'`, `f"…"`); the name of an
//! exception that the code has; a variable of one letter behind `in`; a quoted text that is a literal of the code and that the instruction
//! does not say. Weak: such a point behind a name of the code; such a `for` otherwise; any other name of an exception; `None`, `True` or
//! `False`. Names of files that the instruction or a literal has are no dotted names.

use std::collections::BTreeSet;

use super::test_code::{STRONG, WEAK};
use crate::text::inflection::stem;
use crate::text::token::{Kind, Token, words};
use crate::verifier::lexicon::Lexicon;
use crate::verifier::{SourceKind, Verifier};

/// Quoted texts with fewer letters and digits say nothing of where they come from.
const LEAST_LITERAL: usize = 3;
/// A quoted text in a requirement is no longer than this.
const MOST_QUOTED: usize = 200;

pub(super) struct Syntax<'a> {
    lexicon: Lexicon,
    instruction: &'a str,
    told: BTreeSet<String>,
    /// The instruction's words, cut to their stems.
    stems: Vec<String>,
}

impl<'a> Syntax<'a> {
    pub(super) fn new(instruction: &'a str, verifier: &Verifier) -> Syntax<'a> {
        let mut lexicon = Lexicon::default();
        let code = verifier.sources().iter().filter(|(_, kind)| *kind == SourceKind::Code);
        for (source, _) in code.filter(|(source, _)| source.path.ends_with(".py")) {
            lexicon.add(&source.text);
        }
        let all = words(instruction);
        let stems = all.iter().map(|word| stem(word)).collect();
        Syntax { lexicon, instruction, told: all.into_iter().collect(), stems }
    }

    /// Whether a word is a name of the code, outside of literals and comments.
    pub(super) fn is_name(&self, word: &str) -> bool {
        self.lexicon.names.contains(word)
    }

    /// Appends the marks of a requirement: weight and what it is.
    pub(super) fn check(&self, requirement: &str, found: &[Token<'_>], marks: &mut Vec<(u32, String)>) {
        if self.lexicon.names.is_empty() {
            return;
        }
        for index in 0..found.len() {
            marks.extend(self.index(requirement, found, index));
            marks.extend(self.point(found, index));
            marks.extend(self.loop_head(requirement, found, index));
            marks.extend(self.prefix(requirement, found, index));
            marks.extend(self.word(found, index));
        }
        for text in quoted(requirement) {
            if self.lexicon.literals.contains(text) && !self.is_said(text) {
                marks.push((STRONG, format!("the literal {text:?}")));
            }
        }
    }

    fn is_told(&self, word: &str) -> bool {
        self.told.contains(&word.to_lowercase())
    }

    /// Whether the instruction has the words of a text in a row, whatever their inflection; or the text has hardly any.
    fn is_said(&self, text: &str) -> bool {
        let own: Vec<String> = words(text).iter().map(|word| stem(word)).collect();
        let length = text.chars().filter(|of| of.is_alphanumeric()).count();
        length < LEAST_LITERAL || self.stems.windows(own.len()).any(|window| window == own)
    }

    /// `name[…]`
    fn index(&self, requirement: &str, found: &[Token<'_>], index: usize) -> Option<(u32, String)> {
        let [base, open, inner, ..] = found.get(index..)? else { return None };
        let is_base = base.kind == Kind::Word || ["]", ")"].contains(&base.text);
        if !is_base || open.text != "[" || !touch(base, open) || ["s", "es"].contains(&inner.text) {
            return None;
        }
        let close = found[index + 2..].iter().find(|token| token.text == "]")?;
        let is_literal = ["\"", "'", "-"].contains(&inner.text);
        let is_known =
            self.is_name(base.text) && (inner.kind == Kind::Number || inner.text == ":" || self.is_name(inner.text));
        let text = requirement.get(base.start..=close.start)?;
        ((is_literal || is_known) && !self.instruction.contains(text)).then(|| (STRONG, format!("the index {text}")))
    }

    /// `name.name`
    fn point(&self, found: &[Token<'_>], index: usize) -> Option<(u32, String)> {
        const ENDINGS: [&str; 18] = [
            "bib", "csv", "docx", "dot", "html", "js", "json", "jsonl", "md", "pdf", "png", "py", "sh", "toml", "txt",
            "xlsx", "xml", "yaml",
        ];
        let [left, point, right, ..] = found.get(index..)? else { return None };
        let are_words = left.kind == Kind::Word && right.kind == Kind::Word;
        if !are_words || point.text != "." || !touch(left, point) || !touch(point, right) {
            return None;
        }
        let text = format!("{}.{}", left.text, right.text);
        if self.instruction.contains(&text) || (self.is_told(left.text) && self.is_told(right.text)) {
            return None;
        }
        if self.lexicon.dotted.contains(&text) {
            return Some((STRONG, format!("the name {text}")));
        }
        let is_file = ENDINGS.contains(&right.text) || self.lexicon.literals.iter().any(|of| of.contains(&text));
        let is_short = left.text.len() == 1 && right.text.len() == 1;
        (self.is_name(left.text) && !is_file && !is_short).then(|| (WEAK, format!("the name {text}")))
    }

    /// `for x in items`
    fn loop_head(&self, requirement: &str, found: &[Token<'_>], index: usize) -> Option<(u32, String)> {
        if found[index].text != "for" {
            return None;
        }
        let mut at = index + 1;
        let variable = found.get(at)?;
        while found.get(at + 1)?.text == "," && found.get(at + 2)?.kind == Kind::Word {
            at += 2;
        }
        let (within, items) = (found.get(at + 1)?, found.get(at + 2)?);
        if within.text != "in" || !self.lexicon.loop_variables.contains(variable.text) {
            return None;
        }
        let head = requirement.get(found[index].start..within.start + within.text.len())?;
        if self.instruction.contains(head) {
            return None;
        }
        let mut end = at + 2;
        while found.get(end + 1).is_some_and(|next| touch(&found[end], next) && next.text != ":") {
            end += 1;
        }
        let is_code = variable.text.len() <= 2 || found.get(end + 1).is_some_and(|next| next.text == ":");
        Some((if is_code { STRONG } else { WEAK }, format!("the loop {head} {}", items.text)))
    }

    /// `b'…'`
    fn prefix(&self, requirement: &str, found: &[Token<'_>], index: usize) -> Option<(u32, String)> {
        let [prefix, mark, inner, ..] = found.get(index..)? else { return None };
        let is_prefix = ["b", "f", "r", "br", "rb", "fr", "rf"].contains(&prefix.text.to_lowercase().as_str());
        let is_mark = ["\"", "'"].contains(&mark.text) && touch(prefix, mark);
        // The genitive of a name: `b's`.
        let is_genitive = mark.text == "'" && inner.text == "s" && touch(mark, inner);
        if !is_prefix || !is_mark || is_genitive || !found[index + 2..].iter().any(|token| token.text == mark.text) {
            return None;
        }
        let text = requirement.get(prefix.start..=mark.start)?;
        (!self.instruction.contains(text)).then(|| (STRONG, format!("the literal {text}…")))
    }

    /// Single words that only code has.
    fn word(&self, found: &[Token<'_>], index: usize) -> Option<(u32, String)> {
        let token = found.get(index).filter(|token| token.kind == Kind::Word && !self.is_told(token.text))?;
        let word = token.text;
        let mark = |weight| Some((weight, format!("the word {word}")));
        if index == 0 && word.eq_ignore_ascii_case("assert") {
            return mark(STRONG);
        }
        let is_exception = ["Error", "Exception"].iter().any(|end| word.len() > end.len() && word.ends_with(end))
            && word.starts_with(char::is_uppercase);
        if is_exception {
            return mark(if self.is_name(word) { STRONG } else { WEAK });
        }
        let before = index.checked_sub(1).map(|before| found[before].text);
        let is_letter = word.len() == 1 && word != "a" && word.starts_with(|of: char| of.is_ascii_lowercase());
        if before == Some("in") && is_letter && self.is_name(word) {
            return mark(STRONG);
        }
        if index > 0 && ["None", "True", "False"].contains(&word) {
            return mark(WEAK);
        }
        None
    }
}

/// Whether nothing stands between two tokens.
fn touch(left: &Token<'_>, right: &Token<'_>) -> bool {
    left.start + left.text.len() == right.start
}

/// The texts between quotation marks or back-ticks in a sentence; an apostrophe within a word is none.
fn quoted(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut before = None;
    for (at, mark) in text.char_indices() {
        let close = match mark {
            '\'' | '"' | '`' => mark,
            '“' => '”',
            '‘' => '’',
            _ => {
                before = Some(mark);
                continue;
            }
        };
        let inner = &text[at + mark.len_utf8()..];
        let is_open = before.replace(mark).is_none_or(|before: char| !before.is_alphanumeric());
        let ends = inner.char_indices().take(MOST_QUOTED).find(|(place, of)| {
            let next = inner[place + of.len_utf8()..].chars().next();
            *of == close && next.is_none_or(|next| !next.is_alphanumeric())
        });
        if let Some((end, _)) = ends.filter(|(end, _)| is_open && *end > 0) {
            found.push(&inner[..end]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_of_a_sentence() {
        assert_eq!(quoted("a 'b c' and \"d\", `e` or “f”"), ["b c", "d", "e", "f"]);
        assert_eq!(quoted("the lifter's total isn't there"), [""; 0]);
        assert_eq!(quoted("''"), [""; 0]);
    }
}
