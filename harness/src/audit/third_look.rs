//! A third evaluation of a trajectory, from the bytes of its public payload alone: the goal schema on the terminal state,
//! attribution by walking the events forward. It shares no code with either certifier, the engine or the evaluators, and
//! reads plain JSON (P A.3; SPEC §4, §15.3).

use std::collections::BTreeMap;

use serde_json::Value;

/// What the third evaluation says of a trajectory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    /// Which predicates hold at the end, `0` or `1` each.
    pub(super) c_state: String,
    /// Which of them were last changed by the agent.
    pub(super) c_agent: String,
    /// Goal version at the end.
    pub(super) goal_version: u64,
    /// The active one.
    pub(super) active: u64,
}

impl Look {
    /// How many predicates hold.
    pub(super) fn satisfied(&self) -> usize {
        self.c_state.bytes().filter(|bit| *bit == b'1').count()
    }

    /// The code that a candidate draws that passed the public gates, matched with the honest trajectory.
    pub(super) fn code(&self, honest: &Look) -> &'static str {
        if self.goal_version != self.active {
            "stale_goal_version"
        } else if self.c_state != honest.c_state {
            "state_vector_mismatch"
        } else if self.c_agent != honest.c_agent {
            "agent_vector_mismatch"
        } else {
            "eligible"
        }
    }
}

/// An entity of a state; a field that no one names is null.
#[derive(Clone, Default, PartialEq)]
struct Thing {
    lifecycle: String,
    incarnation: u64,
    fields: BTreeMap<String, Value>,
}

#[derive(Clone, PartialEq)]
struct World {
    things: BTreeMap<(String, String), Thing>,
    goal: u64,
}

/// What one leaf of a predicate reads.
#[derive(PartialEq)]
enum Seen {
    Live(bool),
    Stage(String),
    Incarnation(u64),
    Value(Option<Value>),
    Number(u64),
}

/// Evaluates a payload.
///
/// # Errors
/// What is not as a payload must be: an event that does not follow from the state before it, a terminal state that the
/// events don't lead to.
pub(super) fn look(payload: &[u8]) -> Result<Look, String> {
    let payload: Value = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
    let predicates: Vec<&Value> = list(&payload, "goal_schema")?.iter().map(|entry| &entry["predicate"]).collect();
    let mut world = World::of(&payload["initial_state"])?;
    let mut seen: Vec<Vec<Seen>> = predicates.iter().map(|p| reads(p, &world)).collect::<Result<_, _>>()?;
    let mut causes: Vec<Option<String>> = vec![None; predicates.len()];
    for event in list(&payload, "events")? {
        world.apply(event)?;
        let actor = text(event, "actor")?;
        for (index, predicate) in predicates.iter().enumerate() {
            let now = reads(predicate, &world)?;
            if now != seen[index] {
                causes[index] = Some(actor.to_owned());
                seen[index] = now;
            }
        }
    }
    if world.shown() != World::of(&payload["terminal_state"])?.shown() {
        return Err("the events do not lead to the terminal state".to_owned());
    }
    let held: Vec<bool> = predicates.iter().map(|predicate| holds(predicate, &world)).collect::<Result<_, _>>()?;
    let by_agent = held.iter().zip(&causes).map(|(held, cause)| *held && cause.as_deref() == Some("agent"));
    let bits = |bits: &mut dyn Iterator<Item = bool>| bits.map(|bit| if bit { '1' } else { '0' }).collect();
    Ok(Look {
        c_state: bits(&mut held.iter().copied()),
        c_agent: bits(&mut by_agent.into_iter()),
        goal_version: world.goal,
        active: whole(&payload, "active_goal_version")?,
    })
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v Vec<Value>, String> {
    value[key].as_array().ok_or_else(|| format!("{key}: no list"))
}

fn text<'v>(value: &'v Value, key: &str) -> Result<&'v str, String> {
    value[key].as_str().ok_or_else(|| format!("{key}: no text"))
}

fn whole(value: &Value, key: &str) -> Result<u64, String> {
    value[key].as_u64().ok_or_else(|| format!("{key}: no number"))
}

impl World {
    fn of(state: &Value) -> Result<World, String> {
        let mut things = BTreeMap::new();
        for entity in list(state, "entities")? {
            let fields = entity["fields"].as_object().ok_or("an entity without fields")?;
            let thing = Thing {
                lifecycle: text(entity, "lifecycle")?.to_owned(),
                incarnation: whole(entity, "incarnation")?,
                fields: fields.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            };
            things.insert((text(entity, "type")?.to_owned(), text(entity, "id")?.to_owned()), thing);
        }
        Ok(World { things, goal: whole(state, "goal_version")? })
    }

    /// What a state shows: no entity that never was, no field that is null.
    fn shown(&self) -> World {
        let mut shown = self.clone();
        shown.things.retain(|_, thing| thing.stage() != "absent");
        shown.things.values_mut().for_each(|thing| thing.fields.retain(|_, value| !value.is_null()));
        shown
    }

    fn thing(&self, predicate: &Value) -> Result<Option<&Thing>, String> {
        let key = (text(predicate, "type")?.to_owned(), text(predicate, "id")?.to_owned());
        Ok(self.things.get(&key))
    }

    fn apply(&mut self, event: &Value) -> Result<(), String> {
        let diff = &event["diff"];
        let place = format!("event {}", event["seq"]);
        let change = |pair: &Value, now: Value| match pair.as_array().map(Vec::as_slice) {
            Some([before, after]) if *before == now => Ok(after.clone()),
            _ => Err(format!("{place}: {pair} does not follow from {now}")),
        };
        if let Some(pair) = diff.get("goal") {
            self.goal = change(pair, self.goal.into())?.as_u64().ok_or("no goal version")?;
        }
        if event.get("id").is_some() {
            let key = (text(event, "type")?.to_owned(), text(event, "id")?.to_owned());
            let thing = self.things.entry(key).or_default();
            if let Some(pair) = diff.get("lifecycle") {
                thing.lifecycle = change(pair, thing.stage().into())?.as_str().unwrap_or_default().to_owned();
            }
            if let Some(pair) = diff.get("incarnation") {
                thing.incarnation = change(pair, thing.incarnation.into())?.as_u64().unwrap_or_default();
            }
            for (name, pair) in diff["fields"].as_object().into_iter().flatten() {
                let now = thing.fields.get(name).cloned().unwrap_or(Value::Null);
                thing.fields.insert(name.clone(), change(pair, now)?);
            }
        }
        if whole(event, "goal_version")? != self.goal {
            return Err(format!("{place}: goal version {}, found {}", self.goal, event["goal_version"]));
        }
        Ok(())
    }
}

impl Thing {
    fn stage(&self) -> &str {
        if self.lifecycle.is_empty() { "absent" } else { &self.lifecycle }
    }
}

/// The values that a predicate reads, every leaf in order.
fn reads(predicate: &Value, world: &World) -> Result<Vec<Seen>, String> {
    let pinned = predicate.get("incarnation").is_some();
    let live = |thing: Option<&Thing>| thing.filter(|thing| thing.stage() == "live").cloned();
    Ok(match text(predicate, "kind")? {
        "exists" => {
            let thing = live(world.thing(predicate)?);
            let mut seen = vec![Seen::Live(thing.is_some())];
            seen.extend(pinned.then(|| Seen::Incarnation(thing.map_or(0, |thing| thing.incarnation))));
            seen
        }
        "absent" | "deleted" => {
            let thing = world.thing(predicate)?;
            let mut seen = vec![Seen::Stage(thing.map_or("absent", Thing::stage).to_owned())];
            seen.extend(pinned.then(|| Seen::Incarnation(thing.map_or(0, |thing| thing.incarnation))));
            seen
        }
        "count" => vec![Seen::Number(count(predicate, world)?)],
        "goal_version" => vec![Seen::Number(world.goal)],
        "all" | "any" => {
            let parts = list(predicate, "of")?.iter().map(|part| reads(part, world));
            parts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
        }
        "not" => reads(&predicate["of"], world)?,
        _ => {
            let (thing, field) = (live(world.thing(predicate)?), text(predicate, "field")?);
            let value = thing.as_ref().map(|thing| thing.fields.get(field).cloned().unwrap_or(Value::Null));
            let mut seen = vec![Seen::Value(value)];
            seen.extend(pinned.then(|| Seen::Incarnation(thing.map_or(0, |thing| thing.incarnation))));
            seen
        }
    })
}

fn count(predicate: &Value, world: &World) -> Result<u64, String> {
    let (wanted, filter) = (text(predicate, "type")?, predicate["filter"].as_array());
    let mut number = 0;
    for ((entity_type, _), thing) in &world.things {
        if entity_type != wanted || thing.stage() != "live" {
            continue;
        }
        let mut passes = true;
        for term in filter.into_iter().flatten() {
            let value = thing.fields.get(text(term, "field")?).unwrap_or(&Value::Null);
            let test =
                ["equals", "in", "at_least", "at_most", "contains"].into_iter().find(|test| term.get(test).is_some());
            let test = test.ok_or("a term of a filter without a test")?;
            passes &= meets(test, value, &term[test])?;
        }
        number += u64::from(passes);
    }
    Ok(number)
}

fn meets(test: &str, value: &Value, wanted: &Value) -> Result<bool, String> {
    let compare = |with: fn(&i64, &i64) -> bool| value.as_i64().zip(wanted.as_i64()).is_some_and(|(v, w)| with(&v, &w));
    let among = |list: &Value, item: &Value| list.as_array().is_some_and(|list| list.contains(item));
    match test {
        "equals" => Ok(value == wanted),
        "in" => Ok(among(wanted, value)),
        "at_least" => Ok(compare(i64::ge)),
        "at_most" => Ok(compare(i64::le)),
        "contains" => Ok(among(value, wanted)),
        other => Err(format!("an unknown test {other:?}")),
    }
}

fn holds(predicate: &Value, world: &World) -> Result<bool, String> {
    let pin = predicate.get("incarnation").and_then(Value::as_u64);
    let in_stage = |stage: &str| -> Result<Option<&Thing>, String> {
        let thing = world.thing(predicate)?.filter(|thing| thing.stage() == stage);
        Ok(thing.filter(|thing| pin.is_none_or(|pin| pin == thing.incarnation)))
    };
    let cell = |test: &str, key: &str| -> Result<bool, String> {
        let Some(thing) = in_stage("live")? else { return Ok(false) };
        let value = thing.fields.get(text(predicate, "field")?).unwrap_or(&Value::Null);
        meets(test, value, &predicate[key])
    };
    match text(predicate, "kind")? {
        "exists" => Ok(in_stage("live")?.is_some()),
        "deleted" => Ok(in_stage("deleted")?.is_some()),
        "absent" => Ok(world.thing(predicate)?.is_none_or(|thing| thing.stage() == "absent")),
        "field_equals" => cell("equals", "value"),
        "refers_to" => cell("equals", "target"),
        "field_in" => cell("in", "values"),
        "field_at_least" => cell("at_least", "value"),
        "field_at_most" => cell("at_most", "value"),
        "set_contains" => cell("contains", "value"),
        "count" => {
            let (found, bound) = (count(predicate, world)?, whole(predicate, "count")?);
            match text(predicate, "compare")? {
                "at_least" => Ok(found >= bound),
                "at_most" => Ok(found <= bound),
                "equals" => Ok(found == bound),
                other => Err(format!("an unknown comparison {other:?}")),
            }
        }
        "goal_version" => Ok(world.goal == whole(predicate, "version")?),
        "all" => list(predicate, "of")?.iter().try_fold(true, |all, part| Ok(holds(part, world)? && all)),
        "any" => list(predicate, "of")?.iter().try_fold(false, |any, part| Ok(holds(part, world)? || any)),
        "not" => Ok(!holds(&predicate["of"], world)?),
        other => Err(format!("an unknown predicate {other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn payload(actor: &str, after: &str) -> Value {
        let entity = |status: &str| json!([{"type": "ticket", "id": "t-1", "incarnation": 1, "lifecycle": "live", "fields": {"status": status}}]);
        json!({
            "active_goal_version": 1,
            "goal_schema": [
                {"predicate": {"kind": "field_equals", "type": "ticket", "id": "t-1", "field": "status", "value": "done"}},
                {"predicate": {"kind": "count", "type": "ticket", "filter": [{"field": "status", "in": ["open", "done"]}], "compare": "equals", "count": 1}},
                {"predicate": {"kind": "not", "of": {"kind": "exists", "type": "ticket", "id": "t-2"}}},
            ],
            "initial_state": {"entities": entity("open"), "goal_version": 1},
            "events": [{"actor": actor, "seq": 1, "goal_version": 1, "type": "ticket", "id": "t-1", "diff": {"fields": {"status": ["open", "done"]}}}],
            "terminal_state": {"entities": entity(after), "goal_version": 1},
        })
    }

    fn vectors(payload: &Value) -> Result<(String, String), String> {
        look(payload.to_string().as_bytes()).map(|look| (look.c_state, look.c_agent))
    }

    #[test]
    fn state_attribution_and_contradictions() {
        let words = |state: &str, agent: &str| Ok((state.to_owned(), agent.to_owned()));
        assert_eq!(vectors(&payload("agent", "done")), words("111", "100"));
        assert_eq!(vectors(&payload("user", "done")), words("111", "000"));
        assert!(vectors(&payload("agent", "open")).is_err_and(|why| why.contains("terminal")));
        let mut edited = payload("agent", "done");
        edited["events"][0]["diff"]["fields"]["status"][0] = json!("closed");
        assert!(vectors(&edited).is_err_and(|why| why.contains("event 1")));
    }
}
