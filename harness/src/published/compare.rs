//! Printed aggregates beside ours, one row an aggregate.

use crate::exact::{Decimal3, ExactError, Ratio, decimal, paper_decimal};
use crate::published::attainable::prints_as;
use crate::statistics::{Interval, Proportion, Score};

/// How far interval bounds may lie apart: P prints no bootstrap configuration.
pub const BOUND_TOLERANCE: Ratio = Ratio::fraction(6, 1000);

/// What came of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Recomputed, and the same within the tolerance.
    Agrees,
    /// Recomputed, and not the same.
    Differs,
    /// Nothing printed determines it.
    PrintedOnly,
}

impl Status {
    /// The status in words.
    pub const fn words(self) -> &'static str {
        match self {
            Status::Agrees => "agrees",
            Status::Differs => "differs",
            Status::PrintedOnly => "printed only",
        }
    }
}

/// One printed aggregate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The table that prints it.
    pub table: &'static str,
    /// What it is, and of what.
    pub aggregate: String,
    /// As printed.
    pub printed: String,
    /// As recomputed, at the printed precision.
    pub recomputed: Option<String>,
    /// What came of it.
    pub status: Status,
    /// How equal it has to be.
    pub tolerance: &'static str,
    /// What it was recomputed from, or why it was not.
    pub basis: &'static str,
}

/// Collects comparisons of one table after another.
#[derive(Debug, Default)]
pub(crate) struct Comparisons {
    pub(crate) rows: Vec<Comparison>,
}

impl Comparisons {
    fn add(
        &mut self,
        (table, aggregate): (&'static str, String),
        printed: &str,
        recomputed: String,
        agrees: bool,
        tolerance: &'static str,
        basis: &'static str,
    ) {
        let status = if agrees { Status::Agrees } else { Status::Differs };
        let (printed, recomputed) = (printed.to_owned(), Some(recomputed));
        self.rows.push(Comparison { table, aggregate, printed, recomputed, status, tolerance, basis });
    }

    /// A fraction or count, exactly as printed.
    pub(crate) fn same(
        &mut self,
        place: (&'static str, String),
        printed: &str,
        recomputed: impl ToString,
        basis: &'static str,
    ) {
        let recomputed = recomputed.to_string();
        let agrees = recomputed == printed;
        self.add(place, printed, recomputed, agrees, "exact", basis);
    }

    /// A mean or rate, the same at three decimals.
    pub(crate) fn three_decimals(
        &mut self,
        place: (&'static str, String),
        printed: &str,
        recomputed: Score,
        basis: &'static str,
    ) -> Result<(), ExactError> {
        let agrees = prints_as(recomputed.value(), printed.parse()?);
        let shown = like(printed, recomputed);
        self.add(place, printed, shown, agrees, "three decimals", basis);
        Ok(())
    }

    /// Both bounds of an interval, within [`BOUND_TOLERANCE`].
    pub(crate) fn bounds(
        &mut self,
        (table, aggregate): (&'static str, String),
        printed: &[String; 2],
        recomputed: Interval,
        basis: &'static str,
    ) -> Result<(), ExactError> {
        let sides = [("lower", recomputed.low), ("upper", recomputed.high)];
        for ((side, bound), printed) in sides.into_iter().zip(printed) {
            let distance = bound.value().checked_sub(printed.parse()?)?.magnitude();
            let place = (table, format!("{aggregate}, {side} bound"));
            self.add(place, printed, paper_decimal(bound), distance <= BOUND_TOLERANCE, "±.006", basis);
        }
        Ok(())
    }

    /// An aggregate that nothing printed determines.
    pub(crate) fn printed_only(
        &mut self,
        (table, aggregate): (&'static str, String),
        printed: &str,
        basis: &'static str,
    ) {
        self.rows.push(Comparison {
            table,
            aggregate,
            printed: printed.to_owned(),
            recomputed: None,
            status: Status::PrintedOnly,
            tolerance: "-",
            basis,
        });
    }

    /// A fraction that may not be determined.
    pub(crate) fn fraction(
        &mut self,
        place: (&'static str, String),
        printed: &str,
        recomputed: Option<Proportion>,
        [basis, otherwise]: [&'static str; 2],
    ) {
        match recomputed {
            Some(recomputed) => self.same(place, printed, recomputed, basis),
            None => self.printed_only(place, printed, otherwise),
        }
    }

    /// A mean that may not be determined.
    pub(crate) fn mean(
        &mut self,
        place: (&'static str, String),
        printed: &str,
        recomputed: Option<Score>,
        [basis, otherwise]: [&'static str; 2],
    ) -> Result<(), ExactError> {
        match recomputed {
            Some(recomputed) => self.three_decimals(place, printed, recomputed, basis),
            None => {
                self.printed_only(place, printed, otherwise);
                Ok(())
            }
        }
    }
}

/// A recomputed number in the manner of the printed one: P writes exact zeros both as `0` and as `.000`.
fn like(printed: &str, recomputed: Score) -> String {
    match Decimal3::from(recomputed) {
        Decimal3::Zero if printed != "0" => decimal(recomputed).trim_start_matches('0').to_owned(),
        other => paper_decimal(other),
    }
}
