//! G's Table 3: checklist construction, the outcome step, and checks that could have failed (G §4.5).

use std::collections::{BTreeMap, BTreeSet};

use parthack_statistics::{BootstrapError, Clusters, Scored};

use super::coverage::schemes;
use super::discrimination::Own;
use super::error::AnalysisError;
use super::outcome_step::{Separated, abstentions, compared, sample, variants};
use super::resampling::{Share, share};
use super::selection::{GCPC, is_forced};
use super::study::{Labelled, NO_VERDICT, NOT_JUDGED, Reading, Score, Study, ZERO_EVIDENCE, labelled};
use super::table::{Table, Value, number, words};
use crate::baselines::Baseline;
use crate::controls::idle::{Idleness, holds};
use crate::label::Label;
use crate::outcome::Step;
use crate::records::{Judgement, Variant};

/// A row before it is laid out.
struct Row {
    panel: &'static str,
    variant: String,
    change: &'static str,
    measure: &'static str,
    unit: &'static str,
    n: usize,
    tasks: usize,
    count: Value,
    value: Value,
    increment: Value,
    zero_evidence: Value,
    no_verdict: usize,
}

const NONE: Value = Value::Missing("-");

impl Row {
    fn values(self) -> Vec<Value> {
        vec![
            Value::text(self.panel),
            Value::Text(self.variant),
            Value::text(self.change),
            Value::text(self.measure),
            Value::text(self.unit),
            Value::count(self.n),
            Value::count(self.tasks),
            self.count,
            self.value,
            self.increment,
            self.zero_evidence,
            Value::count(self.no_verdict),
        ]
    }

    fn of_share(panel: &'static str, variant: String, change: &'static str, unit: &'static str, share: Share) -> Row {
        let is_judged = share.n > 0;
        Row {
            panel,
            variant,
            change,
            measure: "share",
            unit,
            n: share.n,
            tasks: share.tasks,
            count: if is_judged { Value::count(share.count) } else { Value::Missing(NOT_JUDGED) },
            value: if is_judged { share.value } else { Value::Missing(NOT_JUDGED) },
            increment: NONE,
            zero_evidence: NONE,
            no_verdict: 0,
        }
    }

    fn of_separation(panel: &'static str, variant: &str, change: &'static str, of: Separated) -> Row {
        Row {
            panel,
            variant: variant.to_owned(),
            change,
            measure: "PASS-FAIL separation",
            unit: "logs",
            n: of.n,
            tasks: of.tasks,
            count: NONE,
            value: of.value,
            increment: of.increment.unwrap_or(NONE),
            zero_evidence: NONE,
            no_verdict: 0,
        }
    }
}

/// Table 3.
pub(crate) fn table(study: &Study<'_>, own: &[Own]) -> Result<Table, AnalysisError> {
    let columns = vec![
        words("panel", "Panel"),
        words("variant", "Variant"),
        words("change", "Design change"),
        words("measure", "Measure"),
        words("unit", "Of"),
        number("n", "n"),
        number("tasks", "Tasks"),
        number("count", "Count"),
        number("value", "Value"),
        number("increment", "Increment"),
        number("zero_evidence", "Zero evidence"),
        number("no_verdict", "No verdict"),
    ];
    let mut rows = construction(own);
    if study.is_judged(Score::Gcpc) {
        rows.extend(step(study)?);
        rows.extend(abstaining(study)?);
        rows.extend(replacement(study)?);
    }
    if !study.is_empty() {
        rows.extend(idleness(study)?);
        rows.extend(without_evidence(study)?);
    }
    rows.extend(falsification(study)?);
    let rows = rows.into_iter().map(Row::values).collect();
    let mut notes = study.notes_of(&study.logs);
    notes.push(study.zero_evidence_note());
    notes.push(study.interval_note());
    notes.push("A: each construction on the logs that it scored and that have an official outcome. B and the first rows of C: logs with labels of some item, some evidence and an outcome, the same in every row; increments are against the first row of the group, on the same resamples. They explain the score and are no evidence of its validity.".to_owned());
    notes.push("Evidence replacement counts each item of a log once, of those judged Yes. The floor holds where no item is Yes. Scheme coverage pools the stated requirements of the tasks that all four schemes sorted.".to_owned());
    Ok(Table { id: "3", title: "Ablations and falsification checks", columns, rows, notes })
}

fn construction(own: &[Own]) -> Vec<Row> {
    let change = |score| match score {
        Score::Gcpc => Some((0, "task-specific checklist, grounded in instruction and verifier")),
        Score::Baseline(Baseline::GenericChecklist) => Some((1, "five fixed questions")),
        Score::Baseline(Baseline::Tick) => Some((2, "questions by TICK")),
        Score::Baseline(Baseline::TickTrajectory) => Some((3, "questions by TICK, worded for trajectories")),
        Score::GcpcOutcome | Score::Baseline(Baseline::Holistic) => None,
    };
    let mut rows = Vec::new();
    for own in own {
        let Some((place, change)) = change(own.score) else { continue };
        let zero_evidence = if own.score == Score::Gcpc { Value::count(own.zero_evidence) } else { NONE };
        let row = Row {
            panel: "A",
            variant: own.score.id().to_owned(),
            change,
            measure: "AUC",
            unit: "logs",
            n: own.n(),
            tasks: own.found.tasks,
            count: NONE,
            value: own.auc(),
            increment: NONE,
            zero_evidence,
            no_verdict: own.no_verdict,
        };
        rows.push((place, row));
    }
    rows.sort_by_key(|(place, _)| *place);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// What the rows over labels have in common.
fn counted(study: &Study<'_>, mut row: Row) -> Row {
    row.zero_evidence = Value::count(study.missing(Score::Gcpc, ZERO_EVIDENCE));
    row.no_verdict = study.missing(Score::Gcpc, NO_VERDICT);
    row
}

fn step(study: &Study<'_>) -> Result<Vec<Row>, BootstrapError> {
    let changes = [
        "endpoint off, PASS propagation off",
        "endpoint on, PASS propagation off",
        "endpoint off, PASS propagation on",
        "endpoint on, PASS propagation on",
    ];
    let named = Step::VARIANTS.into_iter().zip(changes).zip(variants(study)?);
    Ok(named.map(|(((name, _), change), of)| counted(study, Row::of_separation("B", name, change, of))).collect())
}

fn abstaining(study: &Study<'_>) -> Result<Vec<Row>, AnalysisError> {
    let named =
        [("abstain-excluded", "Abstain leaves the denominator"), ("abstain-as-no", "every Abstain recoded as No")];
    let mut rows: Vec<Row> = named
        .into_iter()
        .zip(abstentions(study)?)
        .map(|((name, change), of)| counted(study, Row::of_separation("C", name, change, of)))
        .collect();
    let forced = readings(study, is_forced)?;
    let mut no_verdict = 0;
    let mut by_log: BTreeMap<&str, &Labelled> = BTreeMap::new();
    for (judgement, reading) in &forced {
        match reading {
            Reading::Is(labelled) => {
                by_log.insert(&judgement.identity.log, labelled);
            }
            _ => no_verdict += 1,
        }
    }
    let of = |is_forced: bool| {
        Clusters::from_pairs(sample(study).filter_map(|(log, labelled, passed)| {
            let forced = by_log.get(log.identity.log.as_str())?.gcpc_outcome().ok()?;
            let score = if is_forced { forced } else { labelled.gcpc_outcome().ok()? };
            Some((log.task(), Scored { score, passed }))
        }))
    };
    let change = "Abstain is not offered";
    let row = match compared(study, &[of(false), of(true)])?.pop() {
        Some(found) if !forced.is_empty() => Row::of_separation("C", "forced-verdict", change, found),
        _ => Row { measure: "PASS-FAIL separation", ..unjudged("forced-verdict", change, "logs") },
    };
    rows.push(Row { no_verdict, ..row });
    Ok(rows)
}

/// A row of a check that nobody made.
fn unjudged(variant: &str, change: &'static str, unit: &'static str) -> Row {
    Row {
        panel: "C",
        variant: variant.to_owned(),
        change,
        measure: "share",
        unit,
        n: 0,
        tasks: 0,
        count: NONE,
        value: Value::Missing(NOT_JUDGED),
        increment: NONE,
        zero_evidence: NONE,
        no_verdict: 0,
    }
}

/// The first pass of judgements by the checklist in another variant.
fn readings<'a>(
    study: &Study<'a>,
    wanted: fn(&Variant) -> bool,
) -> Result<Vec<(&'a Judgement, Reading<Labelled>)>, AnalysisError> {
    let first = study.selection.of(study.judge(), GCPC, wanted).filter(|judgement| judgement.pass == 1);
    first
        .map(|judgement| Ok((judgement, labelled(judgement, study.input.checklists.get(&judgement.identity.task))?)))
        .collect()
}

fn replacement(study: &Study<'_>) -> Result<Vec<Row>, BootstrapError> {
    let yes: BTreeSet<(&str, &str)> = study
        .logs
        .iter()
        .filter_map(|log| Some((log.identity.log.as_str(), log.gcpc.get().ok()?)))
        .flat_map(|(log, labelled)| labelled.labels.items.iter().map(move |item| (log, item)))
        .filter(|(_, item)| item.label == Label::Yes)
        .map(|(log, item)| (log, item.id.as_str()))
        .collect();
    let is_replacement = |variant: &Variant| matches!(variant, Variant::Replacement { .. });
    let mut pairs: BTreeMap<(&str, &str), (&str, Label)> = BTreeMap::new();
    let mut no_verdict = 0;
    let judged = study.selection.of(study.judge(), GCPC, is_replacement).filter(|judgement| judgement.pass == 1);
    for judgement in judged {
        let Variant::Replacement { item, .. } = &judgement.variant else { continue };
        let key = (judgement.identity.log.as_str(), item.as_str());
        let label = judgement.items.iter().find(|judged| judged.id == *item).map(|judged| judged.label);
        match label.filter(|_| judgement.no_verdict.is_none()) {
            None => no_verdict += 1,
            Some(label) if yes.contains(&key) => {
                pairs.entry(key).or_insert((&judgement.identity.task, label));
            }
            Some(_) => {}
        }
    }
    let counts =
        |wanted: &[Label]| share(&study.bootstrap, pairs.values().map(|(task, label)| (*task, wanted.contains(label))));
    let change = "every occurrence of the evidence of a Yes replaced";
    let row =
        |name: &str, share| Row { no_verdict, ..Row::of_share("C", name.to_owned(), change, "item pairs", share) };
    Ok(vec![
        row("replacement-to-no", counts(&[Label::No])?),
        row("replacement-to-no-or-abstain", counts(&[Label::No, Label::Abstain])?),
    ])
}

fn idleness(study: &Study<'_>) -> Result<Vec<Row>, AnalysisError> {
    let made = readings(study, |variant| matches!(variant, Variant::Idle { .. }))?;
    let is_of = |judgement: &Judgement, wanted: Option<&str>| matches!(&judgement.variant, Variant::Idle { idleness } if wanted.is_none_or(|wanted| wanted == idleness));
    let mut rows = Vec::new();
    let kinds = Idleness::ALL.into_iter().map(|(name, _)| Some(name));
    for kind in std::iter::once(None).chain(kinds) {
        let of_kind = || made.iter().filter(|(judgement, _)| is_of(judgement, kind));
        // Without rows of kinds that nobody made, the whole is all that says so.
        if kind.is_some() && of_kind().next().is_none() {
            continue;
        }
        let name = kind.map_or_else(|| "idle-agent".to_owned(), |kind| format!("idle-agent: {kind}"));
        rows.push(floor(study, name, "no substantive work on the task", "made logs", of_kind())?);
    }
    Ok(rows)
}

fn without_evidence(study: &Study<'_>) -> Result<Vec<Row>, AnalysisError> {
    let made = readings(study, |variant| *variant == Variant::WithoutEvidence {})?;
    let change = "tool outputs and file contents taken out";
    Ok(vec![floor(study, "without-evidence".to_owned(), change, "logs", made.iter())?])
}

/// How often no item is Yes.
fn floor<'r>(
    study: &Study<'_>,
    name: String,
    change: &'static str,
    unit: &'static str,
    made: impl Iterator<Item = &'r (&'r Judgement, Reading<Labelled>)>,
) -> Result<Row, BootstrapError> {
    let mut no_verdict = 0;
    let mut held = Vec::new();
    for (judgement, reading) in made {
        match reading {
            Reading::Is(labelled) => held.push((judgement.identity.task.as_str(), holds(&labelled.labels))),
            _ => no_verdict += 1,
        }
    }
    Ok(Row { no_verdict, ..Row::of_share("C", name, change, unit, share(&study.bootstrap, held)?) })
}

fn falsification(study: &Study<'_>) -> Result<Vec<Row>, AnalysisError> {
    let mut rows = Vec::new();
    for (name, found) in schemes(study)? {
        let change = match name {
            "real" => "the five categories",
            "reduced" => "some categories removed",
            "irrelevant" => "unrelated definitions",
            _ => "definitions under each other's names",
        };
        let row = Row::of_share("C", format!("scheme-{name}"), change, "requirements", found.share);
        rows.push(Row { no_verdict: found.unsorted, ..row });
    }
    Ok(rows)
}
