//! Built-in evaluators in a public-only child process of the same binary (SPEC §15.6, P §3.4): it gets payload lines on
//! its standard input and nothing else, and answers one line each.

use std::path::PathBuf;

use parthack_evaluators::registry::Builtin;
use parthack_evaluators::serve::{EVALUATOR_PROTOCOL, MAX_LINE};
use serde::Deserialize;

use crate::exact::Ratio;
use crate::ledger::RecordedScore;
use crate::run::error::RunError;
use crate::run::public_process::PublicProcess;

/// Payloads under way at once: their answers stay far below a pipe's 64 KiB, so that neither side waits for the other.
const WINDOW: usize = 32;

/// How to start the evaluator process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluatorCommand {
    /// The program: this binary.
    pub program: PathBuf,
    /// Evaluators it serves, in the order of answers.
    pub evaluators: Vec<Builtin>,
}

/// One evaluator process; started when it is first needed, and once more if it dies.
#[derive(Debug)]
pub struct EvaluatorProcess {
    command: EvaluatorCommand,
    running: Option<PublicProcess>,
    restarts_left: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hello {
    evaluators: Vec<String>,
    protocol: String,
}

#[derive(Deserialize)]
struct Answer {
    score: Option<f64>,
    exact: Option<String>,
    no_verdict: Option<String>,
}

#[derive(Deserialize)]
struct Answers {
    scores: Vec<Answer>,
}

impl EvaluatorProcess {
    /// A process that is not started yet.
    #[must_use]
    pub fn new(command: EvaluatorCommand) -> EvaluatorProcess {
        EvaluatorProcess { command, running: None, restarts_left: 1 }
    }

    /// Scores of payloads: one list a payload, one score an evaluator in the order of the command's.
    ///
    /// # Errors
    /// [`RunError::Evaluator`] if the process can't be started, dies twice, or breaks the protocol.
    pub fn score(&mut self, payloads: &[&[u8]]) -> Result<Vec<Vec<RecordedScore>>, RunError> {
        let mut scores = Vec::with_capacity(payloads.len());
        while scores.len() < payloads.len() {
            let done = scores.len();
            if let Err(fault) = self.exchange(&payloads[done..], &mut scores) {
                // What was answered before the death stands: the same bytes would get the same answers.
                self.running = None;
                if self.restarts_left == 0 {
                    let hint = "an evaluator process died twice; a run that had begun goes on with --resume once the cause is gone";
                    return Err(RunError::Evaluator { fault, hint });
                }
                self.restarts_left -= 1;
            }
        }
        Ok(scores)
    }

    fn exchange(&mut self, payloads: &[&[u8]], scores: &mut Vec<Vec<RecordedScore>>) -> Result<(), String> {
        let expected = self.command.evaluators.len();
        let running = match &mut self.running {
            Some(running) => running,
            None => self.running.insert(start(&self.command)?),
        };
        let mut sent = 0;
        let mut line = String::new();
        for received in 0..payloads.len() {
            while sent < payloads.len() && sent < received + WINDOW {
                running.send(payloads[sent], MAX_LINE)?;
                sent += 1;
            }
            running.receive(&mut line, MAX_LINE)?;
            scores.push(parse_answer(&line, expected)?);
        }
        Ok(())
    }
}

fn start(command: &EvaluatorCommand) -> Result<PublicProcess, String> {
    let ids: Vec<&str> = command.evaluators.iter().map(|evaluator| evaluator.id()).collect();
    let mut running = PublicProcess::start(&command.program, &["__evaluate", "--rules", &ids.join(",")])?;
    let mut line = String::new();
    running.receive(&mut line, MAX_LINE)?;
    let hello: Hello = serde_json::from_str(&line).map_err(|error| format!("a wrong hello line: {error}"))?;
    if hello.protocol == EVALUATOR_PROTOCOL && hello.evaluators == ids {
        return Ok(running);
    }
    let Hello { evaluators, protocol } = hello;
    Err(format!("it speaks {protocol:?} for {evaluators:?}, expected {EVALUATOR_PROTOCOL:?} for {ids:?}"))
}

fn parse_answer(line: &str, expected: usize) -> Result<Vec<RecordedScore>, String> {
    let wrong = |error: serde_json::Error| format!("a wrong line: {error}");
    let answers = match expected {
        1 => vec![serde_json::from_str::<Answer>(line).map_err(wrong)?],
        _ => serde_json::from_str::<Answers>(line).map_err(wrong)?.scores,
    };
    if answers.len() != expected {
        return Err(format!("{} answers, expected {expected}", answers.len()));
    }
    answers.into_iter().map(recorded).collect()
}

fn recorded(answer: Answer) -> Result<RecordedScore, String> {
    let score = match answer {
        Answer { exact: Some(exact), .. } => match exact.parse::<Ratio>() {
            Ok(ratio) => RecordedScore::Exact(ratio.to_string()),
            Err(error) => return Err(error.to_string()),
        },
        Answer { score: Some(score), .. } => RecordedScore::Measured(score.to_string()),
        Answer { no_verdict: Some(reason), .. } => RecordedScore::NoVerdict(reason),
        _ => return Err("an answer with neither score nor no_verdict".to_owned()),
    };
    match score.is_well_formed() {
        true => Ok(score),
        false => Err("a score outside [0, 1]".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_checked() {
        let exact = |text: &str| RecordedScore::Exact(text.to_owned());
        assert_eq!(parse_answer(r#"{"exact":"1/2","score":0.5}"#, 1), Ok(vec![exact("1/2")]));
        let two = r#"{"scores":[{"exact":"1","score":1},{"no_verdict":"why"}]}"#;
        assert_eq!(parse_answer(two, 2), Ok(vec![exact("1"), RecordedScore::NoVerdict("why".to_owned())]));
        let refused = [r#"{"scores":[]}"#, "{}", "", r#"{"score":1.5}"#, r#"{"exact":"3/2"}"#, r#"{"score":null}"#];
        for line in refused {
            assert!(parse_answer(line, 1).is_err(), "{line}");
        }
        assert!(parse_answer(two, 3).is_err());
    }
}
