//! So many records of a kind that have to be in a state: the count predicates.

use serde_json::json;

use crate::draft::{FieldDraft, kinds, steps};
use crate::language::{capital, count, words};
use crate::part::Part;
use crate::world::World;

pub(super) fn draw(world: &mut World) -> Part {
    let (checks, main_type, main) = (world.domain.checks, world.main_type(), world.main.clone());
    let [start, good, bad] = checks.states;
    let key = checks.kind.key;
    let fields = vec![
        FieldDraft::new(checks.link.field, checks.link.doc, kinds::reference(main_type)),
        FieldDraft::new(checks.label.field, checks.label.doc, kinds::text(80)),
        FieldDraft::new(checks.state.field, checks.state.doc, kinds::symbols(&[start, good, bad]))
            .universe(&[json!(start), json!(good)]),
    ];
    world.add_type(checks.kind, "refuse", fields);
    let mut labels = checks.labels.to_vec();
    world.draws.shuffle(&mut labels);
    let own = 3;
    let already = world.draws.below(2);
    let mut ids = Vec::new();
    for (index, label) in labels.iter().take(own + 1).enumerate() {
        let id = world.new_id(checks.kind.prefix);
        let owner = if index < own { main.clone() } else { world.draws.pick(&world.others.clone()).clone() };
        let state = if index < already || (index >= own && world.draws.chance(1, 2)) { good } else { start };
        let fields =
            [(checks.link.field, json!(owner)), (checks.label.field, json!(label)), (checks.state.field, json!(state))];
        world.add_entity(key, &id, true, &fields);
        ids.push(id);
    }
    world.graph(key, checks.link.field, &[]);
    let noun = checks.kind.noun;
    let message = format!("This {} belongs to another {}.", noun.one, world.domain.main.kind.noun.one);
    let never = world.never();
    world.require(json!({"op": "update", "type": key, "id": ids[own]}), vec![never], &message);
    world.kept.insert(key.to_owned(), format!("{} stay on record.", capital(noun.many)));

    let link = json!({"field": checks.link.field, "equals": main});
    let (compare, bound, state, needed, verb) = match world.draws.below(3) {
        0 => {
            let verbs = [
                "see to it that all of {its:{n}} are \"{g}\" and none is still \"{s}\"",
                "bring all of {its:{n}} that are \"{s}\" to \"{g}\"",
            ];
            let verb = world
                .draws
                .word(&verbs)
                .replace("{n}", noun.many)
                .replace("{g}", &words(good))
                .replace("{s}", &words(start));
            ("at_most", 0, start, own - already, verb)
        }
        style => {
            let bound = already + 1 + world.draws.below(2);
            let (compare, exactness) = if style == 1 { ("at_least", "at least") } else { ("equals", "exactly") };
            let verbs = ["see to it that {e} {c} of {its:{n}} {are} \"{s}\"", "have {e} {c} of {its:{n}} at \"{s}\""];
            let verb = world
                .draws
                .word(&verbs)
                .replace("{e}", exactness)
                .replace("{c}", &count(i64::try_from(bound).unwrap_or(0)))
                .replace("{n}", noun.many)
                .replace("{are}", if bound == 1 { "is" } else { "are" })
                .replace("{s}", &words(good));
            (compare, bound, good, bound - already, verb)
        }
    };
    let predicate = json!({
        "kind": "count", "type": key, "compare": compare, "count": bound,
        "filter": [link, {"field": checks.state.field, "equals": state}],
    });
    let description = format!("The {} are where they should be.", noun.many);
    let mut part = Part::new(&super::predicate_id(key, "counted"), description, predicate, verb);
    let open: Vec<String> = ids[already..own].iter().take(needed).cloned().collect();
    part.look = vec![steps::list(key)];
    part.work = open.iter().map(|id| steps::update(key, id, checks.state.field, &json!(good))).collect();
    part.gradual = needed > 1;
    part.back = open.last().map(|id| vec![steps::update(key, id, checks.state.field, &json!(start))]);
    part.on_main = false;
    part.clear = false;
    part
}
