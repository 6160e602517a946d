//! A part of a task: one goal predicate with its words, the steps that meet it, and what rules may hang on.

use serde_json::Value;

use crate::draft::Goal;

/// What gates may test and lock.
#[derive(Debug, Clone)]
pub(crate) struct Settable {
    /// Field of the record.
    pub(crate) field: String,
    /// What it is called.
    pub(crate) words: String,
    /// Holds when it has some value, right or wrong; none: it has one from the beginning.
    pub(crate) is_set: Option<Value>,
}

/// A field that moves along a graph to a target.
#[derive(Debug, Clone)]
pub(crate) struct Goes {
    /// Field of the record.
    pub(crate) field: String,
    /// The value that counts, and those beyond it.
    pub(crate) from_target: Vec<Value>,
    pub(crate) reversible: bool,
}

/// What the first version of a revised goal asks for in this part's place.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) goal: Goal,
    pub(crate) verb: String,
    pub(crate) work: Vec<Value>,
}

/// One goal predicate and everything around it.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) goal: Goal,
    /// What to do: an infinitive with placeholders.
    pub(crate) verb: String,
    /// A sentence that belongs to it.
    pub(crate) note: Option<String>,
    /// Steps that look up what is needed.
    pub(crate) look: Vec<Value>,
    /// Steps that meet it.
    pub(crate) work: Vec<Value>,
    /// Whether the first of several steps may be taken alone.
    pub(crate) gradual: bool,
    /// Steps that take it back after `work`; none: it is final.
    pub(crate) back: Option<Vec<Value>>,
    /// A legal step that leaves it unmet.
    pub(crate) slip: Option<Value>,
    pub(crate) settable: Option<Settable>,
    pub(crate) goes: Option<Goes>,
    /// Somebody else meets it when the agent asks.
    pub(crate) by_other: bool,
    /// Whether "it" still means the record after the verb.
    pub(crate) clear: bool,
    /// Whether its steps are about the record itself.
    pub(crate) on_main: bool,
    pub(crate) variant: Option<Variant>,
    /// Parts, by index, that have to be met before it can be met.
    pub(crate) needs: Vec<usize>,
}

impl Part {
    /// A part about the record.
    pub(crate) fn new(id: &str, description: String, predicate: Value, verb: String) -> Part {
        Part {
            goal: Goal { id: id.to_owned(), description, predicate },
            verb,
            note: None,
            look: Vec::new(),
            work: Vec::new(),
            gradual: false,
            back: None,
            slip: None,
            settable: None,
            goes: None,
            by_other: false,
            clear: true,
            on_main: true,
            variant: None,
            needs: Vec::new(),
        }
    }
}
