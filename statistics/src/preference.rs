//! Agreement of scores with people's preferences between two logs of a task (G §4.3, Table 2).

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::exact::Ratio;

/// Which of two logs an annotator holds for better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preferred {
    /// The first.
    First,
    /// The second.
    Second,
    /// Neither.
    Neither,
}

/// One annotator's preference, beside a method's scores of the two logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preference {
    /// The first log's score; `None` where the method has none.
    pub first: Option<Ratio>,
    /// The second log's score.
    pub second: Option<Ratio>,
    /// The preference.
    pub preferred: Preferred,
}

/// Preferences, counted by how the method stands to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PreferenceCounts {
    /// The method scores the preferred log higher.
    pub agree: usize,
    /// The method scores the preferred log lower.
    pub disagree: usize,
    /// The annotator prefers one, the method scores both the same.
    pub score_ties: usize,
    /// The annotator prefers neither, whatever the method says.
    pub human_ties: usize,
    /// A score is missing.
    pub missing: usize,
}

/// What a tie of the method's scores counts where the annotator prefers one log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TieRule {
    /// The pair is not comparable and leaves the denominator: G's rule ("counts vary by method due to ties and missing
    /// scores").
    Excluded,
    /// One half, as in an AUC: a method that never decides gets 1/2.
    Half,
    /// A disagreement: a method pays for not deciding.
    Disagreement,
}

impl PreferenceCounts {
    /// Share of agreement, in [0, 1]; `None` without a comparable pair. An annotator's tie and a missing score are never
    /// comparable.
    pub fn agreement(&self, ties: TieRule) -> Option<Ratio> {
        let decided = self.agree + self.disagree;
        let (doubled, of) = match ties {
            TieRule::Excluded => (2 * self.agree, decided),
            TieRule::Half => (2 * self.agree + self.score_ties, decided + self.score_ties),
            TieRule::Disagreement => (2 * self.agree, decided + self.score_ties),
        };
        Ratio::new(doubled as i128, 2 * of as i128).ok()
    }
}

/// Counts the preferences; each annotator's is one.
///
/// ```
/// use parthack_statistics::{Preference, Preferred, Ratio, TieRule, preference_counts};
/// let pair = |first, second, preferred| Preference {
///     first: Some(Ratio::fraction(first, 9)),
///     second: Some(Ratio::fraction(second, 9)),
///     preferred,
/// };
/// let counts = preference_counts(&[
///     pair(5, 3, Preferred::First),
///     pair(5, 3, Preferred::Second),
///     pair(4, 4, Preferred::Second),
///     pair(1, 2, Preferred::Neither),
/// ]);
/// assert_eq!((counts.agree, counts.disagree, counts.score_ties, counts.human_ties), (1, 1, 1, 1));
/// assert_eq!(counts.agreement(TieRule::Disagreement), Some(Ratio::fraction(1, 3)));
/// ```
pub fn preference_counts(preferences: &[Preference]) -> PreferenceCounts {
    let mut counts = PreferenceCounts::default();
    for Preference { first, second, preferred } in preferences {
        let place = match (first.zip(*second).map(|(first, second)| first.cmp(&second)), preferred) {
            (None, _) => &mut counts.missing,
            (_, Preferred::Neither) => &mut counts.human_ties,
            (Some(Ordering::Equal), _) => &mut counts.score_ties,
            (Some(Ordering::Greater), Preferred::First) | (Some(Ordering::Less), Preferred::Second) => {
                &mut counts.agree
            }
            _ => &mut counts.disagree,
        };
        *place += 1;
    }
    counts
}

/// What most annotators prefer: the log with more votes than the other; `Neither` where both have as many, however many
/// prefer neither. `None` of no votes.
pub fn majority(votes: &[Preferred]) -> Option<Preferred> {
    let count = |wanted| votes.iter().filter(|vote| **vote == wanted).count();
    if votes.is_empty() {
        return None;
    }
    Some(match count(Preferred::First).cmp(&count(Preferred::Second)) {
        Ordering::Greater => Preferred::First,
        Ordering::Less => Preferred::Second,
        Ordering::Equal => Preferred::Neither,
    })
}
