//! Several judgements of the same log: repeated passes (G §4.6), and one judge in place of another.

use std::collections::BTreeMap;

use crate::label::Label;
use crate::ratio::Ratio;

/// The label of more than half of the passes, item by item; Abstain where there is none. `None` where passes differ in length, or there is none.
///
/// ```
/// # use parthack_gcpc::{judging::passes::majority, label::Label::*};
/// let passes = [vec![Yes, Yes, Yes], vec![Yes, No, No], vec![No, No, Abstain]];
/// assert_eq!(majority(&passes), Some(vec![Yes, No, Abstain]));
/// ```
#[must_use]
pub fn majority(passes: &[Vec<Label>]) -> Option<Vec<Label>> {
    let items = length(passes)?;
    let of = |item: usize| {
        let count = |label: Label| passes.iter().filter(|pass| pass[item] == label).count();
        [Label::Yes, Label::No].into_iter().find(|label| 2 * count(*label) > passes.len()).unwrap_or(Label::Abstain)
    };
    Some((0..items).map(of).collect())
}

/// The share of items on which all passes agree. `None` as in [`majority`], and without items.
#[must_use]
pub fn unanimity(passes: &[Vec<Label>]) -> Option<Ratio> {
    let items = length(passes)?;
    let agrees = |item: &usize| passes.iter().all(|pass| pass[*item] == passes[0][*item]);
    Ratio::of((0..items).filter(agrees).count(), items)
}

fn length(passes: &[Vec<Label>]) -> Option<usize> {
    let items = passes.first()?.len();
    passes.iter().all(|pass| pass.len() == items).then_some(items)
}

/// How often one judge said one thing where another said another: (first, second) → items. Pairs that never occur are there with 0.
#[must_use]
pub fn substitution<'l>(pairs: impl IntoIterator<Item = (&'l [Label], &'l [Label])>) -> BTreeMap<(Label, Label), u64> {
    let labels = [Label::Yes, Label::No, Label::Abstain];
    let mut counts: BTreeMap<(Label, Label), u64> =
        labels.iter().flat_map(|a| labels.iter().map(|b| ((*a, *b), 0))).collect();
    for (first, second) in pairs {
        for pair in first.iter().copied().zip(second.iter().copied()) {
            *counts.entry(pair).or_default() += 1;
        }
    }
    counts
}
