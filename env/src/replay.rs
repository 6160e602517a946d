//! Replay from the frozen initial snapshot: the agent's steps, what the script's actors do in between, the log and a
//! snapshot after every event.

use crate::canonical::Hash;
use crate::engine::{Outcome, step};
use crate::log::{Event, first_hash};
use crate::names::Actor;
use crate::refusal::{Refusal, RefusalCode};
use crate::steps::Step;
use crate::task::{Action, Fires, ResolveFault, Task};
use crate::world::World;

/// Which step a transcript entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The agent's step of this index.
    Agent(usize),
    /// The script's entry of this index.
    Script(usize),
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepResult {
    /// An event, with its sequence number.
    Applied(u32),
    /// Accepted without an event.
    Noted,
    /// Refused.
    Refused(Refusal),
}

/// One line of the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptEntry {
    /// From 1.
    pub tick: u32,
    /// Who.
    pub actor: Actor,
    /// Which step.
    pub origin: Origin,
    /// What became of it.
    pub result: StepResult,
    /// Events before it: index into the snapshots of what a `read` or `list` saw.
    pub events_before: usize,
}

/// A trajectory under way.
#[derive(Debug, Clone)]
pub struct Replay<'t> {
    task: &'t Task,
    /// The agent's steps so far.
    pub steps: Vec<Step>,
    /// The log.
    pub events: Vec<Event>,
    /// The snapshot after each event.
    pub snapshots: Vec<World>,
    /// The transcript.
    pub transcript: Vec<TranscriptEntry>,
    world: World,
    /// Bit i: script entry i has fired.
    fired: u64,
    accepted: u32,
    head: Hash,
    halted: bool,
    buffer: Vec<u8>,
}

impl<'t> Replay<'t> {
    /// Begins at the initial snapshot; script entries that fire at the start have fired.
    #[must_use]
    pub fn begin(task: &'t Task) -> Replay<'t> {
        let mut replay = Replay {
            task,
            steps: Vec::new(),
            events: Vec::new(),
            snapshots: Vec::new(),
            transcript: Vec::new(),
            world: task.initial.clone(),
            fired: 0,
            accepted: 0,
            head: first_hash(task),
            halted: false,
            buffer: Vec::with_capacity(1024),
        };
        for (index, entry) in task.script.iter().enumerate() {
            if matches!(entry.fires, Fires::Start) && !replay.halted {
                replay.fire(index);
            }
        }
        replay
    }

    /// Runs a whole trajectory.
    #[must_use]
    pub fn run(task: &'t Task, steps: &[Step]) -> Replay<'t> {
        let mut replay = Replay::begin(task);
        let most = steps.len() + task.script.len();
        replay.steps.reserve(steps.len());
        replay.events.reserve(most);
        replay.snapshots.reserve(most);
        replay.transcript.reserve(most);
        for step in steps {
            replay.agent(step);
        }
        replay
    }

    /// The task.
    #[must_use]
    pub fn task(&self) -> &'t Task {
        self.task
    }

    /// The state now.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Hash of the last event, or the log's first hash.
    #[must_use]
    pub fn head(&self) -> Hash {
        self.head
    }

    /// Bit i: script entry i has fired.
    #[must_use]
    pub fn fired(&self) -> u64 {
        self.fired
    }

    /// Agent steps that were accepted so far.
    #[must_use]
    pub fn accepted(&self) -> u32 {
        self.accepted
    }

    /// The snapshot that a transcript entry saw: after so many events.
    #[must_use]
    pub fn snapshot(&self, events_before: usize) -> &World {
        if events_before == 0 { &self.task.initial } else { &self.snapshots[events_before - 1] }
    }

    /// The first refused step of the agent (or, under the release's rules, of anyone).
    #[must_use]
    pub fn first_refusal(&self) -> Option<(&TranscriptEntry, &Refusal)> {
        self.transcript.iter().find_map(|entry| match (&entry.result, entry.origin) {
            (StepResult::Refused(refusal), Origin::Agent(_)) => Some((entry, refusal)),
            (StepResult::Refused(refusal), Origin::Script(_)) if self.task.is_release() => Some((entry, refusal)),
            _ => None,
        })
    }

    /// One step of the agent and everything that it sets off.
    pub fn agent(&mut self, step: &Step) {
        if self.halted {
            return;
        }
        let index = self.steps.len();
        let action = self.task.resolve(step, Actor::Agent);
        self.steps.push(step.clone());
        let action = match action {
            Ok(action) => action,
            Err(fault) => {
                self.note(Actor::Agent, Origin::Agent(index), StepResult::Refused(fault.into_refusal()));
                self.halted |= self.task.is_release();
                return;
            }
        };
        self.perform(index, &action);
    }

    /// One resolved step of the agent; `step` is how it is written.
    pub fn agent_action(&mut self, step: Step, action: &Action) {
        if !self.halted {
            let index = self.steps.len();
            self.steps.push(step);
            self.perform(index, action);
        }
    }

    fn perform(&mut self, index: usize, action: &Action) {
        if !self.act(action, Actor::Agent, Origin::Agent(index)) {
            self.halted |= self.task.is_release();
            return;
        }
        self.accepted += 1;
        let task = self.task;
        loop {
            let mut fired_one = false;
            for (index, entry) in task.script.iter().enumerate() {
                let holds = match &entry.fires {
                    Fires::Start => false,
                    Fires::AfterStep(count) => self.accepted >= *count,
                    Fires::Message => matches!(action, Action::Say(to, _) if *to == entry.actor),
                    Fires::Wait => matches!(action, Action::Wait),
                    Fires::When(test) => self.world.holds(test),
                };
                if holds && self.fired & (1 << index) == 0 && !self.halted {
                    self.fire(index);
                    fired_one = true;
                }
            }
            if !fired_one {
                break;
            }
        }
    }

    fn fire(&mut self, index: usize) {
        let task = self.task;
        let entry = &task.script[index];
        self.fired |= 1 << index;
        let accepted = self.act(&entry.action, entry.actor, Origin::Script(index));
        self.halted |= !accepted && task.is_release();
    }

    fn note(&mut self, actor: Actor, origin: Origin, result: StepResult) {
        let tick = u32::try_from(self.transcript.len()).unwrap_or(u32::MAX).saturating_add(1);
        let events_before = self.events.len();
        self.transcript.push(TranscriptEntry { tick, actor, origin, result, events_before });
    }

    fn act(&mut self, action: &Action, actor: Actor, origin: Origin) -> bool {
        match step(self.task, &self.world, action, actor, &mut self.buffer) {
            Outcome::Refused(refusal) => {
                self.note(actor, origin, StepResult::Refused(refusal));
                false
            }
            Outcome::Noted { world } => {
                self.note(actor, origin, StepResult::Noted);
                self.world = world;
                true
            }
            Outcome::Applied { world, diff } => {
                let sequence = u32::try_from(self.events.len()).unwrap_or(u32::MAX).saturating_add(1);
                self.note(actor, origin, StepResult::Applied(sequence));
                let mut event = Event {
                    sequence,
                    tick: u32::try_from(self.transcript.len()).unwrap_or(u32::MAX),
                    actor,
                    operation: action.operation(),
                    target: action.slot(),
                    diff,
                    goal_version: world.goal_version(),
                    state_hash: world.state_hash(),
                    previous_hash: self.head,
                    hash: Hash([0; 32]),
                };
                event.seal(self.task, &mut self.buffer);
                self.head = event.hash;
                self.events.push(event);
                self.snapshots.push(world.clone());
                self.world = world;
                true
            }
        }
    }
}

impl ResolveFault {
    /// The fault as a refusal, for transcripts.
    #[must_use]
    pub fn into_refusal(self) -> Refusal {
        match self {
            ResolveFault::Refused(refusal) => refusal,
            ResolveFault::WrongType { field, found, expected } => {
                Refusal::new(RefusalCode::WrongType, format!("{field:?} takes {expected}, not {found}"))
            }
        }
    }
}
