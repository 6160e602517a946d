//! From names to indexes: every name of a task is resolved once, and every value is checked against its field.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::input::InputError;
use crate::limits::{MAX_GOAL_VERSION, MAX_PREDICATES};
use crate::names::{Actor, skeleton};
use crate::predicate::Predicate;
use crate::spec::{FieldSpec, Semantics, TaskSpec, Trigger, Visibility, WhenSpec};
use crate::steps::Step;
use crate::task::{
    Action, FieldIndex, Goal, Precondition, ResolveFault, ScriptEntry, Slot, SlotInfo, Task, Test, Transitions,
    ValueTest, WriteMatch, WrittenValue, check_entity_count, lifecycle, resolve_field_test, resolve_trigger,
};
use crate::value::{FieldKind, Literal, Value, ValueFault};
use crate::world::Entity;

pub(crate) fn compile(spec: TaskSpec) -> Result<Task, InputError> {
    let native = spec.semantics == Semantics::Native;
    let mut type_of = HashMap::new();
    let mut field_of = Vec::new();
    for (index, entity_type) in spec.entity_types.iter().enumerate() {
        type_of.insert(entity_type.name.clone(), index);
        field_of.push((0u16..).zip(&entity_type.fields).map(|(i, f)| (f.name.clone(), FieldIndex(i))).collect());
    }
    check_types(&spec, &type_of)?;
    let (slots, slot_of) = collect_slots(&spec, &type_of)?;
    let active =
        spec.goal_versions.iter().position(|goal| goal.version == spec.active_goal_version).ok_or_else(|| {
            InputError::at("/active_goal_version", spec.active_goal_version.to_string(), "a declared goal version")
        })?;
    if native && spec.goal_versions.iter().all(|goal| goal.version != spec.initial_goal_version) {
        return Err(InputError::at(
            "/initial_goal_version",
            spec.initial_goal_version.to_string(),
            "a declared goal version",
        ));
    }
    if native {
        for goal in &spec.goal_versions {
            if !spec.instructions.contains_key(&goal.version) {
                return Err(InputError::at(
                    "/instructions",
                    format!("no text for version {}", goal.version),
                    "one text a goal version",
                ));
            }
        }
    }
    let absent = slots.iter().map(|slot| Entity::absent(spec.entity_types[slot.entity_type].fields.len())).collect();
    let mut task = Task::assemble(spec, slots, absent, type_of, field_of, slot_of, active);
    task.initial = crate::world::World::new(&task, initial_entities(&task)?, task.spec.initial_goal_version);
    resolve_goals(&mut task)?;
    resolve_rules(&mut task)?;
    resolve_script(&mut task)?;
    check_universes(&task)?;
    if native {
        for (index, step) in task.spec.honest.iter().enumerate() {
            if let Err(fault) = task.resolve(step, Actor::Agent) {
                return Err(step_fault(&format!("/honest/{index}"), &fault));
            }
        }
    }
    Ok(task)
}

fn step_fault(pointer: &str, fault: &ResolveFault) -> InputError {
    match fault {
        ResolveFault::WrongType { field, found, expected } => {
            InputError::at(format!("{pointer}/fields/{field}"), found.clone(), expected.clone())
        }
        ResolveFault::Refused(refusal) => InputError::at(pointer, refusal.message.clone(), "a step of this task"),
    }
}

fn value_fault(pointer: String, fault: ValueFault) -> InputError {
    match fault {
        ValueFault::WrongType { found, expected } | ValueFault::OutOfRange { found, expected } => {
            InputError::at(pointer, found, expected)
        }
    }
}

fn check_types(spec: &TaskSpec, type_of: &HashMap<String, usize>) -> Result<(), InputError> {
    for (t, entity_type) in spec.entity_types.iter().enumerate() {
        for (f, field) in entity_type.fields.iter().enumerate() {
            if let FieldKind::Ref { entity_type: target } = field.kind.element()
                && !type_of.contains_key(target)
            {
                return Err(InputError::at(
                    format!("/entity_types/{t}/fields/{f}/type/entity_type"),
                    format!("{target:?}"),
                    "the name of an entity type",
                ));
            }
        }
    }
    Ok(())
}

type Slots = (Vec<SlotInfo>, HashMap<Arc<str>, Vec<(usize, Slot)>>);

fn collect_slots(spec: &TaskSpec, type_of: &HashMap<String, usize>) -> Result<Slots, InputError> {
    let mut ids: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut insert = |entity_type: &str, id: &str, pointer: String| match ids
        .insert((entity_type.to_owned(), id.to_owned()), pointer.clone())
    {
        None => Ok(()),
        Some(_) => Err(InputError::at(pointer, format!("the id {id:?} a second time"), "each id of a type once")),
    };
    for (index, entity) in spec.initial_state.iter().enumerate() {
        if !type_of.contains_key(&entity.entity_type) {
            let pointer = format!("/initial_state/{index}/type");
            return Err(InputError::at(pointer, format!("{:?}", entity.entity_type), "the name of an entity type"));
        }
        insert(&entity.entity_type, &entity.id, format!("/initial_state/{index}/id"))?;
    }
    for (t, entity_type) in spec.entity_types.iter().enumerate() {
        for (index, id) in entity_type.creatable.iter().enumerate() {
            insert(&entity_type.name, id, format!("/entity_types/{t}/creatable/{index}"))?;
        }
    }
    let mut skeletons: BTreeMap<(String, String), &str> = BTreeMap::new();
    let mut slots = Vec::new();
    let mut slot_of: HashMap<Arc<str>, Vec<(usize, Slot)>> = HashMap::new();
    for ((entity_type, id), pointer) in &ids {
        if spec.semantics == Semantics::Native
            && let Some(other) = skeletons.insert((entity_type.clone(), skeleton(id)), id)
        {
            return Err(InputError::at(
                pointer.clone(),
                format!("the id {id:?}, which looks like {other:?}"),
                "ids that differ",
            ));
        }
        let slot = Slot(
            u16::try_from(slots.len())
                .map_err(|_| InputError::at("/initial_state", "more than 65,535 entities", "fewer"))?,
        );
        let index = type_of[entity_type];
        let id: Arc<str> = id.as_str().into();
        slots.push(SlotInfo { entity_type: index, id: Arc::clone(&id) });
        slot_of.entry(id).or_default().push((index, slot));
    }
    for (index, entity_type) in spec.entity_types.iter().enumerate() {
        check_entity_count(slots.iter().filter(|slot| slot.entity_type == index).count(), &entity_type.name)?;
    }
    Ok((slots, slot_of))
}

fn initial_entities(task: &Task) -> Result<Vec<Entity>, InputError> {
    let mut entities: Vec<Entity> = task.initial.entities().map(|(_, entity)| entity.clone()).collect();
    for (index, entity) in task.spec.initial_state.iter().enumerate() {
        let pointer = format!("/initial_state/{index}/fields");
        let entity_type = task.type_index(&entity.entity_type).unwrap_or(0);
        let Some(slot) = task.slot(entity_type, &entity.id) else { continue };
        let fields = initial_fields(task, entity_type, &entity.fields, &pointer)?;
        entities[slot.at()] = Entity::new(task, slot, lifecycle(entity.live), 1, fields);
    }
    Ok(entities)
}

fn initial_fields(
    task: &Task,
    entity_type: usize,
    given: &[(String, Literal)],
    pointer: &str,
) -> Result<Box<[Value]>, InputError> {
    let specs = &task.spec.entity_types[entity_type].fields;
    let mut values = vec![Value::Null; specs.len()];
    let mut seen = vec![false; specs.len()];
    for (name, literal) in given {
        let Some(field) = task.field_index(entity_type, name) else {
            return Err(InputError::at(
                format!("{pointer}/{name}"),
                "a field that the type does not have",
                known_fields(specs),
            ));
        };
        seen[field.at()] = true;
        values[field.at()] = match task.admit(entity_type, field, literal) {
            Ok(value) => value,
            Err(_) if task.is_release() => literal.imported(),
            Err(fault) => return Err(value_fault(format!("{pointer}/{name}"), fault)),
        };
    }
    for (spec, seen) in specs.iter().zip(seen) {
        if !seen && !spec.optional && !task.is_release() {
            return Err(InputError::at(
                pointer,
                format!("no field {:?}", spec.name),
                "every field that is not optional",
            ));
        }
    }
    Ok(values.into())
}

fn known_fields(specs: &[FieldSpec]) -> String {
    let names: Vec<&str> = specs.iter().map(|field| field.name.as_str()).collect();
    format!("one of: {}", names.join(", "))
}

fn resolve_goals(task: &mut Task) -> Result<(), InputError> {
    let mut goals = Vec::new();
    for (g, goal) in task.spec.goal_versions.iter().enumerate() {
        if goal.predicates.len() > MAX_PREDICATES || goal.version > MAX_GOAL_VERSION {
            let found = format!("{} predicates in version {}", goal.predicates.len(), goal.version);
            let expected = format!("at most {MAX_PREDICATES} predicates and version {MAX_GOAL_VERSION}");
            return Err(InputError::at(format!("/goal_versions/{g}"), found, expected));
        }
        let mut predicates = Vec::new();
        for (p, predicate) in goal.predicates.iter().enumerate() {
            let pointer = format!("/goal_versions/{g}/predicates/{p}/predicate");
            predicates.push(task.resolve_test(&predicate.predicate, &pointer)?);
        }
        goals.push(Goal { version: goal.version, offered: goal.offered, predicates });
    }
    task.goals = goals;
    Ok(())
}

pub(crate) fn resolve_predicate(task: &Task, predicate: &Predicate, pointer: &str) -> Result<Test, InputError> {
    let lenient = task.is_release();
    let slot_of = |entity_type: &str, id: &str| -> Result<Option<(usize, Slot)>, InputError> {
        let index = task.type_index(entity_type);
        let slot = index.and_then(|index| task.slot(index, id));
        match (index, slot) {
            (Some(index), Some(slot)) => Ok(Some((index, slot))),
            _ if lenient => Ok(None),
            (None, _) => {
                Err(InputError::at(format!("{pointer}/type"), format!("{entity_type:?}"), "the name of an entity type"))
            }
            _ => Err(InputError::at(
                format!("{pointer}/id"),
                format!("{id:?}"),
                format!("the id of a {entity_type} in initial_state or creatable"),
            )),
        }
    };
    Ok(match predicate {
        Predicate::Exists { entity_type, id, incarnation } => match slot_of(entity_type, id)? {
            Some((_, slot)) => Test::Exists(slot, *incarnation),
            None => Test::Never,
        },
        Predicate::Absent { entity_type, id } => match slot_of(entity_type, id)? {
            Some((_, slot)) => Test::Absent(slot),
            None => Test::Never,
        },
        Predicate::Deleted { entity_type, id, incarnation } => match slot_of(entity_type, id)? {
            Some((_, slot)) => Test::Deleted(slot, *incarnation),
            None => Test::Never,
        },
        Predicate::Field { entity_type, id, field, incarnation, test, .. } => {
            let Some((index, slot)) = slot_of(entity_type, id)? else { return Ok(Test::Never) };
            let Some(field_index) = field_of(task, index, field, pointer)? else { return Ok(Test::Never) };
            let test = field_test(task, index, field_index, test, pointer)?;
            Test::Field(slot, field_index, *incarnation, test)
        }
        Predicate::Count { entity_type, filter, compare, count } => {
            let Some(index) = task.type_index(entity_type) else {
                if lenient {
                    return Ok(Test::Count { slots: Vec::new(), filter: Vec::new(), compare: *compare, count: *count });
                }
                return Err(InputError::at(
                    format!("{pointer}/type"),
                    format!("{entity_type:?}"),
                    "the name of an entity type",
                ));
            };
            let mut tests = Vec::new();
            for (f, (field, test)) in filter.iter().enumerate() {
                let pointer = format!("{pointer}/filter/{f}");
                let Some(field_index) = field_of(task, index, field, &pointer)? else { return Ok(Test::Never) };
                tests.push((field_index, field_test(task, index, field_index, test, &pointer)?));
            }
            Test::Count { slots: task.slots_of_type(index), filter: tests, compare: *compare, count: *count }
        }
        Predicate::GoalVersion(version) => {
            if !lenient && task.spec.goal_versions.iter().all(|goal| goal.version != *version) {
                return Err(InputError::at(
                    format!("{pointer}/version"),
                    version.to_string(),
                    "a declared goal version",
                ));
            }
            Test::GoalVersion(*version)
        }
        Predicate::All(of) | Predicate::Any(of) => {
            let mut tests = Vec::new();
            for (index, part) in of.iter().enumerate() {
                tests.push(resolve_predicate(task, part, &format!("{pointer}/of/{index}"))?);
            }
            if matches!(predicate, Predicate::All(_)) { Test::All(tests) } else { Test::Any(tests) }
        }
        Predicate::Not(of) => Test::Not(Box::new(resolve_predicate(task, of, &format!("{pointer}/of"))?)),
    })
}

fn field_of(task: &Task, entity_type: usize, field: &str, pointer: &str) -> Result<Option<FieldIndex>, InputError> {
    match task.field_index(entity_type, field) {
        Some(index) => Ok(Some(index)),
        None if task.is_release() => Ok(None),
        None => {
            let specs = &task.spec.entity_types[entity_type].fields;
            Err(InputError::at(format!("{pointer}/field"), format!("{field:?}"), known_fields(specs)))
        }
    }
}

fn field_test(
    task: &Task,
    entity_type: usize,
    field: FieldIndex,
    test: &crate::predicate::FieldTest,
    pointer: &str,
) -> Result<ValueTest, InputError> {
    use crate::predicate::FieldTest;
    let spec = &task.spec.entity_types[entity_type].fields[field.at()];
    let ordered = matches!(spec.kind, FieldKind::Integer { .. } | FieldKind::Tick);
    let fits = match test {
        FieldTest::AtLeast(_) | FieldTest::AtMost(_) => ordered && spec.visibility == Visibility::Public,
        FieldTest::Contains(_) => matches!(spec.kind, FieldKind::Set { .. }),
        FieldTest::Equals(_) | FieldTest::In(_) => true,
    };
    if !fits {
        let found = format!("the field {:?} ({})", spec.name, spec.kind.describe());
        let expected =
            "a field that the test can read: an integer or a tick in clear for orders, a set for set_contains";
        return Err(InputError::at(format!("{pointer}/field"), found, expected));
    }
    match resolve_field_test(task, entity_type, field, test) {
        Ok(test) => Ok(test),
        Err(_) if task.is_release() => Ok(match test {
            FieldTest::Equals(literal) => ValueTest::Equals(literal.imported()),
            _ => ValueTest::In(Vec::new()),
        }),
        Err(fault) => Err(value_fault(format!("{pointer}/value"), fault)),
    }
}

fn resolve_rules(task: &mut Task) -> Result<(), InputError> {
    let rules = task.spec.rules.clone();
    for (index, transition) in rules.field_transitions.iter().enumerate() {
        let pointer = format!("/rules/field_transitions/{index}");
        let entity_type = match task.type_index(&transition.entity_type) {
            Some(entity_type) => entity_type,
            None if task.is_release() => continue,
            None => {
                let found = format!("{:?}", transition.entity_type);
                return Err(InputError::at(format!("{pointer}/type"), found, "the name of an entity type"));
            }
        };
        let Some(field) = field_of(task, entity_type, &transition.field, &pointer)? else { continue };
        let mut pairs = Vec::new();
        for (p, (from, to)) in transition.pairs.iter().enumerate() {
            let admit = |literal: &Literal, side: usize| match task.admit(entity_type, field, literal) {
                Ok(value) => Ok(value),
                Err(_) if task.is_release() => Ok(literal.imported()),
                Err(fault) => Err(value_fault(format!("{pointer}/pairs/{p}/{side}"), fault)),
            };
            pairs.push((admit(from, 0)?, admit(to, 1)?));
            // An imported field that was never set reads as null.
            if task.is_release() && *from == Literal::Null {
                pairs.push((Value::Null, admit(to, 1)?));
            }
        }
        task.transitions.push(Transitions { entity_type, field, pairs });
    }
    for (index, precondition) in rules.preconditions.iter().enumerate() {
        let pointer = format!("/rules/preconditions/{index}");
        let resolved = resolve_when(task, &precondition.when, &pointer)?;
        let mut requires = Vec::new();
        for (r, predicate) in precondition.requires.iter().enumerate() {
            requires.push(task.resolve_test(predicate, &format!("{pointer}/requires/{r}"))?);
        }
        task.preconditions.push(Precondition { requires, message: precondition.message.clone(), ..resolved });
    }
    Ok(())
}

fn resolve_when(task: &Task, when: &WhenSpec, pointer: &str) -> Result<Precondition, InputError> {
    let native = !task.is_release();
    let entity_type = match &when.entity_type {
        None => None,
        Some(name) => match task.type_index(name) {
            Some(index) => Some(index),
            None if native => {
                return Err(InputError::at(
                    format!("{pointer}/when/type"),
                    format!("{name:?}"),
                    "the name of an entity type",
                ));
            }
            None => Some(usize::MAX),
        },
    };
    let slots = when.id.as_ref().map(|id| {
        task.slots_of_id(id)
            .into_iter()
            .filter(|slot| entity_type.is_none_or(|index| task.slots[slot.at()].entity_type == index))
            .collect::<Vec<_>>()
    });
    if native && slots.as_ref().is_some_and(Vec::is_empty) {
        let found = format!("{:?}", when.id.as_deref().unwrap_or_default());
        return Err(InputError::at(format!("{pointer}/when/id"), found, "the id of an entity that can exist"));
    }
    if let (true, Some(field)) = (native, &when.field) {
        let known = match (entity_type, &slots) {
            (Some(index), _) => task.field_index(index, field).is_some(),
            (None, Some(slots)) => {
                slots.iter().any(|slot| task.field_index(task.slots[slot.at()].entity_type, field).is_some())
            }
            (None, None) => (0..task.spec.entity_types.len()).any(|index| task.field_index(index, field).is_some()),
        };
        if !known {
            return Err(InputError::at(format!("{pointer}/when/field"), format!("{field:?}"), "a field of the type"));
        }
    }
    if native && when.value.is_some() && when.field.is_none() {
        return Err(InputError::at(
            format!("{pointer}/when"),
            "a value without a field",
            "the key \"field\" beside \"value\"",
        ));
    }
    Ok(Precondition {
        operation: when.operation,
        entity_type,
        slots,
        writes: when
            .field
            .as_ref()
            .map(|field| resolve_writes(task, field, when.value.as_ref(), pointer))
            .transpose()?,
        actor: when.actor,
        requires: Vec::new(),
        message: String::new(),
    })
}

fn resolve_writes(
    task: &Task,
    field: &str,
    value: Option<&Literal>,
    pointer: &str,
) -> Result<Vec<WriteMatch>, InputError> {
    let mut writes = Vec::new();
    let mut refused = None;
    for entity_type in 0..task.spec.entity_types.len() {
        let Some(index) = task.field_index(entity_type, field) else { continue };
        let value = match value.map(|literal| task.admit(entity_type, index, literal)) {
            None => WrittenValue::Any,
            Some(Ok(value)) => WrittenValue::Exactly(value),
            Some(Err(fault)) => {
                refused = Some(fault);
                WrittenValue::Impossible
            }
        };
        writes.push(WriteMatch { entity_type, field: index, value });
    }
    match refused {
        Some(fault) if !task.is_release() && writes.iter().all(|write| write.value == WrittenValue::Impossible) => {
            Err(value_fault(format!("{pointer}/when/value"), fault))
        }
        _ => Ok(writes),
    }
}

fn resolve_script(task: &mut Task) -> Result<(), InputError> {
    for (index, entry) in task.spec.script.clone().iter().enumerate() {
        let pointer = format!("/script/{index}");
        let fires = resolve_trigger(task, &entry.trigger, &pointer)?;
        if matches!(entry.trigger, Trigger::Start)
            && matches!(entry.action, Step::Wait | Step::Read { .. } | Step::List { .. })
        {
            return Err(InputError::at(
                format!("{pointer}/action/op"),
                entry.action.operation().word(),
                "an operation that others can see",
            ));
        }
        if let Step::Say { offers: Some(version), .. } = &entry.action
            && task.goal(*version).is_none()
        {
            return Err(InputError::at(
                format!("{pointer}/action/offers"),
                version.to_string(),
                "a declared goal version",
            ));
        }
        match task.resolve(&entry.action, entry.actor) {
            Ok(action) => task.script.push(ScriptEntry { actor: entry.actor, fires, action }),
            // An imported entry that names what cannot exist is refused when it fires; version 0 is never declared.
            Err(_) if task.is_release() => {
                task.script.push(ScriptEntry { actor: entry.actor, fires, action: Action::ReviseGoal(0) });
            }
            Err(fault) => return Err(step_fault(&format!("{pointer}/action"), &fault)),
        }
    }
    Ok(())
}

fn check_universes(task: &Task) -> Result<(), InputError> {
    for (t, entity_type) in task.spec.entity_types.iter().enumerate() {
        for (index, field) in (0u16..).zip(&entity_type.fields) {
            for (v, literal) in field.universe.iter().flatten().enumerate() {
                if let Err(fault) = task.admit(t, FieldIndex(index), literal) {
                    return Err(value_fault(format!("/entity_types/{t}/fields/{index}/universe/{v}"), fault));
                }
            }
        }
    }
    Ok(())
}
