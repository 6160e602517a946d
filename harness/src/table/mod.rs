//! Tables of typed cells, and their five printed forms.
//!
//! A table is data: what a cell means (a count, a fraction, a mean with its interval, a missing value and why) is
//! kept until it is rendered, so that the text says `.252 [.154, .351]` where the JSON says a number, an exact ratio
//! and a pair of bounds.

pub mod cell;
mod csv;
#[cfg(test)]
mod golden;
mod json;
mod latex;
pub mod layout;
mod text;

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::Serialize;

pub use cell::{Cell, Label, Missing};

/// Where a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Align {
    /// At the left: words.
    Left,
    /// At the right: numbers.
    Right,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Key in JSON and CSV.
    pub key: String,
    /// Head in text, Markdown and LaTeX.
    pub header: String,
    /// Where its text stands.
    pub align: Align,
    /// Key of the interval of the column's estimates; a column without one holds no estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_key: Option<String>,
}

impl Column {
    /// A column of words.
    pub fn words(key: impl Into<String>, header: impl Into<String>) -> Column {
        Column { key: key.into(), header: header.into(), align: Align::Left, interval_key: None }
    }

    /// A column of numbers or fractions.
    pub fn numbers(key: impl Into<String>, header: impl Into<String>) -> Column {
        Column { align: Align::Right, ..Column::words(key, header) }
    }

    /// A column of means with intervals, whose JSON keys are `key` and `interval_key`.
    pub fn estimates(key: impl Into<String>, header: impl Into<String>, interval_key: impl Into<String>) -> Column {
        Column { interval_key: Some(interval_key.into()), ..Column::numbers(key, header) }
    }
}

/// One row: a cell for each column key.
pub type Row = BTreeMap<String, Cell>;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Identity, such as `B.2`.
    pub id: String,
    /// Title, without its number.
    pub title: String,
    /// What a reader must know besides.
    pub note: Option<String>,
    /// Columns, in order.
    pub columns: Vec<Column>,
    /// Rows, in order.
    pub rows: Vec<Row>,
}

/// A row that does not fit its table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A key that is no column's.
    #[error("table {table}: found a cell for {key}, expected one of its columns")]
    UnknownColumn {
        /// Table id.
        table: String,
        /// The key.
        key: String,
    },
    /// A column without a cell.
    #[error("table {table}: found no cell for {key}, expected one (hint: Cell::Missing says why a value is absent)")]
    AbsentCell {
        /// Table id.
        table: String,
        /// The column's key.
        key: String,
    },
    /// An estimate in a column without an interval key.
    #[error("table {table}: found an estimate in column {key}, expected a column with an interval key")]
    NoIntervalKey {
        /// Table id.
        table: String,
        /// The column's key.
        key: String,
    },
}

impl Table {
    /// A table without rows.
    ///
    /// # Panics
    /// If two columns share a key, which would be a bug of the layout.
    pub fn new(id: impl Into<String>, title: impl Into<String>, columns: Vec<Column>) -> Table {
        let table = Table { id: id.into(), title: title.into(), note: None, columns, rows: Vec::new() };
        table.assert_distinct_keys();
        table
    }

    /// The table with this note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Table {
        self.note = Some(note.into());
        self
    }

    /// The table with `column` put after the column `after`, or at the end if there is none such.
    ///
    /// # Panics
    /// If the table has rows already, or the key is taken.
    #[must_use]
    pub fn with_column_after(mut self, after: &str, column: Column) -> Table {
        assert!(self.rows.is_empty(), "table {}: a column after the first row", self.id);
        let place = self.columns.iter().position(|column| column.key == after);
        self.columns.insert(place.map_or(self.columns.len(), |place| place + 1), column);
        self.assert_distinct_keys();
        self
    }

    /// Adds a row with one cell for each column, in any order.
    ///
    /// # Errors
    /// [`TableError`], and the table stays as it was.
    pub fn push<K: Into<String>>(&mut self, cells: impl IntoIterator<Item = (K, Cell)>) -> Result<(), TableError> {
        let row: Row = cells.into_iter().map(|(key, cell)| (key.into(), cell)).collect();
        let table = || self.id.clone();
        let known = |key: &String| self.columns.iter().any(|column| column.key == *key);
        if let Some(key) = row.keys().find(|key| !known(key)) {
            return Err(TableError::UnknownColumn { table: table(), key: key.clone() });
        }
        for Column { key, interval_key, .. } in &self.columns {
            let key = key.clone();
            match row.get(&key) {
                None => return Err(TableError::AbsentCell { table: table(), key }),
                Some(cell) if cell.is_estimate() && interval_key.is_none() => {
                    return Err(TableError::NoIntervalKey { table: table(), key });
                }
                Some(_) => {}
            }
        }
        self.rows.push(row);
        Ok(())
    }

    fn assert_distinct_keys(&self) {
        let mut keys: Vec<&String> =
            self.columns.iter().flat_map(|c| [Some(&c.key), c.interval_key.as_ref()]).flatten().collect();
        keys.sort();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "table {}: a repeated key", self.id);
    }

    /// The cells of a row in column order; a row built by hand may lack one, which reads as not recorded.
    pub(crate) fn cells<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = (&'a Column, &'a Cell)> {
        const ABSENT: &Cell = &Cell::Missing(Missing::NotRecorded);
        self.columns.iter().map(move |column| (column, row.get(&column.key).unwrap_or(ABSENT)))
    }
}

/// A printed form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns for a terminal.
    Text,
    /// Pipe tables.
    Markdown,
    /// RFC 4180, one record a row, numbers in full.
    Csv,
    /// `{"tables":[…]}`, numbers as numbers with exact ratios beside them.
    Json,
    /// `booktabs` tables.
    Latex,
}

/// A name that is no format's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found format {found:?}, expected text, markdown, csv, json or latex")]
pub struct UnknownFormat {
    /// The name as found.
    pub found: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        match name {
            "text" => Ok(Format::Text),
            "markdown" => Ok(Format::Markdown),
            "csv" => Ok(Format::Csv),
            "json" => Ok(Format::Json),
            "latex" => Ok(Format::Latex),
            found => Err(UnknownFormat { found: found.to_owned() }),
        }
    }
}

/// Renders one table. In CSV this is exactly one RFC 4180 file; in JSON it is a set of one table.
pub fn render_table(table: &Table, format: Format) -> String {
    match format {
        Format::Csv => csv::csv(table),
        other => render(std::slice::from_ref(table), other),
    }
}

/// Renders a set of tables.
///
/// In CSV, tables have different columns, so each stands below a record with its id and title and they are parted by
/// an empty line: for reading, not for a parser. Write one file a table with [`render_table`] for a parser.
pub fn render(tables: &[Table], format: Format) -> String {
    let each = |one: fn(&Table) -> String| tables.iter().map(one).collect::<Vec<_>>();
    match format {
        Format::Text => each(text::text).join("\n"),
        Format::Markdown => each(text::markdown).join("\n"),
        Format::Latex => each(latex::latex).join("\n"),
        Format::Json => json::json(tables),
        Format::Csv => {
            let titled =
                |table: &Table| format!("{}{}", csv::record(&[table.id.clone(), table.title.clone()]), csv::csv(table));
            tables.iter().map(titled).collect::<Vec<_>>().join("\r\n")
        }
    }
}
