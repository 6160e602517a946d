//! The methods that GCPC is compared with (G §4.1), over logs: a holistic score, five fixed questions, TICK as published, and TICK with the
//! wording of trajectories. All see the same log, none sees the official outcome.
//!
//! A log that is longer than the budget is shown with its middle left out: a third of the budget from its start, the rest from its end, and a
//! line that says how many lines are missing.

use parthack_model::answer::Answer;
use parthack_model::prompt::Prompt;
use serde_json::json;

use crate::block::{Line, block, line_tokens, numbered, plain};
use crate::judging::log::LogView;
use crate::label::Label;
use crate::prompts;
use crate::ratio::Ratio;
use crate::reading;

/// The best holistic rating.
const BEST: u64 = 10;
/// The most questions of a task.
const MOST_QUESTIONS: usize = 8;

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Baseline {
    /// One rating of the whole log.
    Holistic,
    /// The same five questions for every task.
    GenericChecklist,
    /// Questions made from the instruction, asked of a response.
    Tick,
    /// The same, asked of an agent execution trajectory.
    TickTrajectory,
}

impl Baseline {
    /// All methods, in the order of the tables.
    pub const ALL: [Baseline; 4] =
        [Baseline::Holistic, Baseline::GenericChecklist, Baseline::Tick, Baseline::TickTrajectory];

    /// Its id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Baseline::Holistic => "holistic",
            Baseline::GenericChecklist => "generic-checklist",
            Baseline::Tick => "tick",
            Baseline::TickTrajectory => "tick-trajectory",
        }
    }

    /// The one of an id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Baseline> {
        Baseline::ALL.into_iter().find(|baseline| baseline.id() == id)
    }

    /// The questions that are the same for every task; none for the other methods.
    #[must_use]
    pub fn fixed_questions(self) -> Vec<String> {
        match self {
            Baseline::GenericChecklist => prompts::GENERIC_QUESTIONS.text.lines().map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    /// The prompt that makes a task's questions, where the method has such.
    #[must_use]
    pub fn questions_prompt(self, instruction: &str) -> Option<Prompt> {
        let system = match self {
            Baseline::Tick => prompts::TICK_QUESTIONS,
            Baseline::TickTrajectory => prompts::TICK_TRAJECTORY_QUESTIONS,
            Baseline::Holistic | Baseline::GenericChecklist => return None,
        };
        let schema = reading::object(vec![("questions", reading::list(reading::text(300), 2, MOST_QUESTIONS))]);
        let user = block("instruction", &numbered("i", instruction));
        Some(reading::prompt("gcpc_questions", system.text.to_owned(), user, schema))
    }

    /// Reads the questions.
    ///
    /// # Errors
    /// What is wrong and where (JSON pointer), in one sentence.
    pub fn read_questions(answer: &Answer) -> Result<Vec<String>, String> {
        reading::read(answer, |root| {
            root.object(&["questions"])?;
            let list = root.key("questions")?;
            let items = list.items()?;
            if items.is_empty() || items.len() > MOST_QUESTIONS {
                return Err(list.fault(format!("1 to {MOST_QUESTIONS} questions")));
            }
            let question = |cursor: &parthack_env::input::Cursor<'_, '_>| match cursor.text()?.trim() {
                "" => Err(cursor.fault("a question")),
                text => Ok(text.to_owned()),
            };
            items.iter().map(question).collect()
        })
    }

    /// The prompt about a log, of at most `most_tokens` tokens of it.
    #[must_use]
    pub fn prompt(self, instruction: &str, questions: &[String], log: &LogView, most_tokens: usize) -> Prompt {
        let question =
            |(index, text): (usize, &String)| Line { label: question_id(index), text: plain(text).replace('\n', " ") };
        let lines: Vec<Line> = questions.iter().enumerate().map(question).collect();
        let mut user = block("instruction", &numbered("i", instruction)) + &block("log", &shown(log, most_tokens));
        let (part, schema) = match self {
            Baseline::Holistic => (
                prompts::HOLISTIC,
                reading::object(vec![("score", json!({"type": "integer", "minimum": 0, "maximum": BEST}))]),
            ),
            Baseline::GenericChecklist => (prompts::GENERIC, answers_schema(&lines)),
            Baseline::Tick => (prompts::TICK, answers_schema(&lines)),
            Baseline::TickTrajectory => (prompts::TICK_TRAJECTORY, answers_schema(&lines)),
        };
        if !lines.is_empty() {
            user.push_str(&block("questions", &lines));
        }
        let system = format!("{}{}", prompts::BASELINE.text, part.text);
        reading::prompt("gcpc_baseline", system, user, schema)
    }

    /// Reads an answer: the labels of the questions, and the score in [0, 1].
    ///
    /// # Errors
    /// What is wrong and where (JSON pointer), in one sentence.
    pub fn read(self, questions: usize, answer: &Answer) -> Result<(Vec<Label>, Ratio), String> {
        if self == Baseline::Holistic {
            let rating = reading::read(answer, |root| {
                root.object(&["score"])?;
                root.key("score")?.u32(0, BEST as u32)
            })?;
            let score = Ratio::new(u64::from(rating), BEST).ok_or("no scale")?;
            return Ok((Vec::new(), score));
        }
        let labels: Vec<Label> = reading::read(answer, |root| {
            root.object(&["answers"])?;
            let answers = root.key("answers")?;
            let ids: Vec<String> = (0..questions).map(question_id).collect();
            answers.object(&ids.iter().map(String::as_str).collect::<Vec<_>>())?;
            ids.iter().map(|id| answers.key(id)?.word(&[("yes", Label::Yes), ("no", Label::No)])).collect()
        })?;
        let yes = labels.iter().filter(|label| **label == Label::Yes).count();
        let score = Ratio::of(yes, labels.len()).ok_or("no question")?;
        Ok((labels, score))
    }
}

/// A question's id from its place.
#[must_use]
pub fn question_id(index: usize) -> String {
    format!("q{}", index + 1)
}

fn answers_schema(questions: &[Line]) -> serde_json::Value {
    let answer = reading::word(&["yes", "no"]);
    let fields = questions.iter().map(|question| (question.label.as_str(), answer.clone())).collect();
    reading::object(vec![("answers", reading::object(fields))])
}

/// The lines of a log within a budget.
fn shown(log: &LogView, most_tokens: usize) -> Vec<Line> {
    let lines = log.lines((most_tokens / 4).max(1));
    let cost = |lines: &[Line]| -> usize { lines.iter().map(line_tokens).sum() };
    if cost(&lines) <= most_tokens {
        return lines;
    }
    let fitting = |lines: &mut dyn Iterator<Item = &Line>, most: usize| -> usize {
        let mut spent = 0;
        lines
            .take_while(|line| {
                spent += line_tokens(line);
                spent <= most
            })
            .count()
    };
    let first = fitting(&mut lines.iter(), most_tokens / 3);
    let last = fitting(&mut lines[first..].iter().rev(), most_tokens - most_tokens / 3);
    let left_out = lines.len() - first - last;
    let mut kept = lines[..first].to_vec();
    kept.push(Line { label: "x0".to_owned(), text: format!("[{left_out} lines of the log are left out here]") });
    kept.extend_from_slice(&lines[lines.len() - last..]);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::log::{Span, SpanKind};

    fn answer(content: &str) -> Answer {
        Answer { content: content.to_owned(), tokens: Vec::new() }
    }

    fn log(lines: usize) -> LogView {
        let text = (1..=lines).map(|line| format!("line {line}\n")).collect();
        LogView::new(vec![Span { index: 0, kind: SpanKind::ToolOutput, text }])
    }

    #[test]
    fn scores_are_checked() {
        let holistic = Baseline::Holistic;
        assert_eq!(holistic.read(0, &answer(r#"{"score":7}"#)), Ok((Vec::new(), Ratio::new(7, 10).expect("defined"))));
        for wrong in [r#"{"score":11}"#, r#"{"score":-1}"#, r#"{"score":7.5}"#, r#"{"score":NaN}"#, "{}", "7"] {
            assert!(holistic.read(0, &answer(wrong)).is_err(), "{wrong}");
        }
        let tick = Baseline::Tick;
        let (labels, score) = tick.read(2, &answer(r#"{"answers":{"q1":"yes","q2":"no"}}"#)).expect("sound");
        assert_eq!((labels, score.to_string()), (vec![Label::Yes, Label::No], "1/2".to_owned()));
        for wrong in [r#"{"answers":{"q1":"yes"}}"#, r#"{"answers":{"q1":"yes","q2":"abstain"}}"#] {
            assert!(tick.read(2, &answer(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_long_log_loses_its_middle_and_says_so() {
        assert_eq!(shown(&log(5), 1_000).len(), 5);
        let lines = shown(&log(500), 300);
        assert!(lines.iter().map(line_tokens).sum::<usize>() <= 330);
        assert_eq!((lines[0].text.as_str(), lines.last().expect("lines").text.as_str()), ("line 1", "line 500"));
        let told = lines.iter().find(|line| line.label == "x0").expect("a line that says so");
        assert_eq!(told.text, format!("[{} lines of the log are left out here]", 500 - (lines.len() - 1)));
    }

    #[test]
    fn wording_is_all_that_tells_the_two_ticks_apart() {
        let (plain, adapted) = (prompts::TICK_QUESTIONS.text, prompts::TICK_TRAJECTORY_QUESTIONS.text);
        let replaced = plain.replace("a response", "an agent execution trajectory");
        assert_eq!(replaced.replace("response", "agent execution trajectory"), adapted);
    }

    #[test]
    fn five_fixed_questions() {
        assert_eq!(Baseline::GenericChecklist.fixed_questions().len(), 5);
        let prompt =
            Baseline::GenericChecklist.prompt("Do it.", &Baseline::GenericChecklist.fixed_questions(), &log(3), 99);
        assert!(prompt.user.contains("q5| "));
    }
}
