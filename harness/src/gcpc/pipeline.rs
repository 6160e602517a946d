//! The pipeline's way to models: roles, and questions asked for them.

use std::fmt;

use parthack_env::canonical::Hash;
use parthack_model::answer::{Answer, NoAnswer};
use parthack_model::client::Call;
use parthack_model::prompt::Prompt;
use parthack_model::role::RoleConfig;

use crate::ledger::canonical_of;
use crate::run::error::RunError;
use crate::run::models::Asking;

/// Who a question is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Makes checklists and questions: G's generator.
    Checklist,
    /// Judges logs.
    Judge,
}

impl Role {
    /// Its word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Role::Checklist => "checklist",
            Role::Judge => "judge",
        }
    }
}

/// The models of a pipeline's command.
pub struct Pipeline {
    /// The client with its archive.
    pub asking: Asking,
    /// Who makes checklists.
    pub checklist: Option<RoleConfig>,
    /// Who judges.
    pub judge: Option<RoleConfig>,
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Pipeline").field("checklist", &self.checklist).field("judge", &self.judge).finish()
    }
}

/// An answer with the keys of its exchanges.
pub struct Asked {
    /// The answer, or why there is none.
    pub result: Result<Answer, NoAnswer>,
    /// Keys of the exchanges, in order.
    pub exchanges: Vec<String>,
}

impl Pipeline {
    /// The configuration of a role.
    ///
    /// # Errors
    /// [`RunError::Usage`] if nobody plays it.
    pub fn role(&self, role: Role) -> Result<&RoleConfig, RunError> {
        let config = match role {
            Role::Checklist => self.checklist.as_ref(),
            Role::Judge => self.judge.as_ref(),
        };
        config.ok_or_else(|| {
            let word = role.word();
            RunError::usage(
                format!("no model plays the {word}"),
                format!("give --role {word}=PROVIDER/MODEL, or replay a recording of one"),
            )
        })
    }

    /// Asks a model.
    ///
    /// # Errors
    /// What stops the work: the cost cap, a missing key, no recording, a cassette at fault, a signal.
    pub fn ask(
        &self,
        cell: &str,
        role: Role,
        prompt: &Prompt,
        repeat: u32,
        check: &(dyn Fn(&Answer) -> Result<(), String> + Sync),
    ) -> Result<Asked, RunError> {
        let config = self.role(role)?;
        let exchange = self.asking.ask(&Call { cell, role: role.word(), config, prompt, repeat }, check)?;
        Ok(Asked { exchanges: self.asking.keep(&exchange.keys)?, result: exchange.result })
    }
}

/// Hash of what a model's answers depend on: its configuration without the time-out.
#[must_use]
pub fn role_hash(config: &RoleConfig) -> String {
    let config = RoleConfig { timeout_seconds: 1, ..config.clone() };
    Hash::of("gcpc-role", &canonical_of(&config)).hex()
}
