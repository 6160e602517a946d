//! What a release check found.

use std::io::{self, Write};

use serde::Serialize;

use super::RELEASE_CHECK_FORMAT;
use super::checks::{ALL, Mismatch};
use super::line::OracleLine;

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// File, and line or pointer in it.
    pub place: String,
    /// The task.
    pub task: String,
    /// What was compared, and who computed it here.
    pub check: String,
    /// What this program says.
    pub found: String,
    /// What the release says.
    pub expected: String,
}

/// How much agrees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Comparisons.
    pub checked: u64,
    /// That agree.
    pub agree: u64,
    /// That differ.
    pub differ: u64,
    /// The first that differs.
    pub first_difference: Option<Difference>,
}

impl Tally {
    /// Counts one comparison.
    pub(super) fn add(&mut self, agrees: bool, difference: impl FnOnce() -> Difference) {
        self.checked += 1;
        if agrees {
            self.agree += 1;
        } else {
            self.differ += 1;
            self.first_difference.get_or_insert_with(difference);
        }
    }
}

/// One kind of comparison over all lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckTally {
    /// What was compared.
    pub kind: String,
    /// Who computed it here.
    pub by: String,
    /// Lines that agree.
    pub agree: u64,
    /// Lines that differ.
    pub differ: u64,
}

/// What a release check found; serialized as `parthack.release-check/1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// `parthack.release-check/1`.
    pub format: &'static str,
    /// Oracle lines.
    pub lines: u64,
    /// Lines on which every comparison agrees.
    pub agree: u64,
    /// Lines on which one differs.
    pub differ: u64,
    /// The first difference of the first such line.
    pub first_difference: Option<Difference>,
    /// Tasks imported.
    pub tasks: usize,
    /// Comparison by comparison, over all lines.
    pub checks: Vec<CheckTally>,
    /// Honest trajectories against the certificates in the task files.
    pub honest: Tally,
    /// Released payloads, if asked for.
    pub payloads: Option<Tally>,
    /// Released optima, if asked for: two a task.
    pub optima: Option<Tally>,
}

impl Report {
    pub(super) fn new(tasks: usize) -> Report {
        let checks =
            ALL.map(|check| CheckTally { kind: check.kind.to_owned(), by: check.by.to_owned(), agree: 0, differ: 0 });
        Report {
            format: RELEASE_CHECK_FORMAT,
            lines: 0,
            agree: 0,
            differ: 0,
            first_difference: None,
            tasks,
            checks: checks.to_vec(),
            honest: Tally::default(),
            payloads: None,
            optima: None,
        }
    }

    /// Counts one oracle line with what differs on it.
    pub(super) fn line(&mut self, place: &str, line: &OracleLine, mismatches: Vec<Mismatch>) {
        self.lines += 1;
        for (check, tally) in ALL.iter().zip(&mut self.checks) {
            let differs = mismatches.iter().any(|mismatch| mismatch.check == *check);
            if differs { tally.differ += 1 } else { tally.agree += 1 }
        }
        let Some(first) = mismatches.into_iter().next() else {
            self.agree += 1;
            return;
        };
        self.differ += 1;
        self.first_difference.get_or_insert_with(|| Difference {
            place: place.to_owned(),
            task: line.task.clone(),
            check: format!("{} ({})", first.check.kind, first.check.by),
            found: first.found,
            expected: first.expected,
        });
    }

    /// Differences of every kind.
    #[must_use]
    pub fn differences(&self) -> u64 {
        let of = |tally: &Option<Tally>| tally.as_ref().map_or(0, |tally| tally.differ);
        self.differ + self.honest.differ + of(&self.payloads) + of(&self.optima)
    }

    /// Writes it for people.
    ///
    /// # Errors
    /// The output fails.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "tasks imported: {}", self.tasks)?;
        let honest = ("honest trajectories", self.honest.agree, self.honest.differ, &self.honest.first_difference);
        let lines = ("oracle lines", self.agree, self.differ, &self.first_difference);
        for (title, agree, differ, first) in [honest, lines] {
            writeln!(out, "{title}: {agree} agree, {differ} differ")?;
            write_difference(out, first.as_ref())?;
        }
        if self.lines > 0 {
            let width = self.checks.iter().map(|check| check.kind.len()).max().unwrap_or(0);
            for check in &self.checks {
                let CheckTally { kind, by, agree, differ } = check;
                writeln!(out, "  {kind:<width$}  {by:<15}  {agree} agree, {differ} differ")?;
            }
        }
        for (title, tally) in [("released payloads", &self.payloads), ("released optima", &self.optima)] {
            if let Some(tally) = tally {
                writeln!(out, "{title}: {} agree, {} differ", tally.agree, tally.differ)?;
                write_difference(out, tally.first_difference.as_ref())?;
            }
        }
        Ok(())
    }
}

fn write_difference(out: &mut dyn Write, difference: Option<&Difference>) -> io::Result<()> {
    let Some(Difference { place, task, check, found, expected }) = difference else { return Ok(()) };
    writeln!(out, "  first difference: {place}: task {task}: {check}: found {found}, the release says {expected}")
}
