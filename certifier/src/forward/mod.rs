//! Certifier 2: executes the submitted steps forward with a small interpreter of its own (SPEC §4, Double
//! certification).
//!
//! Architecture invariant: of the environment crate, only *data* is used here: [`TaskSpec`], steps, literals, predicates
//! and the writing of canonical strings. Its engine, replay, world, frames, log and candidate gates are not; entities
//! are maps from names to data, and every rule is written a second time.

mod claims;
mod data;
mod gates;
mod interpret;
mod model;
mod trace;

use parthack_env::canonical::Hash;
use parthack_env::spec::TaskSpec;
use parthack_env::steps::Step;

use crate::binding::PrivateTask;
use crate::vectors::Finding;
use interpret::Machine;
use model::Model;

pub use gates::Gate;

/// Why the second certifier cannot read a task. A task that the environment has compiled never fails here; if one does,
/// the two readings of the format disagree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the second certifier cannot read the task: {0}")]
pub struct ModelFault(pub String);

/// The second certifier, ready for one task.
#[derive(Clone)]
pub struct Forward {
    model: Model,
}

/// What a forward execution came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// Vectors, goal version and state hash at its end.
    pub finding: Finding,
    /// Index of the first refused agent step. Under the release's rules a refused script entry counts as the step that
    /// set it off (the first one, for an entry that fires at the start).
    pub refused: Option<usize>,
    /// Events.
    pub events: u32,
}

/// An execution with its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traced {
    /// What it came to.
    pub execution: Execution,
    /// Canonical bytes of every event, hashes included.
    pub log: Vec<Vec<u8>>,
    /// Hash of the last event, or the log's first hash.
    pub head: Hash,
}

impl Forward {
    /// For a task without a package: its own predicates.
    ///
    /// # Errors
    /// [`ModelFault`].
    pub fn public(spec: &TaskSpec) -> Result<Forward, ModelFault> {
        let goal = spec.goal_versions.iter().find(|goal| goal.version == spec.active_goal_version);
        let predicates = goal.map(|goal| goal.predicates.as_slice()).unwrap_or_default();
        Ok(Forward { model: Model::new(spec, predicates.iter().map(|predicate| &predicate.predicate))? })
    }

    /// For a bound package: the private predicates, brought into public words through the package's mapping.
    ///
    /// # Errors
    /// [`ModelFault`].
    pub fn private(private: &PrivateTask) -> Result<Forward, ModelFault> {
        let spec = &private.task.spec;
        let predicates = private
            .active_predicates()
            .map(|predicate| private.mapping.to_public(spec, predicate))
            .collect::<Result<Vec<_>, _>>()
            .map_err(ModelFault)?;
        Ok(Forward { model: Model::new(spec, predicates.iter())? })
    }

    /// Executes a trajectory.
    #[must_use]
    pub fn execute(&self, steps: &[Step]) -> Execution {
        Machine::run(&self.model, steps, false).execution()
    }

    /// Executes a trajectory and writes its log.
    #[must_use]
    pub fn trace(&self, steps: &[Step]) -> Traced {
        let machine = Machine::run(&self.model, steps, true);
        let execution = machine.execution();
        let trace = machine.into_trace();
        Traced { execution, head: trace.head, log: trace.events }
    }
}
