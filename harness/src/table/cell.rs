//! What a cell can hold.

use crate::exact::{Ratio, paper_decimal};
use crate::statistics::bootstrap::{Interval, MeanEstimate};
use crate::statistics::proportion::Proportion;
use crate::statistics::score::Score;

/// Why a value is absent. Never printed as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// No recording and no result exists for the cell.
    NotRecorded,
    /// Known by proof instead of by search (CSPS and Lightweight CAPE as targets, P §3.5).
    Analytic,
    /// Left out of the metric by its definition (GoalPatch tasks in rollback metrics).
    Excluded,
    /// Reported as auxiliary only (Terminal Outcome's rollbacks, P Table B.2).
    Auxiliary,
    /// No task or pair with a verdict to average over.
    NothingScored,
    /// No matched candidate at this place.
    Unmatched,
    /// A publication does not print it, and nothing printed determines it.
    NotPrinted,
    /// The question does not arise for the row.
    NotApplicable,
    /// For the reason that whoever made the table gives.
    Because(&'static str),
}

impl Missing {
    /// The reason in words, the same in every format.
    pub const fn reason(self) -> &'static str {
        match self {
            Missing::NotRecorded => "not recorded",
            Missing::Analytic => "analytic",
            Missing::Excluded => "excluded",
            Missing::Auxiliary => "auxiliary",
            Missing::NothingScored => "nothing scored",
            Missing::Unmatched => "unmatched",
            Missing::NotPrinted => "not printed",
            Missing::NotApplicable => "-",
            Missing::Because(reason) => reason,
        }
    }
}

/// Where a published number stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// Computed from published per-task values.
    Recomputed,
    /// Copied from the publication, which prints nothing that it could be computed from.
    PrintedOnly,
}

impl Label {
    /// The label in words.
    pub const fn words(self) -> &'static str {
        match self {
            Label::Recomputed => "recomputed",
            Label::PrintedOnly => "printed only",
        }
    }
}

/// A typed cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A thing with an id (JSON `key`) and a name (JSON `key_name`; what text shows).
    Named {
        /// Stable id.
        id: String,
        /// Printed name.
        name: String,
    },
    /// Yes or no.
    Flag(bool),
    /// A count.
    Integer(i64),
    /// `k` of `n`.
    Fraction {
        /// Successes.
        k: u64,
        /// Trials.
        n: u64,
    },
    /// A number shown with three decimals; its ratio stands beside it in JSON where it is exact.
    Number(Score),
    /// A p-value: a number that is shown as `<.001` where three decimals would say nothing.
    Probability(Score),
    /// A number shown as a ratio, `1/4`.
    Ratio(Ratio),
    /// Several numbers, shown with three decimals each.
    Numbers(Vec<Score>),
    /// A mean and its interval, if one was computed.
    Estimate {
        /// The mean.
        mean: Score,
        /// Its interval.
        interval: Option<Interval>,
    },
    /// A published value and whether it was recomputed.
    Labelled {
        /// The value.
        cell: Box<Cell>,
        /// The label.
        label: Label,
    },
    /// No value, and why.
    Missing(Missing),
}

impl Cell {
    /// Words.
    pub fn text(words: impl Into<String>) -> Cell {
        Cell::Text(words.into())
    }

    /// A thing with an id and a name.
    pub fn named(id: impl Into<String>, name: impl Into<String>) -> Cell {
        Cell::Named { id: id.into(), name: name.into() }
    }

    /// A count.
    pub fn count(count: usize) -> Cell {
        Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// This cell with a label; a label on a label replaces it.
    #[must_use]
    pub fn labelled(self, label: Label) -> Cell {
        match self {
            Cell::Labelled { cell, .. } => Cell::Labelled { cell, label },
            cell => Cell::Labelled { cell: Box::new(cell), label },
        }
    }

    pub(crate) fn is_estimate(&self) -> bool {
        match self {
            Cell::Estimate { .. } => true,
            Cell::Labelled { cell, .. } => cell.is_estimate(),
            _ => false,
        }
    }

    /// What text, Markdown and LaTeX show; a printed-only value carries a `*`.
    pub fn shown(&self) -> String {
        match self {
            Cell::Text(words) => words.clone(),
            Cell::Named { name, .. } => name.clone(),
            Cell::Flag(true) => "yes".to_owned(),
            Cell::Flag(false) => "no".to_owned(),
            Cell::Integer(count) => count.to_string(),
            Cell::Fraction { k, n } => format!("{k}/{n}"),
            Cell::Number(score) => paper_decimal(*score),
            Cell::Probability(score) => match paper_decimal(*score).as_str() {
                "0" | ".000" => "<.001".to_owned(),
                shown => shown.to_owned(),
            },
            Cell::Ratio(ratio) => ratio.to_string(),
            Cell::Numbers(scores) => scores.iter().map(|score| paper_decimal(*score)).collect::<Vec<_>>().join(" "),
            Cell::Estimate { mean, interval: None } => paper_decimal(*mean),
            Cell::Estimate { mean, interval: Some(Interval { low, high }) } => {
                let [mean, low, high] = [*mean, *low, *high].map(paper_decimal);
                format!("{mean} [{low}, {high}]")
            }
            Cell::Labelled { cell, label: Label::PrintedOnly } => format!("{}*", cell.shown()),
            Cell::Labelled { cell, label: Label::Recomputed } => cell.shown(),
            Cell::Missing(missing) => missing.reason().to_owned(),
        }
    }
}

impl From<Proportion> for Cell {
    fn from(proportion: Proportion) -> Cell {
        Cell::Fraction { k: proportion.k as u64, n: proportion.n as u64 }
    }
}

impl From<MeanEstimate> for Cell {
    fn from(estimate: MeanEstimate) -> Cell {
        Cell::Estimate { mean: estimate.mean, interval: Some(estimate.ci95) }
    }
}

impl From<Option<MeanEstimate>> for Cell {
    /// Without an estimate there was nothing scored.
    fn from(estimate: Option<MeanEstimate>) -> Cell {
        estimate.map_or(Cell::Missing(Missing::NothingScored), Cell::from)
    }
}

impl From<Option<Score>> for Cell {
    /// Without a score there was nothing scored.
    fn from(score: Option<Score>) -> Cell {
        score.map_or(Cell::Missing(Missing::NothingScored), Cell::Number)
    }
}
