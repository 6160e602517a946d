//! The same log judged again: in several passes by one judge, and by another judge (G §4.6).

use std::collections::{BTreeMap, BTreeSet};

use parthack_statistics::{Alpha, BootstrapError, Clusters, Ratio, alpha_interval, alpha_nominal, mean};

use super::error::AnalysisError;
use super::resampling::{alpha_of, correlation, mean_of, share};
use super::selection::{GCPC, is_primary};
use super::study::{Labelled, NOTHING, Reading, Score, Study, ZERO_EVIDENCE, labelled};
use super::table::{Table, Value, number, words};
use crate::judging::passes::{majority, substitution};
use crate::label::Label;

/// A log's passes, by number.
struct Passes<'a> {
    task: &'a str,
    readings: BTreeMap<u32, Reading<Labelled>>,
}

impl Passes<'_> {
    fn verdicts(&self) -> impl Iterator<Item = &Labelled> {
        self.readings.values().filter_map(|reading| reading.get().ok())
    }
}

fn read<'a>(study: &Study<'a>, judge: &str) -> Result<BTreeMap<&'a str, Passes<'a>>, AnalysisError> {
    let mut logs: BTreeMap<&str, Passes<'_>> = BTreeMap::new();
    for judgement in study.selection.of(judge, GCPC, is_primary) {
        let task = judgement.identity.task.as_str();
        let reading = labelled(judgement, study.input.checklists.get(task))?;
        let passes = logs.entry(&judgement.identity.log).or_insert_with(|| Passes { task, readings: BTreeMap::new() });
        passes.readings.insert(judgement.pass, reading);
    }
    Ok(logs)
}

/// A row of [`passes`].
fn row(measure: &str, unit: &str, n: usize, tasks: usize, value: Value, no_verdict: usize) -> Vec<Value> {
    vec![Value::text(measure), Value::text(unit), Value::count(n), Value::count(tasks), value, Value::count(no_verdict)]
}

/// Reliability over passes.
pub(crate) fn passes(study: &Study<'_>) -> Result<Table, AnalysisError> {
    let columns = vec![
        words("measure", "Measure"),
        words("unit", "Of"),
        number("n", "n"),
        number("tasks", "Tasks"),
        number("value", "Value"),
        number("no_verdict", "Passes without verdict"),
    ];
    let logs = read(study, study.judge())?;
    let several: Vec<&Passes<'_>> = logs.values().filter(|of| of.readings.len() > 1).collect();
    let numbers: BTreeSet<u32> = several.iter().flat_map(|of| of.readings.keys().copied()).collect();
    let without: usize = several.iter().map(|of| of.readings.len() - of.verdicts().count()).sum();
    let mut rows = Vec::new();
    if !several.is_empty() {
        let scores = |score: fn(&Labelled) -> Result<Ratio, &'static str>| {
            let units = several.iter().map(|of| (of.task, of.verdicts().map(|of| score(of).ok()).collect::<Vec<_>>()));
            Clusters::from_pairs(units.filter(|(_, scores)| scores.iter().flatten().count() > 1))
        };
        let mut alpha_row = |measure: &str, unit: &str, found: (usize, usize, Value)| {
            rows.push(row(measure, unit, found.0, found.1, found.2, without));
        };
        let plain = scores(Labelled::gcpc);
        alpha_row("GCPC alpha, interval", "logs", alpha(study, &plain, |units| alpha_interval(units))?);
        let with_outcome = scores(Labelled::gcpc_outcome);
        alpha_row(
            "GCPC with outcome alpha, interval",
            "logs",
            alpha(study, &with_outcome, |units| alpha_interval(units))?,
        );
        let labels = Clusters::from_pairs(several.iter().flat_map(|of| {
            let units = by_item(of.verdicts());
            units.into_iter().filter(|unit| unit.len() > 1).map(|unit| (of.task, unit))
        }));
        alpha_row("label alpha, nominal", "items of logs", alpha(study, &labels, |units| alpha_nominal(units))?);
        rows.extend(over_all_passes(study, &several, numbers.len(), without)?);
        let apart = plain.filter_map(|scores| {
            let scores: Vec<Ratio> = scores.iter().flatten().copied().collect();
            mean_distance(&scores)
        });
        let value = mean_of(&study.bootstrap, &apart)?;
        rows.push(row(
            "mean absolute difference of GCPC between passes",
            "logs",
            apart.observations(),
            apart.len(),
            value,
            without,
        ));
    }
    let zero = several.iter().flat_map(|of| of.verdicts()).filter(|of| of.gcpc() == Err(ZERO_EVIDENCE)).count();
    let tasks: BTreeSet<&str> = several.iter().map(|of| of.task).collect();
    let mut notes = study.notes(several.len(), "logs judged in more than one pass", tasks.len());
    notes.push(format!(
        "{} passes. α is Krippendorff's over the passes that have a verdict. Unanimity and majority are over the items of logs that have a verdict in every pass; majority: more than half of the passes give the same of the three labels. {zero} passes find no evidence at all and have no plain GCPC.",
        numbers.len()
    ));
    notes.push(study.interval_note());
    Ok(Table { id: "reliability", title: "Reliability over passes", columns, rows, notes })
}

/// Labels of each item, a pass each. Passes of unlike checklists have no items in common.
fn by_item<'l>(passes: impl Iterator<Item = &'l Labelled>) -> Vec<Vec<Option<Label>>> {
    let mut items: BTreeMap<&str, Vec<Option<Label>>> = BTreeMap::new();
    for item in passes.flat_map(|labelled| &labelled.labels.items) {
        items.entry(&item.id).or_default().push(Some(item.label));
    }
    items.into_values().collect()
}

/// Units, tasks, and α with its interval.
fn alpha<T>(
    study: &Study<'_>,
    units: &Clusters<&str, Vec<Option<T>>>,
    alpha: impl Fn(&[&Vec<Option<T>>]) -> Option<Alpha>,
) -> Result<(usize, usize, Value), BootstrapError> {
    Ok((units.observations(), units.len(), alpha_of(&study.bootstrap, units, alpha)?))
}

/// A log with a verdict in every pass.
struct Complete<'a> {
    task: &'a str,
    labels: Vec<Vec<Label>>,
    majority: Vec<Label>,
}

/// Something that holds of an item of a log, or not.
type Holds = fn(&Complete<'_>, usize) -> bool;

fn over_all_passes(
    study: &Study<'_>,
    several: &[&Passes<'_>],
    passes: usize,
    without: usize,
) -> Result<Vec<Vec<Value>>, BootstrapError> {
    let complete = several.iter().filter_map(|of| {
        let labels: Vec<Vec<Label>> = of.verdicts().map(Labelled::alone).collect();
        let majority = majority(&labels).filter(|_| labels.len() == passes)?;
        Some(Complete { task: of.task, labels, majority })
    });
    let complete: Vec<Complete<'_>> = complete.collect();
    let is_unanimous: Holds = |of, item| of.labels.iter().all(|pass| pass[item] == of.labels[0][item]);
    let has_majority: Holds = |of, item| {
        let count = |label: Label| of.labels.iter().filter(|pass| pass[item] == label).count();
        Label::WORDS.iter().any(|(_, label)| 2 * count(*label) > of.labels.len())
    };
    let is_first: Holds = |of, item| of.labels[0][item] == of.majority[item];
    let mut rows = Vec::new();
    for (measure, holds) in
        [("unanimity", is_unanimous), ("majority", has_majority), ("first pass as the majority", is_first)]
    {
        let things = complete.iter().flat_map(|of| (0..of.majority.len()).map(move |item| (of.task, holds(of, item))));
        let share = share(&study.bootstrap, things)?;
        rows.push(row(measure, "items of logs", share.n, share.tasks, share.value, without));
    }
    Ok(rows)
}

/// The mean distance of two of some scores; `None` of fewer than two.
fn mean_distance(scores: &[Ratio]) -> Option<Ratio> {
    let pairs = scores
        .iter()
        .enumerate()
        .flat_map(|(place, one)| scores[place + 1..].iter().map(move |other| one.difference(*other).magnitude()));
    let distances: Vec<Ratio> = pairs.collect();
    let sum = distances.iter().try_fold(Ratio::ZERO, |sum, distance| sum.checked_add(*distance));
    let exact = sum.and_then(|sum| sum.checked_mul(Ratio::new(1, distances.len() as i128).ok()?));
    exact.or_else(|| Ratio::measured(mean(&distances)?).ok())
}

/// Other judges beside the primary one, on the logs that both judged.
pub(crate) fn judges(study: &Study<'_>) -> Result<Table, AnalysisError> {
    let mut columns = vec![
        words("judge", "Judge"),
        number("n", "Logs"),
        number("tasks", "Tasks"),
        number("scored", "Both scored"),
        number("rho", "ρ of GCPC"),
        number("scored_outcome", "Both scored, outcome"),
        number("rho_outcome", "ρ with outcome"),
        number("items", "Items"),
        number("same", "Same label"),
        number("abstain_primary", "Abstains, primary"),
        number("abstain", "Abstains"),
    ];
    let words_of = [
        ("yes_yes", "Yes, Yes"),
        ("yes_no", "Yes, No"),
        ("yes_abstain", "Yes, Abstain"),
        ("no_yes", "No, Yes"),
        ("no_no", "No, No"),
        ("no_abstain", "No, Abstain"),
        ("abstain_yes", "Abstain, Yes"),
        ("abstain_no", "Abstain, No"),
        ("abstain_abstain", "Abstain, Abstain"),
    ];
    columns.extend(words_of.iter().map(|(key, header)| number(key, header)));
    columns.push(number("zero_evidence", "Zero evidence"));
    columns.push(number("no_verdict", "No verdict"));
    let primary = read(study, study.judge())?;
    let mut rows = Vec::new();
    let others: Vec<&str> = study.selection.judges.iter().copied().filter(|judge| *judge != study.judge()).collect();
    for judge in &others {
        rows.extend(substitute(study, judge, &primary, &read(study, judge)?)?);
    }
    let judged = study.logs.iter().filter(|log| log.score(Score::Gcpc) != Err(super::study::NOT_JUDGED));
    let mut notes = study.notes_of(judged);
    notes.push("Each row is over the logs that both judges gave a verdict of in their first pass, by the same checklist. Labels and GCPC are of the log alone; ρ with the official outcome partly reflects the outcome that both scores share. Two labels: the primary judge's, then the other's.".to_owned());
    notes.push(study.interval_note());
    Ok(Table { id: "judges", title: "Another judge in place of the primary one", columns, rows, notes })
}

type Judged<'a> = BTreeMap<&'a str, Passes<'a>>;

/// The row of a judge; `None` if the two judged no log in common.
fn substitute<'a>(
    study: &Study<'a>,
    judge: &str,
    primary: &Judged<'a>,
    other: &Judged<'a>,
) -> Result<Option<Vec<Value>>, BootstrapError> {
    let first = |of: &'_ Judged<'a>, log: &str| of.get(log).is_some_and(|of| of.readings.contains_key(&1));
    let common: Vec<&str> = primary.keys().copied().filter(|log| first(primary, log) && first(other, log)).collect();
    if common.is_empty() {
        return Ok(None);
    }
    let verdict = |of: &'_ Judged<'a>, log: &str| of.get(log)?.readings.get(&1)?.get().ok().cloned();
    let mut pairs: Vec<(&str, Labelled, Labelled)> = Vec::new();
    let mut no_verdict = 0;
    for log in &common {
        let task = primary.get(log).map_or("", |of| of.task);
        match (verdict(primary, log), verdict(other, log)) {
            (Some(one), Some(two)) if one.ids().eq(two.ids()) => pairs.push((task, one, two)),
            (Some(_), Some(_)) => {}
            _ => no_verdict += 1,
        }
    }
    let rho = |score: fn(&Labelled) -> Result<Ratio, &'static str>| {
        let scores = pairs.iter().filter_map(|(task, one, two)| Some((*task, (score(one).ok()?, score(two).ok()?))));
        correlation(&study.bootstrap, scores)
    };
    let (plain, with_outcome) = (rho(Labelled::gcpc)?, rho(Labelled::gcpc_outcome)?);
    let labels: Vec<(&str, Vec<Label>, Vec<Label>)> =
        pairs.iter().map(|(task, one, two)| (*task, one.alone(), two.alone())).collect();
    let counts = substitution(labels.iter().map(|(_, one, two)| (one.as_slice(), two.as_slice())));
    let items = labels
        .iter()
        .flat_map(|(task, one, two)| one.iter().copied().zip(two.iter().copied()).map(move |pair| (*task, pair)));
    let items: Vec<(&str, (Label, Label))> = items.collect();
    let of_items = |holds: fn((Label, Label)) -> bool| {
        share(&study.bootstrap, items.iter().map(|(task, pair)| (*task, holds(*pair))))
    };
    let tasks: BTreeSet<&str> = pairs.iter().map(|(task, ..)| *task).collect();
    let zero = pairs.iter().filter(|(_, one, two)| [one, two].iter().any(|of| of.gcpc() == Err(ZERO_EVIDENCE)));
    let mut row = vec![
        Value::text(judge),
        Value::count(pairs.len()),
        Value::count(tasks.len()),
        Value::count(plain.n),
        plain.value,
        Value::count(with_outcome.n),
        with_outcome.value,
        Value::count(items.len()),
        of_items(|(one, two)| one == two)?.value,
        of_items(|(one, _)| one == Label::Abstain)?.value,
        of_items(|(_, two)| two == Label::Abstain)?.value,
    ];
    let in_order = [Label::Yes, Label::No, Label::Abstain];
    for one in in_order {
        row.extend(
            in_order.map(|two| counts.get(&(one, two)).map_or(Value::Missing(NOTHING), |count| Value::Count(*count))),
        );
    }
    row.push(Value::count(zero.count()));
    row.push(Value::count(no_verdict));
    Ok(Some(row))
}
