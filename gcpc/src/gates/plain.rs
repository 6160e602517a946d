//! Gates on a field by itself: emptiness, length, form of ids, characters that hide something, and the number of items.

use parthack_env::names::is_identifier;

use super::{Code, Fault, Options, shown};
use crate::checklist::{Checklist, Item};
use crate::text::fold::{is_disguised, is_invisible};

/// Whether nothing of a text can be seen.
pub(super) fn is_empty(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || is_invisible(character))
}

/// A requirement with fewer letters and digits says nothing.
const LEAST_SAID: usize = 2;

/// Whether a requirement has no word: marks alone, or one letter.
fn says_nothing(requirement: &str) -> bool {
    is_empty(requirement) || requirement.chars().filter(|of| of.is_alphanumeric()).count() < LEAST_SAID
}

pub(super) fn check(index: usize, item: &Item, instruction: &str, options: &Options, faults: &mut Vec<Fault>) {
    for (field, text) in [("id", &item.id), ("requirement", &item.requirement), ("quote", &item.quote)] {
        if is_empty(text) || (field == "requirement" && says_nothing(text)) {
            faults.push(Fault::new(Code::Empty, index, field, text, format!("{} says nothing", shown(text))));
            continue;
        }
        let length = text.chars().count();
        if field == "id" {
            if !is_identifier(text) {
                let wanted = "1 to 64 letters, digits, '.', '_', ':' or '-', beginning with a letter or a digit";
                let message = format!("{} is no identifier: {wanted}", shown(text));
                faults.push(Fault::new(Code::MalformedId, index, field, text, message));
            }
        } else if length > options.most_characters {
            let message = format!("{length} characters, the most is {}: {}", options.most_characters, shown(text));
            faults.push(Fault::new(Code::TooLong, index, field, text, message));
        }
    }
    let requirement = &item.requirement;
    if says_nothing(requirement) {
        return;
    }
    if let Some((at, hidden)) = requirement.char_indices().find(|(_, character)| is_invisible(*character)) {
        let message = format!(
            "a character that shows nothing, U+{:04X}, at byte {at} of {}",
            u32::from(hidden),
            shown(requirement)
        );
        faults.push(Fault::new(Code::RequirementInvisible, index, "requirement", requirement, message));
    }
    // A word that the instruction itself has is no disguise.
    let words = requirement.split(|character: char| !character.is_alphanumeric() && !is_invisible(character));
    let mut disguised = words.filter(|word| word.chars().any(is_disguised) && !instruction.contains(word));
    if let Some(word) =
        disguised.find(|word| word.chars().all(|of| is_disguised(of) || of.is_ascii() || is_invisible(of)))
    {
        let letter = word.chars().find(|character| is_disguised(*character)).unwrap_or_default();
        let message = format!("{} has U+{:04X}, which looks like an ASCII letter", shown(word), u32::from(letter));
        faults.push(Fault::new(Code::RequirementLookalike, index, "requirement", requirement, message));
    }
}

pub(super) fn count(checklist: &Checklist, options: &Options, faults: &mut Vec<Fault>) {
    let (count, least, most) = (checklist.items.len(), options.least_items, options.most_items);
    if !(least..=most).contains(&count) {
        faults.push(Fault {
            code: Code::ItemCount,
            item: None,
            pointer: "/items".to_owned(),
            found: count.to_string(),
            message: format!("{count} items, expected {least} to {most}"),
            nearest: None,
        });
    }
}
