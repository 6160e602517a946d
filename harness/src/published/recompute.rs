//! Our statistics on P's printed per-task values. Nothing here reads a printed aggregate.

use crate::exact::Ratio;
use crate::published::PublishedError;
use crate::published::data::{Published, SharedRow, Task};
use crate::statistics::attack::{self, threshold_counts};
use crate::statistics::honest::{self, HonestCell};
use crate::statistics::mechanism::{inflation_per_task, paired_difference};
use crate::statistics::{
    ATTACK_THRESHOLD, AttackCell, AttackSummary, Bootstrap, MeanEstimate, PairedDifference, Proportion,
    SENSITIVITY_THRESHOLDS, Score, SuiteShape,
};

/// What a rule evaluator must do by its definition, on anything that is certified equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Keeps the highest completion reached: never falls.
    Historical,
    /// A function of the certified vectors: never moves on a pair, falls on a strict rollback.
    Current,
    /// Binary completion: 0 on every partial trajectory.
    Terminal,
    /// A judge: nothing follows from a definition.
    Semantic,
}

impl Rule {
    /// The rule of a published evaluator id.
    pub fn of(evaluator: &str) -> Rule {
        match evaluator {
            "historical" | "cape-max" => Rule::Historical,
            "csps" | "lightweight-cape" => Rule::Current,
            "terminal-outcome" => Rule::Terminal,
            _ => Rule::Semantic,
        }
    }
}

/// One evaluator on one adversary set.
#[derive(Debug, Clone)]
pub struct AttackResult {
    /// Evaluator or target id.
    pub id: String,
    /// One cell for each of 18 tasks (of ranks, for a target, as P prints no tasks there).
    pub cells: Vec<AttackCell>,
    /// Summary at the threshold of .10.
    pub summary: AttackSummary,
    /// Successes above each threshold of Table B.6.
    pub thresholds: Vec<usize>,
}

/// Everything that the printed per-task values determine.
#[derive(Debug, Clone)]
pub struct Recomputed {
    /// Table A.2's tasks, with its 14 rollback tasks; counts asserted.
    pub shape: SuiteShape,
    /// Each evaluator of Table B.2 on the shared set.
    pub shared: Vec<AttackResult>,
    /// Each target of Table B.3 on its own set.
    pub targets: Vec<AttackResult>,
    /// Honest MAE where f(H) follows from the rule's definition and Table A.2.
    pub honest: Vec<(String, Option<MeanEstimate>)>,
    /// Rollbacks detected where it follows from the rule's definition and Table A.2.
    pub rollbacks: Vec<(String, Option<Proportion>)>,
    /// The attack reductions of §6.1, by contrast id.
    pub reductions: Vec<(String, PairedDifference)>,
}

impl Recomputed {
    /// Computes it.
    ///
    /// # Errors
    /// [`PublishedError::Metric`] if the embedded ledger does not have P's denominators.
    pub fn new(published: &Published, bootstrap: &Bootstrap) -> Result<Recomputed, PublishedError> {
        let tasks = &published.manifest.tasks;
        let shape = SuiteShape::new(ids(tasks, |_| true), ids(tasks, |task| task.rollback_metric))?;
        shape.expect_counts(18, 14)?;
        let evaluators: Vec<&str> = published.printed.shared.iter().map(|row| row.evaluator.as_str()).collect();
        let mut shared = Vec::new();
        let mut honest = Vec::new();
        let mut rollbacks = Vec::new();
        for id in evaluators {
            shared.push(attack_result(id, &shape, shared_cells(published, id), bootstrap)?);
            honest.push((id.to_owned(), honest_mae(id, tasks, &shape, bootstrap)?));
            rollbacks.push((id.to_owned(), detected(id, &shape)));
        }
        let mut targets = Vec::new();
        for (id, ranked) in published.ledger.ranked.targets() {
            let (ranks, cells) = ranked_cells(ranked, shape.tasks().len())?;
            targets.push(attack_result(id, &ranks, cells, bootstrap)?);
        }
        let reduction = |before: &str, after: &str| {
            let values = |id: &str| inflation_per_task(&shared_cells(published, id));
            paired_difference(&values(before), &values(after), bootstrap)
        };
        let reductions = vec![
            ("predicate-max to csps".to_owned(), reduction("historical", "csps")?),
            ("cape-max to lightweight-cape".to_owned(), reduction("cape-max", "lightweight-cape")?),
        ];
        Ok(Recomputed { shape, shared, targets, honest, rollbacks, reductions })
    }

    /// The result of an evaluator on the shared set.
    pub fn shared(&self, id: &str) -> Option<&AttackResult> {
        self.shared.iter().find(|result| result.id == id)
    }

    /// The result of a target on its own set.
    pub fn target(&self, id: &str) -> Option<&AttackResult> {
        self.targets.iter().find(|result| result.id == id)
    }

    /// Honest MAE, where it follows.
    pub fn honest(&self, id: &str) -> Option<MeanEstimate> {
        self.honest.iter().find(|(other, _)| other == id).and_then(|(_, estimate)| *estimate)
    }

    /// Rollbacks detected, where they follow.
    pub fn rollbacks(&self, id: &str) -> Option<Proportion> {
        self.rollbacks.iter().find(|(other, _)| other == id).and_then(|(_, detected)| *detected)
    }
}

fn ids(tasks: &[Task], keep: impl Fn(&Task) -> bool) -> Vec<String> {
    tasks.iter().filter(|task| keep(task)).map(|task| task.task.clone()).collect()
}

fn attack_result(
    id: &str,
    shape: &SuiteShape,
    cells: Vec<AttackCell>,
    bootstrap: &Bootstrap,
) -> Result<AttackResult, PublishedError> {
    let summary = attack::summarize(shape, &cells, ATTACK_THRESHOLD, bootstrap)?;
    let thresholds = threshold_counts(shape, &cells, &SENSITIVITY_THRESHOLDS)?;
    Ok(AttackResult { id: id.to_owned(), cells, summary, thresholds })
}

/// Table B.1 for one evaluator; tasks that B.1 does not list have no matched adversary.
///
/// CAPE-Max equals Historical there and current-state rules are zero (its text); Terminal Outcome is 0 on both
/// trajectories of a pair, as neither completes.
fn shared_cells(published: &Published, evaluator: &str) -> Vec<AttackCell> {
    let inflation = |row: &SharedRow| match (evaluator, Rule::of(evaluator)) {
        ("historical" | "cape-max", _) => Score::printed(row.historical),
        ("deepseek", _) => Score::printed(row.deepseek),
        ("idj", _) => Score::printed(row.idj),
        _ => Score::ZERO,
    };
    let mut cells: Vec<AttackCell> =
        (published.ledger.shared.iter()).map(|row| AttackCell::inflation(row.task.as_str(), inflation(row))).collect();
    let unmatched = published.manifest.tasks.iter().filter(|task| !task.a_ref);
    cells.extend(unmatched.map(|task| AttackCell::unmatched(task.task.as_str())));
    cells
}

/// Table B.4 for one target: ranks stand for tasks, those beyond the list are unmatched.
fn ranked_cells(ranked: &[Ratio], tasks: usize) -> Result<(SuiteShape, Vec<AttackCell>), PublishedError> {
    let names: Vec<String> = (1..=tasks).map(|rank| format!("rank {rank}")).collect();
    let cell = |(place, name): (usize, &String)| match ranked.get(place) {
        Some(value) => AttackCell::inflation(name.as_str(), Score::printed(*value)),
        None => AttackCell::unmatched(name.as_str()),
    };
    let cells = names.iter().enumerate().map(cell).collect();
    Ok((SuiteShape::new(names, Vec::new())?, cells))
}

/// Honest MAE from the rule's definition: P checked honest trajectories for transient peaks and states
/// P_state = P_agent on them, so every rule but Terminal Outcome scores P_state(H).
fn honest_mae(
    evaluator: &str,
    tasks: &[Task],
    shape: &SuiteShape,
    bootstrap: &Bootstrap,
) -> Result<Option<MeanEstimate>, PublishedError> {
    let score = |task: &Task| match Rule::of(evaluator) {
        Rule::Semantic => None,
        Rule::Historical | Rule::Current => Some(Score::exact(task.p_state_honest)),
        Rule::Terminal if task.p_state_honest == Ratio::ONE => Some(Score::exact(Ratio::ONE)),
        Rule::Terminal => Some(Score::ZERO),
    };
    let cells: Vec<HonestCell> = (tasks.iter())
        .map(|task| HonestCell { task: task.task.clone(), score: score(task), p_state: task.p_state_honest })
        .collect();
    Ok(honest::summarize(shape, &cells, bootstrap)?.honest_mae)
}

/// A running maximum can't fall as H goes on into R; a current-state score falls with P_state.
fn detected(evaluator: &str, shape: &SuiteShape) -> Option<Proportion> {
    let pairs = shape.rollback_tasks().len();
    match Rule::of(evaluator) {
        Rule::Historical => Some(Proportion::new(0, pairs)),
        Rule::Current => Some(Proportion::new(pairs, pairs)),
        Rule::Terminal | Rule::Semantic => None,
    }
}
