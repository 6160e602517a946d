//! The request of a call: its canonical body, and the key under which its exchange is stored.

use serde_json::{Map, Value, json};

use crate::canonical;
use crate::prompt::Prompt;
use crate::provider::{Provider, ReasoningSwitch, Repeatable, TokenCap};
use crate::role::{MAX_TOKENS, Reasoning, ResponseFormat, RoleConfig, RoleError};

/// The format that a key is made of. It changes with anything that changes a body or a key.
pub const KEY_FORMAT: &str = "parthack.exchange-key/1";

/// One try of one call, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Canonical JSON, sent as it stands.
    pub body: String,
    /// 64 hexadecimal digits.
    pub key: String,
}

impl Request {
    /// The request for a prompt. `repeat` counts repeats of one question, `attempt` is 0 for the first try and 1 for the
    /// retry.
    ///
    /// # Errors
    /// [`RoleError`] where the configuration is wrong.
    pub fn new(prompt: &Prompt, config: &RoleConfig, repeat: u32, attempt: u32) -> Result<Request, RoleError> {
        let body = canonical::request(&body(prompt, config, repeat, attempt)?);
        let key = key(config, &body, repeat, attempt);
        Ok(Request { body, key })
    }
}

/// The token cap of a call: the role's where it is above what a role has if nothing is said (a model that reasons needs more than
/// its answer takes), else the prompt's or the role's, whichever is smaller.
#[must_use]
pub fn token_cap(prompt: &Prompt, config: &RoleConfig) -> u32 {
    match config.max_tokens {
        raised if raised > MAX_TOKENS => raised.max(prompt.max_tokens),
        usual => prompt.max_tokens.min(usual).max(1),
    }
}

/// The key of an exchange: BLAKE3 of the canonical JSON of everything that can change the answer.
#[must_use]
pub fn key(config: &RoleConfig, body: &str, repeat: u32, attempt: u32) -> String {
    let head = json!({
        "format": KEY_FORMAT,
        "identity": config.identity,
        "model": config.model,
        "provider": config.provider,
        "repeat": repeat,
        "try": attempt,
    });
    let mut hasher = blake3::Hasher::new();
    hasher.update(canonical::data(&head).as_bytes());
    hasher.update(b"\n");
    hasher.update(body.as_bytes());
    hasher.finalize().to_hex().to_string()
}

fn body(prompt: &Prompt, config: &RoleConfig, repeat: u32, attempt: u32) -> Result<Value, RoleError> {
    config.check()?;
    let provider = Provider::find(&config.provider).ok_or_else(|| RoleError {
        field: "provider",
        found: config.provider.clone(),
        expected: format!("one of {}", Provider::names().join(", ")),
    })?;
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    put("model", json!(config.model));
    put(
        "messages",
        json!([
            {"role": "system", "content": system(prompt, config.response_format)},
            {"role": "user", "content": prompt.user},
        ]),
    );
    let cap = match provider.token_cap {
        TokenCap::MaxTokens => "max_tokens",
        TokenCap::MaxCompletionTokens => "max_completion_tokens",
    };
    put(cap, json!(token_cap(prompt, config)));
    if config.temperature != "default" {
        // The role's check admits texts alone that this number prints as.
        let number: Value = serde_json::from_str(&config.temperature).unwrap_or(Value::Null);
        debug_assert_eq!(number.to_string(), config.temperature);
        put("temperature", number);
    }
    match config.response_format {
        ResponseFormat::JsonSchema => put(
            "response_format",
            json!({
                "type": "json_schema",
                "json_schema": {"name": prompt.form.name, "strict": true, "schema": prompt.form.schema},
            }),
        ),
        ResponseFormat::JsonObject => put("response_format", json!({"type": "json_object"})),
        ResponseFormat::None => {}
    }
    if prompt.form.token_probabilities {
        put("logprobs", json!(true));
        put("top_logprobs", json!(config.top_logprobs));
    }
    if let Some(reasoning) = config.reasoning {
        let (name, value) = switch(provider.reasoning, reasoning);
        put(name, value);
    }
    if provider.repeatable == Repeatable::SeedAndNoPromptCache {
        put("cache_prompt", json!(false));
    }
    if provider.repeatable != Repeatable::Nothing && config.temperature != "0" {
        // Otherwise repeats, and the retry, would be the same draw.
        put("seed", json!(2 * u64::from(repeat) + u64::from(attempt)));
    }
    Ok(Value::Object(body))
}

/// The system message. Where the provider isn't told the schema, the model is.
fn system(prompt: &Prompt, format: ResponseFormat) -> String {
    match format {
        ResponseFormat::JsonSchema => prompt.system.clone(),
        ResponseFormat::JsonObject | ResponseFormat::None => format!(
            "{}\n\nAnswer with one JSON object that meets this JSON Schema, its fields in the order of `properties`, \
             and with nothing before or after it:\n{}",
            prompt.system,
            canonical::schema(&prompt.form.schema)
        ),
    }
}

fn switch(of: ReasoningSwitch, reasoning: Reasoning) -> (&'static str, Value) {
    let effort = match reasoning {
        Reasoning::Low => "low",
        Reasoning::Medium | Reasoning::On => "medium",
        Reasoning::High => "high",
        Reasoning::Off => "none",
    };
    let on = reasoning != Reasoning::Off;
    match of {
        ReasoningSwitch::Effort => ("reasoning_effort", json!(effort)),
        ReasoningSwitch::ReasoningObject if matches!(reasoning, Reasoning::On | Reasoning::Off) => {
            ("reasoning", json!({"enabled": on}))
        }
        ReasoningSwitch::ReasoningObject => ("reasoning", json!({"effort": effort})),
        ReasoningSwitch::Thinking => ("thinking", json!({"type": if on { "enabled" } else { "disabled" }})),
        ReasoningSwitch::ChatTemplate => ("chat_template_kwargs", json!({"enable_thinking": on})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::AnswerForm;

    fn prompt() -> Prompt {
        Prompt {
            system: "Judge.".to_owned(),
            user: "Log.".to_owned(),
            form: AnswerForm {
                name: "verdict".to_owned(),
                schema: json!({
                    "type": "object",
                    "properties": {"reason": {"type": "string"}, "score": {"type": "integer"}},
                    "required": ["score", "reason"],
                    "additionalProperties": false,
                }),
                token_probabilities: false,
            },
            max_tokens: 64,
        }
    }

    fn body_of(name: &str, change: impl FnOnce(&mut RoleConfig)) -> Value {
        let mut config = RoleConfig::named(name).expect("sound");
        change(&mut config);
        let request = Request::new(&prompt(), &config, 0, 0).expect("sound");
        serde_json::from_str(&request.body).expect("JSON")
    }

    /// Recordings depend on these bytes: a change here is a change of [`KEY_FORMAT`].
    #[test]
    fn bodies_and_keys_are_frozen() {
        let config = RoleConfig::named("local/qwen").expect("sound");
        let request = Request::new(&prompt(), &config, 0, 0).expect("sound");
        assert_eq!(
            request.body,
            concat!(
                r#"{"cache_prompt":false,"max_tokens":64,"messages":[{"content":"Judge.","role":"system"},"#,
                r#"{"content":"Log.","role":"user"}],"model":"qwen","response_format":{"json_schema":{"name":"verdict","#,
                r#""schema":{"additionalProperties":false,"properties":{"score":{"type":"integer"},"#,
                r#""reason":{"type":"string"}},"required":["score","reason"],"type":"object"},"strict":true},"#,
                r#""type":"json_schema"},"temperature":0}"#,
            )
        );
        assert_eq!(request.key, "be76634b718f548ad5d29d02a416f28e3df69b193c67fce3b803565cd535e5da");
    }

    #[test]
    fn everything_that_can_change_an_answer_changes_the_key() {
        let config = RoleConfig::named("local/qwen").expect("sound");
        let key = |prompt: &Prompt, config: &RoleConfig, repeat, attempt| {
            Request::new(prompt, config, repeat, attempt).expect("sound").key
        };
        let base = key(&prompt(), &config, 0, 0);
        let other = |change: fn(&mut RoleConfig)| {
            let mut config = config.clone();
            change(&mut config);
            key(&prompt(), &config, 0, 0)
        };
        let mut reordered = prompt();
        reordered.form.schema["required"] = json!(["reason", "score"]);
        let mut keys = vec![
            base.clone(),
            key(&prompt(), &config, 1, 0),
            key(&prompt(), &config, 0, 1),
            key(&reordered, &config, 0, 0),
            other(|config| config.provider = "vllm".to_owned()),
            other(|config| config.model = "other".to_owned()),
            other(|config| config.temperature = "0.7".to_owned()),
            other(|config| config.max_tokens = 32),
            other(|config| config.reasoning = Some(Reasoning::Off)),
            other(|config| config.response_format = ResponseFormat::JsonObject),
            other(|config| drop(config.identity.insert("build".to_owned(), "b2".to_owned()))),
        ];
        assert_eq!(other(|config| config.timeout_seconds = 5), base);
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn dialects() {
        let openai = body_of("openai/gpt-5-mini", |config| {
            config.reasoning = Some(Reasoning::Low);
        });
        assert_eq!(openai["max_completion_tokens"], 64);
        assert_eq!(openai["reasoning_effort"], "low");
        assert!(openai.get("temperature").is_none() && openai.get("max_tokens").is_none());
        assert_eq!(body_of("openai/gpt-5-mini", |config| config.temperature = "0".to_owned())["temperature"], 0);
        assert_eq!(body_of("openai/gpt-4.1", |_| {})["temperature"], 0);
        let deepseek = body_of("deepseek/deepseek-chat", |config| config.reasoning = Some(Reasoning::Off));
        assert_eq!(deepseek["response_format"], json!({"type": "json_object"}));
        assert_eq!(deepseek["thinking"], json!({"type": "disabled"}));
        let system = deepseek["messages"][0]["content"].as_str().expect("text");
        assert!(system.contains("JSON Schema") && system.contains(r#""properties":{"score""#), "{system}");
        let openrouter = body_of("openrouter/a/b", |config| config.reasoning = Some(Reasoning::High));
        assert_eq!(openrouter["reasoning"], json!({"effort": "high"}));
        let anthropic = body_of("anthropic/claude", |_| {});
        assert!(anthropic.get("response_format").is_none());
        let vllm = body_of("vllm/qwen", |config| {
            config.temperature = "0.7".to_owned();
            config.reasoning = Some(Reasoning::On);
        });
        assert_eq!(vllm["seed"], 0);
        assert_eq!(vllm["chat_template_kwargs"], json!({"enable_thinking": true}));
    }
}
