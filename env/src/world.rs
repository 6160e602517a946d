//! The state of the environment: entities, goal version, and its hash.

use std::sync::Arc;

use crate::canonical::{Hash, push_number_entry, push_u64};
use crate::task::{FieldIndex, Slot, Task, Test};
use crate::value::Value;

/// Whether an entity is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lifecycle {
    /// Never created.
    Absent,
    /// There.
    Live,
    /// Deleted; its fields are kept for a restore.
    Deleted,
}

impl Lifecycle {
    /// The word of the formats.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Lifecycle::Absent => "absent",
            Lifecycle::Live => "live",
            Lifecycle::Deleted => "deleted",
        }
    }

    /// The lifecycle of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Lifecycle> {
        [Lifecycle::Absent, Lifecycle::Live, Lifecycle::Deleted].into_iter().find(|lifecycle| lifecycle.word() == word)
    }
}

/// One entity that can exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Whether it is there.
    pub lifecycle: Lifecycle,
    /// 0 for an absent entity, then 1, and one more for each re-creation.
    pub incarnation: u32,
    /// One value a field of its type; all null while absent.
    pub fields: Box<[Value]>,
    /// Hash of the canonical entity (label `entity`).
    leaf: Hash,
}

impl Entity {
    /// An entity with its leaf hash computed.
    #[must_use]
    pub fn new(task: &Task, slot: Slot, lifecycle: Lifecycle, incarnation: u32, fields: Box<[Value]>) -> Entity {
        let mut entity = Entity { lifecycle, incarnation, fields, leaf: Hash([0; 32]) };
        let mut buffer = Vec::with_capacity(256);
        entity.rehash(task, slot, &mut buffer);
        entity
    }

    /// An entity that was never created.
    pub(crate) fn absent(field_count: usize) -> Entity {
        Entity {
            lifecycle: Lifecycle::Absent,
            incarnation: 0,
            fields: vec![Value::Null; field_count].into(),
            leaf: Hash([0; 32]),
        }
    }

    pub(crate) fn rehash(&mut self, task: &Task, slot: Slot, buffer: &mut Vec<u8>) {
        buffer.clear();
        buffer.extend_from_slice(b"entity\0");
        self.push_json(task, slot, buffer);
        self.leaf = Hash::of_labelled(buffer);
    }

    /// Whether it is live.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.lifecycle == Lifecycle::Live
    }

    /// Appends canonical JSON.
    pub fn push_json(&self, task: &Task, slot: Slot, out: &mut Vec<u8>) {
        let spelling = &task.spelling.slots[slot.at()];
        out.extend_from_slice(b"{\"fields\":{");
        for (index, (field, key)) in task.spelling.fields[task.slots[slot.at()].entity_type].iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(key);
            self.fields[field.at()].push_json(out);
        }
        out.push(b'}');
        out.extend_from_slice(&spelling.id);
        out.extend_from_slice(b",\"incarnation\":");
        push_u64(out, u64::from(self.incarnation));
        out.extend_from_slice(match self.lifecycle {
            Lifecycle::Absent => b",\"lifecycle\":\"absent\"",
            Lifecycle::Live => b",\"lifecycle\":\"live\"",
            Lifecycle::Deleted => b",\"lifecycle\":\"deleted\"",
        });
        out.extend_from_slice(&spelling.entity_type);
    }
}

/// A snapshot. Cloning is O(1): entities are shared.
#[derive(Debug, Clone)]
pub struct World {
    entities: im::Vector<Arc<Entity>>,
    goal_version: u32,
    /// Bit v: version v was offered. Not in the state hash: it belongs to the script's position.
    offered: u64,
    state_hash: Hash,
}

/// Equality of states; what was offered belongs to the script's position.
impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        self.goal_version == other.goal_version && self.entities == other.entities
    }
}

impl Eq for World {}

impl World {
    pub(crate) fn empty(goal_version: u32) -> World {
        World { entities: im::Vector::new(), goal_version, offered: 0, state_hash: Hash([0; 32]) }
    }

    pub(crate) fn new(task: &Task, entities: Vec<Entity>, goal_version: u32) -> World {
        let entities = entities.into_iter().map(Arc::new).collect();
        let mut world = World { entities, goal_version, offered: 0, state_hash: Hash([0; 32]) };
        world.state_hash = world.computed_hash(task, &mut Vec::new());
        world
    }

    /// The entity of a slot.
    #[must_use]
    pub fn entity(&self, slot: Slot) -> &Entity {
        &self.entities[slot.at()]
    }

    /// Every slot's entity, in slot order.
    pub fn entities(&self) -> impl Iterator<Item = (Slot, &Entity)> {
        (0u16..).map(Slot).zip(self.entities.iter().map(|entity| &**entity))
    }

    /// The goal version in force.
    #[must_use]
    pub fn goal_version(&self) -> u32 {
        self.goal_version
    }

    /// Whether somebody offered a goal version.
    #[must_use]
    pub fn is_offered(&self, version: u32) -> bool {
        version < 64 && self.offered & (1 << version) != 0
    }

    /// BLAKE3 (label `state`) over the goal version, then id and leaf of every created entity in id order (SPEC §15.8).
    #[must_use]
    pub fn state_hash(&self) -> Hash {
        self.state_hash
    }

    /// The state hash from scratch, for checks.
    #[must_use]
    pub fn rehashed(&self, task: &Task) -> Hash {
        let mut buffer = Vec::new();
        let entities = self.entities().map(|(slot, entity)| {
            let mut entity = entity.clone();
            if entity.lifecycle != Lifecycle::Absent {
                entity.rehash(task, slot, &mut buffer);
            }
            entity
        });
        World::new(task, entities.collect(), self.goal_version).state_hash
    }

    fn computed_hash(&self, task: &Task, buffer: &mut Vec<u8>) -> Hash {
        buffer.clear();
        buffer.extend_from_slice(b"state\0");
        buffer.extend_from_slice(&self.goal_version.to_le_bytes());
        for (spelling, entity) in task.spelling.slots.iter().zip(self.entities.iter()) {
            if entity.lifecycle != Lifecycle::Absent {
                buffer.extend_from_slice(&spelling.state_key);
                buffer.extend_from_slice(&entity.leaf.0);
            }
        }
        Hash::of_labelled(buffer)
    }

    pub(crate) fn with_entity(&self, task: &Task, slot: Slot, mut entity: Entity, buffer: &mut Vec<u8>) -> World {
        entity.rehash(task, slot, buffer);
        let mut world = self.clone();
        world.entities[slot.at()] = Arc::new(entity);
        world.state_hash = world.computed_hash(task, buffer);
        world
    }

    pub(crate) fn with_goal(&self, task: &Task, version: u32, buffer: &mut Vec<u8>) -> World {
        let mut world = self.clone();
        world.goal_version = version;
        world.state_hash = world.computed_hash(task, buffer);
        world
    }

    pub(crate) fn with_offer(&self, version: u32) -> World {
        let mut world = self.clone();
        world.offered |= 1 << version.min(63);
        world
    }

    /// Whether a test holds here.
    #[must_use]
    pub fn holds(&self, test: &Test) -> bool {
        match test {
            Test::Exists(slot, pinned) => {
                let entity = self.entity(*slot);
                entity.is_live() && pinned.is_none_or(|pinned| pinned == entity.incarnation)
            }
            Test::Absent(slot) => self.entity(*slot).lifecycle == Lifecycle::Absent,
            Test::Deleted(slot, pinned) => {
                let entity = self.entity(*slot);
                entity.lifecycle == Lifecycle::Deleted && pinned.is_none_or(|pinned| pinned == entity.incarnation)
            }
            Test::Field(slot, field, pinned, test) => {
                let entity = self.entity(*slot);
                entity.is_live()
                    && pinned.is_none_or(|pinned| pinned == entity.incarnation)
                    && test.passes(&entity.fields[field.at()])
            }
            Test::Count { slots, filter, compare, count } => {
                let found = slots.iter().filter(|slot| passes_filter(self.entity(**slot), filter)).count();
                compare.holds(u32::try_from(found).unwrap_or(u32::MAX), *count)
            }
            Test::GoalVersion(version) => self.goal_version == *version,
            Test::All(of) => of.iter().all(|test| self.holds(test)),
            Test::Any(of) => of.iter().any(|test| self.holds(test)),
            Test::Not(of) => !self.holds(of),
            Test::Never => false,
        }
    }

    /// Bit j: predicate j of the list holds.
    #[must_use]
    pub fn satisfied(&self, predicates: &[Test]) -> u32 {
        predicates.iter().enumerate().fold(0, |bits, (index, test)| bits | u32::from(self.holds(test)) << index)
    }

    /// Appends canonical JSON: `{"entities": […], "goal_version": n}`, created entities in id order.
    pub fn push_json(&self, task: &Task, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"entities\":[");
        let mut first = true;
        for (slot, entity) in self.entities() {
            if entity.lifecycle != Lifecycle::Absent {
                if !first {
                    out.push(b',');
                }
                first = false;
                entity.push_json(task, slot, out);
            }
        }
        out.push(b']');
        push_number_entry(out, "goal_version", u64::from(self.goal_version));
        out.push(b'}');
    }
}

/// Whether a live entity passes a count's filter.
#[must_use]
pub fn passes_filter(entity: &Entity, filter: &[(FieldIndex, crate::task::ValueTest)]) -> bool {
    entity.is_live() && filter.iter().all(|(field, test)| test.passes(&entity.fields[field.at()]))
}
