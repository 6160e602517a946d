//! The report for people: tables, the verdict, pairs side by side.

use std::fmt::Write as _;

use serde_json::Value;

use crate::exact::paper_decimal;
use crate::statistics::Score;
use crate::stress::bars::{Checked, Outcome};
use crate::stress::pool::Pool;
use crate::stress::report::{PairScores, Report};
use crate::table::{Cell, Column, Format, Missing, Table, TableError, render};

/// Characters of one side of a pair.
const SIDE: usize = 66;
/// Lines of a pair on the terminal; the file has all.
const MOST_LINES: usize = 24;

/// The tables of a report.
///
/// # Errors
/// [`TableError`]: a bug.
pub fn tables(report: &Report) -> Result<Vec<Table>, TableError> {
    let number = |score: Option<Score>| score.map_or(Cell::Missing(Missing::NothingScored), Cell::Number);
    let mut summary = Table::new(
        "stress",
        report.evaluator.clone(),
        vec![
            Column::numbers("honest_mae", "Honest MAE"),
            Column::estimates("mean_inflation", "Mean inflation [95% CI]", "ci95"),
            Column::numbers("asr", "Cond. ASR"),
            Column::numbers("yield", "E2E yield"),
            Column::numbers("rollback", "Rollback"),
            Column::numbers("all", "Rollback (all)"),
            Column::numbers("deepest", "Rollback (deepest)"),
            Column::numbers("rollback_no_verdict", "Rollback, no verdict"),
            Column::numbers("no_verdict", "No verdict"),
        ],
    )
    .with_note("Rates of rollbacks are over all pairs. A pair without a verdict is neither detected nor missed, and has a column of its own.");
    let set = |name: &str| report.rollbacks.get(name).map_or(Cell::Missing(Missing::NotApplicable), |of| (*of).into());
    summary.push([
        ("honest_mae", number(report.honest.honest_mae.map(|estimate| estimate.mean))),
        ("mean_inflation", report.attack.mean_inflation.into()),
        ("asr", report.attack.conditional_asr.into()),
        ("yield", report.attack.end_to_end_yield.into()),
        ("rollback", set("least")),
        ("all", set("all")),
        ("deepest", set("deepest")),
        ("rollback_no_verdict", Cell::count(report.least.no_verdict)),
        ("no_verdict", Cell::count(report.no_verdict)),
    ])?;
    let mut relations = Table::new(
        "relations",
        "Certified relations",
        vec![
            Column::words("relation", "Relation"),
            Column::words("must", "Score must be"),
            Column::numbers("pairs", "Pairs"),
            Column::numbers("violations", "Violations"),
            Column::numbers("largest", "Largest"),
            Column::words("worst", "Worst pair"),
        ],
    );
    for of in &report.relations {
        let worst = of.worst.as_ref();
        relations.push([
            ("relation", Cell::text(of.relation.id())),
            ("must", Cell::text(of.relation.expected().word())),
            ("pairs", Cell::count(of.pairs)),
            ("violations", Cell::count(of.violations)),
            ("largest", worst.map_or(Cell::Missing(Missing::NotApplicable), |w| Cell::Number(w.change().magnitude()))),
            (
                "worst",
                worst.map_or(Cell::Missing(Missing::NotApplicable), |w| {
                    Cell::text(format!("{} by {}", w.task, w.made_by))
                }),
            ),
        ])?;
    }
    let mut strategies = Table::new(
        "strategies",
        "What it falls for",
        vec![
            Column::words("made_by", "Adversary"),
            Column::numbers("tasks", "Tasks"),
            Column::numbers("successful", "Above .10"),
            Column::numbers("mean", "Mean"),
            Column::numbers("largest", "Largest"),
        ],
    )
    .with_note("Eligible candidates alone. `search:RULE` is the exact adversary of a rule; the rest are patterns.");
    for of in &report.strategies {
        strategies.push([
            ("made_by", Cell::text(&of.made_by)),
            ("tasks", Cell::count(of.tasks)),
            ("successful", Cell::count(of.successful)),
            ("mean", number(of.mean)),
            ("largest", number(of.largest)),
        ])?;
    }
    Ok(vec![summary, relations, strategies])
}

/// The whole report for a terminal.
///
/// # Errors
/// [`TableError`]: a bug.
pub fn text(report: &Report, pool: &Pool, bars: &[Checked]) -> Result<String, TableError> {
    let mut out = render(&tables(report)?, Format::Text);
    if let Some(worst) = report.worst_pair().filter(|worst| worst.change().exceeds(crate::exact::Ratio::ZERO)) {
        let _ = writeln!(out, "\nThe worst pair: equal certified progress, {}", told(worst));
        let lines = side_by_side(pool, worst);
        let shown = lines.len().min(MOST_LINES);
        lines[..shown].iter().for_each(|line| {
            let _ = writeln!(out, "{line}");
        });
        if shown < lines.len() {
            let _ = writeln!(out, "… {} more lines, in the report's folder", lines.len() - shown);
        }
    }
    let noise = report.noise;
    let largest = noise.largest.map_or_else(|| "-".to_owned(), paper_decimal);
    let _ = writeln!(
        out,
        "\nScored again: {} payloads, of {} both scores, {} otherwise, at most {largest} apart",
        noise.asked, noise.repeated, noise.differed
    );
    for (code, count) in &report.faults {
        let _ = writeln!(out, "Fault {code}: {count} payloads");
    }
    for (code, count) in &report.restarts {
        let _ = writeln!(out, "Asked again after {code}: {count} processes");
    }
    let _ = writeln!(out, "Isolation: {}", report.isolation);
    for checked in bars {
        let word = match checked.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
            Outcome::NotMeasured => "not measured",
        };
        let _ = writeln!(out, "Bar {}: {word} ({})", checked.bar, checked.found());
    }
    let _ = writeln!(out, "\n{}", report.verdict());
    Ok(out)
}

/// The first fault of each kind, and what the evaluator said beside it; empty without faults.
#[must_use]
pub fn faults(report: &Report) -> String {
    let mut out = String::new();
    for (code, fault) in &report.first_faults {
        let _ = writeln!(out, "first fault of kind {code}: {}", fault.message);
        for line in fault.talk() {
            let _ = writeln!(out, "  | {line}");
        }
    }
    out
}

/// A pair and its scores in a few words.
pub(super) fn told(pair: &PairScores) -> String {
    let PairScores { task, made_by, first_score, second_score, .. } = pair;
    format!("{task} by {made_by}: {} against {}", paper_decimal(*first_score), paper_decimal(*second_score))
}

/// Two trajectories beside each other, equal beginnings folded.
#[must_use]
pub fn side_by_side(pool: &Pool, pair: &PairScores) -> Vec<String> {
    let (left, right) = (steps(pool, pair.first), steps(pool, pair.second));
    let equal = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    let mut lines = Vec::new();
    let mut push =
        |left: &str, right: &str| lines.push(format!("{:<SIDE$} | {right}", cut(left)).trim_end().to_owned());
    push(&format!("score {}", paper_decimal(pair.first_score)), &format!("score {}", paper_decimal(pair.second_score)));
    if equal > 0 {
        let text = format!("({equal} equal steps)");
        push(&text, &text);
    }
    for index in equal..left.len().max(right.len()) {
        let side = |steps: &[String]| steps.get(index).map_or_else(String::new, |step| cut(step));
        push(&side(&left), &side(&right));
    }
    lines
}

fn cut(text: &str) -> String {
    if text.chars().count() <= SIDE {
        return text.to_owned();
    }
    text.chars().take(SIDE - 1).chain(['…']).collect()
}

/// The steps of a payload's transcript, one line each.
fn steps(pool: &Pool, place: usize) -> Vec<String> {
    let json: Value =
        pool.payloads.get(place).and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or(Value::Null);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |entry: &Value| {
        let step = &entry["step"];
        let mut text = format!("{} {}", word(&entry["actor"]), word(&step["op"]));
        for key in ["type", "id", "to", "text", "version"] {
            match &step[key] {
                Value::Null => {}
                Value::String(value) => {
                    let _ = write!(text, " {value}");
                }
                other => {
                    let _ = write!(text, " {other}");
                }
            }
        }
        if let Some(fields) = step["fields"].as_object() {
            for (field, value) in fields {
                let _ = write!(text, " {field}={value}");
            }
        }
        if entry["result"] == "refused" {
            text.push_str(" (refused)");
        }
        text.replace('\n', " ")
    };
    json["transcript"].as_array().into_iter().flatten().map(line).collect()
}
