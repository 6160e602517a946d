//! The interpreter: one agent step at a time, then whatever the script's actors do (SPEC §2, §15.4).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parthack_env::names::{Actor, Operation};
use parthack_env::steps::Step;
use parthack_env::value::Literal;

use super::Execution;
use super::data::{Datum, Misfit};
use super::model::{Cue, Model, Rule, Stage, Thing, Things};
use super::trace::{Deed, Trace, leaf, state_hash};
use crate::vectors::{BitVector, Finding};

/// Why a step is not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// A value of another JSON type than its field's: a candidate with it is malformed.
    Kind,
    /// Everything else.
    Illegal,
}

/// A step whose names and values fit the task.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Make { kind: Arc<str>, id: Arc<str>, cells: BTreeMap<Arc<str>, Datum> },
    Change { kind: Arc<str>, id: Arc<str>, cells: BTreeMap<Arc<str>, Datum> },
    Remove { kind: Arc<str>, id: Arc<str> },
    Bring { kind: Arc<str>, id: Arc<str> },
    Look { kind: Arc<str>, id: Arc<str> },
    Browse { kind: Arc<str> },
    Raise(u32),
    Speak { to: Actor, offers: Option<u32> },
    Pause,
}

/// What came of an act.
enum Outcome {
    Refused,
    Noted,
    Done,
}

/// An execution under way.
pub(super) struct Machine<'m> {
    model: &'m Model,
    things: Things,
    goal: u32,
    offers: BTreeSet<u32>,
    spent: Vec<bool>,
    /// Agent steps that were carried out.
    accepted: u32,
    /// Lines of the transcript.
    ticks: u64,
    events: u32,
    halted: bool,
    refused: Option<usize>,
    tuples: Vec<Vec<Datum>>,
    causes: Vec<Option<Actor>>,
    trace: Option<Trace>,
}

impl<'m> Machine<'m> {
    /// Runs a whole trajectory.
    pub(super) fn run(model: &'m Model, steps: &[Step], traced: bool) -> Machine<'m> {
        let mut machine = Machine {
            model,
            things: model.initial.clone(),
            goal: model.initial_goal,
            offers: BTreeSet::new(),
            spent: vec![false; model.cues.len()],
            accepted: 0,
            ticks: 0,
            events: 0,
            halted: false,
            refused: None,
            tuples: model.initial_tuples.clone(),
            causes: vec![None; model.goal.len()],
            trace: traced.then(|| Trace::begin(model)),
        };
        for index in 0..model.cues.len() {
            if matches!(model.cues[index], Cue::Start) && !machine.halted {
                machine.cue(index, 0);
            }
        }
        for (index, step) in steps.iter().enumerate() {
            if machine.halted {
                break;
            }
            machine.agent(index, step);
        }
        machine
    }

    pub(super) fn execution(&self) -> Execution {
        let (mut state, mut agent) = (0, 0);
        for (index, claim) in self.model.goal.iter().enumerate() {
            if claim.holds(&self.things, self.goal) {
                state |= 1 << index;
                agent |= u32::from(self.causes[index] == Some(Actor::Agent)) << index;
            }
        }
        let length = self.model.goal.len();
        Execution {
            finding: Finding {
                c_state: BitVector::new(length, state),
                c_agent: BitVector::new(length, agent),
                goal_version: self.goal,
                state_hash: state_hash(&self.things, self.goal),
            },
            refused: self.refused,
            events: self.events,
        }
    }

    pub(super) fn into_trace(self) -> Trace {
        self.trace.unwrap_or_else(|| Trace::begin(self.model))
    }

    fn agent(&mut self, index: usize, step: &Step) {
        let act = self.model.fit(step, Actor::Agent);
        let done = match &act {
            Ok(act) => self.perform(act, Actor::Agent),
            Err(_) => {
                self.ticks += 1;
                false
            }
        };
        let (Ok(act), true) = (act, done) else {
            self.refused.get_or_insert(index);
            self.halted = self.model.release;
            return;
        };
        self.accepted += 1;
        // Rounds in script order, until a round fires nothing.
        loop {
            let before = self.spent.iter().filter(|spent| **spent).count();
            for entry in 0..self.model.cues.len() {
                if !self.spent[entry] && !self.halted && self.is_cued(entry, &act) {
                    self.cue(entry, index);
                }
            }
            if self.spent.iter().filter(|spent| **spent).count() == before {
                return;
            }
        }
    }

    fn is_cued(&self, entry: usize, act: &Act) -> bool {
        match &self.model.cues[entry] {
            Cue::Start => false,
            Cue::After(count) => *count <= self.accepted,
            Cue::Spoken => matches!(act, Act::Speak { to, .. } if *to == self.model.script[entry].actor),
            Cue::Waited => matches!(act, Act::Pause),
            Cue::Once(claim) => claim.holds(&self.things, self.goal),
        }
    }

    fn cue(&mut self, entry: usize, step: usize) {
        self.spent[entry] = true;
        let model = self.model;
        let actor = model.script[entry].actor;
        let done = match model.fit(&model.script[entry].action, actor) {
            Ok(act) => self.perform(&act, actor),
            Err(_) => {
                self.ticks += 1;
                false
            }
        };
        if !done && model.release {
            self.halted = true;
            self.refused.get_or_insert(step);
        }
    }

    /// Carries out an act; false if it is refused.
    fn perform(&mut self, act: &Act, actor: Actor) -> bool {
        self.ticks += 1;
        let goal = self.goal;
        let mut before = None;
        let outcome = match self.change(act, actor) {
            None => Outcome::Refused,
            Some(Change::Nothing) => Outcome::Noted,
            Some(Change::Offer(version)) => {
                self.offers.insert(version);
                Outcome::Noted
            }
            Some(Change::Goal(version)) => {
                self.goal = version;
                Outcome::Done
            }
            Some(Change::Thing(kind, id, mut after)) => {
                if self.trace.is_some() {
                    after.leaf = Some(leaf(&kind, &id, &after));
                }
                let place = self.things.get_mut(&kind).and_then(|things| things.get_mut(&id));
                if let Some(place) = place {
                    before = Some((kind, id, std::mem::replace(place, Arc::new(after))));
                }
                Outcome::Done
            }
        };
        match outcome {
            Outcome::Refused => return false,
            Outcome::Noted => return true,
            Outcome::Done => {}
        }
        self.events += 1;
        for (index, claim) in self.model.goal.iter().enumerate() {
            let mut tuple = Vec::with_capacity(self.tuples[index].len());
            claim.tuple(&self.things, self.goal, &mut tuple);
            if tuple != self.tuples[index] {
                self.tuples[index] = tuple;
                self.causes[index] = Some(actor);
            }
        }
        if let Some(trace) = &mut self.trace {
            let target = before.as_ref().and_then(|(kind, id, before)| {
                let after = self.things.get(kind)?.get(id)?;
                Some((&**kind, &**id, &**before, &**after))
            });
            trace.push(&Deed {
                actor,
                operation: act.operation(),
                target,
                goal: (goal, self.goal),
                tick: self.ticks,
                state: state_hash(&self.things, self.goal),
            });
        }
        true
    }

    /// What an act would change; `None` if the rules refuse it.
    fn change(&self, act: &Act, actor: Actor) -> Option<Change> {
        let model = self.model;
        if !model.allowed[actor as usize].contains(&act.operation()) {
            return None;
        }
        let change = match act {
            Act::Make { kind, id, cells } => {
                let old = self.thing(kind, id)?;
                let free = match old.stage {
                    Stage::Absent => true,
                    Stage::Deleted => model.types.reincarnates(kind),
                    Stage::Live => false,
                };
                let new =
                    Thing { stage: Stage::Live, incarnation: old.incarnation + 1, cells: cells.clone(), leaf: None };
                free.then(|| Change::Thing(Arc::clone(kind), Arc::clone(id), new))?
            }
            Act::Change { kind, id, cells } => {
                let old = self.thing(kind, id).filter(|thing| thing.stage == Stage::Live)?;
                if model.most_fields.is_some_and(|most| cells.len() as u64 > u64::from(most)) {
                    return None;
                }
                let mut new = Thing { leaf: None, ..old.clone() };
                for (field, datum) in cells {
                    let from = old.cells.get(field)?;
                    if !model.may_go(kind, field, from, datum) {
                        return None;
                    }
                    new.cells.insert(Arc::clone(field), datum.clone());
                }
                Change::Thing(Arc::clone(kind), Arc::clone(id), new)
            }
            Act::Remove { kind, id } => self.restage(kind, id, Stage::Live, Stage::Deleted)?,
            Act::Bring { kind, id } => self.restage(kind, id, Stage::Deleted, Stage::Live)?,
            Act::Look { kind, id } => {
                self.thing(kind, id).filter(|thing| thing.stage == Stage::Live)?;
                Change::Nothing
            }
            Act::Raise(version) => {
                let needs_offer = *model.goals.get(version)?;
                if *version <= self.goal || needs_offer && !self.offers.contains(version) {
                    return None;
                }
                Change::Goal(*version)
            }
            Act::Speak { offers: Some(version), .. } => Change::Offer(*version),
            Act::Speak { .. } | Act::Browse { .. } | Act::Pause => Change::Nothing,
        };
        let ungated = model.release && matches!(act, Act::Make { .. });
        let met = |rule: &&Rule| rule.requires.iter().all(|claim| claim.holds(&self.things, self.goal));
        let gated = model.rules.iter().filter(|rule| rule.concerns(act, actor));
        (ungated || gated.into_iter().all(|rule| met(&rule))).then_some(change)
    }

    fn thing(&self, kind: &str, id: &str) -> Option<&Thing> {
        self.things.get(kind)?.get(id).map(Arc::as_ref)
    }

    fn restage(&self, kind: &Arc<str>, id: &Arc<str>, from: Stage, to: Stage) -> Option<Change> {
        let old = self.thing(kind, id).filter(|thing| thing.stage == from)?;
        let new = Thing { stage: to, leaf: None, ..old.clone() };
        Some(Change::Thing(Arc::clone(kind), Arc::clone(id), new))
    }
}

enum Change {
    Nothing,
    Offer(u32),
    Goal(u32),
    Thing(Arc<str>, Arc<str>, Thing),
}

impl Act {
    fn operation(&self) -> Operation {
        match self {
            Act::Make { .. } => Operation::Create,
            Act::Change { .. } => Operation::Update,
            Act::Remove { .. } => Operation::Delete,
            Act::Bring { .. } => Operation::Restore,
            Act::Look { .. } => Operation::Read,
            Act::Browse { .. } => Operation::List,
            Act::Raise(_) => Operation::ReviseGoal,
            Act::Speak { .. } => Operation::Say,
            Act::Pause => Operation::Wait,
        }
    }

    /// Type and id, where it is about a thing; the type alone for a browse.
    fn about(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Act::Make { kind, id, .. }
            | Act::Change { kind, id, .. }
            | Act::Remove { kind, id }
            | Act::Bring { kind, id }
            | Act::Look { kind, id } => (Some(kind), Some(id)),
            Act::Browse { kind } => (Some(kind), None),
            Act::Raise(_) | Act::Speak { .. } | Act::Pause => (None, None),
        }
    }

    /// What it writes into a field; a creation that leaves an optional field out writes nothing there.
    fn writes(&self, field: &str) -> Option<&Datum> {
        match self {
            Act::Make { cells, .. } => cells.get(field).filter(|datum| **datum != Datum::Null),
            Act::Change { cells, .. } => cells.get(field),
            _ => None,
        }
    }
}

impl Rule {
    fn concerns(&self, act: &Act, actor: Actor) -> bool {
        let (kind, id) = act.about();
        let written = |field: &String| match (act.writes(field), &self.value) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(datum), Some(values)) => kind.and_then(|kind| values.get(kind)) == Some(datum),
        };
        self.operation.is_none_or(|operation| operation == act.operation())
            && self.actor.is_none_or(|named| named == actor)
            && self.kind.as_ref().is_none_or(|named| kind == Some(named))
            && self.id.as_ref().is_none_or(|named| id == Some(named))
            && self.field.as_ref().is_none_or(written)
    }
}

impl Model {
    /// Whether a field may go from one value to another.
    fn may_go(&self, kind: &Arc<str>, field: &Arc<str>, from: &Datum, to: &Datum) -> bool {
        if self.graphs.is_empty() || (from == to && !self.release) {
            return true;
        }
        let graphs = self.graphs.get(&(Arc::clone(kind), Arc::clone(field)));
        graphs.into_iter().flatten().all(|pairs| pairs.iter().any(|(left, right)| left == from && right == to))
    }

    /// Brings a step's names and values into the task's.
    pub(super) fn fit(&self, step: &Step, actor: Actor) -> Result<Act, Refused> {
        let thing = |kind: &str, id: &str| {
            let unnameable = self.unnameable.iter().any(|(of, named)| of == kind && named == id);
            self.types.thing(kind, id).filter(|_| !unnameable).ok_or(Refused::Illegal)
        };
        Ok(match step {
            Step::Create { entity_type, id, fields } => {
                let (kind, id) = thing(entity_type, id)?;
                let mut cells = self.fit_cells(&kind, fields, actor)?;
                for (name, field) in self.types.fields(&kind) {
                    if !cells.contains_key(name) {
                        if !field.optional {
                            return Err(Refused::Illegal);
                        }
                        cells.insert(Arc::clone(name), Datum::Null);
                    }
                }
                Act::Make { kind, id, cells }
            }
            Step::Update { entity_type, id, fields } => {
                let (kind, id) = thing(entity_type, id)?;
                if fields.is_empty() {
                    return Err(Refused::Illegal);
                }
                let cells = self.fit_cells(&kind, fields, actor)?;
                Act::Change { kind, id, cells }
            }
            Step::Delete { entity_type, id } => {
                let (kind, id) = thing(entity_type, id)?;
                Act::Remove { kind, id }
            }
            Step::Restore { entity_type, id } => {
                let (kind, id) = thing(entity_type, id)?;
                Act::Bring { kind, id }
            }
            Step::Read { entity_type, id } => {
                let (kind, id) = thing(entity_type, id)?;
                Act::Look { kind, id }
            }
            Step::List { entity_type } => Act::Browse { kind: self.types.kind(entity_type).ok_or(Refused::Illegal)? },
            Step::ReviseGoal { version } => Act::Raise(*version),
            Step::Say { to, .. } if *to == actor => return Err(Refused::Illegal),
            Step::Say { to, offers, .. } => Act::Speak { to: *to, offers: *offers },
            Step::Wait => Act::Pause,
        })
    }

    fn fit_cells(
        &self,
        kind: &str,
        fields: &[(String, Literal)],
        actor: Actor,
    ) -> Result<BTreeMap<Arc<str>, Datum>, Refused> {
        let mut cells = BTreeMap::new();
        for (name, literal) in fields {
            let (name, field) = self.types.field(kind, name).ok_or(Refused::Illegal)?;
            if !field.nameable() || (field.sealed && actor == Actor::Agent) {
                return Err(Refused::Illegal);
            }
            let datum = field.take(literal, &self.types.ids).map_err(|misfit| match misfit {
                Misfit::Kind => Refused::Kind,
                Misfit::Range => Refused::Illegal,
            })?;
            cells.insert(name, datum);
        }
        Ok(cells)
    }
}
