//! Where two JSON values differ.

use std::fmt;

use serde_json::Value;

use crate::schema;

/// The most characters of a differing text on each side.
const WINDOW: usize = 40;

/// Where two values differ first, in the order of members' names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// JSON pointer, such as `/request/messages/1/content`.
    pub pointer: String,
    /// What is there, shortened.
    pub found: String,
    /// What was looked for, shortened.
    pub expected: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: found {}, expected {}", self.pointer, self.found, self.expected)
    }
}

/// All leaves that differ: how many, and the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// How many.
    pub count: usize,
    /// The first, if there is one.
    pub first: Option<Difference>,
}

impl Differences {
    /// Compares two values.
    #[must_use]
    pub fn between(found: &Value, expected: &Value) -> Differences {
        let mut differences = Differences::default();
        differences.compare(found, expected, "");
        differences
    }

    fn compare(&mut self, found: &Value, expected: &Value, at: &str) {
        match (found, expected) {
            (Value::Object(a), Value::Object(b)) => {
                let mut keys: Vec<&String> = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).collect();
                keys.sort_unstable();
                for key in keys {
                    let here = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                    self.compare_members(a.get(key), b.get(key), &here);
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                for index in 0..a.len().max(b.len()) {
                    self.compare_members(a.get(index), b.get(index), &format!("{at}/{index}"));
                }
            }
            (Value::String(a), Value::String(b)) if a != b => {
                let (a, b) = around_difference(a, b);
                self.add(at, a, b);
            }
            (a, b) if a != b => self.add(at, schema::short(a), schema::short(b)),
            _ => {}
        }
    }

    fn compare_members(&mut self, found: Option<&Value>, expected: Option<&Value>, at: &str) {
        match (found, expected) {
            (Some(found), Some(expected)) => self.compare(found, expected, at),
            (found, expected) => {
                let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), schema::short);
                self.add(at, text(found), text(expected));
            }
        }
    }

    fn add(&mut self, at: &str, found: String, expected: String) {
        self.count += 1;
        self.first.get_or_insert_with(|| Difference { pointer: at.to_owned(), found, expected });
    }
}

/// Two texts around the first character that differs.
fn around_difference(a: &str, b: &str) -> (String, String) {
    let equal = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let start = equal.saturating_sub(WINDOW / 4);
    let cut = |text: &str| {
        let window: String = text.chars().skip(start).take(WINDOW).collect();
        let before = if start > 0 { "…" } else { "" };
        let after = if text.chars().count() > start + WINDOW { "…" } else { "" };
        format!("{:?}", format!("{before}{window}{after}"))
    };
    (cut(a), cut(b))
}
