//! The closed value universe of every field (SPEC §15.7a): what a trajectory may write that any test could notice.

use std::collections::BTreeSet;

use parthack_env::spec::Visibility;
use parthack_env::task::{Action, FieldIndex, Fires, Task, Test, ValueTest, WrittenValue};
use parthack_env::value::{FieldKind, Value};

/// Integer ranges up to this size are explored whole.
const SMALL_RANGE: i64 = 8;
/// Set universes are all subsets of at most this many tested elements.
const MOST_SET_ELEMENTS: usize = 4;
/// Reference fields take every id of their type up to this many.
const MOST_IDS: usize = 16;

/// Every value that a field of a type can hold in the search: declared, or derived from predicates, rules, script,
/// initial values and fresh values.
///
/// A field that a goal predicate reads gets two fresh values, so that one can replace the other: such a change moves
/// attribution without changing what is satisfied.
#[must_use]
pub fn universe(task: &Task, entity_type: usize, field: FieldIndex) -> Vec<Value> {
    let spec = &task.spec.entity_types[entity_type].fields[field.at()];
    let mut values: BTreeSet<Value> = BTreeSet::new();
    for (slot, entity) in task.initial.entities() {
        if task.slots[slot.at()].entity_type == entity_type {
            values.insert(entity.fields[field.at()].clone());
        }
    }
    for entry in &task.script {
        written(task, &entry.action, entity_type, field, &mut values);
    }
    if let Some(declared) = &spec.universe {
        values.extend(declared.iter().filter_map(|literal| task.admit(entity_type, field, literal).ok()));
    } else {
        let mut tests = Vec::new();
        for_each_test(task, &mut |test| collect(task, test, entity_type, field, &mut tests));
        for test in &tests {
            values.extend(constants(&spec.kind, test));
        }
        rule_constants(task, entity_type, field, &mut values);
        let read = task.active_predicates().iter().any(|test| reads(task, test, entity_type, field));
        if spec.visibility == Visibility::Public {
            close(task, &spec.kind, &mut values, if read { 2 } else { 1 });
        }
    }
    if spec.optional {
        values.insert(Value::Null);
    }
    values.into_iter().collect()
}

fn written(task: &Task, action: &Action, entity_type: usize, field: FieldIndex, values: &mut BTreeSet<Value>) {
    let Some(slot) = action.slot().filter(|slot| task.slots[slot.at()].entity_type == entity_type) else { return };
    debug_assert!(slot.at() < task.slots.len());
    match action {
        Action::Create(_, fields) => {
            values.insert(fields[field.at()].clone());
        }
        Action::Update(_, writes) => {
            values.extend(writes.iter().filter(|(written, _)| *written == field).map(|(_, value)| value.clone()));
        }
        _ => {}
    }
}

/// Every test that the engine can evaluate: active predicates, requirements of rules, triggers.
pub(super) fn for_each_test<'t>(task: &'t Task, visit: &mut impl FnMut(&'t Test)) {
    task.active_predicates().iter().for_each(&mut *visit);
    task.preconditions.iter().flat_map(|precondition| &precondition.requires).for_each(&mut *visit);
    for entry in &task.script {
        if let Fires::When(test) = &entry.fires {
            visit(test);
        }
    }
}

/// The tests of a field inside a test.
pub(super) fn collect<'t>(
    task: &Task,
    test: &'t Test,
    entity_type: usize,
    field: FieldIndex,
    found: &mut Vec<&'t ValueTest>,
) {
    match test {
        Test::Field(slot, read, _, value_test)
            if *read == field && task.slots[slot.at()].entity_type == entity_type =>
        {
            found.push(value_test);
        }
        Test::Count { slots, filter, .. }
            if slots.first().is_some_and(|slot| task.slots[slot.at()].entity_type == entity_type) =>
        {
            found.extend(filter.iter().filter(|(read, _)| *read == field).map(|(_, value_test)| value_test));
        }
        Test::All(of) | Test::Any(of) => of.iter().for_each(|part| collect(task, part, entity_type, field, found)),
        Test::Not(of) => collect(task, of, entity_type, field, found),
        _ => {}
    }
}

fn reads(task: &Task, test: &Test, entity_type: usize, field: FieldIndex) -> bool {
    let mut found = Vec::new();
    collect(task, test, entity_type, field, &mut found);
    !found.is_empty()
}

fn constants(kind: &FieldKind, test: &ValueTest) -> Vec<Value> {
    let number = |value: i64| match kind {
        FieldKind::Integer { min, max } => (*min..=*max).contains(&value).then_some(Value::Int(value)),
        FieldKind::Tick => u64::try_from(value).ok().map(Value::Tick),
        _ => None,
    };
    match test {
        ValueTest::AtLeast(bound) => [number(*bound), number(bound.saturating_sub(1))].into_iter().flatten().collect(),
        ValueTest::AtMost(bound) => [number(*bound), number(bound.saturating_add(1))].into_iter().flatten().collect(),
        ValueTest::Contains(element) => vec![Value::Set(vec![element.clone()].into())],
        ValueTest::Equals(Value::Opaque(_)) => Vec::new(),
        ValueTest::Equals(value) => vec![value.clone()],
        ValueTest::In(values) => values.clone(),
    }
}

fn rule_constants(task: &Task, entity_type: usize, field: FieldIndex, values: &mut BTreeSet<Value>) {
    for graph in task.transitions.iter().filter(|graph| graph.entity_type == entity_type && graph.field == field) {
        for (from, to) in &graph.pairs {
            values.extend([from, to].into_iter().filter(|value| !matches!(value, Value::Opaque(_))).cloned());
        }
    }
    for write in task.preconditions.iter().flat_map(|precondition| precondition.writes.iter().flatten()) {
        if let (true, WrittenValue::Exactly(value)) =
            (write.entity_type == entity_type && write.field == field, &write.value)
        {
            values.insert(value.clone());
        }
    }
}

/// Adds what the constants leave open: every value of a small kind, fresh values of a large one.
fn close(task: &Task, kind: &FieldKind, values: &mut BTreeSet<Value>, fresh: usize) {
    match kind {
        FieldKind::Bool => values.extend([Value::Bool(false), Value::Bool(true)]),
        FieldKind::Enum { symbols } => values.extend(symbols.iter().map(|symbol| Value::Symbol(symbol.clone()))),
        FieldKind::Ref { entity_type } => {
            let ids = task.type_index(entity_type).map(|index| task.slots_of_type(index)).unwrap_or_default();
            let mut left = if ids.len() <= MOST_IDS { ids.len() } else { fresh };
            for slot in ids {
                let value = Value::Ref(task.slots[slot.at()].id.clone());
                if left > 0 && values.insert(value) {
                    left -= 1;
                }
            }
        }
        FieldKind::Integer { min, max } if max.saturating_sub(*min) < SMALL_RANGE => {
            values.extend((*min..=*max).map(Value::Int));
        }
        FieldKind::Integer { min, max } => {
            add_fresh(values, fresh, (0..=*max).chain((*min..0).rev()).filter(|v| v >= min).map(Value::Int));
        }
        FieldKind::Tick => add_fresh(values, fresh, (0u64..).map(Value::Tick)),
        FieldKind::Text { max_length } => {
            let most = *max_length as usize;
            let words = (0u32..).map(|n| if n == 0 { "other".to_owned() } else { format!("other-{n}") });
            add_fresh(
                values,
                fresh,
                words.take_while(|word| word.len() <= most).map(|w| Value::Text(w.as_str().into())),
            );
        }
        FieldKind::ImportedInteger => add_fresh(values, fresh, (0u32..).map(|n| imported(&n.to_string()))),
        FieldKind::ImportedNumber => add_fresh(values, fresh, (0u32..).map(|n| imported(&format!("{n}.25")))),
        FieldKind::Set { .. } => close_sets(values),
        FieldKind::ImportedOpaque => {}
    }
}

fn imported(text: &str) -> Value {
    Value::Number(std::sync::Arc::new(parthack_env::value::Decimal::parse(text)))
}

fn add_fresh(values: &mut BTreeSet<Value>, fresh: usize, candidates: impl Iterator<Item = Value>) {
    let mut left = fresh;
    for candidate in candidates {
        if left == 0 {
            break;
        }
        if values.insert(candidate) {
            left -= 1;
        }
    }
}

/// All subsets of the elements that stand in some constant; for many elements, the constants with each element in
/// and out.
fn close_sets(values: &mut BTreeSet<Value>) {
    let mut elements: BTreeSet<Value> = BTreeSet::new();
    for value in values.iter() {
        if let Value::Set(items) = value {
            elements.extend(items.iter().cloned());
        }
    }
    let elements: Vec<Value> = elements.into_iter().collect();
    if elements.len() <= MOST_SET_ELEMENTS {
        for bits in 0..1u32 << elements.len() {
            let subset: Vec<Value> =
                elements.iter().enumerate().filter(|(i, _)| bits & (1 << i) != 0).map(|(_, v)| v.clone()).collect();
            values.insert(Value::Set(subset.into()));
        }
        return;
    }
    for value in values.clone() {
        let Value::Set(items) = value else { continue };
        for element in &elements {
            let mut changed: BTreeSet<Value> = items.iter().cloned().collect();
            if !changed.remove(element) {
                changed.insert(element.clone());
            }
            values.insert(Value::Set(changed.into_iter().collect::<Vec<_>>().into()));
        }
    }
}
