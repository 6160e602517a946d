//! The report's own tables: comparisons, attainability, and what retained rollback credit can be.

use crate::exact::Ratio;
use crate::published::PublishedError;
use crate::published::attainable::{Attainability, RankAttainability};
use crate::published::compare::{Comparison, Status};
use crate::published::data::Published;
use crate::published::retained::RetainedBounds;
use crate::statistics::Score;
use crate::table::{Cell, Column, Missing, Table};

/// One row a printed aggregate.
pub(crate) fn comparison_table(comparisons: &[Comparison]) -> Result<Table, PublishedError> {
    let columns = vec![
        Column::words("table", "Table"),
        Column::words("aggregate", "Aggregate"),
        Column::numbers("printed", "Printed"),
        Column::numbers("recomputed", "Recomputed"),
        Column::words("status", "Status"),
        Column::words("tolerance", "Tolerance"),
        Column::words("basis", "Basis"),
    ];
    let count = |status| comparisons.iter().filter(|row| row.status == status).count();
    let note = format!(
        "{} agree, {} differ, {} are printed only.",
        count(Status::Agrees),
        count(Status::Differs),
        count(Status::PrintedOnly)
    );
    let title = "Printed aggregates and ours";
    let mut table = Table::new("comparison", title, columns).with_note(note);
    for row in comparisons {
        let absent = Cell::Missing(Missing::NotApplicable);
        table.push([
            ("table", Cell::text(row.table)),
            ("aggregate", Cell::text(&row.aggregate)),
            ("printed", Cell::text(&row.printed)),
            ("recomputed", row.recomputed.as_ref().map_or(absent, Cell::text)),
            ("status", Cell::text(row.status.words())),
            ("tolerance", Cell::text(row.tolerance)),
            ("basis", Cell::text(row.basis)),
        ])?;
    }
    Ok(table)
}

/// One row a printed per-task inflation of a historical rule.
pub(crate) fn attainability_table(rows: &[Attainability]) -> Result<Table, PublishedError> {
    let columns = vec![
        Column::words("evaluator", "Evaluator"),
        Column::words("task", "Task"),
        Column::numbers("m", "m"),
        Column::numbers("p_state_honest", "P_state(H)"),
        Column::numbers("published", "Published"),
        Column::words("attainable", "Attainable"),
        Column::words("attainable_deltas", "Attainable deltas"),
    ];
    let counted: Vec<String> = (["historical", "cape-max"].iter())
        .map(|id| {
            let nonzero = rows.iter().filter(|row| row.evaluator == *id && !row.published.is_zero());
            let unattainable = nonzero.clone().filter(|row| !row.is_attainable).count();
            format!("{id}: no trajectory gives {unattainable} of {} non-zero values", nonzero.count())
        })
        .collect();
    let note = format!(
        "A score of either rule is k/m and an honest score is P_state(H), so a delta is k/m − P_state(H); compared at \
         three decimals. {}.",
        counted.join("; ")
    );
    let title = "Which printed per-task inflations a trajectory can have (Table B.1)";
    let mut table = Table::new("attainability", title, columns).with_note(note);
    for row in rows {
        let deltas = row.attainable.iter().map(|delta| Score::exact(*delta)).collect();
        table.push([
            ("evaluator", Cell::text(row.evaluator)),
            ("task", Cell::text(&row.task)),
            ("m", Cell::Integer(i64::from(row.m))),
            ("p_state_honest", Cell::Ratio(row.p_state_honest)),
            ("published", Cell::Number(Score::printed(row.published))),
            ("attainable", Cell::Flag(row.is_attainable)),
            ("attainable_deltas", Cell::Numbers(deltas)),
        ])?;
    }
    Ok(table)
}

/// One row a printed rank of a historical target.
pub(crate) fn rank_attainability_table(rows: &[RankAttainability]) -> Result<Table, PublishedError> {
    let columns = vec![
        Column::words("target", "Target"),
        Column::numbers("rank", "Rank"),
        Column::numbers("published", "Published"),
        Column::words("attainable", "On some task"),
        Column::words("tasks", "Tasks"),
    ];
    let title = "Which printed ranked inflations any held-out task allows (Table B.4)";
    let mut table = Table::new("attainability-ranked", title, columns);
    for row in rows {
        let tasks = match row.tasks.is_empty() {
            true => Cell::Missing(Missing::NotApplicable),
            false => Cell::text(row.tasks.join(" ")),
        };
        table.push([
            ("target", Cell::text(row.target)),
            ("rank", Cell::count(row.rank)),
            ("published", Cell::Number(Score::printed(row.published))),
            ("attainable", Cell::Flag(!row.tasks.is_empty())),
            ("tasks", tasks),
        ])?;
    }
    Ok(table)
}

/// One row a task of the rollback metric, and the means.
pub(crate) fn rollback_bounds_table(bounds: &RetainedBounds) -> Result<Table, PublishedError> {
    let columns = vec![
        Column::words("task", "Task"),
        Column::numbers("m", "m"),
        Column::numbers("p_state_honest", "P_state(H)"),
        Column::numbers("least", "Least"),
        Column::numbers("largest", "Largest"),
        Column::words("possible", "Possible retained credits"),
    ];
    let title = "Retained credit that a strict rollback can leave, from Table A.2 alone";
    let mut table = Table::new("rollback-bounds", title, columns);
    let ends =
        |values: &[Ratio]| [values.first(), values.last()].map(|end| Cell::from(end.map(|value| Score::exact(*value))));
    for task in &bounds.tasks {
        let [least, largest] = ends(&task.possible);
        let possible = task.possible.iter().map(|value| Score::exact(*value)).collect();
        table.push([
            ("task", Cell::text(&task.task)),
            ("m", Cell::Integer(i64::from(task.m))),
            ("p_state_honest", Cell::Ratio(task.p_state_honest)),
            ("least", least),
            ("largest", largest),
            ("possible", Cell::Numbers(possible)),
        ])?;
    }
    let not_applicable = Cell::Missing(Missing::NotApplicable);
    let [least, largest] = ends(&bounds.means);
    table.push([
        ("task", Cell::text("Mean")),
        ("m", not_applicable.clone()),
        ("p_state_honest", not_applicable.clone()),
        ("least", least),
        ("largest", largest),
        ("possible", not_applicable),
    ])?;
    Ok(table)
}

/// What follows for the two printed means, and what does not.
pub(crate) fn retained_table(published: &Published, bounds: &RetainedBounds) -> Result<Table, PublishedError> {
    let columns = vec![
        Column::words("quantity", "Quantity"),
        Column::numbers("value", "Value"),
        Column::words("status", "Status"),
        Column::words("basis", "Basis"),
    ];
    let note = "If the inverse steps make no new peak, both rules score R as P_state(H), so that one set of pairs gives \
                both the same retained credit, P_state(H) − P_state(R) on average. Two unequal printed means then come \
                from two sets of rollbacks, from rules other than the released ones, or from another definition of \
                retained credit.";
    let title = "Retained rollback credit: what Table A.2 determines";
    let mut table = Table::new("retained-credit", title, columns).with_note(note);
    let exact = |value: Ratio| Cell::Number(Score::exact(value));
    let mut rows = vec![
        ("least possible mean", exact(bounds.least()), "derived", "every rollback loses one predicate"),
        ("largest possible mean", exact(bounds.largest()), "derived", "every rollback loses all predicates"),
        ("possible means", Cell::count(bounds.means.len()), "derived", "one possible credit a task"),
    ];
    let mut means = Vec::new();
    let names = [
        ("historical", "Historical, printed mean", "Historical, possible means that print so"),
        ("cape-max", "CAPE-Max, printed mean", "CAPE-Max, possible means that print so"),
    ];
    for (id, printed_name, possible_name) in names {
        let printed = published.printed.rollback.iter().find(|row| row.evaluator == id);
        let Some(text) = printed.and_then(|row| row.retained_all.as_ref()) else {
            continue;
        };
        let value: Ratio = text.parse()?;
        let printing = bounds.printing_as(value);
        rows.push((printed_name, Cell::Number(Score::printed(value)), "printed only", "Table B.5"));
        rows.push((possible_name, Cell::count(printing.len()), "derived", "each mean by itself"));
        means.push(printing);
    }
    let one_set = means.windows(2).all(|two| two[0].iter().any(|mean| two[1].contains(mean)));
    rows.push(("one set of pairs gives both", Cell::Flag(one_set), "derived", "rules that score every R alike"));
    for quantity in ["rollbacks that were used", "f(R) of each pair"] {
        rows.push((quantity, Cell::Missing(Missing::NotPrinted), "not derivable", "P prints no rollback scores"));
    }
    for (quantity, value, status, basis) in rows {
        table.push([
            ("quantity", Cell::text(quantity)),
            ("value", value),
            ("status", Cell::text(status)),
            ("basis", Cell::text(basis)),
        ])?;
    }
    Ok(table)
}
