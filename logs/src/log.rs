//! `Log`: one run of an agent, whatever harness wrote it down.

use std::sync::Arc;

use parthack_env::canonical::{Hash, push_string, push_u64};
use serde::{Deserialize, Serialize};

use crate::kind::Kind;

/// Where a span of text stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Provenance {
    /// The file as it was reached; a member of an archive is `archive!member`.
    pub file: Arc<str>,
    /// The line, from 1, in a file that has a document a line; the pointer then starts at that document.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<usize>,
    /// RFC 6901 pointer of the string, or of the list of parts, that holds the text.
    pub pointer: String,
}

/// Where a fact about a run was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactSource {
    /// A field of a file.
    Field(Provenance),
    /// The name of the file or of a folder above it.
    Path,
    /// The format itself: nothing else writes it.
    Format,
}

/// A fact about a run and where it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What is said.
    pub value: String,
    /// Who says it.
    pub source: FactSource,
}

/// Under which condition of an agent-skill comparison a run was made (G §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// The curated skill was there.
    WithSkill,
    /// No skill was there.
    WithoutSkill,
    /// The agent wrote the skill itself.
    SelfGenerated,
    /// Nothing says.
    NoneKnown,
}

impl Condition {
    /// The condition as text.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Condition::WithSkill => "with-skill",
            Condition::WithoutSkill => "without-skill",
            Condition::SelfGenerated => "self-generated",
            Condition::NoneKnown => "none-known",
        }
    }
}

/// What pairing and clustering need to know of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The format that it was read from.
    pub kind: Kind,
    /// The set of tasks that the task belongs to: a domain, a dataset, an Inspect task.
    pub suite: Option<Fact>,
    /// The task.
    pub task: Option<Fact>,
    /// The agent program.
    pub harness: Option<Fact>,
    /// Its version.
    pub harness_version: Option<Fact>,
    /// The model, with who serves it in front where a file says so: `provider/model`, whether it is said in one field or in two.
    pub model: Option<Fact>,
    /// The condition.
    pub condition: Condition,
    /// Who says the condition.
    pub condition_source: Option<FactSource>,
    /// What tells this run from others of the same task, harness, model and condition.
    pub run: Option<Fact>,
}

impl Identity {
    /// The key by which runs are clustered: the task with its suite, `suite/task`.
    #[must_use]
    pub fn task_key(&self) -> Option<String> {
        let task = &self.task.as_ref()?.value;
        Some(match &self.suite {
            Some(suite) => format!("{}/{task}", suite.value),
            None => task.clone(),
        })
    }
}

/// The official verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Passed.
    Pass,
    /// Failed.
    Fail,
    /// None recorded, or none that is binary.
    None,
}

/// The official verdict and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// The exact text of the reward or score behind it.
    pub reward: Option<String>,
    /// Where it stands.
    pub source: Option<Provenance>,
    /// Why there is no verdict.
    pub reason: Option<String>,
}

impl Outcome {
    /// No verdict, and why.
    #[must_use]
    pub fn none(reason: impl Into<String>) -> Outcome {
        Outcome { verdict: Verdict::None, reward: None, source: None, reason: Some(reason.into()) }
    }

    /// The verdict of a reward: 1 and true pass, 0 and false fail, anything else is no binary verdict.
    #[must_use]
    pub fn of_reward(reward: &str, source: Provenance) -> Outcome {
        let number = match reward.trim().to_lowercase().as_str() {
            "true" => Ok(1.0),
            "false" => Ok(0.0),
            other => other.parse::<f64>(),
        };
        let (verdict, reason) = match number {
            Ok(value) if (value - 1.0).abs() <= 1e-6 => (Verdict::Pass, None),
            Ok(value) if value.abs() <= 1e-6 => (Verdict::Fail, None),
            Ok(_) => (Verdict::None, Some(format!("the reward {} is neither 0 nor 1", reward.trim()))),
            Err(_) => (Verdict::None, Some(format!("{:?} is no number", crate::json::shorten(reward.trim())))),
        };
        Outcome { verdict, reward: Some(reward.trim().to_owned()), source: Some(source), reason }
    }
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The system prompt, or the harness as system.
    System,
    /// The user, real or simulated.
    User,
    /// The environment or the harness, outside of any tool call.
    Environment,
}

/// Who made a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requestor {
    /// The agent.
    Agent,
    /// The user, where the user acts too.
    User,
    /// The harness.
    System,
}

/// Whether a step happened in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// It happened.
    Run,
    /// It was shown to the agent as an example.
    Demonstration,
    /// It was carried over from an earlier part of the run, where it also stands.
    Copied,
}

/// What a step holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Content {
    /// A message of anyone but the agent.
    Message {
        /// Who speaks.
        role: Role,
        /// What is said.
        text: String,
    },
    /// What the agent says. A claim, never evidence.
    AgentText {
        /// What is said.
        text: String,
    },
    /// What the agent thinks. A claim, never evidence.
    Reasoning {
        /// What is thought.
        text: String,
    },
    /// A call of a tool.
    ToolCall {
        /// The id in the file, where it has one.
        id: Option<String>,
        /// The tool.
        name: String,
        /// The arguments: canonical JSON, or the text as it stands where it is no JSON.
        arguments: String,
        /// Who calls.
        requestor: Requestor,
    },
    /// What a tool answered. This is what evidence may be drawn from.
    ToolOutput {
        /// Index, among the steps, of the call that it answers.
        call: Option<usize>,
        /// The id of the call in the file.
        id: Option<String>,
        /// The tool, where the output or its call names it.
        name: Option<String>,
        /// What was displayed.
        text: String,
        /// Whether the harness marked it as an error.
        error: bool,
        /// Who called.
        requestor: Requestor,
    },
}

impl Content {
    /// The text of the step; for a call, its arguments.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Content::Message { text, .. }
            | Content::AgentText { text }
            | Content::Reasoning { text }
            | Content::ToolOutput { text, .. } => text,
            Content::ToolCall { arguments, .. } => arguments,
        }
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Where it stands.
    pub at: Provenance,
    /// Whether it happened in this run.
    pub origin: Origin,
    /// What it holds.
    #[serde(flatten)]
    pub content: Content,
}

impl Step {
    /// Whether evidence may be drawn from this step: tool outputs of this run alone (G §3.3).
    #[must_use]
    pub fn is_evidence(&self) -> bool {
        self.origin != Origin::Demonstration && matches!(self.content, Content::ToolOutput { .. })
    }
}

/// The class of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningCode {
    /// The task that a log names is not the one that its checks belong to.
    TaskIdContradicted,
    /// The task has checks and the log shows none of them, so nothing confirms the task that it names.
    TaskIdUnconfirmed,
    /// Two records of the reward differ.
    RewardsDiffer,
    /// The reward is neither 0 nor 1.
    RewardNotBinary,
    /// Tests failed and the reward is 1, or all passed and it is 0.
    TestsContradictReward,
    /// A report of tests, and no reward that decides.
    TestsWithoutReward,
    /// Scorers give different verdicts.
    ScorersDisagree,
    /// Two places name different models.
    ModelContradicted,
    /// Two places name different conditions.
    ConditionContradicted,
    /// A tool output whose call is not there.
    OutputWithoutCall,
    /// An id that an earlier call without an answer has too.
    CallIdRepeated,
    /// Arguments that are no JSON.
    ArgumentsNotJson,
    /// An image, audio or other part that is no text and was left out.
    PartNotText,
    /// A reference to an attachment that is not there.
    AttachmentMissing,
    /// A key that an object has twice; the last counts.
    KeyRepeated,
    /// A member that an archive has twice; the last counts.
    MemberRepeated,
    /// Half of a surrogate pair, read as U+FFFD.
    SurrogateReplaced,
    /// A version of the format that is newer than those known.
    UnknownVersion,
    /// A role that the format does not have, read as the environment.
    UnknownRole,
    /// Steps of a continuation that repeat earlier ones, marked as copied.
    StepsCopied,
    /// Numbers of steps that are not 1, 2, 3, ….
    StepsMisnumbered,
    /// A continuation that is named and not there.
    ContinuationMissing,
    /// The run was not finished when the log was written.
    RunUnfinished,
    /// The harness recorded an error of its own.
    HarnessError,
    /// The log has no step by the agent.
    AgentAbsent,
    /// A companion file (a reward, a configuration) could not be read.
    CompanionUnreadable,
    /// Parts of a task folder that should be there and are not.
    TaskPartMissing,
    /// A part of a task folder that the task does not list, and that was left out.
    TaskPartUnlisted,
    /// A task of the same name with other contents came before.
    TaskDiffers,
    /// Trajectories of sub-agents that are embedded in this one and are not among its steps.
    SubagentLeftOut,
    /// Further warnings, beyond the limit.
    Further,
}

/// Something that a reader should know before relying on a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The class.
    pub code: WarningCode,
    /// Where.
    pub at: Option<Provenance>,
    /// What was found.
    pub found: String,
}

/// One run of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// What tells it from others.
    pub identity: Identity,
    /// The official verdict.
    pub outcome: Outcome,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// The files that it was read from, the first first.
    pub files: Vec<Arc<str>>,
    /// What to know before relying on it.
    pub warnings: Vec<Warning>,
}

impl Log {
    /// Hash of what makes two logs duplicates of each other.
    ///
    /// It covers suite, task, harness, model and run id where a file states them, the condition, the outcome (verdict
    /// and reward), and every step: origin, kind, speaker, text, tool, arguments, and which call an output answers. It
    /// leaves out where the log lies, what was only read off a path, and ids of calls. So a copy of a file is a duplicate
    /// wherever it lies and in whatever container, and two runs that happen to agree are not, if their files tell them apart.
    #[must_use]
    pub fn content_hash(&self) -> Hash {
        let mut out = Vec::with_capacity(4096);
        for fact in [
            &self.identity.suite,
            &self.identity.task,
            &self.identity.harness,
            &self.identity.model,
            &self.identity.run,
        ] {
            match fact {
                Some(fact) if fact.source != FactSource::Path => push_string(&mut out, &fact.value),
                _ => out.extend_from_slice(b"null"),
            }
        }
        push_string(&mut out, self.identity.condition.word());
        push_u64(&mut out, self.outcome.verdict as u64);
        push_string(&mut out, self.outcome.reward.as_deref().unwrap_or(""));
        for step in &self.steps {
            out.push(b'\n');
            push_u64(&mut out, step.origin as u64);
            push_content(&mut out, &step.content);
        }
        Hash::of("log", &out)
    }

    /// How many steps are calls of a tool.
    #[must_use]
    pub fn tool_calls(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.content, Content::ToolCall { .. })).count()
    }

    /// How many steps are outputs of a tool.
    #[must_use]
    pub fn tool_outputs(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.content, Content::ToolOutput { .. })).count()
    }
}

fn push_content(out: &mut Vec<u8>, content: &Content) {
    match content {
        Content::Message { role, text } => {
            out.extend_from_slice(b"message");
            push_u64(out, *role as u64);
            push_string(out, text);
        }
        Content::AgentText { text } => {
            out.extend_from_slice(b"agent");
            push_string(out, text);
        }
        Content::Reasoning { text } => {
            out.extend_from_slice(b"reasoning");
            push_string(out, text);
        }
        Content::ToolCall { id: _, name, arguments, requestor } => {
            out.extend_from_slice(b"call");
            push_u64(out, *requestor as u64);
            push_string(out, name);
            push_string(out, arguments);
        }
        Content::ToolOutput { call, id: _, name, text, error, requestor } => {
            out.extend_from_slice(b"output");
            push_u64(out, call.map_or(0, |call| call as u64 + 1));
            push_u64(out, u64::from(*error) * 8 + *requestor as u64);
            push_string(out, name.as_deref().unwrap_or(""));
            push_string(out, text);
        }
    }
}
