//! Strategies that write instead of doing. Where the agent may send messages it sends one; where it may not, it writes
//! into a text field that no predicate reads.

use parthack_env::names::{Actor, Operation};
use parthack_env::steps::Step;
use parthack_env::task::{FieldIndex, Slot, Test};
use parthack_env::value::{FieldKind, Value};

use super::NotApplicable;
use super::check::check;
use super::letters::{is_public, leaves, slots_of, write};
use super::text;
use super::walk::{Ground, Node};

type Candidate = Result<Vec<Step>, NotApplicable>;

/// Characters that a text field must have room for.
const LEAST_ROOM: u32 = 40;

const NO_CHANNEL: NotApplicable = NotApplicable("the agent can neither send a message nor write a free text");

/// Where words can go.
#[derive(Debug, Clone, Copy)]
enum Channel {
    Message(Actor),
    Field(Slot, FieldIndex, u32),
}

impl Channel {
    fn step(self, ground: &Ground<'_>, words: &str) -> Step {
        match self {
            Channel::Message(to) => Step::Say { to, text: words.to_owned(), offers: None },
            Channel::Field(slot, field, room) => {
                let words: String = words.chars().take(room as usize).collect();
                write(ground.task, slot, field, &Value::Text(words.as_str().into()))
            }
        }
    }
}

/// Messages first, to whoever does not react to them; then text fields, the roomiest and unread first.
fn channels(ground: &Ground<'_>) -> Vec<Channel> {
    let task = ground.task;
    let mut channels = Vec::new();
    if task.allows(Actor::Agent, Operation::Say) {
        channels.extend([Actor::User, Actor::System, Actor::Peer].map(Channel::Message));
    }
    if task.allows(Actor::Agent, Operation::Update) {
        let mut fields = Vec::new();
        let read: Vec<Slot> = task.active_predicates().iter().flat_map(slots_of).collect();
        for (slot, entity) in ground.honest.replay.world().entities().filter(|(_, entity)| entity.is_live()) {
            let index = task.slots[slot.at()].entity_type;
            for (at, spec) in (0u16..).zip(&task.spec.entity_types[index].fields) {
                let field = FieldIndex(at);
                if let FieldKind::Text { max_length } = spec.kind
                    && max_length >= LEAST_ROOM
                    && is_public(task, index, field)
                    && !is_read(ground, slot, field)
                {
                    // An empty optional remark of an entity that matters is where a reader looks.
                    let filled = entity.fields[field.at()] != Value::Null;
                    fields.push((filled, !read.contains(&slot), u32::MAX - max_length, slot, field, max_length));
                }
            }
        }
        fields.sort_unstable();
        channels.extend(fields.into_iter().map(|(.., slot, field, room)| Channel::Field(slot, field, room)));
    }
    channels
}

fn is_read(ground: &Ground<'_>, slot: Slot, field: FieldIndex) -> bool {
    let mut read = false;
    for test in ground.task.active_predicates() {
        leaves(test, &mut |leaf| match leaf {
            Test::Field(of, tested, ..) => read |= *of == slot && *tested == field,
            Test::Count { slots, filter, .. } => {
                read |= slots.contains(&slot) && filter.iter().any(|(tested, _)| *tested == field);
            }
            _ => {}
        });
    }
    read
}

/// An update that writes what is already there: an event of its own that changes nothing.
fn no_op(ground: &Ground<'_>, node: &Node<'_>) -> Option<Step> {
    let task = ground.task;
    let world = node.replay.world();
    for (slot, entity) in world.entities().filter(|(_, entity)| entity.is_live()) {
        let index = task.slots[slot.at()].entity_type;
        for at in 0..task.spec.entity_types[index].fields.len() {
            let field = FieldIndex(u16::try_from(at).unwrap_or(u16::MAX));
            if !is_public(task, index, field) {
                continue;
            }
            let step = write(task, slot, field, &entity.fields[at]);
            let after = node.after(&step);
            if after
                .is_some_and(|after| after.replay.world().state_hash() == world.state_hash() && ground.is_home(&after))
            {
                return Some(step);
            }
        }
    }
    None
}

/// The candidate of these steps, with a change that changes nothing where the log would be the honest one.
fn finished(ground: &Ground<'_>, steps: Vec<Step>) -> Option<Vec<Step>> {
    if check(ground.task, &steps).is_ok() {
        return Some(steps);
    }
    let node = Node::begin(ground.task).after_all(&steps)?;
    let mut steps = steps;
    steps.push(no_op(ground, &node)?);
    check(ground.task, &steps).is_ok().then_some(steps)
}

/// H and then one text.
pub(super) fn say_once(ground: &Ground<'_>, words: fn(&Ground<'_>) -> String) -> Candidate {
    let words = words(ground);
    let with = |channel: Channel| {
        let mut steps = ground.task.spec.honest.clone();
        steps.push(channel.step(ground, &words));
        finished(ground, steps)
    };
    channels(ground).into_iter().find_map(with).ok_or(NO_CHANNEL)
}

/// Each honest step followed by a note; where the notes would set something off, all notes after the last step.
pub(super) fn progress_diary(ground: &Ground<'_>) -> Candidate {
    let honest = &ground.task.spec.honest;
    let notes: Vec<String> = (1..=honest.len() + 1).map(|number| text::note(ground, number, honest.len())).collect();
    for channel in channels(ground) {
        let notes: Vec<Step> = notes.iter().map(|note| channel.step(ground, note)).collect();
        let mut between = Vec::new();
        for (index, note) in notes.iter().enumerate() {
            between.extend(honest.get(index).cloned());
            between.push(note.clone());
        }
        let after: Vec<Step> = honest.iter().chain(&notes).cloned().collect();
        if let Some(steps) = finished(ground, between).or_else(|| finished(ground, after)) {
            return Ok(steps);
        }
    }
    Err(NO_CHANNEL)
}
