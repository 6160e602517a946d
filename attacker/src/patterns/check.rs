//! Whether a trajectory is eligible, as far as public data tell: sealed values stand as equality tokens there, and
//! equality is all that a predicate may ask of them, so that these vectors are the certified ones.

use parthack_env::frames::frames;
use parthack_env::limits::MAX_STEPS;
use parthack_env::replay::Replay;
use parthack_env::steps::Step;
use parthack_env::task::Task;

/// Why a trajectory is not eligible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ineligible {
    /// Longer than the environment allows.
    #[error("{0} steps, more than {MAX_STEPS}")]
    TooLong(usize),
    /// A step is refused.
    #[error("step {0} is refused: {1}")]
    Refused(usize, String),
    /// It ends at another goal version than the active one.
    #[error("it ends at goal version {0}")]
    GoalVersion(u32),
    /// Other predicates hold at the end than at the honest one.
    #[error("at the end the predicates {0:#b} hold, not {1:#b}")]
    StateVector(u32, u32),
    /// Other predicates are credited to the agent.
    #[error("at the end the predicates {0:#b} are credited to the agent, not {1:#b}")]
    AgentVector(u32, u32),
    /// Its log is the honest one.
    #[error("its log is the honest one")]
    SameLog,
}

/// Checks a trajectory against the honest one of a task.
///
/// # Errors
/// [`Ineligible`]: the first that applies, in the order of the gates.
pub fn check(task: &Task, steps: &[Step]) -> Result<(), Ineligible> {
    if steps.len() > MAX_STEPS {
        return Err(Ineligible::TooLong(steps.len()));
    }
    let mut replay = Replay::begin(task);
    for (index, step) in steps.iter().enumerate() {
        replay.agent(step);
        if let Some((_, refusal)) = replay.first_refusal() {
            return Err(Ineligible::Refused(index, refusal.message.clone()));
        }
    }
    let honest = Replay::run(task, &task.spec.honest);
    let version = replay.world().goal_version();
    if version != task.spec.active_goal_version {
        return Err(Ineligible::GoalVersion(version));
    }
    let end = |replay: &Replay<'_>| frames(replay).last().copied().unwrap_or_default();
    let (ours, theirs) = (end(&replay), end(&honest));
    if ours.satisfied != theirs.satisfied {
        return Err(Ineligible::StateVector(ours.satisfied, theirs.satisfied));
    }
    if ours.credited != theirs.credited {
        return Err(Ineligible::AgentVector(ours.credited, theirs.credited));
    }
    if replay.events == honest.events {
        return Err(Ineligible::SameLog);
    }
    Ok(())
}
