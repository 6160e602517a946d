//! The logs of an analysis with their scores, by the primary judge, from its first pass.

use std::collections::BTreeMap;

use parthack_statistics::{Bootstrap, BootstrapPlan, Clusters, Ratio, Scored};

use super::Input;
use super::error::AnalysisError;
use super::selection::{GCPC, Selection, is_primary};
use crate::baselines::Baseline;
use crate::checklist::Frozen;
use crate::label::{Label, Outcome};
use crate::metrics::{self, Scores};
use crate::outcome::{LabelledItem, Labels};
use crate::ratio;
use crate::records::{Judgement, LogIdentity};

pub(crate) const NOT_JUDGED: &str = "not judged";
pub(crate) const NO_VERDICT: &str = "no verdict";
pub(crate) const ZERO_EVIDENCE: &str = "zero evidence";
pub(crate) const NO_OUTCOME: &str = "no outcome";
pub(crate) const NO_ITEMS: &str = "no items";
pub(crate) const ONE_SIDED: &str = "no passed or no failed log";
pub(crate) const NOTHING: &str = "nothing to count";

/// A score of a log, and what a table calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Score {
    Gcpc,
    GcpcOutcome,
    Baseline(Baseline),
}

impl Score {
    /// All scores, in the order of G's Table 2.
    pub(crate) const ALL: [Score; 6] = [
        Score::Gcpc,
        Score::GcpcOutcome,
        Score::Baseline(Baseline::Holistic),
        Score::Baseline(Baseline::Tick),
        Score::Baseline(Baseline::TickTrajectory),
        Score::Baseline(Baseline::GenericChecklist),
    ];

    /// Those that do not see the official outcome.
    pub(crate) fn from_logs() -> impl Iterator<Item = Score> {
        Score::ALL.into_iter().filter(|score| *score != Score::GcpcOutcome)
    }

    pub(crate) fn id(self) -> &'static str {
        match self {
            Score::Gcpc => GCPC,
            Score::GcpcOutcome => "gcpc-outcome",
            Score::Baseline(baseline) => baseline.id(),
        }
    }
}

/// What became of a log under a method.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reading<T> {
    NotJudged,
    NoVerdict,
    Is(T),
}

impl<T> Reading<T> {
    pub(crate) fn get(&self) -> Result<&T, &'static str> {
        match self {
            Reading::NotJudged => Err(NOT_JUDGED),
            Reading::NoVerdict => Err(NO_VERDICT),
            Reading::Is(value) => Ok(value),
        }
    }
}

/// Labels of a log and what they score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Labelled {
    pub(crate) labels: Labels,
    pub(crate) scores: Scores,
}

impl Labelled {
    /// Plain GCPC, or why there is none.
    pub(crate) fn gcpc(&self) -> Result<Ratio, &'static str> {
        self.scores.gcpc.and_then(exact).ok_or(if self.scores.zero_evidence { ZERO_EVIDENCE } else { NO_ITEMS })
    }

    /// GCPC with the official outcome, or why there is none.
    pub(crate) fn gcpc_outcome(&self) -> Result<Ratio, &'static str> {
        self.scores.gcpc_outcome.and_then(exact).ok_or(NO_OUTCOME)
    }

    /// The labels alone.
    pub(crate) fn alone(&self) -> Vec<Label> {
        self.labels.items.iter().map(|item| item.label).collect()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.labels.items.iter().map(|item| item.id.as_str())
    }
}

/// A ratio in the statistics' own type.
pub(crate) fn exact(ratio: ratio::Ratio) -> Option<Ratio> {
    Ratio::new(i128::from(ratio.numerator()), i128::from(ratio.denominator())).ok()
}

/// A log that the primary judge saw.
#[derive(Debug)]
pub(crate) struct Log<'a> {
    pub(crate) identity: &'a LogIdentity,
    pub(crate) gcpc: Reading<Labelled>,
    pub(crate) baselines: BTreeMap<Baseline, Reading<Ratio>>,
}

impl<'a> Log<'a> {
    pub(crate) fn task(&self) -> &'a str {
        &self.identity.task
    }

    /// Whether the official outcome is PASS; `None` where there is none.
    pub(crate) fn passed(&self) -> Option<bool> {
        self.identity.outcome.map(|outcome| outcome == Outcome::Pass)
    }

    /// A score, or why there is none.
    pub(crate) fn score(&self, score: Score) -> Result<Ratio, &'static str> {
        match score {
            Score::Gcpc => self.gcpc.get()?.gcpc(),
            Score::GcpcOutcome => self.gcpc.get()?.gcpc_outcome(),
            Score::Baseline(baseline) => self.baselines.get(&baseline).ok_or(NOT_JUDGED)?.get().copied(),
        }
    }

    /// Score and outcome; `None` where either is missing.
    pub(crate) fn scored(&self, score: Score) -> Option<Scored> {
        Some(Scored { score: self.score(score).ok()?, passed: self.passed()? })
    }
}

/// Everything that tables are made of.
#[derive(Debug)]
pub(crate) struct Study<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) selection: Selection<'a>,
    pub(crate) logs: Vec<Log<'a>>,
    pub(crate) bootstrap: Bootstrap,
}

impl<'a> Study<'a> {
    pub(crate) fn new(input: &'a Input<'a>) -> Result<Study<'a>, AnalysisError> {
        let plan = BootstrapPlan { resamples: input.resamples, seed: input.seed, ..BootstrapPlan::default() };
        let bootstrap = Bootstrap::new(plan)?;
        let selection = Selection::new(input)?;
        let mut logs: BTreeMap<(&str, &str), Log<'_>> = BTreeMap::new();
        let judge = selection.primary.unwrap_or_default();
        let first = selection.kept.iter().filter(|(key, _)| {
            // The second pass of a log is in `reliability` alone.
            key.judge == judge && key.pass == 1 && is_primary(key.variant)
        });
        for (key, judgement) in first {
            let identity = &judgement.identity;
            let log = logs.entry((&identity.task, &identity.log)).or_insert_with(|| Log {
                identity,
                gcpc: Reading::NotJudged,
                baselines: BTreeMap::new(),
            });
            match Baseline::from_id(key.method) {
                None => log.gcpc = labelled(judgement, input.checklists.get(&identity.task))?,
                Some(baseline) => {
                    log.baselines.insert(baseline, rated(judgement)?);
                }
            }
        }
        Ok(Study { input, selection, logs: logs.into_values().collect(), bootstrap })
    }

    /// The primary judge's name; empty of no judgements.
    pub(crate) fn judge(&self) -> &'a str {
        self.selection.primary.unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }

    /// The scores of a method that judged anything.
    pub(crate) fn is_judged(&self, score: Score) -> bool {
        self.logs.iter().any(|log| log.score(score) != Err(NOT_JUDGED))
    }

    /// Scored logs with a binary outcome, by task.
    pub(crate) fn scored(&self, score: Score) -> Clusters<&'a str, Scored> {
        Clusters::from_pairs(self.logs.iter().filter_map(|log| Some((log.task(), log.scored(score)?))))
    }

    /// How many of some logs have no score for a reason.
    pub(crate) fn missing(&self, score: Score, reason: &str) -> usize {
        self.logs.iter().filter(|log| log.score(score) == Err(reason)).count()
    }

    /// The first notes of a table: how much there is, who judged, what does not count.
    pub(crate) fn notes(&self, n: usize, unit: &str, tasks: usize) -> Vec<String> {
        let judge = self.selection.primary.unwrap_or("none");
        let mut notes = vec![format!("n = {n} {unit}, {tasks} tasks, judge {judge}.")];
        if self.selection.left_out > 0 {
            notes.push(format!(
                "{} judgements are left out: made in another configuration or setting than most first passes by the same judge and method, or with a checklist or questions that are not the task's.",
                self.selection.left_out
            ));
        }
        notes
    }

    /// The same of logs.
    pub(crate) fn notes_of<'l>(&self, logs: impl IntoIterator<Item = &'l Log<'a>>) -> Vec<String>
    where
        'a: 'l,
    {
        let tasks: Vec<&str> = logs.into_iter().map(Log::task).collect();
        self.notes(tasks.len(), "logs", distinct(&tasks))
    }

    /// What intervals are.
    pub(crate) fn interval_note(&self) -> String {
        let BootstrapPlan { resamples, seed, .. } = self.bootstrap.plan();
        format!(
            "Intervals: 95 %, percentiles of {resamples} task-clustered resamples, seed {seed}. Resamples on which a statistic is undefined are left out, and of a single task there is no interval."
        )
    }

    /// How many logs give no evidence.
    pub(crate) fn zero_evidence_note(&self) -> String {
        let count = self.missing(Score::Gcpc, ZERO_EVIDENCE);
        format!("{count} logs without any evidence are apart: they have no plain GCPC.")
    }
}

/// How many different values there are.
pub(crate) fn distinct<T: Ord>(values: &[T]) -> usize {
    values.iter().collect::<std::collections::BTreeSet<_>>().len()
}

/// The labels of a judgement by checklist.
pub(crate) fn labelled(judgement: &Judgement, frozen: Option<&Frozen>) -> Result<Reading<Labelled>, AnalysisError> {
    if judgement.no_verdict.is_some() {
        return Ok(Reading::NoVerdict);
    }
    let log = || judgement.identity.log.clone();
    let mut items = Vec::with_capacity(judgement.items.len());
    for item in &judgement.items {
        let Some(route) = item.route else {
            return Err(AnalysisError::NoRoute { log: log(), item: item.id.clone() });
        };
        items.push(LabelledItem { id: item.id.clone(), route, label: item.label });
    }
    if let Some(frozen) = frozen {
        let of_list = || frozen.checklist.items.iter().map(|item| (item.id.as_str(), item.route));
        if !of_list().eq(items.iter().map(|item| (item.id.as_str(), item.route))) {
            let told = |items: Vec<(&str, crate::checklist::Route)>| {
                items.iter().map(|(id, route)| format!("{id} ({})", route.word())).collect::<Vec<_>>().join(", ")
            };
            return Err(AnalysisError::Items {
                log: log(),
                task: judgement.identity.task.clone(),
                found: told(items.iter().map(|item| (item.id.as_str(), item.route)).collect()),
                expected: told(of_list().collect()),
            });
        }
    }
    let labels = Labels { items, outcome: judgement.identity.outcome };
    let scores = metrics::score(&labels);
    Ok(Reading::Is(Labelled { labels, scores }))
}

/// The score of a judgement by a baseline.
fn rated(judgement: &Judgement) -> Result<Reading<Ratio>, AnalysisError> {
    if judgement.no_verdict.is_some() {
        return Ok(Reading::NoVerdict);
    }
    let found = judgement.score.as_deref().unwrap_or_default();
    let score = found.split_once('/').and_then(|_| found.parse::<Ratio>().ok());
    match score.filter(|score| (Ratio::ZERO..=Ratio::ONE).contains(score)) {
        Some(score) => Ok(Reading::Is(score)),
        None => Err(AnalysisError::Score {
            log: judgement.identity.log.clone(),
            method: judgement.method.clone(),
            found: found.to_owned(),
        }),
    }
}
