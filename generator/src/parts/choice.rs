//! A field of the record that has to name the right one of several others.

use serde_json::{Value, json};

use crate::domain::{Choice, Pool};
use crate::draft::{FieldDraft, Goal, holds, kinds, steps};
use crate::language::{capital, words};
use crate::part::{Part, Settable, Variant};
use crate::world::World;

/// How the right one is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// The least or greatest of those that pass a filter.
    Best,
    /// The least or greatest of those that pass the record's own filter.
    OwnBest,
    /// The only one that passes a filter.
    Only,
    /// The only one that passes the record's own filter.
    OwnOnly,
    /// The least or greatest of all.
    BestOfAll,
    /// By its name.
    Name,
    /// One of two names.
    Either,
}

struct Candidate {
    id: String,
    name: String,
    symbol: &'static str,
    metric: i64,
}

pub(super) fn draw(world: &mut World, choice: &'static Choice) -> Part {
    let has_metric = !choice.least.is_empty() || !choice.most.is_empty();
    let mut styles = vec![Style::Only, Style::Name, Style::Either];
    if has_metric {
        styles.extend([Style::Best, Style::Best, Style::BestOfAll]);
    }
    if !choice.own.is_empty() {
        styles.extend([Style::OwnBest, Style::OwnBest, Style::OwnOnly]);
        styles.retain(|style| has_metric || *style != Style::OwnBest);
    }
    let style = *world.draws.pick(&styles);
    let greatest = choice.least.is_empty() || (!choice.most.is_empty() && world.draws.chance(1, 2));
    let symbol = world.draws.word(choice.symbols);
    let (candidates, own_field) =
        (candidates(world, choice, style, symbol, greatest), matches!(style, Style::OwnBest | Style::OwnOnly));
    add(world, choice, &candidates, own_field.then_some(symbol));

    let (main_type, field, main) = (world.main_type(), choice.at.field, world.main.clone());
    let id = |index: usize| json!(candidates[index].id);
    let initial = if world.draws.chance(1, 4) { id(2) } else { Value::Null };
    let mut universe = vec![Value::Null, id(0), id(1)];
    if initial != Value::Null || world.width > 3 {
        universe.push(id(2));
    }
    let kind = kinds::reference(choice.target.key);
    let draft = FieldDraft::new(field, choice.at.doc, kind).optional().universe(&universe);
    let others = world.some(&universe);
    world.main_field(draft, &initial, &others);

    let refers = |index: usize| holds::refers(main_type, &main, field, &candidates[index].id);
    let predicate = match style {
        Style::Either if world.draws.chance(1, 2) => holds::any(vec![refers(0), refers(1)]),
        Style::Either => holds::one_of(main_type, &world.main, field, &[id(0), id(1)]),
        _ => refers(0),
    };
    let is_set = holds::any((0..candidates.len()).map(refers).collect());
    let noun = choice.target.noun.one;
    let description = format!("The right {noun} stands on the {}.", world.domain.main.kind.noun.one);
    let what = describe(world, choice, style, symbol, greatest, &candidates);
    let verb = super::verb(world, choice.verbs, &what);
    let mut part = Part::new(&super::predicate_id(field, "right"), description, predicate, verb);
    part.look = vec![steps::list(choice.target.key)];
    if own_field {
        part.look.insert(0, steps::on("read", main_type, &world.main));
    }
    let met = usize::from(style == Style::Either && world.draws.chance(1, 2));
    part.work = vec![super::write(world, field, &id(met))];
    part.back = Some(vec![super::write(world, field, &initial)]);
    let wrong = if style == Style::Either { 2 } else { 1 };
    if universe.contains(&id(wrong)) && initial != id(wrong) {
        part.slip = Some(super::write(world, field, &id(wrong)));
    }
    part.settable =
        Some(Settable { field: field.to_owned(), words: words(field), is_set: initial.is_null().then_some(is_set) });
    part.clear = choice.who == "who";
    part.variant = (style != Style::Either).then(|| {
        let goal = Goal {
            id: super::predicate_id(field, "first"),
            description: format!("The {noun} is the one first asked for."),
            predicate: refers(1),
        };
        let what = called(choice, &candidates[1]);
        Variant { goal, verb: super::verb(world, choice.verbs, &what), work: vec![super::write(world, field, &id(1))] }
    });
    part
}

/// The candidates: the right one first, then the wrong ones that are most like it.
fn candidates(
    world: &mut World,
    choice: &Choice,
    style: Style,
    symbol: &'static str,
    greatest: bool,
) -> Vec<Candidate> {
    let count = 3 + world.draws.below(3);
    let mut metrics: Vec<i64> = Vec::new();
    while metrics.len() < count {
        let metric = world.draws.between(choice.low, choice.high);
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics.sort_unstable();
    if greatest {
        metrics.reverse();
    }
    let others: Vec<&'static str> = choice.symbols.iter().copied().filter(|other| *other != symbol).collect();
    // The order: right, runner-up, decoy; a decoy is better by the metric and fails the filter.
    let order = match style {
        Style::Best | Style::OwnBest => [1, 2, 0],
        Style::BestOfAll => [0, 1, 2],
        _ => {
            let mut order = [0, 1, 2];
            world.draws.shuffle(&mut order);
            order
        }
    };
    let names = world.names(choice.names, count);
    let mut candidates = Vec::new();
    for (index, (name, slug)) in names.into_iter().enumerate() {
        let other = world.draws.word(&others);
        let symbol = match style {
            Style::Best | Style::OwnBest if index < 2 => symbol,
            Style::Best | Style::OwnBest | Style::Only | Style::OwnOnly if index > 0 => other,
            _ if index == 0 => symbol,
            _ => world.draws.word(choice.symbols),
        };
        let metric = metrics[order.get(index).copied().unwrap_or(index)];
        candidates.push(Candidate { id: format!("{}-{slug}", choice.target.prefix), name, symbol, metric });
    }
    candidates
}

fn add(world: &mut World, choice: &Choice, candidates: &[Candidate], own: Option<&'static str>) {
    let fields = vec![
        FieldDraft::new("name", "Name.", kinds::text(80)),
        FieldDraft::new(choice.filter.field, choice.filter.doc, kinds::symbols(choice.symbols)),
        FieldDraft::new(choice.metric.field, choice.metric.doc, kinds::integer(0, 100_000)).unit(choice.unit.code),
    ];
    world.add_type(choice.target, "refuse", fields);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    world.draws.shuffle(&mut order);
    for candidate in order.into_iter().map(|index| &candidates[index]) {
        let fields = [
            ("name", json!(candidate.name)),
            (choice.filter.field, json!(candidate.symbol)),
            (choice.metric.field, json!(candidate.metric)),
        ];
        world.add_entity(choice.target.key, &candidate.id, true, &fields);
    }
    if let Some(own) = own {
        let symbols: Vec<Value> = choice.symbols.iter().map(|symbol| json!(symbol)).collect();
        let others = world.some(&symbols);
        let doc = format!("{} that counts for this one.", capital(&words(choice.filter.field)));
        let field = FieldDraft::new(choice.filter.field, &doc, kinds::symbols(choice.symbols));
        world.main_field(field, &json!(own), &others);
    }
}

/// A candidate by its name.
fn called(choice: &Choice, candidate: &Candidate) -> String {
    match choice.names {
        Pool::These(_) => format!("the {} {}", choice.target.noun.one, candidate.name),
        _ => candidate.name.clone(),
    }
}

fn describe(
    world: &mut World,
    choice: &Choice,
    style: Style,
    symbol: &str,
    greatest: bool,
    candidates: &[Candidate],
) -> String {
    let (noun, who) = (choice.target.noun.one, choice.who);
    let best = if greatest { choice.most } else { choice.least };
    let filter = match style {
        Style::OwnBest | Style::OwnOnly => choice.own.replace("{main}", "{own}"),
        _ => choice.phrase.replace("{}", &words(symbol)),
    };
    match style {
        Style::Best | Style::OwnBest => {
            if filter.starts_with("that ") || filter.starts_with("who ") {
                return format!("the {noun} {filter} and has {best}");
            }
            let nested = ["that ", "with ", "whose "].iter().any(|word| filter.contains(word));
            match world.draws.below(3) {
                0 if !nested => format!("the {noun} {filter} with {best}"),
                1 if !filter.contains("whose ") => format!("the {noun} {filter} {who} has {best}"),
                _ => format!("the {noun} with {best} among those {filter}"),
            }
        }
        Style::Only | Style::OwnOnly if world.draws.chance(1, 2) => format!("the only {noun} {filter}"),
        Style::Only | Style::OwnOnly => format!("the {noun} {filter}"),
        Style::BestOfAll if world.draws.chance(1, 2) => format!("whichever {noun} has {best}"),
        Style::BestOfAll => format!("the {noun} with {best}"),
        Style::Name => called(choice, &candidates[0]),
        Style::Either => {
            let mut names = [called(choice, &candidates[0]), called(choice, &candidates[1])];
            world.draws.shuffle(&mut names);
            format!("either {} or {}", names[0], names[1])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::DOMAINS;
    use crate::seed::Seed;

    /// Who the description fits, found by going through everybody.
    fn fitting(style: Style, symbol: &str, greatest: bool, candidates: &[Candidate]) -> Vec<usize> {
        let filtered = matches!(style, Style::Best | Style::OwnBest | Style::Only | Style::OwnOnly);
        let passing: Vec<usize> =
            (0..candidates.len()).filter(|index| !filtered || candidates[*index].symbol == symbol).collect();
        if matches!(style, Style::Only | Style::OwnOnly) {
            return passing;
        }
        let metrics = passing.iter().map(|index| candidates[*index].metric);
        let best = if greatest { metrics.max() } else { metrics.min() };
        passing.into_iter().filter(|index| Some(candidates[*index].metric) == best).collect()
    }

    #[test]
    fn a_description_fits_one_candidate_and_needs_all_of_its_words() {
        let seed = Seed::from_bytes(&[5; 16]).expect("long enough");
        for domain in DOMAINS {
            for choice in domain.choices {
                assert!(choice.high - choice.low >= 8, "{}: {}", domain.name, choice.at.field);
                for round in 0..60 {
                    let purpose = format!("{} {} {round}", domain.name, choice.at.field);
                    let mut world = World::new(domain, seed.draws(&purpose), seed.secrets(&purpose), "T", 4);
                    for style in [Style::Best, Style::OwnBest, Style::Only, Style::OwnOnly, Style::BestOfAll] {
                        let (symbol, greatest) = (world.draws.word(choice.symbols), world.draws.chance(1, 2));
                        let found = candidates(&mut world, choice, style, symbol, greatest);
                        assert_eq!(fitting(style, symbol, greatest, &found), [0], "{purpose} {style:?}");
                        if matches!(style, Style::Best | Style::OwnBest) {
                            // Without the filter somebody else would be the best one.
                            assert_ne!(fitting(Style::BestOfAll, symbol, greatest, &found), [0], "{purpose}");
                        }
                    }
                }
            }
        }
    }
}
