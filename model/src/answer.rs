//! What came back from a model, or why nothing did. No answer is never a score of 0.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An answer whose transport was sound and that ended by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The text.
    pub content: String,
    /// Probabilities of its tokens in order; empty where they were not asked for or not given.
    pub tokens: Vec<Token>,
}

/// A token of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Its text.
    pub text: String,
    /// Natural logarithm of its probability, at most 0.
    pub logprob: f64,
    /// The likeliest tokens at its place, itself among them where it is one of them.
    pub top: Vec<(String, f64)>,
}

/// Why a question has no answer. Codes are stable: they reach records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoAnswer {
    /// The model refused.
    Refusal(String),
    /// The answer was cut at the token limit.
    Length,
    /// The token limit was used up by reasoning, and no text was left.
    ReasoningAteBudget,
    /// The answer has no text.
    Empty,
    /// The text does not meet the schema, or the reader's further checks.
    Schema(String),
    /// No connection, a connection cut, or a time-out.
    Transport(String),
    /// An HTTP status that is no success.
    Status {
        /// The status.
        status: u16,
        /// The start of the body, without control characters.
        detail: String,
    },
    /// A body that is no chat completion, or one that is too large.
    Protocol(String),
    /// A replay that has no recording of the exchange with this key.
    NotRecorded(String),
}

impl NoAnswer {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            NoAnswer::Refusal(_) => "refusal",
            NoAnswer::Length => "length",
            NoAnswer::ReasoningAteBudget => "reasoning_ate_budget",
            NoAnswer::Empty => "empty",
            NoAnswer::Schema(_) => "schema",
            NoAnswer::Transport(_) => "transport",
            NoAnswer::Status { .. } => "status",
            NoAnswer::Protocol(_) => "protocol",
            NoAnswer::NotRecorded(_) => "not_recorded",
        }
    }

    /// Whether a server refuses a request because of the form that it demands of the answer.
    #[must_use]
    pub fn refuses_form(&self) -> bool {
        let names_it = |detail: &str| ["response_format", "json_schema"].iter().any(|name| detail.contains(name));
        matches!(self, NoAnswer::Status { status: 400 | 422, detail } if names_it(detail))
    }
}

/// What a server may name when it refuses a request, and what to do about it.
const REFUSED: [(&[&str], &str); 5] = [
    (&["temperature"], "`temperature=default` among the role's options sends no temperature"),
    (
        &["max_tokens", "max_completion_tokens"],
        "`max_tokens=N` among the role's options sets the cap; a server that takes max_completion_tokens alone is asked as \
         openai/MODEL, with its address in OPENAI_BASE_URL",
    ),
    (
        &["response_format", "json_schema", "json_object"],
        "`response_format=json_object` or `response_format=none` among the role's options asks without a schema",
    ),
    (
        &["logprobs"],
        "`top_logprobs=N` among the role's options asks for fewer probabilities; answer mode number asks for none",
    ),
    (&["reasoning_effort"], "`reasoning=low`, `medium`, `high` or `off` among the role's options sets another effort"),
];

impl NoAnswer {
    /// For a server that refuses a request because of what an option of the role put into it: which option would help. The first that it
    /// names counts, in the order of the text.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        let NoAnswer::Status { status: 400 | 422, detail } = self else { return None };
        let place = |names: &[&str]| names.iter().filter_map(|name| detail.find(name)).min();
        REFUSED.iter().filter_map(|(names, hint)| Some((place(names)?, *hint))).min().map(|(_, hint)| hint)
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code();
        match self {
            NoAnswer::Length | NoAnswer::ReasoningAteBudget | NoAnswer::Empty => out.write_str(code),
            NoAnswer::Status { status, detail } => write!(out, "{code}: {status} {detail}"),
            NoAnswer::Refusal(detail)
            | NoAnswer::Schema(detail)
            | NoAnswer::Transport(detail)
            | NoAnswer::Protocol(detail)
            | NoAnswer::NotRecorded(detail) => write!(out, "{code}: {detail}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_options_are_named() {
        let hint = |status, detail: &str| NoAnswer::Status { status, detail: detail.to_owned() }.hint();
        for (detail, option) in [
            ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature=default"),
            ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature=default"),
            (
                "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
                "max_tokens=N",
            ),
            ("max_completion_tokens is too large: 99999", "max_tokens=N"),
            ("response_format.json_schema is not supported", "response_format=json_object"),
            ("'top_logprobs' must be at most 5", "top_logprobs=N"),
            ("'reasoning_effort' does not support 'none'", "reasoning=low"),
        ] {
            for status in [400, 422] {
                assert!(hint(status, detail).is_some_and(|hint| hint.contains(option)), "{detail}");
            }
            assert_eq!(hint(401, detail), None, "{detail}");
        }
        assert_eq!(hint(400, "the prompt is too long"), None);
        assert_eq!(NoAnswer::Schema("temperature".to_owned()).hint(), None);
    }
}
