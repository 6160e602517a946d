//! Counts over checklists, and how their items behave over logs (G §3.2, §4.6).

use std::collections::BTreeMap;

use parthack_statistics::Ratio;

use super::study::{Log, NO_VERDICT, NOTHING, Study, exact};
use super::table::{Column, Table, Value, number, words};
use crate::checklist::{Category, Checklist, Route};
use crate::controls::routes::{RouteStatistics, statistics};
use crate::controls::variation::{Redundant, Row, enforceability, redundant};

/// The fewest decided labels for a word on how an item behaves.
const LEAST_DECIDED: usize = 3;
/// The fewest logs that decide two items for a word on whether they say the same.
const LEAST_TOGETHER: usize = 5;
/// The share of such logs, in percent, in which redundant items agree.
const REDUNDANT_PERCENT: usize = 95;

/// Items and routes, of each suite and of all.
pub(crate) fn routes(study: &Study<'_>) -> Table {
    let mut columns: Vec<Column> = vec![
        words("suite", "Suite"),
        number("tasks", "Tasks"),
        number("items", "Items"),
        number("least", "Fewest"),
        number("median", "Median"),
        number("most", "Most"),
        number("assertion", "Assertion"),
        number("assertion_share", "Share"),
        number("generated", "Generated"),
        number("generated_share", "Share"),
        number("judge", "Judge"),
        number("judge_share", "Share"),
    ];
    columns.extend(Category::WORDS.iter().map(|(word, _)| number(word, word)));
    columns.push(number("uncategorized", "No category"));
    let mut suites: BTreeMap<&str, Vec<&Checklist>> = BTreeMap::new();
    for (task, frozen) in study.input.checklists {
        let suite = task.split_once('/').map_or("", |(suite, _)| suite);
        suites.entry(suite).or_default().push(&frozen.checklist);
    }
    let mut rows = Vec::new();
    if suites.len() > 1 {
        for (suite, checklists) in &suites {
            let name = if suite.is_empty() { Value::Missing("unknown") } else { Value::text(*suite) };
            rows.push(of_suite(name, &statistics(checklists.iter().copied())));
        }
    }
    if !suites.is_empty() {
        rows.push(of_suite(Value::text("all"), &statistics(suites.values().flatten().copied())));
    }
    let whole = statistics(suites.values().flatten().copied());
    let notes = vec![
        format!("n = {} items, {} tasks; no log and no judge is read.", whole.items, whole.tasks),
        "Of the frozen checklists. Categories are for the audit alone.".to_owned(),
    ];
    Table { id: "routes", title: "Checklist items and their routes", columns, rows, notes }
}

fn of_suite(name: Value, of: &RouteStatistics) -> Vec<Value> {
    let count = |count: Option<usize>| count.map_or(Value::Missing(NOTHING), Value::count);
    let median = of.twice_median.and_then(|twice| Ratio::new(twice as i128, 2).ok());
    let mut row = vec![
        name,
        Value::count(of.tasks),
        Value::count(of.items),
        count(of.range.map(|(least, _)| least)),
        Value::exact(median, NOTHING),
        count(of.range.map(|(_, most)| most)),
    ];
    for route in [Route::Assertion, Route::Generated, Route::Judge] {
        row.push(count(of.routes.get(&route).copied()));
        row.push(Value::exact(of.share(route).and_then(exact), NOTHING));
    }
    let categories = Category::WORDS.iter().map(|(_, category)| Some(*category)).chain([None]);
    row.extend(categories.map(|category| Value::count(of.categories.get(&category).copied().unwrap_or_default())));
    row
}

/// How each item behaves over the logs of its task.
pub(crate) fn items(study: &Study<'_>) -> Table {
    let columns = vec![
        words("task", "Task"),
        words("item", "Item"),
        words("route", "Route"),
        words("category", "Category"),
        number("n", "Logs"),
        number("yes", "Yes"),
        number("no", "No"),
        number("abstain", "Abstain"),
        number("contradicted", "No, yet passed"),
        words("behaviour", "Behaviour"),
        words("redundant_with", "Redundant with"),
        number("redundant_agreement", "Agreement"),
        number("redundant_logs", "Both decided"),
        number("no_verdict", "No verdict"),
    ];
    let mut logs: BTreeMap<&str, Vec<&Log<'_>>> = BTreeMap::new();
    for log in &study.logs {
        logs.entry(log.task()).or_default().push(log);
    }
    let (mut rows, mut judged) = (Vec::new(), 0);
    for (task, frozen) in study.input.checklists {
        let of_task = logs.get(task.as_str()).map_or(&[][..], Vec::as_slice);
        let labels: Vec<Row> = of_task
            .iter()
            .filter_map(|log| log.gcpc.get().ok())
            .map(|labelled| Row { labels: labelled.alone(), outcome: labelled.labels.outcome })
            .collect();
        judged += labels.len();
        let no_verdict = of_task.iter().filter(|log| log.gcpc.get().err() == Some(NO_VERDICT)).count();
        let counts = enforceability(&frozen.checklist, &labels, LEAST_DECIDED);
        let pairs = redundant(&frozen.checklist, &labels, LEAST_TOGETHER, REDUNDANT_PERCENT);
        for (item, counts) in frozen.checklist.items.iter().zip(counts) {
            let nearest = nearest(&pairs, &item.id);
            let none = || Value::Missing("none");
            rows.push(vec![
                Value::text(task),
                Value::text(&item.id),
                Value::text(item.route.word()),
                item.category.map_or(Value::Missing("none"), |category| Value::text(category.word())),
                Value::count(labels.len()),
                Value::count(counts.yes),
                Value::count(counts.no),
                Value::count(counts.abstain),
                Value::count(counts.contradicted),
                Value::text(counts.behaviour.word()),
                nearest.map_or_else(none, |(other, _)| Value::text(other)),
                nearest.map_or_else(none, |(_, pair)| Value::exact(exact(pair.agreement), "none")),
                nearest.map_or_else(none, |(_, pair)| Value::Count(pair.agreement.denominator())),
                Value::count(no_verdict),
            ]);
        }
    }
    let tasks = study.input.checklists.len();
    let mut notes = study.notes(judged, "logs with labels", tasks);
    notes.push(format!(
        "Labels are of the log alone, zero-evidence logs included. Behaviour needs {LEAST_DECIDED} decided labels; items that never vary are for a person to review. Redundant: two items that both vary and agree in {REDUNDANT_PERCENT} % or more of at least {LEAST_TOGETHER} logs that decide both; of several, the one that agrees most."
    ));
    Table { id: "items", title: "How items behave over logs", columns, rows, notes }
}

/// The item that agrees most with one, of those that the gate calls redundant; the earlier of equals.
fn nearest<'p>(pairs: &'p [Redundant], id: &str) -> Option<(&'p str, &'p Redundant)> {
    let mut best: Option<(&str, &Redundant)> = None;
    for pair in pairs {
        let other = match (pair.first == id, pair.second == id) {
            (true, _) => pair.second.as_str(),
            (_, true) => pair.first.as_str(),
            _ => continue,
        };
        if best.is_none_or(|(_, found)| pair.agreement > found.agreement) {
            best = Some((other, pair));
        }
    }
    best
}
