//! The prompt files: versioned by name, frozen by hash. A change of wording is a new file with the next number.

use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::json::Json;
use parthack_model::prompt::Prompt;

/// A prompt file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptFile {
    /// Its name with its version, such as `judge-1`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! files {
    ($($constant:ident = $name:literal,)+) => {
        $(
            #[doc = concat!("`", $name, "`.")]
            pub const $constant: PromptFile = PromptFile { name: $name, text: include_str!(concat!("prompts/", $name, ".txt")) };
        )+

        /// All files.
        pub const ALL: &[PromptFile] = &[$($constant),+];
    };
}

files! {
    SYNTHESIS = "synthesis-1",
    JUDGE = "judge-1",
    VERDICT = "verdict-1",
    VERDICT_FORCED = "verdict-forced-1",
    WINDOW = "window-1",
    REQUIREMENTS = "requirements-1",
    CLASSIFY = "classify-1",
    REPLACEMENT = "replacement-1",
    CATEGORIES = "categories-1",
    IRRELEVANT_CATEGORIES = "irrelevant-categories-1",
    BASELINE = "baseline-1",
    HOLISTIC = "holistic-1",
    GENERIC = "generic-1",
    GENERIC_QUESTIONS = "generic-questions-1",
    TICK_QUESTIONS = "tick-questions-1",
    TICK = "tick-1",
    TICK_TRAJECTORY_QUESTIONS = "tick-trajectory-questions-1",
    TICK_TRAJECTORY = "tick-trajectory-1",
}

impl PromptFile {
    /// Hash, label `gcpc-prompt-file`, of its text.
    #[must_use]
    pub fn hash(&self) -> Hash {
        Hash::of("gcpc-prompt-file", self.text.as_bytes())
    }
}

/// One hash, label `gcpc-prompts`, over names and hashes of all files: for the manifest that freezes them.
#[must_use]
pub fn hash() -> Hash {
    let line = |file: &PromptFile| format!("{} {}\n", file.name, file.hash());
    Hash::of("gcpc-prompts", ALL.iter().map(line).collect::<String>().as_bytes())
}

/// Hash, label `gcpc-prompt`, of everything that a prompt asks.
#[must_use]
pub fn prompt_hash(prompt: &Prompt) -> Hash {
    let text = |text: &str| Json::String(text.to_owned().into());
    let parts = vec![
        text(&prompt.system),
        text(&prompt.user),
        text(&prompt.form.name),
        text(&parthack_model::canonical::schema(&prompt.form.schema)),
        Json::Bool(prompt.form.token_probabilities),
        Json::Number(prompt.max_tokens.to_string().into()),
    ];
    Hash::of("gcpc-prompt", &canonical_bytes(&Json::Array(parts)))
}
