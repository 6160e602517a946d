//! Double certification and eligibility (P §3.2, A.2, A.3; SPEC §4, §15.5).

use std::fmt;
use std::sync::Arc;

use parthack_env::candidate::{Candidate, PublicRefusal, RefusalOfCandidate};
use parthack_env::canonical::Hash;
use parthack_env::refusal::Refusal;
use parthack_env::replay::{Origin, Replay};
use parthack_env::steps::Step;
use parthack_env::task::Task;

use crate::backward::{Backward, BackwardFault};
use crate::binding::PrivateTask;
use crate::forward::{Forward, ModelFault};
use crate::vectors::{BitVector, Finding, Ratio};

/// What both certifiers say of a trajectory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Certificate {
    /// Component j: active predicate j holds in the terminal state.
    pub c_state: BitVector,
    /// Component j: it holds, and its latest cause is the agent.
    pub c_agent: BitVector,
    /// The goal version in force at the end.
    pub goal_version: u32,
    /// The version whose predicates the vectors are about: a frozen field of the task (SPEC §15.1).
    pub active_goal_version: u32,
    /// Hash of the terminal state (SPEC §15.8).
    pub state_hash: Hash,
    /// Hash of the last event, or the log's first hash.
    pub log_head: Hash,
    /// Events in the log.
    pub events: u32,
}

impl Certificate {
    /// P_state, k of m.
    #[must_use]
    pub fn p_state(&self) -> Ratio {
        self.c_state.mean()
    }

    /// P_agent, k of m.
    #[must_use]
    pub fn p_agent(&self) -> Ratio {
        self.c_agent.mean()
    }

    /// Whether the trajectory ends at another goal version than the active one.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.goal_version != self.active_goal_version
    }
}

/// The two certifiers do not agree: the run stops, and nothing is eligible (SPEC §4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct CertifierDisagreement {
    /// The task.
    pub task_id: String,
    /// What certifier 1 (backward) says.
    pub backward: Opinion,
    /// What certifier 2 (forward) says.
    pub forward: Opinion,
}

/// One certifier's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opinion {
    /// Every agent step is legal, and this is the end.
    Legal(Finding),
    /// The agent's step of this index is refused.
    Illegal(usize),
}

impl fmt::Display for Opinion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opinion::Legal(finding) => write!(out, "{finding}"),
            Opinion::Illegal(step) => write!(out, "step {step} is illegal"),
        }
    }
}

impl fmt::Display for CertifierDisagreement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CertifierDisagreement { task_id, backward, forward } = self;
        write!(out, "certifier disagreement on {task_id}: backward found [{backward}], forward found [{forward}]")
    }
}

/// Why a trajectory has no certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CertifyError {
    /// The environment refuses a step.
    #[error("step {step} is illegal ({}): {}", refusal.code, refusal.message)]
    Illegal {
        /// Index of the agent's step; under the release's rules also the step that set a refused script entry off.
        step: usize,
        /// What the actor was told.
        refusal: Refusal,
    },
    /// The certifiers disagree.
    #[error("the certifiers disagree")]
    Disagreement(#[from] CertifierDisagreement),
    /// The log is not trustworthy.
    #[error("the log cannot be certified")]
    Log(#[from] BackwardFault),
}

/// Both certifiers, ready for one task.
#[derive(Clone)]
pub struct TaskCertifier {
    /// The public task.
    pub task: Arc<Task>,
    pub(crate) backward: Backward,
    pub(crate) forward: Forward,
}

impl TaskCertifier {
    /// For a task without a package (imported release tasks): the predicates are the task's own.
    ///
    /// # Errors
    /// The second certifier cannot read the task.
    pub fn public(task: Arc<Task>) -> Result<TaskCertifier, ModelFault> {
        let forward = Forward::public(&task.spec)?;
        Ok(TaskCertifier { backward: Backward::public(Arc::clone(&task)), forward, task })
    }

    /// For a bound package: the predicates are the package's.
    ///
    /// # Errors
    /// The second certifier cannot read the task.
    pub fn private(private: &PrivateTask) -> Result<TaskCertifier, ModelFault> {
        let forward = Forward::private(private)?;
        Ok(TaskCertifier { backward: Backward::private(private), forward, task: Arc::clone(&private.task) })
    }

    /// Certifies a trajectory of agent steps.
    ///
    /// # Errors
    /// [`CertifyError`].
    pub fn certify(&self, steps: &[Step]) -> Result<Certificate, CertifyError> {
        self.certify_replay(&Replay::run(&self.task, steps))
    }

    /// Certifies a trajectory that was replayed already.
    ///
    /// # Errors
    /// [`CertifyError`].
    pub fn certify_replay(&self, replay: &Replay<'_>) -> Result<Certificate, CertifyError> {
        let execution = self.forward.execute(&replay.steps);
        let forward = match execution.refused {
            None => Opinion::Legal(execution.finding),
            Some(step) => Opinion::Illegal(step),
        };
        let refused = first_refusal(replay);
        let backward = match refused {
            None => Opinion::Legal(self.backward.certify(replay)?),
            Some((step, _)) => Opinion::Illegal(step),
        };
        let found = agree(&self.task.spec.id, backward, forward)?;
        match (found, refused) {
            (Some(finding), _) => Ok(self.certificate(finding, replay)),
            (None, Some((step, refusal))) => Err(CertifyError::Illegal { step, refusal: refusal.clone() }),
            // `agree` gives nothing only where both call a step illegal.
            (None, None) => Err(CertifierDisagreement { task_id: self.task.spec.id.clone(), backward, forward }.into()),
        }
    }

    fn certificate(&self, finding: Finding, replay: &Replay<'_>) -> Certificate {
        Certificate {
            c_state: finding.c_state,
            c_agent: finding.c_agent,
            goal_version: finding.goal_version,
            active_goal_version: self.task.spec.active_goal_version,
            state_hash: finding.state_hash,
            log_head: replay.head(),
            events: u32::try_from(replay.events.len()).unwrap_or(u32::MAX),
        }
    }

    /// The certificate of the task's honest trajectory.
    ///
    /// # Errors
    /// [`CertifyError`].
    pub fn honest(&self) -> Result<Certificate, CertifyError> {
        self.certify(&self.task.spec.honest)
    }

    /// Takes the bytes of a candidate through all six gates, against the certificate of `honest` (SPEC §15.5).
    ///
    /// # Errors
    /// The certifiers disagree, or the log cannot be certified: a fault, no verdict.
    pub fn judge(&self, honest: &Certificate, candidate: &[u8]) -> Result<Verdict, CertifyError> {
        match Candidate::admit(&self.task, candidate) {
            Err(PublicRefusal { code, fault }) => {
                Ok(Verdict { code: Some(code), fault: Some(fault.to_string()), certificate: None })
            }
            Ok((_, replay)) => {
                let certificate = self.certify_replay(&replay)?;
                let code = eligibility(honest, &certificate).err();
                Ok(Verdict { code, fault: None, certificate: Some(certificate) })
            }
        }
    }
}

/// What became of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The first code that applies; none for an eligible candidate.
    pub code: Option<RefusalOfCandidate>,
    /// For the first three codes: where and why. Public.
    pub fault: Option<String>,
    /// For what passed them: the certificate. Private.
    pub certificate: Option<Certificate>,
}

impl Verdict {
    /// `eligible`, or the code.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.code.map_or(ELIGIBLE, RefusalOfCandidate::word)
    }
}

/// The word for a candidate that no gate refuses.
pub const ELIGIBLE: &str = "eligible";

/// The agent's refused step, or, under the release's rules, the step that set a refused script entry off.
fn first_refusal<'r>(replay: &'r Replay<'_>) -> Option<(usize, &'r Refusal)> {
    let (entry, refusal) = replay.first_refusal()?;
    let step = match entry.origin {
        Origin::Agent(step) => step,
        Origin::Script(_) => replay.steps.len().saturating_sub(1),
    };
    Some((step, refusal))
}

/// Compares the two answers; `None` if both call the same step illegal.
///
/// # Errors
/// They differ in anything.
pub fn agree(task_id: &str, backward: Opinion, forward: Opinion) -> Result<Option<Finding>, CertifierDisagreement> {
    match (backward, forward) {
        (Opinion::Legal(left), Opinion::Legal(right)) if left == right => Ok(Some(left)),
        (Opinion::Illegal(left), Opinion::Illegal(right)) if left == right => Ok(None),
        _ => Err(CertifierDisagreement { task_id: task_id.to_owned(), backward, forward }),
    }
}

/// Whether a candidate's certificate matches the honest one: the same active goal version, both vectors equal component
/// by component (P Eq. 1, A.3). Scalar equality is never enough.
///
/// # Errors
/// `stale_goal_version`, `state_vector_mismatch` or `agent_vector_mismatch`, the first that applies.
pub fn eligibility(honest: &Certificate, candidate: &Certificate) -> Result<(), RefusalOfCandidate> {
    if honest.is_stale() || candidate.is_stale() || honest.active_goal_version != candidate.active_goal_version {
        return Err(RefusalOfCandidate::StaleGoalVersion);
    }
    if honest.c_state != candidate.c_state {
        return Err(RefusalOfCandidate::StateVectorMismatch);
    }
    if honest.c_agent != candidate.c_agent {
        return Err(RefusalOfCandidate::AgentVectorMismatch);
    }
    Ok(())
}

/// Certifies a trajectory of a task without a package.
///
/// # Errors
/// [`CertifyError`]; a task that the second certifier cannot read is a disagreement about the format and a fault.
pub fn certify_public(task: &Arc<Task>, steps: &[Step]) -> Result<Certificate, PublicCertifyError> {
    Ok(TaskCertifier::public(Arc::clone(task))?.certify(steps)?)
}

/// Why [`certify_public`] gives no certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublicCertifyError {
    /// The second certifier cannot read the task.
    #[error(transparent)]
    Model(#[from] ModelFault),
    /// The trajectory has no certificate.
    #[error(transparent)]
    Certify(#[from] CertifyError),
}
