//! One verdict of an item from the verdicts of several windows.
//!
//! The rule: windows that abstain do not count. Of the others the one with the latest evidence in the log decides (by its last citation that holds),
//! since later state overrides earlier; where two end at the same place, No decides; a verdict without evidence (forced ones alone have none) comes before any
//! other. All evidence for the deciding label is kept, and all evidence for the other one beside it. Where all abstain, so does the item. The order of
//! windows has no say.

use super::evidence::{Evidence, Settled};
use crate::label::Label;

/// The verdict on an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemVerdict {
    /// The label.
    pub label: Label,
    /// Evidence for it, in the order of the log.
    pub evidence: Vec<Evidence>,
    /// Evidence that other windows gave for the other label.
    pub contrary: Vec<Evidence>,
    /// Verdicts of windows that were told and not founded.
    pub unfounded: usize,
}

/// Merges the verdicts of an item's windows.
#[must_use]
pub fn merge(windows: &[Settled]) -> ItemVerdict {
    let decided = || windows.iter().filter(|settled| settled.label.is_decided());
    let last = |settled: &Settled| settled.evidence.last().map(|evidence| (evidence.place, evidence.end));
    let deciding = decided().max_by_key(|settled| (last(settled), settled.label == Label::No));
    let label = deciding.map_or(Label::Abstain, |settled| settled.label);
    let of = |wanted: &dyn Fn(Label) -> bool| {
        let mut evidence: Vec<Evidence> =
            decided().filter(|settled| wanted(settled.label)).flat_map(|settled| settled.evidence.clone()).collect();
        evidence.sort();
        evidence.dedup();
        evidence
    };
    ItemVerdict {
        label,
        evidence: of(&|own| own == label),
        contrary: of(&|own| own != label),
        unfounded: windows.iter().filter(|settled| settled.told.is_decided() && settled.evidence.is_empty()).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settled(label: Label, ends: &[usize]) -> Settled {
        let evidence = ends.iter().map(|end| Evidence { place: end / 10, start: 0, end: *end, text: "x".repeat(*end) });
        Settled { told: label, label, evidence: evidence.collect(), unfounded: Vec::new() }
    }

    fn label(windows: &[(Label, &[usize])]) -> Label {
        merge(&windows.iter().map(|(label, ends)| settled(*label, ends)).collect::<Vec<_>>()).label
    }

    #[test]
    fn the_latest_evidence_decides() {
        assert_eq!(label(&[(Label::Yes, &[5]), (Label::No, &[25])]), Label::No);
        assert_eq!(label(&[(Label::No, &[5]), (Label::Yes, &[3, 25])]), Label::Yes);
        assert_eq!(label(&[(Label::No, &[25]), (Label::Yes, &[25])]), Label::No);
        assert_eq!(label(&[(Label::Abstain, &[]), (Label::Yes, &[1])]), Label::Yes);
        assert_eq!(label(&[(Label::Abstain, &[]), (Label::Abstain, &[90])]), Label::Abstain);
        assert_eq!(label(&[(Label::No, &[]), (Label::Yes, &[1])]), Label::Yes);
        assert_eq!(label(&[]), Label::Abstain);
    }

    fn window() -> impl Strategy<Value = Settled> {
        let label = prop_oneof![Just(Label::Yes), Just(Label::No), Just(Label::Abstain)];
        (label, proptest::collection::btree_set(0_usize..60, 1..4))
            .prop_map(|(label, ends)| settled(label, &ends.into_iter().collect::<Vec<_>>()))
    }

    proptest! {
        #[test]
        fn order_and_abstaining_windows_have_no_say(windows in proptest::collection::vec(window(), 0..6), turn in 0_usize..6) {
            let merged = merge(&windows);
            let mut turned = windows.clone();
            if !turned.is_empty() {
                let count = turned.len();
                turned.rotate_left(turn % count);
            }
            turned.push(settled(Label::Abstain, &[99]));
            prop_assert_eq!(&merge(&turned), &merged);
            // A window seen twice changes nothing.
            let mut twice = windows.clone();
            twice.extend(windows.clone());
            prop_assert_eq!(merge(&twice).label, merged.label);
            // The plain oracle: whoever has the greatest end.
            let latest = |label: Label| windows.iter().filter(|of| of.label == label).filter_map(|of| of.evidence.last()).map(|of| (of.place, of.end)).max();
            let expected = match (latest(Label::Yes), latest(Label::No)) {
                (None, None) => Label::Abstain,
                (yes, no) if yes > no => Label::Yes,
                _ => Label::No,
            };
            prop_assert_eq!(merged.label, expected);
        }
    }
}
