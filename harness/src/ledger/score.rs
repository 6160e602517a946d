//! A score as the ledger keeps it: text, so that no reader rounds it.

use parthack_evaluators::score::Verdict;
use serde::{Deserialize, Serialize};

use crate::exact::Ratio;
use crate::statistics::Score;

/// What an evaluator said: a score, or why there is none. No verdict is never 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RecordedScore {
    /// An exact ratio in lowest terms, `2/3`.
    Exact(String),
    /// A measured number, the shortest decimal that reads back as it.
    Measured(String),
    /// Why there is no score.
    NoVerdict(String),
}

impl RecordedScore {
    /// What the ledger keeps of a verdict.
    #[must_use]
    pub fn of(verdict: &Verdict) -> RecordedScore {
        match verdict {
            Verdict::Score { exact: Some(exact), .. } => RecordedScore::Exact(exact.to_string()),
            Verdict::Score { value, exact: None } => RecordedScore::Measured(value.to_string()),
            Verdict::NoVerdict(no_verdict) => RecordedScore::NoVerdict(no_verdict.reason.clone()),
        }
    }

    /// The score for statistics; none for no verdict. A text that is no number counts as no verdict; readers of
    /// ledgers refuse it earlier ([`RecordedScore::is_well_formed`]).
    #[must_use]
    pub fn score(&self) -> Option<Score> {
        match self {
            RecordedScore::Exact(text) => text.parse::<Ratio>().ok().map(Score::exact),
            RecordedScore::Measured(text) => text.parse::<f64>().ok().and_then(|value| Score::measured(value).ok()),
            RecordedScore::NoVerdict(_) => None,
        }
    }

    /// Whether there is no score because a replay had no recording of what it needed.
    #[must_use]
    pub fn is_unrecorded(&self) -> bool {
        self.why_not().is_some_and(|reason| mentions(reason, "not_recorded"))
    }

    /// Why there is no score.
    #[must_use]
    pub fn why_not(&self) -> Option<&str> {
        match self {
            RecordedScore::NoVerdict(reason) => Some(reason),
            _ => None,
        }
    }

    /// Whether it is a number in [0, 1] or no verdict.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        match self {
            RecordedScore::NoVerdict(_) => true,
            _ => self.score().is_some_and(|score| score.value() >= Ratio::ZERO && score.value() <= Ratio::ONE),
        }
    }
}

/// Whether the reason for a missing answer has a code ([`parthack_model::answer::NoAnswer::code`]); a judge that is asked
/// several times says before it how many answered.
pub(crate) fn mentions(reason: &str, code: &str) -> bool {
    let tail = reason.rsplit_once("; ").map_or(reason, |(_, tail)| tail);
    [reason, tail].iter().any(|text| text.split(':').next().is_some_and(|head| head == code))
}

/// Codes of missing answers that leave no exchange behind: what went wrong on the way can't be worked out again.
const NOT_KEPT: [&str; 3] = ["transport", "status", "protocol"];

/// Whether the reason for a missing answer is that it was lost on the way.
pub(crate) fn is_lost_on_the_way(reason: &str) -> bool {
    NOT_KEPT.iter().any(|code| mentions(reason, code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_between_zero_and_one_are_well_formed() {
        for text in ["0", "1", "2/3", "1/1"] {
            assert!(RecordedScore::Exact(text.to_owned()).is_well_formed(), "{text}");
        }
        for text in ["4/3", "-1/3", "x", "1/0", ""] {
            assert!(!RecordedScore::Exact(text.to_owned()).is_well_formed(), "{text}");
        }
        for text in ["NaN", "inf", "1.5", "-0.5"] {
            assert!(!RecordedScore::Measured(text.to_owned()).is_well_formed(), "{text}");
        }
        assert!(RecordedScore::NoVerdict("why".to_owned()).is_well_formed());
    }
}
