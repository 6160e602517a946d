//! Synthesis of a checklist, once a task, from instruction and verifier alone (G §3.2).
//!
//! The answer is read as it stands, but for the prompt's own labels of lines: nothing is repaired, the gates refuse. A refused generation is kept, and another is made only when
//! somebody asks for it; its number is in the prompt, so that a model at temperature 0 is not asked the same twice. The five categories are not
//! mentioned: they audit, they do not guide.

use std::collections::{BTreeMap, BTreeSet};

use parthack_env::canonical::Hash;
use parthack_env::input::{Cursor, InputError};
use parthack_model::answer::{Answer, NoAnswer};
use parthack_model::prompt::Prompt;
use serde_json::{Value, json};

use crate::block::{Line, block, line_tokens, plain};
use crate::checklist::{Checklist, Frozen, Item, Origin, Route, instruction_hash};
use crate::gates::{Options, Report};
use crate::prompts;
use crate::reading::{self, canonical};
use crate::verifier::{Resolution, SourceKind, Verifier};

/// Up to so many test names are listed in the answer's schema.
const MOST_LISTED: usize = 80;
/// What stands for no test.
const NO_TEST: &str = "none";

/// What a checklist is made from: no trajectory, no outcome, no solution.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The task's id.
    pub id: &'a str,
    /// Its instruction.
    pub instruction: &'a str,
    /// Its verifier.
    pub verifier: &'a Verifier,
}

/// What is chosen and not read from a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Bounds of the number of items.
    pub items: (usize, usize),
    /// Tokens that the verifier's source may take, by [`crate::block::tokens`]. Beyond them, lines outside tests are left out
    /// first, then the ends of the longest tests; how many were left out is said in the prompt.
    pub verifier_tokens: usize,
}

impl Default for Setting {
    fn default() -> Setting {
        let options = Options::default();
        Setting { items: (options.least_items, options.most_items), verifier_tokens: 4_000 }
    }
}

/// The prompt of one attempt, from 1.
#[must_use]
pub fn prompt(task: Task<'_>, attempt: u32, setting: Setting) -> Prompt {
    let names = test_names(task.verifier);
    let mut user = block("instruction", &instruction_lines(task.instruction));
    let (lines, left_out) = verifier_lines(task.verifier, setting.verifier_tokens);
    if !lines.is_empty() {
        user.push_str(&block("verifier", &lines));
    }
    if left_out > 0 {
        user.push_str(&format!("{left_out} lines of the verifier are left out.\n"));
    }
    let tests: Vec<Line> =
        names.iter().enumerate().map(|(index, name)| test_line(index, name, task.verifier)).collect();
    user.push_str(&block("tests", &tests));
    let (least, most) = setting.items;
    user.push_str(&format!("Write {least} to {most} items. This is attempt {attempt}.\n"));
    let schema = reading::object(vec![("items", reading::list(item_schema(&names), least, most))]);
    reading::prompt("gcpc_checklist", prompts::SYNTHESIS.text.to_owned(), user, schema)
}

/// An item: one of route `assertion` has a test, every other has none, as far as a schema can say so.
fn item_schema(names: &[String]) -> Value {
    let item = |routes: &[&str], test: Value| {
        reading::object(vec![
            ("quote", reading::text(400)),
            ("requirement", reading::text(300)),
            ("route", reading::word(routes)),
            ("test", test),
        ])
    };
    let listed: Vec<&str> = names.iter().map(String::as_str).collect();
    let test = if listed.len() > MOST_LISTED { reading::text(300) } else { reading::word(&listed) };
    let tested = |word: &str| word == Route::Assertion.word();
    let (with, without): (Vec<&str>, Vec<&str>) =
        Route::WORDS.iter().map(|(word, _)| *word).partition(|word| tested(word));
    let untested = item(&without, reading::word(&[NO_TEST]));
    if names.is_empty() { untested } else { json!({"anyOf": [item(&with, test), untested]}) }
}

/// The instruction a sentence a line, without empty lines: a quote is copied from one line, and sentences are what is quoted.
fn instruction_lines(instruction: &str) -> Vec<Line> {
    let text = plain(instruction);
    let sentences = text.lines().flat_map(sentences).map(str::trim_end).filter(|sentence| !sentence.trim().is_empty());
    sentences.enumerate().map(|(index, text)| Line { label: label(index), text: text.to_owned() }).collect()
}

fn label(index: usize) -> String {
    format!("i{}", index + 1)
}

/// A line cut behind each full stop, exclamation or question mark that blanks and no small letter follow.
fn sentences(line: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, mark) in line.match_indices(['.', '!', '?']) {
        let behind = at + mark.len();
        let rest = &line[behind..];
        let next = rest.trim_start();
        let blank = rest.len() - next.len();
        if blank > 0 && next.chars().next().is_some_and(|first| !first.is_lowercase()) {
            parts.push(&line[from..behind]);
            from = behind + blank;
        }
    }
    parts.push(&line[from..]);
    parts
}

/// A quote without the label of the line that it was copied from: labels are the prompt's, not the instruction's. A quote that stands in the
/// instruction as it is stays so.
fn without_label<'q>(quote: &'q str, instruction: &str) -> &'q str {
    let labelled = quote.strip_prefix('i').and_then(|rest| rest.split_once("| "));
    match labelled {
        Some((number, text)) if !instruction.contains(quote) && number.parse::<usize>().is_ok() => text,
        _ => quote,
    }
}

/// The names by which tests are referred to: without parameters, with the file where names are ambiguous. Checks that the outcome does
/// not depend on have none.
#[must_use]
pub fn test_names(verifier: &Verifier) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    let enforced = verifier.tests().iter().filter(|test| test.enforced);
    // Many parameters of one test are one name, and resolving is work.
    for test in enforced.filter(|test| seen.insert((test.file.as_str(), test.base()))) {
        let base = test.base();
        names.push(match verifier.resolve(base) {
            Resolution::Tests(_) => base.to_owned(),
            _ => format!("{}::{base}", test.file),
        });
    }
    names
}

fn test_line(index: usize, name: &str, verifier: &Verifier) -> Line {
    // A named check has no source lines; what it checks is told beside its name.
    let told = match verifier.resolve(name) {
        Resolution::Tests(tests) => tests.first().filter(|test| test.line == 0).map_or("", |test| test.text.as_str()),
        _ => "",
    };
    let text = if told.is_empty() { name.to_owned() } else { format!("{name}: {}", plain(told)) };
    Line { label: format!("t{}", index + 1), text }
}

/// The lines of the verifier's code within a budget, and how many were left out. Empty lines are never shown.
fn verifier_lines(verifier: &Verifier, budget: usize) -> (Vec<Line>, usize) {
    let mut all: Vec<(Line, Option<usize>)> = Vec::new();
    for (number, (source, _)) in verifier.sources().iter().filter(|(_, kind)| *kind == SourceKind::Code).enumerate() {
        let text = plain(&source.text);
        let own = verifier.tests().iter().filter(|test| test.file == source.path && test.line > 0);
        let lines: BTreeMap<usize, &str> = own.map(|test| (test.line, test.text.as_str())).collect();
        let ranges: Vec<_> = lines.into_iter().map(|(line, text)| line..line + text.lines().count()).collect();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let place = index + 1;
            let depth = ranges.iter().find(|range| range.contains(&place)).map(|range| place - range.start);
            all.push((Line { label: format!("v{}.{place}", number + 1), text: line.trim_end().to_owned() }, depth));
        }
    }
    let cost = |keep: &dyn Fn(Option<usize>) -> bool| -> usize {
        all.iter().filter(|(_, depth)| keep(*depth)).map(|(line, _)| line_tokens(line)).sum()
    };
    if cost(&|_| true) <= budget {
        return (all.into_iter().map(|(line, _)| line).collect(), 0);
    }
    let deepest = all.iter().filter_map(|(_, depth)| *depth).max().unwrap_or_default();
    let within = |most: usize| move |depth: Option<usize>| depth.is_some_and(|depth| depth < most);
    let most = (0..=deepest + 1).rev().find(|most| cost(&within(*most)) <= budget).unwrap_or_default();
    let count = all.len();
    let kept: Vec<Line> = all.into_iter().filter(|(_, depth)| within(most)(*depth)).map(|(line, _)| line).collect();
    let left_out = count - kept.len();
    (kept, left_out)
}

/// Reads an answer to a prompt about an instruction as a candidate; ids are `c1`, `c2`, …
///
/// # Errors
/// What is wrong and where (JSON pointer), in one sentence.
pub fn read(answer: &Answer, instruction: &str) -> Result<Checklist, String> {
    reading::read(answer, |root| {
        root.object(&["items"])?;
        let items = root.key("items")?.items()?;
        let items = items.iter().enumerate().map(|(index, item)| read_item(index, item, instruction));
        Ok(Checklist { items: items.collect::<Result<_, _>>()? })
    })
}

fn read_item(index: usize, cursor: &Cursor<'_, '_>, instruction: &str) -> Result<Item, InputError> {
    cursor.object(&["quote", "requirement", "route", "test"])?;
    let text = |key: &str| cursor.key(key)?.text().map(str::to_owned);
    let test = text("test")?;
    Ok(Item {
        id: format!("c{}", index + 1),
        requirement: text("requirement")?,
        quote: without_label(&text("quote")?, instruction).to_owned(),
        route: cursor.key("route")?.word(&Route::WORDS)?,
        verifier: (test != NO_TEST).then_some(test),
        category: None,
    })
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// All gates passed.
    Accepted(Checklist),
    /// Some gate refused it.
    Rejected(Checklist, Report),
    /// The answer is no checklist; where and why.
    Unreadable(String),
    /// No answer came.
    NoAnswer(NoAnswer),
}

/// One attempt, kept whatever became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// The task's id.
    pub task: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Hash of the instruction.
    pub instruction: Hash,
    /// Hash of the verifier.
    pub verifier: Hash,
    /// Hash of the prompt ([`prompts::prompt_hash`]).
    pub prompt: Hash,
    /// The answer's text, where one came.
    pub answer: Option<String>,
    /// What became of it.
    pub result: Fate,
}

/// Reads and checks the answer to an attempt's prompt.
#[must_use]
pub fn generation(
    task: Task<'_>,
    attempt: u32,
    setting: Setting,
    options: &Options,
    answer: &Result<Answer, NoAnswer>,
) -> Generation {
    let result = match answer {
        Err(missing) => Fate::NoAnswer(missing.clone()),
        Ok(answer) => match read(answer, task.instruction) {
            Err(fault) => Fate::Unreadable(fault),
            Ok(checklist) => {
                let report = crate::gates::check(task.instruction, task.verifier, &checklist, options);
                if report.is_accepted() { Fate::Accepted(checklist) } else { Fate::Rejected(checklist, report) }
            }
        },
    };
    Generation {
        task: task.id.to_owned(),
        attempt,
        instruction: instruction_hash(task.instruction),
        verifier: task.verifier.hash(),
        prompt: prompts::prompt_hash(&prompt(task, attempt, setting)),
        answer: answer.as_ref().ok().map(|answer| answer.content.clone()),
        result,
    }
}

impl Generation {
    /// `accepted`, `rejected`, `unreadable` or `no_answer`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.result {
            Fate::Accepted(_) => "accepted",
            Fate::Rejected(..) => "rejected",
            Fate::Unreadable(_) => "unreadable",
            Fate::NoAnswer(_) => "no_answer",
        }
    }

    /// The record for a ledger, `parthack.generation/1`.
    #[must_use]
    pub fn json(&self) -> Value {
        let detail = match &self.result {
            Fate::Accepted(_) => Value::Null,
            Fate::Rejected(_, report) => report.json(),
            Fate::Unreadable(fault) => json!(fault),
            Fate::NoAnswer(missing) => json!(missing.code()),
        };
        json!({
            "format": "parthack.generation/1", "task": self.task, "attempt": self.attempt, "result": self.word(), "detail": detail,
            "instruction": self.instruction.hex(), "verifier": self.verifier.hex(), "prompt": self.prompt.hex(),
            "prompts": prompts::hash().hex(), "answer": self.answer,
        })
    }

    /// Hash, label `generation`, of the record's canonical bytes.
    #[must_use]
    pub fn hash(&self) -> Hash {
        Hash::of("generation", &canonical(&self.json()))
    }

    /// Freezes an accepted generation; `None` for any other.
    #[must_use]
    pub fn freeze(&self) -> Option<Frozen> {
        let Fate::Accepted(checklist) = &self.result else { return None };
        Some(Frozen {
            task: self.task.clone(),
            instruction: self.instruction,
            verifier: self.verifier,
            generation: Some(Origin { attempt: self.attempt, record: self.hash() }),
            checklist: checklist.clone(),
        })
    }
}

/// What to do next for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Make this attempt.
    Attempt(u32),
    /// This attempt was accepted; there is nothing to do.
    Accepted(u32),
    /// This attempt failed; another is made only on an explicit command.
    NeedsCommand(u32),
}

/// What to do after attempts whose numbers and words ([`Generation::word`]) are given in order. An attempt that got no answer is none
/// and is made again, unless another one is wanted.
#[must_use]
pub fn next(history: &[(u32, &str)], regenerate: bool) -> Next {
    match history.last() {
        None => Next::Attempt(1),
        Some((attempt, _)) if regenerate => Next::Attempt(attempt + 1),
        Some((attempt, "no_answer")) => Next::Attempt(*attempt),
        Some((attempt, "accepted")) => Next::Accepted(*attempt),
        Some((attempt, _)) => Next::NeedsCommand(*attempt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_lines() {
        let text = "You are Noah. Your zip is 98187.\n\n  - Change it, e.g. today!  Use v1.2 of the tool\nWhy?";
        let lines = instruction_lines(text);
        let shown: Vec<String> = lines.iter().map(|line| format!("{}| {}", line.label, line.text)).collect();
        assert_eq!(
            shown,
            [
                "i1| You are Noah.",
                "i2| Your zip is 98187.",
                "i3|   - Change it, e.g. today!",
                "i4| Use v1.2 of the tool",
                "i5| Why?"
            ]
        );
        assert!(lines.iter().all(|line| text.contains(&line.text)));
    }

    #[test]
    fn labels_of_the_prompt_are_no_part_of_a_quote() {
        let instruction = "Keep the rows.\ni1| is a label";
        assert_eq!(without_label("i1| Keep the rows.", instruction), "Keep the rows.");
        for quote in ["i1| is a label", "Keep the rows.", "ix| Keep", "i| Keep", "1| Keep", ""] {
            assert_eq!(without_label(quote, instruction), quote);
        }
    }

    #[test]
    fn items_of_an_assertion_have_a_test() {
        let schema = item_schema(&["test_a".to_owned()]);
        let [with, without] = &schema["anyOf"].as_array().expect("two")[..] else { panic!("{schema}") };
        assert_eq!(
            (&with["properties"]["route"]["enum"], &with["properties"]["test"]["enum"]),
            (&json!(["assertion"]), &json!(["test_a"]))
        );
        assert_eq!(without["properties"]["test"]["enum"], json!([NO_TEST]));
        assert_eq!(item_schema(&[])["properties"]["route"]["enum"], json!(["generated", "judge"]));
    }
}
