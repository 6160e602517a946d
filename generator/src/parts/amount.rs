//! Amounts of the record: sums that follow from other records, and levels that are named.

use serde_json::{Value, json};

use crate::domain::{Level, Sum};
use crate::draft::{FieldDraft, holds, kinds, steps};
use crate::language::{quantity, words};
use crate::part::{Part, Settable};
use crate::world::World;

/// Greatest amount of any field.
const MOST: i64 = 1_000_000;

/// A sum over the lines that count, perhaps with an amount of the record added or taken off.
pub(super) fn sum(world: &mut World, sum: &'static Sum) -> Part {
    let (main_type, field) = (world.main_type(), sum.at.field);
    let lines = lines(world, sum);
    let counted: i64 = lines.iter().filter(|(_, counts)| *counts).map(|(amount, _)| amount).sum();
    let every: i64 = lines.iter().map(|(amount, _)| amount).sum();
    let offset = (!sum.offset.field.is_empty() && counted > 8 && world.draws.chance(1, 2))
        .then(|| world.draws.between(1, counted / 3));
    let sign = if sum.taken_off { -1 } else { 1 };
    let right = counted + sign * offset.unwrap_or(0);
    if let Some(offset) = offset {
        let others: Vec<Value> = (0..world.others.len()).map(|_| json!(world.draws.between(1, counted))).collect();
        let draft = FieldDraft::new(sum.offset.field, sum.offset.doc, kinds::integer(0, MOST)).unit(sum.unit.code);
        world.main_field(draft, &json!(offset), &others);
    }
    let mut wrong: Vec<i64> = vec![every + sign * offset.unwrap_or(0), counted, every, right + 1];
    wrong.retain(|amount| *amount != right);
    wrong.dedup();
    wrong.truncate(world.width - 2);
    let universe: Vec<Value> = super::numbers(&[&[0, right], wrong.as_slice()].concat());
    let others = world.some(&[json!(0), json!(wrong[0])]);
    let draft = FieldDraft::new(field, sum.at.doc, kinds::integer(0, MOST)).unit(sum.unit.code).universe(&universe);
    world.main_field(draft, &json!(0), &others);

    let lead = world.draws.word(&["the sum of", "the total of"]);
    let mut what = format!("{lead} {{its:{}}} {}", sum.lines.noun.many, sum.phrase);
    if offset.is_some() {
        let sign = if sum.taken_off { "less" } else { "plus" };
        what.push_str(&format!(", {sign} {{its:{}}}", sum.offset_words));
    }
    let verbs: &[&str] = if offset.is_some() {
        &["set {w} to {x}", "work out {w}: it is {x}"]
    } else {
        &["set {w} to {x}", "enter {x} as {w}", "fill in {w}, which is {x}"]
    };
    let its = format!("{{its:{}}}", sum.words);
    let verb = world.draws.word(verbs).replace("{w}", &its).replace("{x}", &what);
    let description = format!("The {} follows from the {}.", sum.words, sum.lines.noun.many);
    let predicate = holds::equals(main_type, &world.main, field, &json!(right));
    let mut part = Part::new(&super::predicate_id(field, "worked-out"), description, predicate, verb);
    part.look = vec![steps::list(sum.lines.key)];
    if offset.is_some() {
        part.look.push(steps::on("read", main_type, &world.main));
    }
    part.work = vec![super::write(world, field, &json!(right))];
    part.back = Some(vec![super::write(world, field, &json!(0))]);
    part.slip = Some(super::write(world, field, &json!(wrong[0])));
    part.settable = Some(Settable {
        field: field.to_owned(),
        words: sum.words.to_owned(),
        is_set: Some(holds::at_least(main_type, &world.main, field, 1)),
    });
    let first = quantity(wrong[0], sum.unit, &mut world.draws);
    part.variant = Some(super::other_value(world, field, &json!(wrong[0]), format!("set {its} to {first}")));
    part
}

/// The lines of the record, with whether they count; some of others stand among them.
fn lines(world: &mut World, sum: &'static Sum) -> Vec<(i64, bool)> {
    let main_type = world.main_type();
    let fields = vec![
        FieldDraft::new(main_type, "What it belongs to.", kinds::reference(main_type)),
        FieldDraft::new(sum.label.field, sum.label.doc, kinds::text(80)),
        FieldDraft::new(sum.amount.field, sum.amount.doc, kinds::integer(0, MOST)).unit(sum.unit.code),
        FieldDraft::new(sum.counts.field, sum.counts.doc, kinds::boolean()),
    ];
    world.add_type(sum.lines, "refuse", fields);
    let mut labels = sum.labels.to_vec();
    world.draws.shuffle(&mut labels);
    let own = 3 + world.draws.below(3);
    let mut lines: Vec<(String, i64, bool)> = Vec::new();
    for index in 0..own + 1 + world.draws.below(2) {
        let amount = world.draws.between(sum.low, sum.high);
        // Of the record's lines two count and one does not, whatever the others do.
        let counts =
            if index < own { index < 2 || index > 2 && world.draws.chance(2, 3) } else { world.draws.chance(1, 2) };
        let owner = if index < own { world.main.clone() } else { world.draws.pick(&world.others.clone()).clone() };
        lines.push((owner, amount, counts));
    }
    world.draws.shuffle(&mut lines);
    for (index, (owner, amount, counts)) in lines.iter().enumerate() {
        let id = world.new_id(sum.lines.prefix);
        let fields = [
            (main_type, json!(owner)),
            (sum.label.field, json!(labels[index % labels.len()])),
            (sum.amount.field, json!(amount)),
            (sum.counts.field, json!(*counts == sum.counted)),
        ];
        world.add_entity(sum.lines.key, &id, true, &fields);
    }
    lines.into_iter().filter(|(owner, ..)| *owner == world.main).map(|(_, amount, counts)| (amount, counts)).collect()
}

/// How a level is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    AtLeast,
    AtMost,
    Exactly,
    Same,
}

/// An amount that is named, or bounded, or the same as another record's.
pub(super) fn level(world: &mut World, level: &'static Level) -> Part {
    let (main_type, field) = (world.main_type(), level.at.field);
    let style = *world.draws.pick(&[Style::AtLeast, Style::AtMost, Style::Exactly, Style::Same]);
    let steps_up = (level.high - level.low) / level.step;
    let mut rungs: Vec<i64> = Vec::new();
    while rungs.len() < 3 {
        let rung = level.low + level.step * world.draws.between(0, steps_up);
        if !rungs.contains(&rung) {
            rungs.push(rung);
        }
    }
    rungs.sort_unstable();
    let [low, middle, high] = [rungs[0], rungs[1], rungs[2]];
    let (initial, right, slip) = match style {
        Style::AtLeast => (low, high, middle),
        Style::AtMost => (high, low, middle),
        _ if world.draws.chance(1, 2) => (low, middle, high),
        _ => (high, middle, low),
    };
    let universe = super::numbers(&rungs);
    let others = if style == Style::Same { vec![json!(right)] } else { world.some(&universe) };
    let kind = kinds::integer(0, level.high * 4);
    let draft = FieldDraft::new(field, level.at.doc, kind).unit(level.unit.code).universe(&universe);
    world.main_field(draft, &json!(initial), &others);

    let q = quantity(right, level.unit, &mut world.draws);
    let other = world.others.first().cloned().unwrap_or_default();
    let noun = world.domain.main.kind.noun.one;
    let verbs: &[&str] = match style {
        Style::AtLeast => {
            &["raise {w} to at least {q}", "see to it that {w} is {q} or more", "bring {w} up to {q} or above"]
        }
        Style::AtMost => &[
            "lower {w} to {q} or less",
            "bring {w} down to no more than {q}",
            "make sure that {w} does not exceed {q}",
        ],
        Style::Exactly => &["set {w} to {q}", "change {w} to exactly {q}", "correct {w}, which has to be {q}"],
        Style::Same => &[
            "set {w} to what it is for {o}",
            "give {main} the same {p} as {o}",
            "bring {w} into line with that of {o}",
        ],
    };
    let other = if world.draws.chance(1, 2) { format!("{noun} {other}") } else { other };
    let verb = world
        .draws
        .word(verbs)
        .replace("{w}", &format!("{{its:{}}}", level.words))
        .replace("{q}", &q)
        .replace("{o}", &other)
        .replace("{p}", level.words);
    let id = world.main.clone();
    let predicate = match style {
        Style::AtLeast => holds::at_least(main_type, &id, field, right),
        Style::AtMost => holds::at_most(main_type, &id, field, right),
        _ if world.draws.chance(1, 3) => holds::all(vec![
            holds::at_least(main_type, &id, field, right),
            holds::at_most(main_type, &id, field, right),
        ]),
        _ => holds::equals(main_type, &id, field, &json!(right)),
    };
    let description = match style {
        Style::AtLeast => format!("The {} is high enough.", level.words),
        Style::AtMost => format!("The {} is low enough.", level.words),
        _ => format!("The {} is as asked for.", level.words),
    };
    let mut part = Part::new(&super::predicate_id(field, "level"), description, predicate, verb);
    part.look = vec![if style == Style::Same { steps::list(main_type) } else { steps::on("read", main_type, &id) }];
    part.work = vec![super::write(world, field, &json!(right))];
    part.back = Some(vec![super::write(world, field, &json!(initial))]);
    part.slip = Some(super::write(world, field, &json!(slip)));
    part.settable = Some(Settable { field: field.to_owned(), words: words(level.words), is_set: None });
    part.clear = style != Style::Same;
    let first = quantity(slip, level.unit, &mut world.draws);
    part.variant =
        Some(super::other_value(world, field, &json!(slip), format!("set {{its:{}}} to {first}", level.words)));
    part
}
