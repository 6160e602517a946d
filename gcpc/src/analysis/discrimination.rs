//! How well scores tell passed logs from failed ones: on identical logs, on each method's own sample, by condition (G §4.2, Figure 4).

use parthack_statistics::{
    BootstrapError, Clusters, Discrimination, PairedDiscrimination, PairedScored, discrimination, discrimination_by,
    paired_discrimination,
};

use super::study::{Log, NO_VERDICT, ONE_SIDED, Score, Study, ZERO_EVIDENCE};
use super::table::{Column, Estimate, Table, Value, number, words};
use crate::baselines::Baseline;

/// A method on its own sample.
pub(crate) struct Own {
    pub(crate) score: Score,
    pub(crate) found: Discrimination,
    /// Logs that the method has no verdict of.
    pub(crate) no_verdict: usize,
    /// Logs without any evidence, for scores from a checklist's labels.
    pub(crate) zero_evidence: usize,
}

impl Own {
    pub(crate) fn n(&self) -> usize {
        self.found.passes + self.found.fails
    }

    pub(crate) fn auc(&self) -> Value {
        Value::exact_interval(self.found.auc_exact, self.found.auc_resampled, ONE_SIDED)
    }
}

/// Each method that judged anything, on the logs with a binary outcome that it scored.
pub(crate) fn own_samples(study: &Study<'_>) -> Result<Vec<Own>, BootstrapError> {
    let own = |score| {
        Ok(Own {
            score,
            found: discrimination(&study.scored(score), &study.bootstrap)?,
            no_verdict: study.missing(score, NO_VERDICT),
            zero_evidence: study.missing(score, ZERO_EVIDENCE),
        })
    };
    Score::from_logs().filter(|score| study.is_judged(*score)).map(own).collect()
}

/// GCPC against one baseline.
pub(crate) struct Pair {
    baseline: Baseline,
    found: PairedDiscrimination,
    passes: usize,
    /// Logs that only one of the two scored.
    one_only: usize,
    /// Whether the two were asked with the same budget and prompts on every log.
    same_setting: bool,
}

/// GCPC against each baseline that judged anything, on the logs that both scored.
pub(crate) fn pairs(study: &Study<'_>) -> Result<Vec<Pair>, BootstrapError> {
    let of = |baseline: Baseline| {
        let score = Score::Baseline(baseline);
        let both = |log: &Log<'_>| {
            let (first, second) = (log.scored(Score::Gcpc)?, log.scored(score)?);
            Some(PairedScored { first: first.score, second: second.score, passed: first.passed })
        };
        let logs = Clusters::from_pairs(study.logs.iter().filter_map(|log| Some((log.task(), both(log)?))));
        let is_alone = |log: &&Log<'_>| log.scored(Score::Gcpc).is_some() != log.scored(score).is_some();
        Ok(Pair {
            baseline,
            found: paired_discrimination(&logs, &study.bootstrap)?,
            passes: logs.all().filter(|log| log.passed).count(),
            one_only: study.logs.iter().filter(is_alone).count(),
            same_setting: same_setting(study, baseline),
        })
    };
    let judged = |baseline: &Baseline| study.is_judged(Score::Gcpc) && study.is_judged(Score::Baseline(*baseline));
    Baseline::ALL.into_iter().filter(judged).map(of).collect()
}

fn same_setting(study: &Study<'_>, baseline: Baseline) -> bool {
    let setting = |method| {
        let mut judgements = study.selection.of(study.judge(), method, super::selection::is_primary);
        judgements.next().map(|judgement| (&judgement.judge_hash, &judgement.setting))
    };
    setting(super::selection::GCPC) == setting(baseline.id())
}

impl Pair {
    fn delta(&self) -> Value {
        Value::exact_interval(self.found.difference_exact, self.found.difference_resampled, ONE_SIDED)
    }

    fn share_positive(&self) -> Value {
        let resampled = self.found.difference_resampled.filter(|resampled| resampled.clusters > 1);
        Value::float(resampled.map(|resampled| resampled.share_positive()), ONE_SIDED)
    }
}

/// Figure 4 A as a table.
pub(crate) fn paired(study: &Study<'_>, pairs: &[Pair]) -> Table {
    let columns = vec![
        words("method", "Against"),
        number("n", "n"),
        number("passes", "Passed"),
        number("fails", "Failed"),
        number("tasks", "Tasks"),
        number("auc_gcpc", "AUC of GCPC"),
        number("auc_other", "AUC of other"),
        number("delta_auc", "ΔAUC"),
        number("share_positive", "Positive"),
        number("resamples", "Resamples"),
        number("one_only", "Scored by one"),
        number("no_verdict", "No verdict"),
    ];
    let mut notes = study.notes_of(study.logs.iter().filter(|log| log.scored(Score::Gcpc).is_some()));
    notes.push(study.zero_evidence_note());
    notes.push(study.interval_note());
    notes.push(
        "Both scores of a log are from the log alone, and each row is over the logs that both methods scored and that have an official outcome. Positive: share of the resamples that define ΔAUC on which it is above zero."
            .to_owned(),
    );
    let unlike: Vec<&str> = pairs.iter().filter(|pair| !pair.same_setting).map(|pair| pair.baseline.id()).collect();
    if !unlike.is_empty() {
        notes.push(format!(
            "Judged in another configuration or setting than GCPC, so information may not be equal: {}.",
            unlike.join(", ")
        ));
    }
    let row = |pair: &Pair| {
        let resamples = pair.found.difference_resampled.map_or(0, |resampled| resampled.defined);
        vec![
            Value::text(pair.baseline.id()),
            Value::count(pair.found.logs),
            Value::count(pair.passes),
            Value::count(pair.found.logs - pair.passes),
            Value::count(pair.found.tasks),
            Value::float(pair.found.first, ONE_SIDED),
            Value::float(pair.found.second, ONE_SIDED),
            pair.delta(),
            pair.share_positive(),
            Value::Count(u64::from(resamples)),
            Value::count(pair.one_only),
            Value::count(study.missing(Score::Baseline(pair.baseline), NO_VERDICT)),
        ]
    };
    let rows = pairs.iter().map(row).collect();
    Table { id: "paired", title: "GCPC against each baseline on identical logs", columns, rows, notes }
}

/// Figure 4 as data: a row a point.
pub(crate) fn figure(study: &Study<'_>, pairs: &[Pair], own: &[Own]) -> Table {
    let columns: Vec<Column> = vec![
        words("panel", "Panel"),
        words("method", "Method"),
        words("against", "Against"),
        words("measure", "Measure"),
        number("n", "n"),
        number("tasks", "Tasks"),
        number("value", "Value"),
        number("low", "Low"),
        number("high", "High"),
        number("share_positive", "Positive"),
    ];
    let mut rows = Vec::new();
    let none = || Value::Missing("-");
    for pair in pairs {
        let lead = |method: &str, against: Value, measure: &str| {
            let (n, tasks) = (Value::count(pair.found.logs), Value::count(pair.found.tasks));
            vec![Value::text("A"), Value::text(method), against, Value::text(measure), n, tasks]
        };
        let other = pair.baseline.id();
        for (method, against, value) in [("gcpc", other, pair.found.first), (other, "gcpc", pair.found.second)] {
            let mut row = lead(method, Value::text(against), "auc");
            row.extend([Value::float(value, ONE_SIDED), none(), none(), none()]);
            rows.push(row);
        }
        let mut row = lead("gcpc", Value::text(other), "delta_auc");
        row.extend(flat(pair.delta()));
        row.push(pair.share_positive());
        rows.push(row);
    }
    for own in own {
        let mut row = vec![
            Value::text("B"),
            Value::text(own.score.id()),
            none(),
            Value::text("auc"),
            Value::count(own.n()),
            Value::count(own.found.tasks),
        ];
        row.extend(flat(own.auc()));
        row.push(none());
        rows.push(row);
    }
    let mut notes = study.notes_of(study.logs.iter().filter(|log| log.passed().is_some()));
    notes.push(study.interval_note());
    notes.push("Panel A: identical logs. Panel B: each method on all logs that it scored.".to_owned());
    Table { id: "figure-4", title: "Data of Figure 4", columns, rows, notes }
}

/// Value and bounds in cells of their own.
fn flat(value: Value) -> [Value; 3] {
    match value {
        Value::Interval { mean, low, high } => {
            let mean = match mean {
                Estimate::Exact(ratio) => Value::Exact(ratio),
                Estimate::Float(float) => Value::Float(float),
            };
            [mean, Value::Float(low), Value::Float(high)]
        }
        Value::Missing(reason) => [Value::Missing(reason), Value::Missing(reason), Value::Missing(reason)],
        value => [value, Value::Missing("one task"), Value::Missing("one task")],
    }
}

/// AUC by condition (G §4.2: with skills and without).
pub(crate) fn conditions(study: &Study<'_>) -> Result<Table, BootstrapError> {
    let columns = vec![
        words("condition", "Condition"),
        words("method", "Method"),
        number("n", "n"),
        number("passes", "Passed"),
        number("fails", "Failed"),
        number("tasks", "Tasks"),
        number("auc", "AUC"),
        number("separation", "Separation"),
        number("zero_evidence", "Zero evidence"),
        number("no_verdict", "No verdict"),
    ];
    let mut rows = Vec::new();
    for (place, score) in Score::from_logs().enumerate() {
        let scored =
            study.logs.iter().filter_map(|log| Some((log.identity.condition.clone(), log.task(), log.scored(score)?)));
        let found = discrimination_by(scored, &study.bootstrap)?;
        for (condition, found) in found {
            let in_it = || study.logs.iter().filter(|log| log.identity.condition == condition);
            let missing = |reason| in_it().filter(|log| log.score(score) == Err(reason)).count();
            let separation = found.separation.map(|separation| separation.difference);
            let row = vec![
                Value::text(&condition),
                Value::text(score.id()),
                Value::count(found.passes + found.fails),
                Value::count(found.passes),
                Value::count(found.fails),
                Value::count(found.tasks),
                Value::exact_interval(found.auc_exact, found.auc_resampled, ONE_SIDED),
                Value::float_interval(separation, found.separation_resampled, ONE_SIDED),
                Value::count(missing(ZERO_EVIDENCE)),
                Value::count(missing(NO_VERDICT)),
            ];
            rows.push((condition, place, row));
        }
    }
    rows.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let mut notes = study.notes_of(study.logs.iter().filter(|log| log.passed().is_some()));
    notes.push(study.interval_note());
    notes.push("Conditions are resampled each by itself: their intervals are not paired.".to_owned());
    let rows = rows.into_iter().map(|(_, _, row)| row).collect();
    Ok(Table { id: "conditions", title: "Discrimination by condition", columns, rows, notes })
}
