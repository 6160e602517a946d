//! What the official-outcome step does: its four variants (G, Table 3 B), abstentions recoded, and Perfect against the outcome.

use parthack_statistics::{BootstrapError, Clusters, Proportion, Scored};

use super::resampling::{separation_increment, separation_of};
use super::study::{Labelled, Log, NO_VERDICT, NOTHING, Score, Study, ZERO_EVIDENCE, distinct, exact};
use super::table::{Estimate, Table, Value, number, words};
use crate::label::Outcome;
use crate::metrics;
use crate::outcome::{Labels, Step};

/// A separation on the logs of the step's analyses: those with item labels, some evidence and an outcome.
pub(crate) struct Separated {
    pub(crate) n: usize,
    pub(crate) tasks: usize,
    pub(crate) value: Value,
    /// Against the first of its group; `None` for that one.
    pub(crate) increment: Option<Value>,
}

/// The logs of the step's analyses.
pub(crate) fn sample<'s, 'a>(study: &'s Study<'a>) -> impl Iterator<Item = (&'s Log<'a>, &'s Labelled, bool)> {
    let chosen = |log: &'s Log<'a>| {
        let labelled = log.gcpc.get().ok()?;
        labelled.gcpc().ok()?;
        Some((log, labelled, log.passed()?))
    };
    study.logs.iter().filter_map(chosen)
}

/// The four variants, in the order of [`Step::VARIANTS`], all on the same logs.
pub(crate) fn variants(study: &Study<'_>) -> Result<Vec<Separated>, BootstrapError> {
    let of = |place: usize| {
        Clusters::from_pairs(sample(study).filter_map(|(log, labelled, passed)| {
            let score = metrics::ablation(&labelled.labels)[place].1.and_then(exact)?;
            Some((log.task(), Scored { score, passed }))
        }))
    };
    compared(study, &(0..Step::VARIANTS.len()).map(of).collect::<Vec<_>>())
}

/// The abstention rule as it is, and every Abstain recoded as No; both after the outcome step, on the same logs.
pub(crate) fn abstentions(study: &Study<'_>) -> Result<Vec<Separated>, BootstrapError> {
    let of = |recode: fn(&Labels) -> Labels| {
        Clusters::from_pairs(sample(study).filter_map(|(log, labelled, passed)| {
            let score = metrics::score(&recode(&labelled.labels)).gcpc_outcome.and_then(exact)?;
            Some((log.task(), Scored { score, passed }))
        }))
    };
    compared(study, &[of(Labels::clone), of(Labels::abstain_as_no)])
}

/// Separations of several scores of the same logs, each against the first.
pub(crate) fn compared(study: &Study<'_>, scores: &[Clusters<&str, Scored>]) -> Result<Vec<Separated>, BootstrapError> {
    let one = |(place, logs): (usize, &Clusters<&str, Scored>)| {
        let increment = match place {
            0 => None,
            _ => Some(separation_increment(&study.bootstrap, &scores[0], logs)?),
        };
        Ok(Separated {
            n: logs.observations(),
            tasks: logs.len(),
            value: separation_of(&study.bootstrap, logs)?,
            increment,
        })
    };
    scores.iter().enumerate().map(one).collect()
}

/// Perfect against the official outcome, the endpoint in and out (G §3.4).
pub(crate) fn perfect(study: &Study<'_>) -> Table {
    let columns = vec![
        words("endpoint", "Endpoint"),
        words("sample", "Sample"),
        number("n", "n"),
        number("tasks", "Tasks"),
        number("perfect_passed", "Perfect, passed"),
        number("perfect_failed", "Perfect, failed"),
        number("imperfect_passed", "Not, passed"),
        number("imperfect_failed", "Not, failed"),
        number("agree", "Agree"),
        number("agreement", "Agreement"),
        number("zero_evidence", "Zero evidence"),
        number("no_verdict", "No verdict"),
    ];
    let judged = || {
        study.logs.iter().filter_map(|log| {
            let labelled = log.gcpc.get().ok()?;
            Some((log.task(), labelled.scores.perfect?, labelled.scores.zero_evidence, log.identity.outcome?))
        })
    };
    let without = judged().filter(|(_, _, zero, _)| *zero).count();
    let mut rows = Vec::new();
    for (sample, with_zero) in [("some evidence", false), ("all", true)] {
        let logs: Vec<(&str, bool, Outcome)> = judged()
            .filter(|(_, _, zero, _)| with_zero || !zero)
            .map(|(task, perfect, _, outcome)| (task, perfect, outcome))
            .collect();
        let tasks = distinct(&logs.iter().map(|(task, _, _)| *task).collect::<Vec<_>>());
        for (endpoint, counts_endpoint) in [("excluded", false), ("included", true)] {
            // The endpoint of a FAIL is a No among the labels.
            let is_perfect = |(_, perfect, outcome): &(&str, bool, Outcome)| {
                *perfect && !(counts_endpoint && *outcome == Outcome::Fail)
            };
            let count = |perfect: bool, outcome: Outcome| {
                logs.iter().filter(|log| is_perfect(log) == perfect && log.2 == outcome).count()
            };
            let (true_pass, true_fail) = (count(true, Outcome::Pass), count(false, Outcome::Fail));
            let agreement = Proportion::new(true_pass + true_fail, logs.len());
            let interval = agreement.and_then(|agreement| Some((agreement.ratio()?, agreement.wilson()?)));
            let interval = interval.map_or(Value::Missing(NOTHING), |(ratio, [low, high])| Value::Interval {
                mean: Estimate::Exact(ratio),
                low,
                high,
            });
            rows.push(vec![
                Value::text(endpoint),
                Value::text(sample),
                Value::count(logs.len()),
                Value::count(tasks),
                Value::count(true_pass),
                Value::count(count(true, Outcome::Fail)),
                Value::count(count(false, Outcome::Pass)),
                Value::count(true_fail),
                Value::count(true_pass + true_fail),
                interval,
                Value::count(without),
                Value::count(study.missing(Score::Gcpc, NO_VERDICT)),
            ]);
        }
    }
    if study.is_empty() {
        rows.clear();
    }
    let of = study.logs.iter().filter(|log| log.gcpc.get().is_ok() && log.passed().is_some());
    let mut notes = study.notes_of(of);
    notes.push("Intervals: 95 %, Wilson; they take logs as independent, which those of one task are not, and so are too narrow rather than too wide.".to_owned());
    notes.push(format!(
        "Perfect is after PASS propagation. With the endpoint every failed log agrees, whatever its items are. {} logs are without any evidence.",
        study.missing(Score::Gcpc, ZERO_EVIDENCE)
    ));
    Table { id: "perfect", title: "Perfect against the official outcome", columns, rows, notes }
}
