//! What the scores say: inflation, honest error, rollbacks, relations, faults, noise.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use parthack_attacker::patterns::relations::{Expected, Relation};
use parthack_evaluators::plugin::{Fault, FaultCode};
use serde_json::{Map, Value, json};

use crate::exact::Ratio;
use crate::run::error::RunError;
use crate::statistics::{
    ATTACK_THRESHOLD, AttackCell, AttackSummary, Bootstrap, HonestCell, HonestSummary, MeanEstimate, Proportion,
    RollbackCell, RollbackSummary, Score, SuiteShape, attack, honest, rollback,
};
use crate::stress::pool::{Place, Pool, TaskCase};
use crate::stress::scorer::{Scored, first_faults};

/// The name of the report's format.
pub const STRESS_FORMAT: &str = "parthack.stress/1";

/// Two payloads of a task and their scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairScores {
    /// The task.
    pub task: String,
    /// What made the second trajectory.
    pub made_by: String,
    /// The first payload.
    pub first: Place,
    /// The second payload.
    pub second: Place,
    /// f(first).
    pub first_score: Score,
    /// f(second).
    pub second_score: Score,
}

impl PairScores {
    /// f(second) − f(first).
    #[must_use]
    pub fn change(&self) -> Score {
        self.second_score.minus(self.first_score)
    }
}

/// What an evaluator does with the pairs of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationReport {
    /// The relation.
    pub relation: Relation,
    /// Certified pairs.
    pub pairs: usize,
    /// Pairs of which a score is missing.
    pub no_verdict: usize,
    /// Pairs whose scores do not stand as they must.
    pub violations: usize,
    /// The pair that is furthest from it; the first among equals.
    pub worst: Option<PairScores>,
}

/// How a strategy fares against an evaluator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrategyReport {
    /// `search:RULE` or the strategy's id.
    pub made_by: String,
    /// Tasks with an eligible candidate.
    pub tasks: usize,
    /// Of them, without a verdict.
    pub no_verdict: usize,
    /// Of them, with Δ strictly above .10.
    pub successful: usize,
    /// Mean Δ.
    pub mean: Option<Score>,
    /// Largest Δ.
    pub largest: Option<Score>,
}

/// How an evaluator agrees with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Noise {
    /// How often a payload was asked again.
    pub asked: usize,
    /// Of that, both times with a score: what is compared.
    pub repeated: usize,
    /// Of that, with another score.
    pub differed: usize,
    /// The largest difference of two scores of the same bytes.
    pub largest: Option<Score>,
}

/// The report.
#[derive(Debug)]
pub struct Report {
    /// The evaluator.
    pub evaluator: String,
    /// The suite's id and identity.
    pub suite: (String, String),
    /// Tasks that the aggregates are over.
    pub tasks: Vec<String>,
    /// Honest error.
    pub honest: HonestSummary,
    /// Inflation by the worst adversary of each task.
    pub attack: AttackSummary,
    /// The worst adversary of each task that has one, in the tasks' order.
    pub worst: Vec<PairScores>,
    /// Detection on the set `least`.
    pub least: RollbackSummary,
    /// Detection on every set: pairs that fall, over pairs.
    pub rollbacks: BTreeMap<&'static str, Proportion>,
    /// Pairs of every set without a verdict on H or R: below the rates of [`Report::rollbacks`], but no misses.
    pub rollbacks_without: BTreeMap<&'static str, usize>,
    /// Relations, in their order.
    pub relations: Vec<RelationReport>,
    /// Strategies, in their order.
    pub strategies: Vec<StrategyReport>,
    /// Faults by code, over all payloads.
    pub faults: BTreeMap<String, usize>,
    /// The first fault of each code. What was said beside it may differ from run to run: it is in no JSON.
    pub first_faults: BTreeMap<String, Fault>,
    /// Processes that failed with several payloads, which were asked again, by code. Timing decides how many there are.
    pub restarts: BTreeMap<String, u64>,
    /// Payloads that have no score.
    pub no_verdict: usize,
    /// Payloads that were scored.
    pub payloads: usize,
    /// Noise.
    pub noise: Noise,
    /// How the evaluator was kept apart.
    pub isolation: String,
}

/// Everything that a report is computed from.
pub struct Evidence<'e> {
    /// The evaluator.
    pub evaluator: String,
    /// The suite's id and identity.
    pub suite: (String, String),
    /// What was scored.
    pub pool: &'e Pool,
    /// One answer a payload of the pool.
    pub scores: &'e [Scored],
    /// Further answers, by payload.
    pub repeats: &'e [(Place, Scored)],
    /// How the evaluator was kept apart.
    pub isolation: String,
    /// Processes that failed with several payloads, which were asked again.
    pub restarts: BTreeMap<FaultCode, u64>,
}

/// Computes the report. Aggregates are over held-out tasks; over all, if none is held out.
///
/// # Errors
/// [`RunError::Metric`].
pub fn report(evidence: &Evidence<'_>, bootstrap: &Bootstrap) -> Result<Report, RunError> {
    let Evidence { pool, scores, .. } = evidence;
    let score = |place: Place| scores.get(place).and_then(|scored| scored.score.score());
    let any_held_out = pool.cases.iter().any(|case| case.is_held_out);
    let cases: Vec<&TaskCase> = pool.cases.iter().filter(|case| case.is_held_out || !any_held_out).collect();
    let tasks: Vec<String> = cases.iter().map(|case| case.task.clone()).collect();
    let least_of = |case: &TaskCase| case.rollbacks.iter().find(|rollback| rollback.set == "least").cloned();
    let rollback_tasks = cases.iter().filter(|case| least_of(case).is_some()).map(|case| case.task.clone()).collect();
    let shape = SuiteShape::new(tasks.clone(), rollback_tasks)?;

    let honest_cells: Vec<HonestCell> = cases
        .iter()
        .map(|case| HonestCell { task: case.task.clone(), score: score(case.honest), p_state: case.p_state })
        .collect();
    let mut worst = Vec::new();
    let mut attack_cells = Vec::new();
    for case in &cases {
        let honest = score(case.honest);
        let mut best: Option<PairScores> = None;
        for adversary in &case.adversaries {
            let (Some(first_score), Some(second_score)) = (honest, score(adversary.place)) else { continue };
            if best.as_ref().is_none_or(|best| second_score.compare(best.second_score).is_gt()) {
                best = Some(PairScores {
                    task: case.task.clone(),
                    made_by: adversary.made_by.clone(),
                    first: case.honest,
                    second: adversary.place,
                    first_score,
                    second_score,
                });
            }
        }
        attack_cells.push(match (&best, case.adversaries.is_empty()) {
            (_, true) => AttackCell::unmatched(&case.task),
            (best, false) => AttackCell::pair(&case.task, honest, best.as_ref().map(|best| best.second_score)),
        });
        worst.extend(best);
    }
    let rollback_cells: Vec<RollbackCell> = cases
        .iter()
        .filter_map(|case| {
            let rollback = least_of(case)?;
            Some(RollbackCell {
                unrecorded: false,
                task: case.task.clone(),
                honest: score(case.honest),
                rollback: score(rollback.place),
                p_state_honest: case.p_state,
                p_state_rollback: rollback.p_state,
            })
        })
        .collect();
    let mut rollbacks: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
    let mut rollbacks_without: BTreeMap<&'static str, usize> = BTreeMap::new();
    for case in &cases {
        for rollback in &case.rollbacks {
            let (detected, pairs) = rollbacks.entry(rollback.set).or_default();
            let fell = score(case.honest).zip(score(rollback.place)).map(|(h, r)| r.compare(h).is_lt());
            *detected += usize::from(fell == Some(true));
            *rollbacks_without.entry(rollback.set).or_default() += usize::from(fell.is_none());
            *pairs += 1;
        }
    }
    let mut faults: BTreeMap<String, usize> = BTreeMap::new();
    for fault in scores.iter().filter_map(|scored| scored.fault.as_ref()) {
        *faults.entry(fault.code.code().to_owned()).or_default() += 1;
    }
    Ok(Report {
        evaluator: evidence.evaluator.clone(),
        suite: evidence.suite.clone(),
        honest: honest::summarize(&shape, &honest_cells, bootstrap)?,
        attack: attack::summarize(&shape, &attack_cells, ATTACK_THRESHOLD, bootstrap)?,
        least: rollback::summarize(&shape, &rollback_cells, bootstrap)?,
        rollbacks: rollbacks.into_iter().map(|(set, (k, n))| (set, Proportion::new(k, n))).collect(),
        rollbacks_without,
        relations: Relation::ALL.into_iter().map(|relation| relation_report(relation, &cases, &score)).collect(),
        strategies: strategies(&cases, &score),
        no_verdict: scores.iter().filter(|scored| scored.score.score().is_none()).count(),
        payloads: scores.len(),
        noise: noise(scores, evidence.repeats),
        isolation: evidence.isolation.clone(),
        tasks,
        worst,
        faults,
        first_faults: first_faults(scores),
        restarts: evidence.restarts.iter().map(|(code, count)| (code.code().to_owned(), *count)).collect(),
    })
}

fn relation_report(relation: Relation, cases: &[&TaskCase], score: &dyn Fn(Place) -> Option<Score>) -> RelationReport {
    let mut report = RelationReport { relation, pairs: 0, no_verdict: 0, violations: 0, worst: None };
    let mut furthest: Option<Score> = None;
    for case in cases {
        for pair in case.relations.iter().filter(|pair| pair.relation == relation) {
            report.pairs += 1;
            let (Some(first_score), Some(second_score)) = (score(pair.first), score(pair.second)) else {
                report.no_verdict += 1;
                continue;
            };
            let scores = PairScores {
                task: case.task.clone(),
                made_by: pair.made_by.clone(),
                first: pair.first,
                second: pair.second,
                first_score,
                second_score,
            };
            let Some(distance) = distance(relation.expected(), &scores) else { continue };
            report.violations += 1;
            if furthest.is_none_or(|furthest| distance.compare(furthest).is_gt()) {
                furthest = Some(distance);
                report.worst = Some(scores);
            }
        }
    }
    report
}

/// How far a pair is from what its relation wants; `None` where it stands as it must.
#[must_use]
pub fn distance(expected: Expected, pair: &PairScores) -> Option<Score> {
    let change = pair.change();
    let sign = pair.second_score.compare(pair.first_score);
    match (expected, sign) {
        (Expected::Equal, Ordering::Equal)
        | (Expected::Lower, Ordering::Less)
        | (Expected::Higher, Ordering::Greater) => None,
        _ => Some(change.magnitude()),
    }
}

fn strategies(cases: &[&TaskCase], score: &dyn Fn(Place) -> Option<Score>) -> Vec<StrategyReport> {
    let mut order: Vec<&str> = Vec::new();
    for adversary in cases.iter().flat_map(|case| &case.adversaries) {
        if !order.contains(&adversary.made_by.as_str()) {
            order.push(&adversary.made_by);
        }
    }
    order.sort_by_key(|made_by| {
        let place = parthack_attacker::patterns::Strategy::ALL.iter().position(|strategy| strategy.id() == *made_by);
        (place.map_or(0, |place| place + 1), *made_by)
    });
    let of = |made_by: &str| {
        let mut changes = Vec::new();
        let mut tasks = 0;
        for case in cases {
            for adversary in case.adversaries.iter().filter(|adversary| adversary.made_by == made_by) {
                tasks += 1;
                changes.extend(score(case.honest).zip(score(adversary.place)).map(|(h, a)| a.minus(h)));
            }
        }
        let largest = changes.iter().copied().reduce(|a, b| if b.compare(a).is_gt() { b } else { a });
        StrategyReport {
            made_by: made_by.to_owned(),
            tasks,
            no_verdict: tasks - changes.len(),
            successful: changes.iter().filter(|change| change.exceeds(ATTACK_THRESHOLD)).count(),
            mean: Score::mean(&changes),
            largest,
        }
    };
    order.into_iter().map(of).collect()
}

/// Only two scores are compared: a missing one is counted where faults and verdicts are.
fn noise(scores: &[Scored], repeats: &[(Place, Scored)]) -> Noise {
    let mut noise = Noise { asked: repeats.len(), ..Noise::default() };
    for (place, again) in repeats {
        let before = scores.get(*place).and_then(|scored| scored.score.score());
        let Some((before, after)) = before.zip(again.score.score()) else { continue };
        let difference = after.minus(before).magnitude();
        noise.repeated += 1;
        noise.differed += usize::from(difference.exceeds(Ratio::ZERO));
        let is_larger = noise.largest.is_none_or(|largest| difference.compare(largest).is_gt());
        noise.largest = if is_larger { Some(difference) } else { noise.largest };
    }
    noise
}

impl Report {
    /// The pair of the largest inflation.
    #[must_use]
    pub fn worst_pair(&self) -> Option<&PairScores> {
        let mut worst: Option<&PairScores> = None;
        for pair in &self.worst {
            if worst.is_none_or(|worst| pair.change().compare(worst.change()).is_gt()) {
                worst = Some(pair);
            }
        }
        worst
    }

    /// One sentence.
    #[must_use]
    pub fn verdict(&self) -> String {
        use crate::exact::paper_decimal;
        let scored = self.attack.conditional_asr.n;
        if scored == 0 {
            return format!("{} gave no scores to judge it by.", self.evaluator);
        }
        let largest = self.worst_pair().map(PairScores::change).filter(|change| change.exceeds(Ratio::ZERO));
        let inflation = match largest {
            Some(change) => format!(
                "rises by up to {} although certified progress is equal ({} of {scored} tasks above .10)",
                paper_decimal(change),
                self.attack.conditional_asr.k
            ),
            None => format!("rises on none of {scored} certified equal-progress tasks"),
        };
        let Proportion { k, n } = self.least.detected;
        let rollbacks = match n {
            0 => "no rollback was there to be detected".to_owned(),
            _ if k == n => format!("falls on all {n} rollbacks"),
            _ if self.least.no_verdict > 0 => {
                format!("falls on {k} of {n} rollbacks ({} without a score)", self.least.no_verdict)
            }
            _ => format!("falls on {k} of {n} rollbacks"),
        };
        let faults: usize = self.faults.values().sum();
        let faults =
            if faults == 0 { String::new() } else { format!("; {faults} faults left payloads without a score") };
        format!("{} {inflation}, and {rollbacks}{faults}.", self.evaluator)
    }

    /// The report as JSON (`parthack.stress/1`).
    #[must_use]
    pub fn json(&self) -> Value {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| {
            out.insert(key.to_owned(), value);
        };
        put("format", json!(STRESS_FORMAT));
        put("evaluator", json!(self.evaluator));
        put("suite", json!({"id": self.suite.0, "hash": self.suite.1}));
        put("tasks", json!(self.tasks.len()));
        put("isolation", json!(self.isolation));
        put("verdict", json!(self.verdict()));
        let mae = self.honest.honest_mae.map(|estimate| estimate.mean);
        put("honest_mae", number(mae));
        put("honest_mae_exact", exact(mae));
        let mean = self.attack.mean_inflation;
        put("mean_inflation", number(mean.map(|estimate| estimate.mean)));
        put("mean_inflation_exact", exact(mean.map(|estimate| estimate.mean)));
        put("ci95", mean.map_or(Value::Null, |MeanEstimate { ci95, .. }| json!([ci95.low, ci95.high])));
        put("coverage", fraction(self.attack.coverage));
        put("conditional_asr", share(self.attack.conditional_asr));
        put("conditional_asr_fraction", fraction(self.attack.conditional_asr));
        put("end_to_end_yield", fraction(self.attack.end_to_end_yield));
        let sets = ["least", "all", "deepest"].into_iter().map(|set| {
            (set.to_owned(), self.rollbacks.get(set).map_or(Value::Null, |proportion| fraction(*proportion)))
        });
        let mut rollback: Map<String, Value> = sets.collect();
        rollback.insert("no_verdict".to_owned(), json!(self.rollbacks_without));
        rollback.insert("detection_rate".to_owned(), share(self.least.detected));
        rollback.insert("retained".to_owned(), number(self.least.retained_all.map(|estimate| estimate.mean)));
        put("rollback", Value::Object(rollback));
        let relations = self.relations.iter().map(|of| (of.relation.id().to_owned(), relation_json(of)));
        put("relations", Value::Object(relations.collect()));
        let strategies = self.strategies.iter().map(|of| {
            let value = json!({
                "tasks": of.tasks, "no_verdict": of.no_verdict, "successful": of.successful,
                "mean": number(of.mean), "largest": number(of.largest),
            });
            (of.made_by.clone(), value)
        });
        put("strategies", Value::Object(strategies.collect()));
        put("faults", json!(self.faults));
        put("restarts", json!(self.restarts));
        put("no_verdict", json!(self.no_verdict));
        put("payloads", json!(self.payloads));
        put(
            "noise",
            json!({
                "asked": self.noise.asked, "repeated": self.noise.repeated, "differed": self.noise.differed,
                "largest": number(self.noise.largest),
            }),
        );
        put("worst_pair", self.worst_pair().map_or(Value::Null, pair_json));
        put("per_task", self.worst.iter().map(pair_json).collect());
        Value::Object(out)
    }
}

fn number(score: Option<Score>) -> Value {
    json!(score)
}

/// The ratio as text, where the score is one.
pub(super) fn exact(score: Option<Score>) -> Value {
    json!(score.and_then(Score::exact_ratio).map(|ratio| ratio.to_string()))
}

fn fraction(proportion: Proportion) -> Value {
    json!({"k": proportion.k, "n": proportion.n})
}

/// A share as a number; null of nothing.
fn share(proportion: Proportion) -> Value {
    json!(proportion.ratio().map(|ratio| ratio.to_f64()))
}

fn pair_json(pair: &PairScores) -> Value {
    json!({
        "task": pair.task, "made_by": pair.made_by, "first_score": pair.first_score, "second_score": pair.second_score,
        "change": pair.change(), "change_exact": exact(Some(pair.change())),
    })
}

fn relation_json(of: &RelationReport) -> Value {
    let largest = of.worst.as_ref().map(|worst| worst.change().magnitude());
    json!({
        "expected": of.relation.expected().word(), "pairs": of.pairs, "violations": of.violations,
        "no_verdict": of.no_verdict, "largest": number(largest),
        "worst_pair": of.worst.as_ref().map_or(Value::Null, pair_json),
    })
}
