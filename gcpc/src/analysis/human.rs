//! Scores beside what people said: G's Table 2, and the annotators among themselves (G §4.3).

use std::collections::BTreeMap;

use parthack_statistics::{
    Alpha, BootstrapError, Clusters, Preference, Preferred, Ratio, TieRule, alpha_interval, alpha_nominal,
    alpha_ordinal, mean, preference_counts,
};

use super::annotations::{Annotations, Criterion};
use super::error::AnalysisError;
use super::resampling::{alpha_of, correlation, mean_of, share};
use super::study::{Log, NO_VERDICT, NOT_JUDGED, NOTHING, Score, Study, ZERO_EVIDENCE, distinct};
use super::table::{Table, Value, number, words};
use crate::label::{Label, Outcome};
use crate::records::LogIdentity;

const NO_ANNOTATIONS: &str = "no annotations";

/// Annotations beside the logs that they are of.
struct Said<'a, 's> {
    study: &'s Study<'a>,
    annotations: &'a Annotations,
    judged: BTreeMap<&'a str, &'s Log<'a>>,
}

impl<'a, 's> Said<'a, 's> {
    fn new(study: &'s Study<'a>) -> Result<Option<Said<'a, 's>>, AnalysisError> {
        let Some(annotations) = study.input.annotations else { return Ok(None) };
        let judged = study.logs.iter().map(|log| (log.identity.log.as_str(), log)).collect();
        let said = Said { study, annotations, judged };
        let ratings = annotations.ratings.iter().map(|of| (of.line, &of.log));
        let comparisons = annotations.comparisons.iter().flat_map(|of| [(of.line, &of.first), (of.line, &of.second)]);
        for (line, log) in ratings.chain(comparisons) {
            said.identity(line, log)?;
        }
        annotations.criteria.iter().try_for_each(|criterion| said.check(criterion))?;
        Ok(Some(said))
    }

    fn identity(&self, line: u64, log: &str) -> Result<&'a LogIdentity, AnalysisError> {
        let identity = self.study.selection.identities.get(log);
        identity.copied().ok_or_else(|| AnalysisError::AnnotatedLog { line, log: log.to_owned() })
    }

    /// An item must be one of the task's checklist; where no checklist is at hand, of the log's labels.
    fn check(&self, criterion: &Criterion) -> Result<(), AnalysisError> {
        let identity = self.identity(criterion.line, &criterion.log)?;
        let labelled = self.judged.get(criterion.log.as_str()).and_then(|log| log.gcpc.get().ok());
        let ids: Vec<&str> = match (self.study.input.checklists.get(&identity.task), labelled) {
            (Some(frozen), _) => frozen.checklist.items.iter().map(|item| item.id.as_str()).collect(),
            (None, Some(labelled)) => labelled.ids().collect(),
            (None, None) => return Ok(()),
        };
        if ids.contains(&criterion.item.as_str()) {
            return Ok(());
        }
        let (line, item, task) = (criterion.line, criterion.item.clone(), identity.task.clone());
        Err(AnalysisError::AnnotatedItem { line, item, task, expected: ids.join(", ") })
    }

    /// The task of a log that is there, as [`Said::new`] makes sure of.
    fn task(&self, log: &str) -> &'a str {
        self.study.selection.identities.get(log).map_or("", |identity| identity.task.as_str())
    }

    fn score(&self, log: &str, score: Score) -> Result<Ratio, &'static str> {
        self.judged.get(log).ok_or(NOT_JUDGED)?.score(score)
    }

    /// Ratings of each log.
    fn ratings(&self) -> BTreeMap<&'a str, Vec<Option<Ratio>>> {
        let mut ratings: BTreeMap<&str, Vec<Option<Ratio>>> = BTreeMap::new();
        for rating in &self.annotations.ratings {
            ratings.entry(&rating.log).or_default().push(Some(rating.value));
        }
        ratings
    }

    /// The mean rating of each log.
    fn mean_ratings(&self) -> BTreeMap<&'a str, Ratio> {
        let mean = |ratings: &[Option<Ratio>]| {
            let sum = ratings.iter().flatten().try_fold(Ratio::ZERO, |sum, rating| sum.checked_add(*rating))?;
            sum.checked_mul(Ratio::new(1, ratings.len() as i128).ok()?)
        };
        self.ratings().into_iter().filter_map(|(log, ratings)| Some((log, mean(&ratings)?))).collect()
    }

    /// Every log that anything was said of.
    fn logs(&self) -> Vec<&'a str> {
        let Annotations { ratings, comparisons, criteria, .. } = self.annotations;
        let rated = ratings.iter().map(|of| of.log.as_str());
        let compared = comparisons.iter().flat_map(|of| [of.first.as_str(), of.second.as_str()]);
        let labelled = criteria.iter().map(|of| of.log.as_str());
        let logs: std::collections::BTreeSet<&str> = rated.chain(compared).chain(labelled).collect();
        logs.into_iter().collect()
    }

    fn notes(&self) -> Vec<String> {
        let logs = self.logs();
        let mut notes = self.study.notes(logs.len(), "annotated logs", self.annotations.annotators.len());
        let missing = |reason| logs.iter().filter(|log| self.score(log, Score::Gcpc) == Err(reason)).count();
        notes.push(format!(
            "Of them, {} are without any evidence and have no plain GCPC, and {} have no verdict by GCPC.",
            missing(ZERO_EVIDENCE),
            missing(NO_VERDICT)
        ));
        let single = self.annotations.single();
        if !single.is_empty() {
            notes.push(format!("Tasks with a single annotator, which nobody else can confirm: {}.", single.join(", ")));
        }
        notes
    }
}

/// Table 2.
pub(crate) fn table(study: &Study<'_>) -> Result<Table, AnalysisError> {
    let columns = vec![
        words("method", "Method"),
        number("agreement", "Pairwise agreement"),
        number("comparable", "Comparable"),
        number("score_ties", "Tied scores"),
        number("human_ties", "Neither preferred"),
        number("missing", "Score missing"),
        number("rho", "Spearman's ρ"),
        number("logs", "Logs"),
        number("tasks", "Tasks"),
        number("no_verdict", "No verdict"),
    ];
    let said = Said::new(study)?;
    let mut rows = Vec::new();
    for score in Score::ALL.into_iter().filter(|score| study.is_judged(*score)) {
        rows.push(match &said {
            Some(said) => row(said, score)?,
            None => {
                let mut row = vec![Value::Missing(NO_ANNOTATIONS); columns.len()];
                row[0] = Value::text(score.id());
                row[columns.len() - 1] = Value::count(study.missing(score, NO_VERDICT));
                row
            }
        });
    }
    let mut notes = match &said {
        Some(said) => said.notes(),
        None => {
            let mut notes = study.notes(0, "annotated logs", 0);
            notes.push("No annotations were given.".to_owned());
            notes
        }
    };
    notes.push(study.interval_note());
    notes.push("Each annotator's preference counts by itself. Comparable: the annotator prefers one log and the scores differ. ρ is with a log's mean rating, over the logs that have both. GCPC with the official outcome knows what people did not, and is no independent evidence.".to_owned());
    Ok(Table { id: "2", title: "Agreement with people", columns, rows, notes })
}

fn row(said: &Said<'_, '_>, score: Score) -> Result<Vec<Value>, BootstrapError> {
    let bootstrap = &said.study.bootstrap;
    let preferences = said.annotations.comparisons.iter().map(|of| {
        let preference = Preference {
            first: said.score(&of.first, score).ok(),
            second: said.score(&of.second, score).ok(),
            preferred: of.preferred,
        };
        (said.task(&of.first), preference)
    });
    let preferences = Clusters::from_pairs(preferences);
    let all: Vec<Preference> = preferences.all().copied().collect();
    let counts = preference_counts(&all);
    let agreement = |drawn: &[Preference]| preference_counts(drawn).agreement(TieRule::Excluded);
    // As everywhere, the tasks that are resampled are those that something is counted of.
    let comparable = preferences.filter_map(|of| {
        let counts = preference_counts(&[*of]);
        (counts.agree + counts.disagree > 0).then_some(*of)
    });
    let resampled = bootstrap.over(&comparable, |drawn| agreement(drawn).map(Ratio::to_f64))?;
    let rated = said.mean_ratings();
    let pairs =
        rated.iter().filter_map(|(log, rating)| Some((said.task(log), (said.score(log, score).ok()?, *rating))));
    let rho = correlation(bootstrap, pairs)?;
    let no_verdict = said.logs().iter().filter(|log| said.score(log, score) == Err(NO_VERDICT)).count();
    Ok(vec![
        Value::text(score.id()),
        Value::exact_interval(agreement(&all), resampled, "no comparable pair"),
        Value::count(counts.agree + counts.disagree),
        Value::count(counts.score_ties),
        Value::count(counts.human_ties),
        Value::count(counts.missing),
        rho.value,
        Value::count(rho.n),
        Value::count(rho.tasks),
        Value::count(no_verdict),
    ])
}

/// Who annotated, how far they agree, and what they say of passed and failed logs.
pub(crate) fn annotators(study: &Study<'_>) -> Result<Table, AnalysisError> {
    let columns = vec![
        words("measure", "Measure"),
        words("unit", "Of"),
        number("n", "n"),
        number("ratings", "Annotations"),
        number("tasks", "Tasks"),
        number("value", "Value"),
    ];
    let (title, id) = ("Annotators", "annotators");
    let Some(said) = Said::new(study)? else {
        let mut notes = study.notes(0, "annotated logs", 0);
        notes.push("No annotations were given.".to_owned());
        return Ok(Table { id, title, columns, rows: Vec::new(), notes });
    };
    let mut rows = counts(said.annotations);
    if !rows.is_empty() {
        rows.extend(among_people(&said)?);
        rows.extend(with_labels(&said)?);
        rows.extend(by_outcome(&said)?);
    }
    let mut notes = said.notes();
    notes.push(study.interval_note());
    notes.push("α: Krippendorff's, over what two or more people annotated. Criteria: people's labels beside GCPC's, from the log alone, each annotator's counted by itself. Mean ratings: of each log first, then over logs.".to_owned());
    Ok(Table { id, title, columns, rows, notes })
}

fn counts(annotations: &Annotations) -> Vec<Vec<Value>> {
    let people: Vec<&String> = annotations.annotators.values().flatten().collect();
    if people.is_empty() {
        return Vec::new();
    }
    let all = annotations.ratings.len() + annotations.comparisons.len() + annotations.criteria.len();
    let tasks = annotations.annotators.len();
    let of = |measure: &str, unit: &str, count: usize| {
        vec![
            Value::text(measure),
            Value::text(unit),
            Value::count(count),
            Value::count(all),
            Value::count(tasks),
            Value::count(count),
        ]
    };
    vec![
        of("annotators", "people", distinct(&people)),
        of("assignments", "tasks of one annotator each", people.len()),
        of("ratings", "ratings", annotations.ratings.len()),
        of("preferences", "preferences", annotations.comparisons.len()),
        of("criteria", "criterion labels", annotations.criteria.len()),
    ]
}

/// One unit's annotations, and the task that it is of.
type Units<'a, T> = Clusters<&'a str, Vec<Option<T>>>;

fn alpha_row<T: Clone>(
    said: &Said<'_, '_>,
    measure: &str,
    unit: &str,
    units: &Units<'_, T>,
    alpha: impl Fn(&[&Vec<Option<T>>]) -> Option<Alpha>,
) -> Result<Vec<Value>, BootstrapError> {
    let pairable = units.filter_map(|unit| (unit.len() > 1).then(|| unit.clone()));
    Ok(vec![
        Value::text(measure),
        Value::text(unit),
        Value::count(pairable.observations()),
        Value::count(pairable.all().map(Vec::len).sum()),
        Value::count(pairable.len()),
        alpha_of(&said.study.bootstrap, &pairable, alpha)?,
    ])
}

fn among_people(said: &Said<'_, '_>) -> Result<Vec<Vec<Value>>, BootstrapError> {
    let ratings = Clusters::from_pairs(said.ratings().into_iter().map(|(log, of)| (said.task(log), of)));
    let mut labels: BTreeMap<(&str, &str), Vec<Option<Label>>> = BTreeMap::new();
    for criterion in &said.annotations.criteria {
        labels.entry((&criterion.log, &criterion.item)).or_default().push(Some(criterion.label));
    }
    let labels = Clusters::from_pairs(labels.into_iter().map(|((log, _), of)| (said.task(log), of)));
    let mut preferences: BTreeMap<(&str, &str), Vec<Option<Preferred>>> = BTreeMap::new();
    for of in &said.annotations.comparisons {
        preferences.entry((&of.first, &of.second)).or_default().push(Some(of.preferred));
    }
    let preferences = Clusters::from_pairs(preferences.into_iter().map(|((log, _), of)| (said.task(log), of)));
    Ok(vec![
        alpha_row(said, "rating alpha, interval", "logs", &ratings, |units| alpha_interval(units))?,
        alpha_row(said, "rating alpha, ordinal", "logs", &ratings, |units| alpha_ordinal(units))?,
        alpha_row(said, "preference alpha, nominal", "pairs of logs", &preferences, |units| alpha_nominal(units))?,
        alpha_row(said, "criterion alpha, nominal", "items of logs", &labels, |units| alpha_nominal(units))?,
    ])
}

fn with_labels(said: &Said<'_, '_>) -> Result<Vec<Vec<Value>>, BootstrapError> {
    let pair = |criterion: &Criterion| {
        let labelled = said.judged.get(criterion.log.as_str())?.gcpc.get().ok()?;
        let item = labelled.labels.items.iter().find(|item| item.id == criterion.item)?;
        Some((said.task(&criterion.log), (criterion.label, item.label)))
    };
    let pairs: Vec<(&str, (Label, Label))> = said.annotations.criteria.iter().filter_map(pair).collect();
    let row = |measure: &str, is_counted: fn(&(Label, Label)) -> bool| {
        let counted = pairs.iter().filter(|(_, pair)| is_counted(pair));
        let share = share(&said.study.bootstrap, counted.map(|(task, (human, judge))| (*task, human == judge)))?;
        Ok(vec![
            Value::text(measure),
            Value::text("labels of people that GCPC has one for too"),
            Value::count(share.n),
            Value::count(share.n),
            Value::count(share.tasks),
            share.value,
        ])
    };
    Ok(vec![
        row("criterion agreement with GCPC", |_| true)?,
        row("criterion agreement with GCPC, both decided", |(human, judge)| human.is_decided() && judge.is_decided())?,
    ])
}

fn by_outcome(said: &Said<'_, '_>) -> Result<Vec<Vec<Value>>, BootstrapError> {
    let means = said.mean_ratings();
    let ratings = said.ratings();
    let outcome = |log: &str| said.study.selection.identities.get(log).and_then(|identity| identity.outcome);
    let of = |wanted: Outcome| {
        let chosen = means.iter().filter(|(log, _)| outcome(log) == Some(wanted));
        Clusters::from_pairs(chosen.map(|(log, mean)| (said.task(log), *mean)))
    };
    let given = |wanted: &[Outcome]| -> usize {
        let chosen = ratings.iter().filter(|(log, _)| outcome(log).is_some_and(|outcome| wanted.contains(&outcome)));
        chosen.map(|(_, ratings)| ratings.len()).sum()
    };
    let bootstrap = &said.study.bootstrap;
    let mut rows = Vec::new();
    for (measure, wanted) in [("mean rating, passed", Outcome::Pass), ("mean rating, failed", Outcome::Fail)] {
        let logs = of(wanted);
        rows.push(vec![
            Value::text(measure),
            Value::text("logs"),
            Value::count(logs.observations()),
            Value::count(given(&[wanted])),
            Value::count(logs.len()),
            mean_of(bootstrap, &logs)?,
        ]);
    }
    let both = Clusters::from_pairs(
        means.iter().filter_map(|(log, mean)| Some((said.task(log), (outcome(log)? == Outcome::Pass, *mean)))),
    );
    let difference = |logs: &[(bool, Ratio)]| {
        let of = |passed| mean(&logs.iter().filter(|log| log.0 == passed).map(|log| log.1).collect::<Vec<_>>());
        Some(of(true)? - of(false)?)
    };
    let all: Vec<(bool, Ratio)> = both.all().copied().collect();
    let resampled = bootstrap.over(&both, difference)?;
    rows.push(vec![
        Value::text("mean rating, passed minus failed"),
        Value::text("logs"),
        Value::count(both.observations()),
        Value::count(given(&[Outcome::Pass, Outcome::Fail])),
        Value::count(both.len()),
        Value::float_interval(difference(&all), resampled, NOTHING),
    ]);
    Ok(rows)
}
