//! A task put together: which parts, tied by which rules, told in which words, and what its honest trajectory does.

use std::collections::BTreeMap;

use parthack_env::spec::{Family, Split, TASK_FORMAT};
use serde_json::{Value, json};

use crate::domain::DOMAINS;
use crate::draft::{Draft, FieldDraft, Goal, GoalVersion, holds, kinds, steps};
use crate::gates;
use crate::instruction::{self, Telling};
use crate::language::{bare, capital};
use crate::part::Part;
use crate::parts::{self, Motif, Wish};
use crate::plan::{Frame, Plan, Revision, choices, plan};
use crate::request::Cell;
use crate::seed::{Draws, Secrets};
use crate::world::{Sealed, World};

/// What a task is to be.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) split: Split,
    pub(crate) cell: Cell,
    pub(crate) attribution: bool,
    pub(crate) rollback: bool,
}

/// A task before it is proved.
pub(crate) struct Composed {
    pub(crate) draft: Draft,
    pub(crate) plan: Plan,
    pub(crate) sealed: Vec<Sealed>,
}

/// Draws a task; none where the parts that were drawn leave no honest trajectory of the wanted progress.
pub(crate) fn compose(order: &Order, mut draws: Draws, secrets: Secrets) -> Option<Composed> {
    let (cell, domain) = (order.cell, *draws.pick(&DOMAINS));
    let revised = cell.family == Family::GoalPatch;
    let versioned = revised && draws.chance(2, 5);
    let width = 4;
    let mut world = World::new(domain, draws, secrets, &order.id, width);
    world.rules.max_update_fields = Some(if world.draws.chance(3, 5) { 1 } else { 2 });
    let own = cell.m - usize::from(versioned);
    let extra = if revised { 3usize.saturating_sub(own) + world.draws.below(2).min(5 - own.max(3)) } else { 0 };
    let motifs = motifs(&mut world, order, own + extra);
    let records = motifs.iter().any(|motif| Motif::RECORDS.contains(motif));
    let wish = Wish {
        reversible: order.attribution || order.rollback,
        told: cell.family == Family::Interaction,
        records: records && cell.family == Family::Crud,
    };
    let mut drawn: Vec<Part> = motifs.iter().map(|motif| parts::draw(&mut world, *motif, wish)).collect();
    let dropped = drawn.split_off(own);
    // What moves along a graph comes late, what somebody else does last.
    drawn.sort_by_key(|part| (part.by_other, part.goes.is_some()));
    if revised && dropped.is_empty() && drawn.iter().all(|part| part.variant.is_none()) {
        return None;
    }
    let hints = gates::tie(&mut world, &mut drawn);
    let asked = cell.family == Family::Interaction && gates::ask_first(&mut world, &drawn);
    if cell.family == Family::Interaction && !asked {
        return None;
    }
    let version_part = versioned.then(|| {
        let words =
            ["take up the revised request", "switch to the revised request", "work by the revised request from now on"];
        let verb = world.draws.word(&words).to_owned();
        let mut part =
            Part::new("request-revised", "Work goes by the revised request.".to_owned(), holds::goal_version(2), verb);
        part.on_main = false;
        part.clear = false;
        drawn.insert(0, part);
        drawn.iter_mut().skip(1).for_each(|part| part.needs.iter_mut().for_each(|needed| *needed += 1));
        0
    });
    let mut sets = choices(&drawn, cell.k, version_part);
    if !revised {
        sets.retain(|set| can_fall(&drawn, set));
    }
    if sets.is_empty() {
        return None;
    }
    let met = world.draws.pick(&sets).clone();
    let mut goal_order: Vec<usize> = (0..drawn.len()).collect();
    if !order.rollback {
        world.draws.shuffle(&mut goal_order);
    }
    let revision = revised.then(|| bring_news(&mut world));
    distract(&mut world, &motifs);
    let (may_say, may_wait) =
        permissions(&mut world, asked || revision.as_ref().is_some_and(|news| news.trigger.is_some()));
    let ask = asked.then(|| steps::say("user", world.draws.word(domain.consent.questions)));
    let frame = Frame {
        parts: &drawn,
        dropped: &dropped,
        met,
        order: goal_order.clone(),
        ask,
        revision,
        version_part,
        may_say,
        may_wait,
    };
    let plan = plan(&mut world, &frame);
    let told = tell(&mut world, &drawn, &dropped, &hints, asked, version_part, revised);
    let goals = goals(&drawn, &goal_order, told.first_goal);
    keep(&mut world);
    Some(Composed {
        draft: draft(order, &world, told.instructions, goals, plan.honest.clone()),
        plan,
        sealed: world.sealed,
    })
}

/// Whether one of the parts that are met can be taken back: on the record itself, nothing final may lie on top of it.
fn can_fall(parts: &[Part], met: &[usize]) -> bool {
    met.iter().any(|index| {
        let part = &parts[*index];
        let buried = met.iter().any(|later| later > index && parts[*later].on_main && parts[*later].back.is_none());
        part.back.is_some() && !(part.on_main && buried)
    })
}

/// Which parts a task has.
fn motifs(world: &mut World, order: &Order, count: usize) -> Vec<Motif> {
    let (domain, cell) = (world.domain, order.cell);
    let mut updates = Motif::updates(domain);
    world.draws.shuffle(&mut updates);
    if order.rollback {
        updates.retain(|motif| *motif != Motif::Checks);
    }
    let mut chosen = Vec::new();
    let mut records = Motif::RECORDS.to_vec();
    world.draws.shuffle(&mut records);
    let wanted = match cell.family {
        Family::Crud => 2 + world.draws.below(count - 2),
        Family::GoalPatch => usize::from(world.draws.chance(1, 3)),
        _ => 0,
    };
    chosen.extend(records.into_iter().take(wanted.min(count - 1)));
    let helped = match cell.family {
        Family::Persistent | Family::Crud => order.attribution || world.draws.chance(1, 12),
        Family::Interaction => world.draws.chance(1, 5),
        Family::GoalPatch => false,
    };
    // What the honest trajectory meets has to be the agent's own.
    if helped {
        if chosen.len() + 1 > count {
            chosen.pop();
        }
        chosen.push(Motif::SignOff);
    }
    // At least one value has to be worked out.
    let worked_out = |motif: &Motif| matches!(motif, Motif::Choice(_) | Motif::Sum(_) | Motif::Date(_));
    if chosen.len() < count
        && let Some(at) = updates.iter().position(worked_out)
    {
        chosen.push(updates.remove(at));
    }
    chosen.extend(updates.into_iter().take(count - chosen.len()));
    world.draws.shuffle(&mut chosen);
    chosen
}

/// How the news of a revised goal comes in.
fn bring_news(world: &mut World) -> Revision {
    let message = world.draws.word(world.domain.news.messages);
    let mut offer = steps::say("agent", message);
    offer["offers"] = json!(2);
    let question =
        ["Is there anything new about the request?", "Does the request still stand?", "Has anything changed?"];
    let (trigger, revision) = match world.draws.below(4) {
        0 => {
            let ask = steps::say("user", world.draws.word(&question));
            (json!({"kind": "message"}), Revision { trigger: Some(ask), at_least: 0 })
        }
        1 => (json!({"kind": "wait"}), Revision { trigger: Some(steps::wait()), at_least: 0 }),
        2 => {
            let count = 1 + world.draws.below(3);
            (json!({"kind": "after_step", "count": count}), Revision { trigger: None, at_least: count })
        }
        _ => return Revision::default(),
    };
    world.script("news", "user", trigger, offer);
    revision
}

/// What others do that has nothing to do with the goal, and fields that nothing is asked about.
fn distract(world: &mut World, motifs: &[Motif]) {
    let (domain, main_type) = (world.domain, world.main_type());
    for flag in domain
        .flags
        .iter()
        .enumerate()
        .filter(|(index, _)| !motifs.contains(&Motif::Flag(*index)))
        .map(|(_, flag)| flag)
    {
        if world.draws.chance(1, 3) && !world.has_main_field(flag.at.field) {
            let values = [json!(false), json!(true)];
            let (own, others) = (world.draws.pick(&values).clone(), world.some(&values));
            world.main_field(FieldDraft::new(flag.at.field, flag.at.doc, kinds::boolean()), &own, &others);
        }
    }
    for level in domain
        .levels
        .iter()
        .enumerate()
        .filter(|(index, _)| !motifs.contains(&Motif::Level(*index)))
        .map(|(_, level)| level)
    {
        if world.draws.chance(1, 3) && !world.has_main_field(level.at.field) {
            let values: Vec<Value> =
                (0..=world.others.len()).map(|_| json!(world.draws.between(level.low, level.high))).collect();
            let draft =
                FieldDraft::new(level.at.field, level.at.doc, kinds::integer(0, level.high * 4)).unit(level.unit.code);
            world.main_field(draft, &values[0], &values[1..]);
        }
    }
    let party = domain.main.party.field;
    if world.draws.chance(1, 3) {
        let other = world.draws.pick(&world.others.clone()).clone();
        let name = world.main_value(&other, party).and_then(Value::as_str).unwrap_or_default().to_owned();
        let corrected = format!("{name} (new address)");
        let update = steps::update(main_type, &other, party, &json!(corrected));
        let trigger = match world.draws.below(3) {
            0 => json!({"kind": "start"}),
            1 => json!({"kind": "wait"}),
            _ => json!({"kind": "after_step", "count": 1 + world.draws.below(5)}),
        };
        world.script("address-noted", "system", trigger, update);
    }
    if world.draws.chance(1, 4) {
        let remark = world.draws.word(domain.asides);
        let trigger = if world.draws.chance(1, 2) {
            json!({"kind": "after_step", "count": 2 + world.draws.below(4)})
        } else {
            json!({"kind": "wait"})
        };
        world.script("remark", "peer", trigger, steps::say("agent", remark));
    }
}

/// What the agent may do beside updating; says whether it may speak and wait.
fn permissions(world: &mut World, speaks: bool) -> (bool, bool) {
    let waits = world.script.iter().any(|entry| entry["trigger"]["kind"] == "wait");
    for operation in ["update", "read", "list"] {
        world.allow.allow("agent", operation);
    }
    if world.script.iter().any(|entry| entry["action"]["offers"].is_number())
        || world.allow.agent.contains(&"revise_goal")
    {
        world.allow.allow("agent", "revise_goal");
    }
    let (say, wait) = (speaks || world.draws.chance(1, 3), speaks || waits || world.draws.chance(1, 3));
    if say {
        world.allow.allow("agent", "say");
    }
    if wait {
        world.allow.allow("agent", "wait");
    }
    (say, wait)
}

/// The words of a task, and which goal its first version has.
struct Told {
    instructions: BTreeMap<String, String>,
    first_goal: Option<Vec<Goal>>,
}

fn tell(
    world: &mut World,
    drawn: &[Part],
    dropped: &[Part],
    hints: &[String],
    asked: bool,
    version_part: Option<usize>,
    revised: bool,
) -> Told {
    let domain = world.domain;
    let mut before = Vec::new();
    let mut after: Vec<String> = hints.iter().filter(|_| world.draws.chance(2, 5)).cloned().collect();
    if asked {
        before.push(world.draws.word(domain.consent.sentences).to_owned());
    }
    let free_order = drawn.iter().all(|part| part.needs.is_empty());
    if !revised {
        let telling = Telling { parts: drawn.iter().collect(), verbs: Vec::new(), free_order, before, after };
        let text = instruction::first(world, &telling);
        return Told { instructions: BTreeMap::from([("1".to_owned(), text)]), first_goal: None };
    }
    world.allow.allow("agent", "revise_goal");
    let active: Vec<&Part> =
        drawn.iter().enumerate().filter(|(index, _)| Some(*index) != version_part).map(|(_, part)| part).collect();
    let mut changed: Vec<bool> = active.iter().map(|part| part.variant.is_some() && world.draws.chance(3, 5)).collect();
    if dropped.is_empty()
        && !changed.contains(&true)
        && let Some(at) = active.iter().position(|part| part.variant.is_some())
    {
        changed[at] = true;
    }
    let mut first_goal = Vec::new();
    let (mut parts, mut verbs): (Vec<&Part>, Vec<Option<String>>) = (Vec::new(), Vec::new());
    for (part, changed) in active.iter().zip(&changed) {
        let variant = part.variant.as_ref().filter(|_| *changed);
        first_goal.push(variant.map_or_else(|| part.goal.clone(), |variant| variant.goal.clone()));
        parts.push(part);
        verbs.push(variant.map(|variant| variant.verb.clone()));
    }
    for part in dropped {
        first_goal.push(part.goal.clone());
        parts.push(part);
        verbs.push(None);
    }
    after.push(world.draws.word(domain.news.hints).to_owned());
    let telling = Telling { parts, verbs, free_order, before: Vec::new(), after };
    let first = instruction::first(world, &telling);

    let mut before: Vec<String> = Vec::new();
    if let Some(at) = version_part {
        before.push(format!("{}.", capital(&drawn[at].verb)));
    }
    let mut after = Vec::new();
    let (mut parts, mut verbs) = (Vec::new(), Vec::new());
    let kept_in_words = world.draws.chance(1, 2) || !changed.contains(&true);
    for (part, changed) in active.iter().zip(&changed) {
        if *changed || kept_in_words {
            parts.push(*part);
            verbs.push(None);
        }
    }
    if !kept_in_words && changed.contains(&false) {
        after.push(
            world
                .draws
                .word(&[
                    "What else was asked for stands.",
                    "The rest of the first request remains as it is.",
                    "Everything else stays as it was asked for.",
                ])
                .to_owned(),
        );
    }
    for part in dropped {
        let (noun, id) = (domain.main.kind.noun.one, world.main.clone());
        let record = crate::language::Record { noun, id: &id };
        let verb = crate::language::realize(&part.verb, record, false, &mut world.draws);
        let pattern = world.draws.word(&["It is no longer necessary to {v}.", "There is no need any more to {v}."]);
        after.push(pattern.replace("{v}", &verb));
    }
    let telling = Telling { parts, verbs, free_order, before, after };
    let second = instruction::revised(world, &telling);
    Told {
        instructions: BTreeMap::from([("1".to_owned(), first), ("2".to_owned(), second)]),
        first_goal: Some(first_goal),
    }
}

fn goals(drawn: &[Part], order: &[usize], first: Option<Vec<Goal>>) -> Vec<(u32, Vec<Goal>)> {
    let active: Vec<Goal> = order.iter().map(|index| drawn[*index].goal.clone()).collect();
    match first {
        None => vec![(1, active)],
        Some(first) => vec![(1, first), (2, active)],
    }
}

/// Entities that stay are protected where the agent may delete at all.
fn keep(world: &mut World) {
    if !world.allow.agent.contains(&"delete") {
        return;
    }
    let never = world.never();
    for (entity_type, message) in world.kept.clone() {
        world.require(json!({"op": "delete", "type": entity_type}), vec![never.clone()], &message);
    }
}

fn draft(
    order: &Order,
    world: &World,
    instructions: BTreeMap<String, String>,
    goals: Vec<(u32, Vec<Goal>)>,
    honest: Vec<Value>,
) -> Draft {
    let family = order.cell.family;
    let main = world.domain.main.kind;
    let mut tags = Vec::new();
    if order.attribution {
        tags.push("attribution");
    }
    if order.rollback {
        tags.push("rollback");
    }
    let offered = world.script.iter().any(|entry| entry["action"]["offers"].is_number());
    let mut allowlist = world.allow.clone();
    for list in [&mut allowlist.agent, &mut allowlist.user, &mut allowlist.system, &mut allowlist.peer] {
        list.sort_by_key(|word| parthack_env::names::Operation::ALL.iter().position(|known| known.word() == *word));
    }
    Draft {
        format: TASK_FORMAT,
        id: order.id.clone(),
        title: format!("{} {}: {}", capital(main.noun.one), world.main, bare(world.subject)),
        domain: world.domain.name.to_owned(),
        split: order.split.word(),
        family: family.word(),
        goal_form: match family {
            Family::Persistent => "multi-step",
            Family::Crud => "entity-set",
            Family::Interaction => "fixed-goal",
            Family::GoalPatch => "revision",
        },
        tags,
        rollback_metric: family != Family::GoalPatch,
        initial_goal_version: 1,
        active_goal_version: if family == Family::GoalPatch { 2 } else { 1 },
        instructions,
        entity_types: world.types.clone(),
        initial_state: world.entities.clone(),
        allowlist,
        rules: world.rules.clone(),
        script: world.script.clone(),
        goal_versions: goals
            .into_iter()
            .map(|(version, predicates)| GoalVersion { version, offered: version > 1 && offered, predicates })
            .collect(),
        honest,
        environment_revision: String::new(),
    }
}
