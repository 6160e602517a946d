//! Tables of models: how they were asked (A.4), how much their scores move when nothing of the trajectory does (noise and
//! order), other aggregates of repeated judgements, and checklists.

use std::collections::BTreeMap;

use parthack_model::role::{Reasoning, RoleConfig};

use crate::ledger::{JudgementRecord, RecordedScore, Subject, Variant};
use crate::run::error::RunError;
use crate::run::manifest::{FrozenAttacker, FrozenEvaluator, Manifest};
use crate::statistics::Score;
use crate::statistics::attack::{self, AttackCell};
use crate::statistics::honest::within_trajectory_deviation;
use crate::statistics::mechanism::{PerTask, compare, inflation_per_task};
use crate::statistics::rollback::{RollbackCell, summarize as summarize_rollbacks};
use crate::table::{Cell, Column, Missing, Table, layout};
use crate::tables::summaries::Summaries;
use crate::tables::view::LedgerView;

/// A model and its decoding in one line: what P's Table A.4 says of each component.
pub(super) fn described(role: &RoleConfig) -> String {
    let mut parts = vec![role.name()];
    parts.extend(role.identity.iter().map(|(key, value)| format!("{key} {value}")));
    parts.push(match role.temperature.as_str() {
        "default" => "the model's own temperature".to_owned(),
        temperature => format!("temperature {temperature}"),
    });
    let thinking = role.reasoning.map(|reasoning| match reasoning {
        Reasoning::Low => "low reasoning effort",
        Reasoning::Medium => "medium reasoning effort",
        Reasoning::High => "high reasoning effort",
        Reasoning::On => "thinking mode",
        Reasoning::Off => "thinking off",
    });
    parts.extend(thinking.map(str::to_owned));
    parts.push(format!("{}-token cap", role.max_tokens));
    parts.push(format!("{}-s timeout, one bounded retry", role.timeout_seconds));
    parts.join(", ")
}

/// Which model made which rows, for the note of a table in which these judges have numbers; none where neither they nor the
/// attacker are models. A table `of_checklists` has nothing of those who judge by them.
pub(super) fn models_note(manifest: &Manifest, judges: &[&str], of_checklists: bool) -> Option<String> {
    let model = |role: &RoleConfig| {
        let file = role.identity.get("model_file").map(|file| format!(" ({file})")).unwrap_or_default();
        format!("{}{file}", role.name())
    };
    let mut by_model: BTreeMap<String, (bool, Vec<String>)> = BTreeMap::new();
    let mut name = |role: &RoleConfig, part: String| {
        let (local, parts) = by_model.entry(model(role)).or_default();
        *local |= role.provider == "local";
        parts.push(part);
    };
    for evaluator in &manifest.evaluators {
        let Some(judge) = evaluator.judge.as_ref().filter(|_| judges.contains(&evaluator.id.as_str())) else {
            continue;
        };
        let other = judge.checklist_role.as_ref().filter(|role| model(role) != model(&judge.role));
        if !of_checklists || other.is_none() {
            name(&judge.role, evaluator.title.clone());
        }
        if let Some(role) = other {
            name(role, format!("checklists of {}", evaluator.title));
        }
    }
    if let FrozenAttacker::Llm { role, .. } = &manifest.attacker {
        name(role, "the attacker".to_owned());
    }
    let any_local = by_model.values().any(|(local, _)| *local);
    let lines: Vec<String> =
        by_model.iter().map(|(model, (_, parts))| format!("{model} made: {}.", parts.join(", "))).collect();
    let caution = match any_local {
        true => " A local model shows the path, not what a frontier judge scores.",
        false => "",
    };
    (!lines.is_empty()).then(|| format!("{}{caution}", lines.join(" ")))
}

/// Table A.4: model and decoding configuration.
pub(super) fn table_a4(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let mut table = layout::table_a4();
    let mut push = |component: String, configuration: String| {
        table.push([("component", Cell::text(component)), ("configuration", Cell::text(configuration))])
    };
    if let FrozenAttacker::Llm { role, budget, prompts, .. } = &view.manifest.attacker {
        push("Attacker".to_owned(), format!("{}, K = {budget}, prompts {}", described(role), short(prompts)))?;
    }
    for evaluator in &view.manifest.evaluators {
        let Some(judge) = &evaluator.judge else { continue };
        if let Some(role) = &judge.checklist_role {
            let words = format!("{}; instruction only; one frozen checklist a task", described(role));
            push(format!("{} checklist", evaluator.title), words)?;
        }
        let calls = if judge.repeats == 1 { "one call" } else { "median of several calls" };
        let (mode, prompts) = (&judge.answer_mode, short(&judge.prompts));
        let words =
            format!("{}; answer mode {mode}; {calls} ({}); prompts {prompts}", described(&judge.role), judge.repeats);
        push(evaluator.title.clone(), words)?;
    }
    if table.rows.is_empty() {
        table.push([("component", Cell::text("Models")), ("configuration", Cell::Missing(Missing::NotRecorded))])?;
    }
    Ok(table)
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// Judgements of honest trajectories by judge and variant, task by task; without those that a replay has no recording of.
type ByVariant<'l> = BTreeMap<&'l str, BTreeMap<Variant, BTreeMap<&'l str, &'l JudgementRecord>>>;

fn honest_judgements<'l>(view: &LedgerView<'l>) -> ByVariant<'l> {
    let mut sorted = ByVariant::new();
    let of_honest =
        |judgement: &&&JudgementRecord| judgement.subject == Subject::Honest {} && !judgement.score.is_unrecorded();
    for judgement in view.judgements().iter().filter(of_honest) {
        let of_judge = sorted.entry(&judgement.evaluator).or_default();
        of_judge.entry(judgement.variant).or_default().insert(&judgement.task, judgement);
    }
    sorted
}

/// How far a judge's scores move when the trajectory does not: repeated questions, fields and items in another order,
/// beside the inflation that they must be told from. One row a judge and probe.
pub(super) fn noise(view: &LedgerView<'_>, summaries: &Summaries) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("evaluator", "Evaluator"),
        Column::words("probe", "Asked again with"),
        Column::numbers("trajectories", "Trajectories"),
        Column::numbers("changed", "Changed"),
        Column::numbers("mean_shift", "Mean shift"),
        Column::numbers("mean_magnitude", "Mean |shift|"),
        Column::numbers("largest", "Largest |shift|"),
        Column::numbers("mean_inflation", "Mean inflation"),
        Column::numbers("inflation_minus_magnitude", "Inflation − |shift|"),
        Column::numbers("wilcoxon_p", "p"),
        Column::numbers("no_verdict", "No verdict"),
    ];
    let mut table = Table::new("noise", "Noise floor and order sensitivity", columns).with_note(
        "Honest trajectories, asked about again with nothing of them changed; a shift is the other score less the first \
         one. The paired test (Wilcoxon, two-sided, exploratory) compares inflation on A_ref with the magnitude of the \
         shift on the same tasks.",
    );
    for (judge, variants) in honest_judgements(view) {
        let Some(first) = variants.get(&Variant::Repeat { number: 1 }) else { continue };
        let shared = summaries.evaluator(judge).map(|summary| inflation_per_task(&summary.shared));
        for (variant, probes) in variants.iter().filter(|(variant, _)| **variant != Variant::Repeat { number: 1 }) {
            let words = match variant {
                Variant::Repeat { .. } | Variant::Again {} => format!("nothing ({variant})"),
                Variant::FieldOrder {} => "rationale before verdict".to_owned(),
                Variant::ItemOrder {} => "items in reverse".to_owned(),
            };
            let mut row = vec![("evaluator", Cell::named(judge, view.title(judge))), ("probe", Cell::text(words))];
            let shifts: Vec<PerTask> = probes.iter().map(|(task, probe)| shift(task, first.get(task), probe)).collect();
            row.extend(shift_cells(&shifts));
            row.extend(against_inflation(view, shared.as_deref(), &shifts)?);
            table.push(row)?;
        }
    }
    Ok(table)
}

fn shift(task: &str, first: Option<&&JudgementRecord>, probe: &JudgementRecord) -> PerTask {
    let value = first.and_then(|first| Some(probe.score.score()?.minus(first.score.score()?)));
    PerTask { task: task.to_owned(), value }
}

fn shift_cells(shifts: &[PerTask]) -> [(&'static str, Cell); 6] {
    let given: Vec<Score> = shifts.iter().filter_map(|shift| shift.value).collect();
    let magnitudes: Vec<Score> = given.iter().map(|shift| shift.magnitude()).collect();
    let changed = given.iter().filter(|shift| !shift.value().is_zero()).count();
    let largest = magnitudes.iter().copied().max_by(|left, right| left.compare(*right));
    [
        ("trajectories", Cell::count(shifts.len())),
        ("changed", Cell::count(changed)),
        ("mean_shift", Score::mean(&given).into()),
        ("mean_magnitude", Score::mean(&magnitudes).into()),
        ("largest", largest.into()),
        ("no_verdict", Cell::count(shifts.len() - given.len())),
    ]
}

/// Inflation beside the magnitude of the shift on the same tasks, with a paired test; for a judge that aggregates don't
/// cover, nothing.
fn against_inflation(
    view: &LedgerView<'_>,
    inflation: Option<&[PerTask]>,
    shifts: &[PerTask],
) -> Result<[(&'static str, Cell); 3], RunError> {
    const KEYS: [&str; 3] = ["mean_inflation", "inflation_minus_magnitude", "wilcoxon_p"];
    let Some(inflation) = inflation else {
        return Ok(KEYS.map(|key| (key, Cell::Missing(Missing::NotRecorded))));
    };
    let magnitude = |task: &str| {
        let shift = shifts.iter().find(|shift| shift.task == task);
        shift.and_then(|shift| shift.value).map(Score::magnitude)
    };
    let noise: Vec<PerTask> =
        (inflation.iter()).map(|cell| PerTask { task: cell.task.clone(), value: magnitude(&cell.task) }).collect();
    let compared = compare(inflation, &noise, &view.bootstrap)?;
    let given: Vec<Score> = inflation.iter().filter_map(|cell| cell.value).collect();
    let mean = compared.difference.mean.map(|estimate| estimate.mean);
    // A test of no pairs says nothing.
    let p_value = match mean {
        Some(_) => Cell::Probability(measured(compared.wilcoxon.p_value)?),
        None => Cell::Missing(Missing::NothingScored),
    };
    Ok([(KEYS[0], Score::mean(&given).into()), (KEYS[1], mean.into()), (KEYS[2], p_value)])
}

/// Repeated judgements: their spread within a trajectory, and what other aggregates than the primary give (P B.4, B.5).
pub(super) fn aggregates(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let columns = vec![
        Column::words("evaluator", "Evaluator"),
        Column::words("aggregate", "Aggregate"),
        Column::numbers("honest_mae", "Honest MAE"),
        Column::numbers("mean_inflation", "Mean inflation"),
        Column::numbers("conditional_asr", "Cond. ASR"),
        Column::numbers("rollback", "Rollback"),
        Column::numbers("median_deviation", "Median deviation"),
    ];
    let mut table = Table::new("aggregates", "Repeated judgements under other aggregates", columns).with_note(
        "Shared set A_ref and rollbacks of the set `least`; the deviation is the median over all trajectories of the \
         standard deviation (divisor n) of one trajectory's judgements.",
    );
    for evaluator in view.evaluators().iter().filter(|evaluator| view.is_aggregated(&evaluator.id)) {
        if evaluator.judge.as_ref().is_none_or(|judge| judge.repeats < 2) {
            continue;
        }
        let mut names = vec![None];
        if let Some(task) = view.held_out().next() {
            let record = view.score_record(&task.id, &Subject::Honest {}, &evaluator.id)?;
            names.extend(record.others.keys().map(Some));
        }
        for name in names {
            table.push(aggregate_row(view, evaluator, name.map(String::as_str))?)?;
        }
    }
    Ok(table)
}

fn aggregate_row(
    view: &LedgerView<'_>,
    evaluator: &FrozenEvaluator,
    name: Option<&str>,
) -> Result<Vec<(&'static str, Cell)>, RunError> {
    let score = |task: &str, subject: &Subject| -> Result<Option<Score>, RunError> {
        let record = view.score_record(task, subject, &evaluator.id)?;
        Ok(match name {
            None => record.score.score(),
            Some(name) => record.others.get(name).and_then(RecordedScore::score),
        })
    };
    let unrecorded = |task: &str, subject: &Subject| view.is_unrecorded(task, subject, &evaluator.id);
    let (mut errors, mut cells, mut rollbacks) = (Vec::new(), Vec::new(), Vec::new());
    for task in view.held_out() {
        let honest = score(&task.id, &Subject::Honest {})?;
        let p_state = view.p_state_honest(&task.id)?;
        errors.extend(honest.map(|honest| honest.minus(Score::exact(p_state)).magnitude()));
        let target = &view.manifest.reference_target;
        cells.push(match view.is_matched(&task.id, target)? {
            false => AttackCell::unmatched(&task.id),
            true => {
                let adversary = score(&task.id, &Subject::Adversary { target: target.clone() })?;
                AttackCell::pair(&task.id, honest, adversary)
            }
        });
        for rollback in view.rollbacks(&task.id, "least") {
            let subject = Subject::Rollback { set: rollback.set.clone(), index: rollback.index };
            rollbacks.push(RollbackCell {
                task: task.id.clone(),
                honest,
                rollback: score(&task.id, &subject)?,
                unrecorded: unrecorded(&task.id, &Subject::Honest {})? || unrecorded(&task.id, &subject)?,
                p_state_honest: p_state,
                p_state_rollback: crate::run::manifest::ratio_at("/record/p_state", &rollback.p_state)?,
            });
        }
    }
    let attack = attack::summarize(&view.shape, &cells, view.threshold, &view.bootstrap)?;
    let rollback = summarize_rollbacks(&view.shape, &rollbacks, &view.bootstrap)?;
    let deviation = match name {
        None => deviation(view, &evaluator.id)?.into(),
        Some(_) => Cell::Missing(Missing::NotApplicable),
    };
    Ok(vec![
        ("evaluator", Cell::named(&evaluator.id, &evaluator.title)),
        ("aggregate", Cell::text(name.unwrap_or("primary"))),
        ("honest_mae", Score::mean(&errors).into()),
        ("mean_inflation", attack.mean_inflation.map(|estimate| estimate.mean).into()),
        ("conditional_asr", attack.conditional_asr.into()),
        ("rollback", rollback.detected.into()),
        ("median_deviation", deviation),
    ])
}

fn deviation(view: &LedgerView<'_>, judge: &str) -> Result<Option<Score>, RunError> {
    let mut repeats: BTreeMap<(&str, &Subject), Vec<Score>> = BTreeMap::new();
    for judgement in view.judgements().iter().filter(|judgement| judgement.evaluator == judge) {
        if matches!(judgement.variant, Variant::Repeat { .. }) {
            let scores = repeats.entry((&judgement.task, &judgement.subject)).or_default();
            scores.extend(judgement.score.score());
        }
    }
    let repeats: Vec<Vec<Score>> = repeats.into_values().collect();
    let summary = within_trajectory_deviation(&repeats);
    summary.map(|summary| measured(summary.median_population)).transpose()
}

fn measured(value: f64) -> Result<Score, RunError> {
    Score::measured(value).map_err(|error| RunError::Incomplete(format!("{value}: {error}")))
}
