//! The packed model: each action as a guard and a change of words, each predicate as a test of words.

use parthack_env::log::Event;
use parthack_env::names::{Actor, Operation};
use parthack_env::predicate::Comparison;
use parthack_env::replay::{Origin, Replay, StepResult};
use parthack_env::task::{Action, FieldIndex, Fires, Slot, Task, Test};
use parthack_env::value::Value;
use parthack_env::world::Lifecycle;

use super::SearchError;
use super::alphabet::{Letter, alphabet};
use super::cone::{Cone, cone};
use super::enabled::Enabled;
use super::layout::{Bits, Layout};
use super::memory::Memory;
use parthack_env::frames::Frame;

/// A test of packed words.
#[derive(Debug, Clone)]
pub(super) enum Packed {
    Constant(bool),
    /// The cell's value is in the set.
    Member(Bits, u64),
    Count(Vec<Packed>, Comparison, u32),
    All(Vec<Packed>),
    Any(Vec<Packed>),
    Not(Box<Packed>),
}

impl Packed {
    #[inline]
    pub(super) fn holds(&self, state: &[u64]) -> bool {
        match self {
            Packed::Constant(value) => *value,
            Packed::Member(bits, set) => set >> bits.get(state) & 1 == 1,
            Packed::Count(tests, compare, bound) => {
                let count = tests.iter().filter(|test| test.holds(state)).count();
                compare.holds(u32::try_from(count).unwrap_or(u32::MAX), *bound)
            }
            Packed::All(of) => of.iter().all(|test| test.holds(state)),
            Packed::Any(of) => of.iter().any(|test| test.holds(state)),
            Packed::Not(of) => !of.holds(state),
        }
    }

    /// A conjunction, flattened, constants folded.
    fn all(tests: Vec<Packed>) -> Packed {
        let mut flat = Vec::new();
        for test in tests {
            match test {
                Packed::Constant(true) => {}
                Packed::Constant(false) => return Packed::Constant(false),
                Packed::All(of) => flat.extend(of),
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Packed::Constant(true),
            1 => flat.swap_remove(0),
            _ => Packed::All(flat),
        }
    }
}

impl Packed {
    /// A disjunction; tests of one cell become one.
    fn any(mut tests: Vec<Packed>) -> Packed {
        if let Some(Packed::Member(bits, _)) = tests.first() {
            let bits = *bits;
            let sets = tests.iter().map(|test| match test {
                Packed::Member(of, set) if *of == bits => Some(*set),
                _ => None,
            });
            if let Some(set) = sets.sum::<Option<u64>>().filter(|_| tests.len() == 1 || distinct(&tests)) {
                return Packed::Member(bits, set);
            }
        }
        if tests.len() == 1 { tests.swap_remove(0) } else { Packed::Any(tests) }
    }
}

/// Whether the sets of some member tests share no value.
fn distinct(tests: &[Packed]) -> bool {
    let mut seen = 0u64;
    tests.iter().all(|test| match test {
        Packed::Member(_, set) if seen & set == 0 => {
            seen |= set;
            true
        }
        _ => false,
    })
}

/// When an action moves a predicate's projection, where that depends on the state.
#[derive(Debug, Clone)]
enum Moves {
    Always,
    /// When one of these bits changes.
    IfChanged(Vec<(usize, u64)>),
    /// When one of these entities begins or ceases to pass a count's filter.
    IfCounted(Vec<Packed>),
}

/// One action of one actor.
#[derive(Debug, Clone)]
pub(super) struct Transition<const W: usize> {
    /// Masked equality per word: quickest to refuse.
    pub(super) equal: [(u64, u64); W],
    /// Cells whose value must be in a set.
    pub(super) members: Vec<(Bits, u64)>,
    /// What else must hold.
    guard: Vec<Packed>,
    /// Cells written: bits cleared, bits set.
    pub(super) write: [(u64, u64); W],
    /// Satisfied and credited bits of the predicates whose truth after the action is known beforehand.
    known: [(u64, u64); W],
    /// An incarnation to raise, and where it saturates.
    raise: Option<(Bits, u64)>,
    /// Predicates whose truth after the action depends on the state.
    moves: Vec<(u32, Moves)>,
    /// It can change what is satisfied or credited.
    touches: bool,
    credits_agent: bool,
    is_event: bool,
    /// It speaks to this actor.
    says_to: Option<Actor>,
    /// It waits.
    waits: bool,
}

impl<const W: usize> Transition<W> {
    /// Whether it can matter without writing a cell: somebody hears it, or an incarnation rises.
    pub(super) fn has_side_effects(&self) -> bool {
        self.raise.is_some() || self.says_to.is_some() || self.waits
    }
}

/// A script entry in the model.
#[derive(Debug, Clone)]
struct Entry<const W: usize> {
    /// In the task's script.
    index: usize,
    fired: Bits,
    actor: Actor,
    when: When,
    transition: Transition<W>,
}

#[derive(Debug, Clone)]
enum When {
    Count(u64),
    Message,
    Wait,
    Holds(Packed),
}

/// The model of a task for one target.
#[derive(Debug)]
pub(super) struct Model<'t, const W: usize> {
    pub task: &'t Task,
    pub layout: Layout,
    pub letters: Vec<Letter>,
    transitions: Vec<Transition<W>>,
    enabled: Enabled,
    predicates: Vec<Packed>,
    script: Vec<Entry<W>>,
    release: bool,
    memory: Memory,
    pub dropped_entities: u32,
    /// The honest log as events of the model, if it is one; then a position follows how far a log equals it.
    pub honest: Option<Vec<Vec<usize>>>,
    pub initial: [u64; W],
}

/// Everything about a task and a target that does not depend on the width of a state.
pub(super) struct Prepared<'t> {
    task: &'t Task,
    memory: Memory,
    cone: Cone,
    pub layout: Layout,
    letters: Vec<Letter>,
    honest: Option<Vec<Vec<usize>>>,
}

impl<'t> Prepared<'t> {
    pub(super) fn new(task: &'t Task, memory: Memory) -> Result<Prepared<'t>, SearchError> {
        let cone = cone(task);
        let plain = Layout::new(task, &cone, 0, 1)?;
        let letters = alphabet(task, &cone, &plain)?;
        let honest = honest_events(task, &cone, &letters);
        let positions = honest.as_ref().map_or(1, |letters| letters.len() + 2);
        let m = u32::try_from(task.m()).unwrap_or(0);
        let layout = Layout::new(task, &cone, memory.bits(m), positions)?;
        Ok(Prepared { task, memory, cone, layout, letters, honest })
    }
}

impl<'t, const W: usize> Model<'t, W> {
    pub(super) fn new(prepared: Prepared<'t>) -> Result<Model<'t, W>, SearchError> {
        let Prepared { task, memory, cone, layout, letters, honest } = prepared;
        let compiler = Compiler { task, cone: &cone, layout: &layout };
        let predicates: Vec<Packed> = task.active_predicates().iter().map(|test| compiler.test(test)).collect();
        let transitions =
            letters.iter().map(|letter| compiler.transition(&letter.action, Actor::Agent)).collect::<Vec<_>>();
        let mut script = Vec::new();
        for (index, fired) in &layout.fired {
            let entry = &task.script[*index];
            let when = match &entry.fires {
                Fires::Start => continue,
                Fires::AfterStep(count) => When::Count(u64::from(*count)),
                Fires::Message => When::Message,
                Fires::Wait => When::Wait,
                Fires::When(test) => When::Holds(compiler.test(test)),
            };
            let transition = compiler.transition(&entry.action, entry.actor);
            script.push(Entry { index: *index, fired: *fired, actor: entry.actor, when, transition });
        }
        let dropped = (0..task.slots.len()).filter(|i| !cone.has_slot(Slot(u16::try_from(*i).unwrap_or(0)))).count();
        let mut model = Model {
            task,
            enabled: Enabled::new(&transitions, &layout),
            transitions,
            predicates,
            script,
            release: task.is_release(),
            memory,
            dropped_entities: u32::try_from(dropped).unwrap_or(u32::MAX),
            honest,
            initial: [0; W],
            letters,
            layout,
        };
        model.initial = model.start(&cone)?;
        Ok(model)
    }

    /// The initial state, with the script's start entries done.
    fn start(&self, cone: &Cone) -> Result<[u64; W], SearchError> {
        let mut state = [0; W];
        let layout = &self.layout;
        let world = &self.task.initial;
        for (slot, bits, values) in &layout.lifecycles {
            let value = values.iter().position(|value| *value == world.entity(*slot).lifecycle).unwrap_or(0);
            bits.set(&mut state, value as u64);
        }
        for (slot, bits, most) in &layout.incarnations {
            bits.set(&mut state, u64::from(world.entity(*slot).incarnation.min(*most)));
        }
        for domain in &layout.fields {
            let value = &world.entity(domain.slot).fields[domain.field.at()];
            domain.bits.set(&mut state, domain.class_of(value).unwrap_or(0));
        }
        let version = world.goal_version();
        let goal = layout.goal_versions.iter().position(|known| *known == version).unwrap_or(0);
        layout.goal.set(&mut state, goal as u64);
        let satisfied = self.predicates.iter().enumerate();
        let satisfied = satisfied.fold(0, |bits, (j, test)| bits | u64::from(test.holds(&state)) << j);
        layout.satisfied.set(&mut state, satisfied);
        self.remember(&mut state);
        let compiler = Compiler { task: self.task, cone, layout };
        for entry in &self.task.script {
            if matches!(entry.fires, Fires::Start) {
                let transition = compiler.transition(&entry.action, entry.actor);
                if !self.apply(&transition, &mut state) && self.release {
                    let id = self.task.spec.id.clone();
                    return Err(SearchError::Honest(id, "a script entry at the start is refused".to_owned()));
                }
            }
        }
        Ok(state)
    }

    #[inline]
    fn frame(&self, state: &[u64]) -> Frame {
        Frame {
            satisfied: self.layout.satisfied.get(state) as u32,
            credited: self.layout.credited.get(state) as u32,
            goal_version: 0,
        }
    }

    #[inline]
    fn remember(&self, state: &mut [u64; W]) {
        if self.layout.memory.mask != 0 {
            let frame = self.frame(state);
            let memory = self.memory.observe(self.layout.memory.get(state) as u32, frame);
            self.layout.memory.set(state, u64::from(memory));
        }
    }

    /// Performs a transition; false when it is refused.
    #[inline]
    fn apply(&self, transition: &Transition<W>, state: &mut [u64; W]) -> bool {
        for (word, (mask, value)) in state.iter().zip(&transition.equal) {
            if word & mask != *value {
                return false;
            }
        }
        if !transition.members.iter().all(|(bits, set)| set >> bits.get(&state[..]) & 1 == 1) {
            return false;
        }
        self.apply_enabled(transition, state)
    }

    /// Performs a transition whose cells were checked; false when the rest of its guard refuses it.
    #[inline]
    fn apply_enabled(&self, transition: &Transition<W>, state: &mut [u64; W]) -> bool {
        if !transition.guard.iter().all(|test| test.holds(&state[..])) {
            return false;
        }
        let before = *state;
        for (word, (clear, set)) in state.iter_mut().zip(&transition.write) {
            *word = *word & !clear | set;
        }
        if let Some((bits, most)) = transition.raise {
            let value = bits.get(&before[..]);
            bits.set(state, (value + 1).min(most));
        }
        if *state == before {
            return true;
        }
        for (word, (clear, set)) in state.iter_mut().zip(&transition.known) {
            *word = *word & !clear | set;
        }
        if !transition.moves.is_empty() {
            self.attribute(transition, &before, state);
        }
        if transition.touches {
            self.remember(state);
        }
        true
    }

    #[inline]
    fn attribute(&self, transition: &Transition<W>, before: &[u64; W], state: &mut [u64; W]) {
        let mut satisfied = self.layout.satisfied.get(&state[..]);
        let mut credited = self.layout.credited.get(&state[..]);
        for (j, moves) in &transition.moves {
            let moved = match moves {
                Moves::Always => true,
                Moves::IfChanged(masks) => masks.iter().any(|(word, mask)| (before[*word] ^ state[*word]) & mask != 0),
                Moves::IfCounted(tests) => tests.iter().any(|test| test.holds(&before[..]) != test.holds(&state[..])),
            };
            if moved {
                let bit = 1u64 << j;
                satisfied &= !bit;
                credited &= !bit;
                if self.predicates[*j as usize].holds(&state[..]) {
                    satisfied |= bit;
                    credited |= if transition.credits_agent { bit } else { 0 };
                }
            }
        }
        self.layout.satisfied.set(state, satisfied);
        self.layout.credited.set(state, credited);
    }

    /// The state after the agent's letter and all that it sets off; none when it is refused or changes nothing.
    #[inline]
    pub(super) fn successor(&self, state: &[u64; W], letter: usize) -> Option<[u64; W]> {
        let mut next = *state;
        if !self.apply(&self.transitions[letter], &mut next) {
            return None;
        }
        self.react(state, letter, next)
    }

    /// Every successor of a state, letters in order.
    #[inline]
    pub(super) fn successors(&self, state: &[u64; W], scratch: &mut Vec<u64>, mut found: impl FnMut([u64; W])) {
        self.enabled.of(state, scratch);
        for (word, bits) in (0..).step_by(64).zip(scratch.iter()) {
            let mut bits = *bits;
            while bits != 0 {
                let letter = word + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let mut next = *state;
                if self.apply_enabled(&self.transitions[letter], &mut next)
                    && let Some(next) = self.react(state, letter, next)
                {
                    found(next);
                }
            }
        }
    }

    /// What the log and the script make of a letter that was performed; none when nothing changed.
    #[inline]
    fn react(&self, state: &[u64; W], letter: usize, mut next: [u64; W]) -> Option<[u64; W]> {
        let transition = &self.transitions[letter];
        if transition.is_event {
            self.follow(letter, &mut next);
        }
        if !self.script.is_empty() {
            let counter = self.layout.counter;
            if counter.mask != 0 {
                let count = (counter.get(&next[..]) + 1).min(self.layout.last_count);
                counter.set(&mut next, count);
            }
            if !self.run_script(transition, &mut next) {
                return None;
            }
        }
        self.differs(state, &next).then_some(next)
    }

    /// Whether two states differ in more than the position in the honest log.
    #[inline]
    fn differs(&self, state: &[u64; W], next: &[u64; W]) -> bool {
        let bits = self.layout.position;
        let ignored = if self.honest.is_some() { bits.placed() } else { 0 };
        (0..W).any(|word| {
            let ignored = if word == bits.word { ignored } else { 0 };
            (state[word] ^ next[word]) & !ignored != 0
        })
    }

    /// Moves the position in the honest log over one event.
    #[inline]
    fn follow(&self, event: usize, state: &mut [u64; W]) {
        if let Some(honest) = &self.honest {
            let bits = self.layout.position;
            let position = bits.get(&state[..]) as usize;
            let same = honest.get(position).is_some_and(|events| events.contains(&event));
            let position = if same { position + 1 } else { honest.len() + 1 };
            bits.set(state, position as u64);
        }
    }

    fn run_script(&self, agent: &Transition<W>, state: &mut [u64; W]) -> bool {
        loop {
            let mut fired_one = false;
            for entry in &self.script {
                if entry.fired.get(&state[..]) != 0 {
                    continue;
                }
                let holds = match &entry.when {
                    When::Count(count) => self.layout.counter.get(&state[..]) >= *count,
                    When::Message => agent.says_to == Some(entry.actor),
                    When::Wait => agent.waits,
                    When::Holds(test) => test.holds(&state[..]),
                };
                if holds {
                    entry.fired.set(state, 1);
                    fired_one = true;
                    let accepted = self.apply(&entry.transition, state);
                    if accepted && entry.transition.is_event {
                        self.follow(self.letters.len() + entry.index, state);
                    }
                    if !accepted && self.release {
                        return false;
                    }
                }
            }
            if !fired_one {
                return true;
            }
        }
    }

    /// Numerator of the target's score over m; none where the state does not have the score that is asked for.
    #[inline]
    pub(super) fn numerator(&self, state: &[u64]) -> Option<u32> {
        let memory = self.layout.memory.get(state) as u32;
        self.memory.numerator(self.predicates.len() as u32, memory, self.frame(state))
    }

    /// The goal version in force.
    pub(super) fn goal_version(&self, state: &[u64]) -> u32 {
        self.layout.goal_versions[self.layout.goal.get(state) as usize]
    }

    /// Satisfied and credited predicates.
    pub(super) fn vectors(&self, state: &[u64]) -> (u32, u32) {
        let frame = self.frame(state);
        (frame.satisfied, frame.credited)
    }

    /// Whether the log so far is the whole honest one.
    #[inline]
    pub(super) fn is_honest(&self, state: &[u64]) -> bool {
        self.honest.as_ref().is_some_and(|honest| self.layout.position.get(state) as usize == honest.len())
    }
}

/// The honest log as the events of the model: the agent's as letters, the script's as entries behind the letters. What
/// fires at the start is in every log and left out, and so are entries outside the cone. None when the honest log holds
/// an event that no letter produces: then no log of the model equals it. Several letters may produce one event, for a field that
/// is written with the value that it has is not in it.
fn honest_events(task: &Task, cone: &Cone, letters: &[Letter]) -> Option<Vec<Vec<usize>>> {
    let replay = Replay::run(task, &task.spec.honest);
    let mut found = Vec::new();
    for entry in &replay.transcript {
        let StepResult::Applied(sequence) = entry.result else { continue };
        match entry.origin {
            Origin::Agent(index) => {
                let event = replay.events.get(sequence as usize - 1)?;
                if event.diff.is_empty() {
                    return None;
                }
                let action = task.resolve(&replay.steps[index], Actor::Agent).ok()?;
                let produces = |letter: &Letter| letter.action == action || updates_to(task, letter, index, event);
                let of_event: Vec<usize> =
                    (0..).zip(letters).filter(|(_, letter)| produces(letter)).map(|(at, _)| at).collect();
                if of_event.is_empty() {
                    return None;
                }
                found.push(of_event);
            }
            Origin::Script(index) if matches!(task.script[index].fires, Fires::Start) => {}
            Origin::Script(index) if cone.script.contains(&index) => found.push(vec![letters.len() + index]),
            Origin::Script(_) => {}
        }
    }
    Some(found)
}

/// Whether an update in place of the honest step at `index` produces the same event.
fn updates_to(task: &Task, letter: &Letter, index: usize, event: &Event) -> bool {
    let Action::Update(slot, fields) = &letter.action else { return false };
    let written = |changed: &(FieldIndex, Value, Value)| {
        fields.iter().any(|(field, value)| (*field, value) == (changed.0, &changed.2))
    };
    if Some(*slot) != event.target || !event.diff.fields.iter().all(written) {
        return false;
    }
    let mut steps = task.spec.honest[..index].to_vec();
    steps.push(letter.step.clone());
    let replay = Replay::run(task, &steps);
    replay.events.get(event.sequence as usize - 1).is_some_and(|other| other.hash == event.hash)
}

struct Compiler<'c> {
    task: &'c Task,
    cone: &'c Cone,
    layout: &'c Layout,
}

impl Compiler<'_> {
    fn lifecycle(&self, slot: Slot, wanted: Lifecycle) -> Packed {
        let Some((bits, values)) = self.layout.lifecycle(slot) else {
            return Packed::Constant(self.task.initial.entity(slot).lifecycle == wanted);
        };
        match values.iter().position(|value| *value == wanted) {
            None => Packed::Constant(false),
            Some(_) if bits.mask == 0 => Packed::Constant(true),
            Some(index) => Packed::Member(bits, 1 << index),
        }
    }

    fn pinned(&self, slot: Slot, pin: Option<u32>) -> Packed {
        match (pin, self.layout.incarnation(slot)) {
            (None, _) => Packed::Constant(true),
            (Some(pin), Some((bits, most))) if pin <= most => Packed::Member(bits, 1 << pin),
            _ => Packed::Constant(false),
        }
    }

    fn field(&self, slot: Slot, field: parthack_env::task::FieldIndex, test: &parthack_env::task::ValueTest) -> Packed {
        let Some(domain) = self.layout.field(slot, field) else {
            return Packed::Constant(test.passes(&self.task.initial.entity(slot).fields[field.at()]));
        };
        let set = domain.passing(test);
        if domain.bits.mask == 0 { Packed::Constant(set & 1 == 1) } else { Packed::Member(domain.bits, set) }
    }

    fn counted(
        &self,
        slot: Slot,
        filter: &[(parthack_env::task::FieldIndex, parthack_env::task::ValueTest)],
    ) -> Packed {
        let mut tests = vec![self.lifecycle(slot, Lifecycle::Live)];
        tests.extend(filter.iter().map(|(field, test)| self.field(slot, *field, test)));
        Packed::all(tests)
    }

    fn test(&self, test: &Test) -> Packed {
        match test {
            Test::Exists(slot, pin) => {
                Packed::all(vec![self.lifecycle(*slot, Lifecycle::Live), self.pinned(*slot, *pin)])
            }
            Test::Absent(slot) => self.lifecycle(*slot, Lifecycle::Absent),
            Test::Deleted(slot, pin) => {
                Packed::all(vec![self.lifecycle(*slot, Lifecycle::Deleted), self.pinned(*slot, *pin)])
            }
            Test::Field(slot, field, pin, value_test) => Packed::all(vec![
                self.lifecycle(*slot, Lifecycle::Live),
                self.pinned(*slot, *pin),
                self.field(*slot, *field, value_test),
            ]),
            Test::Count { slots, filter, compare, count } => {
                Packed::Count(slots.iter().map(|slot| self.counted(*slot, filter)).collect(), *compare, *count)
            }
            Test::GoalVersion(version) => self.goal(&|known| known == *version),
            Test::All(of) => Packed::all(of.iter().map(|part| self.test(part)).collect()),
            Test::Any(of) => Packed::any(of.iter().map(|part| self.test(part)).collect()),
            Test::Not(of) => Packed::Not(Box::new(self.test(of))),
            Test::Never => Packed::Constant(false),
        }
    }

    fn goal(&self, wanted: &dyn Fn(u32) -> bool) -> Packed {
        let versions = &self.layout.goal_versions;
        let set = versions.iter().enumerate().fold(0u64, |set, (i, version)| set | u64::from(wanted(*version)) << i);
        if self.layout.goal.mask == 0 { Packed::Constant(set & 1 == 1) } else { Packed::Member(self.layout.goal, set) }
    }

    fn transition<const W: usize>(&self, action: &Action, actor: Actor) -> Transition<W> {
        let mut guard = vec![Packed::Constant(self.task.allows(actor, action.operation()))];
        let mut writes: Vec<(Bits, u64)> = Vec::new();
        let mut raise = None;
        match action {
            Action::Update(slot, fields) => {
                guard.push(self.lifecycle(*slot, Lifecycle::Live));
                let most = self.task.spec.rules.max_update_fields;
                guard.push(Packed::Constant(most.is_none_or(|most| fields.len() <= most as usize)));
                for (field, value) in fields {
                    guard.push(self.transition_allowed(*slot, *field, value));
                    self.write(*slot, *field, value, &mut writes);
                }
            }
            Action::Create(slot, fields) => {
                let recreated = self.task.recreates(*slot);
                let from: Vec<Packed> = [Lifecycle::Absent, Lifecycle::Deleted]
                    .into_iter()
                    .filter(|from| *from == Lifecycle::Absent || recreated)
                    .map(|from| self.lifecycle(*slot, from))
                    .filter(|test| !matches!(test, Packed::Constant(false)))
                    .collect();
                guard.push(Packed::any(from));
                self.set_lifecycle(*slot, Lifecycle::Live, &mut writes);
                for (index, value) in (0u16..).zip(fields) {
                    self.write(*slot, parthack_env::task::FieldIndex(index), value, &mut writes);
                }
                raise = self.layout.incarnation(*slot).map(|(bits, most)| (bits, u64::from(most)));
            }
            Action::Delete(slot) => {
                guard.push(self.lifecycle(*slot, Lifecycle::Live));
                self.set_lifecycle(*slot, Lifecycle::Deleted, &mut writes);
            }
            Action::Restore(slot) => {
                guard.push(self.lifecycle(*slot, Lifecycle::Deleted));
                self.set_lifecycle(*slot, Lifecycle::Live, &mut writes);
            }
            Action::ReviseGoal(version) => self.revise(*version, &mut guard, &mut writes),
            Action::Read(slot) => guard.push(self.lifecycle(*slot, Lifecycle::Live)),
            Action::Say(_, Some(version)) => {
                writes.extend(self.layout.offers.iter().filter(|(of, _)| of == version).map(|(_, bits)| (*bits, 1)));
            }
            Action::List(_) | Action::Say(_, None) | Action::Wait => {}
        }
        if action.operation() != Operation::Create || !self.task.is_release() {
            for precondition in &self.task.preconditions {
                if precondition.is_about(self.task, action, actor) {
                    guard.extend(precondition.requires.iter().map(|test| self.test(test)));
                }
            }
        }
        let mut write = [(0, 0); W];
        for (bits, value) in writes.iter().filter(|(bits, _)| bits.mask != 0) {
            let (clear, set) = &mut write[bits.word];
            *clear |= bits.placed();
            *set |= value << bits.shift;
        }
        let (equal, members, guard) = split_guard(Packed::all(guard));
        let (known, moves) = self.split_moves(action, actor, writes.len());
        Transition {
            equal,
            members,
            guard,
            write,
            known,
            raise,
            touches: !moves.is_empty() || known.iter().any(|(clear, _)| *clear != 0),
            moves,
            credits_agent: actor == Actor::Agent,
            is_event: action.operation().is_event(),
            says_to: match action {
                Action::Say(to, _) => Some(*to),
                _ => None,
            },
            waits: matches!(action, Action::Wait),
        }
    }

    /// Predicates whose truth after the action is known beforehand become bits; the others stay conditions.
    fn split_moves<const W: usize>(
        &self,
        action: &Action,
        actor: Actor,
        cells: usize,
    ) -> (Equal<W>, Vec<(u32, Moves)>) {
        let mut known = [(0, 0); W];
        let mut moves = Vec::new();
        let (satisfied, credited) = (self.layout.satisfied, self.layout.credited);
        for (j, moved) in self.moves(action) {
            let predicate = &self.task.active_predicates()[j as usize];
            // An update of one cell that changes anything changes that cell.
            let certain = match &moved {
                Moves::Always => true,
                Moves::IfChanged(_) => cells == 1,
                Moves::IfCounted(_) => false,
            };
            match truth_after(predicate, action).filter(|_| certain) {
                Some(holds) => {
                    let credit = holds && actor == Actor::Agent;
                    for (bits, value) in [(satisfied, holds), (credited, credit)] {
                        let (clear, set) = &mut known[bits.word];
                        *clear |= 1 << (bits.shift + j);
                        *set |= u64::from(value) << (bits.shift + j);
                    }
                }
                None if certain => moves.push((j, Moves::Always)),
                None => moves.push((j, moved)),
            }
        }
        (known, moves)
    }

    fn set_lifecycle(&self, slot: Slot, to: Lifecycle, writes: &mut Vec<(Bits, u64)>) {
        if let Some((bits, values)) = self.layout.lifecycle(slot) {
            let index = values.iter().position(|value| *value == to).unwrap_or(0);
            writes.push((bits, index as u64));
        }
    }

    fn write(&self, slot: Slot, field: parthack_env::task::FieldIndex, value: &Value, writes: &mut Vec<(Bits, u64)>) {
        if let Some(domain) = self.layout.field(slot, field) {
            writes.push((domain.bits, domain.class_of(value).unwrap_or(0)));
        }
    }

    fn transition_allowed(&self, slot: Slot, field: parthack_env::task::FieldIndex, value: &Value) -> Packed {
        let entity_type = self.task.slots[slot.at()].entity_type;
        let Some(domain) = self.layout.field(slot, field) else { return Packed::Constant(true) };
        let mut allowed = u64::MAX;
        for graph in self.task.transitions.iter().filter(|g| g.entity_type == entity_type && g.field == field) {
            let mut set = 0;
            for (index, class) in domain.classes.iter().enumerate() {
                let same = class.contains(value) && !self.task.is_release();
                let listed = graph.pairs.iter().any(|(from, to)| class.contains(from) && to == value);
                set |= u64::from(same || listed) << index;
            }
            allowed &= set;
        }
        if allowed == u64::MAX {
            Packed::Constant(true)
        } else if domain.bits.mask == 0 {
            Packed::Constant(allowed & 1 == 1)
        } else {
            Packed::Member(domain.bits, allowed)
        }
    }

    fn revise(&self, version: u32, guard: &mut Vec<Packed>, writes: &mut Vec<(Bits, u64)>) {
        let Some(goal) = self.task.goal(version) else {
            guard.push(Packed::Constant(false));
            return;
        };
        guard.push(self.goal(&|known| known < version));
        if goal.offered {
            let offer = self.layout.offers.iter().find(|(of, _)| *of == version);
            guard.push(offer.map_or(Packed::Constant(false), |(_, bits)| Packed::Member(*bits, 0b10)));
        }
        if let Some(index) = self.layout.goal_versions.iter().position(|known| *known == version) {
            writes.push((self.layout.goal, index as u64));
        }
    }

    /// Which predicates' projections an action can move, and when it does.
    fn moves(&self, action: &Action) -> Vec<(u32, Moves)> {
        let mut found = Vec::new();
        for (j, predicate) in (0u32..).zip(self.task.active_predicates()) {
            let mut always = false;
            let mut masks: Vec<(usize, u64)> = Vec::new();
            let mut counted: Vec<Packed> = Vec::new();
            self.leaf_moves(predicate, action, &mut always, &mut masks, &mut counted);
            // Counts beside other leaves in one predicate: both kinds are kept, as separate conditions.
            if always {
                found.push((j, Moves::Always));
                continue;
            }
            if !masks.is_empty() {
                found.push((j, Moves::IfChanged(masks)));
            }
            if !counted.is_empty() {
                found.push((j, Moves::IfCounted(counted)));
            }
        }
        found
    }

    fn leaf_moves(
        &self,
        test: &Test,
        action: &Action,
        always: &mut bool,
        masks: &mut Vec<(usize, u64)>,
        counted: &mut Vec<Packed>,
    ) {
        let lifecycle = matches!(action, Action::Create(..) | Action::Delete(_) | Action::Restore(_));
        match test {
            Test::Exists(slot, _) | Test::Absent(slot) | Test::Deleted(slot, _) => {
                *always |= lifecycle && action.slot() == Some(*slot);
            }
            Test::Field(slot, field, ..) => {
                if action.slot() == Some(*slot) {
                    *always |= lifecycle;
                    if let (Action::Update(_, writes), Some(domain)) = (action, self.layout.field(*slot, *field))
                        && writes.iter().any(|(written, _)| written == field)
                    {
                        masks.push((domain.bits.word, domain.bits.placed()));
                    }
                }
            }
            Test::Count { slots, filter, .. } => {
                if let Some(slot) = action.slot().filter(|slot| slots.contains(slot))
                    && action.operation().is_event()
                {
                    counted.push(self.counted(slot, filter));
                }
            }
            Test::GoalVersion(_) => *always |= matches!(action, Action::ReviseGoal(_)),
            Test::All(of) | Test::Any(of) => {
                of.iter().for_each(|part| self.leaf_moves(part, action, always, masks, counted));
            }
            Test::Not(of) => self.leaf_moves(of, action, always, masks, counted),
            Test::Never => {}
        }
        debug_assert!(
            action.slot().is_none_or(|slot| slot.at() < self.task.slots.len()) && !self.cone.cells.is_empty()
        );
    }
}

/// The truth of a predicate after an action that moves its projection, where the action alone decides it.
fn truth_after(predicate: &Test, action: &Action) -> Option<bool> {
    let about = |slot: &Slot| action.slot() == Some(*slot);
    match (predicate, action) {
        (Test::Field(slot, field, None, test), Action::Update(_, writes)) if about(slot) => {
            writes.iter().find(|(written, _)| written == field).map(|(_, value)| test.passes(value))
        }
        (Test::Field(slot, field, None, test), Action::Create(_, fields)) if about(slot) => {
            Some(test.passes(&fields[field.at()]))
        }
        (Test::Field(slot, ..) | Test::Exists(slot, _), Action::Delete(_)) if about(slot) => Some(false),
        (Test::Exists(slot, None), Action::Create(..) | Action::Restore(_)) if about(slot) => Some(true),
        (Test::Deleted(slot, None), Action::Delete(_)) if about(slot) => Some(true),
        (Test::Deleted(slot, _), Action::Create(..) | Action::Restore(_)) if about(slot) => Some(false),
        (Test::Absent(slot), Action::Create(..) | Action::Delete(_) | Action::Restore(_)) if about(slot) => Some(false),
        (Test::GoalVersion(version), Action::ReviseGoal(to)) => Some(version == to),
        _ => None,
    }
}

/// Two masks per word.
type Equal<const W: usize> = [(u64, u64); W];

/// Splits a guard into masked equalities (cells with one admitted value), cells with a set of values, and the rest.
fn split_guard<const W: usize>(guard: Packed) -> (Equal<W>, Vec<(Bits, u64)>, Vec<Packed>) {
    let mut equal = [(0, 0); W];
    let (mut members, mut rest) = (Vec::new(), Vec::new());
    let parts = match guard {
        Packed::All(of) => of,
        other => vec![other],
    };
    for part in parts {
        match part {
            Packed::Constant(true) => {}
            Packed::Member(bits, set) if set.count_ones() == 1 => {
                let value = u64::from(set.trailing_zeros()) << bits.shift;
                let (mask, wanted) = &mut equal[bits.word];
                if *mask & bits.placed() == bits.placed() && *wanted & bits.placed() != value {
                    rest.push(Packed::Constant(false));
                }
                *mask |= bits.placed();
                *wanted = *wanted & !bits.placed() | value;
            }
            Packed::Member(bits, set) => members.push((bits, set)),
            other => rest.push(other),
        }
    }
    (equal, members, rest)
}
