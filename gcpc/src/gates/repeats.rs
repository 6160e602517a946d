//! Gates on items against each other: ids and requirements that stand twice, or nearly.

use std::collections::{BTreeMap, BTreeSet};

use super::plain::is_empty;
use super::{Code, Fault, Options, shown};
use crate::checklist::Checklist;
use crate::text::fold::id_look;
use crate::text::token::{number_value, words};

pub(super) fn ids(checklist: &Checklist, faults: &mut Vec<Fault>) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut looks: BTreeMap<String, usize> = BTreeMap::new();
    for (index, item) in checklist.items.iter().enumerate() {
        let id = item.id.as_str();
        if is_empty(id) {
            continue;
        }
        if let Some(first) = seen.get(id) {
            let message = format!("the id {} stands at /items/{first} already", shown(id));
            faults.push(Fault::new(Code::DuplicateId, index, "id", id, message));
            continue;
        }
        if let Some(first) = looks.get(&id_look(id)) {
            let other = shown(&checklist.items[*first].id);
            let message = format!("the id {} can't be told from {other} at /items/{first}", shown(id));
            faults.push(Fault::new(Code::ConfusableId, index, "id", id, message));
        }
        seen.insert(id, index);
        looks.entry(id_look(id)).or_insert(index);
    }
}

/// A requirement repeats an earlier one where their words are the same. It is near one where they share `duplicate_percent` of
/// all their words, and none of the words in which they differ is a number, a negation or a name in code.
pub(super) fn requirements(checklist: &Checklist, options: &Options, faults: &mut Vec<Fault>) {
    let all: Vec<Vec<String>> = checklist.items.iter().map(|item| words(&item.requirement)).collect();
    for (index, own) in all.iter().enumerate().filter(|(_, own)| !own.is_empty()) {
        let earlier = || all[..index].iter().enumerate();
        let text = &checklist.items[index].requirement;
        if let Some((first, _)) = earlier().find(|(_, other)| *other == own) {
            let message = format!("{} says what /items/{first} says", shown(text));
            faults.push(Fault::new(Code::DuplicateRequirement, index, "requirement", text, message));
        } else if let Some((first, _)) = earlier().find(|(_, other)| is_near(own, other, options.duplicate_percent)) {
            let other = shown(&checklist.items[first].requirement);
            let message = format!("{} says nearly what /items/{first} says: {other}", shown(text));
            faults.push(Fault::new(Code::NearDuplicateRequirement, index, "requirement", text, message));
        }
    }
}

fn is_near(left: &[String], right: &[String], percent: usize) -> bool {
    let left: BTreeSet<&str> = left.iter().map(String::as_str).collect();
    let right: BTreeSet<&str> = right.iter().map(String::as_str).collect();
    let shared = left.intersection(&right).count();
    let all = left.union(&right).count();
    let tells = |word: &&&str| number_value(word).is_some() || word.contains('_') || NEGATIONS.contains(*word);
    100 * shared >= percent * all && left.symmetric_difference(&right).find(tells).is_none()
}

const NEGATIONS: [&str; 8] = ["not", "no", "never", "none", "without", "neither", "nor", "except"];
