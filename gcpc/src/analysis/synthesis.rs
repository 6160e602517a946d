//! G's Table 4: how checklist synthesis fares across benchmarks.

use std::collections::BTreeMap;

use parthack_statistics::Ratio;

use super::error::AnalysisError;
use super::study::{NOTHING, Study};
use super::table::{Table, Value, number, words};
use crate::records::AttemptSummary;

/// The attempts at one task's checklist, by number.
type Attempts<'a> = BTreeMap<u32, &'a AttemptSummary>;

/// Table 4.
pub(crate) fn table(study: &Study<'_>) -> Result<Table, AnalysisError> {
    let columns = vec![
        words("benchmark", "Benchmark"),
        number("tasks", "Tasks"),
        number("answered", "Answered"),
        number("items", "Items"),
        number("sound_items", "Sound"),
        number("validity", "Validity"),
        number("first_accepted", "Accepted at once"),
        number("accepted", "Accepted"),
        number("accepted_items", "Items accepted"),
        number("accepted_validity", "Validity accepted"),
        number("attempts", "Attempts"),
        number("rejected", "Rejected"),
        number("unreadable", "Unreadable"),
        number("no_answer", "No answer"),
    ];
    let mut benchmarks: BTreeMap<&str, BTreeMap<&str, Attempts<'_>>> = BTreeMap::new();
    for attempt in study.input.attempts {
        checked(attempt)?;
        let tasks = benchmarks.entry(&attempt.benchmark).or_default();
        if tasks.entry(&attempt.task).or_default().insert(attempt.attempt, attempt).is_some() {
            let (task, attempt) = (attempt.task.clone(), attempt.attempt);
            return Err(AnalysisError::DuplicateAttempt { task, attempt });
        }
    }
    let rows = benchmarks.iter().map(|(benchmark, tasks)| row(benchmark, tasks)).collect();
    let tasks: usize = benchmarks.values().map(BTreeMap::len).sum();
    let made_by_hand = study.input.checklists.values().filter(|frozen| frozen.generation.is_none()).count();
    let notes = vec![
        format!("n = {} attempts, {tasks} tasks; no log and no judge is read.", study.input.attempts.len()),
        "Items, Sound and Validity are of each task's first attempt that was answered with a checklist that can be read, accepted or not; an answer that can't be read has no items and is counted apart. Beside it the accepted attempt, whose items all pass, as no item of a refused checklist is frozen. A checklist can be refused as a whole although each of its items is sound.".to_owned(),
        format!("Frozen checklists that no attempt made: {made_by_hand}."),
    ];
    Ok(Table { id: "4", title: "Checklist synthesis across benchmarks", columns, rows, notes })
}

const RESULTS: [&str; 4] = ["accepted", "rejected", "unreadable", "no_answer"];

fn checked(attempt: &AttemptSummary) -> Result<(), AnalysisError> {
    let fault = |found: String| AnalysisError::Attempt { task: attempt.task.clone(), attempt: attempt.attempt, found };
    if !RESULTS.contains(&attempt.result.as_str()) {
        return Err(fault(format!("{:?}", attempt.result)));
    }
    if attempt.sound_items > attempt.items {
        return Err(fault(format!("{} sound items of {}", attempt.sound_items, attempt.items)));
    }
    Ok(())
}

fn row(benchmark: &str, tasks: &BTreeMap<&str, Attempts<'_>>) -> Vec<Value> {
    let is_read = |attempt: &&&AttemptSummary| matches!(attempt.result.as_str(), "accepted" | "rejected");
    let first: Vec<&AttemptSummary> =
        tasks.values().filter_map(|attempts| attempts.values().find(is_read)).copied().collect();
    let accepted: Vec<&AttemptSummary> = tasks
        .values()
        .filter_map(|attempts| attempts.values().find(|attempt| attempt.result == "accepted"))
        .copied()
        .collect();
    let items = |of: &[&AttemptSummary]| of.iter().map(|attempt| attempt.items).sum::<usize>();
    let sound = |of: &[&AttemptSummary]| of.iter().map(|attempt| attempt.sound_items).sum::<usize>();
    let validity =
        |of: &[&AttemptSummary]| Value::exact(Ratio::new(sound(of) as i128, items(of) as i128).ok(), NOTHING);
    let at_once = tasks.values().filter(|attempts| {
        attempts.first_key_value().is_some_and(|(number, attempt)| *number == 1 && attempt.result == "accepted")
    });
    let all = || tasks.values().flat_map(BTreeMap::values);
    let count = |result: &str| Value::count(all().filter(|attempt| attempt.result == result).count());
    vec![
        if benchmark.is_empty() { Value::Missing("unknown") } else { Value::text(benchmark) },
        Value::count(tasks.len()),
        Value::count(first.len()),
        Value::count(items(&first)),
        Value::count(sound(&first)),
        validity(&first),
        Value::count(at_once.count()),
        Value::count(accepted.len()),
        Value::count(items(&accepted)),
        validity(&accepted),
        Value::count(all().count()),
        count("rejected"),
        count("unreadable"),
        count("no_answer"),
    ]
}
