//! The providers: where they listen, which variables name them, and how their dialects of one API differ.

/// A provider of chat completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// Its name in `provider/model`.
    pub name: &'static str,
    /// Where its API is, without `/chat/completions`.
    pub base_url: &'static str,
    /// Variables that may name another base URL; the first that is set counts.
    pub base_url_variables: &'static [&'static str],
    /// Variables that may hold the key; the first that is set counts.
    pub key_variables: &'static [&'static str],
    /// Whether it answers nobody without a key.
    pub needs_key: bool,
    /// The strictest form of structured output that it has.
    pub structured: StructuredOutput,
    /// The name of its token cap.
    pub token_cap: TokenCap,
    /// How reasoning is switched.
    pub reasoning: ReasoningSwitch,
    /// Fields of its own that make its answers repeatable.
    pub repeatable: Repeatable,
    /// Whether it bills by token; one that does not costs nothing.
    pub bills: bool,
}

/// The strictest structured output of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredOutput {
    /// `json_schema`.
    JsonSchema,
    /// `json_object` alone.
    JsonObject,
    /// Neither.
    None,
}

/// The name of the token cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCap {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// How reasoning is switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningSwitch {
    /// `reasoning_effort`: `none`, `low`, `medium`, `high`.
    Effort,
    /// `reasoning: {effort}` or `reasoning: {enabled}`.
    ReasoningObject,
    /// `thinking: {type}`: `enabled` or `disabled`; an effort counts as `enabled`.
    Thinking,
    /// `chat_template_kwargs: {enable_thinking}`; an effort counts as on.
    ChatTemplate,
}

/// What is sent so that an answer can be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeatable {
    /// Nothing.
    Nothing,
    /// A `seed` where the temperature is not 0.
    Seed,
    /// The same, and `cache_prompt: false`: a prompt cache changes probabilities.
    SeedAndNoPromptCache,
}

/// Every provider, by name.
pub const PROVIDERS: [Provider; 7] = [
    Provider {
        name: "anthropic",
        base_url: "https://api.anthropic.com/v1",
        base_url_variables: &["ANTHROPIC_OPENAI_BASE_URL"],
        key_variables: &["ANTHROPIC_API_KEY"],
        needs_key: true,
        structured: StructuredOutput::None,
        token_cap: TokenCap::MaxTokens,
        reasoning: ReasoningSwitch::Thinking,
        repeatable: Repeatable::Nothing,
        bills: true,
    },
    Provider {
        name: "deepseek",
        base_url: "https://api.deepseek.com/v1",
        base_url_variables: &["DEEPSEEK_BASE_URL"],
        key_variables: &["DEEPSEEK_API_KEY"],
        needs_key: true,
        structured: StructuredOutput::JsonObject,
        token_cap: TokenCap::MaxTokens,
        reasoning: ReasoningSwitch::Thinking,
        repeatable: Repeatable::Nothing,
        bills: true,
    },
    Provider {
        name: "google",
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        base_url_variables: &["GEMINI_BASE_URL", "GOOGLE_BASE_URL"],
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        needs_key: true,
        structured: StructuredOutput::JsonSchema,
        token_cap: TokenCap::MaxTokens,
        reasoning: ReasoningSwitch::Effort,
        repeatable: Repeatable::Nothing,
        bills: true,
    },
    Provider {
        name: "local",
        base_url: "http://127.0.0.1:8080/v1",
        base_url_variables: &["PARTHACK_LOCAL_BASE_URL", "LOCAL_BASE_URL"],
        key_variables: &["PARTHACK_LOCAL_API_KEY", "LOCAL_API_KEY"],
        needs_key: false,
        structured: StructuredOutput::JsonSchema,
        token_cap: TokenCap::MaxTokens,
        reasoning: ReasoningSwitch::ChatTemplate,
        repeatable: Repeatable::SeedAndNoPromptCache,
        bills: false,
    },
    Provider {
        name: "openai",
        base_url: "https://api.openai.com/v1",
        base_url_variables: &["OPENAI_BASE_URL"],
        key_variables: &["OPENAI_API_KEY"],
        needs_key: true,
        structured: StructuredOutput::JsonSchema,
        token_cap: TokenCap::MaxCompletionTokens,
        reasoning: ReasoningSwitch::Effort,
        repeatable: Repeatable::Seed,
        bills: true,
    },
    Provider {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        base_url_variables: &["OPENROUTER_BASE_URL"],
        key_variables: &["OPENROUTER_API_KEY"],
        needs_key: true,
        structured: StructuredOutput::JsonSchema,
        token_cap: TokenCap::MaxTokens,
        reasoning: ReasoningSwitch::ReasoningObject,
        repeatable: Repeatable::Seed,
        bills: true,
    },
    Provider {
        name: "vllm",
        base_url: "http://127.0.0.1:8000/v1",
        base_url_variables: &["VLLM_BASE_URL"],
        key_variables: &["VLLM_API_KEY"],
        needs_key: false,
        structured: StructuredOutput::JsonSchema,
        token_cap: TokenCap::MaxTokens,
        reasoning: ReasoningSwitch::ChatTemplate,
        repeatable: Repeatable::Seed,
        bills: false,
    },
];

impl Provider {
    /// The provider of a name.
    ///
    /// ```
    /// # use parthack_model::provider::Provider;
    /// assert_eq!(Provider::find("google").map(|of| of.key_variables), Some(&["GEMINI_API_KEY", "GOOGLE_API_KEY"][..]));
    /// assert!(Provider::find("nobody").is_none());
    /// ```
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Provider> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }

    /// Every name, in order.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        PROVIDERS.iter().map(|provider| provider.name).collect()
    }
}
