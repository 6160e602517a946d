//! Exact search (SPEC §7, §15.7): the best score that any trajectory, of any length, can reach while it ends with the
//! honest trajectory's vectors.

mod alphabet;
mod cone;
mod enabled;
mod explore;
mod layout;
mod memory;
mod model;
mod universe;
mod visited;

use std::collections::BTreeSet;

use parthack_env::frames::{Frame, frames};
use parthack_env::limits::MAX_STEPS;
use parthack_env::log::Event;
use parthack_env::replay::Replay;
use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;
use parthack_evaluators::score::ExactScore;

use memory::Memory;
use model::{Model, Prepared};

pub use universe::universe;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchOptions {
    /// Only trajectories of at most so many agent steps; none: of any length.
    pub max_steps: Option<u32>,
    /// Worker threads, at least 1. The result does not depend on it.
    pub threads: usize,
    /// Explore every reachable state and take their digest, also where the bound is plain without it.
    pub prove: bool,
    /// States after which the search gives up, so that memory is bounded.
    pub max_states: usize,
}

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions { max_steps: None, threads: 1, prove: false, max_states: 50_000_000 }
    }
}

/// Why the bound holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Every reachable state was explored.
    ClosedSet,
    /// No score is greater than 1, and the witness has 1.
    Greatest,
    /// Every state within `max_steps` was explored.
    StepLimit,
    /// The target is a function of the certified vectors, so that every eligible trajectory has the honest score (P,
    /// Proposition 1).
    MatchedVectors,
}

impl Bound {
    /// The word of reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Bound::ClosedSet => "closed_set",
            Bound::Greatest => "greatest_score",
            Bound::StepLimit => "step_limit",
            Bound::MatchedVectors => "matched_vectors",
        }
    }
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Different states, over all explorations that the answer took.
    pub states: u64,
    /// Transitions generated.
    pub transitions: u64,
    /// Depth of the last level explored, in agent steps.
    pub depth: u32,
    /// Bits of a packed state.
    pub state_bits: u32,
    /// Entities outside the cone of influence.
    pub dropped_entities: u32,
}

impl Statistics {
    /// Counts of one more exploration; depth, width and cone are the widest.
    fn add(&mut self, other: Statistics) {
        self.states += other.states;
        self.transitions += other.transitions;
        self.depth = self.depth.max(other.depth);
        self.state_bits = self.state_bits.max(other.state_bits);
        self.dropped_entities = other.dropped_entities;
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchOutcome {
    /// The target's score of the honest trajectory.
    pub honest: ExactScore,
    /// The best score of an eligible trajectory whose log is not the honest one's; none if no such trajectory exists.
    pub best: Option<ExactScore>,
    /// The shortest trajectory with the best score; among those the one with the least canonical bytes. None also when
    /// it would be longer than the environment's step limit.
    pub witness: Option<Vec<Step>>,
    /// Length of the shortest trajectory with the best score, also when it exceeds the step limit.
    pub witness_length: Option<u32>,
    /// Why no trajectory does better.
    pub bound: Bound,
    /// BLAKE3 (label `closed-set`) over the sorted packed states, for a closed set.
    pub digest: Option<parthack_env::canonical::Hash>,
    /// What was counted.
    pub statistics: Statistics,
}

/// Why a search ended without an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// More states than `max_states`.
    #[error("more than {0} states; raise --max-states or give the fields of the task a smaller universe")]
    TooManyStates(usize),
    /// A packed state would be wider than the search supports.
    #[error("a packed state would need {0} bits; the search supports 255")]
    TooWide(u32),
    /// A cell has more values than the search supports.
    #[error("a field has {0} values that tests tell apart; the search supports 64; declare a smaller universe")]
    TooManyValues(usize),
    /// More different steps than the search supports.
    #[error("more than {0} different steps; limit max_update_fields or declare smaller universes")]
    TooManySteps(usize),
    /// The honest trajectory is refused or stale, so that no candidate can match it.
    #[error("the honest trajectory of {0} is not eligible itself: {1}")]
    Honest(String, String),
    /// The witness does not replay to what the packed model said: a bug.
    #[error("the packed model and the engine differ on {0}: {1}")]
    ModelMismatch(String, String),
}

/// Searches for the best eligible trajectory for a target.
///
/// ```no_run
/// # fn demo(task: &parthack_env::task::Task) -> Result<(), parthack_attacker::search::SearchError> {
/// use parthack_attacker::search::{SearchOptions, search};
/// use parthack_evaluators::rules::Rule;
/// let found = search(task, Rule::HistoricalMilestone, &SearchOptions::default())?;
/// println!("{} -> {:?}, bound: {}", found.honest, found.best, found.bound.word());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`SearchError`].
pub fn search(task: &Task, target: Rule, options: &SearchOptions) -> Result<SearchOutcome, SearchError> {
    let honest = Honest::of(task)?;
    let m = u32::try_from(task.m()).unwrap_or(0);
    let mut spent = Statistics::default();
    if Memory::is_peak(target) && !options.prove && options.max_steps.is_none() {
        // From the greatest score down: can it be had at all? One bit of memory answers that.
        let honest_peak = honest.frames.iter().fold(0, |memory, frame| target.observe(memory, *frame));
        for numerator in (honest_peak + 1..=m).rev() {
            let bound = if numerator == m { Bound::Greatest } else { Bound::ClosedSet };
            let memory = Memory::Reached(target, numerator);
            let outcome = search_with(task, target, memory, &honest, Some((numerator, bound)), options, &mut spent)?;
            if outcome.best.is_some() {
                return Ok(outcome);
            }
        }
        let ceiling = Some((honest_peak, Bound::ClosedSet));
        return search_with(task, target, Memory::Full(target), &honest, ceiling, options, &mut spent);
    }
    let ceiling = if options.prove {
        None
    } else if target.is_matched_vector_control() {
        Some((target.numerator(m, 0, honest.frames.last().copied().unwrap_or_default()), Bound::MatchedVectors))
    } else {
        Some((m, Bound::Greatest))
    };
    search_with(task, target, Memory::Full(target), &honest, ceiling, options, &mut spent)
}

fn search_with(
    task: &Task,
    target: Rule,
    memory: Memory,
    honest: &Honest,
    ceiling: Option<(u32, Bound)>,
    options: &SearchOptions,
    spent: &mut Statistics,
) -> Result<SearchOutcome, SearchError> {
    let prepared = Prepared::new(task, memory)?;
    match prepared.layout.words() {
        1 => run(&Model::<1>::new(prepared)?, honest, target, ceiling, options, spent),
        2 => run(&Model::<2>::new(prepared)?, honest, target, ceiling, options, spent),
        _ => run(&Model::<4>::new(prepared)?, honest, target, ceiling, options, spent),
    }
}

/// The best score per length: entry L is the greatest score of an eligible trajectory of at most L agent steps, none
/// where no trajectory is eligible yet.
///
/// # Errors
/// As [`search`].
pub fn curve(task: &Task, target: Rule, longest: u32) -> Result<Vec<Option<ExactScore>>, SearchError> {
    let honest = Honest::of(task)?;
    let prepared = Prepared::new(task, Memory::Full(target))?;
    match prepared.layout.words() {
        1 => explore::curve(&Model::<1>::new(prepared)?, &honest, longest),
        2 => explore::curve(&Model::<2>::new(prepared)?, &honest, longest),
        _ => explore::curve(&Model::<4>::new(prepared)?, &honest, longest),
    }
}

/// What is reachable at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Every pair of satisfied and credited predicates (bit j: active predicate j) of a reachable state, sorted.
    pub vectors: Vec<(u32, u32)>,
    /// What was counted.
    pub statistics: Statistics,
}

/// Explores every reachable state.
///
/// # Errors
/// [`SearchError`]; more than `max_states` states among them.
pub fn reached(task: &Task, max_states: usize) -> Result<Reached, SearchError> {
    fn of<const W: usize>(model: &Model<'_, W>, max_states: usize) -> Result<Reached, SearchError> {
        let found = explore::closed_set(model, max_states)?;
        let vectors: BTreeSet<(u32, u32)> = found.all().iter().map(|state| model.vectors(state)).collect();
        Ok(Reached { vectors: vectors.into_iter().collect(), statistics: found.statistics(model) })
    }
    let prepared = Prepared::new(task, Memory::Full(Rule::Csps))?;
    match prepared.layout.words() {
        1 => of(&Model::<1>::new(prepared)?, max_states),
        2 => of(&Model::<2>::new(prepared)?, max_states),
        _ => of(&Model::<4>::new(prepared)?, max_states),
    }
}

/// What a candidate has to match, computed from public data.
#[derive(Debug, Clone)]
pub(crate) struct Honest {
    satisfied: u32,
    credited: u32,
    goal_version: u32,
    frames: Vec<Frame>,
    log: Vec<Event>,
}

impl Honest {
    fn of(task: &Task) -> Result<Honest, SearchError> {
        let replay = Replay::run(task, &task.spec.honest);
        let fail = |why: String| Err(SearchError::Honest(task.spec.id.clone(), why));
        if let Some((entry, refusal)) = replay.first_refusal() {
            return fail(format!("step at tick {} is refused: {}", entry.tick, refusal.message));
        }
        let goal_version = replay.world().goal_version();
        if goal_version != task.spec.active_goal_version {
            return fail(format!("it ends at goal version {goal_version}"));
        }
        let frames = frames(&replay);
        let last = frames.last().copied().unwrap_or_default();
        Ok(Honest { satisfied: last.satisfied, credited: last.credited, goal_version, frames, log: replay.events })
    }
}

fn run<const W: usize>(
    model: &Model<'_, W>,
    honest: &Honest,
    target: Rule,
    ceiling: Option<(u32, Bound)>,
    options: &SearchOptions,
    spent: &mut Statistics,
) -> Result<SearchOutcome, SearchError> {
    let task = model.task;
    let m = u32::try_from(task.m()).unwrap_or(0);
    let honest_score = target.score(m, &honest.frames);
    let found = explore::explore(model, honest, ceiling, options)?;
    let best = found.best.map(|(numerator, _)| ExactScore::new(numerator, m));
    let mut witness = None;
    let mut witness_length = None;
    if let Some((_, state)) = found.best {
        let steps = found.path(model, state);
        witness_length = u32::try_from(steps.len()).ok();
        confirm(task, target, honest, best, &steps)?;
        witness = (steps.len() <= MAX_STEPS).then_some(steps);
    }
    spent.add(found.statistics(model));
    let statistics = *spent;
    let digest = (options.prove && found.bound == Bound::ClosedSet).then(|| found.digest());
    Ok(SearchOutcome { honest: honest_score, best, witness, witness_length, bound: found.bound, digest, statistics })
}

/// Replays a witness in the reference engine: it must be legal, match the honest vectors, have the score that the
/// packed model gave it, and a log of its own.
fn confirm(
    task: &Task,
    target: Rule,
    honest: &Honest,
    best: Option<ExactScore>,
    steps: &[Step],
) -> Result<(), SearchError> {
    let replay = Replay::run(task, steps);
    let frames = frames(&replay);
    let last = frames.last().copied().unwrap_or_default();
    let m = u32::try_from(task.m()).unwrap_or(0);
    let differs = |what: &str| {
        let mut text = Vec::new();
        parthack_env::steps::push_steps(&mut text, steps);
        let text = String::from_utf8_lossy(&text).into_owned();
        Err(SearchError::ModelMismatch(task.spec.id.clone(), format!("{what}: {text}")))
    };
    if let Some((_, refusal)) = replay.first_refusal() {
        return differs(&format!("legality ({})", refusal.message));
    }
    if (last.satisfied, last.credited, last.goal_version) != (honest.satisfied, honest.credited, honest.goal_version) {
        return differs("vectors");
    }
    if Some(target.score(m, &frames)) != best {
        return differs("score");
    }
    if replay.events == honest.log {
        return differs("a log of its own");
    }
    Ok(())
}
