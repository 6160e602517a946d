//! What a server's HTTP answer holds, and what it means: an [`Answer`], or why there is none.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{Answer, NoAnswer, Token};
use crate::price::Usage;
use crate::prompt::Prompt;
use crate::secret::{ApiKey, redact, redact_pieces};
use crate::{schema, strict};

/// The most bytes of an HTTP body that are read.
pub const MAX_BODY_BYTES: usize = 4 << 20;

/// The most bytes of an answer's text.
pub const MAX_CONTENT_BYTES: usize = 256 << 10;

/// The most characters of a detail in a message.
const MAX_DETAIL: usize = 300;

/// The part of an HTTP answer that can change an outcome. It is what a cassette keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The text; empty where there is none.
    pub content: String,
    /// Why the model stopped, as the provider says.
    pub finish_reason: Option<String>,
    /// The model's refusal, where the provider tells it apart from content.
    pub refusal: Option<String>,
    /// How many characters of reasoning came along; the reasoning itself is not kept.
    pub reasoning_characters: u64,
    /// The answer's tokens; logprobs are decimal text of six places.
    pub tokens: Vec<LoggedToken>,
    /// Where the status is no success, the start of the body.
    pub detail: String,
    /// The tokens used; `None` where the provider doesn't say.
    pub usage: Option<Usage>,
}

/// A token as it is kept: text, logprob, and the likeliest at its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedToken(pub String, pub String, pub Vec<(String, String)>);

impl Response {
    /// Reads an HTTP answer that arrived whole.
    ///
    /// # Errors
    /// [`NoAnswer::Protocol`] for a success whose body is no chat completion, or whose text is too long.
    pub(crate) fn read(status: u16, body: &[u8], key: Option<&ApiKey>) -> Result<Response, NoAnswer> {
        let failed = |status, detail: String| Response {
            status,
            content: String::new(),
            finish_reason: None,
            refusal: None,
            reasoning_characters: 0,
            tokens: Vec::new(),
            detail,
            usage: None,
        };
        // Every text goes through one of these on its way out: a key that is escaped in the body is not in what is decoded from it,
        // and a cut one would not be found.
        let clean = |text: &str| redact(key, text.to_owned());
        let shown = |text: &str| printable(&clean(text));
        let text = String::from_utf8_lossy(body);
        if !(200..300).contains(&status) {
            return Ok(failed(status, shown(&text)));
        }
        let protocol = |what: &str| NoAnswer::Protocol(format!("{}: {}", clean(what), shown(&text)));
        let value = strict::read(&text).map_err(|error| protocol(&error))?;
        // Gateways send their errors with status 200.
        if let (Some(error), None) = (value.get("error").filter(|error| !error.is_null()), value.get("choices")) {
            let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
            let status = code.filter(|code| (400..600).contains(code)).unwrap_or(502);
            return Ok(failed(status, shown(&error.to_string())));
        }
        let choice = value.pointer("/choices/0").ok_or_else(|| protocol("no /choices/0"))?;
        let message = choice.get("message").ok_or_else(|| protocol("no /choices/0/message"))?;
        let content =
            content(message.get("content")).ok_or_else(|| protocol("/choices/0/message/content is no text"))?;
        if content.len() > MAX_CONTENT_BYTES {
            return Err(NoAnswer::Protocol(format!(
                "a text of {} bytes, the most is {MAX_CONTENT_BYTES}",
                content.len()
            )));
        }
        let told = |name: &str| message.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let reasoning = told("reasoning_content").or_else(|| told("reasoning")).unwrap_or_default();
        Ok(Response {
            status,
            content: redact(key, content),
            finish_reason: choice.get("finish_reason").and_then(Value::as_str).map(clean),
            refusal: told("refusal").map(shown),
            reasoning_characters: reasoning.chars().count() as u64,
            tokens: without_key(key, tokens(choice.pointer("/logprobs/content"))),
            detail: String::new(),
            usage: value.get("usage").and_then(usage),
        })
    }

    /// The answer, without a look at its form.
    ///
    /// # Errors
    /// [`NoAnswer::Status`], [`NoAnswer::Refusal`], [`NoAnswer::ReasoningAteBudget`], [`NoAnswer::Length`],
    /// [`NoAnswer::Protocol`] (the provider's own `error`), [`NoAnswer::Empty`], in this order.
    pub fn answer(&self) -> Result<Answer, NoAnswer> {
        if !(200..300).contains(&self.status) {
            return Err(NoAnswer::Status { status: self.status, detail: self.detail.clone() });
        }
        let reason = self.finish_reason.as_deref().unwrap_or_default().to_ascii_lowercase();
        if let Some(refusal) = &self.refusal {
            return Err(NoAnswer::Refusal(refusal.clone()));
        }
        let empty = self.content.trim().is_empty();
        match reason.as_str() {
            "content_filter" | "refusal" | "safety" => {
                return Err(NoAnswer::Refusal(format!("finish_reason {reason}")));
            }
            "length" | "max_tokens" => {
                let reasoned = self.reasoning_characters > 0 || self.usage.is_some_and(|of| of.reasoning_tokens > 0);
                return Err(if empty && reasoned { NoAnswer::ReasoningAteBudget } else { NoAnswer::Length });
            }
            "error" => return Err(NoAnswer::Protocol("finish_reason error".to_owned())),
            _ if empty => return Err(NoAnswer::Empty),
            _ => {}
        }
        let number = |text: &str| text.parse().unwrap_or(f64::MIN);
        let top =
            |likeliest: &[(String, String)]| likeliest.iter().map(|(text, log)| (text.clone(), number(log))).collect();
        let tokens = self.tokens.iter().map(|LoggedToken(text, log, likeliest)| Token {
            text: text.clone(),
            logprob: number(log),
            top: top(likeliest),
        });
        Ok(Answer { content: self.content.clone(), tokens: tokens.collect() })
    }

    /// The answer, its form validated and its content checked.
    ///
    /// # Errors
    /// Those of [`Response::answer`], then [`NoAnswer::Schema`].
    pub fn checked(
        &self,
        prompt: &Prompt,
        check: &(dyn Fn(&Answer) -> Result<(), String> + Sync),
    ) -> Result<Answer, NoAnswer> {
        let answer = self.answer()?;
        let value = strict::read(&answer.content).map_err(NoAnswer::Schema)?;
        schema::validate(&prompt.form.schema, &value).map_err(NoAnswer::Schema)?;
        check(&answer).map_err(NoAnswer::Schema)?;
        Ok(answer)
    }

    /// Whether a cassette keeps it: a success, or a refusal of the request itself, which would come again.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        (200..300).contains(&self.status) || matches!(self.status, 400 | 413 | 422)
    }
}

impl NoAnswer {
    /// Whether one more try may follow.
    #[must_use]
    pub fn is_retried(&self) -> bool {
        match self {
            NoAnswer::Schema(_) | NoAnswer::Transport(_) => true,
            NoAnswer::Status { status, .. } => matches!(status, 408 | 409 | 425 | 429 | 500..),
            _ => false,
        }
    }
}

/// The text of a `content`: a string, nothing, or parts of type `text`.
fn content(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(parts)) => parts
            .iter()
            .map(|part| part.get("text").and_then(Value::as_str))
            .collect::<Option<Vec<_>>>()
            .map(|of| of.concat()),
        Some(_) => None,
    }
}

fn tokens(value: Option<&Value>) -> Vec<LoggedToken> {
    let text = |token: &Value| token.get("token").and_then(Value::as_str).map(str::to_owned);
    let pair = |token: &Value| Some((text(token)?, six_places(token.get("logprob")?.as_f64()?)));
    let list = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = |token: &Value| {
        let (text, log) = pair(token)?;
        let top = token.get("top_logprobs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Some(LoggedToken(text, log, top.iter().filter_map(pair).collect()))
    };
    // A list with a hole would shift probabilities: all or nothing.
    list.iter().map(read).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Tokens without the key, also where it stands across several: in their own texts, and in the alternatives of each rank.
fn without_key(key: Option<&ApiKey>, mut tokens: Vec<LoggedToken>) -> Vec<LoggedToken> {
    let told: Vec<String> = tokens.iter().map(|token| token.0.clone()).collect();
    redact_pieces(key, &mut tokens.iter_mut().map(|token| &mut token.0).collect::<Vec<_>>());
    // A token is one of its own alternatives, at any rank.
    for (LoggedToken(text, _, likeliest), told) in
        tokens.iter_mut().zip(&told).filter(|(token, told)| token.0 != **told)
    {
        likeliest.iter_mut().filter(|(of, _)| of == told).for_each(|(of, _)| of.clone_from(text));
    }
    for rank in 0..tokens.iter().map(|token| token.2.len()).max().unwrap_or_default() {
        let alternatives = tokens.iter_mut().filter_map(|token| token.2.get_mut(rank));
        redact_pieces(key, &mut alternatives.map(|(text, _)| text).collect::<Vec<_>>());
    }
    tokens
}

/// A logprob as text that is the same everywhere; at most 0.
fn six_places(logprob: f64) -> String {
    let text = format!("{:.6}", logprob.min(0.0));
    if text == "-0.000000" { "0.000000".to_owned() } else { text }
}

fn usage(value: &Value) -> Option<Usage> {
    let count = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64);
    let cached = count("/prompt_tokens_details/cached_tokens").or_else(|| count("/prompt_cache_hit_tokens"));
    Some(Usage {
        prompt_tokens: count("/prompt_tokens")?,
        cached_prompt_tokens: cached.unwrap_or_default(),
        completion_tokens: count("/completion_tokens")?,
        reasoning_tokens: count("/completion_tokens_details/reasoning_tokens").unwrap_or_default(),
    })
}

/// The start of a text from outside, without control characters.
pub(crate) fn printable(text: &str) -> String {
    let clean = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    let mut start: String = clean.take(MAX_DETAIL + 1).collect();
    if start.chars().count() > MAX_DETAIL {
        start.pop();
        start.push('…');
    }
    start.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &Value) -> Result<Response, NoAnswer> {
        Response::read(200, body.to_string().as_bytes(), None)
    }

    fn code(message: Value, reason: &str, usage: Value) -> &'static str {
        let body = json!({"choices": [{"message": message, "finish_reason": reason}], "usage": usage});
        read(&body).and_then(|response| response.answer()).map_or_else(|error| error.code(), |_| "answer")
    }

    #[test]
    fn what_ends_an_answer_decides() {
        let cases = [
            (json!({"content": "x"}), "stop", Value::Null, "answer"),
            (json!({"content": [{"type": "text", "text": "x"}]}), "stop", Value::Null, "answer"),
            (json!({"content": "x", "refusal": "no"}), "stop", Value::Null, "refusal"),
            (json!({"content": "x"}), "content_filter", Value::Null, "refusal"),
            (json!({"content": "x"}), "length", Value::Null, "length"),
            (json!({"content": ""}), "length", Value::Null, "length"),
            (json!({"content": null, "reasoning_content": "hm"}), "length", Value::Null, "reasoning_ate_budget"),
            (json!({"content": "x", "reasoning_content": "hm"}), "length", Value::Null, "length"),
            (json!({"content": " \n"}), "stop", Value::Null, "empty"),
            (json!({}), "tool_calls", Value::Null, "empty"),
            (json!({"content": 7}), "stop", Value::Null, "protocol"),
            (json!({"content": "x"}), "error", Value::Null, "protocol"),
        ];
        for (message, reason, usage, expected) in cases {
            assert_eq!(code(message.clone(), reason, usage), expected, "{message} {reason}");
        }
        let usage =
            json!({"prompt_tokens": 1, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 9}});
        assert_eq!(code(json!({"content": ""}), "length", usage), "reasoning_ate_budget");
    }

    #[test]
    fn errors_with_status_200_are_errors() {
        let response = read(&json!({"error": {"code": 429, "message": "slow\u{7}down"}})).expect("read");
        assert_eq!(response.status, 429);
        assert!(response.answer().expect_err("no answer").is_retried());
        assert_eq!(read(&json!({"error": "what"})).expect("read").status, 502);
    }

    #[test]
    fn logprobs_are_text_of_six_places() {
        let token = json!({"token": "yes", "logprob": -0.123_456_78, "top_logprobs": [
            {"token": "yes", "logprob": 1e-9}, {"token": "no", "logprob": -9999.0},
        ]});
        let body = json!({"choices": [{"message": {"content": "yes"}, "logprobs": {"content": [token]}}]});
        let response = read(&body).expect("read");
        let top = vec![("yes".to_owned(), "0.000000".to_owned()), ("no".to_owned(), "-9999.000000".to_owned())];
        assert_eq!(response.tokens, [LoggedToken("yes".to_owned(), "-0.123457".to_owned(), top)]);
        assert_eq!(response.answer().expect("answer").tokens[0].logprob, -0.123_457);
    }

    #[test]
    fn details_are_short_and_printable() {
        assert_eq!(printable("\u{1b}[31mred\n"), "[31mred");
        assert_eq!(printable(&"x".repeat(1000)).chars().count(), MAX_DETAIL + 1);
    }
}
