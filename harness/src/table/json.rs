//! Tables as JSON: `{"tables":[{"id":…,"title":…,"columns":[…],"rows":[{…}]}]}`, keys in column order.
//!
//! Beside a cell's `key` may stand `key_exact` (a ratio string), `key_name`, `key_label` and, where the value is null,
//! `key_missing` (the reason). A column with an interval key has it in every row: `[low, high]` or null.

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::table::cell::Cell;
use crate::table::{Column, Row, Table};

/// A set of tables, indented, with a line end.
pub(crate) fn json(tables: &[Table]) -> String {
    #[derive(Serialize)]
    struct Set<'a> {
        tables: &'a [Table],
    }
    // Keys are strings and floats are finite (a `Score` is), so that serialization can't fail.
    let text = serde_json::to_string_pretty(&Set { tables }).expect("tables serialize");
    text + "\n"
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_struct("Table", 5)?;
        table.serialize_field("id", &self.id)?;
        table.serialize_field("title", &self.title)?;
        match &self.note {
            Some(note) => table.serialize_field("note", note)?,
            None => table.skip_field("note")?,
        }
        table.serialize_field("columns", &self.columns)?;
        let rows: Vec<KeyedRow<'_>> = self.rows.iter().map(|row| KeyedRow(self, row)).collect();
        table.serialize_field("rows", &rows)?;
        table.end()
    }
}

struct KeyedRow<'a>(&'a Table, &'a Row);

impl Serialize for KeyedRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (column, cell) in self.0.cells(self.1) {
            entries(&mut map, column, cell)?;
        }
        map.end()
    }
}

fn entries<M: SerializeMap>(map: &mut M, column: &Column, cell: &Cell) -> Result<(), M::Error> {
    #[derive(Serialize)]
    struct Fraction {
        k: u64,
        n: u64,
    }
    let key = &column.key;
    let beside = |suffix: &str| format!("{key}_{suffix}");
    let (cell, label) = match cell {
        Cell::Labelled { cell, label } => (&**cell, Some(*label)),
        cell => (cell, None),
    };
    let mut interval = None;
    match cell {
        Cell::Text(words) => map.serialize_entry(key, words)?,
        Cell::Named { id, name } => {
            map.serialize_entry(key, id)?;
            map.serialize_entry(&beside("name"), name)?;
        }
        Cell::Flag(flag) => map.serialize_entry(key, flag)?,
        Cell::Integer(count) => map.serialize_entry(key, count)?,
        Cell::Fraction { k, n } => map.serialize_entry(key, &Fraction { k: *k, n: *n })?,
        Cell::Numbers(scores) => map.serialize_entry(key, scores)?,
        Cell::Ratio(ratio) => {
            map.serialize_entry(key, &ratio.to_f64())?;
            map.serialize_entry(&beside("exact"), ratio)?;
        }
        Cell::Number(score) | Cell::Probability(score) | Cell::Estimate { mean: score, .. } => {
            map.serialize_entry(key, score)?;
            if let Some(ratio) = score.exact_ratio() {
                map.serialize_entry(&beside("exact"), &ratio)?;
            }
            if let Cell::Estimate { interval: found, .. } = cell {
                interval = *found;
            }
        }
        Cell::Missing(missing) => {
            map.serialize_entry(key, &())?;
            map.serialize_entry(&beside("missing"), missing.reason())?;
        }
        // `Cell::labelled` never nests labels; one made by hand shows its inner value's words.
        Cell::Labelled { .. } => map.serialize_entry(key, &cell.shown())?,
    }
    if let Some(label) = label {
        map.serialize_entry(&beside("label"), label.words())?;
    }
    if let Some(interval_key) = &column.interval_key {
        map.serialize_entry(interval_key, &interval)?;
        let exact = interval.and_then(|i| i.low.exact_ratio().zip(i.high.exact_ratio()));
        if let Some((low, high)) = exact {
            map.serialize_entry(&format!("{interval_key}_exact"), &[low, high])?;
        }
    }
    Ok(())
}
