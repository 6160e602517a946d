//! Tables of an analysis as the tables that all formats know.

use parthack_gcpc::analysis::{Analysis, Estimate, Kind, Table as Data, Value};

use crate::exact::Ratio;
use crate::run::error::RunError;
use crate::statistics::Score;
use crate::statistics::bootstrap::Interval;
use crate::table::{Cell, Column, Missing, Table};

/// What ends the key of a column of p-values.
const PROBABILITY: &str = "_p";

/// The tables of an analysis.
///
/// # Errors
/// [`RunError::Incomplete`] for a number that can't be printed.
pub fn tables_of(analysis: &Analysis) -> Result<Vec<Table>, RunError> {
    analysis.tables.iter().map(table_of).collect()
}

fn table_of(data: &Data) -> Result<Table, RunError> {
    let has_interval =
        |place: usize| data.rows.iter().any(|row| matches!(row.get(place), Some(Value::Interval { .. })));
    let column = |(place, column): (usize, &parthack_gcpc::analysis::Column)| match column.kind {
        Kind::Words => Column::words(column.key, column.header),
        Kind::Number if has_interval(place) => {
            Column::estimates(column.key, column.header, format!("{}_ci95", column.key))
        }
        Kind::Number => Column::numbers(column.key, column.header),
    };
    let mut table = Table::new(data.id, data.title, data.columns.iter().enumerate().map(column).collect());
    if !data.notes.is_empty() {
        table = table.with_note(data.notes.join(" "));
    }
    for row in &data.rows {
        let cells = data.columns.iter().zip(row).map(|(column, value)| Ok((column.key, cell_of(column.key, value)?)));
        table.push(cells.collect::<Result<Vec<_>, RunError>>()?)?;
    }
    Ok(table)
}

fn cell_of(key: &str, value: &Value) -> Result<Cell, RunError> {
    Ok(match value {
        Value::Text(text) => Cell::text(text),
        Value::Flag(flag) => Cell::Flag(*flag),
        Value::Count(count) => Cell::Integer(i64::try_from(*count).unwrap_or(i64::MAX)),
        Value::Exact(ratio) => number(key, exact(*ratio)?),
        Value::Float(value) => number(key, measured(*value)?),
        Value::Interval { mean, low, high } => Cell::Estimate {
            mean: match mean {
                Estimate::Exact(ratio) => exact(*ratio)?,
                Estimate::Float(value) => measured(*value)?,
            },
            interval: Some(Interval { low: measured(*low)?, high: measured(*high)? }),
        },
        Value::Missing(reason) => Cell::Missing(Missing::Because(reason)),
    })
}

fn number(key: &str, score: Score) -> Cell {
    if key.ends_with(PROBABILITY) { Cell::Probability(score) } else { Cell::Number(score) }
}

fn exact(ratio: parthack_statistics::Ratio) -> Result<Score, RunError> {
    let ratio = Ratio::new(ratio.numerator(), ratio.denominator());
    ratio.map(Score::exact).map_err(|error| RunError::Incomplete(error.to_string()))
}

fn measured(value: f64) -> Result<Score, RunError> {
    Score::measured(value).map_err(|error| RunError::Incomplete(format!("{value}: {error}")))
}
