//! What labels over many logs say of the items: items that never vary can't be enforced, and items that always agree say the same twice
//! (G §4.6: items flagged by the enforceability analysis are reviewed by a person).

use crate::checklist::{Checklist, Route};
use crate::label::{Label, Outcome};
use crate::ratio::Ratio;

/// The labels of one log, in the checklist's order, from the log alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The labels.
    pub labels: Vec<Label>,
    /// The official outcome.
    pub outcome: Option<Outcome>,
}

/// How an item behaves over logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Fewer decided labels than asked for.
    TooFew,
    /// Yes and No both occur.
    Varies,
    /// It is never No.
    AlwaysYes,
    /// It is never Yes.
    AlwaysNo,
}

impl Behaviour {
    /// Its word in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Behaviour::TooFew => "too_few",
            Behaviour::Varies => "varies",
            Behaviour::AlwaysYes => "always_yes",
            Behaviour::AlwaysNo => "always_no",
        }
    }
}

/// Counts of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemCounts {
    /// Logs in which it is Yes.
    pub yes: usize,
    /// Logs in which it is No.
    pub no: usize,
    /// Logs in which it abstains.
    pub abstain: usize,
    /// Logs that passed officially and in which the item, of route `assertion`, is No: the log judge and a test that ran contradict each other.
    pub contradicted: usize,
    /// What follows.
    pub behaviour: Behaviour,
}

/// Counts every item. Rows of another length than the checklist are left out. `least` is the fewest decided labels for a judgement of the item.
#[must_use]
pub fn enforceability(checklist: &Checklist, rows: &[Row], least: usize) -> Vec<ItemCounts> {
    let rows = || rows.iter().filter(|row| row.labels.len() == checklist.items.len());
    let count_item = |(index, item): (usize, &crate::checklist::Item)| {
        let count = |label: Label| rows().filter(|row| row.labels[index] == label).count();
        let (yes, no, abstain) = (count(Label::Yes), count(Label::No), count(Label::Abstain));
        let is_contradiction = |row: &&Row| row.labels[index] == Label::No && row.outcome == Some(Outcome::Pass);
        let contradicted = if item.route == Route::Assertion { rows().filter(is_contradiction).count() } else { 0 };
        let behaviour = match (yes, no) {
            _ if yes + no < least.max(1) => Behaviour::TooFew,
            (_, 0) => Behaviour::AlwaysYes,
            (0, _) => Behaviour::AlwaysNo,
            _ => Behaviour::Varies,
        };
        ItemCounts { yes, no, abstain, contradicted, behaviour }
    };
    checklist.items.iter().enumerate().map(count_item).collect()
}

/// Two items that the labels do not tell apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redundant {
    /// The earlier item's id.
    pub first: String,
    /// The later item's id.
    pub second: String,
    /// Logs in which they agree, over logs in which both are decided.
    pub agreement: Ratio,
}

/// The non-redundancy gate over labels: pairs that agree in at least `percent` of the logs in which both are decided, where there are at least
/// `least` such logs and both items vary within them. (Two items that are Yes everywhere agree without being the same; [`enforceability`] flags them.)
#[must_use]
pub fn redundant(checklist: &Checklist, rows: &[Row], least: usize, percent: usize) -> Vec<Redundant> {
    let mut found = Vec::new();
    for (second, item) in checklist.items.iter().enumerate() {
        for (first, earlier) in checklist.items[..second].iter().enumerate() {
            let rows = rows.iter().filter(|row| row.labels.len() == checklist.items.len());
            let pairs: Vec<(Label, Label)> = rows
                .map(|row| (row.labels[first], row.labels[second]))
                .filter(|(a, b)| a.is_decided() && b.is_decided())
                .collect();
            let varies = |of: fn(&(Label, Label)) -> Label| {
                [Label::Yes, Label::No].iter().all(|label| pairs.iter().any(|pair| of(pair) == *label))
            };
            let agree = pairs.iter().filter(|(a, b)| a == b).count();
            if pairs.len() >= least.max(1)
                && varies(|pair| pair.0)
                && varies(|pair| pair.1)
                && 100 * agree >= percent * pairs.len()
                && let Some(agreement) = Ratio::of(agree, pairs.len())
            {
                found.push(Redundant { first: earlier.id.clone(), second: item.id.clone(), agreement });
            }
        }
    }
    found
}
