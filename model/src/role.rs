//! A role's configuration: which model answers, and with which parameters.
//!
//! Everything here but the time-out reaches the request or its cassette key, so that another setting is another question.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::provider::{Provider, StructuredOutput};

/// The time-out of one call in seconds, where nothing else is said.
pub const TIMEOUT_SECONDS: u32 = 600;

/// The token cap of one answer, where nothing else is said.
pub const MAX_TOKENS: u32 = 4096;

/// How many of the likeliest tokens are asked for at each place, where nothing else is said.
pub const TOP_LOGPROBS: u8 = 10;

/// How a role (`judge`, `attacker`, `checklist`) is played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleConfig {
    /// A provider's name: [`crate::provider::PROVIDERS`].
    pub provider: String,
    /// The model's name at the provider; may hold slashes.
    pub model: String,
    /// Decimal text in [0, 2] with at most three places and no trailing zeros, or `default`: then none is sent, for
    /// models that refuse the parameter.
    #[serde(default = "default_temperature")]
    pub temperature: String,
    /// The most tokens of an answer, reasoning included, at least 1.
    #[serde(default = "default_max_tokens")]
    pub max_tokens: u32,
    /// The most seconds of one try, from connecting to the last byte, at least 1. Not part of a cassette key.
    #[serde(default = "default_timeout_seconds")]
    pub timeout_seconds: u32,
    /// The reasoning switch; `None` leaves it to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// How the answer's form is demanded.
    pub response_format: ResponseFormat,
    /// How many of the likeliest tokens are asked for at each place where a prompt wants probabilities, 0 to 20.
    #[serde(default = "default_top_logprobs")]
    pub top_logprobs: u8,
    /// What the server told of itself (hash of the model file, version of the server, …); part of every cassette key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub identity: BTreeMap<String, String>,
}

/// How much a model may reason before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reasoning {
    /// Effort low.
    Low,
    /// Effort medium.
    Medium,
    /// Effort high.
    High,
    /// Thinking on, the effort as the provider has it.
    On,
    /// Thinking off.
    Off,
}

impl Reasoning {
    /// All settings.
    pub const ALL: [Reasoning; 5] = [Reasoning::Low, Reasoning::Medium, Reasoning::High, Reasoning::On, Reasoning::Off];

    /// The word of files and of the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Reasoning::Low => "low",
            Reasoning::Medium => "medium",
            Reasoning::High => "high",
            Reasoning::On => "on",
            Reasoning::Off => "off",
        }
    }

    /// The setting of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Reasoning> {
        Reasoning::ALL.into_iter().find(|reasoning| reasoning.word() == word)
    }
}

/// How the answer's form is demanded. Whatever is demanded, the answer is validated here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    /// `response_format: json_schema`, strict.
    JsonSchema,
    /// `response_format: json_object`; the schema is told in the system message.
    JsonObject,
    /// No `response_format`; the schema is told in the system message.
    None,
}

impl ResponseFormat {
    /// All formats, the strictest first.
    pub const ALL: [ResponseFormat; 3] = [ResponseFormat::JsonSchema, ResponseFormat::JsonObject, ResponseFormat::None];

    /// The word of files and of the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ResponseFormat::JsonSchema => "json_schema",
            ResponseFormat::JsonObject => "json_object",
            ResponseFormat::None => "none",
        }
    }

    /// The format of a word.
    ///
    /// ```
    /// # use parthack_model::role::ResponseFormat;
    /// assert_eq!(ResponseFormat::from_word("json_object"), Some(ResponseFormat::JsonObject));
    /// assert_eq!(ResponseFormat::from_word("xml"), None);
    /// ```
    #[must_use]
    pub fn from_word(word: &str) -> Option<ResponseFormat> {
        ResponseFormat::ALL.into_iter().find(|format| format.word() == word)
    }
}

fn default_temperature() -> String {
    "0".to_owned()
}

fn default_max_tokens() -> u32 {
    MAX_TOKENS
}

fn default_timeout_seconds() -> u32 {
    TIMEOUT_SECONDS
}

fn default_top_logprobs() -> u8 {
    TOP_LOGPROBS
}

/// What is wrong with a role's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleError {
    /// The field, such as `temperature`.
    pub field: &'static str,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
}

impl fmt::Display for RoleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "role: {}: found {:?}, expected {}", self.field, self.found, self.expected)
    }
}

impl std::error::Error for RoleError {}

impl RoleConfig {
    /// The configuration of `provider/model` with the provider's usual settings: temperature 0, but `default` for reasoning models of
    /// OpenAI (`o4-mini`, `gpt-5`), which refuse any other.
    ///
    /// ```
    /// # use parthack_model::role::{ResponseFormat, RoleConfig};
    /// let role = RoleConfig::named("openrouter/qwen/qwen3-8b")?;
    /// assert_eq!((role.provider.as_str(), role.model.as_str()), ("openrouter", "qwen/qwen3-8b"));
    /// assert_eq!((role.temperature.as_str(), role.response_format), ("0", ResponseFormat::JsonSchema));
    /// assert_eq!(role.name(), "openrouter/qwen/qwen3-8b");
    /// let error = RoleConfig::named("qwen3-8b").expect_err("no provider").to_string();
    /// assert!(error.starts_with("role: provider/model: found \"qwen3-8b\", expected "));
    /// # Ok::<(), parthack_model::role::RoleError>(())
    /// ```
    ///
    /// # Errors
    /// [`RoleError`] for a name without a slash, an unknown provider, or a model name that is empty, longer than 256 bytes
    /// or holds control characters.
    pub fn named(name: &str) -> Result<RoleConfig, RoleError> {
        let wrong = || RoleError {
            field: "provider/model",
            found: name.to_owned(),
            expected: format!("PROVIDER/MODEL with a provider of {}", Provider::names().join(", ")),
        };
        let (provider, model) = name.split_once('/').ok_or_else(wrong)?;
        let provider = Provider::find(provider).ok_or_else(wrong)?;
        let role = RoleConfig {
            provider: provider.name.to_owned(),
            model: model.to_owned(),
            temperature: if takes_no_temperature(provider, model) {
                "default".to_owned()
            } else {
                default_temperature()
            },
            max_tokens: MAX_TOKENS,
            timeout_seconds: TIMEOUT_SECONDS,
            reasoning: None,
            response_format: match provider.structured {
                StructuredOutput::JsonSchema => ResponseFormat::JsonSchema,
                StructuredOutput::JsonObject => ResponseFormat::JsonObject,
                StructuredOutput::None => ResponseFormat::None,
            },
            top_logprobs: TOP_LOGPROBS,
            identity: BTreeMap::new(),
        };
        role.check()?;
        Ok(role)
    }

    /// `provider/model`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Whether another configuration asks the same: all but how long a try may last, which is no part of a key.
    #[must_use]
    pub fn asks_the_same(&self, other: &RoleConfig) -> bool {
        RoleConfig { timeout_seconds: other.timeout_seconds, ..self.clone() } == *other
    }

    /// Checks every field's range.
    ///
    /// # Errors
    /// [`RoleError`] with the first field that is wrong.
    pub fn check(&self) -> Result<(), RoleError> {
        let wrong = |field, found: &dyn fmt::Display, expected: &str| {
            Err(RoleError { field, found: found.to_string(), expected: expected.to_owned() })
        };
        if Provider::find(&self.provider).is_none() {
            return wrong("provider", &self.provider, &format!("one of {}", Provider::names().join(", ")));
        }
        if self.model.is_empty() || self.model.len() > 256 || self.model.chars().any(char::is_control) {
            return wrong("model", &self.model.escape_debug(), "1 to 256 bytes without control characters");
        }
        if self.temperature != "default" && !is_temperature(&self.temperature) {
            return wrong(
                "temperature",
                &self.temperature,
                "a decimal in [0, 2], at most three places, no trailing zeros (0, 0.7, 1), or `default`",
            );
        }
        if self.max_tokens == 0 {
            return wrong("max_tokens", &self.max_tokens, "at least 1");
        }
        if self.timeout_seconds == 0 {
            return wrong("timeout_seconds", &self.timeout_seconds, "at least 1");
        }
        if self.top_logprobs > 20 {
            return wrong("top_logprobs", &self.top_logprobs, "0 to 20");
        }
        Ok(())
    }
}

/// Whether a model reasons and so takes its own temperature alone: those of OpenAI named `o` and a number, and `gpt-5` and later, but for
/// their `chat` variants.
fn takes_no_temperature(provider: &Provider, model: &str) -> bool {
    if provider.name != "openai" {
        return false;
    }
    let name = model.strip_prefix("ft:").unwrap_or(model);
    let number = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u32>().ok();
    match (name.strip_prefix("gpt-"), name.strip_prefix('o')) {
        (Some(rest), _) => number(rest).is_some_and(|number| number >= 5) && !rest.contains("-chat"),
        (None, Some(rest)) => number(rest).is_some(),
        (None, None) => false,
    }
}

/// Whether a text is a temperature in its one form.
fn is_temperature(text: &str) -> bool {
    let (whole, places) = text.split_once('.').map_or((text, None), |(whole, places)| (whole, Some(places)));
    let whole_is_sound = match places {
        None => matches!(whole, "0" | "1" | "2"),
        Some(_) => matches!(whole, "0" | "1"),
    };
    let places_are_sound = places.is_none_or(|places| {
        (1..=3).contains(&places.len()) && places.bytes().all(|byte| byte.is_ascii_digit()) && !places.ends_with('0')
    });
    whole_is_sound && places_are_sound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temperatures_have_one_form() {
        for text in ["0", "1", "2", "0.7", "0.125", "1.5"] {
            assert!(is_temperature(text), "{text}");
        }
        for text in ["", "0.0", "1.0", "00", "2.5", "-1", "0.1234", ".5", "1e0", "0.", "3", "NaN"] {
            assert!(!is_temperature(text), "{text}");
        }
    }

    #[test]
    fn reasoning_models_keep_their_own_temperature() {
        let temperature = |name: &str| RoleConfig::named(name).expect("sound").temperature;
        for name in
            ["o1", "o3", "o4-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5-mini", "gpt-5.1", "ft:o4-mini:me", "gpt-10"]
        {
            assert_eq!(temperature(&format!("openai/{name}")), "default", "{name}");
        }
        for name in [
            "openai/gpt-4o",
            "openai/gpt-4.1-mini",
            "openai/gpt-5-chat-latest",
            "openai/omni",
            "local/o4-mini",
            "google/gpt-5",
        ] {
            assert_eq!(temperature(name), "0", "{name}");
        }
    }

    #[test]
    fn files_are_read_strictly() {
        let text = r#"{"provider":"local","model":"local","response_format":"json_schema"}"#;
        let role: RoleConfig = serde_json::from_str(text).expect("sound");
        assert_eq!(role, RoleConfig::named("local/local").expect("sound"));
        let unknown = text.replace("}", r#","api_key":"x"}"#);
        assert!(serde_json::from_str::<RoleConfig>(&unknown).is_err());
    }

    #[test]
    fn wrong_fields_are_named() {
        let sound = RoleConfig::named("openai/gpt-4.1").expect("sound");
        let field = |change: fn(&mut RoleConfig)| {
            let mut role = sound.clone();
            change(&mut role);
            role.check().expect_err("wrong").field
        };
        assert_eq!(field(|role| role.provider.clear()), "provider");
        assert_eq!(field(|role| role.model = "a\nb".to_owned()), "model");
        assert_eq!(field(|role| role.temperature = "0.0".to_owned()), "temperature");
        assert_eq!(field(|role| role.max_tokens = 0), "max_tokens");
        assert_eq!(field(|role| role.timeout_seconds = 0), "timeout_seconds");
        assert_eq!(field(|role| role.top_logprobs = 21), "top_logprobs");
    }
}
