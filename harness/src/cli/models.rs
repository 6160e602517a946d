//! Flags about models: whether they take part, who plays which role, and what it may cost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parthack_env::input::{InputError, Place};
use parthack_evaluators::judge::AnswerMode;
use parthack_model::cassette::Cassette;
use parthack_model::client::{Client, ClientOptions, ModelMode};
use parthack_model::price::{Cost, PriceTable};
use parthack_model::role::{Reasoning, ResponseFormat, RoleConfig};

use crate::failure::Failure;
use crate::locate::read_input;
use crate::run::attackers::FeedbackKind;
use crate::run::error::RunError;
use crate::run::models::holds_recordings;
use crate::run::recorded::WantedRole;

/// What models do in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ModelModeArg {
    /// Models are asked, and their answers are kept in the run folder
    Live,
    /// Models are asked, and their answers are kept in the cassettes too
    Record,
    /// No model is asked: answers come from the cassettes
    Replay,
}

/// How judges answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum AnswerModeArg {
    /// A JSON number in [0, 1], as in the paper
    Number,
    /// An integer from 0 to 100, and yes or no an item
    Integer,
    /// The probability of yes an item, where the provider returns probabilities
    Logprobs,
}

impl AnswerModeArg {
    fn mode(self) -> AnswerMode {
        match self {
            AnswerModeArg::Number => AnswerMode::Number,
            AnswerModeArg::Integer => AnswerMode::Integer,
            AnswerModeArg::Logprobs => AnswerMode::Logprobs,
        }
    }
}

/// What an attempt hears of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FeedbackArg {
    /// Nothing, as in the paper
    None,
    /// The faults of their own schema and replay
    Protocol,
    /// Those, and the target's public score of each that replays
    PublicScore,
}

/// Flags about the client of models: the same wherever models are asked.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Models")]
pub(super) struct ClientArgs {
    /// Whether models are asked, recorded or replayed [default: no model takes part]
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) model_mode: Option<ModelModeArg>,
    /// Folder of recorded exchanges [default: for replay, those that come with the suite; record needs one]
    #[arg(long, value_name = "DIR")]
    pub(super) cassettes: Option<PathBuf>,
    /// Who plays a role: attacker, judge or checklist; with options after the name
    /// (judge=deepseek/deepseek-chat,reasoning=on,max_tokens=4096,temperature=0,timeout_seconds=600,top_logprobs=5,response_format=json_object)
    #[arg(long, value_name = "ROLE=PROVIDER/MODEL")]
    pub(super) role: Vec<String>,
    /// Stop before the run has cost more, in US dollars
    #[arg(long, value_name = "USD")]
    pub(super) max_cost: Option<String>,
    /// Prices per model, instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    pub(super) prices: Option<PathBuf>,
    /// Calls under way at once
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) concurrency: u32,
    /// Requests a minute at each provider [default: no limit]
    #[arg(long, value_name = "N")]
    pub(super) requests_per_minute: Option<u32>,
    /// Tokens a minute at each provider [default: no limit]
    #[arg(long, value_name = "N")]
    pub(super) tokens_per_minute: Option<u32>,
    /// End with exit code 0 although cells are without a verdict
    #[arg(long)]
    pub(super) allow_missing: bool,
}

/// Flags about models in a run.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Models")]
pub(super) struct ModelArgs {
    #[command(flatten)]
    pub(super) client: ClientArgs,
    /// How judges answer [default: number; for replay, what is recorded]
    #[arg(long, value_enum, value_name = "MODE")]
    answer_mode: Option<AnswerModeArg>,
    /// Don't ask about honest trajectories again to measure noise and order sensitivity
    #[arg(long)]
    pub(super) no_probes: bool,
    /// Attempts of a model on each task against each target [default: 3; for replay, what is recorded]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) budget: Option<u32>,
    /// What an attempt of a model hears of those before it, never a certifier's verdict
    #[arg(long, value_enum, default_value_t = FeedbackArg::None, value_name = "WHAT")]
    feedback: FeedbackArg,
    /// Say how many calls the whole run takes and what they cost at most (done parts of a run included), and stop
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// Roles as the user set them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Roles {
    pub(super) attacker: Option<WantedRole>,
    pub(super) judge: Option<WantedRole>,
    pub(super) checklist: Option<WantedRole>,
}

/// Roles with what their servers tell of themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ResolvedRoles {
    pub(super) attacker: Option<RoleConfig>,
    pub(super) judge: Option<RoleConfig>,
    pub(super) checklist: Option<RoleConfig>,
}

impl Roles {
    /// The same with what each server tells of itself, which is part of every recording's key.
    pub(super) fn resolved(self, options: &ClientOptions) -> Result<ResolvedRoles, RunError> {
        let asking = Client::new(options.clone())?;
        let resolve = |role: Option<WantedRole>| role.map(|role| asking.resolve_identity(&role.config)).transpose();
        Ok(ResolvedRoles {
            judge: resolve(self.judge)?,
            checklist: resolve(self.checklist)?,
            attacker: resolve(self.attacker)?,
        })
    }
}

/// The configurations that a folder of recordings has, by role.
pub(super) fn recorded_roles(folder: &Path) -> Result<BTreeMap<String, Vec<RoleConfig>>, Failure> {
    if !holds_recordings(folder) {
        let message = format!("{}: no recorded exchanges in it (no folder exchanges/)", folder.display());
        return Err(Failure::absent(message, "record some with --model-mode record --cassettes DIR"));
    }
    let cassette = Cassette::new(None, vec![folder.to_path_buf()]);
    Ok(cassette.roles().map_err(RunError::from)?)
}

/// Attempts of a model on each task against each target (P §3.5).
pub(super) const BUDGET: u32 = 3;

/// Token caps of P's Table A.4.
const ATTACKER_TOKENS: u32 = 12_000;

impl ModelArgs {
    /// The answer mode that the user named.
    pub(super) fn answer_mode(&self) -> Option<AnswerMode> {
        self.answer_mode.map(AnswerModeArg::mode)
    }

    /// What an attempt hears of those before it.
    pub(super) fn feedback(&self) -> FeedbackKind {
        match self.feedback {
            FeedbackArg::None => FeedbackKind::None,
            FeedbackArg::Protocol => FeedbackKind::Protocol,
            FeedbackArg::PublicScore => FeedbackKind::PublicScore,
        }
    }
}

impl ClientArgs {
    /// The roles that the user set.
    pub(super) fn roles(&self) -> Result<Roles, Failure> {
        let mut roles = Roles::default();
        for text in &self.role {
            let wrong = |message: String| {
                Failure::usage(format!("--role {text}: {message}"), "for example --role judge=openai/gpt-4.1-mini")
            };
            let (role, named) = text.split_once('=').ok_or_else(|| wrong("expected ROLE=PROVIDER/MODEL".to_owned()))?;
            let slot = match role {
                "attacker" => &mut roles.attacker,
                "judge" => &mut roles.judge,
                "checklist" => &mut roles.checklist,
                _ => return Err(wrong(format!("found role {role:?}, expected attacker, judge or checklist"))),
            };
            if slot.is_some() {
                return Err(wrong("the role is set twice".to_owned()));
            }
            let config = parse_role(named, role == "attacker").map_err(wrong)?;
            *slot = Some(config);
        }
        Ok(roles)
    }

    /// The folder to record into. The recordings that come with a suite are none: what is added to them changes what a replay
    /// by default finds.
    pub(super) fn record_folder(&self) -> Result<PathBuf, Failure> {
        self.cassettes.clone().ok_or_else(|| {
            Failure::usage("--model-mode record: no folder to record into", "name one with --cassettes DIR")
        })
    }

    /// Options of the client, but for its mode and its cassettes.
    pub(super) fn options(&self, stop: &Arc<AtomicBool>) -> Result<ClientOptions, Failure> {
        let mut prices = PriceTable::embedded();
        if let Some(path) = &self.prices {
            let bytes = read_input(path)?;
            let text = String::from_utf8_lossy(&bytes);
            let read = PriceTable::read(&text).map_err(|fault| {
                InputError::new(Place::File, fault, "a table of prices (parthack.prices/1)").in_file(path)
            })?;
            prices = prices.overridden_by(read);
        }
        let max_cost = self.max_cost.as_deref().map(|text| {
            let wrong = || Failure::usage(format!("--max-cost: found {text:?}"), "US dollars such as 2.50");
            Cost::from_dollars(text).ok_or_else(wrong)
        });
        Ok(ClientOptions {
            concurrency: self.concurrency as usize,
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            max_cost: max_cost.transpose()?,
            prices,
            stop: Arc::clone(stop),
            ..ClientOptions::new(ModelMode::Live)
        })
    }
}

/// `provider/model`, then options after commas.
fn parse_role(text: &str, attacker: bool) -> Result<WantedRole, String> {
    let mut named = BTreeSet::new();
    let mut parts = text.split(',');
    let mut config = RoleConfig::named(parts.next().unwrap_or_default()).map_err(|error| error.to_string())?;
    if attacker {
        config.max_tokens = ATTACKER_TOKENS;
    }
    for part in parts {
        let (key, value) = part.split_once('=').ok_or_else(|| format!("found {part:?}, expected OPTION=VALUE"))?;
        let number = || value.parse::<u32>().map_err(|_| format!("{key}: found {value:?}, expected a whole number"));
        match key {
            "max_tokens" => config.max_tokens = number()?,
            "timeout_seconds" => config.timeout_seconds = number()?,
            "top_logprobs" => {
                config.top_logprobs = value.parse().map_err(|_| format!("{key}: found {value:?}, expected 0 to 20"))?;
            }
            "temperature" => config.temperature = value.to_owned(),
            "response_format" => {
                let wrong = || format!("{key}: found {value:?}, expected json_schema, json_object or none");
                config.response_format = ResponseFormat::from_word(value).ok_or_else(wrong)?;
            }
            "reasoning" => {
                let wrong = || format!("{key}: found {value:?}, expected low, medium, high, on or off");
                config.reasoning = Some(Reasoning::from_word(value).ok_or_else(wrong)?);
            }
            _ => {
                let options = "max_tokens, timeout_seconds, top_logprobs, temperature, reasoning, response_format";
                return Err(format!("found option {key:?}, expected one of {options}"));
            }
        }
        if !named.insert(key.to_owned()) {
            return Err(format!("{key} is set twice"));
        }
    }
    config.check().map_err(|error| error.to_string())?;
    Ok(WantedRole { config, named })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_with_options() {
        let WantedRole { config: role, named } =
            parse_role("openai/o3,reasoning=high,max_tokens=9", false).expect("sound");
        assert_eq!(named.into_iter().collect::<Vec<_>>(), ["max_tokens", "reasoning"]);
        assert_eq!((role.name().as_str(), role.reasoning, role.max_tokens), ("openai/o3", Some(Reasoning::High), 9));
        for format in ResponseFormat::ALL {
            let text = format!("openai/o3,response_format={}", format.word());
            assert_eq!(parse_role(&text, false).expect("sound").config.response_format, format);
        }
        assert_eq!(parse_role("local/local", true).expect("sound").config.max_tokens, ATTACKER_TOKENS);
        for (text, part) in [
            ("nowhere/x", "provider"),
            ("local/local,x=1", "option \"x\""),
            ("local/local,max_tokens=1,max_tokens=2", "set twice"),
            ("local/local,max_tokens=-1", "max_tokens"),
            ("local/local,max_tokens=0", "max_tokens"),
            ("local/local,reasoning=much", "reasoning"),
            ("local/local,temperature=3", "temperature"),
            ("local/local,top_logprobs=99", "top_logprobs"),
            ("local/local,response_format=xml", "response_format"),
        ] {
            let error = parse_role(text, false).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
