//! Sets, truth values and short texts of the record.

use serde_json::{Value, json};

use crate::domain::{Flag, SetField, Text};
use crate::draft::{FieldDraft, holds, kinds, steps};
use crate::language::fill_digits;
use crate::part::{Part, Settable};
use crate::world::World;

use super::Wish;

/// A sorted set of symbols.
fn sorted(symbols: &[&str]) -> Value {
    let mut symbols = symbols.to_vec();
    symbols.sort_unstable();
    symbols.dedup();
    json!(symbols)
}

/// An element to be put into a set, or taken out, or one or both of two.
pub(super) fn set(world: &mut World, set: &'static SetField) -> Part {
    let (main_type, field, main) = (world.main_type(), set.at.field, world.main.clone());
    let mut symbols = set.symbols.to_vec();
    world.draws.shuffle(&mut symbols);
    let [(first, first_words), (second, second_words), (third, _), (base, _)] =
        [symbols[0], symbols[1], symbols[2], symbols[3]];
    let contains = |symbol: &str| holds::contains(main_type, &main, field, &json!(symbol));
    let style = if set.remove.is_empty() { 1 + world.draws.below(3) } else { world.draws.below(5) };
    let (initial, right, slip, predicate, what, verbs) = match style {
        0 | 4 => {
            let (initial, right) = (sorted(&[base, first]), sorted(&[base]));
            (initial, right, sorted(&[first, third]), holds::not(contains(first)), first_words.to_owned(), set.remove)
        }
        1 => {
            let both = holds::all(vec![contains(first), contains(second)]);
            let right = sorted(&[base, first, second]);
            (
                sorted(&[base]),
                right,
                sorted(&[base, second]),
                both,
                format!("both {first_words} and {second_words}"),
                set.add,
            )
        }
        2 => {
            let one = holds::any(vec![contains(first), contains(second)]);
            let right = sorted(&[base, if world.draws.chance(1, 2) { first } else { second }]);
            (
                sorted(&[base]),
                right,
                sorted(&[base, third]),
                one,
                format!("either {first_words} or {second_words}"),
                set.add,
            )
        }
        _ => {
            let right = sorted(&[base, first]);
            (sorted(&[base]), right, sorted(&[base, third]), contains(first), first_words.to_owned(), set.add)
        }
    };
    let mut universe = vec![initial.clone(), right.clone(), slip.clone()];
    if world.width > 3 {
        universe.push(sorted(&[base, third, second]));
    }
    let names: Vec<&str> = set.symbols.iter().map(|(symbol, _)| *symbol).collect();
    let draft = FieldDraft::new(field, set.at.doc, kinds::set_of(kinds::symbols(&names))).universe(&universe);
    let others = world.some(&universe);
    world.main_field(draft, &initial, &others);
    let verb = super::verb(world, verbs, &what);
    let description = format!("The {} are as asked for.", crate::language::words(field));
    let mut part = Part::new(&super::predicate_id(field, "right"), description, predicate, verb);
    part.look = vec![steps::on("read", main_type, &main)];
    part.work = vec![super::write(world, field, &right)];
    part.back = Some(vec![super::write(world, field, &initial)]);
    part.slip = Some(super::write(world, field, &slip));
    if style == 3 {
        let (other, other_words) = (sorted(&[base, second]), second_words);
        let verb = super::verb(world, set.add, other_words);
        let mut variant = super::other_value(world, field, &other, verb);
        variant.goal.predicate = contains(second);
        // The value has to be one that the search may write.
        part.variant = universe.contains(&other).then_some(variant);
    }
    part
}

/// A truth value that has to become true.
pub(super) fn flag(world: &mut World, flag: &'static Flag, wish: Wish) -> Part {
    let (main_type, field, main) = (world.main_type(), flag.at.field, world.main.clone());
    let others = world.some(&[json!(false), json!(true)]);
    world.main_field(FieldDraft::new(field, flag.at.doc, kinds::boolean()), &json!(false), &others);
    let predicate = if super::one_in(world, 4) {
        holds::not(holds::equals(main_type, &main, field, &json!(false)))
    } else {
        holds::equals(main_type, &main, field, &json!(true))
    };
    let verb = super::verb(world, flag.verbs, "");
    let description = format!("The entry \"{}\" is made.", crate::language::words(field));
    let mut part = Part::new(&super::predicate_id(field, "done"), description, predicate, verb);
    part.look = vec![steps::on("read", main_type, &main)];
    part.work = vec![super::write(world, field, &json!(true))];
    // What is entered once may be there to stay.
    if wish.reversible || !super::one_in(world, 4) {
        part.back = Some(vec![super::write(world, field, &json!(false))]);
    } else {
        world.graph(main_type, field, &[(json!(false), json!(true))]);
    }
    part.settable = Some(Settable {
        field: field.to_owned(),
        words: format!("entry \"{}\"", crate::language::words(field)),
        is_set: None,
    });
    part
}

/// A short text that is quoted, or copied from another record.
pub(super) fn text(world: &mut World, text: &'static Text) -> Part {
    let (main_type, field, main) = (world.main_type(), text.at.field, world.main.clone());
    let mut values: Vec<String> = Vec::new();
    while values.len() < 3 {
        let pattern = world.draws.word(text.values);
        let value = fill_digits(pattern, &mut world.draws);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let mut universe = vec![json!(""), json!(values[0]), json!(values[1])];
    if world.width > 3 {
        universe.push(json!(values[2]));
    }
    let copied = super::one_in(world, 3);
    let others = if copied { vec![json!(values[0])] } else { world.some(&universe) };
    let draft = FieldDraft::new(field, text.at.doc, kinds::text(40)).universe(&universe);
    world.main_field(draft, &json!(""), &others);
    let its = format!("{{its:{}}}", text.words);
    let verb = if copied {
        let other = world.others.first().cloned().unwrap_or_default();
        world
            .draws
            .word(&["copy {w} from {o}", "enter as {w} the one that {o} has", "give {main} the {p} that {o} has"])
            .replace("{o}", &other)
    } else {
        let shown = if world.draws.chance(1, 2) { format!("\"{}\"", values[0]) } else { values[0].clone() };
        world.draws.word(&["enter {x} as {w}", "set {w} to {x}", "note {x} as {w}"]).replace("{x}", &shown)
    };
    let verb = verb.replace("{w}", &its).replace("{p}", text.words);
    let description = format!("The {} is entered.", text.words);
    let predicate = holds::equals(main_type, &main, field, &json!(values[0]));
    let mut part = Part::new(&super::predicate_id(field, "entered"), description, predicate, verb);
    part.look = vec![if copied { steps::list(main_type) } else { steps::on("read", main_type, &main) }];
    part.work = vec![super::write(world, field, &json!(values[0]))];
    part.back = Some(vec![super::write(world, field, &json!(""))]);
    part.slip = Some(super::write(world, field, &json!(values[1])));
    part.settable = Some(Settable {
        field: field.to_owned(),
        words: text.words.to_owned(),
        is_set: Some(holds::not(holds::equals(main_type, &main, field, &json!("")))),
    });
    part.clear = !copied;
    let first = values[1].clone();
    part.variant = Some(super::other_value(world, field, &json!(first), format!("enter {first} as {its}")));
    part
}
