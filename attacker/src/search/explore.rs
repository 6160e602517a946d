//! Breadth-first exploration, level by level.
//!
//! States are numbered in the order in which a single thread would find them: by their shortest path, and among those
//! by the path's canonical bytes. Workers only propose successors; the numbering is done in the frontier's order, so
//! that the result does not depend on their number.

use parthack_env::canonical::Hash;
use parthack_env::steps::Step;
use parthack_evaluators::score::ExactScore;

use super::model::Model;
use super::visited::{State, Visited};
use super::{Bound, Honest, SearchError, SearchOptions, Statistics};

/// Frontiers smaller than this are not worth a second thread.
const PARALLEL_FRONTIER: usize = 2_048;
/// Successors that are looked up together: their reads of the visited set overlap.
const BATCH: usize = 512;
/// States that one worker takes at a time.
const CHUNK: usize = 8_192;

/// What was explored.
pub(super) struct Explored<const W: usize> {
    states: Vec<State<W>>,
    parents: Vec<u32>,
    /// Numerator and index of the first state with the best score.
    pub best: Option<(u32, usize)>,
    pub bound: Bound,
    pub transitions: u64,
    pub depth: u32,
}

impl<const W: usize> Explored<W> {
    pub(super) fn statistics(&self, model: &Model<'_, W>) -> Statistics {
        Statistics {
            states: self.states.len() as u64,
            transitions: self.transitions,
            depth: self.depth,
            state_bits: model.layout.total_bits,
            dropped_entities: model.dropped_entities,
        }
    }

    /// The steps that lead to a state: at each parent the first letter that leads to the child.
    pub(super) fn path(&self, model: &Model<'_, W>, state: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut at = state;
        while at != 0 {
            let parent = self.parents[at] as usize;
            let leads = |letter: &usize| model.successor(&self.states[parent], *letter) == Some(self.states[at]);
            if let Some(letter) = (0..model.letters.len()).find(leads) {
                steps.push(model.letters[letter].step.clone());
            }
            at = parent;
        }
        steps.reverse();
        steps
    }

    /// Digest of the closed set: its states, sorted.
    pub(super) fn digest(&self) -> Hash {
        let mut sorted = self.states.clone();
        sorted.sort_unstable();
        let mut bytes = Vec::with_capacity(sorted.len() * W * 8);
        for word in sorted.iter().flatten() {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        Hash::of("closed-set", &bytes)
    }

    pub(super) fn all(&self) -> &[State<W>] {
        &self.states
    }
}

fn eligible<const W: usize>(model: &Model<'_, W>, honest: &Honest, state: &State<W>) -> bool {
    model.vectors(state) == (honest.satisfied, honest.credited)
        && model.goal_version(state) == honest.goal_version
        && !model.is_honest(state)
}

/// Explores until the set is closed, the ceiling is reached, or the step limit.
pub(super) fn explore<const W: usize>(
    model: &Model<'_, W>,
    honest: &Honest,
    ceiling: Option<(u32, Bound)>,
    options: &SearchOptions,
) -> Result<Explored<W>, SearchError> {
    let mut found = Explored {
        states: Vec::new(),
        parents: Vec::new(),
        best: None,
        bound: Bound::ClosedSet,
        transitions: 0,
        depth: 0,
    };
    let mut visited = Visited::<W>::new();
    visited.insert(&model.initial);
    found.states.push(model.initial);
    found.parents.push(0);
    let mut level = 0..1;
    loop {
        for index in level.clone() {
            let state = &found.states[index];
            if eligible(model, honest, state)
                && let Some(numerator) = model.numerator(state)
                && found.best.is_none_or(|(best, _)| numerator > best)
            {
                found.best = Some((numerator, index));
            }
        }
        if let (Some((best, _)), Some((most, bound))) = (found.best, ceiling)
            && best >= most
        {
            found.bound = bound;
            return Ok(found);
        }
        if level.is_empty() {
            return Ok(found);
        }
        if options.max_steps == Some(found.depth) {
            found.bound = Bound::StepLimit;
            return Ok(found);
        }
        level = expand(model, &mut found, &mut visited, level, options)?;
        if !level.is_empty() {
            found.depth += 1;
        }
    }
}

/// Best score per length.
pub(super) fn curve<const W: usize>(
    model: &Model<'_, W>,
    honest: &Honest,
    longest: u32,
) -> Result<Vec<Option<ExactScore>>, SearchError> {
    let options = SearchOptions { max_steps: Some(longest), ..SearchOptions::default() };
    let found = explore(model, honest, None, &options)?;
    let m = u32::try_from(model.task.m()).unwrap_or(0);
    let mut depth = vec![0u32; found.states.len()];
    let mut best: Vec<Option<u32>> = vec![None; longest as usize + 1];
    for (index, state) in found.states.iter().enumerate() {
        if index > 0 {
            depth[index] = depth[found.parents[index] as usize] + 1;
        }
        if eligible(model, honest, state) {
            let slot = &mut best[depth[index] as usize];
            *slot = (*slot).max(model.numerator(state));
        }
    }
    let mut so_far = None;
    Ok(best
        .into_iter()
        .map(|numerator| {
            so_far = so_far.max(numerator);
            so_far.map(|numerator| ExactScore::new(numerator, m))
        })
        .collect())
}

/// Every reachable state, for proofs about a task.
pub(super) fn closed_set<const W: usize>(model: &Model<'_, W>, max_states: usize) -> Result<Explored<W>, SearchError> {
    // A vector pair that no state has: nothing is eligible, so nothing stops the exploration early.
    let nobody = Honest { satisfied: u32::MAX, credited: 0, goal_version: 0, frames: Vec::new(), log: Vec::new() };
    explore(model, &nobody, None, &SearchOptions { max_states, ..SearchOptions::default() })
}

fn expand<const W: usize>(
    model: &Model<'_, W>,
    found: &mut Explored<W>,
    visited: &mut Visited<W>,
    level: std::ops::Range<usize>,
    options: &SearchOptions,
) -> Result<std::ops::Range<usize>, SearchError> {
    let first_new = found.states.len();
    let letters = model.letters.len();
    if options.threads <= 1 || level.len() < PARALLEL_FRONTIER {
        let mut batch: Vec<(u32, State<W>)> = Vec::with_capacity(BATCH + letters);
        let mut known = Vec::with_capacity(BATCH + letters);
        let mut scratch = Vec::new();
        let last = level.end;
        for index in level {
            let state = found.states[index];
            let parent = u32::try_from(index).map_err(|_| SearchError::TooManyStates(u32::MAX as usize))?;
            model.successors(&state, &mut scratch, |next| batch.push((parent, next)));
            if batch.len() >= BATCH || index + 1 == last {
                found.transitions += batch.len() as u64;
                visited.insert_batch(&batch, &mut known, |parent, next| {
                    found.states.push(*next);
                    found.parents.push(parent);
                });
                batch.clear();
                if found.states.len() > options.max_states {
                    return Err(SearchError::TooManyStates(options.max_states));
                }
            }
        }
        return Ok(first_new..found.states.len());
    }
    let mut start = level.start;
    while start < level.end {
        let end = level.end.min(start + CHUNK * options.threads);
        let share = (end - start).div_ceil(options.threads);
        let seen: &Visited<W> = visited;
        let frontier = &found.states;
        let proposals: Vec<(u64, Vec<(u32, State<W>)>)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..options.threads)
                .map(|worker| {
                    let from = (start + worker * share).min(end);
                    let to = (from + share).min(end);
                    scope.spawn(move || propose(model, frontier, seen, from..to))
                })
                .collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, _>| match worker.join() {
                Ok(proposed) => proposed,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            workers.into_iter().map(join).collect()
        });
        for (transitions, proposed) in proposals {
            found.transitions += transitions;
            for (parent, next) in proposed {
                if visited.insert(&next) {
                    found.states.push(next);
                    found.parents.push(parent);
                }
            }
        }
        if found.states.len() > options.max_states {
            return Err(SearchError::TooManyStates(options.max_states));
        }
        start = end;
    }
    Ok(first_new..found.states.len())
}

/// Successors that nobody has seen yet, in the frontier's order.
fn propose<const W: usize>(
    model: &Model<'_, W>,
    states: &[State<W>],
    seen: &Visited<W>,
    range: std::ops::Range<usize>,
) -> (u64, Vec<(u32, State<W>)>) {
    let mut proposed = Vec::with_capacity(range.len());
    let mut own = Visited::<W>::new();
    let mut transitions = 0;
    let mut scratch = Vec::new();
    for index in range {
        let Ok(parent) = u32::try_from(index) else { break };
        model.successors(&states[index], &mut scratch, |next| {
            transitions += 1;
            if !seen.contains(&next) && own.insert(&next) {
                proposed.push((parent, next));
            }
        });
    }
    (transitions, proposed)
}
