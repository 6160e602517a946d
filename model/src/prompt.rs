//! What a role asks of a model, before a model is chosen.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question to a model. It names neither model nor provider: a role's configuration adds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The system message: instructions alone, never quoted data.
    pub system: String,
    /// The user message.
    pub user: String,
    /// The answer's form.
    pub form: AnswerForm,
    /// The most tokens of the answer, at least 1; a role's own cap applies too, the smaller counts.
    pub max_tokens: u32,
}

/// The form of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerForm {
    /// Name of the schema, `[a-z0-9_]{1,64}`.
    pub name: String,
    /// JSON Schema of the answer: an object, `additionalProperties: false` throughout, in the subset that providers
    /// enforce. The order of `required` is the order in which fields are to be written.
    pub schema: Value,
    /// Whether the probabilities of the answer's tokens are wanted (answer mode `logprobs`).
    pub token_probabilities: bool,
}
