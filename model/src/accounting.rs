//! What was asked, paid and read, by role.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::answer::NoAnswer;
use crate::price::{Cost, Usage};

/// Accounts of all roles, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Accounting {
    /// A role's account.
    pub roles: BTreeMap<String, Account>,
}

/// One role's account.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Account {
    /// Questions that ended, with an answer or without.
    pub calls: u64,
    /// Those among them that ended without an answer, by its code.
    pub no_answers: BTreeMap<String, u64>,
    /// The first of them by code: the one whose cell has the least name.
    pub examples: BTreeMap<String, Unanswered>,
    /// Those among them that had a retry.
    pub retries: u64,
    /// Requests that were sent.
    pub requests: u64,
    /// Exchanges that were read from a cassette.
    pub from_cassette: u64,
    /// Tokens of requests that were sent.
    pub usage: Usage,
    /// Tokens of exchanges that were read from a cassette.
    pub cassette_usage: Usage,
    /// What requests that were sent cost, as far as prices are known; where the provider told no usage, the most that it
    /// can have been.
    pub cost: Cost,
    /// Requests that were sent to models without a known price.
    pub unpriced: u64,
}

/// A question that ended without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unanswered {
    /// The cell that asked.
    pub cell: String,
    /// The reason, with its code; on a line of its own the hint of [`NoAnswer::hint`], unless `refuses_form` says it.
    pub reason: String,
    /// Whether the server names the demanded form of the answer as what it refuses.
    pub refuses_form: bool,
}

impl Account {
    pub(crate) fn without_answer(&mut self, cell: &str, reason: &NoAnswer) {
        let code = reason.code().to_owned();
        *self.no_answers.entry(code.clone()).or_default() += 1;
        if self.examples.get(&code).is_none_or(|known| cell < known.cell.as_str()) {
            let refuses_form = reason.refuses_form();
            // The form has a flag of its own.
            let hint = reason.hint().filter(|_| !refuses_form).map(|hint| format!("\n  hint: {hint}"));
            let (cell, reason) = (cell.to_owned(), format!("{reason}{}", hint.unwrap_or_default()));
            self.examples.insert(code, Unanswered { cell, reason, refuses_form });
        }
    }
}

impl Accounting {
    /// The cost of all roles.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.roles.values().map(|account| account.cost).sum()
    }

    /// The questions of all roles that ended.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.roles.values().map(|account| account.calls).sum()
    }

    pub(crate) fn account(&mut self, role: &str) -> &mut Account {
        self.roles.entry(role.to_owned()).or_default()
    }
}

/// What a set of questions would take, before any is asked. What is at most counts the one retry of each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Estimate {
    /// Questions.
    pub calls: u64,
    /// Those among them whose exchange is recorded.
    pub recorded: u64,
    /// Tokens of the prompts that would be sent, taken as one for every four bytes.
    pub prompt_tokens: u64,
    /// The most tokens of their answers: the token caps, twice for the retry.
    pub completion_tokens_at_most: u64,
    /// What they would cost without a retry, with answers as long as their caps allow, as far as prices are known.
    pub cost: Cost,
    /// The most they can cost: a prompt has at most one token a byte, and each is asked twice.
    pub cost_at_most: Cost,
    /// Models without a known price, as `provider/model`.
    pub unpriced: BTreeSet<String>,
}
