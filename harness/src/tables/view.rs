//! A ledger by task: what tables ask for, with the names of what is missing.

use std::collections::BTreeMap;

use parthack_evaluators::registry::all_descriptors;

use crate::exact::Ratio;
use crate::ledger::{
    AttemptRecord, AuditRecord, ChecklistRecord, HonestRecord, JudgementRecord, Ledger, Record, RollbackRecord,
    ScoreRecord, SelectionRecord, Subject,
};
use crate::run::error::RunError;
use crate::run::manifest::{FrozenEvaluator, FrozenTask, Manifest, REFERENCE_SUITE, ratio_at};
use crate::statistics::{Bootstrap, Score, SuiteShape};
use crate::table::{Cell, Missing, Table};
use crate::tables::SEMANTIC;

/// Records by task, then by target or set.
type ByTask<'l, R> = BTreeMap<&'l str, BTreeMap<&'l str, Vec<&'l R>>>;

/// A ledger by task.
#[derive(Debug)]
pub struct LedgerView<'l> {
    /// The manifest.
    pub manifest: &'l Manifest,
    /// The held-out tasks, with their denominators checked.
    pub shape: SuiteShape,
    /// The resamples of the manifest's plan.
    pub bootstrap: Bootstrap,
    /// Threshold of success.
    pub threshold: Ratio,
    /// Thresholds of Table B.6.
    pub sensitivity: Vec<Ratio>,
    honest: BTreeMap<&'l str, &'l HonestRecord>,
    attempts: ByTask<'l, AttemptRecord>,
    selections: BTreeMap<(&'l str, &'l str), &'l SelectionRecord>,
    rollbacks: ByTask<'l, RollbackRecord>,
    scores: BTreeMap<(&'l str, &'l Subject, &'l str), &'l ScoreRecord>,
    judgements: Vec<&'l JudgementRecord>,
    checklists: Vec<&'l ChecklistRecord>,
    audits: Vec<&'l AuditRecord>,
}

impl<'l> LedgerView<'l> {
    /// Sorts a ledger by task.
    ///
    /// # Errors
    /// A manifest whose numbers can't be read, or a suite without its asserted counts.
    pub fn new(manifest: &'l Manifest, ledger: &'l Ledger) -> Result<LedgerView<'l>, RunError> {
        let held_out = || manifest.tasks.iter().filter(|task| task.is_held_out());
        let ids = held_out().map(|task| task.id.clone()).collect();
        let claiming = held_out().filter(|task| task.rollback_metric).map(|task| task.id.clone()).collect();
        let shape = SuiteShape::new(ids, claiming)?;
        if manifest.suite.id == REFERENCE_SUITE && manifest.suite.whole {
            shape.expect_counts(18, 14)?;
        }
        let (threshold, sensitivity) = manifest.threshold_ratios()?;
        let plan = manifest.bootstrap_plan()?;
        let bootstrap = Bootstrap::new(plan).map_err(|error| RunError::Metric(error.into()))?;
        let mut view = LedgerView {
            manifest,
            shape,
            bootstrap,
            threshold,
            sensitivity,
            honest: BTreeMap::new(),
            attempts: BTreeMap::new(),
            selections: BTreeMap::new(),
            rollbacks: BTreeMap::new(),
            scores: BTreeMap::new(),
            judgements: Vec::new(),
            checklists: Vec::new(),
            audits: Vec::new(),
        };
        for record in ledger.records() {
            view.insert(record);
        }
        let attempts = view.attempts.values_mut().flat_map(BTreeMap::values_mut);
        attempts.for_each(|attempts| attempts.sort_by_key(|attempt| attempt.attempt));
        let rollbacks = view.rollbacks.values_mut().flat_map(BTreeMap::values_mut);
        rollbacks.for_each(|rollbacks| rollbacks.sort_by_key(|rollback| rollback.index));
        view.audits.sort_by(|left, right| left.name.cmp(&right.name));
        view.judgements.sort_by_key(|r| (&r.evaluator, &r.task, &r.subject, r.variant));
        view.checklists.sort_by_key(|r| (&r.evaluator, &r.task));
        Ok(view)
    }

    fn insert(&mut self, record: &'l Record) {
        match record {
            Record::Honest(r) => {
                self.honest.insert(&r.task, r);
            }
            Record::Attempt(r) => self.attempts.entry(&r.task).or_default().entry(&r.target).or_default().push(r),
            Record::Selection(r) => {
                self.selections.insert((&r.task, &r.target), r);
            }
            Record::Rollback(r) => self.rollbacks.entry(&r.task).or_default().entry(&r.set).or_default().push(r),
            Record::Score(r) => {
                self.scores.insert((&r.task, &r.subject, &r.evaluator), r);
            }
            Record::Judgement(r) => self.judgements.push(r),
            Record::Checklist(r) => self.checklists.push(r),
            Record::Audit(r) => self.audits.push(r),
            Record::Control(_) => {}
        }
    }

    /// Evaluators in the order of the tables.
    #[must_use]
    pub fn evaluators(&self) -> &'l [FrozenEvaluator] {
        &self.manifest.evaluators
    }

    /// Whether scores of an evaluator are in the ledger.
    #[must_use]
    pub fn has_evaluator(&self, id: &str) -> bool {
        self.manifest.evaluator(id).is_some()
    }

    /// Whether an evaluator scored every held-out task, so that aggregates have their denominators.
    #[must_use]
    pub fn is_aggregated(&self, id: &str) -> bool {
        self.manifest.evaluator(id).is_some_and(|evaluator| self.held_out().all(|task| evaluator.covers(&task.id)))
    }

    /// Whether a target is an evaluator of the run that scores trajectories of a task.
    #[must_use]
    pub fn is_scored(&self, id: &str, task: &str) -> bool {
        self.manifest.evaluator(id).is_some_and(|evaluator| evaluator.covers(task))
    }

    /// Evaluators that aggregates have no numbers of, id and title: those of the run that do not cover the held-out
    /// tasks, and the paper's judges that are not in the run.
    #[must_use]
    pub fn not_recorded(&self) -> Vec<(&'l str, &'l str)> {
        let partial = self.evaluators().iter().filter(|evaluator| !self.is_aggregated(&evaluator.id));
        let mut rows: Vec<(&str, &str)> = partial.map(|e| (e.id.as_str(), e.title.as_str())).collect();
        rows.extend(SEMANTIC.into_iter().filter(|(id, _)| !self.has_evaluator(id)));
        rows
    }

    /// The paper's judges that the run does not attack, id and title.
    #[must_use]
    pub fn untargeted(&self) -> Vec<(&'static str, &'static str)> {
        SEMANTIC.into_iter().filter(|(id, _)| !self.manifest.targets.iter().any(|target| target == id)).collect()
    }

    /// Held-out tasks in the suite's order.
    pub fn held_out(&self) -> impl Iterator<Item = &'l FrozenTask> {
        self.manifest.tasks.iter().filter(|task| task.is_held_out())
    }

    /// Development tasks in the suite's order.
    pub fn development(&self) -> impl Iterator<Item = &'l FrozenTask> {
        self.manifest.tasks.iter().filter(|task| !task.is_held_out())
    }

    /// The printed name of an evaluator or target.
    #[must_use]
    pub fn title<'t>(&'t self, id: &'t str) -> &'t str {
        let evaluator = self.manifest.evaluators.iter().find(|evaluator| evaluator.id == id);
        let known = || all_descriptors().into_iter().find(|known| known.id == id).map(|known| known.title);
        evaluator.map(|evaluator| evaluator.title.as_str()).or_else(known).unwrap_or(id)
    }

    /// P_state(H) as certified.
    ///
    /// # Errors
    /// [`RunError::Incomplete`] without an honest record.
    pub fn p_state_honest(&self, task: &str) -> Result<Ratio, RunError> {
        let record = self.honest.get(task).ok_or_else(|| missing(&format!("honest record of {task}")))?;
        Ok(ratio_at("/record/p_state", &record.p_state)?)
    }

    /// A score: the outer `None` for a missing cell, the inner one for no verdict.
    ///
    /// # Errors
    /// [`RunError::Incomplete`] if the ledger has no such cell.
    pub fn score(&self, task: &str, subject: &Subject, evaluator: &str) -> Result<Option<Score>, RunError> {
        Ok(self.score_record(task, subject, evaluator)?.score.score())
    }

    /// Whether a replay has no recording of a score.
    ///
    /// # Errors
    /// As [`LedgerView::score`].
    pub fn is_unrecorded(&self, task: &str, subject: &Subject, evaluator: &str) -> Result<bool, RunError> {
        Ok(self.score_record(task, subject, evaluator)?.score.is_unrecorded())
    }

    /// The record of a score.
    ///
    /// # Errors
    /// [`RunError::Incomplete`] if the ledger has no such cell.
    pub fn score_record(&self, task: &str, subject: &Subject, evaluator: &str) -> Result<&'l ScoreRecord, RunError> {
        let recorded = self.scores.get(&(task, subject, evaluator)).copied();
        recorded.ok_or_else(|| missing(&format!("score of {task}, {subject}, by {evaluator}")))
    }

    /// Every single judgement, by task, trajectory and variant.
    #[must_use]
    pub fn judgements(&self) -> &[&'l JudgementRecord] {
        &self.judgements
    }

    /// Every checklist, by judge and task.
    #[must_use]
    pub fn checklists(&self) -> &[&'l ChecklistRecord] {
        &self.checklists
    }

    /// The target's attempts on a task, in order.
    #[must_use]
    pub fn attempts(&self, task: &str, target: &str) -> &[&'l AttemptRecord] {
        self.attempts.get(task).and_then(|of_task| of_task.get(target)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a target has an eligible adversary on a task.
    ///
    /// # Errors
    /// [`RunError::Incomplete`] without a selection record.
    pub fn is_matched(&self, task: &str, target: &str) -> Result<bool, RunError> {
        let selection = self.selections.get(&(task, target));
        let selection = selection.ok_or_else(|| missing(&format!("selection on {task} for {target}")))?;
        Ok(selection.attempt.is_some())
    }

    /// The rollbacks of a set on a task, in order.
    #[must_use]
    pub fn rollbacks(&self, task: &str, set: &str) -> &[&'l RollbackRecord] {
        self.rollbacks.get(task).and_then(|of_task| of_task.get(set)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The audits.
    #[must_use]
    pub fn audits(&self) -> &[&'l AuditRecord] {
        &self.audits
    }
}

/// What stands where a run has no numbers.
pub(super) const NOT_RECORDED: Cell = Cell::Missing(Missing::NotRecorded);

/// Adds a row of which these cells are known, and nothing else is recorded.
pub(super) fn push_not_recorded<const N: usize>(table: &mut Table, known: [(&str, Cell); N]) -> Result<(), RunError> {
    let keys: Vec<String> = table.columns.iter().map(|column| column.key.clone()).collect();
    let others = keys.into_iter().filter(|key| known.iter().all(|(of, _)| of != key)).map(|key| (key, NOT_RECORDED));
    let row: Vec<(String, Cell)> = others.chain(known.clone().map(|(key, cell)| (key.to_owned(), cell))).collect();
    Ok(table.push(row)?)
}

pub(super) fn missing(what: &str) -> RunError {
    RunError::Incomplete(format!("the ledger has no {what}; `parthack verify` tells what else is missing"))
}
