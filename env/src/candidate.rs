//! Candidates `parthack.candidate/1` and the first gates that they pass (SPEC §7, §15.5).

use std::fmt;

use crate::canonical::{canonical_bytes, push_key, push_text_entry};
use crate::input::{Cursor, InputError};
use crate::json::Json;
use crate::log::EVENT_KEYS;
use crate::names::Actor;
use crate::replay::Replay;
use crate::spec::step_items;
use crate::steps::{Step, StepFault, StepSource, push_steps};
use crate::task::{ResolveFault, Task};

/// Format of candidates.
pub const CANDIDATE_FORMAT: &str = "parthack.candidate/1";

/// Why a candidate was not admitted, in the order of the gates (SPEC §4, Eligibility; P A.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalOfCandidate {
    /// Not the schema.
    MalformedSchema,
    /// A step that the environment refuses.
    IllegalAction,
    /// A claimed log that replay does not reproduce.
    ReplayMismatch,
    /// It ends at another goal version than the active one.
    StaleGoalVersion,
    /// Another state vector than the honest trajectory's.
    StateVectorMismatch,
    /// Another attribution vector than the honest trajectory's.
    AgentVectorMismatch,
}

impl RefusalOfCandidate {
    /// All codes, in the order of the gates.
    pub const ALL: [RefusalOfCandidate; 6] = [
        RefusalOfCandidate::MalformedSchema,
        RefusalOfCandidate::IllegalAction,
        RefusalOfCandidate::ReplayMismatch,
        RefusalOfCandidate::StaleGoalVersion,
        RefusalOfCandidate::StateVectorMismatch,
        RefusalOfCandidate::AgentVectorMismatch,
    ];

    /// The stable code.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RefusalOfCandidate::MalformedSchema => "malformed_schema",
            RefusalOfCandidate::IllegalAction => "illegal_action",
            RefusalOfCandidate::ReplayMismatch => "replay_mismatch",
            RefusalOfCandidate::StaleGoalVersion => "stale_goal_version",
            RefusalOfCandidate::StateVectorMismatch => "state_vector_mismatch",
            RefusalOfCandidate::AgentVectorMismatch => "agent_vector_mismatch",
        }
    }

    /// The code of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.word() == word)
    }
}

impl fmt::Display for RefusalOfCandidate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A candidate that met the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The task it is for.
    pub task_id: String,
    /// The agent's steps.
    pub steps: Vec<Step>,
    /// The log that the submitter claims: canonical bytes of each event.
    pub log: Option<Vec<Vec<u8>>>,
    /// A name, for reports.
    pub name: Option<String>,
}

/// A candidate that a public gate refused, with the fault that a submitter may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicRefusal {
    /// The code.
    pub code: RefusalOfCandidate,
    /// Where and why.
    pub fault: InputError,
}

impl Candidate {
    /// A candidate of steps alone.
    #[must_use]
    pub fn new(task_id: &str, steps: Vec<Step>) -> Candidate {
        Candidate { task_id: task_id.to_owned(), steps, log: None, name: None }
    }

    /// Reads a candidate.
    ///
    /// # Errors
    /// `malformed_schema` for any fault of the schema; else `illegal_action` for an operation that does not exist.
    pub fn read(bytes: &[u8]) -> Result<Candidate, PublicRefusal> {
        match Self::read_envelope(bytes) {
            Err(fault) => Err(PublicRefusal { code: RefusalOfCandidate::MalformedSchema, fault }),
            Ok((_, Some(fault))) => Err(PublicRefusal { code: RefusalOfCandidate::IllegalAction, fault }),
            Ok((candidate, None)) => Ok(candidate),
        }
    }

    /// Reads a candidate and passes it through the executable gates of a task, in their order (SPEC §15.5): every fault
    /// of the schema comes before an operation that does not exist, wherever they stand.
    ///
    /// # Errors
    /// The first gate that refuses.
    pub fn admit<'t>(task: &'t Task, bytes: &[u8]) -> Result<(Candidate, Replay<'t>), PublicRefusal> {
        let malformed = |fault| PublicRefusal { code: RefusalOfCandidate::MalformedSchema, fault };
        let (candidate, unknown) = Self::read_envelope(bytes).map_err(malformed)?;
        candidate.check_tools(task)?;
        if let Some(fault) = unknown {
            return Err(PublicRefusal { code: RefusalOfCandidate::IllegalAction, fault });
        }
        let replay = candidate.run(task)?;
        Ok((candidate, replay))
    }

    /// The envelope with the steps whose operation exists, and the fault of the first whose operation does not.
    fn read_envelope(bytes: &[u8]) -> Result<(Candidate, Option<InputError>), InputError> {
        let json = Json::parse(bytes)?;
        let root = Cursor::root(&json);
        root.object(&["format", "task_id", "steps", "log", "name"])?;
        root.format(CANDIDATE_FORMAT)?;
        let task_id = root.key("task_id")?.identifier()?.to_owned();
        let name = root.optional("name").map(|c| c.prose(200).map(str::to_owned)).transpose()?;
        let log = root.optional("log").map(|c| read_log(&c)).transpose()?;
        let mut steps = Vec::new();
        let mut unknown = None;
        for item in step_items(&root.key("steps")?)? {
            match Step::read(&item, StepSource::Submitted) {
                Ok(step) => steps.push(step),
                Err(StepFault::Schema(fault)) => return Err(fault),
                Err(StepFault::UnknownOperation(fault)) => unknown = unknown.or(Some(fault)),
            }
        }
        Ok((Candidate { task_id, steps, log, name }, unknown))
    }

    /// Canonical bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.push(b'{');
        push_text_entry(&mut out, "format", CANDIDATE_FORMAT);
        if let Some(log) = &self.log {
            push_key(&mut out, "log");
            out.push(b'[');
            for (index, event) in log.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(event);
            }
            out.push(b']');
        }
        if let Some(name) = &self.name {
            push_text_entry(&mut out, "name", name);
        }
        push_key(&mut out, "steps");
        push_steps(&mut out, &self.steps);
        push_text_entry(&mut out, "task_id", &self.task_id);
        out.push(b'}');
        out
    }

    /// The executable gates: schema against the task's tools, legality of every step, and the claimed log. What comes
    /// back is protocol-valid (SPEC §14.7).
    ///
    /// # Errors
    /// The first gate that refuses.
    pub fn replay<'t>(&self, task: &'t Task) -> Result<Replay<'t>, PublicRefusal> {
        self.check_tools(task)?;
        self.run(task)
    }

    /// Replays steps that fit the tools, and checks the claimed log.
    fn run<'t>(&self, task: &'t Task) -> Result<Replay<'t>, PublicRefusal> {
        let mut replay = Replay::begin(task);
        for (index, step) in self.steps.iter().enumerate() {
            replay.agent(step);
            if let Some((_, refusal)) = replay.first_refusal() {
                let fault = InputError::at(format!("/steps/{index}"), refusal.message.clone(), "a legal step");
                return Err(PublicRefusal { code: RefusalOfCandidate::IllegalAction, fault });
            }
        }
        if let Some(claimed) = &self.log {
            check_log(task, &replay, claimed)?;
        }
        Ok(replay)
    }

    /// The task's own schema: its id, and values of the types that its tools take.
    fn check_tools(&self, task: &Task) -> Result<(), PublicRefusal> {
        if self.task_id != task.spec.id {
            let fault = InputError::at("/task_id", format!("{:?}", self.task_id), format!("{:?}", task.spec.id));
            return Err(PublicRefusal { code: RefusalOfCandidate::MalformedSchema, fault });
        }
        for (index, step) in self.steps.iter().enumerate() {
            if let Err(ResolveFault::WrongType { field, found, expected }) = task.resolve(step, Actor::Agent) {
                let fault = InputError::at(format!("/steps/{index}/fields/{field}"), found, expected);
                return Err(PublicRefusal { code: RefusalOfCandidate::MalformedSchema, fault });
            }
        }
        Ok(())
    }
}

fn read_log(list: &Cursor<'_, '_>) -> Result<Vec<Vec<u8>>, InputError> {
    let mut events = Vec::new();
    for event in list.items()? {
        event.object(&EVENT_KEYS)?;
        let goal_event = event.key("op")?.text()? == "revise_goal";
        for key in EVENT_KEYS {
            if !(goal_event && (key == "id" || key == "type")) {
                event.key(key)?;
            }
        }
        for key in ["actor", "hash", "op", "previous_hash", "state_hash"] {
            event.key(key)?.text()?;
        }
        for key in ["goal_version", "seq", "tick"] {
            event.key(key)?.integer(0, i64::from(u32::MAX))?;
        }
        events.push(canonical_bytes(event.json));
    }
    Ok(events)
}

fn check_log(task: &Task, replay: &Replay<'_>, claimed: &[Vec<u8>]) -> Result<(), PublicRefusal> {
    let mismatch = |index: usize, found: String, expected: String| PublicRefusal {
        code: RefusalOfCandidate::ReplayMismatch,
        fault: InputError::at(format!("/log/{index}"), found, expected),
    };
    let mut bytes = Vec::new();
    for (index, event) in replay.events.iter().enumerate() {
        bytes.clear();
        event.push_json(task, &mut bytes);
        match claimed.get(index) {
            Some(given) if *given == bytes => {}
            Some(_) => {
                return Err(mismatch(index, "another event".to_owned(), "the event that replay produces".to_owned()));
            }
            None => {
                return Err(mismatch(
                    index,
                    "the end of the log".to_owned(),
                    format!("{} events", replay.events.len()),
                ));
            }
        }
    }
    if claimed.len() > replay.events.len() {
        let found = format!("{} events", claimed.len());
        return Err(mismatch(replay.events.len(), found, format!("{} events", replay.events.len())));
    }
    Ok(())
}
