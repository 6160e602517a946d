//! Tables as RFC 4180 CSV: CRLF, quotes where needed, numbers in full, one field a number.
//!
//! A cell spreads over as many fields as it has parts: `key`, `key_exact`, `key_k` and `key_n` of a fraction,
//! `key_name`, the interval key with `_low` and `_high`, `key_label`, and `key_missing` (the reason, with `key` empty).
//! A column has those fields that at least one of its cells uses.

use crate::table::cell::Cell;
use crate::table::{Column, Table};

/// The kinds of fields, in the order in which they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Value,
    Exact,
    Successes,
    Trials,
    Name,
    Low,
    High,
    Label,
    Missing,
}

/// One table as a CSV file, header first.
pub(crate) fn csv(table: &Table) -> String {
    let fields: Vec<(&Column, Part)> = table.columns.iter().flat_map(|column| parts(table, column)).collect();
    let header: Vec<String> = fields.iter().map(|(column, part)| field_name(column, *part)).collect();
    let mut text = record(&header);
    for row in &table.rows {
        let split: Vec<(&Column, Vec<(Part, String)>)> =
            table.cells(row).map(|(column, cell)| (column, split(cell))).collect();
        let value = |column: &Column, part: Part| {
            let cell = split.iter().find(|(other, _)| other.key == column.key);
            cell.and_then(|(_, parts)| parts.iter().find(|(other, _)| *other == part))
                .map_or(String::new(), |(_, text)| text.clone())
        };
        let record_fields: Vec<String> = fields.iter().map(|(column, part)| value(column, *part)).collect();
        text.push_str(&record(&record_fields));
    }
    text
}

/// The parts that a column's cells use.
fn parts<'a>(table: &Table, column: &'a Column) -> Vec<(&'a Column, Part)> {
    let mut parts: Vec<Part> = (table.rows.iter())
        .filter_map(|row| row.get(&column.key))
        .flat_map(|cell| split(cell).into_iter().map(|(part, _)| part))
        .collect();
    if parts.is_empty() {
        parts.push(Part::Value);
    }
    parts.sort();
    parts.dedup();
    parts.into_iter().map(|part| (column, part)).collect()
}

fn field_name(column: &Column, part: Part) -> String {
    let Column { key, interval_key, .. } = column;
    let interval = interval_key.as_ref().unwrap_or(key);
    match part {
        Part::Value => key.clone(),
        Part::Exact => format!("{key}_exact"),
        Part::Successes => format!("{key}_k"),
        Part::Trials => format!("{key}_n"),
        Part::Name => format!("{key}_name"),
        Part::Low => format!("{interval}_low"),
        Part::High => format!("{interval}_high"),
        Part::Label => format!("{key}_label"),
        Part::Missing => format!("{key}_missing"),
    }
}

fn split(cell: &Cell) -> Vec<(Part, String)> {
    match cell {
        Cell::Text(words) => vec![(Part::Value, words.clone())],
        Cell::Named { id, name } => vec![(Part::Value, id.clone()), (Part::Name, name.clone())],
        Cell::Flag(flag) => vec![(Part::Value, flag.to_string())],
        Cell::Integer(count) => vec![(Part::Value, count.to_string())],
        Cell::Fraction { k, n } => {
            vec![(Part::Successes, k.to_string()), (Part::Trials, n.to_string())]
        }
        Cell::Ratio(ratio) => {
            vec![(Part::Value, ratio.to_f64().to_string()), (Part::Exact, ratio.to_string())]
        }
        Cell::Numbers(scores) => {
            let numbers: Vec<String> = scores.iter().map(|score| score.to_f64().to_string()).collect();
            vec![(Part::Value, numbers.join(" "))]
        }
        Cell::Number(score) | Cell::Probability(score) | Cell::Estimate { mean: score, .. } => {
            let mut parts = vec![(Part::Value, score.to_f64().to_string())];
            parts.extend(score.exact_ratio().map(|ratio| (Part::Exact, ratio.to_string())));
            if let Cell::Estimate { interval: Some(interval), .. } = cell {
                parts.push((Part::Low, interval.low.to_f64().to_string()));
                parts.push((Part::High, interval.high.to_f64().to_string()));
            }
            parts
        }
        Cell::Labelled { cell, label } => {
            let mut parts = split(cell);
            parts.push((Part::Label, label.words().to_owned()));
            parts
        }
        Cell::Missing(missing) => vec![(Part::Missing, missing.reason().to_owned())],
    }
}

/// One record, quoted where RFC 4180 asks for it.
pub(crate) fn record(fields: &[String]) -> String {
    let quoted = |field: &String| match field.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.clone(),
    };
    fields.iter().map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}
