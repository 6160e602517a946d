//! The gate against requirements that reword test code instead of stating what the task asks for.
//!
//! The rule, whole. What the instruction says itself is never held against a requirement. Marks of the verifier are counted, a strong one
//! as 2 and a weak one as 1, and 2 are refused.
//!
//! Strong: a name with an underscore, one with an inner capital that begins small (`rowFields`), one of at least five capitals, a word with digits between
//! letters (`smith2020ai`), a name called (`name(`), or the name of a test, that the verifier has and the instruction has not; `==` or `!=`; a
//! run of `code_run` tokens, at least two of them marks, that stands in the code, of which three words are new; a run of `prose_run` words from its
//! comments and messages, of which all but two are new; a quoted text of the verifier of three words, or of two capitalized ones; a word of
//! a quoted text that is all capitalized words, if it is written so inside a sentence; the words of a test's name in a row, `test` among them; a number
//! of three digits; one from an `assert` line with one more word of that line. Weak: any other name with an inner capital; any other number of the verifier
//! above 2; the word `assert`; a capitalized word as above that begins a sentence. A word is new where no three words in a row around it stand in the
//! instruction. Of named checks (tau2) only names count. [`super::code_syntax`] adds what is written as in Python.

use std::collections::{BTreeMap, BTreeSet};

use super::code_syntax::Syntax;
use super::{Code, Fault, Options, shown};
use crate::text::token::{Kind, Token, number_value, tokens, words};
use crate::verifier::{SourceKind, Verifier};

pub(super) const STRONG: u32 = 2;
pub(super) const WEAK: u32 = 1;
/// A number of so many digits is nobody's chance hit.
const STRONG_DIGITS: usize = 3;
/// A name in capitals with fewer letters may be everyone's abbreviation.
const STRONG_CAPITALS: usize = 5;
/// A word with digits inside, such as the key of an entry, is a name from so many characters on.
const KEY_LENGTH: usize = 8;
/// Names of tests with fewer words are what one says anyway (`test cases`).
const LEAST_NAME_WORDS: usize = 3;

/// A place in the verifier.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    line: usize,
}

pub(super) struct Gate<'a> {
    options: &'a Options,
    instruction: Words,
    instruction_text: &'a str,
    /// All names, exactly as written, and whether they are called somewhere.
    names: BTreeMap<&'a str, (Place<'a>, bool)>,
    /// Numbers in one form, with the words of each `assert` line that has them.
    numbers: BTreeMap<String, (Place<'a>, Vec<BTreeSet<String>>)>,
    texts: Vec<(Vec<String>, bool, Place<'a>)>,
    /// Words of quoted texts that are all capitalized words.
    capitalized: BTreeMap<&'a str, Place<'a>>,
    /// The words of the tests' names, `test` among them.
    tests: BTreeMap<Vec<String>, Place<'a>>,
    /// Words with digits between letters, also as parts of names.
    keys: BTreeMap<&'a str, Place<'a>>,
    code: Run<'a>,
    prose: Run<'a>,
    syntax: Syntax<'a>,
}

/// What a text says, for look-up.
struct Words {
    all: BTreeSet<String>,
    numbers: BTreeSet<String>,
    sequence: Vec<String>,
}

/// A sequence of lower-case tokens with their places, and where each token stands in it.
#[derive(Default)]
struct Run<'a> {
    sequence: Vec<(String, Place<'a>)>,
    starts: BTreeMap<String, Vec<usize>>,
}

impl<'a> Run<'a> {
    fn push(&mut self, text: String, place: Place<'a>) {
        self.starts.entry(text.clone()).or_default().push(self.sequence.len());
        self.sequence.push((text, place));
    }

    /// The longest run from the front of `wanted`.
    fn longest(&self, wanted: &[String]) -> (usize, Option<Place<'a>>) {
        let Some(first) = wanted.first() else { return (0, None) };
        let length = |start: &usize| {
            self.sequence[*start..].iter().zip(wanted).take_while(|((own, _), other)| own == *other).count()
        };
        let best = self.starts.get(first).into_iter().flatten().map(|start| (length(start), *start)).max();
        best.map_or((0, None), |(length, start)| (length, Some(self.sequence[start].1)))
    }
}

impl Words {
    fn of(text: &str) -> Words {
        let sequence = words(text);
        let in_words = sequence.iter().filter_map(|word| number_value(word));
        let numbers = tokens(text).iter().flat_map(readings).chain(in_words).collect();
        Words { all: sequence.iter().cloned().collect(), numbers, sequence }
    }
}

impl<'a> Gate<'a> {
    pub(super) fn new(instruction: &'a str, verifier: &'a Verifier, options: &'a Options) -> Gate<'a> {
        let mut gate = Gate {
            options,
            instruction: Words::of(instruction),
            instruction_text: instruction,
            names: BTreeMap::new(),
            numbers: BTreeMap::new(),
            texts: Vec::new(),
            capitalized: BTreeMap::new(),
            tests: BTreeMap::new(),
            keys: BTreeMap::new(),
            code: Run::default(),
            prose: Run::default(),
            syntax: Syntax::new(instruction, verifier),
        };
        for (source, _) in verifier.sources().iter().filter(|(_, kind)| *kind == SourceKind::Code) {
            for (index, line) in source.text.lines().enumerate() {
                gate.read(line, Place { file: &source.path, line: index + 1 });
            }
        }
        for test in verifier.tests() {
            let place = Place { file: &test.file, line: test.line };
            gate.read_names(&tokens(&test.id), place);
            let name = name_words(test.base().rsplit("::").next().unwrap_or_default());
            if name.first().is_some_and(|first| first == "test") && name.len() >= LEAST_NAME_WORDS {
                gate.tests.entry(name).or_insert(place);
            }
            if test.line == 0 {
                gate.read_names(&tokens(&test.text), place);
            }
        }
        gate
    }

    fn read(&mut self, line: &'a str, place: Place<'a>) {
        let found = tokens(line);
        self.read_names(&found, place);
        let is_assert = found.iter().any(|token| token.text == "assert" || token.text.starts_with("assert"));
        for token in &found {
            let text = token.text.to_lowercase();
            if token.kind != Kind::Mark {
                self.prose.push(text.clone(), place);
            }
            for value in readings(token) {
                let (_, lines) = self.numbers.entry(value).or_insert_with(|| (place, Vec::new()));
                if is_assert {
                    lines.push(parts(&found));
                }
            }
            self.code.push(text, place);
        }
        for text in quoted(line) {
            let own = words(text);
            if !text.is_empty() && text.split_whitespace().all(is_capitalized) {
                for word in text.split_whitespace() {
                    self.capitalized.entry(word).or_insert(place);
                }
            }
            let is_name = own.len() == 2 && text.split_whitespace().all(|word| word.starts_with(char::is_uppercase));
            if own.len() >= 3 || is_name {
                self.texts.push((own, is_name, place));
            }
        }
    }

    fn read_names(&mut self, found: &[Token<'a>], place: Place<'a>) {
        for (index, token) in found.iter().enumerate().filter(|(_, token)| token.kind == Kind::Word) {
            let is_called = is_call(found, index);
            for part in token.text.split('_').filter(|part| is_key(part)) {
                self.keys.entry(part).or_insert(place);
            }
            self.names.entry(token.text).or_insert((place, false)).1 |= is_called;
        }
    }

    pub(super) fn check(&self, index: usize, requirement: &str) -> Option<Fault> {
        let mut marks: Vec<(u32, String)> = Vec::new();
        let found = tokens(requirement);
        self.check_names(&found, &mut marks);
        self.check_numbers(&found, &mut marks);
        self.check_runs(&found, &mut marks);
        self.check_texts(requirement, &mut marks);
        self.check_capitalized(&found, &mut marks);
        self.syntax.check(requirement, &found, &mut marks);
        if marks.iter().map(|(weight, _)| weight).sum::<u32>() < STRONG {
            return None;
        }
        let marks: BTreeSet<String> = marks.into_iter().map(|(_, mark)| mark).collect();
        let marks = marks.into_iter().collect::<Vec<_>>().join("; ");
        let message = format!("{} rewords test code: {marks}", shown(requirement));
        Some(Fault::new(Code::TestCode, index, "requirement", requirement, message))
    }

    fn is_told(&self, word: &str) -> bool {
        self.instruction.all.contains(&word.to_lowercase())
    }

    fn check_names(&self, found: &[Token<'_>], marks: &mut Vec<(u32, String)>) {
        let mut seen = BTreeSet::new();
        for (index, token) in found.iter().enumerate() {
            if token.kind == Kind::Mark
                && ["==", "!="].contains(&token.text)
                && !self.instruction_text.contains(token.text)
            {
                marks.push((STRONG, format!("the operator {}", token.text)));
            }
            if token.kind != Kind::Word {
                continue;
            }
            // A word that the instruction has is not told as a call by it.
            if is_call(found, index) && !self.instruction_text.contains(&format!("{}(", token.text)) {
                let called = self.names.get(token.text).filter(|(_, is_called)| *is_called);
                marks.extend(
                    called.map(|(place, _)| {
                        (STRONG, format!("the name {} of {}:{}", token.text, place.file, place.line))
                    }),
                );
            }
            if self.is_told(token.text) || !seen.insert(token.text) {
                continue;
            }
            if token.text == "assert" {
                marks.push((WEAK, "the word assert".to_owned()));
            }
            let name = token.text;
            if let Some(place) = self.keys.get(name) {
                marks.push((STRONG, format!("the name {name} of {}:{}", place.file, place.line)));
                continue;
            }
            let Some((place, _)) = self.names.get(name) else { continue };
            let is_snake = name.trim_matches('_').contains('_');
            let has_inner_capital = name
                .chars()
                .zip(name.chars().skip(1))
                .any(|(before, after)| before.is_lowercase() && after.is_uppercase());
            let is_small_first = name.starts_with(char::is_lowercase);
            let is_screamed = name.len() >= STRONG_CAPITALS
                && name.chars().all(|letter| letter.is_ascii_uppercase())
                && self.syntax.is_name(name);
            let is_strong = is_snake || is_screamed || (has_inner_capital && is_small_first);
            if is_strong || has_inner_capital {
                let weight = if is_strong { STRONG } else { WEAK };
                marks.push((weight, format!("the name {name} of {}:{}", place.file, place.line)));
            }
        }
    }

    fn check_numbers(&self, found: &[Token<'_>], marks: &mut Vec<(u32, String)>) {
        let own = parts(found);
        let mut seen = BTreeSet::new();
        for token in found {
            let Some(value) = number_value(&token.text.to_lowercase()) else { continue };
            if self.instruction.numbers.contains(&value)
                || ["0", "1", "2"].contains(&value.as_str())
                || !seen.insert(value.clone())
            {
                continue;
            }
            let Some((place, asserts)) = self.numbers.get(&value) else { continue };
            let shares = || asserts.iter().any(|line| line.iter().any(|word| word.len() > 3 && own.contains(word)));
            let digits = value.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
            let weight = if digits >= STRONG_DIGITS || shares() { STRONG } else { WEAK };
            marks.push((weight, format!("the number {} of {}:{}", token.text, place.file, place.line)));
        }
    }

    fn check_runs(&self, found: &[Token<'_>], marks: &mut Vec<(u32, String)>) {
        let all: Vec<String> = found.iter().map(|token| token.text.to_lowercase()).collect();
        let words: Vec<String> =
            found.iter().filter(|token| token.kind != Kind::Mark).map(|token| token.text.to_lowercase()).collect();
        let new = self.new_words(&words);
        // The place among words of each token.
        let mut place_of = Vec::new();
        let mut count = 0;
        for token in found {
            place_of.push((token.kind != Kind::Mark).then_some(count));
            count += usize::from(token.kind != Kind::Mark);
        }
        for start in 0..all.len() {
            let (length, place) = self.code.longest(&all[start..]);
            let run = &place_of[start..start + length];
            let is_new = run.iter().flatten().filter(|at| new[**at]).count();
            let marks_of = run.iter().filter(|at| at.is_none()).count();
            if length >= self.options.code_run
                && marks_of >= 2
                && is_new >= 3
                && let Some(place) = place
            {
                let text = all[start..start + length].join(" ");
                return marks.push((STRONG, format!("the code {} of {}:{}", shown(&text), place.file, place.line)));
            }
        }
        for start in 0..words.len() {
            let (length, place) = self.prose.longest(&words[start..]);
            let is_new = new[start..start + length].iter().filter(|is_new| **is_new).count();
            if length >= self.options.prose_run
                && is_new + 2 >= self.options.prose_run
                && let Some(place) = place
            {
                let text = words[start..start + length].join(" ");
                return marks.push((STRONG, format!("the words {} of {}:{}", shown(&text), place.file, place.line)));
            }
        }
    }

    /// Which words stand in no three in a row that the instruction has.
    fn new_words(&self, words: &[String]) -> Vec<bool> {
        let mut new = vec![true; words.len()];
        for (start, three) in words.windows(3).enumerate() {
            if self.instruction.sequence.windows(3).any(|window| window == three) {
                new[start..start + 3].fill(false);
            }
        }
        new
    }

    fn check_texts(&self, requirement: &str, marks: &mut Vec<(u32, String)>) {
        let own = words(requirement);
        for (text, is_name, place) in &self.texts {
            let is_in = |all: &[String]| all.windows(text.len()).any(|window| window == text.as_slice());
            if is_in(&own)
                && !is_in(&self.instruction.sequence)
                && (*is_name || text.iter().any(|word| !self.is_told(word)))
            {
                marks.push((STRONG, format!("the text {} of {}:{}", shown(&text.join(" ")), place.file, place.line)));
            }
        }
        for (name, place) in &self.tests {
            let is_in = |all: &[String]| all.windows(name.len()).any(|window| window == name.as_slice());
            if is_in(&own) && !is_in(&self.instruction.sequence) {
                marks.push((STRONG, format!("the test {} of {}:{}", shown(&name.join(" ")), place.file, place.line)));
            }
        }
    }

    fn check_capitalized(&self, found: &[Token<'_>], marks: &mut Vec<(u32, String)>) {
        for (index, token) in found.iter().enumerate().filter(|(_, token)| token.kind == Kind::Word) {
            let Some(place) = self.capitalized.get(token.text).filter(|_| !self.is_told(token.text)) else { continue };
            let is_first = index == 0 || [".", "!", "?"].contains(&found[index - 1].text);
            let weight = if is_first { WEAK } else { STRONG };
            marks.push((weight, format!("the name {} of {}:{}", token.text, place.file, place.line)));
        }
    }
}

/// The values of a number: of one in groups also those of the groups, which may be numbers of a list.
fn readings(token: &Token<'_>) -> Vec<String> {
    if token.kind != Kind::Number {
        return Vec::new();
    }
    let groups = token.text.split(',').filter(|group| *group != token.text);
    std::iter::once(token.text).chain(groups).filter_map(number_value).collect()
}

/// A capital and at least two small letters.
fn is_capitalized(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase) && word.chars().count() >= 3
}

/// Letters, digits and letters, and not few: the key of an entry.
fn is_key(word: &str) -> bool {
    let inner = word.trim_matches(|of: char| of.is_alphabetic());
    word.chars().count() >= KEY_LENGTH
        && inner.len() > 1
        && inner.bytes().all(|byte| byte.is_ascii_digit())
        && word.starts_with(char::is_alphabetic)
        && word.ends_with(char::is_alphabetic)
}

/// The words of a name in lower case, cut at underscores and inner capitals.
fn name_words(name: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if letter == '_' { ' ' } else { letter });
        before = letter;
    }
    words(&spaced)
}

/// A word right before a bracket, unless the bracket only makes a plural.
fn is_call(found: &[Token<'_>], index: usize) -> bool {
    let token = found[index];
    let next = found.get(index + 1).filter(|next| next.text == "(" && next.start == token.start + token.text.len());
    next.is_some() && !found.get(index + 2).is_some_and(|inner| inner.text == "s" || inner.text == "es")
}

/// The words of tokens in lower case, names cut at underscores.
fn parts(found: &[Token<'_>]) -> BTreeSet<String> {
    let words = found.iter().filter(|token| token.kind == Kind::Word);
    let parts = words.flat_map(|token| token.text.split('_')).map(str::to_lowercase);
    parts.filter(|part| !part.is_empty() && part != "assert").collect()
}

/// The texts between quotation marks on one line of code.
fn quoted(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(open) = rest.find(['"', '\'']) {
        let mark = &rest[open..open + 1];
        let inner = &rest[open + 1..];
        let Some(close) = inner.find(mark) else { break };
        found.push(&inner[..close]);
        rest = &inner[close + 1..];
    }
    found
}
