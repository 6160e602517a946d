//! A tick of the record: named, counted from another, bounded, or told by somebody.

use serde_json::{Value, json};

use crate::domain::Date;
use crate::draft::{FieldDraft, holds, kinds, steps};
use crate::language::number;
use crate::part::{Part, Settable};
use crate::world::World;

use super::Wish;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Exactly,
    Counted,
    LookedUp,
    NotAfter,
    NotBefore,
    Told,
}

pub(super) fn draw(world: &mut World, date: &'static Date, wish: Wish) -> Part {
    let (main_type, field, main) = (world.main_type(), date.at.field, world.main.clone());
    let mut styles =
        vec![Style::Exactly, Style::Counted, Style::LookedUp, Style::LookedUp, Style::NotAfter, Style::NotBefore];
    if wish.told {
        styles.extend([Style::Told, Style::Told, Style::Told]);
    }
    let style = *world.draws.pick(&styles);
    let base = world.draws.between(date.low, date.high);
    let span = world.draws.between(3, 30);
    let right = base + span;
    let (early, late) = (right - world.draws.between(1, 2), right + world.draws.between(1, 9));
    let (initial, slip) = match style {
        Style::NotAfter => (late + 5, late),
        Style::NotBefore => (early - 1, early),
        _ => (0, if world.draws.chance(1, 2) { early } else { late }),
    };
    let mut universe = super::numbers(&[initial, right, slip]);
    if world.width > 3 {
        universe.push(json!(right + 40));
    }
    add_fields(world, date, base, span, style);
    let others = world.some(&universe);
    world.main_field(FieldDraft::new(field, date.at.doc, kinds::tick()).universe(&universe), &json!(initial), &others);

    let its = format!("{{its:{}}}", date.words);
    let tick = format!("tick {}", number(right));
    let what = match style {
        Style::Counted => {
            let days =
                if span == 7 && world.draws.chance(1, 2) { "one week".to_owned() } else { format!("{span} days") };
            format!("the tick {days} after {}", date.base_words)
        }
        Style::LookedUp => format!("{} plus {}", date.base_words, date.span_words),
        Style::Told => format!("the tick that {} names", world.domain.consent.who),
        _ => tick.clone(),
    };
    let verbs: &[&str] = match style {
        Style::NotAfter => &["move {w} to {x} or earlier", "see to it that {w} is no later than {x}"],
        Style::NotBefore => &["move {w} to {x} or later", "see to it that {w} is not before {x}"],
        Style::LookedUp => &["set {w} to {x}", "add {s} to {b} and enter the tick as {w}"],
        _ => &["set {w} to {x}", "enter {x} as {w}"],
    };
    let verb = world
        .draws
        .word(verbs)
        .replace("{w}", &its)
        .replace("{x}", &what)
        .replace("{s}", date.span_words)
        .replace("{b}", date.base_words);
    let predicate = match style {
        Style::NotAfter => holds::at_most(main_type, &main, field, right),
        Style::NotBefore => holds::at_least(main_type, &main, field, right),
        _ => holds::equals(main_type, &main, field, &json!(right)),
    };
    let description = format!("The {} is right.", date.words);
    let mut part = Part::new(&super::predicate_id(field, "in-place"), description, predicate, verb);
    if matches!(style, Style::Counted | Style::LookedUp) {
        part.note =
            Some(world.draws.word(&["A tick is one day.", "Days are ticks here.", "One day is one tick."]).to_owned());
    }
    if style == Style::Told {
        let who = world.domain.consent.who;
        let text =
            world.draws.word(&["{t} would be right.", "Please take {t}.", "Yes. Make it {t}."]).replace("{t}", &tick);
        world.script(
            "date-named",
            "user",
            json!({"kind": "message"}),
            steps::say("agent", &crate::language::capital(&text)),
        );
        part.note = Some(format!("{} will name it when asked.", crate::language::capital(who)));
    }
    part.look = vec![steps::on("read", main_type, &main)];
    part.work = vec![super::write(world, field, &json!(right))];
    part.back = Some(vec![super::write(world, field, &json!(initial))]);
    part.slip = Some(super::write(world, field, &json!(slip)));
    part.settable = Some(Settable {
        field: field.to_owned(),
        words: date.words.to_owned(),
        is_set: (initial == 0).then(|| holds::not(holds::equals(main_type, &main, field, &json!(0)))),
    });
    let first = format!("set {its} to tick {}", number(slip));
    part.variant = (style != Style::Told).then(|| super::other_value(world, field, &json!(slip), first));
    part
}

/// The tick that is counted from, and the period on file where it has to be looked up.
fn add_fields(world: &mut World, date: &'static Date, base: i64, span: i64, style: Style) {
    let others: Vec<Value> = (0..world.others.len()).map(|_| json!(world.draws.between(date.low, date.high))).collect();
    world.main_field(FieldDraft::new(date.base.field, date.base.doc, kinds::tick()), &json!(base), &others);
    if style == Style::LookedUp {
        let others: Vec<Value> = (0..world.others.len()).map(|_| json!(world.draws.between(3, 30))).collect();
        let draft = FieldDraft::new(date.span.field, date.span.doc, kinds::integer(0, 400)).unit("day");
        world.main_field(draft, &json!(span), &others);
    }
}
