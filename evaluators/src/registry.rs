//! The built-in evaluators by id.

use parthack_env::canonical::Hash;

use crate::judge::evidence::{EVIDENCE_JUDGE, evidence_descriptor, evidence_judge};
use crate::rules::Rule;
use crate::score::{NoVerdict, Verdict};
use crate::{judge, public_view};

/// What a table or a manifest says of an evaluator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Its id.
    pub id: &'static str,
    /// Version of its rule.
    pub version: u32,
    /// The name that tables print.
    pub title: &'static str,
    /// When it looks (P, Table A.3).
    pub temporal_rule: &'static str,
    /// `yes`, `no` or `prompted`.
    pub attribution: &'static str,
    /// Where its parts come from.
    pub decomposition: &'static str,
    /// Whether equal bytes always give equal scores.
    pub deterministic: bool,
    /// What it reads of the payload.
    pub reads: &'static str,
}

/// Descriptors of all rules, in the order of the tables.
#[must_use]
pub fn descriptors() -> Vec<Descriptor> {
    Rule::ALL.into_iter().map(describe).collect()
}

/// The descriptor of a rule.
#[must_use]
pub fn describe(rule: Rule) -> Descriptor {
    Descriptor {
        id: rule.id(),
        version: 1,
        title: rule.title(),
        temporal_rule: rule.temporal_rule().title(),
        attribution: if rule.uses_attribution() { "yes" } else { "no" },
        decomposition: if rule == Rule::TerminalOutcome { "completion bit" } else { "shared" },
        deterministic: true,
        reads: "goal_schema, initial_state, events",
    }
}

/// One payload scored by several rules, read once.
#[must_use]
pub fn score_all(rules: &[Rule], payload: &[u8]) -> Vec<Verdict> {
    match public_view::read(payload) {
        Ok(view) if view.m > 0 => rules.iter().map(|rule| Verdict::exact(rule.score(view.m, &view.frames))).collect(),
        Ok(_) => {
            vec![Verdict::NoVerdict(NoVerdict { reason: "the goal schema has no predicate".to_owned() }); rules.len()]
        }
        Err(error) => {
            let reason = format!("not a payload: {error}");
            vec![Verdict::NoVerdict(NoVerdict { reason }); rules.len()]
        }
    }
}

/// An evaluator that this crate computes by itself: it runs in the public-only process, and needs no model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// A rule.
    Rule(Rule),
    /// The deterministic judge that is no language model.
    EvidenceJudge,
}

impl Builtin {
    /// All of them, in the order of the tables.
    #[must_use]
    pub fn all() -> Vec<Builtin> {
        Rule::ALL.into_iter().map(Builtin::Rule).chain([Builtin::EvidenceJudge]).collect()
    }

    /// Its id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Builtin::Rule(rule) => rule.id(),
            Builtin::EvidenceJudge => EVIDENCE_JUDGE,
        }
    }

    /// The one of an id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Builtin> {
        Builtin::all().into_iter().find(|builtin| builtin.id() == id)
    }

    fn rule(self) -> Option<Rule> {
        match self {
            Builtin::Rule(rule) => Some(rule),
            Builtin::EvidenceJudge => None,
        }
    }
}

/// One payload scored by several built-in evaluators, in their order; the frames of rules are read once.
#[must_use]
pub fn score_builtins(builtins: &[Builtin], payload: &[u8]) -> Vec<Verdict> {
    let rules: Vec<Rule> = builtins.iter().filter_map(|builtin| builtin.rule()).collect();
    let mut of_rules = if rules.is_empty() { Vec::new() } else { score_all(&rules, payload) }.into_iter();
    let score = |builtin: &Builtin| match builtin {
        Builtin::Rule(_) => of_rules.next(),
        Builtin::EvidenceJudge => Some(evidence_judge(payload)),
    };
    builtins.iter().filter_map(score).collect()
}

/// Descriptors of every evaluator that comes with the program: rules, `evidence-judge`, judges that ask a model.
#[must_use]
pub fn all_descriptors() -> Vec<Descriptor> {
    descriptors().into_iter().chain([evidence_descriptor()]).chain(judge::descriptors()).collect()
}

/// The hash that stands on every score record: label `payload`, over the payload's bytes.
#[must_use]
pub fn payload_hash(payload: &[u8]) -> Hash {
    Hash::of("payload", payload)
}
