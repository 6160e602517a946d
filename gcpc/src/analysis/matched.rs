//! Pairs of runs: with a skill and without, by how the outcome changed (G §4.4, Figure 5); one passed and one failed log a task (G §4.6).

use std::collections::BTreeMap;

use parthack_statistics::{
    BootstrapError, Clusters, MATERIAL_CHANGE, MatchedPair, MatchedRun, NOISE_FLOOR, Ratio, SameTaskPair, Shares,
    Transition, TransitionRow, median, transition_table, win_tie_loss,
};

use super::resampling::{mean_of, statistic_of};
use super::study::{Log, NO_VERDICT, NOTHING, Score, Study, ZERO_EVIDENCE, distinct};
use super::table::{Table, Value, number, words};

const WITH: &str = "with-skill";
const WITHOUT: &str = "without-skill";

/// Two runs that share task, harness and model.
struct Matched<'s, 'a> {
    without: &'s Log<'a>,
    with: &'s Log<'a>,
    pair: MatchedPair,
}

/// What matching made of the logs.
struct Matching<'s, 'a> {
    pairs: Vec<Matched<'s, 'a>>,
    unmatched_with: usize,
    unmatched_without: usize,
    other_condition: usize,
    no_outcome: usize,
    /// Pairs of which harness or model is unknown on both sides.
    unknown: usize,
}

/// What the two sides share: task, harness, model.
type Shared<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

/// Pairs logs by task, harness and model; several runs of a side stand in the order of run id, then hash, and are paired one to one.
/// Scores have no part in it: a log without a verdict takes its place all the same.
fn matching<'s, 'a>(study: &'s Study<'a>) -> Matching<'s, 'a> {
    let judged = study.logs.iter().filter(|log| log.score(Score::Gcpc) != Err(super::study::NOT_JUDGED));
    let mut found = Matching {
        pairs: Vec::new(),
        unmatched_with: 0,
        unmatched_without: 0,
        other_condition: 0,
        no_outcome: 0,
        unknown: 0,
    };
    let mut groups: BTreeMap<Shared<'a>, [Vec<&Log<'a>>; 2]> = BTreeMap::new();
    for log in judged {
        let side = match log.identity.condition.as_str() {
            WITHOUT => 0,
            WITH => 1,
            _ => {
                found.other_condition += 1;
                continue;
            }
        };
        if log.passed().is_none() {
            found.no_outcome += 1;
            continue;
        }
        let shared = (log.task(), log.identity.harness.as_deref(), log.identity.model.as_deref());
        groups.entry(shared).or_default()[side].push(log);
    }
    let run = |log: &Log<'a>| MatchedRun { passed: log.passed() == Some(true), score: log.score(Score::Gcpc).ok() };
    for ((_, harness, model), mut sides) in groups {
        for side in &mut sides {
            side.sort_by_key(|log| {
                (log.identity.run.is_none(), log.identity.run.as_deref(), log.identity.log.as_str())
            });
        }
        let [without, with] = &sides;
        let paired = without.len().min(with.len());
        found.unmatched_without += without.len() - paired;
        found.unmatched_with += with.len() - paired;
        found.unknown += if harness.is_none() || model.is_none() { paired } else { 0 };
        found.pairs.extend(without.iter().zip(with).map(|(without, with)| Matched {
            without,
            with,
            pair: MatchedPair { without: run(without), with: run(with) },
        }));
    }
    found
}

impl Matching<'_, '_> {
    fn notes(&self, study: &Study<'_>) -> Vec<String> {
        let tasks: Vec<&str> = self.pairs.iter().map(|pair| pair.with.task()).collect();
        let mut notes = study.notes(self.pairs.len(), "matched pairs", distinct(&tasks));
        notes.push("Pairs share task, harness and model. Several runs of a side stand in the order of their run ids as texts, then of their hashes, and are paired one to one; scores have no part in it. Δ is GCPC of the log alone, with the skill minus without.".to_owned());
        notes.push(format!(
            "Unmatched: {} with the skill, {} without. Left out: {} logs of another or unknown condition, {} without an official outcome. Pairs whose harness or model is unknown on both sides: {}.",
            self.unmatched_with, self.unmatched_without, self.other_condition, self.no_outcome, self.unknown
        ));
        notes
    }
}

fn word(transition: Transition) -> &'static str {
    match transition {
        Transition::FailToFail => "fail-to-fail",
        Transition::FailToPass => "fail-to-pass",
        Transition::PassToFail => "pass-to-fail",
        Transition::PassToPass => "pass-to-pass",
    }
}

/// Figure 5 as a table.
pub(crate) fn transitions(study: &Study<'_>) -> Result<Table, BootstrapError> {
    let columns = vec![
        words("transition", "Without to with"),
        number("pairs", "Pairs"),
        number("n", "Decided"),
        number("tasks", "Tasks"),
        number("median", "Median Δ"),
        number("mean", "Mean Δ"),
        number("above_10", "Δ > .10"),
        number("below_10", "Δ < −.10"),
        number("above_037", "Δ > .037"),
        number("below_037", "Δ < −.037"),
        number("beyond_037", "|Δ| > .037"),
        number("positive", "Δ > 0"),
        number("negative", "Δ < 0"),
        number("ties", "Δ = 0"),
        number("sign_p", "Sign test p"),
        number("wilcoxon_p", "Wilcoxon p"),
        number("zero_evidence", "Zero evidence"),
        number("no_verdict", "No verdict"),
    ];
    let found = matching(study);
    let pairs: Vec<MatchedPair> = found.pairs.iter().map(|matched| matched.pair).collect();
    let table = transition_table(&pairs, &[MATERIAL_CHANGE, NOISE_FLOOR]);
    let mut rows = Vec::new();
    if !pairs.is_empty() {
        for (transition, row) in &table.transitions {
            rows.push(of_transition(study, &found, word(*transition), row, |of| of == *transition)?);
        }
        rows.push(of_transition(study, &found, "unchanged", &table.unchanged, Transition::is_unchanged)?);
        rows.push(of_transition(study, &found, "all", &table.all, |_| true)?);
    }
    let mut notes = found.notes(study);
    notes.push(study.interval_note());
    notes.push(
        "Thresholds are strict. Tests are two-sided and take pairs as independent, though those of one task are not."
            .to_owned(),
    );
    Ok(Table { id: "transitions", title: "Matched skill effects by outcome transition", columns, rows, notes })
}

fn of_transition(
    study: &Study<'_>,
    found: &Matching<'_, '_>,
    name: &str,
    row: &TransitionRow,
    wanted: impl Fn(Transition) -> bool,
) -> Result<Vec<Value>, BootstrapError> {
    let chosen = || found.pairs.iter().filter(|matched| wanted(matched.pair.transition()));
    let differences =
        Clusters::from_pairs(chosen().filter_map(|matched| Some((matched.with.task(), matched.pair.difference()?))));
    let missing = |reason| {
        let is_missing = |log: &Log<'_>| log.score(Score::Gcpc) == Err(reason);
        Value::count(chosen().filter(|matched| is_missing(matched.with) || is_missing(matched.without)).count())
    };
    let shares = |threshold: Ratio| row.differences.shares.iter().find(move |shares| shares.threshold == threshold);
    let share = |threshold, of: fn(&Shares) -> Option<Ratio>| Value::exact(shares(threshold).and_then(of), NOTHING);
    let above = |shares: &Shares| shares.improved.ratio();
    let below = |shares: &Shares| shares.regressed.ratio();
    let beyond = |shares: &Shares| Some(Ratio::ONE.difference(shares.within.ratio()?));
    let (sign, wilcoxon) = (&row.differences.sign_test, &row.differences.wilcoxon);
    let test = |p: f64| Value::float((differences.observations() > 0).then_some(p), NOTHING);
    Ok(vec![
        Value::text(name),
        Value::count(row.pairs),
        Value::count(row.pairs - row.undecided),
        Value::count(differences.len()),
        statistic_of(&study.bootstrap, &differences, median)?,
        mean_of(&study.bootstrap, &differences)?,
        share(MATERIAL_CHANGE, above),
        share(MATERIAL_CHANGE, below),
        share(NOISE_FLOOR, above),
        share(NOISE_FLOOR, below),
        share(NOISE_FLOOR, beyond),
        Value::count(sign.positive),
        Value::count(sign.negative),
        Value::count(sign.ties),
        test(sign.p_value),
        test(wilcoxon.p_value),
        missing(ZERO_EVIDENCE),
        missing(NO_VERDICT),
    ])
}

/// The matched differences themselves, a row a pair.
pub(crate) fn figure(study: &Study<'_>) -> Table {
    let columns = vec![
        words("task", "Task"),
        words("harness", "Harness"),
        words("model", "Model"),
        words("transition", "Without to with"),
        words("run_without", "Run without"),
        words("run_with", "Run with"),
        words("log_without", "Log without"),
        words("log_with", "Log with"),
        number("gcpc_without", "GCPC without"),
        number("gcpc_with", "GCPC with"),
        number("delta", "Δ"),
    ];
    let found = matching(study);
    let row = |matched: &Matched<'_, '_>| {
        let Matched { without, with, pair } = matched;
        let score = |log: &Log<'_>| log.score(Score::Gcpc).map_or_else(Value::Missing, Value::Exact);
        vec![
            Value::text(with.task()),
            Value::known(with.identity.harness.as_deref()),
            Value::known(with.identity.model.as_deref()),
            Value::text(word(pair.transition())),
            Value::known(without.identity.run.as_deref()),
            Value::known(with.identity.run.as_deref()),
            Value::text(&without.identity.log),
            Value::text(&with.identity.log),
            score(without),
            score(with),
            Value::exact(pair.difference(), "undecided"),
        ]
    };
    let rows = found.pairs.iter().map(row).collect();
    Table { id: "figure-5", title: "Data of Figure 5", columns, rows, notes: found.notes(study) }
}

/// One passed and one failed log of each task that has both.
pub(crate) fn same_task(study: &Study<'_>) -> Table {
    let columns = vec![
        words("method", "Method"),
        number("pairs", "Pairs"),
        number("n", "Decidable"),
        number("wins", "Wins"),
        number("ties", "Ties"),
        number("losses", "Losses"),
        number("median", "Median Δ"),
        number("sign_p", "Sign test p"),
        number("no_verdict", "No verdict"),
    ];
    // Logs stand in the order of task and hash.
    let mut first: BTreeMap<&str, [Option<&Log<'_>>; 2]> = BTreeMap::new();
    for log in &study.logs {
        if let Some(passed) = log.passed() {
            first.entry(log.task()).or_default()[usize::from(passed)].get_or_insert(log);
        }
    }
    let pairs: Vec<(&Log<'_>, &Log<'_>)> =
        first.values().filter_map(|[failed, passed]| Some(((*passed)?, (*failed)?))).collect();
    let row = |score: Score| {
        let of = |(passed, failed): &(&Log<'_>, &Log<'_>)| SameTaskPair {
            first: passed.score(score).ok(),
            second: failed.score(score).ok(),
        };
        let found = win_tie_loss(&pairs.iter().map(of).collect::<Vec<_>>(), Ratio::ZERO);
        let no_verdict = |log: &Log<'_>| log.score(score) == Err(NO_VERDICT);
        vec![
            Value::text(score.id()),
            Value::count(pairs.len()),
            Value::count(found.decidable),
            Value::count(found.wins),
            Value::count(found.ties),
            Value::count(found.losses),
            Value::float(found.median_difference, NOTHING),
            Value::float((found.decidable > 0).then_some(found.sign_test.p_value), NOTHING),
            Value::count(pairs.iter().filter(|(passed, failed)| no_verdict(passed) || no_verdict(failed)).count()),
        ]
    };
    let rows = Score::ALL.into_iter().filter(|score| study.is_judged(*score)).map(row).collect();
    let mut notes = study.notes(pairs.len(), "pairs of a passed and a failed log", pairs.len());
    notes.push("The first log of each outcome by hash, whatever it scores. Δ is the passed log's score minus the failed one's. With the official outcome, GCPC knows which is which.".to_owned());
    notes.push(study.zero_evidence_note());
    Table { id: "same-task", title: "Passed against failed log of the same task", columns, rows, notes }
}
