//! Gates on items against each other: ids and requirements that stand twice, or nearly.

use std::collections::{BTreeMap, BTreeSet};

use super::plain::is_empty;
use super::{Code, Fault, shown};
use crate::checklist::{Checklist, Item};
use crate::text::fold::id_look;
use crate::text::inflection::{is_function_word, stem};
use crate::text::token::{Kind, Token, number_value, tokens};
use crate::verifier::{Resolution, Verifier};

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

/// Words that relate what follows them to something else: who else they are followed by says another thing.
const RELATIONS: [&str; 13] =
    ["above", "after", "as", "before", "below", "by", "from", "into", "over", "than", "to", "under", "until"];

/// Marks that a reader doesn't skip.
const TELLING_MARKS: [&str; 12] = ["<", ">", "<=", ">=", "==", "!=", "≤", "≥", "≠", "%", "$", "€"];

/// Who says something in a frame, cut to the stem, and what is then done.
const SPEAKERS: [&str; 7] = ["description", "instruction", "item", "prompt", "requirement", "specification", "task"];
const SAYS: [&str; 14] = [
    "ask", "clarify", "demand", "describe", "explain", "expect", "indicate", "mention", "note", "require", "say",
    "specify", "state", "tell",
];

/// What stands behind the frame `the instruction clearly states that`, which says nothing of its own; all tokens where there is none.
fn without_frame<'s, 't>(found: &'s [Token<'t>]) -> &'s [Token<'t>] {
    let is_stem = |all: &[&str], word: &str| all.iter().any(|of| stem(of) == stem(word));
    let mut parts = found.iter().map(|token| token.text.to_lowercase()).enumerate().peekable();
    parts.next_if(|(_, word)| word == "the" || word == "this");
    if parts.next_if(|(_, word)| is_stem(&SPEAKERS, word)).is_none() {
        return found;
    }
    while parts.next_if(|(_, word)| word.ends_with("ly") || word == "also").is_some() {}
    if parts.next_if(|(_, word)| is_stem(&SAYS, word)).is_none() {
        return found;
    }
    match parts.next_if(|(_, word)| word == "that") {
        Some((at, _)) if at + 1 < found.len() => &found[at + 1..],
        _ => found,
    }
}

/// What a requirement says.
struct Saying {
    /// Words, numbers and telling marks in order, in lower case.
    all: Vec<String>,
    /// Those that have content, as often as they stand there, sorted.
    content: Vec<String>,
    /// A relation or a number, and the word with content after it; of `as` also the one before it.
    bound: BTreeMap<String, BTreeSet<(String, String)>>,
}

impl Saying {
    fn of(text: &str) -> Saying {
        let found = tokens(text);
        let has_small_letters = text.contains(char::is_lowercase);
        let mut saying = Saying { all: Vec::new(), content: Vec::new(), bound: BTreeMap::new() };
        let mut in_order: Vec<String> = Vec::new();
        // Relations and numbers that wait for the next word with content: (which, the word before).
        let mut waiting: Vec<(String, String)> = Vec::new();
        let behind_frame = found.len() - without_frame(&found).len();
        for (index, token) in found.iter().enumerate() {
            let is_sign = || {
                let before = index.checked_sub(1).map(|before| found[before]);
                let is_after_word =
                    before.is_some_and(|of| of.kind != Kind::Mark && of.start + of.text.len() == token.start);
                let is_number = found
                    .get(index + 1)
                    .is_some_and(|next| next.kind == Kind::Number && next.start == token.start + token.text.len());
                ["-", "+", "−"].contains(&token.text) && is_number && !is_after_word
            };
            if token.kind == Kind::Mark && !TELLING_MARKS.contains(&token.text) && !is_sign() {
                continue;
            }
            let word = token.text.to_lowercase();
            saying.all.push(word.clone());
            if index < behind_frame {
                continue;
            }
            // Column `A`, the `IT` department: in a text that is not all capitals these are no articles and pronouns.
            let length = token.text.len();
            let is_name = has_small_letters
                && token.text.bytes().all(|byte| byte.is_ascii_uppercase())
                && (length == 2 || (length == 1 && index > 0));
            let before = in_order.last().cloned().unwrap_or_default();
            if is_name || !is_function_word(&word) {
                let said = if is_name { word.clone() } else { number_value(&word).unwrap_or_else(|| stem(&word)) };
                for (relation, before) in waiting.drain(..) {
                    saying.bound.entry(relation).or_default().insert((before, said.clone()));
                }
                if number_value(&word).is_some() {
                    waiting.push((said.clone(), String::new()));
                }
                in_order.push(said);
            }
            if !is_name && RELATIONS.contains(&word.as_str()) {
                let before = if word == "as" { before } else { String::new() };
                waiting.push((word, before));
            }
        }
        saying.content.clone_from(&in_order);
        saying.content.sort_unstable();
        saying
    }

    /// Whether what differs between the two has no content.
    fn is_near(&self, other: &Saying) -> bool {
        let agree = |(relation, own): (&String, &BTreeSet<(String, String)>)| {
            other.bound.get(relation).is_none_or(|others| own == others)
        };
        self.content == other.content && self.bound.iter().all(agree)
    }
}

/// Requirements that stand twice.
///
/// A requirement repeats an earlier one where their words, numbers and telling marks (comparisons, signs, per cent, currencies) are
/// the same in the same order; case and other marks don't count. It is near an earlier one where what differs has no content: after
/// function words and a frame such as `the instruction clearly states that` are left out and words are cut to their stems, both have the same words as often, in whatever order. Thus one word with
/// content, one number or one name more or other in either keeps them apart, whatever share of their words is the same. So do
/// two more things. A relation (`from`, `to`, `than`, `before`, `as`, …) or a number that both have must stand before the same words,
/// since `from A to B` is not `from B to A`. And two items whose quotes are different passages and whose references name different tests
/// are two items. Synonyms are not known: `big` and `long` are two words.
pub(super) fn requirements(checklist: &Checklist, verifier: &Verifier, faults: &mut Vec<Fault>) {
    let all: Vec<Saying> = checklist.items.iter().map(|item| Saying::of(&item.requirement)).collect();
    for (index, own) in all.iter().enumerate().filter(|(_, own)| !own.all.is_empty()) {
        let earlier = || all[..index].iter().enumerate();
        let item = &checklist.items[index];
        let text = &item.requirement;
        let is_near = |first: usize, other: &Saying| {
            own.is_near(other) && !are_grounded_apart(item, &checklist.items[first], verifier)
        };
        if let Some((first, _)) = earlier().find(|(_, other)| other.all == own.all) {
            let message = format!("{} says what /items/{first} says", shown(text));
            faults.push(Fault::new(Code::DuplicateRequirement, index, "requirement", text, message));
        } else if let Some((first, _)) = earlier().find(|(first, other)| is_near(*first, other)) {
            let other = shown(&checklist.items[first].requirement);
            let message = format!("{} says nearly what /items/{first} says: {other}", shown(text));
            faults.push(Fault::new(Code::NearDuplicateRequirement, index, "requirement", text, message));
        }
    }
}

/// Whether neither quote is in the other and the references name different tests.
fn are_grounded_apart(left: &Item, right: &Item, verifier: &Verifier) -> bool {
    let tests = |item: &Item| -> BTreeSet<String> {
        match item.verifier.as_deref().map(|reference| verifier.resolve(reference)) {
            Some(Resolution::Tests(tests)) => tests.iter().map(|test| test.node()).collect(),
            _ => BTreeSet::new(),
        }
    };
    let (one, two) = (left.quote.trim(), right.quote.trim());
    if one.contains(two) || two.contains(one) {
        return false;
    }
    let (left, right) = (tests(left), tests(right));
    !left.is_empty() && !right.is_empty() && left.is_disjoint(&right)
}
