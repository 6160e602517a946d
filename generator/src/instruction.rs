//! The instruction: an opening, what to do in one of several manners of speaking, and remarks that ask for nothing.

use crate::language::{Record, capital, count, realize};
use crate::part::Part;
use crate::world::World;

/// A manner of speaking.
#[derive(Debug, Clone, Copy)]
enum Voice {
    Plain,
    Ordered,
    Polite,
    Duty,
    Listed,
}

/// One thing to do, as it is said.
struct Item {
    verb: String,
    note: Option<String>,
}

/// What one version of the goal says.
pub(crate) struct Telling<'t> {
    pub(crate) parts: Vec<&'t Part>,
    /// Verbs in place of the parts' own, by position.
    pub(crate) verbs: Vec<Option<String>>,
    /// Whether the parts may come in another order.
    pub(crate) free_order: bool,
    /// Sentences before what to do.
    pub(crate) before: Vec<String>,
    /// Sentences after it.
    pub(crate) after: Vec<String>,
}

/// The first instruction of a task.
pub(crate) fn first(world: &mut World, telling: &Telling<'_>) -> String {
    let opening = world.draws.word(world.domain.main.openings);
    let (noun, id) = (world.domain.main.kind.noun.one, world.main.clone());
    let opening = opening
        .replace("{main}", &format!("{noun} {id}"))
        .replace("{subject}", world.subject)
        .replace("{party}", &world.party);
    let mut sentences = vec![capital(&opening)];
    if world.draws.chance(1, 4) {
        sentences.push(world.draws.word(world.domain.asides).to_owned());
    }
    sentences.extend(tell(world, telling));
    if world.draws.chance(2, 3) {
        sentences.push(leave_alone(world));
    }
    if world.draws.chance(1, 4) {
        let aside = world.draws.word(world.domain.asides);
        if !sentences.iter().any(|sentence| sentence == aside) {
            sentences.push(aside.to_owned());
        }
    }
    sentences.join(" ")
}

/// The instruction of a later version.
pub(crate) fn revised(world: &mut World, telling: &Telling<'_>) -> String {
    let mut sentences = vec![world.draws.word(world.domain.news.openings).to_owned()];
    sentences.extend(tell(world, telling));
    sentences.join(" ")
}

fn tell(world: &mut World, telling: &Telling<'_>) -> Vec<String> {
    let mut sentences = telling.before.clone();
    let mut order: Vec<usize> = (0..telling.parts.len()).collect();
    let voice =
        *world.draws.pick(&[Voice::Plain, Voice::Plain, Voice::Ordered, Voice::Polite, Voice::Duty, Voice::Listed]);
    if telling.free_order && !matches!(voice, Voice::Ordered) && world.draws.chance(1, 2) {
        world.draws.shuffle(&mut order);
    }
    let mut clear = false;
    let items: Vec<Item> = order
        .into_iter()
        .map(|index| {
            let part = telling.parts[index];
            let verb = telling.verbs.get(index).and_then(Clone::clone).unwrap_or_else(|| part.verb.clone());
            let item = item(
                world,
                &verb,
                part.note.as_deref().filter(|_| telling.verbs.get(index).is_none_or(Option::is_none)),
                clear,
            );
            clear = part.clear && item.note.is_none() && (verb.contains("{main}") || verb.contains("{its:"));
            item
        })
        .collect();
    sentences.extend(match voice {
        Voice::Plain => plain(world, &items),
        Voice::Ordered => ordered(world, &items),
        Voice::Polite => spoken(
            world,
            &items,
            &[
                "Please {v}.",
                "I would also like you to {v}.",
                "Could you {v}, please?",
                "Be so kind as to {v}.",
                "{V}, please.",
            ],
        ),
        Voice::Duty => spoken(
            world,
            &items,
            &[
                "You have to {v}.",
                "It is also up to you to {v}.",
                "What is needed further is to {v}.",
                "Your task is also to {v}.",
                "Do not forget to {v}.",
            ],
        ),
        Voice::Listed => listed(world, &items),
    });
    sentences.extend(telling.after.iter().cloned());
    sentences
}

fn item(world: &mut World, verb: &str, note: Option<&str>, clear: bool) -> Item {
    let (noun, id) = (world.domain.main.kind.noun.one, world.main.clone());
    let record = Record { noun, id: &id };
    let note = note.map(|note| realize(note, record, false, &mut world.draws));
    Item { verb: realize(verb, record, clear, &mut world.draws), note }
}

fn plain(world: &mut World, items: &[Item]) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let mut index = 0;
    while index < items.len() {
        let item = &items[index];
        let next = items.get(index + 1).filter(|next| {
            let short = item.verb.len() + next.verb.len() < 130;
            short && item.note.is_none() && !item.verb.contains(',') && world.draws.chance(1, 3)
        });
        if let Some(next) = next {
            let joint = world.draws.word(&["and", "then"]);
            let joint = if joint == "then" { ", then" } else { " and" };
            sentences.push(capital(&format!("{}{joint} {}.", item.verb, next.verb)));
            sentences.extend(next.note.clone());
            index += 2;
        } else {
            sentences.push(capital(&format!("{}.", item.verb)));
            sentences.extend(item.note.clone());
            index += 1;
        }
    }
    sentences
}

fn ordered(world: &mut World, items: &[Item]) -> Vec<String> {
    let mut markers = ["Then", "Next,", "After that,"];
    world.draws.shuffle(&mut markers);
    let mut sentences = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let marker = match index {
            0 => world.draws.word(&["First", "To begin with,", "First of all,"]),
            last if last + 1 == items.len() => world.draws.word(&["Finally,", "Last,", "In the end,"]),
            middle => markers[middle % markers.len()],
        };
        sentences.push(format!("{marker} {}.", item.verb));
        sentences.extend(item.note.clone());
    }
    sentences
}

/// Each item in another pattern, the first one first.
fn spoken(world: &mut World, items: &[Item], patterns: &[&'static str]) -> Vec<String> {
    let mut rest = patterns[1..].to_vec();
    world.draws.shuffle(&mut rest);
    let mut sentences = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let pattern = if index == 0 { patterns[0] } else { rest[(index - 1) % rest.len()] };
        sentences.push(pattern.replace("{v}", &item.verb).replace("{V}", &capital(&item.verb)));
        sentences.extend(item.note.clone());
    }
    sentences
}

fn listed(world: &mut World, items: &[Item]) -> Vec<String> {
    let number = count(i64::try_from(items.len()).unwrap_or(0));
    let lead = match world.draws.below(3) {
        _ if items.len() == 1 => "One thing has to be done:".to_owned(),
        0 => format!("{} things have to be done:", capital(&number)),
        1 => "This is what has to be done:".to_owned(),
        _ => format!("There are {number} things to see to:"),
    };
    let verbs: Vec<String> = items
        .iter()
        .enumerate()
        .map(
            |(index, item)| {
                if index + 1 == items.len() && index > 0 { format!("and {}", item.verb) } else { item.verb.clone() }
            },
        )
        .collect();
    let mut sentences = vec![format!("{lead} {}.", verbs.join("; "))];
    for item in items {
        if let Some(note) = item.note.clone().filter(|note| !sentences.contains(note)) {
            sentences.push(note);
        }
    }
    sentences
}

/// A sentence about another record, which is none of the agent's business.
fn leave_alone(world: &mut World) -> String {
    let noun = world.domain.main.kind.noun.one;
    let other = world.draws.pick(&world.others.clone()).clone();
    let patterns: &[&str] = &[
        "{N} {o} is somebody else's; leave it as it is.",
        "Leave {n} {o} alone.",
        "Do not touch {o}, which a colleague looks after.",
        "Nothing is to be changed about {n} {o}.",
        "Others are at work on {n} {o}, so keep your hands off it.",
    ];
    world.draws.word(patterns).replace("{N}", &capital(noun)).replace("{n}", noun).replace("{o}", &other)
}
