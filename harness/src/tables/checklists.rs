//! Tables of checklists: their conditions, and how these correspond to the goal's predicates (P B.4).

use std::collections::BTreeMap;

use parthack_evaluators::judge::alignment::Correspondence;

use crate::run::error::RunError;
use crate::statistics::Proportion;
use crate::table::{Cell, Column, Missing, Table};
use crate::tables::view::LedgerView;

/// The frozen checklists, one row a condition.
pub(super) fn conditions(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("evaluator", "Evaluator"),
        Column::words("task", "Task"),
        Column::words("checklist", "Checklist"),
        Column::numbers("item", "Item"),
        Column::words("condition", "Condition"),
        Column::words("predicates", "Predicates"),
        Column::words("correspondence", "Correspondence"),
    ];
    let mut table = Table::new("checklists", "Frozen checklists", columns);
    for record in view.checklists() {
        let hash = record.hash.as_deref().map_or("-", |hash| &hash[..hash.len().min(12)]);
        let mut row = |number: usize, condition: &str, predicates: Cell, correspondence: Cell| {
            table.push([
                ("evaluator", Cell::named(&record.evaluator, view.title(&record.evaluator))),
                ("task", Cell::text(&record.task)),
                ("checklist", Cell::text(hash)),
                ("item", Cell::count(number)),
                ("condition", Cell::text(condition)),
                ("predicates", predicates),
                ("correspondence", correspondence),
            ])
        };
        for (number, (condition, aligned)) in (1..).zip(record.items.iter().zip(&record.alignment)) {
            row(number, condition, Cell::text(aligned.predicates.join(", ")), Cell::text(&aligned.correspondence))?;
        }
        if let Some(reason) = &record.no_answer {
            row(1, reason, Cell::Missing(Missing::NotApplicable), Cell::Missing(Missing::NotApplicable))?;
        }
    }
    Ok(table)
}

/// How many conditions correspond one-to-one to a predicate, a row a judge.
pub(super) fn alignment(view: &LedgerView<'_>) -> Result<Table, RunError> {
    const KINDS: [(&str, Correspondence); 3] = [
        ("one_to_one", Correspondence::OneToOne),
        ("merged_split_or_indirect", Correspondence::MergedSplitOrIndirect),
        ("absent_or_implicit", Correspondence::AbsentOrImplicit),
    ];
    let columns = vec![
        Column::words("evaluator", "Evaluator"),
        Column::numbers("checklists", "Checklists"),
        Column::numbers("one_to_one", "One-to-one"),
        Column::numbers("merged_split_or_indirect", "Merged, split or indirect"),
        Column::numbers("absent_or_implicit", "Absent or implicit"),
    ];
    let mut table = Table::new("alignment", "Alignment of checklists with the goal", columns).with_note(
        "A rule that compares words made this audit (P B.4 had people do it); it describes decomposition, not correctness.",
    );
    let mut judges: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    for record in view.checklists() {
        let (checklists, kinds) = judges.entry(&record.evaluator).or_default();
        *checklists += usize::from(record.hash.is_some());
        kinds.extend(record.alignment.iter().map(|aligned| aligned.correspondence.as_str()));
    }
    for (judge, (checklists, kinds)) in judges {
        let mut row =
            vec![("evaluator", Cell::named(judge, view.title(judge))), ("checklists", Cell::count(checklists))];
        row.extend(KINDS.map(|(key, kind)| {
            let count = kinds.iter().filter(|found| **found == kind.title()).count();
            (key, Proportion::new(count, kinds.len()).into())
        }));
        table.push(row)?;
    }
    Ok(table)
}
