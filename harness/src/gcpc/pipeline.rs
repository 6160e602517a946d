//! The pipeline's way to models: roles, and questions asked for them.

use std::fmt;

use parthack_env::canonical::Hash;
use parthack_model::answer::Answer;
use parthack_model::client::Call;
use parthack_model::prompt::Prompt;
use parthack_model::role::RoleConfig;

use crate::ledger::canonical_of;
use crate::run::error::RunError;
use crate::run::judging::Asked;
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

    /// Who makes what a judge is asked by: the checklist's role where it is played, else the judge's.
    #[must_use]
    pub fn maker(&self) -> Role {
        if self.checklist.is_some() { Role::Checklist } else { Role::Judge }
    }

    /// Asks a model for something that `read` reads: it, or why there is none, with the keys of the exchanges.
    ///
    /// # Errors
    /// As [`Pipeline::ask`].
    pub fn ask_for<T>(
        &self,
        cell: &str,
        role: Role,
        prompt: &Prompt,
        repeat: u32,
        read: &(dyn Fn(&Answer) -> Result<T, String> + Sync),
    ) -> Result<(Result<T, String>, Vec<String>), RunError> {
        let Asked { result, exchanges } = self.ask(cell, role, prompt, repeat, &|answer| read(answer).map(|_| ()))?;
        Ok((result.map_err(|missing| missing.to_string()).and_then(|answer| read(&answer)), exchanges))
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
