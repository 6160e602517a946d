//! The three labels of an item, and the official outcome.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a judge says of an item (G §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// The evidence shows that the requirement is met.
    Yes,
    /// The evidence shows that it is not met.
    No,
    /// The log holds too little evidence to decide. It is not a failure.
    Abstain,
}

impl Label {
    /// All labels with their words.
    pub const WORDS: [(&'static str, Label); 3] = [("yes", Label::Yes), ("no", Label::No), ("abstain", Label::Abstain)];

    /// `yes`, `no` or `abstain`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Label::Yes => "yes",
            Label::No => "no",
            Label::Abstain => "abstain",
        }
    }

    /// Whether it is Yes or No.
    #[must_use]
    pub fn is_decided(self) -> bool {
        self != Label::Abstain
    }
}

impl fmt::Display for Label {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// What the official verifier says of a trajectory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// All official tests passed.
    Pass,
    /// At least one failed.
    Fail,
}

impl Outcome {
    /// Both outcomes with their words.
    pub const WORDS: [(&'static str, Outcome); 2] = [("pass", Outcome::Pass), ("fail", Outcome::Fail)];

    /// `pass` or `fail`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}
