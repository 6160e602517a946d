//! The top level of a YAML mapping: keys with scalars, with flat lists of scalars, and with lists of flat mappings. That is all that task
//! files need, and reading events rather than building documents leaves no room for aliases that multiply.

use parthack_env::input::Place;
use yaml_rust2::parser::{Event, Parser};

use crate::fault::{Fault, RefusalCode};
use crate::limits::MAX_DEPTH;

/// A key of the top level and its value as text; the items of a list are parted by commas.
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) value: String,
    /// From 1.
    pub(crate) line: usize,
    /// The mappings of a list of such: their keys with scalars.
    pub(crate) rows: Vec<Row>,
}

/// Keys and scalars of a mapping in a list, each with the line of its key.
pub(crate) type Row = Vec<(String, String, usize)>;

#[derive(Default)]
struct Reader {
    entries: Vec<Entry>,
    depth: usize,
    key: Option<(String, usize)>,
    items: Option<Vec<String>>,
    rows: Vec<Row>,
    /// The key within a row that waits for its value.
    row_key: Option<(String, usize)>,
    is_mapping: bool,
}

/// Reads the top level.
pub(crate) fn top_level(text: &str) -> Result<Vec<Entry>, Fault> {
    let mut reader = Reader::default();
    let fault = |line: usize, column: usize, found: String| {
        Fault::new(RefusalCode::Syntax, Place::Text { line, column, pointer: String::new() }, found, "a YAML mapping")
    };
    let mut parser = Parser::new_from_str(text);
    // Event by event, because the parser's own way through a document recurses with the nesting.
    loop {
        let (event, mark) = parser.next_token().map_err(|error| {
            let mark = error.marker();
            fault(mark.line(), mark.col() + 1, error.info().to_owned())
        })?;
        match event {
            Event::StreamEnd | Event::DocumentEnd => break,
            Event::Alias(_) => return Err(fault(mark.line(), mark.col() + 1, "an alias".to_owned())),
            _ if reader.depth > MAX_DEPTH => {
                return Err(fault(mark.line(), mark.col() + 1, format!("more than {MAX_DEPTH} levels")));
            }
            other => reader.take(other, mark.line()),
        }
    }
    if !reader.is_mapping {
        return Err(fault(1, 1, "no mapping at the top level".to_owned()));
    }
    Ok(reader.entries)
}

impl Reader {
    fn take(&mut self, event: Event, line: usize) {
        match event {
            Event::MappingStart(..) => {
                self.is_mapping |= self.depth == 0;
                self.depth += 1;
                self.row_key = None;
                if self.depth == 3 && self.items.is_some() {
                    self.rows.push(Row::new());
                }
            }
            Event::SequenceStart(..) => {
                self.depth += 1;
                self.row_key = None;
                if self.depth == 2 && self.is_mapping {
                    self.items = Some(Vec::new());
                }
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 1
                    && let Some((key, line)) = self.key.take()
                    && let Some(items) = self.items.take()
                {
                    let rows = std::mem::take(&mut self.rows);
                    self.entries.push(Entry { key, value: items.join(", "), line, rows });
                }
            }
            Event::Scalar(value, ..) if self.depth == 1 => match self.key.take() {
                None => self.key = Some((value, line)),
                Some((key, line)) => self.entries.push(Entry { key, value, line, rows: Vec::new() }),
            },
            Event::Scalar(value, ..) if self.depth == 2 => {
                if let Some(items) = &mut self.items {
                    items.push(value);
                }
            }
            Event::Scalar(value, ..) if self.depth == 3 && self.items.is_some() => {
                if let Some(row) = self.rows.last_mut() {
                    match self.row_key.take() {
                        None => self.row_key = Some((value, line)),
                        Some((key, line)) => row.push((key, value, line)),
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_and_flat_lists() {
        let text = "instruction: |-\n  Do this.\n\n  Then that.\ndifficulty: easy\ntags:\n  - a\n  - b\nparts:\n  x: {y: 1}\nlast: 3\n";
        let entries = top_level(text).expect("sound");
        let seen: Vec<(&str, &str)> = entries.iter().map(|entry| (entry.key.as_str(), entry.value.as_str())).collect();
        assert_eq!(
            seen,
            [("instruction", "Do this.\n\nThen that."), ("difficulty", "easy"), ("tags", "a, b"), ("last", "3")]
        );
        let rows = top_level(
            "d:\n- key: base\n  text: |-\n    One.\n    Two.\n  more: {x: [1]}\n- {key: hard, n: 2}\n- 3\ne: 4\n",
        );
        let rows = rows.expect("sound");
        let of_row = |row: &Row| row.iter().map(|(key, value, _)| format!("{key}={value}")).collect::<Vec<_>>();
        assert_eq!(
            rows[0].rows.iter().map(of_row).collect::<Vec<_>>(),
            [["key=base", "text=One.\nTwo."], ["key=hard", "n=2"]]
        );
        assert_eq!((rows[0].value.as_str(), rows[1].value.as_str(), rows[1].rows.len()), ("3", "4", 0));
        assert!(top_level("a: &x [1]\nb: *x\n").is_err(), "aliases are refused");
        assert!(top_level(&"- ".repeat(50_000)).is_err(), "nesting is bounded");
        assert!(top_level(&format!("a: {}", "[".repeat(50_000))).is_err());
        assert!(top_level("- 1\n").is_err());
        assert!(top_level("a: [1\n").is_err());
    }
}
