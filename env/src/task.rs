//! A task with every name resolved: what the engine, the certifier and the search run on.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::input::InputError;
use crate::limits::{MAX_ENTITIES, MAX_PREDICATES};
use crate::names::{Actor, ByName, Operation};
use crate::predicate::{Comparison, FieldTest, Predicate};
use crate::spec::{EntityTypeSpec, Recreate, Semantics, TaskSpec, Trigger, Visibility};
use crate::spelling::Spelling;
use crate::steps::Step;
use crate::value::{FieldKind, Literal, Value, ValueFault};
use crate::world::{Entity, Lifecycle, World};

/// Index of an entity that can exist, in the order of (type name, id).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

/// Index of a field within its entity type, in the type's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldIndex(pub u16);

impl Slot {
    /// As an index.
    #[must_use]
    pub fn at(self) -> usize {
        usize::from(self.0)
    }
}

impl FieldIndex {
    /// As an index.
    #[must_use]
    pub fn at(self) -> usize {
        usize::from(self.0)
    }
}

/// An entity that can exist.
#[derive(Debug, Clone)]
pub struct SlotInfo {
    /// Index of its type.
    pub entity_type: usize,
    /// Its id.
    pub id: Arc<str>,
}

/// A resolved test of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueTest {
    /// Equal.
    Equals(Value),
    /// Equal to one.
    In(Vec<Value>),
    /// At least.
    AtLeast(i64),
    /// At most.
    AtMost(i64),
    /// A set with this element.
    Contains(Value),
}

impl ValueTest {
    /// Whether a value passes.
    #[must_use]
    pub fn passes(&self, value: &Value) -> bool {
        match self {
            ValueTest::Equals(expected) => value == expected,
            ValueTest::In(expected) => expected.contains(value),
            ValueTest::AtLeast(bound) => value.as_integer().is_some_and(|value| value >= *bound),
            ValueTest::AtMost(bound) => value.as_integer().is_some_and(|value| value <= *bound),
            ValueTest::Contains(element) => matches!(value, Value::Set(items) if items.contains(element)),
        }
    }

    /// Every value that it names.
    #[must_use]
    pub fn constants(&self) -> Vec<Value> {
        match self {
            ValueTest::Equals(value) | ValueTest::Contains(value) => vec![value.clone()],
            ValueTest::In(values) => values.clone(),
            ValueTest::AtLeast(bound) | ValueTest::AtMost(bound) => vec![Value::Int(*bound)],
        }
    }
}

/// A resolved predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// Live, of this incarnation if pinned.
    Exists(Slot, Option<u32>),
    /// Never created.
    Absent(Slot),
    /// Deleted, of this incarnation if pinned.
    Deleted(Slot, Option<u32>),
    /// Live, of this incarnation if pinned, and the field passes.
    Field(Slot, FieldIndex, Option<u32>, ValueTest),
    /// So many live entities of the type pass.
    Count {
        /// Slots of the type.
        slots: Vec<Slot>,
        /// All must pass.
        filter: Vec<(FieldIndex, ValueTest)>,
        /// How the count is compared.
        compare: Comparison,
        /// With what.
        count: u32,
    },
    /// The goal version in force.
    GoalVersion(u32),
    /// Every one.
    All(Vec<Test>),
    /// At least one.
    Any(Vec<Test>),
    /// Not.
    Not(Box<Test>),
    /// Reads what cannot exist (imported tasks only): false.
    Never,
}

/// A resolved precondition.
#[derive(Debug, Clone)]
pub struct Precondition {
    /// Operation, if named.
    pub operation: Option<Operation>,
    /// Entity type index, if named.
    pub entity_type: Option<usize>,
    /// Slot, if an id is named: with a type the one slot, without one every slot of that id.
    pub slots: Option<Vec<Slot>>,
    /// The field that must be written, if named: for each type that has it, its index and what must be written.
    pub writes: Option<Vec<WriteMatch>>,
    /// Acting class, if named.
    pub actor: Option<Actor>,
    /// What must hold before.
    pub requires: Vec<Test>,
    /// What a refused actor is told.
    pub message: String,
}

/// A field that a precondition watches in one entity type.
#[derive(Debug, Clone)]
pub struct WriteMatch {
    /// Entity type index.
    pub entity_type: usize,
    /// Field.
    pub field: FieldIndex,
    /// What must be written.
    pub value: WrittenValue,
}

/// Which written values a precondition is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenValue {
    /// Any.
    Any,
    /// This one.
    Exactly(Value),
    /// A value that the field cannot have (imported tasks only).
    Impossible,
}

/// A resolved trigger.
#[derive(Debug, Clone)]
pub enum Fires {
    /// Before the first agent step.
    Start,
    /// After the n-th accepted agent step.
    AfterStep(u32),
    /// The agent speaks to the entry's actor.
    Message,
    /// The agent waits.
    Wait,
    /// The test holds.
    When(Test),
}

/// A resolved script entry.
#[derive(Debug, Clone)]
pub struct ScriptEntry {
    /// Who acts.
    pub actor: Actor,
    /// When.
    pub fires: Fires,
    /// What.
    pub action: Action,
}

/// A resolved step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A new entity; one value a field of the type.
    Create(Slot, Box<[Value]>),
    /// New values.
    Update(Slot, Vec<(FieldIndex, Value)>),
    /// A live entity goes.
    Delete(Slot),
    /// A deleted entity comes back.
    Restore(Slot),
    /// A higher goal version.
    ReviseGoal(u32),
    /// One entity is shown.
    Read(Slot),
    /// The entities of a type are shown.
    List(usize),
    /// A message, perhaps with an offer.
    Say(Actor, Option<u32>),
    /// Others may act.
    Wait,
}

impl Action {
    /// The operation.
    #[must_use]
    pub fn operation(&self) -> Operation {
        match self {
            Action::Create(..) => Operation::Create,
            Action::Update(..) => Operation::Update,
            Action::Delete(_) => Operation::Delete,
            Action::Restore(_) => Operation::Restore,
            Action::ReviseGoal(_) => Operation::ReviseGoal,
            Action::Read(_) => Operation::Read,
            Action::List(_) => Operation::List,
            Action::Say(..) => Operation::Say,
            Action::Wait => Operation::Wait,
        }
    }

    /// The entity it is about.
    #[must_use]
    pub fn slot(&self) -> Option<Slot> {
        match self {
            Action::Create(slot, _)
            | Action::Update(slot, _)
            | Action::Delete(slot)
            | Action::Restore(slot)
            | Action::Read(slot) => Some(*slot),
            _ => None,
        }
    }
}

/// A goal version with resolved predicates.
#[derive(Debug, Clone)]
pub struct Goal {
    /// From 1.
    pub version: u32,
    /// Whether a revision to it needs an offer.
    pub offered: bool,
    /// Its predicates, in order; at most [`MAX_PREDICATES`].
    pub predicates: Vec<Test>,
}

/// A resolved transition graph.
#[derive(Debug, Clone)]
pub struct Transitions {
    /// Entity type index.
    pub entity_type: usize,
    /// Field.
    pub field: FieldIndex,
    /// From, to.
    pub pairs: Vec<(Value, Value)>,
}

/// A task, ready to run.
///
/// Invariant: every index in it is in range, and every value is of its field's type.
#[derive(Debug, Clone)]
pub struct Task {
    /// The task over names.
    pub spec: TaskSpec,
    /// Entities that can exist.
    pub slots: Vec<SlotInfo>,
    /// The frozen initial snapshot.
    pub initial: World,
    /// Goal versions, rising.
    pub goals: Vec<Goal>,
    /// Graphs of legal changes.
    pub transitions: Vec<Transitions>,
    /// Preconditions.
    pub preconditions: Vec<Precondition>,
    /// What others do.
    pub script: Vec<ScriptEntry>,
    /// Field indexes of each type in the order of their names (the order of canonical JSON).
    pub field_order: Vec<Vec<FieldIndex>>,
    pub(crate) spelling: Spelling,
    active: usize,
    slot_of: ByName<Arc<str>, Vec<(usize, Slot)>>,
    type_of: ByName<String, usize>,
    field_of: Vec<ByName<String, FieldIndex>>,
}

/// Why a step over names is no action of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveFault {
    /// A value of another JSON type than the field's.
    WrongType {
        /// The field.
        field: String,
        /// What was given.
        found: String,
        /// What the field takes.
        expected: String,
    },
    /// Everything else that names something that is not there.
    Refused(crate::refusal::Refusal),
}

impl Task {
    /// Reads and resolves a public task file.
    ///
    /// # Errors
    /// As [`TaskSpec::read`] and [`Task::compile`].
    pub fn read(bytes: &[u8]) -> Result<Task, InputError> {
        Task::compile(TaskSpec::read(bytes)?)
    }

    /// Resolves every name.
    ///
    /// # Errors
    /// [`InputError`] with the pointer of the first name or value that does not fit.
    pub fn compile(spec: TaskSpec) -> Result<Task, InputError> {
        crate::compile::compile(spec)
    }

    pub(crate) fn assemble(
        spec: TaskSpec,
        slots: Vec<SlotInfo>,
        entities: Vec<Entity>,
        type_of: HashMap<String, usize>,
        field_of: Vec<HashMap<String, FieldIndex>>,
        slot_of: HashMap<Arc<str>, Vec<(usize, Slot)>>,
        active: usize,
    ) -> Task {
        let field_order: Vec<Vec<FieldIndex>> = spec
            .entity_types
            .iter()
            .map(|entity_type| {
                let mut names: BTreeMap<&str, FieldIndex> = BTreeMap::new();
                for (index, field) in (0u16..).zip(&entity_type.fields) {
                    names.insert(&field.name, FieldIndex(index));
                }
                names.into_values().collect()
            })
            .collect();
        let spelling = Spelling::of(&spec, &slots, &field_order);
        let mut task = Task {
            slots,
            initial: World::empty(spec.initial_goal_version),
            goals: Vec::new(),
            transitions: Vec::new(),
            preconditions: Vec::new(),
            script: Vec::new(),
            field_order,
            spelling,
            active,
            slot_of: slot_of.into_iter().collect(),
            type_of: type_of.into_iter().collect(),
            field_of: field_of.into_iter().map(|names| names.into_iter().collect()).collect(),
            spec,
        };
        task.initial = World::new(&task, entities, task.spec.initial_goal_version);
        task
    }

    /// The active goal version's predicates (SPEC §15.1).
    #[must_use]
    pub fn active_predicates(&self) -> &[Test] {
        &self.goals[self.active].predicates
    }

    /// m, the number of active predicates.
    #[must_use]
    pub fn m(&self) -> usize {
        debug_assert!(self.active_predicates().len() <= MAX_PREDICATES);
        self.active_predicates().len()
    }

    /// The goal of a version.
    #[must_use]
    pub fn goal(&self, version: u32) -> Option<&Goal> {
        self.goals.iter().find(|goal| goal.version == version)
    }

    /// The type of a slot.
    #[must_use]
    pub fn type_of_slot(&self, slot: Slot) -> &EntityTypeSpec {
        &self.spec.entity_types[self.slots[slot.at()].entity_type]
    }

    /// Index of a type.
    #[must_use]
    pub fn type_index(&self, name: &str) -> Option<usize> {
        self.type_of.get(name).copied()
    }

    /// Index of a field.
    #[must_use]
    pub fn field_index(&self, entity_type: usize, name: &str) -> Option<FieldIndex> {
        self.field_of.get(entity_type)?.get(name).copied()
    }

    /// The slot of an entity.
    #[must_use]
    pub fn slot(&self, entity_type: usize, id: &str) -> Option<Slot> {
        self.slot_of.get(id)?.iter().find(|(of, _)| *of == entity_type).map(|(_, slot)| *slot)
    }

    /// Every slot with this id, of whatever type.
    #[must_use]
    pub fn slots_of_id(&self, id: &str) -> Vec<Slot> {
        self.slot_of.get(id).map(|slots| slots.iter().map(|(_, slot)| *slot).collect()).unwrap_or_default()
    }

    /// Slots of a type.
    #[must_use]
    pub fn slots_of_type(&self, entity_type: usize) -> Vec<Slot> {
        (0u16..)
            .zip(&self.slots)
            .filter(|(_, info)| info.entity_type == entity_type)
            .map(|(index, _)| Slot(index))
            .collect()
    }

    /// Whether an actor class may use an operation.
    #[must_use]
    pub fn allows(&self, actor: Actor, operation: Operation) -> bool {
        self.spec.allowlist[actor as usize].contains(&operation)
    }

    /// The value of a literal in a field. `null` is a value of optional fields; tokens are values of sealed ones.
    ///
    /// # Errors
    /// As [`FieldKind::admit`].
    pub fn admit(&self, entity_type: usize, field: FieldIndex, literal: &Literal) -> Result<Value, ValueFault> {
        let spec = &self.spec.entity_types[entity_type].fields[field.at()];
        let found = || {
            let mut out = Vec::new();
            literal.push_json(&mut out);
            String::from_utf8_lossy(&out).chars().take(80).collect()
        };
        match (literal, spec.visibility) {
            (Literal::Null, _) if spec.optional && spec.kind != FieldKind::ImportedOpaque => Ok(Value::Null),
            (Literal::Token(token), Visibility::Sealed) if !matches!(spec.kind, FieldKind::Set { .. }) => {
                Ok(Value::Token(token.as_str().into()))
            }
            (Literal::List(items), Visibility::Sealed) if matches!(spec.kind, FieldKind::Set { .. }) => {
                let mut tokens = Vec::new();
                for item in items {
                    let Literal::Token(token) = item else {
                        return Err(ValueFault::WrongType { found: found(), expected: "a list of tokens".to_owned() });
                    };
                    tokens.push(Value::Token(token.as_str().into()));
                }
                tokens.sort();
                Ok(Value::Set(tokens.into()))
            }
            (_, Visibility::Sealed) => Err(ValueFault::WrongType {
                found: found(),
                expected: "an equality token, for the field is sealed".to_owned(),
            }),
            _ => spec.kind.admit(literal, &|name, id| {
                self.type_index(name).is_some_and(|entity_type| self.slot(entity_type, id).is_some())
            }),
        }
    }

    /// The action of a step over names.
    ///
    /// # Errors
    /// [`ResolveFault`].
    pub fn resolve(&self, step: &Step, actor: Actor) -> Result<Action, ResolveFault> {
        crate::resolve::resolve(self, step, actor)
    }

    /// Whether creating a deleted id starts a new incarnation.
    #[must_use]
    pub fn recreates(&self, slot: Slot) -> bool {
        self.type_of_slot(slot).recreate == Recreate::NewIncarnation
    }

    /// Whether no action may name an entity (imported tasks only).
    #[must_use]
    pub fn is_unnameable(&self, entity_type: &str, id: &str) -> bool {
        !self.spec.unnameable.is_empty() && self.spec.unnameable.contains(&(entity_type.to_owned(), id.to_owned()))
    }

    /// Whether the release's rules hold.
    #[must_use]
    pub fn is_release(&self) -> bool {
        self.spec.semantics == Semantics::Release
    }

    /// Instruction texts of the versions from the initial one to `highest`, rising, and of the active one.
    pub fn instructions_in_force(&self, highest: u32) -> impl Iterator<Item = (u32, &str)> {
        let top = highest.max(self.spec.active_goal_version);
        self.spec
            .instructions
            .range(self.spec.initial_goal_version..=top)
            .map(|(version, text)| (*version, text.as_str()))
    }

    pub(crate) fn resolve_test(&self, predicate: &Predicate, pointer: &str) -> Result<Test, InputError> {
        crate::compile::resolve_predicate(self, predicate, pointer)
    }
}

/// What the reader of a field test needs to resolve it; shared by goal predicates, rules and triggers.
pub(crate) fn resolve_field_test(
    task: &Task,
    entity_type: usize,
    field: FieldIndex,
    test: &FieldTest,
) -> Result<ValueTest, ValueFault> {
    let admit = |literal: &Literal| task.admit(entity_type, field, literal);
    Ok(match test {
        FieldTest::Equals(value) => ValueTest::Equals(admit(value)?),
        FieldTest::In(values) => ValueTest::In(values.iter().map(admit).collect::<Result<_, _>>()?),
        FieldTest::AtLeast(bound) => ValueTest::AtLeast(*bound),
        FieldTest::AtMost(bound) => ValueTest::AtMost(*bound),
        FieldTest::Contains(value) => {
            let spec = &task.spec.entity_types[entity_type].fields[field.at()];
            match (value, spec.visibility) {
                (Literal::Token(token), Visibility::Sealed) => ValueTest::Contains(Value::Token(token.as_str().into())),
                _ => ValueTest::Contains(spec.kind.element().admit(value, &|name, id| {
                    task.type_index(name).is_some_and(|entity_type| task.slot(entity_type, id).is_some())
                })?),
            }
        }
    })
}

/// Converts a trigger.
pub(crate) fn resolve_trigger(task: &Task, trigger: &Trigger, pointer: &str) -> Result<Fires, InputError> {
    Ok(match trigger {
        Trigger::Start => Fires::Start,
        Trigger::AfterStep(count) => Fires::AfterStep(*count),
        Trigger::Message => Fires::Message,
        Trigger::Wait => Fires::Wait,
        Trigger::When(predicate) => Fires::When(task.resolve_test(predicate, &format!("{pointer}/trigger/predicate"))?),
    })
}

/// The most entities of one type, as a check shared by files and imports.
pub(crate) fn check_entity_count(count: usize, entity_type: &str) -> Result<(), InputError> {
    if count <= MAX_ENTITIES {
        return Ok(());
    }
    Err(InputError::at(
        "/initial_state",
        format!("{count} entities of type {entity_type:?}"),
        format!("at most {MAX_ENTITIES}"),
    ))
}

/// The lifecycle of an initial entity.
pub(crate) fn lifecycle(live: bool) -> Lifecycle {
    if live { Lifecycle::Live } else { Lifecycle::Deleted }
}
