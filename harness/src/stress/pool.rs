//! The certified trajectories that an evaluator is stressed with.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use parthack_attacker::patterns::relations::{Relation, pairs};
use parthack_attacker::patterns::{Strategy, generate};
use parthack_attacker::search::{SearchOptions, search};
use parthack_env::candidate::Candidate;
use parthack_env::payload::payload;
use parthack_env::replay::Replay;
use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_evaluators::registry::payload_hash;
use parthack_evaluators::rules::Rule;

use crate::exact::Ratio;
use crate::run::certifying::{Certified, Certify, ELIGIBLE};
use crate::run::error::RunError;
use crate::run::suite::{Suite, SuiteTask};
use crate::stress::renaming::renamed;

/// The target that the certifier counts attempts against.
const TARGET: &str = "stress";
/// What exact adversaries are named by, before the rule.
const SEARCH: &str = "search:";

/// A payload's place in the pool.
pub type Place = usize;

/// An eligible adversary of a task.
#[derive(Debug, Clone)]
pub struct Adversary {
    /// `search:RULE` or the strategy's id.
    pub made_by: String,
    /// Its payload.
    pub place: Place,
}

/// A strict rollback of a task.
#[derive(Debug, Clone)]
pub struct RollbackCase {
    /// `least`, `all` or `deepest`.
    pub set: &'static str,
    /// Its payload.
    pub place: Place,
    /// P_state(R).
    pub p_state: Ratio,
}

/// A certified pair of a relation.
#[derive(Debug, Clone)]
pub struct RelationCase {
    /// The relation.
    pub relation: Relation,
    /// What made it: a strategy's id, `search:RULE`, a rollback set, or the relation itself.
    pub made_by: String,
    /// The first trajectory's payload.
    pub first: Place,
    /// The second trajectory's payload.
    pub second: Place,
}

/// What a task is stressed with.
#[derive(Debug, Clone)]
pub struct TaskCase {
    /// Task id.
    pub task: String,
    /// Whether the suite counts it among held-out tasks.
    pub is_held_out: bool,
    /// Whether it is in the rollback metric.
    pub in_rollback_metric: bool,
    /// P_state(H).
    pub p_state: Ratio,
    /// H's payload.
    pub honest: Place,
    /// Eligible adversaries, in order.
    pub adversaries: Vec<Adversary>,
    /// Candidates that the certifier refused, and why: code → count.
    pub refused: BTreeMap<String, usize>,
    /// Strict rollbacks.
    pub rollbacks: Vec<RollbackCase>,
    /// Pairs of relations.
    pub relations: Vec<RelationCase>,
}

/// Everything that is to be scored.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    /// Distinct payloads.
    pub payloads: Vec<Vec<u8>>,
    places: BTreeMap<[u8; 32], Place>,
    /// The tasks, in the suite's order.
    pub cases: Vec<TaskCase>,
}

impl Pool {
    fn add(&mut self, bytes: Vec<u8>) -> Place {
        let hash = payload_hash(&bytes).0;
        let next = self.payloads.len();
        let place = *self.places.entry(hash).or_insert(next);
        if place == next {
            self.payloads.push(bytes);
        }
        place
    }
}

/// What is made of a task from public data, before anything is certified.
struct Draft {
    candidates: Vec<(String, Vec<Step>)>,
    pairs: Vec<(Relation, Vec<Step>, Vec<Step>)>,
}

/// Makes and certifies everything. The same suite gives the same pool, with any number of threads.
///
/// # Errors
/// [`RunError`]; [`RunError::Certification`] for a pair that is not what its relation says: a bug.
pub fn make(
    suite: &Suite,
    tasks: Option<&[String]>,
    certifier: &mut dyn Certify,
    threads: usize,
) -> Result<Pool, RunError> {
    let chosen: Vec<&SuiteTask> =
        suite.tasks.iter().filter(|entry| tasks.is_none_or(|tasks| tasks.contains(&entry.task.spec.id))).collect();
    if let Some(unknown) = tasks.into_iter().flatten().find(|id| suite.task(id).is_none()) {
        return Err(RunError::usage(format!("no task {unknown:?} in {}", suite.id), "parthack task show lists them"));
    }
    for entry in &chosen {
        certifier.check(&entry.task)?;
    }
    let drafts: Vec<Mutex<Option<Draft>>> = chosen.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, chosen.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(entry) = chosen.get(index) else { break };
                    let draft = draft(&entry.task);
                    if let Ok(mut slot) = drafts[index].lock() {
                        *slot = Some(draft);
                    }
                }
            });
        }
    });
    let mut pool = Pool::default();
    for (entry, draft) in chosen.into_iter().zip(drafts) {
        let draft = draft.into_inner().ok().flatten();
        let draft = draft.ok_or_else(|| RunError::Incomplete(format!("no draft of {}", entry.task.spec.id)))?;
        let case = certify(&mut pool, entry, draft, certifier)?;
        pool.cases.push(case);
    }
    Ok(pool)
}

fn draft(task: &Task) -> Draft {
    let mut candidates: Vec<(String, Vec<Step>)> = Vec::new();
    for rule in Rule::ALL {
        // A search that is too large for its bounds leaves the rule out; the patterns stay.
        let found = search(task, rule, &SearchOptions::default()).ok().and_then(|outcome| outcome.witness);
        candidates.extend(found.map(|steps| (format!("{SEARCH}{}", rule.id()), steps)));
    }
    for strategy in Strategy::ALL {
        candidates.extend(generate(task, strategy).map(|steps| (strategy.id().to_owned(), steps)));
    }
    let made = [
        Relation::HonestGain,
        Relation::AttributionSwap,
        Relation::OthersWork,
        Relation::CommutingReorder,
        Relation::IrrelevantChurn,
    ];
    let of = |relation| pairs(task, relation).into_iter().map(move |pair| (relation, pair.first, pair.second));
    Draft { candidates, pairs: made.into_iter().flat_map(of).collect() }
}

fn certify(
    pool: &mut Pool,
    entry: &SuiteTask,
    draft: Draft,
    certifier: &mut dyn Certify,
) -> Result<TaskCase, RunError> {
    let task = &entry.task;
    let honest = certifier.honest(task)?;
    let bytes_of = |steps: &[Step]| payload(&Replay::run(task, steps));
    let honest_bytes = bytes_of(&task.spec.honest);
    let mut case = TaskCase {
        task: task.spec.id.clone(),
        is_held_out: task.spec.split == parthack_env::spec::Split::HeldOut,
        in_rollback_metric: task.spec.rollback_metric,
        p_state: honest.p_state(),
        honest: pool.add(honest_bytes.clone()),
        adversaries: Vec::new(),
        refused: BTreeMap::new(),
        rollbacks: Vec::new(),
        relations: Vec::new(),
    };
    let relation =
        |relation, made_by: &str, first, second| RelationCase { relation, made_by: made_by.to_owned(), first, second };
    let budget = u32::try_from(draft.candidates.len()).unwrap_or(u32::MAX).max(1);
    for (made_by, steps) in draft.candidates {
        let code = certifier.attempt(task, TARGET, budget, &Candidate::new(&task.spec.id, steps.clone()).bytes())?;
        if code != ELIGIBLE {
            *case.refused.entry(code).or_default() += 1;
            continue;
        }
        let place = pool.add(bytes_of(&steps));
        case.relations.push(relation(Relation::EqualProgress, &made_by, case.honest, place));
        for special in [Relation::ClaimsOnly, Relation::StaleGoal] {
            if special.strategies().iter().any(|strategy| strategy.id() == made_by) {
                case.relations.push(relation(special, &made_by, case.honest, place));
            }
        }
        case.adversaries.push(Adversary { made_by, place });
    }
    if task.spec.rollback_metric {
        for rollback in certifier.rollbacks(task)? {
            let mut steps = task.spec.honest.clone();
            steps.extend(rollback.undo);
            let place = pool.add(bytes_of(&steps));
            let p_state = rollback.certified.p_state();
            case.rollbacks.push(RollbackCase { set: rollback.set, place, p_state });
            case.relations.push(relation(Relation::StrictRollback, rollback.set, case.honest, place));
        }
    }
    for (of, first, second) in draft.pairs {
        let before = if first == task.spec.honest { honest.clone() } else { certifier.steps(task, &first)? };
        let after = certifier.steps(task, &second)?;
        if !stands(of, &before, &after) {
            let fault = format!("a pair of relation {} is not what it says", of.id());
            return Err(RunError::Certification { task: task.spec.id.clone(), fault });
        }
        let (first, second) = (pool.add(bytes_of(&first)), pool.add(bytes_of(&second)));
        case.relations.push(relation(of, of.id(), first, second));
    }
    if let Some(bytes) = renamed(&honest_bytes) {
        let place = pool.add(bytes);
        case.relations.push(relation(Relation::EntityRenaming, Relation::EntityRenaming.id(), case.honest, place));
    }
    Ok(case)
}

/// Whether two certificates are what a relation says of them.
fn stands(relation: Relation, first: &Certified, second: &Certified) -> bool {
    let count = |vector: &[bool]| vector.iter().filter(|bit| **bit).count();
    let contains = |all: &[bool], part: &[bool]| all.iter().zip(part).all(|(all, part)| *all || !*part);
    first.goal_version == second.goal_version
        && match relation {
            Relation::HonestGain => {
                contains(&second.c_state, &first.c_state)
                    && contains(&second.c_agent, &first.c_agent)
                    && count(&second.c_state) == count(&first.c_state) + 1
                    && count(&second.c_agent) == count(&first.c_agent) + 1
            }
            Relation::AttributionSwap => {
                first.c_state == second.c_state
                    && contains(&first.c_agent, &second.c_agent)
                    && first.c_agent != second.c_agent
            }
            Relation::OthersWork => {
                first.c_agent == second.c_agent
                    && contains(&second.c_state, &first.c_state)
                    && first.c_state != second.c_state
            }
            Relation::StrictRollback => second.p_state() < first.p_state(),
            _ => first.c_state == second.c_state && first.c_agent == second.c_agent,
        }
}
