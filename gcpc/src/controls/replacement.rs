//! Evidence replacement: does a verdict move when the evidence that decided it says something else? (G, Table 3 C)
//!
//! For an item judged Yes every occurrence of its evidence in the log is replaced with a plausible but incorrect text, and the item is judged again.

use parthack_model::answer::Answer;
use parthack_model::prompt::Prompt;

use super::stream::Stream;
use crate::block::{Line, block, plain};
use crate::judging::log::{LogView, Span};
use crate::label::Label;
use crate::prompts;
use crate::ratio::Ratio;
use crate::reading;

/// Words that turn a result round, in pairs.
const OPPOSITES: [(&str, &str); 12] = [
    ("true", "false"),
    ("yes", "no"),
    ("pass", "fail"),
    ("passed", "failed"),
    ("success", "failure"),
    ("successful", "unsuccessful"),
    ("ok", "error"),
    ("found", "missing"),
    ("exists", "absent"),
    ("valid", "invalid"),
    ("complete", "incomplete"),
    ("equal", "unequal"),
];

/// A replacement without a model: every number gets other digits, and words of result are turned round. `None` where the text has
/// neither; then a model can be asked ([`prompt`]).
#[must_use]
pub fn falsified(text: &str, seed: u64) -> Option<String> {
    let mut stream = Stream::new("evidence-replacement", seed);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_in = |of: char| {
            if first.is_ascii_digit() { of.is_ascii_digit() } else { first.is_alphabetic() && of.is_alphabetic() }
        };
        let end = rest.find(|of: char| !is_in(of)).unwrap_or(rest.len()).max(first.len_utf8());
        let (piece, left) = rest.split_at(end);
        if first.is_ascii_digit() {
            out.extend(piece.chars().enumerate().map(|(index, digit)| other_digit(digit, index == 0, &mut stream)));
        } else {
            out.push_str(&opposite(piece).unwrap_or_else(|| piece.to_owned()));
        }
        rest = left;
    }
    (out != text).then_some(out)
}

/// Another digit; the first of a number is never 0.
fn other_digit(digit: char, is_first: bool, stream: &mut Stream) -> char {
    let choices: Vec<char> = ('0'..='9').filter(|other| *other != digit && !(is_first && *other == '0')).collect();
    choices.get(stream.below(choices.len())).copied().unwrap_or(digit)
}

/// The opposite of a word in its own case.
fn opposite(word: &str) -> Option<String> {
    let lower = word.to_lowercase();
    let pair = OPPOSITES.iter().find(|(left, right)| *left == lower || *right == lower)?;
    let other = if pair.0 == lower { pair.1 } else { pair.0 };
    let is_upper = word.chars().all(char::is_uppercase);
    let is_title = word.starts_with(char::is_uppercase);
    Some(match (is_upper, is_title) {
        (true, _) => other.to_uppercase(),
        (_, true) => other[..1].to_uppercase() + &other[1..],
        _ => other.to_owned(),
    })
}

/// The prompt that asks a model for replacements of an item's evidence.
#[must_use]
pub fn prompt(requirement: &str, evidence: &[&str]) -> Prompt {
    let line =
        |(index, text): (usize, &&str)| Line { label: format!("e{}", index + 1), text: plain(text).replace('\n', " ") };
    let item = Line { label: "r".to_owned(), text: plain(requirement).replace('\n', " ") };
    let user = block("item", &[item]) + &block("evidence", &evidence.iter().enumerate().map(line).collect::<Vec<_>>());
    let replacements = reading::list(reading::text(400), evidence.len(), evidence.len());
    let schema = reading::object(vec![("replacements", replacements)]);
    reading::prompt("gcpc_replacement", prompts::REPLACEMENT.text.to_owned(), user, schema)
}

/// Reads the replacements, in the order of the evidence.
///
/// # Errors
/// What is wrong and where: another number of them, an empty one, or one that still holds the text it replaces.
pub fn read(evidence: &[&str], answer: &Answer) -> Result<Vec<String>, String> {
    reading::read(answer, |root| {
        root.object(&["replacements"])?;
        let list = root.key("replacements")?;
        let items = list.items()?;
        if items.len() != evidence.len() {
            return Err(list.fault(format!("{} replacements", evidence.len())));
        }
        let one = |(cursor, old): (&parthack_env::input::Cursor<'_, '_>, &&str)| {
            let text = cursor.text()?;
            if text.trim().is_empty() || text.contains(old) {
                return Err(cursor.fault(format!("a text without {old:?}")));
            }
            Ok(text.to_owned())
        };
        items.iter().zip(evidence).map(one).collect()
    })
}

/// A log after replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The log, in which the old texts stand nowhere.
    pub log: LogView,
    /// How many occurrences were replaced.
    pub occurrences: usize,
}

/// Replaces every occurrence of some texts in every span, of whatever kind, longest first. `None` where none occurs, or where an old text
/// still stands in the result.
#[must_use]
pub fn replace(log: &LogView, pairs: &[(&str, &str)]) -> Option<Replaced> {
    let mut pairs: Vec<(&str, &str)> = pairs.iter().copied().filter(|(old, _)| !old.is_empty()).collect();
    pairs.sort_by_key(|(old, _)| std::cmp::Reverse(old.len()));
    let mut occurrences = 0;
    let mut spans: Vec<Span> = log.spans().to_vec();
    for span in &mut spans {
        for (old, new) in &pairs {
            occurrences += span.text.matches(old).count();
            span.text = span.text.replace(old, new);
        }
    }
    let log = LogView::new(spans);
    let is_left = log.spans().iter().any(|span| pairs.iter().any(|(old, _)| span.text.contains(old)));
    (occurrences > 0 && !is_left).then_some(Replaced { log, occurrences })
}

/// What became of items that were Yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sensitivity {
    /// Those that became No, over all (strict).
    pub to_no: Ratio,
    /// Those that became No or Abstain, over all.
    pub to_no_or_abstain: Ratio,
}

/// Counts labels after replacement; `None` without any.
#[must_use]
pub fn sensitivity(after: &[Label]) -> Option<Sensitivity> {
    let count = |wanted: &[Label]| after.iter().filter(|label| wanted.contains(label)).count();
    Some(Sensitivity {
        to_no: Ratio::of(count(&[Label::No]), after.len())?,
        to_no_or_abstain: Ratio::of(count(&[Label::No, Label::Abstain]), after.len())?,
    })
}
