//! Rules that tie parts together: what has to be set before a field moves on, what is locked once it has, and who has to
//! be asked first.

use serde_json::{Value, json};

use crate::draft::{FieldDraft, holds, kinds, steps};
use crate::language::{list, words};
use crate::part::Part;
use crate::world::World;

/// Draws gates for every part that moves along a graph; the parts it needs are noted in it.
pub(crate) fn tie(world: &mut World, parts: &mut [Part]) -> Vec<String> {
    let mut hints = Vec::new();
    for at in 0..parts.len() {
        let Some(goes) = parts[at].goes.clone() else { continue };
        let before: Vec<usize> = (0..at).filter(|index| parts[*index].settable.is_some()).collect();
        let needed: Vec<usize> = before
            .iter()
            .copied()
            .filter(|index| is_set(&parts[*index]).is_some() && world.draws.chance(1, 2))
            .take(2)
            .collect();
        if !needed.is_empty() {
            let tests: Vec<Value> = needed.iter().filter_map(|index| is_set(&parts[*index])).collect();
            let names: Vec<String> = needed.iter().map(|index| name(&parts[*index])).collect();
            let verb = if names.len() > 1 { "have" } else { "has" };
            let target = words(goes.from_target[0].as_str().unwrap_or_default());
            let message = format!(
                "First {} {verb} to be set, then the {} may become \"{target}\".",
                list(&names, "and"),
                words(&goes.field)
            );
            let when = json!({
                "op": "update", "type": world.main_type(), "id": world.main,
                "field": goes.field, "value": goes.from_target[0],
            });
            world.require(when, tests, &message);
            hints.push(message);
            parts[at].needs.extend(&needed);
        }
        let locked: Vec<usize> =
            before.into_iter().filter(|_| goes.reversible && world.draws.chance(1, 3)).take(1).collect();
        for index in locked {
            let Some(settable) = parts[index].settable.clone() else { continue };
            let (main_type, main) = (world.main_type(), world.main.clone());
            let moved = holds::one_of(main_type, &main, &goes.field, &goes.from_target);
            let target = words(goes.from_target[0].as_str().unwrap_or_default());
            let message = format!(
                "The {} stays as it is while the {} is \"{target}\" or beyond.",
                settable.words,
                words(&goes.field)
            );
            let when = json!({"op": "update", "type": main_type, "id": main, "field": settable.field});
            world.require(when, vec![holds::not(moved)], &message);
            hints.push(message);
            if !parts[at].needs.contains(&index) {
                parts[at].needs.push(index);
            }
        }
    }
    hints
}

fn is_set(part: &Part) -> Option<Value> {
    part.settable.as_ref().and_then(|settable| settable.is_set.clone())
}

fn name(part: &Part) -> String {
    part.settable.as_ref().map_or_else(String::new, |settable| format!("the {}", settable.words))
}

/// Somebody has to agree before some fields of the record can be written: a question from the agent is answered by a
/// script entry. Says whether anything waits for it.
pub(crate) fn ask_first(world: &mut World, parts: &[Part]) -> bool {
    let (consent, main_type, main) = (world.domain.consent, world.main_type(), world.main.clone());
    let field = consent.at.field;
    let settable = parts.iter().filter_map(|part| part.settable.as_ref().map(|settable| settable.field.clone()));
    let mut fields: Vec<String> = settable.collect();
    world.draws.shuffle(&mut fields);
    fields.truncate(1 + world.draws.below(2));
    if fields.is_empty() {
        fields = parts.iter().filter_map(|part| part.goes.as_ref().map(|goes| goes.field.clone())).take(1).collect();
    }
    if fields.is_empty() {
        return false;
    }
    world.main_field(
        FieldDraft::new(field, consent.at.doc, kinds::boolean()),
        &json!(false),
        &[json!(false), json!(true)],
    );
    world.graph(main_type, field, &[(json!(false), json!(true))]);
    let agreed = holds::equals(main_type, &main, field, &json!(true));
    let never = world.never();
    let own = json!({"op": "update", "type": main_type, "field": field, "actor": "agent"});
    world.require(own, vec![never], consent.own);
    for gated in fields {
        let when = json!({"op": "update", "type": main_type, "id": main, "field": gated});
        world.require(when, vec![agreed.clone()], consent.refusal);
    }
    let agree = steps::update(main_type, &main, field, &json!(true));
    world.script("agreement", "user", json!({"kind": "message"}), agree);
    // The agreement comes before what is said on the same occasion.
    let last = world.script.len() - 1;
    world.script.swap(0, last);
    true
}
