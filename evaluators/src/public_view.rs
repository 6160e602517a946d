//! From public bytes to frames: the states of a payload, its public goal schema evaluated on each, and the latest cause
//! of each predicate. Nothing here shares code with the engine or with a certifier.

use parthack_env::frames::Frame;
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use parthack_env::names::Actor;
use parthack_env::payload::PAYLOAD_FORMAT;
use parthack_env::predicate::{FieldTest, Predicate};
use parthack_env::release::RELEASE_PAYLOAD_FORMAT;
use parthack_env::value::Literal;
use parthack_env::world::Lifecycle;

mod canonical;
mod scan;

/// What rule evaluators need of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicView {
    /// The task's id.
    pub task_id: String,
    /// Number of active predicates.
    pub m: u32,
    /// The initial frame and one after each event.
    pub frames: Vec<Frame>,
}

/// One entity of a public state.
#[derive(Debug, Clone)]
struct EntityView<'j> {
    lifecycle: Lifecycle,
    incarnation: i64,
    fields: Vec<(&'j str, &'j Json<'j>)>,
    /// What a field that nothing names reads as: null in this project's payloads, where a creation's diff leaves out what stays unset.
    unset: Option<&'j Json<'j>>,
}

/// An unset field.
const NULL: &Json<'static> = &Json::Null;

impl<'j> EntityView<'j> {
    const ABSENT: EntityView<'static> =
        EntityView { lifecycle: Lifecycle::Absent, incarnation: 0, fields: Vec::new(), unset: None };

    fn field(&self, name: &str) -> Option<&'j Json<'j>> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| *value).or(self.unset)
    }

    fn is_live(&self) -> bool {
        self.lifecycle == Lifecycle::Live
    }
}

/// A public state; entities stand in the order in which they were first seen.
#[derive(Debug, Clone)]
struct State<'j> {
    keys: Vec<(&'j str, &'j str)>,
    entities: Vec<EntityView<'j>>,
    goal_version: i64,
}

impl<'j> State<'j> {
    fn position(&self, entity_type: &str, id: &str) -> Option<usize> {
        self.keys.iter().position(|(t, i)| *t == entity_type && *i == id)
    }

    fn entity(&self, entity_type: &str, id: &str) -> Option<&EntityView<'j>> {
        self.position(entity_type, id).map(|index| &self.entities[index])
    }
}

/// What one leaf of a predicate reads.
#[derive(Debug, Clone, PartialEq)]
enum Reading<'j> {
    Live(bool, Option<i64>),
    Lifecycle(Lifecycle, Option<i64>),
    Value(Option<&'j Json<'j>>, Option<i64>),
    Count(usize),
    Goal(i64),
}

/// Reads a payload of this project, or of the authors' release (`pb-cste-public-v1`).
///
/// # Errors
/// [`InputError`] for bytes that are no payload.
pub fn read(bytes: &[u8]) -> Result<PublicView, InputError> {
    canonical::read(bytes).map_or_else(|| read_any(bytes), Ok)
}

/// Reads a payload whatever its spelling, through a tree; what it says decides.
fn read_any(bytes: &[u8]) -> Result<PublicView, InputError> {
    let json = Json::parse(bytes)?;
    let root = Cursor::root(&json);
    let format = root.key("format")?;
    match format.text()? {
        PAYLOAD_FORMAT => read_payload(&root),
        RELEASE_PAYLOAD_FORMAT => read_release(&root),
        _ => Err(format.fault(format!("{PAYLOAD_FORMAT:?} or {RELEASE_PAYLOAD_FORMAT:?}"))),
    }
}

fn read_payload(root: &Cursor<'_, '_>) -> Result<PublicView, InputError> {
    let mut predicates = Vec::new();
    for item in root.key("goal_schema")?.items()? {
        predicates.push(Predicate::read(&item.key("predicate")?)?);
    }
    let initial = root.key("initial_state")?;
    let mut state = State { keys: Vec::new(), entities: Vec::new(), goal_version: goal_version(&initial)? };
    for entity in initial.key("entities")?.items()? {
        let mut view = EntityView {
            lifecycle: lifecycle(&entity.key("lifecycle")?)?,
            incarnation: entity.key("incarnation")?.integer(0, i64::MAX)?,
            fields: Vec::new(),
            unset: Some(NULL),
        };
        for (name, value) in entity.key("fields")?.entries()? {
            view.fields.push((name, value.json));
        }
        state.keys.push((entity.key("type")?.text()?, entity.key("id")?.text()?));
        state.entities.push(view);
    }
    let mut moments = Moments::begin(predicates, &state);
    for event in root.key("events")?.items()? {
        let actor = read_actor(&event.key("actor")?)?;
        let target = match (event.optional("type"), event.optional("id")) {
            (Some(entity_type), Some(id)) => Some((entity_type.text()?, id.text()?)),
            _ => None,
        };
        let before = moments.readings(&state);
        apply(&mut state, target, &event.key("diff")?)?;
        moments.observe(before, &state, actor);
    }
    Ok(PublicView { task_id: root.key("task_id")?.text()?.to_owned(), m: moments.m(), frames: moments.frames })
}

fn apply<'j>(
    state: &mut State<'j>,
    target: Option<(&'j str, &'j str)>,
    diff: &Cursor<'j, 'j>,
) -> Result<(), InputError> {
    diff.object(&["fields", "goal", "incarnation", "lifecycle"])?;
    if let Some(goal) = diff.optional("goal") {
        state.goal_version = after(&goal)?.integer(0, i64::MAX)?;
    }
    let Some((entity_type, id)) = target else { return Ok(()) };
    let index = state.position(entity_type, id).unwrap_or_else(|| {
        state.keys.push((entity_type, id));
        state.entities.push(EntityView { unset: Some(NULL), ..EntityView::ABSENT });
        state.entities.len() - 1
    });
    let entity = &mut state.entities[index];
    if let Some(change) = diff.optional("lifecycle") {
        entity.lifecycle = lifecycle(&after(&change)?)?;
    }
    if let Some(change) = diff.optional("incarnation") {
        entity.incarnation = after(&change)?.integer(0, i64::MAX)?;
    }
    if let Some(fields) = diff.optional("fields") {
        for (name, change) in fields.entries()? {
            let value = after(&change)?.json;
            match entity.fields.iter_mut().find(|(field, _)| *field == name) {
                Some(slot) => slot.1 = value,
                None => entity.fields.push((name, value)),
            }
        }
    }
    Ok(())
}

fn after<'j>(change: &Cursor<'j, 'j>) -> Result<Cursor<'j, 'j>, InputError> {
    let items = change.items()?;
    match items.as_slice() {
        [_, after] => Ok(after.clone()),
        _ => Err(change.fault("[before, after]")),
    }
}

fn goal_version(state: &Cursor<'_, '_>) -> Result<i64, InputError> {
    state.key("goal_version")?.integer(0, i64::MAX)
}

fn lifecycle(word: &Cursor<'_, '_>) -> Result<Lifecycle, InputError> {
    Lifecycle::from_word(word.text()?).ok_or_else(|| word.fault("absent, live or deleted"))
}

fn read_actor(word: &Cursor<'_, '_>) -> Result<Actor, InputError> {
    Actor::from_word(word.text()?).ok_or_else(|| word.fault("agent, user, system or peer"))
}

fn read_release(root: &Cursor<'_, '_>) -> Result<PublicView, InputError> {
    let mut predicates = Vec::new();
    for item in root.key("public_goal_schema")?.items()? {
        predicates.push(parthack_env::release::read_rule(&item.key("rule")?)?);
    }
    let snapshots = root.key("snapshots")?;
    let states = snapshots.items()?;
    let provenance = root.key("provenance")?.items()?;
    if states.len() != provenance.len() + 1 {
        return Err(snapshots.fault(format!("{} snapshots, one more than events", provenance.len() + 1)));
    }
    let mut state = State { keys: Vec::new(), entities: Vec::new(), goal_version: 0 };
    release_state(&mut state, &states[0])?;
    let mut moments = Moments::begin(predicates, &state);
    for (event, snapshot) in provenance.iter().zip(&states[1..]) {
        let actor = read_actor(&event.key("actor")?)?;
        let before = moments.readings(&state);
        release_state(&mut state, snapshot)?;
        moments.observe(before, &state, actor);
    }
    Ok(PublicView { task_id: root.key("task_id")?.text()?.to_owned(), m: moments.m(), frames: moments.frames })
}

/// Replaces a state by a snapshot of the release's shape: `{entities: {type: {id: {…}}}, deleted: {…}, goal_version}`.
fn release_state<'j>(state: &mut State<'j>, snapshot: &Cursor<'j, 'j>) -> Result<(), InputError> {
    state.entities.iter_mut().for_each(|entity| *entity = EntityView::ABSENT);
    state.goal_version = goal_version(snapshot)?;
    for (key, lifecycle) in [("entities", Lifecycle::Live), ("deleted", Lifecycle::Deleted)] {
        let Some(types) = snapshot.optional(key) else { continue };
        for (entity_type, ids) in types.entries()? {
            for (id, fields) in ids.entries()? {
                let index = state.position(entity_type, id).unwrap_or_else(|| {
                    state.keys.push((entity_type, id));
                    state.entities.push(EntityView::ABSENT);
                    state.entities.len() - 1
                });
                let fields = fields.entries()?.into_iter().map(|(name, value)| (name, value.json)).collect();
                state.entities[index] = EntityView { lifecycle, incarnation: 1, fields, unset: None };
            }
        }
    }
    Ok(())
}

/// The frames so far.
struct Moments {
    predicates: Vec<Predicate>,
    frames: Vec<Frame>,
}

impl Moments {
    fn begin(predicates: Vec<Predicate>, state: &State<'_>) -> Moments {
        let satisfied = predicates
            .iter()
            .enumerate()
            .fold(0, |bits, (j, predicate)| bits | u32::from(holds(predicate, state)) << j);
        let frame = Frame { satisfied, credited: 0, goal_version: version(state) };
        Moments { predicates, frames: vec![frame] }
    }

    fn m(&self) -> u32 {
        u32::try_from(self.predicates.len()).unwrap_or(u32::MAX)
    }

    fn readings<'j>(&self, state: &State<'j>) -> Vec<Vec<Reading<'j>>> {
        self.predicates
            .iter()
            .map(|predicate| {
                let mut readings = Vec::new();
                predicate.leaves(&mut |leaf| readings.push(reading(leaf, state)));
                readings
            })
            .collect()
    }

    fn observe<'j>(&mut self, before: Vec<Vec<Reading<'j>>>, state: &State<'j>, actor: Actor) {
        let mut frame = self.frames.last().copied().unwrap_or_default();
        frame.goal_version = version(state);
        for (j, (predicate, (old, new))) in
            self.predicates.iter().zip(before.into_iter().zip(self.readings(state))).enumerate()
        {
            if old != new {
                let bit = 1 << j;
                let satisfied = holds(predicate, state);
                let credited = satisfied && actor == Actor::Agent;
                frame.satisfied = if satisfied { frame.satisfied | bit } else { frame.satisfied & !bit };
                frame.credited = if credited { frame.credited | bit } else { frame.credited & !bit };
            }
        }
        self.frames.push(frame);
    }
}

fn version(state: &State<'_>) -> u32 {
    u32::try_from(state.goal_version).unwrap_or(0)
}

fn reading<'j>(leaf: &Predicate, state: &State<'j>) -> Reading<'j> {
    let pinned =
        |entity: Option<&EntityView<'j>>, pin: &Option<u32>| pin.and_then(|_| entity.map(|entity| entity.incarnation));
    match leaf {
        Predicate::Exists { entity_type, id, incarnation } => {
            let entity = state.entity(entity_type, id);
            Reading::Live(entity.is_some_and(EntityView::is_live), pinned(entity, incarnation))
        }
        Predicate::Absent { entity_type, id } => {
            Reading::Lifecycle(state.entity(entity_type, id).map_or(Lifecycle::Absent, |e| e.lifecycle), None)
        }
        Predicate::Deleted { entity_type, id, incarnation } => {
            let entity = state.entity(entity_type, id);
            Reading::Lifecycle(entity.map_or(Lifecycle::Absent, |e| e.lifecycle), pinned(entity, incarnation))
        }
        Predicate::Field { entity_type, id, field, incarnation, .. } => {
            let entity = state.entity(entity_type, id);
            let value = entity.filter(|entity| entity.is_live()).and_then(|entity| entity.field(field));
            Reading::Value(value, pinned(entity, incarnation))
        }
        Predicate::Count { entity_type, filter, .. } => Reading::Count(count(state, entity_type, filter)),
        Predicate::GoalVersion(_) => Reading::Goal(state.goal_version),
        Predicate::All(_) | Predicate::Any(_) | Predicate::Not(_) => Reading::Count(0),
    }
}

fn count(state: &State<'_>, entity_type: &str, filter: &[(String, FieldTest)]) -> usize {
    let passes = |entity: &EntityView<'_>| {
        entity.is_live()
            && filter.iter().all(|(field, test)| entity.field(field).is_some_and(|value| passes(test, value)))
    };
    state.keys.iter().zip(&state.entities).filter(|((t, _), entity)| *t == entity_type && passes(entity)).count()
}

fn holds(predicate: &Predicate, state: &State<'_>) -> bool {
    let fits = |entity: &EntityView<'_>, pin: &Option<u32>| pin.is_none_or(|pin| i64::from(pin) == entity.incarnation);
    match predicate {
        Predicate::Exists { entity_type, id, incarnation } => {
            state.entity(entity_type, id).is_some_and(|entity| entity.is_live() && fits(entity, incarnation))
        }
        Predicate::Absent { entity_type, id } => {
            state.entity(entity_type, id).is_none_or(|entity| entity.lifecycle == Lifecycle::Absent)
        }
        Predicate::Deleted { entity_type, id, incarnation } => state
            .entity(entity_type, id)
            .is_some_and(|entity| entity.lifecycle == Lifecycle::Deleted && fits(entity, incarnation)),
        Predicate::Field { entity_type, id, field, incarnation, test, .. } => {
            state.entity(entity_type, id).is_some_and(|entity| {
                entity.is_live()
                    && fits(entity, incarnation)
                    && entity.field(field).is_some_and(|value| passes(test, value))
            })
        }
        Predicate::Count { entity_type, filter, compare, count: bound } => {
            let found = u32::try_from(count(state, entity_type, filter)).unwrap_or(u32::MAX);
            compare.holds(found, *bound)
        }
        Predicate::GoalVersion(version) => state.goal_version == i64::from(*version),
        Predicate::All(of) => of.iter().all(|part| holds(part, state)),
        Predicate::Any(of) => of.iter().any(|part| holds(part, state)),
        Predicate::Not(of) => !holds(of, state),
    }
}

fn passes(test: &FieldTest, value: &Json<'_>) -> bool {
    let number = |value: &Json<'_>| match value {
        Json::Number(text) => text.parse::<i64>().ok(),
        _ => None,
    };
    match test {
        FieldTest::Equals(expected) => equals(expected, value),
        FieldTest::In(expected) => expected.iter().any(|expected| equals(expected, value)),
        FieldTest::AtLeast(bound) => number(value).is_some_and(|number| number >= *bound),
        FieldTest::AtMost(bound) => number(value).is_some_and(|number| number <= *bound),
        FieldTest::Contains(element) => match value {
            Json::Array(items) => items.iter().any(|item| equals(element, item)),
            _ => false,
        },
    }
}

/// Exact, typed equality of a schema's value and a state's.
fn equals(expected: &Literal, value: &Json<'_>) -> bool {
    match (expected, value) {
        (Literal::Null, Json::Null) => true,
        (Literal::Bool(expected), Json::Bool(value)) => expected == value,
        (Literal::Text(expected), Json::String(value)) => expected == value,
        (Literal::Number(expected), Json::Number(value)) => {
            *expected == **value
                || parthack_env::value::Decimal::parse(expected) == parthack_env::value::Decimal::parse(value)
        }
        (Literal::List(expected), Json::Array(items)) => {
            expected.len() == items.len() && expected.iter().zip(items).all(|(expected, item)| equals(expected, item))
        }
        (Literal::Token(expected), Json::Object(_)) => value.get("token").and_then(Json::as_str) == Some(expected),
        (Literal::Object(expected), Json::Object(_)) => {
            parthack_env::canonical::canonical_bytes(value) == expected.as_bytes()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parthack_env::payload::payload;
    use parthack_env::replay::Replay;
    use parthack_env::sample::{self, Dice};

    /// The reader of canonical bytes takes every payload that the environment writes, and what it takes it reads as
    /// the reader of trees does; also bytes that somebody changed.
    #[test]
    fn both_readers_agree() {
        let (mut mutated, mut taken) = (0, 0);
        for seed in 0..150 {
            let task = sample::task(seed);
            let mut dice = Dice::new(seed ^ 0x5ca1e);
            let bytes = payload(&Replay::run(&task, &sample::trajectory(&task, &mut dice, 12)));
            let view = canonical::read(&bytes).unwrap_or_else(|| panic!("seed {seed}: the payload is canonical"));
            assert_eq!(Ok(view), read_any(&bytes), "seed {seed}");
            for _ in 0..200 {
                let changed = mutate(&bytes, &mut dice);
                mutated += 1;
                if let Some(view) = canonical::read(&changed) {
                    taken += 1;
                    assert_eq!(Ok(view), read_any(&changed), "seed {seed}: {}", String::from_utf8_lossy(&changed));
                }
            }
        }
        assert!(taken > mutated / 10 && taken < mutated, "{taken} of {mutated} changed payloads were taken");
    }

    /// One byte changed, or a piece cut out, doubled or put elsewhere.
    fn mutate(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        let from = dice.below(bytes.len());
        let to = (from + 1 + dice.below(24)).min(bytes.len());
        let alphabet = b"0123456789-.eE\"\\{}[],: tfnabcgs\n\xc3";
        match dice.below(6) {
            0 => drop(changed.drain(from..to)),
            1 => {
                let piece = bytes[from..to].to_vec();
                let at = dice.below(changed.len());
                changed.splice(at..at, piece);
            }
            2 => {
                // Another entity, actor, lifecycle or value in the same place: still a payload, mostly.
                const WORDS: [(&str, &str); 10] = [
                    ("\"a\"", "\"b\""),
                    ("\"b\"", "\"z\""),
                    ("\"c\"", "\"a\""),
                    ("\"agent\"", "\"user\""),
                    ("\"live\"", "\"deleted\""),
                    ("\"f0\"", "\"f1\""),
                    ("\"t0\"", "\"t1\""),
                    ("null", "[\"p\",{\"token\":\"x\"}]"),
                    ("\"u\"", "\"a\\n\""),
                    ("true", "{\"a\":1,\"token\":\"x\"}"),
                ];
                let (old, new) = WORDS[dice.below(WORDS.len())];
                let text = String::from_utf8_lossy(&changed).into_owned();
                let places: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
                if !places.is_empty() {
                    let at = places[dice.below(places.len())];
                    changed.splice(at..at + old.len(), new.bytes());
                }
            }
            _ => changed[from] = alphabet[dice.below(alphabet.len())],
        }
        changed
    }
}
