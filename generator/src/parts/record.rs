//! Side records: one to enter, one to remove, one to bring back, one to change.

use serde_json::{Map, Value, json};

use crate::draft::{FieldDraft, holds, kinds, steps};
use crate::language::{article, capital, number, quantity, words};
use crate::part::Part;
use crate::world::World;

use super::Wish;

/// Declares the type and a few records, once.
fn declare(world: &mut World) {
    let record = world.domain.record;
    if world.has_type(record.kind.key) {
        return;
    }
    let main_type = world.main_type();
    let symbols: Vec<&str> = record.classes.iter().map(|(symbol, _)| *symbol).collect();
    let fields = vec![
        FieldDraft::new(record.link.field, record.link.doc, kinds::reference(main_type)),
        FieldDraft::new(record.label.field, record.label.doc, kinds::text(80)),
        FieldDraft::new(record.class.field, record.class.doc, kinds::symbols(&symbols)),
        FieldDraft::new(record.amount.field, record.amount.doc, kinds::integer(0, 100_000)).unit(record.unit.code),
    ];
    let recreate = if world.draws.chance(1, 3) { "new_incarnation" } else { "refuse" };
    world.add_type(record.kind, recreate, fields);
    for operation in ["create", "delete", "restore"] {
        world.allow.allow("agent", operation);
    }
    // One of another record's, and one that nothing is asked about.
    let other = world.draws.pick(&world.others.clone()).clone();
    add(world, &other, None, true);
    if world.draws.chance(1, 2) {
        let main = world.main.clone();
        add(world, &main, None, true);
    }
}

/// A record as it was drawn.
struct Drawn {
    id: String,
    label: String,
    class: &'static str,
    fields: Map<String, Value>,
}

/// Draws the fields of a record; amounts keep clear of both ends, which descriptions rely on.
fn fields(world: &mut World, owner: &str, class: Option<&'static str>, amount: Option<i64>) -> Drawn {
    let record = world.domain.record;
    let free: Vec<&'static str> =
        record.classes.iter().map(|(symbol, _)| *symbol).filter(|symbol| world.only_class != Some(*symbol)).collect();
    let class = class.unwrap_or_else(|| if free.is_empty() { record.classes[0].0 } else { world.draws.word(&free) });
    let margin = ((record.high - record.low) / 5).max(1);
    let amount = amount.unwrap_or_else(|| world.draws.between(record.low + margin, record.high - margin));
    let label = world.label().map_or_else(|| format!("No. {}", number(world.draws.between(11, 99))), str::to_owned);
    let id = world.new_id(record.kind.prefix);
    let fields = World::fields(&[
        (record.link.field, json!(owner)),
        (record.label.field, json!(label)),
        (record.class.field, json!(class)),
        (record.amount.field, json!(amount)),
    ]);
    Drawn { id, label, class, fields }
}

/// Adds a record to the initial state.
fn add(world: &mut World, owner: &str, class: Option<&'static str>, live: bool) -> Drawn {
    let drawn = fields(world, owner, class, None);
    put(world, &drawn, live);
    drawn
}

fn put(world: &mut World, drawn: &Drawn, live: bool) {
    let key = world.domain.record.kind.key;
    let fields: Vec<(&str, Value)> = drawn.fields.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    world.add_entity(key, &drawn.id, live, &fields);
}

fn phrase_of(world: &World, class: &str) -> &'static str {
    world.domain.record.classes.iter().find(|(symbol, _)| *symbol == class).map_or("", |(_, phrase)| *phrase)
}

fn allow_creation(world: &mut World, id: &str) {
    let key = world.domain.record.kind.key;
    if let Some(record) = world.type_mut(key) {
        record.creatable.push(id.to_owned());
    }
}

fn part(world: &World, drawn: &str, suffix: &str, description: String, predicate: Value, verb: String) -> Part {
    let mut part = Part::new(&super::predicate_id(drawn, suffix), description, predicate, verb);
    part.look = vec![steps::list(world.domain.record.kind.key)];
    part.on_main = false;
    part.clear = false;
    part
}

/// A record to be entered.
pub(super) fn enter(world: &mut World) -> Part {
    declare(world);
    let (record, main) = (world.domain.record, world.main.clone());
    let (key, noun) = (record.kind.key, record.kind.noun.one);
    let drawn = fields(world, &main, None, None);
    allow_creation(world, &drawn.id);
    world.coming_classes.insert(drawn.class);
    let exists = holds::exists(key, &drawn.id);
    let class = holds::equals(key, &drawn.id, record.class.field, &json!(drawn.class));
    let predicate = match world.draws.below(4) {
        0 => exists,
        1 => class,
        2 => holds::refers(key, &drawn.id, record.link.field, &main),
        _ => holds::all(vec![exists, class]),
    };
    let amount = drawn.fields[record.amount.field].as_i64().unwrap_or(0);
    let field = words(record.amount.field);
    let amount = quantity(amount, record.unit, &mut world.draws);
    let amount = if field == record.unit.many { amount } else { format!("{field}: {amount}") };
    let phrase = phrase_of(world, drawn.class);
    let what = match world.draws.below(3) {
        0 => format!("{} new {noun} {} for {{main}}, \"{}\", {phrase} ({amount})", "a", drawn.id, drawn.label),
        1 => format!("{} {noun} for {{main}} as {}: \"{}\", {phrase} ({amount})", article(noun), drawn.id, drawn.label),
        _ => format!("\"{}\" as {noun} {} for {{main}}, {phrase} ({amount})", drawn.label, drawn.id),
    };
    let verb = super::verb(world, record.enter, &what);
    let mut part = part(world, &drawn.id, "entered", format!("The new {noun} is entered."), predicate, verb);
    part.work = vec![steps::create(key, &drawn.id, &drawn.fields)];
    part.back = Some(vec![steps::on("delete", key, &drawn.id)]);
    part
}

/// A record to be removed: named, or described.
pub(super) fn remove(world: &mut World, wish: Wish) -> Part {
    declare(world);
    let (record, main) = (world.domain.record, world.main.clone());
    let (key, noun) = (record.kind.key, record.kind.noun.one);
    let used: Vec<Value> = world
        .entities
        .iter()
        .filter(|entity| entity.entity_type == key && entity.fields[record.link.field] == json!(main))
        .map(|entity| entity.fields[record.class.field].clone())
        .collect();
    let free: Vec<&'static str> = record
        .classes
        .iter()
        .map(|(symbol, _)| *symbol)
        .filter(|symbol| !used.contains(&json!(symbol)) && !world.coming_classes.contains(symbol))
        .collect();
    // A description by amount or class must fit nothing else, now or later.
    let style = world.draws.below(5);
    let (drawn, what) = match style {
        0 if world.only_class.is_none() && !free.is_empty() => {
            let class = world.draws.word(&free);
            let drawn = fields(world, &main, Some(class), None);
            world.only_class = Some(class);
            let phrase = phrase_of(world, class);
            (drawn, format!("the only {noun} of {{own}} {phrase}"))
        }
        1 => (fields(world, &main, None, Some(record.low)), format!("{{its:{noun}}} with {}", record.least)),
        2 => (fields(world, &main, None, Some(record.high)), format!("{{its:{noun}}} with {}", record.most)),
        3 => {
            let drawn = fields(world, &main, None, None);
            let what = format!("the {noun} \"{}\"", drawn.label);
            (drawn, what)
        }
        _ => {
            let drawn = fields(world, &main, None, None);
            let what = format!("{noun} {}", drawn.id);
            (drawn, what)
        }
    };
    put(world, &drawn, true);
    let verb = super::verb(world, record.remove, &what);
    let predicate = holds::deleted(key, &drawn.id);
    let description = format!("The {noun} in question is gone.");
    let mut part = part(world, &drawn.id, "removed", description, predicate, verb);
    part.work = vec![steps::on("delete", key, &drawn.id)];
    if wish.reversible || world.draws.chance(4, 5) {
        part.back = Some(vec![steps::on("restore", key, &drawn.id)]);
    } else {
        let never = world.never();
        let message = format!("A {noun} like this stays {} once it is.", record.removed);
        world.require(json!({"op": "restore", "type": key, "id": drawn.id}), vec![never.clone()], &message);
        // Nor may it come back as a new one under its old id.
        world.require(json!({"op": "create", "type": key, "id": drawn.id}), vec![never], &message);
    }
    part
}

/// A removed record to be brought back.
pub(super) fn restore(world: &mut World) -> Part {
    declare(world);
    let (record, main) = (world.domain.record, world.main.clone());
    let (key, noun) = (record.kind.key, record.kind.noun.one);
    let drawn = add(world, &main, None, false);
    let recreated = world.types.iter().any(|known| known.name == key && known.recreate == "new_incarnation");
    let mut note = None;
    let predicate = match world.draws.below(3) {
        0 => holds::exists(key, &drawn.id),
        1 if recreated => {
            note = Some(format!("It has to be the old {noun}, not a new one under the same number."));
            holds::exists_as(key, &drawn.id, 1)
        }
        _ => {
            let new = world.new_id(record.kind.prefix);
            allow_creation(world, &new);
            note = Some(
                world
                    .draws
                    .word(&["Do not enter it anew as {id}.", "There must be no new entry {id} in its place."])
                    .replace("{id}", &new),
            );
            holds::all(vec![holds::exists(key, &drawn.id), holds::absent(key, &new)])
        }
    };
    let removed = record.removed;
    let what = match world.draws.below(3) {
        0 => format!("{noun} {} (\"{}\"), which was {removed} by mistake", drawn.id, drawn.label),
        1 => format!("{noun} {}, which should not have been {removed}", drawn.id),
        _ => format!("{noun} {} ({removed} in error)", drawn.id),
    };
    let verb = super::verb(world, record.restore, &what);
    let description = format!("The {noun} that was {removed} by mistake is there again.");
    let mut part = part(world, &drawn.id, "back", description, predicate, verb);
    part.note = note;
    part.work = vec![steps::on("restore", key, &drawn.id)];
    part.back = Some(vec![steps::on("delete", key, &drawn.id)]);
    part
}

/// A record that has to be of another class.
pub(super) fn alter(world: &mut World) -> Part {
    declare(world);
    let (record, main) = (world.domain.record, world.main.clone());
    let (key, noun) = (record.kind.key, record.kind.noun.one);
    let drawn = add(world, &main, None, true);
    let mut others: Vec<&'static str> = record
        .classes
        .iter()
        .map(|(symbol, _)| *symbol)
        .filter(|symbol| *symbol != drawn.class && world.only_class != Some(*symbol))
        .collect();
    world.draws.shuffle(&mut others);
    world.coming_classes.extend(others.iter().copied());
    let right = others.first().copied().unwrap_or(record.classes[0].0);
    let field = record.class.field;
    let (phrase, old) = (phrase_of(world, right), phrase_of(world, drawn.class));
    let name = if world.draws.chance(1, 2) {
        format!("{noun} {}", drawn.id)
    } else {
        format!("the {noun} \"{}\"", drawn.label)
    };
    let (predicate, verb) = match world.draws.below(4) {
        0 if others.len() == 2 => {
            let predicate = holds::one_of(key, &drawn.id, field, &[json!(others[0]), json!(others[1])]);
            let (one, two) = (words(others[0]), words(others[1]));
            (
                predicate,
                format!("change {} of {name} to \"{one}\" or \"{two}\", as you like", words(&format!("the {field}"))),
            )
        }
        1 if others.len() == 2 => {
            let predicate = holds::not(holds::equals(key, &drawn.id, field, &json!(drawn.class)));
            (predicate, format!("make sure that {name} is no longer {old}"))
        }
        2 => (
            holds::equals(key, &drawn.id, field, &json!(right)),
            format!("change the {} of {name} to \"{}\"", words(field), words(right)),
        ),
        _ => (holds::equals(key, &drawn.id, field, &json!(right)), format!("see to it that {name} is {phrase}")),
    };
    let description = format!("The {} of the {noun} is changed.", words(field));
    let mut part = part(world, &drawn.id, "changed", capital(&description), predicate, verb);
    part.work = vec![steps::update(key, &drawn.id, field, &json!(right))];
    part.back = Some(vec![steps::update(key, &drawn.id, field, &json!(drawn.class))]);
    part
}
