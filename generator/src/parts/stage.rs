//! A field of the record that moves along a graph.

use serde_json::{Value, json};

use crate::domain::Stage;
use crate::draft::{FieldDraft, holds, kinds, steps};
use crate::language::words;
use crate::part::{Goes, Part};
use crate::world::World;

use super::Wish;

pub(super) fn draw(world: &mut World, stage: &'static Stage, wish: Wish) -> Part {
    let (main_type, field, main) = (world.main_type(), stage.at.field, world.main.clone());
    let target = 1 + world.draws.below(stage.symbols.len() - 1);
    let symbols: Vec<Value> = stage.symbols.iter().map(|symbol| json!(symbol)).collect();
    // Beyond one step after the target nothing is explored; the graph ends there.
    let end = (target + 1).min(symbols.len() - 1);
    let reversible = wish.reversible || !super::one_in(world, 7);
    let mut pairs = Vec::new();
    for index in 0..symbols.len() - 1 {
        pairs.push((symbols[index].clone(), symbols[index + 1].clone()));
        if reversible || index + 1 != target {
            pairs.push((symbols[index + 1].clone(), symbols[index].clone()));
        }
    }
    if !reversible {
        pairs.retain(|(from, to)| !(*from == symbols[end] && *to == symbols[target]) || end == target);
    }
    world.graph(main_type, field, &pairs);
    let others = world.some(&symbols[..=target.min(1)]);
    let draft = FieldDraft::new(field, stage.at.doc, kinds::symbols(stage.symbols));
    world.main_field(draft, &symbols[0], &others);

    let further = end > target && super::one_in(world, 3);
    let predicate = if further {
        holds::one_of(main_type, &main, field, &symbols[target..=end])
    } else {
        holds::equals(main_type, &main, field, &symbols[target])
    };
    let mut verb = match world.draws.below(4) {
        0 => {
            let verb = world.draws.word(&["bring {f} to \"{s}\"", "move {f} on to \"{s}\""]);
            verb.replace("{f}", &format!("{{its:{}}}", words(field))).replace("{s}", &words(stage.symbols[target]))
        }
        _ => stage.verbs[target - 1].to_owned(),
    };
    // A verb of a later stage says where the field has to stand.
    let stem: String = stage.symbols[target].chars().take(4).collect();
    if !verb.contains(&stem) && !verb.contains('"') {
        verb.push_str(&format!(", so that {{its:{}}} reads \"{}\"", words(field), words(stage.symbols[target])));
    }
    let description = format!("The {} is where it should be.", words(field));
    let mut part = Part::new(&super::predicate_id(field, "reached"), description, predicate, verb);
    if further {
        part.note = Some(
            world
                .draws
                .word(&[
                    "If it has already gone on to \"{s}\", that is fine too.",
                    "It does no harm if it ends up at \"{s}\" instead.",
                ])
                .replace("{s}", &words(stage.symbols[end])),
        );
    }
    part.look = vec![steps::on("read", main_type, &main)];
    part.work = symbols[1..=target].iter().map(|symbol| super::write(world, field, symbol)).collect();
    part.gradual = target > 1;
    part.back = reversible.then(|| vec![super::write(world, field, &symbols[target - 1])]);
    part.goes = Some(Goes { field: field.to_owned(), from_target: symbols[target..].to_vec(), reversible });
    part
}
