//! Every printed aggregate of P against its recomputation, table by table.

use std::collections::BTreeSet;

use crate::exact::Ratio;
use crate::published::PublishedError;
use crate::published::compare::{Comparison, Comparisons};
use crate::published::data::{Manifest, PrintedRollback, Published};
use crate::published::recompute::{AttackResult, Recomputed, Rule};
use crate::statistics::{Proportion, SENSITIVITY_THRESHOLDS, Score};

const B1: &str = "Table B.1";
const B4: &str = "Table B.4";
const A1: &str = "rows of Table A.1";
const A2: &str = "Table A.2";
const DEFINITION: &str = "the rule's definition over Table A.2";
const NO_HONEST_SCORES: &str = "P prints no honest scores of judges";
const NO_ROLLBACK_SCORES: &str = "P prints no rollback scores";
const NO_ATTEMPTS: &str = "P prints no attempts";

/// Compares everything.
///
/// # Errors
/// [`PublishedError`] if the embedded data are inconsistent in form; differing numbers are rows, not errors.
pub(crate) fn comparisons(published: &Published, recomputed: &Recomputed) -> Result<Vec<Comparison>, PublishedError> {
    let mut all = Comparisons::default();
    manifest(&mut all, &published.manifest);
    shared(&mut all, published, recomputed)?;
    targets(&mut all, published, recomputed)?;
    for printed in &published.printed.rollback {
        rollback(&mut all, printed, recomputed)?;
    }
    thresholds(&mut all, published, recomputed)?;
    mechanism(&mut all, published, recomputed)?;
    Ok(all.rows)
}

fn manifest(all: &mut Comparisons, manifest: &Manifest) {
    for family in &manifest.families {
        let name = &family.family;
        let total = family.development + family.held_out;
        all.same(("A.1", format!("{name}, total")), &family.total.to_string(), total, A1);
        let held_out = manifest.tasks.iter().filter(|task| task.family == family.short).count();
        all.same(("A.1", format!("{name}, held-out")), &family.held_out.to_string(), held_out, A2);
    }
    let totals = manifest.printed_totals;
    let sum = |of: fn(&crate::published::data::Family) -> usize| manifest.families.iter().map(of).sum();
    let (development, held_out): (usize, usize) = (sum(|f| f.development), sum(|f| f.held_out));
    all.same(("A.1", "development total".into()), &totals.development.to_string(), development, A1);
    all.same(("A.1", "held-out total".into()), &totals.held_out.to_string(), held_out, A1);
    all.same(("A.1", "total".into()), &totals.total.to_string(), development + held_out, A1);
    let count =
        |keep: &dyn Fn(&crate::published::data::Task) -> bool| manifest.tasks.iter().filter(|task| keep(task)).count();
    let tagged = |tag: &'static str| count(&|task| task.tag.as_deref() == Some(tag));
    let levels: BTreeSet<Ratio> = manifest.tasks.iter().map(|task| task.p_state_honest).collect();
    all.same(("A.2", "matched tasks".into()), "15", count(&|task| task.a_ref), A2);
    all.same(("A.2", "rollback tasks".into()), "14", count(&|task| task.rollback_metric), A2);
    all.same(("A.2", "attribution-sensitive tasks".into()), "4", tagged("Attr."), A2);
    all.same(("A.2", "rollback-sensitive tasks".into()), "4", tagged("RB"), A2);
    all.same(("A.2", "levels of honest progress".into()), "7", levels.len(), A2);
}

fn shared(all: &mut Comparisons, published: &Published, recomputed: &Recomputed) -> Result<(), PublishedError> {
    for printed in &published.printed.shared {
        let id = printed.evaluator.as_str();
        let name = published.name(id);
        let result = found(recomputed.shared(id), id)?;
        let summary = &result.summary;
        let place = |table, what: &str| (table, format!("{name}, {what}"));
        let mean = summary.mean_inflation.map(|estimate| estimate.mean);
        let mae = recomputed.honest(id).map(|estimate| estimate.mean);
        let mae_basis = [DEFINITION, NO_HONEST_SCORES];
        if ["historical", "deepseek", "idj"].contains(&id) {
            all.mean(place("B.1", "mean"), &printed.mean, mean, [B1, B1])?;
            all.same(place("B.1", "ASR"), &printed.conditional_asr, summary.conditional_asr, B1);
        }
        all.mean(place("B.2", "honest MAE"), &printed.honest_mae, mae, mae_basis)?;
        all.mean(place("B.2", "mean inflation"), &printed.mean, mean, [B1, B1])?;
        if let (Some(bounds), Some(estimate)) = (&printed.ci95, summary.mean_inflation) {
            all.bounds(place("B.2", "mean inflation"), bounds, estimate.ci95, B1)?;
        }
        let (asr, yielded) = (summary.conditional_asr, summary.end_to_end_yield);
        all.same(place("B.2", "conditional ASR"), &printed.conditional_asr, asr, B1);
        all.same(place("B.2", "end-to-end yield"), &printed.end_to_end_yield, yielded, B1);
        let short = &printed.table_3;
        all.mean(place("3", "honest MAE"), &short.honest_mae, mae, mae_basis)?;
        all.mean(place("3", "mean inflation"), &short.mean, mean, [B1, B1])?;
        if let Some(detected) = &printed.rollback {
            let ours = recomputed.rollbacks(id);
            for table in ["B.2", "3"] {
                let place = place(table, "rollbacks detected");
                all.fraction(place, detected, ours, [DEFINITION, NO_ROLLBACK_SCORES]);
            }
        }
    }
    Ok(())
}

fn targets(all: &mut Comparisons, published: &Published, recomputed: &Recomputed) -> Result<(), PublishedError> {
    for printed in &published.printed.targets {
        let id = printed.target.as_str();
        let name = published.name(id);
        let summary = &found(recomputed.target(id), id)?.summary;
        let place = |table, what: &str| (table, format!("{name} target, {what}"));
        let attempts = recomputed.shape.tasks().len() * published.printed.attempts_per_task;
        let valid = printed.protocol_valid.to_string();
        let matched = printed.matched_tasks.to_string();
        let successful = printed.successful.to_string();
        all.same(place("A.5", "generated"), &printed.generated.to_string(), attempts, "18 tasks, K = 3");
        all.printed_only(place("A.5", "protocol-valid"), &valid, NO_ATTEMPTS);
        all.same(place("A.5", "matched tasks"), &matched, summary.coverage.k, B4);
        all.same(place("A.5", "successful tasks"), &successful, summary.end_to_end_yield.k, B4);
        all.printed_only(place("2", "valid"), &format!("{valid}/{}", printed.generated), NO_ATTEMPTS);
        for table in ["2", "B.3"] {
            let (asr, yielded) = (summary.conditional_asr, summary.end_to_end_yield);
            all.same(place(table, "coverage"), &printed.coverage, summary.coverage, B4);
            if let Some(estimate) = summary.mean_inflation {
                all.three_decimals(place(table, "mean inflation"), &printed.mean, estimate.mean, B4)?;
                all.bounds(place(table, "mean inflation"), &printed.ci95, estimate.ci95, B4)?;
            }
            all.same(place(table, "conditional ASR"), &printed.conditional_asr, asr, B4);
            all.same(place(table, "end-to-end yield"), &printed.end_to_end_yield, yielded, B4);
        }
    }
    Ok(())
}

fn rollback(all: &mut Comparisons, printed: &PrintedRollback, recomputed: &Recomputed) -> Result<(), PublishedError> {
    let id = printed.evaluator.as_str();
    let place = |what: &str| ("B.5", format!("{id}, {what}"));
    let detected = recomputed.rollbacks(id);
    all.fraction(place("detected"), &printed.detected, detected, [DEFINITION, NO_ROLLBACK_SCORES]);
    let missed = missed(&printed.detected)?;
    if let Some(rate) = missed.ratio() {
        let basis = "the printed detections";
        all.three_decimals(place("miss rate"), &printed.miss_rate, Score::exact(rate), basis)?;
    }
    if let Some(retained) = &printed.retained_misses {
        all.printed_only(place("retained credit among misses"), retained, NO_ROLLBACK_SCORES);
    }
    if let Some(retained) = &printed.retained_all {
        let ours = retained_all(printed)?;
        let basis = match Rule::of(id) {
            Rule::Current => DEFINITION,
            _ => "the printed mean among misses, detections counting as 0",
        };
        all.mean(place("retained credit, all pairs"), retained, ours, [basis, NO_ROLLBACK_SCORES])?;
    }
    Ok(())
}

/// Misses of all pairs, from a printed count of detections.
pub(crate) fn missed(detected: &str) -> Result<Proportion, PublishedError> {
    let detected = fraction(detected)?;
    Ok(Proportion::new(detected.n - detected.k, detected.n))
}

/// A printed `k/n`, unreduced.
pub(crate) fn fraction(printed: &str) -> Result<Proportion, PublishedError> {
    let parts = printed.split_once('/').and_then(|(k, n)| k.parse().ok().zip(n.parse().ok()));
    match parts {
        Some((k, n)) if k <= n => Ok(Proportion::new(k, n)),
        _ => Err(PublishedError::Fraction { found: printed.to_owned() }),
    }
}

/// Retained credit across all pairs, where it follows: 0 for current-state rules, misses' share of their mean else.
pub(crate) fn retained_all(printed: &PrintedRollback) -> Result<Option<Score>, PublishedError> {
    if Rule::of(&printed.evaluator) == Rule::Current {
        return Ok(Some(Score::ZERO));
    }
    let (Some(retained), Some(rate)) = (&printed.retained_misses, missed(&printed.detected)?.ratio()) else {
        return Ok(None);
    };
    Ok(Some(Score::printed(retained.parse::<Ratio>()?.checked_mul(rate)?)))
}

fn thresholds(all: &mut Comparisons, published: &Published, recomputed: &Recomputed) -> Result<(), PublishedError> {
    for printed in &published.printed.thresholds {
        let id = printed.evaluator.as_str();
        let (result, basis) = match printed.set.as_str() {
            "shared" => (recomputed.shared(id), B1),
            _ => (recomputed.target(id), B4),
        };
        let counts = &found(result, id)?.thresholds;
        for ((threshold, count), ours) in SENSITIVITY_THRESHOLDS.iter().zip(&printed.counts).zip(counts) {
            let threshold = crate::exact::decimal(*threshold);
            let what = format!("{} {}, above {}", printed.set, published.name(id), &threshold[1..4]);
            all.same(("B.6", what), &count.to_string(), ours, basis);
        }
    }
    Ok(())
}

fn mechanism(all: &mut Comparisons, published: &Published, recomputed: &Recomputed) -> Result<(), PublishedError> {
    for printed in &published.printed.mechanism {
        let place = |what: &str| ("6.1", format!("{}, {what}", printed.name));
        let mut reductions = recomputed.reductions.iter();
        let ours = reductions.find(|(id, _)| *id == printed.contrast).and_then(|(_, ours)| ours.mean);
        let mean = ours.map(|estimate| estimate.mean);
        all.mean(place("attacks"), &printed.attacks, mean, [B1, B1])?;
        if let (Some(bounds), Some(estimate)) = (&printed.attacks_ci95, ours) {
            all.bounds(place("attacks"), bounds, estimate.ci95, B1)?;
        }
        all.printed_only(place("rollbacks"), &printed.rollbacks, NO_ROLLBACK_SCORES);
        for (side, bound) in ["lower", "upper"].iter().zip(printed.rollbacks_ci95.iter().flatten()) {
            let what = place(&format!("rollbacks, {side} bound"));
            all.printed_only(what, bound, NO_ROLLBACK_SCORES);
        }
    }
    Ok(())
}

/// A result that the embedded data must lead to.
pub(crate) fn found<'a>(result: Option<&'a AttackResult>, id: &str) -> Result<&'a AttackResult, PublishedError> {
    result.ok_or_else(|| PublishedError::UnknownEvaluator { evaluator: id.to_owned() })
}
