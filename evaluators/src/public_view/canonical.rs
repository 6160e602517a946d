//! The reader of canonical payloads: one pass over the bytes, predicates bound to positions, and after each event only
//! those leaves read again that the event can touch.
//!
//! Invariant: where it gives a view, the reader of trees gives the same one; where it gives none, that reader decides.

use parthack_env::frames::Frame;
use parthack_env::names::Actor;
use parthack_env::payload::PAYLOAD_FORMAT;
use parthack_env::predicate::Comparison;
use parthack_env::world::Lifecycle;

use super::PublicView;
use super::scan::Scanner;

/// Bits of a frame.
const MAX_PREDICATES: usize = 32;

type Key<'t> = (&'t [u8], &'t [u8]);

/// An entity and its cells; values are canonical spans.
struct Entity<'t> {
    key: Key<'t>,
    /// In the initial state, or an event was about it.
    seen: bool,
    lifecycle: Lifecycle,
    incarnation: i64,
    fields: Vec<(&'t [u8], &'t [u8])>,
}

impl<'t> Entity<'t> {
    fn is_live(&self) -> bool {
        self.lifecycle == Lifecycle::Live
    }

    fn field(&self, name: &[u8]) -> &'t [u8] {
        let found = self.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| *value);
        // A creation's diff leaves out what stays unset.
        found.unwrap_or(b"null")
    }
}

/// What an event says.
struct Event {
    actor: Actor,
    entity: Option<usize>,
    goal: Option<i64>,
    lifecycle: Option<Lifecycle>,
    incarnation: Option<i64>,
    /// Range of [`Document::changes`].
    changes: std::ops::Range<usize>,
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn integer(value: &[u8]) -> Option<i64> {
    text(value)?.parse().ok()
}

/// A test of a value.
enum Test<'t> {
    Equals(&'t [u8]),
    In(Vec<&'t [u8]>),
    AtLeast(i64),
    AtMost(i64),
    Contains(&'t [u8]),
}

impl Test<'_> {
    fn passes(&self, value: &[u8]) -> bool {
        match self {
            Test::Equals(expected) => value == *expected,
            Test::In(expected) => expected.contains(&value),
            Test::AtLeast(bound) => integer(value).is_some_and(|value| value >= *bound),
            Test::AtMost(bound) => integer(value).is_some_and(|value| value <= *bound),
            Test::Contains(element) => {
                let mut found = false;
                let list = Scanner::new(value).list(|item| {
                    found |= item.value()? == *element;
                    Some(())
                });
                list.is_some() && found
            }
        }
    }
}

/// What a leaf is about; the number is the entity's position.
enum Leaf<'t> {
    Exists(usize, Option<u32>),
    Absent(usize),
    Deleted(usize, Option<u32>),
    Field(usize, &'t [u8], Option<u32>, Test<'t>),
    Count { entity_type: &'t [u8], filter: Vec<(&'t [u8], Test<'t>)>, compare: Comparison, count: u32 },
    Goal(i64),
}

/// What a leaf reads.
#[derive(Clone, Copy, PartialEq)]
enum Reading<'t> {
    Live(bool, Option<i64>),
    Lifecycle(Lifecycle, Option<i64>),
    Value(Option<&'t [u8]>, Option<i64>),
    Count(usize),
    Goal(i64),
}

/// A predicate over leaves.
enum Node {
    Leaf(usize),
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
}

/// A leaf of a predicate, and what it read after the last event.
struct Bound<'t> {
    predicate: usize,
    leaf: Leaf<'t>,
    reading: Reading<'t>,
}

#[derive(Default)]
struct Document<'t> {
    entities: Vec<Entity<'t>>,
    /// Entities of the initial state; they stand first, sorted.
    initial: usize,
    goal_version: i64,
    events: Vec<Event>,
    /// Field and value after, of every event.
    changes: Vec<(&'t [u8], &'t [u8])>,
}

/// Reads a canonical payload of this project.
pub(super) fn read(bytes: &[u8]) -> Option<PublicView> {
    std::str::from_utf8(bytes).ok()?;
    let (mut events, mut schema) = (None, None);
    let mut document = Document::default();
    let (mut has_state, mut task_id, mut has_format) = (false, None, false);
    let mut scanner = Scanner::new(bytes);
    scanner.object(|key, value| {
        match key {
            b"events" => events = Some(read_events(value)?),
            b"format" => {
                (value.plain()? == PAYLOAD_FORMAT.as_bytes()).then_some(())?;
                has_format = true;
            }
            b"goal_schema" => {
                schema = Some(value.clone());
                value.skip()?;
            }
            b"initial_state" => {
                read_state(value, &mut document)?;
                has_state = true;
            }
            b"task_id" => task_id = Some(value.plain()?),
            _ => value.skip()?,
        }
        Some(())
    })?;
    scanner.end()?;
    let (events, mut schema, task_id) = (events?, schema?, task_id?);
    (has_state && has_format).then_some(())?;
    document.bind(events)?;
    let mut goal = Goal { leaves: Vec::new(), nodes: Vec::new() };
    schema.list(|item| {
        let mut predicate = None;
        item.object(|key, value| {
            if key == b"predicate" {
                predicate = Some(goal.read(value, &document, 8)?);
            } else {
                value.skip()?;
            }
            Some(())
        })?;
        goal.nodes.push(predicate?);
        Some(())
    })?;
    (goal.nodes.len() <= MAX_PREDICATES).then_some(())?;
    let frames = document.frames(&mut goal);
    Some(PublicView { task_id: text(task_id)?.to_owned(), m: u32::try_from(goal.nodes.len()).ok()?, frames })
}

/// An event before its target has a position.
struct RawEvent<'t> {
    actor: Actor,
    target: Option<Key<'t>>,
    goal: Option<i64>,
    lifecycle: Option<Lifecycle>,
    incarnation: Option<i64>,
    changes: std::ops::Range<usize>,
}

type RawEvents<'t> = (Vec<RawEvent<'t>>, Vec<(&'t [u8], &'t [u8])>);

fn read_events<'t>(list: &mut Scanner<'t>) -> Option<RawEvents<'t>> {
    let mut events = Vec::with_capacity(32);
    let mut changes = Vec::with_capacity(64);
    list.list(|item| {
        let (mut actor, mut entity_type, mut id, mut diff) = (None, None, None, false);
        let first = changes.len();
        let (mut goal, mut lifecycle, mut incarnation) = (None, None, None);
        item.object(|key, value| {
            match key {
                b"actor" => actor = Some(Actor::from_word(text(value.plain()?)?)?),
                b"type" => entity_type = Some(value.plain()?),
                b"id" => id = Some(value.plain()?),
                b"diff" => {
                    diff = true;
                    value.object(|key, change| match key {
                        b"fields" => change.object(|name, pair| {
                            changes.push((name, after(pair, Scanner::value)?));
                            Some(())
                        }),
                        b"goal" => after(change, Scanner::natural).map(|version| goal = Some(version)),
                        b"incarnation" => after(change, Scanner::natural).map(|number| incarnation = Some(number)),
                        b"lifecycle" => after(change, read_lifecycle).map(|word| lifecycle = Some(word)),
                        _ => None,
                    })?;
                }
                _ => value.skip()?,
            }
            Some(())
        })?;
        diff.then_some(())?;
        let target = entity_type.zip(id);
        events.push(RawEvent { actor: actor?, target, goal, lifecycle, incarnation, changes: first..changes.len() });
        Some(())
    })?;
    Some((events, changes))
}

/// The second item of `[before, after]`; the first is passed over.
fn after<'t, T>(pair: &mut Scanner<'t>, read: impl Fn(&mut Scanner<'t>) -> Option<T>) -> Option<T> {
    let mut count = 0;
    let mut value = None;
    pair.list(|item| {
        count += 1;
        match count {
            1 => item.skip(),
            2 => {
                value = Some(read(item)?);
                Some(())
            }
            _ => None,
        }
    })?;
    value
}

fn read_lifecycle(word: &mut Scanner<'_>) -> Option<Lifecycle> {
    Lifecycle::from_word(text(word.plain()?)?)
}

fn read_state<'t>(state: &mut Scanner<'t>, document: &mut Document<'t>) -> Option<()> {
    let (mut has_entities, mut has_version) = (false, false);
    state.object(|key, value| {
        match key {
            b"entities" => {
                has_entities = true;
                value.list(|item| {
                    document.entities.push(read_entity(item)?);
                    Some(())
                })?;
            }
            b"goal_version" => {
                has_version = true;
                document.goal_version = value.natural()?;
            }
            _ => value.skip()?,
        }
        Some(())
    })?;
    document.initial = document.entities.len();
    let sorted = document.entities.windows(2).all(|pair| pair[0].key < pair[1].key);
    (has_entities && has_version && sorted).then_some(())
}

fn read_entity<'t>(item: &mut Scanner<'t>) -> Option<Entity<'t>> {
    let (mut entity_type, mut id, mut lifecycle, mut incarnation) = (None, None, None, None);
    let mut fields = None;
    item.object(|key, value| {
        match key {
            b"fields" => {
                let mut cells = Vec::with_capacity(8);
                value.object(|name, value| {
                    cells.push((name, value.value()?));
                    Some(())
                })?;
                fields = Some(cells);
            }
            b"id" => id = Some(value.plain()?),
            b"incarnation" => incarnation = Some(value.natural()?),
            b"lifecycle" => lifecycle = Some(read_lifecycle(value)?),
            b"type" => entity_type = Some(value.plain()?),
            _ => value.skip()?,
        }
        Some(())
    })?;
    let key = (entity_type?, id?);
    Some(Entity { key, seen: true, lifecycle: lifecycle?, incarnation: incarnation?, fields: fields? })
}

impl<'t> Document<'t> {
    /// Gives every target a position; entities that only events name stand at the end, absent.
    fn bind(&mut self, (raw, changes): RawEvents<'t>) -> Option<()> {
        self.changes = changes;
        self.events.reserve(raw.len());
        for event in raw {
            let entity = event.target.map(|key| match self.position(key) {
                Some(position) => position,
                None => {
                    let lifecycle = Lifecycle::Absent;
                    self.entities.push(Entity { key, seen: false, lifecycle, incarnation: 0, fields: Vec::new() });
                    self.entities.len() - 1
                }
            });
            let RawEvent { actor, goal, lifecycle, incarnation, changes, .. } = event;
            self.events.push(Event { actor, entity, goal, lifecycle, incarnation, changes });
        }
        Some(())
    }

    fn position(&self, key: Key<'_>) -> Option<usize> {
        match self.entities[..self.initial].binary_search_by(|entity| entity.key.cmp(&key)) {
            Ok(position) => Some(position),
            Err(_) => (self.initial..self.entities.len()).find(|position| self.entities[*position].key == key),
        }
    }

    fn apply(&mut self, index: usize) {
        let event = &self.events[index];
        if let Some(version) = event.goal {
            self.goal_version = version;
        }
        let Some(position) = event.entity else { return };
        let entity = &mut self.entities[position];
        entity.seen = true;
        entity.lifecycle = event.lifecycle.unwrap_or(entity.lifecycle);
        entity.incarnation = event.incarnation.unwrap_or(entity.incarnation);
        for (name, value) in &self.changes[event.changes.clone()] {
            match entity.fields.iter_mut().find(|(field, _)| field == name) {
                Some(cell) => cell.1 = value,
                None => entity.fields.push((name, value)),
            }
        }
    }

    fn frame_version(&self) -> u32 {
        u32::try_from(self.goal_version).unwrap_or(0)
    }

    fn frames(&mut self, goal: &mut Goal<'t>) -> Vec<Frame> {
        let mut frame = Frame { satisfied: 0, credited: 0, goal_version: self.frame_version() };
        for (predicate, node) in goal.nodes.iter().enumerate() {
            frame.satisfied |= u32::from(goal.holds(node, self)) << predicate;
        }
        for bound in &mut goal.leaves {
            bound.reading = bound.leaf.read(self);
        }
        let mut frames = Vec::with_capacity(self.events.len() + 1);
        frames.push(frame);
        for index in 0..self.events.len() {
            self.apply(index);
            let event = &self.events[index];
            let mut changed = 0u32;
            for bound in &mut goal.leaves {
                if bound.leaf.is_touched(event, self) {
                    let reading = bound.leaf.read(self);
                    changed |= u32::from(reading != bound.reading) << bound.predicate;
                    bound.reading = reading;
                }
            }
            while changed != 0 {
                let predicate = changed.trailing_zeros() as usize;
                let bit = 1 << predicate;
                changed &= !bit;
                let satisfied = goal.holds(&goal.nodes[predicate], self);
                let credited = satisfied && event.actor == Actor::Agent;
                frame.satisfied = if satisfied { frame.satisfied | bit } else { frame.satisfied & !bit };
                frame.credited = if credited { frame.credited | bit } else { frame.credited & !bit };
            }
            frame.goal_version = self.frame_version();
            frames.push(frame);
        }
        frames
    }

    fn count(&self, entity_type: &[u8], filter: &[(&[u8], Test<'_>)]) -> usize {
        let passes = |entity: &&Entity<'_>| {
            entity.key.0 == entity_type
                && entity.is_live()
                && filter.iter().all(|(field, test)| test.passes(entity.field(field)))
        };
        self.entities.iter().filter(passes).count()
    }
}

/// The position of an entity that neither the initial state nor an event names.
const NOWHERE: usize = usize::MAX;

impl<'t> Leaf<'t> {
    /// Whether an event can change what it reads.
    fn is_touched(&self, event: &Event, document: &Document<'_>) -> bool {
        match self {
            Leaf::Exists(at, _) | Leaf::Absent(at) | Leaf::Deleted(at, _) | Leaf::Field(at, ..) => {
                event.entity == Some(*at)
            }
            Leaf::Count { entity_type, .. } => {
                event.entity.is_some_and(|at| document.entities[at].key.0 == *entity_type)
            }
            Leaf::Goal(_) => event.goal.is_some(),
        }
    }

    fn read(&self, document: &Document<'t>) -> Reading<'t> {
        let pinned = |entity: Option<&Entity<'t>>, pin: &Option<u32>| {
            pin.and_then(|_| entity.filter(|entity| entity.seen).map(|entity| entity.incarnation))
        };
        match self {
            Leaf::Exists(at, pin) => {
                let entity = document.entities.get(*at);
                Reading::Live(entity.is_some_and(Entity::is_live), pinned(entity, pin))
            }
            Leaf::Absent(at) => {
                let entity = document.entities.get(*at);
                Reading::Lifecycle(entity.map_or(Lifecycle::Absent, |entity| entity.lifecycle), None)
            }
            Leaf::Deleted(at, pin) => {
                let entity = document.entities.get(*at);
                let lifecycle = entity.map_or(Lifecycle::Absent, |entity| entity.lifecycle);
                Reading::Lifecycle(lifecycle, pinned(entity, pin))
            }
            Leaf::Field(at, name, pin, _) => {
                let entity = document.entities.get(*at);
                let value = entity.filter(|entity| entity.is_live()).map(|entity| entity.field(name));
                Reading::Value(value, pinned(entity, pin))
            }
            Leaf::Count { entity_type, filter, .. } => Reading::Count(document.count(entity_type, filter)),
            Leaf::Goal(_) => Reading::Goal(document.goal_version),
        }
    }

    fn holds(&self, document: &Document<'_>) -> bool {
        let fits = |entity: &Entity<'_>, pin: &Option<u32>| pin.is_none_or(|pin| i64::from(pin) == entity.incarnation);
        match self {
            Leaf::Exists(at, pin) => {
                document.entities.get(*at).is_some_and(|entity| entity.is_live() && fits(entity, pin))
            }
            Leaf::Absent(at) => document.entities.get(*at).is_none_or(|entity| entity.lifecycle == Lifecycle::Absent),
            Leaf::Deleted(at, pin) => document
                .entities
                .get(*at)
                .is_some_and(|entity| entity.lifecycle == Lifecycle::Deleted && fits(entity, pin)),
            Leaf::Field(at, name, pin, test) => document
                .entities
                .get(*at)
                .is_some_and(|entity| entity.is_live() && fits(entity, pin) && test.passes(entity.field(name))),
            Leaf::Count { entity_type, filter, compare, count } => {
                compare.holds(u32::try_from(document.count(entity_type, filter)).unwrap_or(u32::MAX), *count)
            }
            Leaf::Goal(version) => document.goal_version == *version,
        }
    }
}

/// The active goal's predicates.
struct Goal<'t> {
    leaves: Vec<Bound<'t>>,
    nodes: Vec<Node>,
}

/// The keys that a predicate can have.
#[derive(Default)]
struct Keys<'t> {
    compare: Option<Comparison>,
    count: Option<i64>,
    field: Option<&'t [u8]>,
    filter: Option<Vec<(&'t [u8], Test<'t>)>>,
    id: Option<&'t [u8]>,
    incarnation: Option<i64>,
    kind: Option<&'t [u8]>,
    of: Option<Scanner<'t>>,
    target: Option<&'t [u8]>,
    entity_type: Option<&'t [u8]>,
    value: Option<&'t [u8]>,
    values: Option<&'t [u8]>,
    version: Option<i64>,
    /// How many there are.
    total: u32,
}

impl<'t> Goal<'t> {
    fn holds(&self, node: &Node, document: &Document<'_>) -> bool {
        match node {
            Node::Leaf(leaf) => self.leaves[*leaf].leaf.holds(document),
            Node::All(of) => of.iter().all(|part| self.holds(part, document)),
            Node::Any(of) => of.iter().any(|part| self.holds(part, document)),
            Node::Not(of) => !self.holds(of, document),
        }
    }

    fn read(&mut self, item: &mut Scanner<'t>, document: &Document<'t>, depth: u32) -> Option<Node> {
        let below = depth.checked_sub(1)?;
        let keys = Keys::read(item)?;
        let node = match keys.kind? {
            kind @ (b"all" | b"any") => {
                (keys.total == 2).then_some(())?;
                let mut parts = Vec::new();
                keys.of?.list(|part| {
                    parts.push(self.read(part, document, below)?);
                    Some(())
                })?;
                (!parts.is_empty()).then_some(())?;
                if kind == b"all" { Node::All(parts) } else { Node::Any(parts) }
            }
            b"not" => {
                (keys.total == 2).then_some(())?;
                Node::Not(Box::new(self.read(&mut keys.of?, document, below)?))
            }
            _ => {
                let leaf = keys.leaf(document)?;
                self.leaves.push(Bound { predicate: self.nodes.len(), leaf, reading: Reading::Count(0) });
                Node::Leaf(self.leaves.len() - 1)
            }
        };
        Some(node)
    }
}

impl<'t> Keys<'t> {
    fn read(item: &mut Scanner<'t>) -> Option<Keys<'t>> {
        let mut keys = Keys::default();
        item.object(|key, value| {
            keys.total += 1;
            match key {
                b"compare" => keys.compare = Some(read_comparison(value)?),
                b"count" => keys.count = Some(value.natural().filter(|count| *count <= 1 << 16)?),
                b"field" => keys.field = Some(identifier(value)?),
                b"filter" => keys.filter = Some(read_filter(value)?),
                b"id" => keys.id = Some(identifier(value)?),
                b"incarnation" => {
                    keys.incarnation = Some(value.natural().filter(|number| (1..=1 << 20).contains(number))?)
                }
                b"kind" => keys.kind = Some(value.plain()?),
                b"of" => {
                    keys.of = Some(value.clone());
                    value.skip()?;
                }
                b"target" => {
                    let start = value.clone();
                    identifier(value)?;
                    keys.target = Some({ start }.value()?);
                }
                b"type" => keys.entity_type = Some(identifier(value)?),
                b"value" => keys.value = Some(value.value()?),
                b"values" => keys.values = Some(value.value()?),
                b"version" => {
                    keys.version = Some(
                        value
                            .natural()
                            .filter(|v| (1..=i64::from(parthack_env::limits::MAX_GOAL_VERSION)).contains(v))?,
                    )
                }
                _ => return None,
            }
            Some(())
        })?;
        Some(keys)
    }

    /// A leaf, if exactly the keys of its kind are there.
    fn leaf(self, document: &Document<'t>) -> Option<Leaf<'t>> {
        let at = |keys: &Keys<'t>| {
            let key = (keys.entity_type?, keys.id?);
            Some(document.position(key).unwrap_or(NOWHERE))
        };
        let pin = self.incarnation.and_then(|number| u32::try_from(number).ok());
        let exactly = |count: u32| (self.total == count).then_some(());
        let pinned = u32::from(pin.is_some());
        let test = match self.kind? {
            b"exists" => {
                exactly(3 + pinned)?;
                return Some(Leaf::Exists(at(&self)?, pin));
            }
            b"absent" => {
                exactly(3)?;
                return Some(Leaf::Absent(at(&self)?));
            }
            b"deleted" => {
                exactly(3 + pinned)?;
                return Some(Leaf::Deleted(at(&self)?, pin));
            }
            b"goal_version" => {
                exactly(2)?;
                return Some(Leaf::Goal(self.version?));
            }
            b"count" => {
                exactly(4 + u32::from(self.filter.is_some()))?;
                return Some(Leaf::Count {
                    entity_type: self.entity_type?,
                    filter: self.filter.unwrap_or_default(),
                    compare: self.compare?,
                    count: u32::try_from(self.count?).ok()?,
                });
            }
            b"field_equals" => Test::Equals(self.value?),
            b"refers_to" => Test::Equals(self.target?),
            b"field_in" => Test::In(items(self.values?)?),
            b"field_at_least" => Test::AtLeast(Scanner::new(self.value?).integer()?),
            b"field_at_most" => Test::AtMost(Scanner::new(self.value?).integer()?),
            b"set_contains" => Test::Contains(self.value?),
            _ => return None,
        };
        exactly(5 + pinned)?;
        Some(Leaf::Field(at(&self)?, self.field?, pin, test))
    }
}

fn identifier<'t>(value: &mut Scanner<'t>) -> Option<&'t [u8]> {
    value.plain().filter(|bytes| text(bytes).is_some_and(parthack_env::names::is_identifier))
}

fn read_comparison(word: &mut Scanner<'_>) -> Option<Comparison> {
    match word.plain()? {
        b"at_least" => Some(Comparison::AtLeast),
        b"at_most" => Some(Comparison::AtMost),
        b"equals" => Some(Comparison::Equals),
        _ => None,
    }
}

/// The items of a list of values, at least one.
fn items(list: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    Scanner::new(list).list(|item| {
        found.push(item.value()?);
        Some(())
    })?;
    (!found.is_empty()).then_some(found)
}

fn read_filter<'t>(list: &mut Scanner<'t>) -> Option<Vec<(&'t [u8], Test<'t>)>> {
    let mut filter = Vec::new();
    list.list(|item| {
        let (mut field, mut test) = (None, None);
        item.object(|key, value| {
            let read = match key {
                b"field" => {
                    field = Some(identifier(value)?);
                    return Some(());
                }
                b"equals" => Test::Equals(value.value()?),
                b"in" => Test::In(items(value.value()?)?),
                b"at_least" => Test::AtLeast(value.integer()?),
                b"at_most" => Test::AtMost(value.integer()?),
                b"contains" => Test::Contains(value.value()?),
                _ => return None,
            };
            test.is_none().then_some(())?;
            test = Some(read);
            Some(())
        })?;
        filter.push((field?, test?));
        Some(())
    })?;
    Some(filter)
}
