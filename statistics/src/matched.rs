//! Matched runs without and with a skill, by how the official outcome changed (G §4.4, Figure 5).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::differences::{DifferenceSummary, summarize_differences};
use crate::exact::Ratio;

/// One run of a matched pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchedRun {
    /// Whether the official outcome is PASS.
    pub passed: bool,
    /// The score; `None` where nothing was decided.
    pub score: Option<Ratio>,
}

/// Two runs that share task, harness, model and source, and differ in whether a skill was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchedPair {
    /// The run without the skill.
    pub without: MatchedRun,
    /// The run with the skill.
    pub with: MatchedRun,
}

impl MatchedPair {
    /// Score with minus score without; `None` where either is undecided.
    pub fn difference(&self) -> Option<Ratio> {
        Some(self.with.score?.difference(self.without.score?))
    }

    /// How the outcome changed.
    pub const fn transition(&self) -> Transition {
        match (self.without.passed, self.with.passed) {
            (false, false) => Transition::FailToFail,
            (false, true) => Transition::FailToPass,
            (true, false) => Transition::PassToFail,
            (true, true) => Transition::PassToPass,
        }
    }
}

/// How the official outcome changes when the skill is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transition {
    /// Failed without, failed with.
    FailToFail,
    /// Failed without, passed with.
    FailToPass,
    /// Passed without, failed with.
    PassToFail,
    /// Passed without, passed with.
    PassToPass,
}

impl Transition {
    /// All four, in the order of the tables.
    pub const ALL: [Transition; 4] =
        [Transition::FailToFail, Transition::FailToPass, Transition::PassToFail, Transition::PassToPass];

    /// Whether the outcome stays as it is, so that pass@1 sees nothing.
    pub const fn is_unchanged(self) -> bool {
        matches!(self, Transition::FailToFail | Transition::PassToPass)
    }
}

/// The pairs of one transition, or of several together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransitionRow {
    /// Pairs, undecided ones included.
    pub pairs: usize,
    /// Pairs of which a score is undecided; they are in no summary.
    pub undecided: usize,
    /// Mean, quantiles, shares beyond the thresholds and tests of score with minus score without.
    pub differences: DifferenceSummary,
}

/// Figure 5: the four transitions, and what they add up to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransitionTable {
    /// Each of the four transitions, without pairs or with.
    pub transitions: BTreeMap<Transition, TransitionRow>,
    /// The two that leave the outcome as it is.
    pub unchanged: TransitionRow,
    /// All pairs.
    pub all: TransitionRow,
}

/// Groups matched pairs by transition; thresholds as G's [`crate::MATERIAL_CHANGE`] and [`crate::NOISE_FLOOR`].
pub fn transition_table(pairs: &[MatchedPair], thresholds: &[Ratio]) -> TransitionTable {
    let row = |wanted: &dyn Fn(Transition) -> bool| {
        let chosen: Vec<&MatchedPair> = pairs.iter().filter(|pair| wanted(pair.transition())).collect();
        let differences: Vec<Ratio> = chosen.iter().filter_map(|pair| pair.difference()).collect();
        TransitionRow {
            pairs: chosen.len(),
            undecided: chosen.len() - differences.len(),
            differences: summarize_differences(&differences, thresholds),
        }
    };
    let of_one = |transition: Transition| (transition, row(&|found| found == transition));
    TransitionTable {
        transitions: Transition::ALL.into_iter().map(of_one).collect(),
        unchanged: row(&Transition::is_unchanged),
        all: row(&|_| true),
    }
}
