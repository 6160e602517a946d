//! The statistics that several tables share, computed once.

use std::collections::BTreeMap;

use crate::ledger::{RecordedScore, Subject};
use crate::run::error::RunError;
use crate::run::manifest::{FrozenEvaluator, ROLLBACK_SETS, ratio_at};
use crate::run::units::is_judged_set;
use crate::statistics::attack::{self, AttackCell, AttackOutcome, AttackSummary};
use crate::statistics::honest::{self, HonestCell, HonestSummary};
use crate::statistics::rollback::{self, RollbackCell, RollbackSummary};
use crate::table::{Cell, Missing};
use crate::tables::view::{LedgerView, missing};

/// One evaluator on the shared set A_ref, on the honest set and on rollbacks.
#[derive(Debug, Clone)]
pub struct EvaluatorSummary {
    /// Evaluator id.
    pub id: String,
    /// Honest MAE.
    pub honest: HonestSummary,
    /// Per-task cells on A_ref.
    pub shared: Vec<AttackCell>,
    /// Inflation on A_ref.
    pub attack: AttackSummary,
    /// Per-task cells of the sets with one rollback a task, `least` and `deepest`.
    pub rollback_cells: BTreeMap<&'static str, Vec<RollbackCell>>,
    /// Detection and retained false credit of those sets.
    pub rollbacks: BTreeMap<&'static str, RollbackSummary>,
    /// Cells of the set `all`, one a rollback, so that a task may have several; none for an evaluator that is not asked.
    pub all_rollbacks: Option<Vec<RollbackCell>>,
}

/// One target's own adversaries, scored by the target.
#[derive(Debug, Clone)]
pub struct TargetSummary {
    /// Target id.
    pub id: String,
    /// Candidates that the attacker produced.
    pub generated: usize,
    /// Those that met the schema and replayed legally.
    pub protocol_valid: usize,
    /// Per-task cells, if the target is among the evaluators.
    pub cells: Option<Vec<AttackCell>>,
    /// Inflation, if the target is among the evaluators.
    pub attack: Option<AttackSummary>,
}

/// All of a run.
#[derive(Debug, Clone)]
pub struct Summaries {
    /// By evaluator, in the order of the tables.
    pub evaluators: Vec<EvaluatorSummary>,
    /// By target, in the order of the tables.
    pub targets: Vec<TargetSummary>,
}

impl Summaries {
    /// Computes all of them.
    ///
    /// # Errors
    /// [`RunError::Incomplete`] for a missing record, [`RunError::Metric`] for a denominator.
    pub fn compute(view: &LedgerView<'_>) -> Result<Summaries, RunError> {
        let aggregated = view.evaluators().iter().filter(|evaluator| view.is_aggregated(&evaluator.id));
        let evaluators = aggregated.map(|evaluator| of_evaluator(view, evaluator));
        let targets = view.manifest.targets.iter().map(|target| of_target(view, target));
        Ok(Summaries { evaluators: evaluators.collect::<Result<_, _>>()?, targets: targets.collect::<Result<_, _>>()? })
    }

    /// The summary of an evaluator.
    #[must_use]
    pub fn evaluator(&self, id: &str) -> Option<&EvaluatorSummary> {
        self.evaluators.iter().find(|summary| summary.id == id)
    }
}

fn of_evaluator(view: &LedgerView<'_>, evaluator: &FrozenEvaluator) -> Result<EvaluatorSummary, RunError> {
    let id = evaluator.id.as_str();
    let honest_cells: Result<Vec<HonestCell>, RunError> = (view.held_out())
        .map(|task| {
            let score = view.score(&task.id, &Subject::Honest {}, id)?;
            Ok(HonestCell { task: task.id.clone(), score, p_state: view.p_state_honest(&task.id)? })
        })
        .collect();
    let shared = attack_cells(view, &view.manifest.reference_target, id)?;
    let (mut rollback_cells, mut rollbacks) = (BTreeMap::new(), BTreeMap::new());
    let mut all_rollbacks = None;
    for set in ROLLBACK_SETS.into_iter().filter(|set| evaluator.judge.is_none() || is_judged_set(set)) {
        let cells = cells_of_set(view, set, id)?;
        if set == "all" {
            all_rollbacks = Some(cells);
            continue;
        }
        rollbacks.insert(set, rollback::summarize(&view.shape, &cells, &view.bootstrap)?);
        rollback_cells.insert(set, cells);
    }
    Ok(EvaluatorSummary {
        id: id.to_owned(),
        honest: honest::summarize(&view.shape, &honest_cells?, &view.bootstrap)?,
        attack: attack::summarize(&view.shape, &shared, view.threshold, &view.bootstrap)?,
        shared,
        rollback_cells,
        rollbacks,
        all_rollbacks,
    })
}

fn of_target(view: &LedgerView<'_>, target: &str) -> Result<TargetSummary, RunError> {
    let attempts = || view.held_out().flat_map(|task| view.attempts(&task.id, target));
    let (mut cells, mut summary) = (None, None);
    if view.is_aggregated(target) {
        let own = attack_cells(view, target, target)?;
        summary = Some(attack::summarize(&view.shape, &own, view.threshold, &view.bootstrap)?);
        cells = Some(own);
    }
    Ok(TargetSummary {
        id: target.to_owned(),
        generated: attempts().filter(|attempt| attempt.is_generated()).count(),
        protocol_valid: attempts().filter(|attempt| attempt.is_protocol_valid()).count(),
        cells,
        attack: summary,
    })
}

/// An evaluator's inflation on a target's adversaries, a cell for each held-out task.
pub(super) fn attack_cells(view: &LedgerView<'_>, target: &str, id: &str) -> Result<Vec<AttackCell>, RunError> {
    view.held_out().map(|task| attack_cell(view, &task.id, target, id)).collect()
}

/// An evaluator's inflation on a target's adversary of one task.
pub(super) fn attack_cell(view: &LedgerView<'_>, task: &str, target: &str, id: &str) -> Result<AttackCell, RunError> {
    if !view.is_matched(task, target)? {
        return Ok(AttackCell::unmatched(task));
    }
    let honest = &view.score_record(task, &Subject::Honest {}, id)?.score;
    let adversary = &view.score_record(task, &Subject::Adversary { target: target.to_owned() }, id)?.score;
    Ok(AttackCell { task: task.to_owned(), outcome: outcome_of(honest, adversary) })
}

/// The outcome of an eligible pair by its recorded scores.
pub(super) fn outcome_of(honest: &RecordedScore, adversary: &RecordedScore) -> AttackOutcome {
    match honest.is_unrecorded() || adversary.is_unrecorded() {
        true => AttackOutcome::NotRecorded,
        false => AttackOutcome::of_pair(honest.score(), adversary.score()),
    }
}

/// An evaluator's inflation in a cell of its own.
pub(super) fn inflation_cell(outcome: AttackOutcome) -> Cell {
    match outcome {
        AttackOutcome::Unmatched => Cell::Missing(Missing::Unmatched),
        AttackOutcome::NoVerdict => Cell::Missing(Missing::NothingScored),
        AttackOutcome::NotRecorded => Cell::Missing(Missing::NotRecorded),
        AttackOutcome::Inflation(score) => Cell::Number(score),
    }
}

fn cells_of_set(view: &LedgerView<'_>, set: &str, id: &str) -> Result<Vec<RollbackCell>, RunError> {
    let mut cells = Vec::new();
    for task in view.shape.rollback_tasks() {
        let rollbacks = view.rollbacks(task, set);
        if rollbacks.is_empty() {
            return Err(missing(&format!("rollback of {task} in the set {set:?}")));
        }
        for rollback in rollbacks {
            cells.push(rollback_cell(view, task, rollback, id)?);
        }
    }
    Ok(cells)
}

/// An evaluator on one rollback.
pub(super) fn rollback_cell(
    view: &LedgerView<'_>,
    task: &str,
    rollback: &crate::ledger::RollbackRecord,
    id: &str,
) -> Result<RollbackCell, RunError> {
    let subject = Subject::Rollback { set: rollback.set.clone(), index: rollback.index };
    Ok(RollbackCell {
        task: task.to_owned(),
        honest: view.score(task, &Subject::Honest {}, id)?,
        rollback: view.score(task, &subject, id)?,
        unrecorded: view.is_unrecorded(task, &Subject::Honest {}, id)? || view.is_unrecorded(task, &subject, id)?,
        p_state_honest: view.p_state_honest(task)?,
        p_state_rollback: ratio_at("/record/p_state", &rollback.p_state)?,
    })
}
