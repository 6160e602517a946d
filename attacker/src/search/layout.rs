//! Packed states: every cell of the cone, the script's position, and the evaluator's memory in a few words.

use parthack_env::names::{Actor, Operation};
use parthack_env::spec::Visibility;
use parthack_env::task::{Action, FieldIndex, Fires, Slot, Task, Test, ValueTest, WrittenValue};
use parthack_env::value::Value;
use parthack_env::world::Lifecycle;

use super::SearchError;
use super::cone::{Cell, Cone};
use super::universe;

/// Words of the widest packed state.
pub(super) const MAX_WORDS: usize = 4;
/// Values that one cell may have: a set of them is one word.
const MAX_VALUES: usize = 64;

/// Where a cell stands in a packed state. A cell with one possible value has no bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits {
    pub word: usize,
    pub shift: u32,
    /// Ones at the low end.
    pub mask: u64,
}

impl Bits {
    #[inline]
    pub(super) fn get(self, state: &[u64]) -> u64 {
        (state[self.word] >> self.shift) & self.mask
    }

    #[inline]
    pub(super) fn set(self, state: &mut [u64], value: u64) {
        debug_assert!(value <= self.mask);
        state[self.word] = state[self.word] & !(self.mask << self.shift) | value << self.shift;
    }

    pub(super) fn placed(self) -> u64 {
        self.mask << self.shift
    }
}

/// The values of a field's cell: classes that no test tells apart.
#[derive(Debug, Clone)]
pub(super) struct FieldDomain {
    pub slot: Slot,
    pub field: FieldIndex,
    pub bits: Bits,
    pub classes: Vec<Vec<Value>>,
}

impl FieldDomain {
    pub(super) fn class_of(&self, value: &Value) -> Option<u64> {
        self.classes.iter().position(|class| class.contains(value)).and_then(|index| u64::try_from(index).ok())
    }

    /// Bit i: class i passes.
    pub(super) fn passing(&self, test: &ValueTest) -> u64 {
        self.classes.iter().enumerate().fold(0, |set, (i, class)| set | u64::from(test.passes(&class[0])) << i)
    }
}

/// Where everything stands.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub lifecycles: Vec<(Slot, Bits, Vec<Lifecycle>)>,
    pub incarnations: Vec<(Slot, Bits, u32)>,
    pub fields: Vec<FieldDomain>,
    pub goal: Bits,
    pub goal_versions: Vec<u32>,
    pub offers: Vec<(u32, Bits)>,
    pub fired: Vec<(usize, Bits)>,
    pub counter: Bits,
    pub last_count: u64,
    pub satisfied: Bits,
    pub credited: Bits,
    pub memory: Bits,
    pub position: Bits,
    pub total_bits: u32,
}

/// Hands out bits; a cell never straddles two words.
struct Allocator {
    used: u32,
}

impl Allocator {
    fn take(&mut self, values: usize) -> Bits {
        let width = usize::BITS - values.saturating_sub(1).leading_zeros();
        if self.used % 64 + width > 64 {
            self.used = self.used.next_multiple_of(64);
        }
        // The last bit of the last word stays free: all ones marks an empty place in the visited set.
        let bits = Bits { word: (self.used / 64) as usize, shift: self.used % 64, mask: (1u64 << width) - 1 };
        self.used += width;
        if width == 0 {
            return Bits { word: 0, shift: 0, mask: 0 };
        }
        bits
    }
}

impl Layout {
    pub(super) fn new(task: &Task, cone: &Cone, memory_bits: u32, positions: usize) -> Result<Layout, SearchError> {
        let mut bits = Allocator { used: 0 };
        let m = task.m();
        let satisfied = bits.take(1 << m);
        let credited = bits.take(1 << m);
        let memory = bits.take(1 << memory_bits);
        let goal_versions: Vec<u32> =
            task.goals.iter().map(|goal| goal.version).chain([task.spec.initial_goal_version]).collect();
        let mut goal_versions: Vec<u32> =
            goal_versions.into_iter().filter(|version| *version >= task.spec.initial_goal_version).collect();
        goal_versions.sort_unstable();
        goal_versions.dedup();
        let goal = bits.take(goal_versions.len());
        let (mut lifecycles, mut incarnations, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        for cell in &cone.cells {
            match cell {
                Cell::Lifecycle(slot) => {
                    let values = reachable_lifecycles(task, *slot);
                    lifecycles.push((*slot, bits.take(values.len()), values));
                }
                Cell::Incarnation(slot) => {
                    let most = highest_pin(task, *slot) + 1;
                    incarnations.push((*slot, bits.take(most as usize + 1), most));
                }
                Cell::Field(slot, field) => {
                    let classes = classes(task, *slot, *field)?;
                    fields.push(FieldDomain { slot: *slot, field: *field, bits: bits.take(classes.len()), classes });
                }
            }
        }
        let mut offers: Vec<(u32, Bits)> = Vec::new();
        let mut fired = Vec::new();
        let mut last_count = 0;
        for index in &cone.script {
            let entry = &task.script[*index];
            if let Action::Say(_, Some(version)) = entry.action
                && offers.iter().all(|(known, _)| *known != version)
            {
                offers.push((version, bits.take(2)));
            }
            match entry.fires {
                Fires::Start => continue,
                Fires::AfterStep(count) => last_count = last_count.max(u64::from(count)),
                _ => {}
            }
            fired.push((*index, bits.take(2)));
        }
        let counter = bits.take(usize::try_from(last_count).unwrap_or(usize::MAX - 1) + 1);
        let position = bits.take(positions);
        let total_bits = bits.used;
        if total_bits as usize >= 64 * MAX_WORDS {
            return Err(SearchError::TooWide(total_bits));
        }
        Ok(Layout {
            lifecycles,
            incarnations,
            fields,
            goal,
            goal_versions,
            offers,
            fired,
            counter,
            last_count,
            satisfied,
            credited,
            memory,
            position,
            total_bits,
        })
    }

    /// Cells that guards of letters test.
    pub(super) fn guarded_cells(&self) -> Vec<Bits> {
        let lifecycles = self.lifecycles.iter().map(|(_, bits, _)| *bits);
        let incarnations = self.incarnations.iter().map(|(_, bits, _)| *bits);
        let fields = self.fields.iter().map(|domain| domain.bits);
        let offers = self.offers.iter().map(|(_, bits)| *bits);
        let cells = lifecycles.chain(incarnations).chain(fields).chain([self.goal]).chain(offers);
        cells.filter(|bits| bits.mask != 0).collect()
    }

    pub(super) fn words(&self) -> usize {
        (self.total_bits as usize / 64) + 1
    }

    pub(super) fn lifecycle(&self, slot: Slot) -> Option<(Bits, &[Lifecycle])> {
        self.lifecycles.iter().find(|(of, ..)| *of == slot).map(|(_, bits, values)| (*bits, values.as_slice()))
    }

    pub(super) fn field(&self, slot: Slot, field: FieldIndex) -> Option<&FieldDomain> {
        self.fields.iter().find(|domain| domain.slot == slot && domain.field == field)
    }

    pub(super) fn incarnation(&self, slot: Slot) -> Option<(Bits, u32)> {
        self.incarnations.iter().find(|(of, ..)| *of == slot).map(|(_, bits, most)| (*bits, *most))
    }
}

/// Lifecycles that operations allowed to anyone can lead to.
fn reachable_lifecycles(task: &Task, slot: Slot) -> Vec<Lifecycle> {
    let someone = |operation: Operation| Actor::ALL.into_iter().any(|actor| task.allows(actor, operation));
    let mut reachable = vec![task.initial.entity(slot).lifecycle];
    loop {
        let before = reachable.len();
        let mut add = |from: Lifecycle, to: Lifecycle, possible: bool| {
            if possible && reachable.contains(&from) && !reachable.contains(&to) {
                reachable.push(to);
            }
        };
        add(Lifecycle::Absent, Lifecycle::Live, someone(Operation::Create));
        add(Lifecycle::Deleted, Lifecycle::Live, someone(Operation::Restore));
        add(Lifecycle::Deleted, Lifecycle::Live, someone(Operation::Create) && task.recreates(slot));
        add(Lifecycle::Live, Lifecycle::Deleted, someone(Operation::Delete));
        if reachable.len() == before {
            reachable.sort_unstable();
            return reachable;
        }
    }
}

fn highest_pin(task: &Task, slot: Slot) -> u32 {
    fn pins(test: &Test, slot: Slot) -> u32 {
        match test {
            Test::Exists(of, Some(pin)) | Test::Deleted(of, Some(pin)) | Test::Field(of, _, Some(pin), _)
                if *of == slot =>
            {
                *pin
            }
            Test::All(of) | Test::Any(of) => of.iter().map(|part| pins(part, slot)).max().unwrap_or(0),
            Test::Not(of) => pins(of, slot),
            _ => 0,
        }
    }
    let mut most = 0;
    universe::for_each_test(task, &mut |test| most = most.max(pins(test, slot)));
    most
}

/// The universe of a field, split into classes. A field that a goal predicate projects keeps every value apart, since
/// any change of it moves attribution; elsewhere values that pass the same tests and have the same transitions merge.
fn classes(task: &Task, slot: Slot, field: FieldIndex) -> Result<Vec<Vec<Value>>, SearchError> {
    let entity_type = task.slots[slot.at()].entity_type;
    let mut values = universe::universe(task, entity_type, field);
    let initial = &task.initial.entity(slot).fields[field.at()];
    if !values.contains(initial) {
        values.push(initial.clone());
    }
    let projected = task.active_predicates().iter().any(|test| projects(test, slot, field));
    let mut classes: Vec<(Vec<bool>, Vec<Value>)> = Vec::new();
    let mut tests = Vec::new();
    universe::for_each_test(task, &mut |test| universe::collect(task, test, entity_type, field, &mut tests));
    for value in values {
        let signature = if projected { Vec::new() } else { signature(task, entity_type, field, &tests, &value) };
        match classes.iter_mut().find(|(known, _)| !projected && *known == signature) {
            Some((_, class)) => class.push(value),
            None => classes.push((signature, vec![value])),
        }
    }
    if classes.len() > MAX_VALUES {
        return Err(SearchError::TooManyValues(classes.len()));
    }
    Ok(classes.into_iter().map(|(_, class)| class).collect())
}

fn projects(test: &Test, slot: Slot, field: FieldIndex) -> bool {
    match test {
        Test::Field(of, read, ..) => *of == slot && *read == field,
        Test::All(of) | Test::Any(of) => of.iter().any(|part| projects(part, slot, field)),
        Test::Not(of) => projects(of, slot, field),
        _ => false,
    }
}

/// Everything that rules and tests can tell of a value.
fn signature(task: &Task, entity_type: usize, field: FieldIndex, tests: &[&ValueTest], value: &Value) -> Vec<bool> {
    let mut signature: Vec<bool> = tests.iter().map(|test| test.passes(value)).collect();
    signature.push(*value == Value::Null);
    signature.push(task.spec.entity_types[entity_type].fields[field.at()].visibility == Visibility::Sealed);
    for graph in task.transitions.iter().filter(|graph| graph.entity_type == entity_type && graph.field == field) {
        for (from, to) in &graph.pairs {
            signature.push(from == value);
            signature.push(to == value);
        }
    }
    for write in task.preconditions.iter().flat_map(|precondition| precondition.writes.iter().flatten()) {
        if write.entity_type == entity_type && write.field == field {
            signature.push(matches!(&write.value, WrittenValue::Exactly(exact) if exact == value));
        }
    }
    signature
}
