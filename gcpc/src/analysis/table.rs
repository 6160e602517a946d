//! Tables as data: typed cells that whoever prints them turns into text, numbers or exact ratios.

use parthack_statistics::{Ratio, Resampled};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words, flags, or names.
    Words,
    /// Counts, ratios, decimals, or intervals.
    Number,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its key, the same in every format. The key of a p-value ends in `_p`.
    pub key: &'static str,
    /// Its head in a printed table.
    pub header: &'static str,
    /// What it holds.
    pub kind: Kind,
}

/// A column of words.
pub(crate) const fn words(key: &'static str, header: &'static str) -> Column {
    Column { key, header, kind: Kind::Words }
}

/// A column of numbers.
pub(crate) const fn number(key: &'static str, header: &'static str) -> Column {
    Column { key, header, kind: Kind::Number }
}

/// What an interval is around.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimate {
    /// A ratio of counts.
    Exact(Ratio),
    /// Anything else.
    Float(f64),
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A word or a name.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// How many.
    Count(u64),
    /// A ratio of counts.
    Exact(Ratio),
    /// A finite decimal.
    Float(f64),
    /// An estimate with its 95 % interval.
    Interval {
        /// The estimate from the data themselves, not from the resamples.
        mean: Estimate,
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// No value, and why. Never printed as a number.
    Missing(&'static str),
}

impl Value {
    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> Value {
        Value::Text(text.into())
    }

    /// A text that may be absent.
    pub(crate) fn known(text: Option<&str>) -> Value {
        text.map_or(Value::Missing("unknown"), Value::text)
    }

    /// A count of things in memory.
    pub(crate) fn count(count: usize) -> Value {
        Value::Count(count as u64)
    }

    /// A ratio, or why there is none.
    pub(crate) fn exact(ratio: impl Into<Option<Ratio>>, reason: &'static str) -> Value {
        ratio.into().map_or(Value::Missing(reason), Value::Exact)
    }

    /// A decimal, or why there is none.
    pub(crate) fn float(value: impl Into<Option<f64>>, reason: &'static str) -> Value {
        value.into().map_or(Value::Missing(reason), Value::Float)
    }

    /// A ratio with what resampling says of it, or why there is none.
    pub(crate) fn exact_interval(ratio: Option<Ratio>, resampled: Option<Resampled>, reason: &'static str) -> Value {
        Value::interval(ratio.map(Estimate::Exact), resampled, reason)
    }

    /// A decimal with what resampling says of it, or why there is none.
    pub(crate) fn float_interval(value: Option<f64>, resampled: Option<Resampled>, reason: &'static str) -> Value {
        Value::interval(value.map(Estimate::Float), resampled, reason)
    }

    /// Of one task there is no interval: its resamples are all the same and say nothing.
    fn interval(estimate: Option<Estimate>, resampled: Option<Resampled>, reason: &'static str) -> Value {
        match (estimate, resampled.filter(|resampled| resampled.clusters > 1)) {
            (None, _) => Value::Missing(reason),
            (Some(mean), Some(Resampled { low, high, .. })) => Value::Interval { mean, low, high },
            (Some(Estimate::Exact(ratio)), None) => Value::Exact(ratio),
            (Some(Estimate::Float(value)), None) => Value::Float(value),
        }
    }
}

/// A table. Invariant: every row has a value for every column.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its id, such as `3` or `figure-5`.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, in order.
    pub rows: Vec<Vec<Value>>,
    /// What a reader must know: first how many logs and tasks there are and who judged, then rules and what was left out.
    pub notes: Vec<String>,
}

impl Table {
    /// The cell of a row and a column's key; `None` where there is none such.
    ///
    /// ```
    /// # use parthack_gcpc::analysis::{Column, Kind, Table, Value};
    /// let columns = vec![Column { key: "n", header: "n", kind: Kind::Number }];
    /// let table = Table { id: "t", title: "", columns, rows: vec![vec![Value::Count(3)]], notes: Vec::new() };
    /// assert_eq!(table.cell(0, "n"), Some(&Value::Count(3)));
    /// assert_eq!(table.cell(1, "n"), None);
    /// ```
    #[must_use]
    pub fn cell(&self, row: usize, key: &str) -> Option<&Value> {
        let place = self.columns.iter().position(|column| column.key == key)?;
        self.rows.get(row)?.get(place)
    }
}
