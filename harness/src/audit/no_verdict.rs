//! No verdict: what gave no verdict has no score, in the ledger's raw lines and in what is added up of them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::audit::context::{Context, lines, read};
use crate::audit::outcome::Outcome;
use crate::ledger::{Ledger, Record, RecordedScore, Subject, Variant};
use crate::run::error::RunError;

pub(super) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
    raw_lines(&read(&context.folder.ledger())?, outcome);
    let ledger = context.ledger()?;
    judges(context, &ledger, outcome);
    attempts(&ledger, outcome);
    own_count(&ledger, outcome);
    tables(context, &ledger, outcome)
}

/// Every score of every line is one thing: an exact ratio, a measured number, or why there is none.
fn raw_lines(ledger: &[u8], outcome: &mut Outcome) {
    for (number, line) in (1..).zip(lines(ledger)) {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
        let record = &line["record"];
        let others = record["others"].as_object().into_iter().flat_map(|others| others.values());
        for score in record.get("score").into_iter().chain(others) {
            outcome.checks("scores in the ledger", 1);
            let keys: Vec<&str> = score.as_object().map(|s| s.keys().map(String::as_str).collect()).unwrap_or_default();
            if !matches!(keys[..], ["exact"] | ["measured"] | ["no_verdict"]) {
                let expected = "one of: exact, measured, no_verdict";
                outcome.finds(format!("ledger.jsonl, line {number}"), format!("a score of {keys:?}"), expected);
            }
        }
    }
}

/// A judge's score rests on judgements: where none of the repeats has a verdict, neither has the score.
fn judges(context: &Context<'_>, ledger: &Ledger, outcome: &mut Outcome) {
    let mut verdicts: BTreeMap<(&str, &Subject, &str), (usize, usize)> = BTreeMap::new();
    for record in ledger.records() {
        let Record::Judgement(r) = record else { continue };
        if context.manifest.plugins().any(|(id, _)| id == r.evaluator) {
            continue;
        }
        if matches!(r.variant, Variant::Repeat { .. }) {
            let (asked, answered) = verdicts.entry((&r.task, &r.subject, &r.evaluator)).or_default();
            *asked += 1;
            *answered += usize::from(r.score.score().is_some());
        }
        if r.score.score().is_some() && r.exchanges.is_empty() {
            outcome.finds(record.name().to_string(), "a score without an answer of a model", "no verdict");
        }
    }
    for record in ledger.records() {
        let Record::Score(r) = record else { continue };
        let judge = context.manifest.evaluator(&r.evaluator).is_some_and(|evaluator| evaluator.judge.is_some());
        if !judge {
            continue;
        }
        outcome.checks("scores of judges", 1);
        let (asked, answered) = verdicts.get(&(&r.task, &r.subject, &r.evaluator)).copied().unwrap_or_default();
        let scored = r.score.score().is_some();
        if scored && answered == 0 {
            let found = format!("a score although 0 of {asked} judgements have one");
            outcome.finds(record.name().to_string(), found, "no verdict");
        }
        if !scored && r.others.values().any(|other| other.score().is_some()) {
            outcome.finds(record.name().to_string(), "another aggregate with a score", "no verdict");
        }
    }
}

fn attempts(ledger: &Ledger, outcome: &mut Outcome) {
    for record in ledger.records() {
        let Record::Attempt(r) = record else { continue };
        outcome.checks("attempts", 1);
        if r.score.is_some() && !r.eligible {
            outcome.finds(record.name().to_string(), "a score", "none, for the candidate is not eligible");
        }
        if r.no_answer.is_some() && (r.candidate.is_some() || r.eligible) {
            outcome.finds(record.name().to_string(), "a candidate", "none, for there was no answer");
        }
    }
}

fn is_missing(score: &RecordedScore) -> bool {
    score.score().is_none()
}

/// What the ledger has of a score, from good to bad: of a pair the worse counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    Score,
    NoVerdict,
    NotRecorded,
}

impl Kept {
    fn of(score: &RecordedScore) -> Kept {
        match is_missing(score) {
            true if score.is_unrecorded() => Kept::NotRecorded,
            true => Kept::NoVerdict,
            false => Kept::Score,
        }
    }
}

/// The ledger's own count; what a replay has no recording of is not in it.
fn own_count(ledger: &Ledger, outcome: &mut Outcome) {
    let every = || ledger.records().filter_map(|record| if let Record::Score(r) = record { Some(r) } else { None });
    outcome.counts("scores without a recording", every().filter(|r| r.score.is_unrecorded()).count());
    let scores = || every().filter(|r| !r.score.is_unrecorded());
    let (all, missing) = (scores().count(), scores().filter(|r| is_missing(&r.score)).count());
    outcome.counts("scores without a verdict", missing);
    for record in ledger.records() {
        let Record::Audit(audit) = record else { continue };
        if audit.name == "no-verdict" {
            let place = "audit no-verdict of the ledger";
            outcome.compare("counts in the ledger", place, &audit.checked, &(all as u64));
            outcome.compare("counts in the ledger", place, &audit.faults, &(missing as u64));
        }
    }
}

/// What tables must say of an evaluator on a set of adversaries: how many pairs have no verdict.
fn tables(context: &Context<'_>, ledger: &Ledger, outcome: &mut Outcome) -> Result<(), RunError> {
    let Some(bytes) = context.file("tables/tables.json", outcome) else { return Ok(()) };
    let Ok(document) = serde_json::from_slice::<Value>(&bytes) else {
        outcome.finds("tables/tables.json", "no JSON", "tables");
        return Ok(());
    };
    let mut scores: BTreeMap<(&str, &Subject, &str), Kept> = BTreeMap::new();
    for record in ledger.records() {
        if let Record::Score(r) = record {
            scores.insert((&r.task, &r.subject, &r.evaluator), Kept::of(&r.score));
        }
    }
    let of = |task: &str, subject: &Subject, evaluator: &str| scores.get(&(task, subject, evaluator)).copied();
    let held_out: Vec<&str> =
        context.manifest.tasks.iter().filter(|task| task.is_held_out()).map(|task| task.id.as_str()).collect();
    // Matched pairs of an evaluator on a target's adversaries, by task: what the worse of H and A has.
    let pairs = |target: &str, evaluator: &str| -> BTreeMap<&str, Kept> {
        let adversary = Subject::Adversary { target: target.to_owned() };
        let worse = |task: &str| Some(of(task, &Subject::Honest {}, evaluator)?.max(of(task, &adversary, evaluator)?));
        held_out.iter().copied().filter_map(|task| Some((task, worse(task)?))).collect()
    };
    let reference = context.manifest.reference_target.as_str();
    for table in document["tables"].as_array().into_iter().flatten() {
        let id = table["id"].as_str().unwrap_or_default();
        for row in table["rows"].as_array().into_iter().flatten() {
            match id {
                "2" | "B.3" | "B.2" => {
                    let key = if id == "B.2" { "evaluator" } else { "target" };
                    let Some(name) = row[key].as_str() else { continue };
                    let Some(found) = row["no_verdict"].as_u64() else { continue };
                    let target = if id == "B.2" { reference } else { name };
                    let expected = pairs(target, name).values().filter(|kept| **kept == Kept::NoVerdict).count() as u64;
                    outcome.compare("rows of tables", &format!("table {id}, {name}, no_verdict"), &found, &expected);
                }
                "B.1" => {
                    let Some(task) = row["task"].as_str() else { continue };
                    for evaluator in &context.manifest.evaluators {
                        let (name, pair) = (&evaluator.id, pairs(reference, &evaluator.id).get(task).copied());
                        let cell = row.get(name).filter(|cell| !cell.is_null());
                        if let (Some(Kept::NoVerdict | Kept::NotRecorded), Some(cell)) = (pair, cell) {
                            let place = format!("table B.1, {task}, {name}");
                            outcome.finds(place, cell.to_string(), "nothing, for a score of the pair is missing");
                        }
                        outcome.checks("cells of tables", usize::from(pair.is_some()));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}
