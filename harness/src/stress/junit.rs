//! JUnit for build servers: a case a relation, a kind of fault and a bar.

use std::fmt::Write as _;

use crate::stress::bars::{Checked, Outcome};
use crate::stress::report::{RelationReport, Report};
use crate::stress::text::{faults, told};

/// Whether faults turn the file red.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// They are errors.
    Count,
    /// The user allows them (`--allow-missing`).
    Allowed,
}

enum Mark {
    Passed,
    Failed { message: String, text: String },
    Error { kind: String, message: String },
    Skipped(String),
}

struct Case {
    class: &'static str,
    name: String,
    mark: Mark,
    said: String,
}

/// The file. A relation fails where it is violated only if a bar says so; one without a scored pair is skipped, as is a bar that nothing was
/// measured for.
#[must_use]
pub fn junit(report: &Report, bars: &[Checked], allowed: Faults) -> String {
    let mut cases: Vec<Case> = report.relations.iter().map(relation).collect();
    cases.extend(fault_cases(report, allowed));
    cases.extend(bars.iter().map(|bar| of_bar(bar, report)));
    let count = |is_it: fn(&Mark) -> bool| cases.iter().filter(|case| is_it(&case.mark)).count();
    let (failures, errors, skipped) = (
        count(|mark| matches!(mark, Mark::Failed { .. })),
        count(|mark| matches!(mark, Mark::Error { .. })),
        count(|mark| matches!(mark, Mark::Skipped(_))),
    );
    let (name, tests) = (escaped(&report.evaluator), cases.len());
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites><testsuite name=\"parthack stress {name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">"
    );
    cases.iter().for_each(|case| write_case(&mut out, case));
    let said = faults(report);
    if !said.is_empty() {
        let lines: Vec<String> = said.lines().map(escaped).collect();
        let _ = writeln!(out, "<system-err>{}</system-err>", lines.join("\n"));
    }
    out.push_str("</testsuite></testsuites>\n");
    out
}

fn relation(of: &RelationReport) -> Case {
    let scored = of.pairs - of.no_verdict;
    let (mark, said) = match (of.pairs, scored) {
        (0, _) => (Mark::Skipped("no certified pair of it in these tasks".to_owned()), String::new()),
        (pairs, 0) => (Mark::Skipped(format!("none of {pairs} pairs has two scores")), String::new()),
        _ => {
            let missing =
                if of.no_verdict == 0 { String::new() } else { format!("; {} without a score", of.no_verdict) };
            let worst = of.worst.as_ref().map_or_else(String::new, |worst| format!("; worst: {}", told(worst)));
            (Mark::Passed, format!("{} of {scored} pairs violated{missing}{worst}", of.violations))
        }
    };
    Case { class: "relations", name: of.relation.id().to_owned(), mark, said }
}

fn fault_cases(report: &Report, allowed: Faults) -> Vec<Case> {
    if report.faults.is_empty() {
        return vec![Case { class: "faults", name: "faults".to_owned(), mark: Mark::Passed, said: String::new() }];
    }
    let case = |(code, count): (&String, &usize)| {
        let first =
            report.first_faults.get(code).map_or_else(String::new, |fault| format!("; first: {}", fault.message));
        let message = format!("{count} payloads without a score{first}");
        let (mark, said) = match allowed {
            Faults::Count => (Mark::Error { kind: code.clone(), message }, String::new()),
            Faults::Allowed => (Mark::Passed, message),
        };
        Case { class: "faults", name: format!("fault.{code}"), mark, said }
    };
    report.faults.iter().map(case).collect()
}

fn of_bar(checked: &Checked, report: &Report) -> Case {
    let mark = match checked.outcome {
        Outcome::Passed => Mark::Passed,
        Outcome::Failed => Mark::Failed { message: format!("found {}", checked.found()), text: report.verdict() },
        Outcome::NotMeasured => Mark::Skipped("not measured: there was nothing of the kind to score".to_owned()),
    };
    Case { class: "bars", name: checked.bar.to_string(), mark, said: String::new() }
}

fn write_case(out: &mut String, case: &Case) {
    let _ = write!(out, "<testcase classname=\"{}\" name=\"{}\">", case.class, escaped(&case.name));
    let _ = match &case.mark {
        Mark::Passed => Ok(()),
        Mark::Failed { message, text } => {
            write!(out, "<failure message=\"{}\">{}</failure>", escaped(message), escaped(text))
        }
        Mark::Error { kind, message } => {
            write!(out, "<error type=\"{}\" message=\"{}\"/>", escaped(kind), escaped(message))
        }
        Mark::Skipped(message) => write!(out, "<skipped message=\"{}\"/>", escaped(message)),
    };
    if !case.said.is_empty() {
        let _ = write!(out, "<system-out>{}</system-out>", escaped(&case.said));
    }
    out.push_str("</testcase>\n");
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(' '),
            // XML has no such characters.
            '\u{fffe}' | '\u{ffff}' => {}
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
    out
}
