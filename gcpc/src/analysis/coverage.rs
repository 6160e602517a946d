//! Which stated requirements a scheme of categories covers, by task and in all (G §4.5).

use std::collections::BTreeMap;

use parthack_statistics::Ratio;

use super::error::AnalysisError;
use super::resampling::{Share, share};
use super::study::{NOTHING, Study, distinct};
use super::table::{Table, Value, number, words};
use crate::controls::schema::Variant;
use crate::records::{Audit, Sorting};

const NO_ANSWER: &str = "no answer";

/// The audit of each task that counts: the answered one, else the one without an answer.
fn audits<'a>(study: &Study<'a>) -> Result<BTreeMap<&'a str, &'a Audit>, AnalysisError> {
    let mut audits: BTreeMap<&str, &Audit> = BTreeMap::new();
    for audit in study.input.audits {
        let stated = audit.requirements.iter().filter(|of| of.is_stated).count();
        let wrong =
            audit.sortings.iter().find(|sorting| sorting.no_answer.is_none() && sorting.categories.len() != stated);
        if let Some(sorting) = wrong {
            return Err(AnalysisError::Sorting {
                task: audit.task.clone(),
                scheme: sorting.scheme.clone(),
                found: sorting.categories.len(),
                expected: stated,
            });
        }
        let known = audits.entry(&audit.task).or_insert(audit);
        match (&known.no_answer, &audit.no_answer) {
            (None, None) if !std::ptr::eq(*known, audit) => {
                return Err(AnalysisError::DuplicateAudit { task: audit.task.clone() });
            }
            (Some(_), None) => *known = audit,
            _ => {}
        }
    }
    Ok(audits)
}

fn sorting<'a>(audit: &'a Audit, scheme: &str) -> Option<&'a Sorting> {
    audit.sortings.iter().find(|sorting| sorting.scheme == scheme && sorting.no_answer.is_none())
}

/// A scheme's coverage over tasks.
pub(crate) struct Covered {
    pub(crate) share: Share,
    /// Tasks with stated requirements that this scheme did not sort.
    pub(crate) unsorted: usize,
}

/// The four schemes' coverage of the tasks that all four sorted; nothing without an audit.
pub(crate) fn schemes(study: &Study<'_>) -> Result<Vec<(&'static str, Covered)>, AnalysisError> {
    let audits = audits(study)?;
    if audits.is_empty() {
        return Ok(Vec::new());
    }
    let of_all: Vec<(&str, &Audit)> = audits
        .iter()
        .filter(|(_, audit)| Variant::ALL.iter().all(|(scheme, _)| sorting(audit, scheme).is_some()))
        .map(|(task, audit)| (*task, *audit))
        .collect();
    let mut found = Vec::new();
    for (scheme, _) in Variant::ALL {
        let things = of_all.iter().flat_map(|(task, audit)| {
            let categories = sorting(audit, scheme).map_or(&[][..], |sorting| &sorting.categories);
            categories.iter().map(move |category| (*task, category.is_some()))
        });
        let unsorted = audits.values().filter(|audit| sorting(audit, scheme).is_none()).count();
        found.push((scheme, Covered { share: share(&study.bootstrap, things)?, unsorted }));
    }
    Ok(found)
}

/// Coverage by task and scheme.
pub(crate) fn table(study: &Study<'_>) -> Result<Table, AnalysisError> {
    let columns = vec![
        words("task", "Task"),
        words("scheme", "Scheme"),
        number("extracted", "Extracted"),
        number("stated", "Stated"),
        number("unstated", "Not in the instruction"),
        number("covered", "Covered"),
        number("coverage", "Coverage"),
    ];
    let audits = audits(study)?;
    let (mut rows, mut requirements, mut unanswered) = (Vec::new(), 0, 0);
    for (task, audit) in &audits {
        let stated = audit.requirements.iter().filter(|of| of.is_stated).count();
        let extracted = audit.requirements.len();
        requirements += stated;
        unanswered += usize::from(audit.no_answer.is_some());
        for (scheme, _) in Variant::ALL {
            let covered = sorting(audit, scheme)
                .map(|sorting| sorting.categories.iter().flatten().count())
                .ok_or(if audit.no_answer.is_none() && stated == 0 { NOTHING } else { NO_ANSWER });
            let counted =
                |count: usize| if audit.no_answer.is_some() { Value::Missing(NO_ANSWER) } else { Value::count(count) };
            rows.push(vec![
                Value::text(*task),
                Value::text(scheme),
                counted(extracted),
                counted(stated),
                counted(extracted - stated),
                covered.map_or_else(Value::Missing, Value::count),
                covered.map_or_else(Value::Missing, |covered| {
                    Value::exact(Ratio::new(covered as i128, stated as i128).ok(), NOTHING)
                }),
            ]);
        }
    }
    let tasks = distinct(&audits.keys().collect::<Vec<_>>());
    let notes = vec![
        format!("n = {requirements} stated requirements, {tasks} tasks; no log and no judge is read."),
        format!(
            "Tasks whose requirements were not extracted: {unanswered}. A requirement whose quote is not in the instruction is kept out of the count."
        ),
    ];
    Ok(Table { id: "coverage", title: "Stated requirements that each scheme covers", columns, rows, notes })
}
