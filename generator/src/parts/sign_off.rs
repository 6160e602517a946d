//! What somebody else does when the agent asks: the predicates that the agent can't be credited with.

use serde_json::json;

use crate::draft::{FieldDraft, holds, kinds, steps};
use crate::language::{article, capital, words};
use crate::part::{Goes, Part};
use crate::world::World;

use super::Wish;

pub(super) fn draw(world: &mut World, wish: Wish) -> Part {
    let (sign, main_type, main) = (world.domain.sign_off, world.main_type(), world.main.clone());
    let [start, asked, given] = sign.states;
    let field = sign.at.field;
    let form = if wish.records { world.draws.below(3) } else { world.draws.below(2) };
    let asks = holds::equals(main_type, &main, field, &json!(asked));
    let trigger = json!({"kind": "when", "predicate": asks});
    let verb = super::verb(world, sign.ask, "");
    let write = |value: &str| steps::update(main_type, &main, field, &json!(value));
    let mut part = match form {
        // The other actor moves the field itself.
        0 => {
            let symbols = [start, asked, given];
            let pairs = [(start, asked), (asked, start), (asked, given), (given, start)]
                .map(|(from, to)| (json!(from), json!(to)));
            world.graph(main_type, field, &pairs);
            world.main_field(
                FieldDraft::new(field, sign.at.doc, kinds::symbols(&symbols)),
                &json!(start),
                &[json!(start)],
            );
            let never = world.never();
            let when = json!({"op": "update", "type": main_type, "field": field, "value": given, "actor": "agent"});
            world.require(when, vec![never], sign.only);
            world.script("given-on-request", sign.actor, trigger, write(given));
            let predicate = holds::equals(main_type, &main, field, &json!(given));
            let description = format!("The {} is given.", words(field));
            let mut part = Part::new(&super::predicate_id(field, "given"), description, predicate, verb);
            part.note = Some(sign.promise.to_owned());
            part.back = Some(vec![write(start)]);
            part
        }
        // The other actor writes a sealed mark, and takes it away when the request is withdrawn.
        1 => {
            let symbols = [start, asked, "withdrawn"];
            let pairs =
                [(start, asked), (asked, "withdrawn"), ("withdrawn", start)].map(|(from, to)| (json!(from), json!(to)));
            world.graph(main_type, field, &pairs);
            world.main_field(
                FieldDraft::new(field, sign.at.doc, kinds::symbols(&symbols)),
                &json!(start),
                &[json!(start)],
            );
            let stamp = sign.stamp.field;
            let mark = world.seal(main_type, stamp, "mark");
            let old = world.seal(main_type, stamp, "older mark");
            let others = world.some(std::slice::from_ref(&old));
            world.main_field(
                FieldDraft::new(stamp, sign.stamp.doc, kinds::text(80)).optional().sealed(),
                &serde_json::Value::Null,
                &others,
            );
            world.script("mark-written", sign.actor, trigger, steps::update(main_type, &main, stamp, &mark));
            let withdrawn = holds::equals(main_type, &main, field, &json!("withdrawn"));
            let undo = steps::update(main_type, &main, stamp, &serde_json::Value::Null);
            world.script("mark-cleared", sign.actor, json!({"kind": "when", "predicate": withdrawn}), undo);
            let predicate = if world.draws.chance(1, 3) {
                holds::one_of(main_type, &main, stamp, &[mark, old])
            } else {
                holds::equals(main_type, &main, stamp, &mark)
            };
            let description = format!("The {} carries {}.", world.domain.main.kind.noun.one, sign.stamp_words);
            let mut part = Part::new(&super::predicate_id(stamp, "written"), description, predicate, verb);
            part.note = Some(
                world
                    .draws
                    .word(&[
                        "{W} then adds {s}, which has to be there in the end.",
                        "{W} will add {s} then; the work is not done without it.",
                    ])
                    .replace("{W}", &capital(sign.who))
                    .replace("{s}", sign.stamp_words),
            );
            part.back = Some(vec![write("withdrawn")]);
            part
        }
        // The other actor enters a paper with a sealed mark; the agent can only remove it.
        _ => {
            world.main_field(
                FieldDraft::new(field, sign.at.doc, kinds::symbols(&[start, asked])),
                &json!(start),
                &[json!(start)],
            );
            let paper = sign.paper;
            let fields = vec![
                FieldDraft::new(main_type, "What it is for.", kinds::reference(main_type)),
                FieldDraft::new(sign.stamp.field, sign.stamp.doc, kinds::text(80)).sealed(),
            ];
            world.add_type(paper, "refuse", fields);
            let id = world.new_id(paper.prefix);
            if let Some(kind) = world.type_mut(paper.key) {
                kind.creatable.push(id.clone());
            }
            let mark = world.seal(paper.key, sign.stamp.field, "mark");
            let fields = World::fields(&[(main_type, json!(main)), (sign.stamp.field, mark.clone())]);
            world.script("paper-entered", sign.actor, trigger, steps::create(paper.key, &id, &fields));
            let never = world.never();
            let restore = json!({"op": "restore", "type": paper.key, "actor": "agent"});
            let message = format!("A {} that was removed stays removed.", paper.noun.one);
            world.require(restore, vec![never.clone()], &message);
            // An agent could not write the mark anyway; the rule says so.
            world.require(json!({"op": "create", "type": paper.key, "actor": "agent"}), vec![never], sign.only);
            let predicate = if world.draws.chance(1, 2) {
                holds::exists(paper.key, &id)
            } else {
                holds::equals(paper.key, &id, sign.stamp.field, &mark)
            };
            let description = format!("The {} of {} is there.", paper.noun.one, sign.who);
            let mut part = Part::new(&super::predicate_id(&id, "there"), description, predicate, verb);
            let noun = paper.noun.one;
            part.note = Some(format!(
                "{} then enters {} {noun}, {id}, which has to be there in the end; nobody else can do that.",
                capital(sign.who),
                article(noun)
            ));
            part.back = Some(vec![steps::on("delete", paper.key, &id)]);
            part
        }
    };
    part.work = vec![write(asked)];
    part.look = vec![steps::on("read", main_type, &main)];
    part.by_other = true;
    part.clear = false;
    let beyond = if form == 0 { vec![json!(asked), json!(given)] } else { vec![json!(asked)] };
    part.goes = Some(Goes { field: field.to_owned(), from_target: beyond, reversible: true });
    part
}
