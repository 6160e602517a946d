//! What a run needs of the certifier, so that work and tests don't depend on how it is reached.

use parthack_env::canonical::Hash;
use parthack_env::steps::Step;
use parthack_env::task::Task;

use crate::exact::Ratio;
use crate::ledger::PrivateRecord;
use crate::run::error::RunError;

/// The answer to an attempt that is eligible.
pub const ELIGIBLE: &str = "eligible";

/// What both certifiers agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certified {
    /// Which active predicates hold at the end.
    pub c_state: Vec<bool>,
    /// Which of them are credited to the agent.
    pub c_agent: Vec<bool>,
    /// Goal version at the end.
    pub goal_version: u32,
    /// Hash of the terminal state.
    pub state_hash: Hash,
}

impl Certified {
    /// P_state.
    #[must_use]
    pub fn p_state(&self) -> Ratio {
        share(&self.c_state)
    }

    /// P_agent.
    #[must_use]
    pub fn p_agent(&self) -> Ratio {
        share(&self.c_agent)
    }

    /// The private half of a record.
    #[must_use]
    pub fn record(&self) -> PrivateRecord {
        let bits = |vector: &[bool]| vector.iter().map(|bit| if *bit { '1' } else { '0' }).collect();
        PrivateRecord::Vectors {
            c_state: bits(&self.c_state),
            c_agent: bits(&self.c_agent),
            goal_version: self.goal_version,
            state_hash: self.state_hash.hex(),
        }
    }
}

fn share(vector: &[bool]) -> Ratio {
    let held = vector.iter().filter(|bit| **bit).count();
    Ratio::new(held as i128, vector.len() as i128).unwrap_or(Ratio::ZERO)
}

/// A strict rollback as the certifier constructed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollback {
    /// `least`, `all` or `deepest`.
    pub set: &'static str,
    /// Steps after H's.
    pub undo: Vec<Step>,
    /// What is certified at its end.
    pub certified: Certified,
}

/// What both certifiers said of a mutation control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// The mutation.
    pub mutation: String,
    /// The code that it must draw.
    pub expected: String,
    /// The backward certifier's code; none where the task can't express the mutation.
    pub backward: Option<String>,
    /// The forward certifier's code; none where the task can't express the mutation.
    pub forward: Option<String>,
}

/// What a scan of a public text for private strings found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// Secrets that were looked for.
    pub secrets: usize,
    /// Those of them that are canaries.
    pub canaries: usize,
    /// Secrets that are too short to be looked for.
    pub too_short: usize,
    /// Byte strings that betray them.
    pub needles: usize,
    /// Different pairs of a secret and an encoding that were found.
    pub found: usize,
    /// The first of them.
    pub hits: Vec<ScanHit>,
}

/// A private string in a public text, told without a private word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanHit {
    /// The task whose package holds it.
    pub task: String,
    /// What it is: `canary 3`.
    pub secret: String,
    /// How it is written.
    pub encoding: String,
    /// Offset in the text.
    pub at: usize,
}

/// A certifier. One is shared by all threads of a run; every answer depends on the question alone.
pub trait Certify: Send {
    /// Version of the protocol, for the manifest.
    fn protocol(&self) -> String;

    /// Whether the task's private package is there and sound, before anything is written.
    ///
    /// # Errors
    /// [`RunError::Package`] or [`RunError::Certifier`].
    fn check(&mut self, task: &Task) -> Result<(), RunError>;

    /// Every canary of the suite's packages, for the leak audit (evidence).
    ///
    /// # Errors
    /// [`RunError::Certifier`].
    fn canaries(&mut self) -> Result<Vec<String>, RunError>;

    /// Where secrets of any package stand in a public text of at most half a mebibyte (evidence); none where this certifier does not scan.
    ///
    /// # Errors
    /// [`RunError::Certifier`].
    fn scan(&mut self, _text: &str) -> Result<Option<Scan>, RunError> {
        Ok(None)
    }

    /// Certifies the honest trajectory (evidence).
    ///
    /// # Errors
    /// [`RunError::Certifier`] or [`RunError::Certification`].
    fn honest(&mut self, task: &Task) -> Result<Certified, RunError>;

    /// Certifies any trajectory of a task (evidence).
    ///
    /// # Errors
    /// [`RunError::Certifier`] or [`RunError::Certification`].
    fn steps(&mut self, task: &Task, steps: &[Step]) -> Result<Certified, RunError>;

    /// Certifies a candidate (attempt): [`ELIGIBLE`] or the code of the refusal, nothing else.
    ///
    /// # Errors
    /// [`RunError::Certifier`] or [`RunError::Certification`].
    fn attempt(&mut self, task: &Task, target: &str, budget: u32, candidate: &[u8]) -> Result<String, RunError>;

    /// The three sets of strict rollbacks (evidence): `least` first, then `all` by predicate, then `deepest`.
    ///
    /// # Errors
    /// [`RunError::Certifier`] or [`RunError::Certification`].
    fn rollbacks(&mut self, task: &Task) -> Result<Vec<Rollback>, RunError>;

    /// The mutation controls (evidence).
    ///
    /// # Errors
    /// [`RunError::Certifier`] or [`RunError::Certification`].
    fn controls(&mut self, task: &Task) -> Result<Vec<Control>, RunError>;
}
