//! The kinds of parts: each draws its entities, predicate, words and steps from a domain's description.

mod amount;
mod checks;
mod choice;
mod date;
mod record;
mod sign_off;
mod simple;
mod stage;

use serde_json::{Value, json};

use crate::domain::Domain;
use crate::draft::{Goal, holds, steps};
use crate::part::{Part, Variant};
use crate::world::World;

/// A kind of part, with the index of its description in the domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Motif {
    Choice(usize),
    Sum(usize),
    Level(usize),
    Stage(usize),
    Set(usize),
    Flag(usize),
    Date(usize),
    Text(usize),
    Checks,
    Enter,
    Remove,
    Restore,
    Alter,
    SignOff,
}

impl Motif {
    /// Every motif that changes the record or its checks.
    pub(crate) fn updates(domain: &Domain) -> Vec<Motif> {
        let mut motifs = vec![Motif::Checks];
        motifs.extend((0..domain.choices.len()).map(Motif::Choice));
        motifs.extend((0..domain.sums.len()).map(Motif::Sum));
        motifs.extend((0..domain.levels.len()).map(Motif::Level));
        motifs.extend((0..domain.stages.len()).map(Motif::Stage));
        motifs.extend((0..domain.sets.len()).map(Motif::Set));
        motifs.extend((0..domain.flags.len()).map(Motif::Flag));
        motifs.extend((0..domain.dates.len()).map(Motif::Date));
        motifs.extend((0..domain.texts.len()).map(Motif::Text));
        motifs
    }

    /// The motifs about side records.
    pub(crate) const RECORDS: [Motif; 4] = [Motif::Enter, Motif::Remove, Motif::Restore, Motif::Alter];
}

/// What a part is drawn for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wish {
    /// It must be possible to take it back.
    pub(crate) reversible: bool,
    /// Somebody is asked, who may name a value.
    pub(crate) told: bool,
    /// Side records can be created and removed.
    pub(crate) records: bool,
}

/// Draws a part.
pub(crate) fn draw(world: &mut World, motif: Motif, wish: Wish) -> Part {
    let domain = world.domain;
    match motif {
        Motif::Choice(index) => choice::draw(world, &domain.choices[index]),
        Motif::Sum(index) => amount::sum(world, &domain.sums[index]),
        Motif::Level(index) => amount::level(world, &domain.levels[index]),
        Motif::Stage(index) => stage::draw(world, &domain.stages[index], wish),
        Motif::Set(index) => simple::set(world, &domain.sets[index]),
        Motif::Flag(index) => simple::flag(world, &domain.flags[index], wish),
        Motif::Text(index) => simple::text(world, &domain.texts[index]),
        Motif::Date(index) => date::draw(world, &domain.dates[index], wish),
        Motif::Checks => checks::draw(world),
        Motif::Enter => record::enter(world),
        Motif::Remove => record::remove(world, wish),
        Motif::Restore => record::restore(world),
        Motif::Alter => record::alter(world),
        Motif::SignOff => sign_off::draw(world, wish),
    }
}

/// An id for the predicate of a field, with a hyphen, so that no sentence names it.
fn predicate_id(field: &str, suffix: &str) -> String {
    format!("{}-{suffix}", field.replace('_', "-"))
}

/// Puts what is to be worked out into one of some verbs.
fn verb(world: &mut World, verbs: &[&'static str], what: &str) -> String {
    world.draws.word(verbs).replace("{x}", what)
}

/// The step that writes a value of the record.
fn write(world: &World, field: &str, value: &Value) -> Value {
    steps::update(world.main_type(), &world.main, field, value)
}

/// A first version that asks for another value of the same field.
fn other_value(world: &World, field: &str, value: &Value, verb: String) -> Variant {
    let predicate = holds::equals(world.main_type(), &world.main, field, value);
    let description = format!("The {} is as first asked for.", crate::language::words(field));
    let goal = Goal { id: predicate_id(field, "first"), description, predicate };
    Variant { goal, verb, work: vec![write(world, field, value)] }
}

/// Whether a domain that offers a choice of wordings takes the rarer one.
fn one_in(world: &mut World, of: usize) -> bool {
    world.draws.chance(1, of)
}

/// The numbers as values.
fn numbers(of: &[i64]) -> Vec<Value> {
    of.iter().map(|number| json!(number)).collect()
}
