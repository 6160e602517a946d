//! Certifier 1: reads the final snapshot and walks the trusted log backward (P A.3; SPEC §4, §15.3).
//!
//! Architecture invariant: no evaluation code is shared with [`crate::forward`], nor with the environment's own
//! `World::holds` and `frames`. Here a predicate is judged from its *projection*, the tuple of typed values that it
//! reads; tokens and references are mapped back to raw values and private ids while reading.

use std::collections::BTreeMap;
use std::slice::Iter;
use std::sync::Arc;

use parthack_env::canonical::Hash;
use parthack_env::log::{self, Event, LogFault};
use parthack_env::names::Actor;
use parthack_env::predicate::{Comparison, FieldTest, Predicate};
use parthack_env::replay::Replay;
use parthack_env::spec::Visibility;
use parthack_env::task::{FieldIndex, Slot, Task};
use parthack_env::value::{FieldKind, Literal, Value};
use parthack_env::world::{Lifecycle, World};

use crate::binding::PrivateTask;
use crate::mapping::Mapping;
use crate::vectors::{BitVector, Finding};

/// Why a log cannot be certified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackwardFault {
    /// The log does not verify.
    #[error("the event log does not verify: {0}")]
    Log(LogFault),
    /// A snapshot is not the state that its event led to.
    #[error("the snapshot after event {sequence} is not the state that the log leads to")]
    Snapshot {
        /// From 1; one past the end where a snapshot is missing or too many.
        sequence: usize,
    },
    /// A state holds what the package cannot map back.
    #[error("the state holds a token or an id that the package does not know")]
    Unmapped,
}

/// The first certifier, ready for one task.
#[derive(Clone)]
pub struct Backward {
    task: Arc<Task>,
    goal: Vec<Node>,
}

#[derive(Clone)]
enum Node {
    Exists(Slot, Option<u32>),
    Absent(Slot),
    Deleted(Slot, Option<u32>),
    Field(Slot, FieldIndex, Option<u32>, Decode, Check),
    Count(Vec<Slot>, Vec<(FieldIndex, Decode, Check)>, Comparison, u32),
    GoalVersion(u32),
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    /// Reads what cannot exist (imported tasks only): false.
    Never,
}

/// A test of a decoded value.
#[derive(Clone)]
enum Check {
    OneOf(Vec<Value>),
    AtLeast(i64),
    AtMost(i64),
    Has(Value),
}

/// From a public value to the private one.
#[derive(Clone)]
enum Decode {
    Plain,
    Reference(Arc<BTreeMap<String, Arc<str>>>),
    Sealed(Arc<BTreeMap<String, Value>>),
}

/// One component of a projection.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Read {
    Live(bool),
    Lifecycle(Lifecycle),
    Incarnation(u32),
    /// `None`: the entity is not live.
    Cell(Option<Value>),
    Count(u32),
    GoalVersion(u32),
}

impl Backward {
    /// For a task without a package: its own predicates.
    #[must_use]
    pub fn public(task: Arc<Task>) -> Backward {
        let version = task.spec.active_goal_version;
        let goal = task.spec.goal_versions.iter().find(|goal| goal.version == version);
        let predicates = goal.map(|goal| goal.predicates.as_slice()).unwrap_or_default();
        let compiler = Compiler { task: &task, mapping: None };
        let goal = predicates.iter().map(|predicate| compiler.node(&predicate.predicate)).collect();
        Backward { goal, task }
    }

    /// For a bound package: the private predicates.
    #[must_use]
    pub fn private(private: &PrivateTask) -> Backward {
        let compiler = Compiler { task: &private.task, mapping: Some(&private.mapping) };
        let goal = private.active_predicates().map(|predicate| compiler.node(predicate)).collect();
        Backward { goal, task: Arc::clone(&private.task) }
    }

    /// Certifies a replayed trajectory.
    ///
    /// # Errors
    /// As [`Backward::certify_log`].
    pub fn certify(&self, replay: &Replay<'_>) -> Result<Finding, BackwardFault> {
        self.certify_log(&replay.events, &replay.snapshots, replay.head())
    }

    /// Certifies a log with its snapshots; `head` is the hash that the log must end with.
    ///
    /// # Errors
    /// [`BackwardFault`]: the first event at fault, a snapshot that is not its event's state, or a value that the
    /// package cannot map back.
    pub fn certify_log(&self, events: &[Event], snapshots: &[World], head: Hash) -> Result<Finding, BackwardFault> {
        let terminal = log::verify(&self.task, events, Some(head)).map_err(BackwardFault::Log)?;
        for (sequence, event) in (1..).zip(events) {
            let known = snapshots.get(sequence - 1).is_some_and(|world| world.state_hash() == event.state_hash);
            if !known {
                return Err(BackwardFault::Snapshot { sequence });
            }
        }
        if snapshots.len() > events.len() || snapshots.last().is_some_and(|last| *last != terminal) {
            return Err(BackwardFault::Snapshot { sequence: events.len() + 1 });
        }
        let (mut state, mut agent) = (0, 0);
        for (index, node) in self.goal.iter().enumerate() {
            let mut after = Vec::new();
            node.read(&terminal, &mut after)?;
            if node.judge(&mut after.iter()) {
                state |= 1 << index;
                if self.latest_cause(node, &after, events, snapshots)? == Some(Actor::Agent) {
                    agent |= 1 << index;
                }
            }
        }
        Ok(Finding {
            c_state: BitVector::new(self.goal.len(), state),
            c_agent: BitVector::new(self.goal.len(), agent),
            goal_version: terminal.goal_version(),
            state_hash: terminal.state_hash(),
        })
    }

    /// c_state of a single state.
    ///
    /// # Errors
    /// The state holds what the package cannot map back.
    pub fn state_vector(&self, world: &World) -> Result<BitVector, BackwardFault> {
        let mut bits = 0;
        let mut reads = Vec::new();
        for (index, node) in self.goal.iter().enumerate() {
            reads.clear();
            node.read(world, &mut reads)?;
            bits |= u32::from(node.judge(&mut reads.iter())) << index;
        }
        Ok(BitVector::new(self.goal.len(), bits))
    }

    /// The actor of the latest event whose before and after projections differ.
    fn latest_cause(
        &self,
        node: &Node,
        terminal: &[Read],
        events: &[Event],
        snapshots: &[World],
    ) -> Result<Option<Actor>, BackwardFault> {
        let mut before = Vec::with_capacity(terminal.len());
        for (index, event) in events.iter().enumerate().rev() {
            let world = if index == 0 { &self.task.initial } else { &snapshots[index - 1] };
            before.clear();
            node.read(world, &mut before)?;
            if before != terminal {
                return Ok(Some(event.actor));
            }
        }
        Ok(None)
    }
}

impl Node {
    /// Appends the projection: every leaf, left to right.
    fn read(&self, world: &World, out: &mut Vec<Read>) -> Result<(), BackwardFault> {
        let incarnation = |slot: &Slot| {
            let entity = world.entity(*slot);
            Read::Incarnation(if entity.is_live() { entity.incarnation } else { 0 })
        };
        match self {
            Node::Exists(slot, pinned) => {
                out.push(Read::Live(world.entity(*slot).is_live()));
                out.extend(pinned.map(|_| incarnation(slot)));
            }
            Node::Absent(slot) => out.push(Read::Lifecycle(world.entity(*slot).lifecycle)),
            Node::Deleted(slot, pinned) => {
                out.push(Read::Lifecycle(world.entity(*slot).lifecycle));
                out.extend(pinned.map(|_| Read::Incarnation(world.entity(*slot).incarnation)));
            }
            Node::Field(slot, field, pinned, decode, _) => {
                let entity = world.entity(*slot);
                let cell = if entity.is_live() { Some(decode.value(&entity.fields[field.at()])?) } else { None };
                out.push(Read::Cell(cell));
                out.extend(pinned.map(|_| incarnation(slot)));
            }
            Node::Count(slots, filter, ..) => {
                let mut count = 0;
                for slot in slots {
                    let entity = world.entity(*slot);
                    let mut passes = entity.is_live();
                    for (field, decode, check) in filter {
                        passes = passes && check.passes(&decode.value(&entity.fields[field.at()])?);
                    }
                    count += u32::from(passes);
                }
                out.push(Read::Count(count));
            }
            Node::GoalVersion(_) => out.push(Read::GoalVersion(world.goal_version())),
            Node::All(of) | Node::Any(of) => {
                for part in of {
                    part.read(world, out)?;
                }
            }
            Node::Not(of) => of.read(world, out)?,
            Node::Never => {}
        }
        Ok(())
    }

    /// The truth value that a projection gives; takes from `reads` what [`Node::read`] put there.
    fn judge(&self, reads: &mut Iter<'_, Read>) -> bool {
        match self {
            Node::Exists(_, pinned) => {
                let live = reads.next() == Some(&Read::Live(true));
                pins(pinned, reads) && live
            }
            Node::Absent(_) => reads.next() == Some(&Read::Lifecycle(Lifecycle::Absent)),
            Node::Deleted(_, pinned) => {
                let deleted = reads.next() == Some(&Read::Lifecycle(Lifecycle::Deleted));
                pins(pinned, reads) && deleted
            }
            Node::Field(.., pinned, _, check) => {
                let passes = matches!(reads.next(), Some(Read::Cell(Some(value))) if check.passes(value));
                pins(pinned, reads) && passes
            }
            Node::Count(_, _, compare, bound) => match (reads.next(), compare) {
                (Some(Read::Count(count)), Comparison::AtLeast) => count >= bound,
                (Some(Read::Count(count)), Comparison::AtMost) => count <= bound,
                (Some(Read::Count(count)), Comparison::Equals) => count == bound,
                _ => false,
            },
            Node::GoalVersion(version) => reads.next() == Some(&Read::GoalVersion(*version)),
            // Every part takes its own reads, whatever the parts before it said.
            Node::All(of) => {
                let mut all = true;
                for part in of {
                    all &= part.judge(reads);
                }
                all
            }
            Node::Any(of) => {
                let mut any = false;
                for part in of {
                    any |= part.judge(reads);
                }
                any
            }
            Node::Not(of) => !of.judge(reads),
            Node::Never => false,
        }
    }
}

fn pins(pinned: &Option<u32>, reads: &mut Iter<'_, Read>) -> bool {
    match pinned {
        None => true,
        Some(pinned) => reads.next() == Some(&Read::Incarnation(*pinned)),
    }
}

impl Check {
    fn passes(&self, value: &Value) -> bool {
        match (self, value) {
            (Check::OneOf(values), _) => values.contains(value),
            (Check::AtLeast(bound), Value::Int(value)) => value >= bound,
            (Check::AtMost(bound), Value::Int(value)) => value <= bound,
            (Check::AtLeast(bound), Value::Tick(value)) => i128::from(*value) >= i128::from(*bound),
            (Check::AtMost(bound), Value::Tick(value)) => i128::from(*value) <= i128::from(*bound),
            (Check::Has(element), Value::Set(items)) => items.contains(element),
            _ => false,
        }
    }
}

impl Decode {
    fn value(&self, value: &Value) -> Result<Value, BackwardFault> {
        match (self, value) {
            (Decode::Plain, _) | (_, Value::Null) => Ok(value.clone()),
            (Decode::Reference(ids), Value::Ref(id)) => {
                ids.get(&**id).map(|private| Value::Ref(Arc::clone(private))).ok_or(BackwardFault::Unmapped)
            }
            (Decode::Sealed(raw), Value::Token(token)) => raw.get(&**token).cloned().ok_or(BackwardFault::Unmapped),
            (_, Value::Set(items)) => {
                let mut decoded = items.iter().map(|item| self.value(item)).collect::<Result<Vec<_>, _>>()?;
                decoded.sort();
                Ok(Value::Set(decoded.into()))
            }
            _ => Err(BackwardFault::Unmapped),
        }
    }
}

/// From predicates over names to nodes over slots. The task's own compiler has checked public predicates, and binding
/// has checked private ones against them, so that what resolves to nothing here can only be an imported task's.
struct Compiler<'t> {
    task: &'t Task,
    mapping: Option<&'t Mapping>,
}

impl Compiler<'_> {
    fn slot(&self, entity_type: &str, id: &str) -> Option<(usize, Slot)> {
        let index = self.task.type_index(entity_type)?;
        let id = match self.mapping {
            None => id,
            Some(mapping) => mapping.public_id(entity_type, id)?,
        };
        Some((index, self.task.slot(index, id)?))
    }

    fn node(&self, predicate: &Predicate) -> Node {
        let list = |of: &[Predicate]| of.iter().map(|part| self.node(part)).collect();
        let resolved = match predicate {
            Predicate::Exists { entity_type, id, incarnation } => {
                self.slot(entity_type, id).map(|(_, slot)| Node::Exists(slot, *incarnation))
            }
            Predicate::Absent { entity_type, id } => self.slot(entity_type, id).map(|(_, slot)| Node::Absent(slot)),
            Predicate::Deleted { entity_type, id, incarnation } => {
                self.slot(entity_type, id).map(|(_, slot)| Node::Deleted(slot, *incarnation))
            }
            Predicate::Field { entity_type, id, field, incarnation, test, .. } => {
                self.slot(entity_type, id).and_then(|(index, slot)| {
                    let (field, decode, check) = self.field_test(index, field, test)?;
                    Some(Node::Field(slot, field, *incarnation, decode, check))
                })
            }
            Predicate::Count { entity_type, filter, compare, count } => match self.task.type_index(entity_type) {
                None => Some(Node::Count(Vec::new(), Vec::new(), *compare, *count)),
                Some(index) => {
                    let filter: Option<Vec<_>> =
                        filter.iter().map(|(field, test)| self.field_test(index, field, test)).collect();
                    filter.map(|filter| Node::Count(self.task.slots_of_type(index), filter, *compare, *count))
                }
            },
            Predicate::GoalVersion(version) => Some(Node::GoalVersion(*version)),
            Predicate::All(of) => Some(Node::All(list(of))),
            Predicate::Any(of) => Some(Node::Any(list(of))),
            Predicate::Not(of) => Some(Node::Not(Box::new(self.node(of)))),
        };
        resolved.unwrap_or(Node::Never)
    }

    fn field_test(&self, index: usize, field: &str, test: &FieldTest) -> Option<(FieldIndex, Decode, Check)> {
        let field = self.task.field_index(index, field)?;
        let entity_type = &self.task.spec.entity_types[index];
        let spec = &entity_type.fields[field.at()];
        let decode = match (self.mapping, spec.visibility, spec.kind.element()) {
            (None, ..) => Decode::Plain,
            (Some(mapping), Visibility::Sealed, _) => {
                Decode::Sealed(Arc::new(mapping.raw_values(&entity_type.name, &spec.name)))
            }
            (Some(mapping), Visibility::Public, FieldKind::Ref { entity_type }) => {
                Decode::Reference(Arc::new(mapping.private_ids(entity_type)))
            }
            _ => Decode::Plain,
        };
        let check = match test {
            FieldTest::Equals(literal) => Check::OneOf(vec![self.value(index, field, literal)]),
            // The importer of released tasks knows equality alone, so that these are always of the field's type.
            FieldTest::In(literals) => {
                Check::OneOf(literals.iter().map(|literal| self.value(index, field, literal)).collect())
            }
            FieldTest::AtLeast(bound) => Check::AtLeast(*bound),
            FieldTest::AtMost(bound) => Check::AtMost(*bound),
            FieldTest::Contains(literal) => Check::Has(self.element(index, field, literal)),
        };
        Some((field, decode, check))
    }

    /// The typed value of an expected literal: raw and over private ids where there is a package.
    fn value(&self, index: usize, field: FieldIndex, literal: &Literal) -> Value {
        let spec = &self.task.spec.entity_types[index].fields[field.at()];
        match literal {
            Literal::Null if spec.optional && spec.kind != FieldKind::ImportedOpaque => Value::Null,
            Literal::List(items) if matches!(spec.kind, FieldKind::Set { .. }) => {
                let mut values: Vec<Value> = items.iter().map(|item| self.element(index, field, item)).collect();
                values.sort();
                Value::Set(values.into())
            }
            other => self.element(index, field, other),
        }
    }

    fn element(&self, index: usize, field: FieldIndex, literal: &Literal) -> Value {
        if let Literal::Token(token) = literal {
            return Value::Token(token.as_str().into());
        }
        let known = |entity_type: &str, id: &str| self.slot(entity_type, id).is_some();
        let kind = self.task.spec.entity_types[index].fields[field.at()].kind.element();
        // An imported expectation of another type than the field equals nothing that the field can hold but the same
        // imported value.
        kind.admit(literal, &known).unwrap_or_else(|_| literal.imported())
    }
}
