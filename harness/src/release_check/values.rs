//! States of both sides in one shape, so that they can be compared value by value.

use std::collections::BTreeMap;

use parthack_env::input::{Cursor, InputError};
use parthack_env::task::Task;
use parthack_env::value::{Literal, Value};
use parthack_env::world::{Lifecycle, World};

/// Whether an entity is deleted, its type, its id.
type Key = (bool, String, String);

/// Entities with their fields, and the goal version. A field that was never set is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FlatState {
    entities: BTreeMap<Key, BTreeMap<String, Value>>,
    goal_version: i64,
}

impl FlatState {
    /// The engine's state.
    pub(super) fn of(task: &Task, world: &World) -> FlatState {
        let mut entities = BTreeMap::new();
        for (slot, entity) in world.entities().filter(|(_, entity)| entity.lifecycle != Lifecycle::Absent) {
            let spec = task.type_of_slot(slot);
            let fields = spec.fields.iter().zip(&entity.fields).filter(|(_, value)| **value != Value::Null);
            let fields = fields.map(|(field, value)| (field.name.clone(), Literal::from_value(value).imported()));
            let deleted = entity.lifecycle == Lifecycle::Deleted;
            let key = (deleted, spec.name.clone(), task.slots[slot.at()].id.to_string());
            entities.insert(key, fields.collect());
        }
        FlatState { entities, goal_version: i64::from(world.goal_version()) }
    }

    /// A state as the release writes it: `{entities{type{id{fields}}}, deleted, goal_version}`.
    pub(super) fn read(state: &Cursor<'_, '_>) -> Result<FlatState, InputError> {
        let mut entities = BTreeMap::new();
        for (key, deleted) in [("entities", false), ("deleted", true)] {
            let Some(types) = state.optional(key) else { continue };
            for (entity_type, ids) in types.entries()? {
                for (id, fields) in ids.entries()? {
                    let fields = fields.entries()?.into_iter();
                    let fields = fields.map(|(name, value)| (name.to_owned(), Literal::read(value.json).imported()));
                    entities.insert((deleted, entity_type.to_owned(), id.to_owned()), fields.collect());
                }
            }
        }
        let goal_version = match state.optional("goal_version") {
            Some(version) => version.integer(0, i64::MAX)?,
            None => 1,
        };
        Ok(FlatState { entities, goal_version })
    }

    /// What differs first, as (found here, expected there); none for equal states.
    pub(super) fn difference(&self, expected: &FlatState) -> Option<(String, String)> {
        if self.goal_version != expected.goal_version {
            return Some((self.goal_version.to_string(), expected.goal_version.to_string()));
        }
        let keys = self.entities.keys().chain(expected.entities.keys());
        let key = keys.filter(|key| self.entities.get(*key) != expected.entities.get(*key)).min()?;
        Some((self.show(key), expected.show(key)))
    }

    fn show(&self, key: &Key) -> String {
        let (deleted, entity_type, id) = key;
        let state = if *deleted { "deleted" } else { "live" };
        let Some(fields) = self.entities.get(key) else { return format!("no {state} {entity_type} {id:?}") };
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", value.json())).collect();
        format!("{state} {entity_type} {id:?} with {}", fields.join(", "))
    }
}

/// Whether two literals are the same typed value: numbers of one kind that are numerically equal, objects whatever the
/// order of their keys (SPEC §15.14).
pub(super) fn same_value(left: &Literal, right: &Literal) -> bool {
    left.imported() == right.imported()
}
