//! The coverage audit: which requirements a task states, and which of them a scheme of categories covers (G §4.5).
//!
//! Requirements are extracted from the instruction alone. Sorting shows definitions and requirements, and nothing else; a requirement that is
//! sorted to `none` is not covered. The same sorting gives the items of a checklist their category, after the gates and before freezing.

use parthack_env::input::Cursor;
use parthack_model::answer::Answer;
use parthack_model::prompt::Prompt;

use super::schema::Scheme;
use crate::block::{Line, block, numbered, plain};
use crate::prompts;
use crate::ratio::Ratio;
use crate::reading;

/// The most requirements of a task.
pub const MOST_REQUIREMENTS: usize = 40;
const NO_CATEGORY: &str = "none";

/// A requirement that an instruction states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The words that state it.
    pub quote: String,
    /// The same in a sentence.
    pub text: String,
    /// Whether the quote stands in the instruction, byte for byte. One that does not is kept out of the count.
    pub is_stated: bool,
}

/// The prompt that extracts requirements.
#[must_use]
pub fn extraction_prompt(instruction: &str) -> Prompt {
    let requirement = reading::object(vec![("quote", reading::text(400)), ("requirement", reading::text(300))]);
    let schema = reading::object(vec![("requirements", reading::list(requirement, 1, MOST_REQUIREMENTS))]);
    let user = block("instruction", &numbered("i", instruction));
    reading::prompt("gcpc_requirements", prompts::REQUIREMENTS.text.to_owned(), user, schema)
}

/// Reads extracted requirements.
///
/// # Errors
/// What is wrong and where (JSON pointer), in one sentence.
pub fn read_extraction(instruction: &str, answer: &Answer) -> Result<Vec<Requirement>, String> {
    reading::read(answer, |root| {
        root.object(&["requirements"])?;
        let list = root.key("requirements")?;
        let items = list.items()?;
        if items.is_empty() || items.len() > MOST_REQUIREMENTS {
            return Err(list.fault(format!("1 to {MOST_REQUIREMENTS} requirements")));
        }
        let one = |cursor: &Cursor<'_, '_>| {
            cursor.object(&["quote", "requirement"])?;
            let quote = cursor.key("quote")?.text()?;
            let text = cursor.key("requirement")?.text()?.to_owned();
            let is_stated = !quote.trim().is_empty() && instruction.contains(quote);
            Ok(Requirement { quote: quote.to_owned(), text, is_stated })
        };
        items.iter().map(one).collect()
    })
}

/// The prompt that sorts requirements into a scheme's categories.
#[must_use]
pub fn sorting_prompt(scheme: &Scheme, requirements: &[&str]) -> Prompt {
    let category = |(index, of): (usize, &super::schema::Definition)| Line {
        label: format!("k{}", index + 1),
        text: format!("{}: {}", of.name, of.text),
    };
    let categories: Vec<Line> = scheme.categories.iter().enumerate().map(category).collect();
    let lines: Vec<Line> = requirements
        .iter()
        .enumerate()
        .map(|(index, text)| Line { label: key(index), text: plain(text).replace('\n', " ") })
        .collect();
    let names: Vec<&str> = scheme.categories.iter().map(|of| of.name.as_str()).chain([NO_CATEGORY]).collect();
    let fields = lines.iter().map(|line| (line.label.as_str(), reading::word(&names))).collect();
    let schema = reading::object(vec![("categories", reading::object(fields))]);
    let user = block("categories", &categories) + &block("requirements", &lines);
    reading::prompt("gcpc_categories", prompts::CLASSIFY.text.to_owned(), user, schema)
}

fn key(index: usize) -> String {
    format!("r{}", index + 1)
}

/// Reads a sorting: for each requirement the place of its category in the scheme, or `None`.
///
/// # Errors
/// What is wrong and where (JSON pointer), in one sentence.
pub fn read_sorting(scheme: &Scheme, requirements: usize, answer: &Answer) -> Result<Vec<Option<usize>>, String> {
    reading::read(answer, |root| {
        root.object(&["categories"])?;
        let sorted = root.key("categories")?;
        let keys: Vec<String> = (0..requirements).map(key).collect();
        sorted.object(&keys.iter().map(String::as_str).collect::<Vec<_>>())?;
        let places = scheme.categories.iter().enumerate().map(|(place, of)| (of.name.as_str(), Some(place)));
        let words: Vec<(&str, Option<usize>)> = places.chain([(NO_CATEGORY, None)]).collect();
        keys.iter().map(|key| sorted.key(key)?.word(&words)).collect()
    })
}

/// The share of requirements that have a category; `None` without requirements.
#[must_use]
pub fn coverage(sorted: &[Option<usize>]) -> Option<Ratio> {
    Ratio::of(sorted.iter().flatten().count(), sorted.len())
}
