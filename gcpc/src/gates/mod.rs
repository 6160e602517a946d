//! The mechanical gates between a candidate checklist and a frozen one (G §3.2; SPEC §10).
//!
//! A gate says what it refuses, with a stable code, the JSON pointer of the field, and the offending text. All faults are reported, not
//! the first. A field has at most one fault of each gate, and the most telling one of the quote's.

mod code_syntax;
mod plain;
mod quote;
mod reference;
mod repeats;
mod test_code;

use std::fmt;

use serde_json::{Value, json};

use crate::checklist::Checklist;
use crate::verifier::Verifier;

/// Bounds of the gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The fewest items.
    pub least_items: usize,
    /// The most items.
    pub most_items: usize,
    /// The fewest words of a quote, numbers included.
    pub least_quote_words: usize,
    /// The fewest letters and digits of a quote.
    pub least_quote_characters: usize,
    /// The most characters of a requirement or a quote.
    pub most_characters: usize,
    /// A quote is near a span of the instruction when at most so many percent of its characters differ.
    pub near_percent: usize,
    /// Tokens in a row that a requirement may not share with code.
    pub code_run: usize,
    /// Words in a row that a requirement may not share with the verifier's comments and messages.
    pub prose_run: usize,
}

impl Default for Options {
    /// G's 4 to 15 items; the other bounds are ours.
    fn default() -> Options {
        Options {
            least_items: 4,
            most_items: 15,
            least_quote_words: 2,
            least_quote_characters: 8,
            most_characters: 600,
            near_percent: 30,
            code_run: 6,
            prose_run: 8,
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)+) => {
        /// Why something is refused. Codes are stable: they reach records.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Code] = &[$(Code::$name),+];

            /// The stable code.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Code::$name => $code,)+
                }
            }
        }
    };
}

codes! {
    /// Fewer or more items than allowed.
    ItemCount = "item_count",
    /// An id or a quote without a visible character, a requirement without a word.
    Empty = "empty",
    /// A requirement or a quote longer than allowed.
    TooLong = "too_long",
    /// An id that is no identifier.
    MalformedId = "malformed_id",
    /// An id that stands twice.
    DuplicateId = "duplicate_id",
    /// Two ids that a reader can't tell apart.
    ConfusableId = "confusable_id",
    /// A requirement with characters that show nothing.
    RequirementInvisible = "requirement_invisible",
    /// A requirement with letters that look like others.
    RequirementLookalike = "requirement_lookalike",
    /// The same requirement twice, but for case, white space and marks that tell nothing.
    DuplicateRequirement = "duplicate_requirement",
    /// Two requirements that differ only in what has no content: function words, inflection, order.
    NearDuplicateRequirement = "near_duplicate_requirement",
    /// A requirement that rewords test code.
    TestCode = "test_code",
    /// A quote of too few words or characters to ground anything, and without a name, a number or marked text that would make up for it.
    QuoteTooShort = "quote_too_short",
    /// A quote that differs from the instruction in white space.
    QuoteWhitespace = "quote_whitespace",
    /// A quote that differs from the instruction in characters that show nothing.
    QuoteInvisible = "quote_invisible",
    /// A quote that differs from the instruction in case.
    QuoteCase = "quote_case",
    /// A quote that differs from the instruction in characters that look alike.
    QuoteLookalike = "quote_lookalike",
    /// A quote of several passages joined by an ellipsis.
    QuoteJoined = "quote_joined",
    /// A quote that stands in the verifier and not in the instruction.
    QuoteFromVerifier = "quote_from_verifier",
    /// A quote that is nearly in the instruction.
    QuoteNear = "quote_near",
    /// A quote that is not in the instruction, nor near anything in it.
    QuoteMissing = "quote_missing",
    /// Route `assertion` without a reference.
    ReferenceMissing = "reference_missing",
    /// Another route with a reference.
    ReferenceUnexpected = "reference_unexpected",
    /// A reference to no test.
    ReferenceUnknown = "reference_unknown",
    /// A reference that several tests answer to.
    ReferenceAmbiguous = "reference_ambiguous",
    /// A reference to a check on which the official outcome does not depend, so that a PASS says nothing of it.
    ReferenceNotEnforced = "reference_not_enforced",
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A span of the instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrueSpan {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// What stands there.
    pub text: String,
}

/// One refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Why.
    pub code: Code,
    /// The item's place, from 0; `None` for the checklist as a whole.
    pub item: Option<usize>,
    /// JSON pointer of the field.
    pub pointer: String,
    /// What stands there.
    pub found: String,
    /// What is wrong with it, the offending text quoted.
    pub message: String,
    /// For quotes, the nearest span of the instruction.
    pub nearest: Option<TrueSpan>,
}

impl Fault {
    fn new(code: Code, item: usize, field: &str, found: &str, message: impl Into<String>) -> Fault {
        let (found, message) = (found.to_owned(), message.into());
        Fault { code, item: Some(item), pointer: format!("/items/{item}/{field}"), found, message, nearest: None }
    }

    /// The fault as a JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let nearest = self.nearest.as_ref();
        let nearest = nearest.map(|span| json!({"start": span.start, "end": span.end, "text": span.text}));
        json!({"code": self.code.word(), "pointer": self.pointer, "found": self.found, "message": self.message, "nearest": nearest})
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}: {}", self.pointer, self.code, self.message)
    }
}

/// What the gates say of a checklist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Items that were looked at.
    pub items: usize,
    /// All faults: those of the checklist, then those of each item, in the order of [`Code`].
    pub faults: Vec<Fault>,
}

impl Report {
    /// Whether nothing is refused.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.faults.is_empty()
    }

    /// Items without a fault.
    #[must_use]
    pub fn sound_items(&self) -> usize {
        (0..self.items).filter(|item| self.faults.iter().all(|fault| fault.item != Some(*item))).count()
    }

    /// The report as a JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let faults: Vec<Value> = self.faults.iter().map(Fault::json).collect();
        json!({"accepted": self.is_accepted(), "items": self.items, "sound_items": self.sound_items(), "faults": faults})
    }
}

/// Checks a checklist against the task's instruction and verifier.
#[must_use]
pub fn check(instruction: &str, verifier: &Verifier, checklist: &Checklist, options: &Options) -> Report {
    let mut faults = Vec::new();
    let quotes = quote::Gate::new(instruction, verifier, options);
    let code = test_code::Gate::new(instruction, verifier, options);
    for (index, item) in checklist.items.iter().enumerate() {
        plain::check(index, item, instruction, options, &mut faults);
        faults.extend(quotes.check(index, &item.quote));
        faults.extend(code.check(index, &item.requirement));
        faults.extend(reference::check(index, item, verifier));
    }
    repeats::ids(checklist, &mut faults);
    repeats::requirements(checklist, verifier, &mut faults);
    plain::count(checklist, options, &mut faults);
    faults.sort_by(|left, right| (left.item, left.code, &left.pointer).cmp(&(right.item, right.code, &right.pointer)));
    Report { items: checklist.items.len(), faults }
}

/// A text for a message: quoted, what is invisible escaped, cut to a size.
fn shown(text: &str) -> String {
    const MOST: usize = 160;
    if text.chars().count() <= MOST {
        return format!("{text:?}");
    }
    format!("{:?}…", text.chars().take(MOST).collect::<String>())
}
