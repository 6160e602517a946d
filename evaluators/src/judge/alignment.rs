//! How a checklist's conditions correspond to the goal's predicates (P B.4). A heuristic that compares words: it says where to look,
//! and is no judgement of the checklist.
//!
//! The rule, whole: a predicate's words are those of its description, kind, types, ids, fields and values; a condition's those of its
//! text ([`super::words`]). A word that all predicates of the goal share tells nothing and is left out. A shared word weighs 1, and 2 if it
//! is an id or value of the predicate. A condition corresponds to each predicate with which it shares a weight of at least 2 that is also at least two
//! thirds of its greatest. Then:
//! - *one-to-one*: it corresponds to one predicate, to which no other condition corresponds;
//! - *merged, split or indirect*: it corresponds to several, or shares its predicate with other conditions;
//! - *absent or implicit*: it corresponds to none.

use std::collections::BTreeSet;

use parthack_env::json::Json;

use super::Checklist;
use super::words::{push_value_words, push_words, words};

/// How a condition corresponds to the goal's predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Correspondence {
    /// One condition, one predicate.
    OneToOne,
    /// Several of either.
    MergedSplitOrIndirect,
    /// No predicate.
    AbsentOrImplicit,
}

impl Correspondence {
    /// `one-to-one`, `merged, split or indirect` or `absent or implicit`.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Correspondence::OneToOne => "one-to-one",
            Correspondence::MergedSplitOrIndirect => "merged, split or indirect",
            Correspondence::AbsentOrImplicit => "absent or implicit",
        }
    }
}

/// What a condition corresponds to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alignment {
    /// The condition's id.
    pub condition: String,
    /// Ids of the predicates, in the goal's order.
    pub predicates: Vec<String>,
    /// The kind.
    pub correspondence: Correspondence,
}

/// How many conditions there are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlignmentCounts {
    /// One-to-one.
    pub one_to_one: usize,
    /// Merged, split or indirect.
    pub merged_split_or_indirect: usize,
    /// Absent or implicit.
    pub absent_or_implicit: usize,
}

/// Counts the kinds.
#[must_use]
pub fn count(alignments: &[Alignment]) -> AlignmentCounts {
    let count = |kind| alignments.iter().filter(|of| of.correspondence == kind).count();
    AlignmentCounts {
        one_to_one: count(Correspondence::OneToOne),
        merged_split_or_indirect: count(Correspondence::MergedSplitOrIndirect),
        absent_or_implicit: count(Correspondence::AbsentOrImplicit),
    }
}

struct Goal {
    id: String,
    words: BTreeSet<String>,
    /// Words of ids and values.
    exact: BTreeSet<String>,
}

/// Aligns a checklist with a goal schema (the payload's `goal_schema`). One entry a condition, in order.
#[must_use]
pub fn align(checklist: &Checklist, goal_schema: &Json<'_>) -> Vec<Alignment> {
    let goals = goals(goal_schema);
    let related: Vec<Vec<usize>> = checklist.items.iter().map(|item| related(&words(&item.text), &goals)).collect();
    let uses = |goal: usize| related.iter().filter(|of| of.contains(&goal)).count();
    let align = |(item, goals_of): (&super::ChecklistItem, &Vec<usize>)| Alignment {
        condition: item.id.clone(),
        predicates: goals_of.iter().map(|goal| goals[*goal].id.clone()).collect(),
        correspondence: match goals_of.as_slice() {
            [] => Correspondence::AbsentOrImplicit,
            [goal] if uses(*goal) == 1 => Correspondence::OneToOne,
            _ => Correspondence::MergedSplitOrIndirect,
        },
    };
    checklist.items.iter().zip(&related).map(align).collect()
}

fn goals(goal_schema: &Json<'_>) -> Vec<Goal> {
    let Json::Array(items) = goal_schema else { return Vec::new() };
    let goal = |item: &Json<'_>| {
        let text = |key: &str| item.get(key).and_then(Json::as_str).unwrap_or_default();
        let mut exact = BTreeSet::new();
        push_exact(&mut exact, item.get("predicate").unwrap_or(&Json::Null));
        let mut words = words(text("description"));
        push_value_words(&mut words, item.get("predicate").unwrap_or(&Json::Null));
        Goal { id: text("id").to_owned(), words, exact }
    };
    let mut goals: Vec<Goal> = items.iter().map(goal).collect();
    if let [first, second, ..] = goals.as_slice() {
        let mut common: BTreeSet<String> = first.words.intersection(&second.words).cloned().collect();
        common.retain(|word| goals.iter().all(|goal| goal.words.contains(word)));
        for goal in &mut goals {
            goal.words.retain(|word| !common.contains(word));
            goal.exact.retain(|word| !common.contains(word));
        }
    }
    goals
}

/// The words of a predicate's ids, targets and values.
fn push_exact(exact: &mut BTreeSet<String>, predicate: &Json<'_>) {
    match predicate {
        Json::Object(entries) => {
            for (key, value) in entries {
                match (key.as_ref(), value) {
                    ("id" | "target", Json::String(id)) => push_words(exact, id),
                    ("value" | "values", value) => push_value_words(exact, value),
                    (_, Json::Object(_) | Json::Array(_)) => push_exact(exact, value),
                    _ => {}
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| push_exact(exact, item)),
        _ => {}
    }
}

fn related(condition: &BTreeSet<String>, goals: &[Goal]) -> Vec<usize> {
    let weight = |goal: &Goal| {
        let shared = goal.words.intersection(condition);
        shared.map(|word| 1 + usize::from(goal.exact.contains(word))).sum::<usize>()
    };
    let weights: Vec<usize> = goals.iter().map(weight).collect();
    let greatest = weights.iter().copied().max().unwrap_or(0);
    (0..goals.len()).filter(|goal| weights[*goal] >= 2 && 3 * weights[*goal] >= 2 * greatest).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ChecklistItem;
    use super::*;

    const GOALS: &str = r#"[
        {"id":"resolved","description":"The ticket is resolved.","predicate":{"kind":"field_equals","type":"ticket","id":"tk-1","field":"state","value":"resolved"}},
        {"id":"owner","description":"Somebody on call owns it.","predicate":{"kind":"refers_to","type":"ticket","id":"tk-1","field":"owner","target":"pr-jun"}},
        {"id":"watchers","description":"The custodian watches it.","predicate":{"kind":"set_contains","type":"ticket","id":"tk-1","field":"watchers","value":"pr-ada"}}]"#;

    fn check(conditions: &[&str], expected: &[(&[&str], Correspondence)]) {
        let item = |(number, text): (usize, &&str)| ChecklistItem {
            id: format!("c{number}"),
            text: (*text).to_owned(),
            grounding: None,
        };
        let list = Checklist { items: (1..).zip(conditions).map(item).collect() };
        let goals = Json::parse(GOALS.as_bytes()).expect("JSON");
        let found = align(&list, &goals);
        let found: Vec<_> = found.iter().map(|of| (of.predicates.clone(), of.correspondence)).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(ids, kind)| (ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>(), *kind))
            .collect();
        assert_eq!(found, expected, "{conditions:?}");
    }

    #[test]
    fn the_three_kinds() {
        use Correspondence::{AbsentOrImplicit, MergedSplitOrIndirect, OneToOne};
        check(
            &["Ticket tk-1 has state resolved.", "The owner of tk-1 is pr-jun."],
            &[(&["resolved"], OneToOne), (&["owner"], OneToOne)],
        );
        // Split: two conditions of one predicate.
        check(
            &["Ticket tk-1 is resolved.", "The state of tk-1 says resolved."],
            &[(&["resolved"], MergedSplitOrIndirect), (&["resolved"], MergedSplitOrIndirect)],
        );
        // Merged: one condition of two predicates.
        check(
            &["pr-jun owns tk-1, and pr-ada is among the watchers."],
            &[(&["owner", "watchers"], MergedSplitOrIndirect)],
        );
        // What all predicates share, here the ticket's id, is no correspondence.
        check(&["Ticket tk-1 is polite."], &[(&[], AbsentOrImplicit)]);
        let list =
            Checklist { items: vec![ChecklistItem { id: "c1".to_owned(), text: "x".to_owned(), grounding: None }] };
        assert_eq!(count(&align(&list, &Json::Null)).absent_or_implicit, 1);
    }
}
