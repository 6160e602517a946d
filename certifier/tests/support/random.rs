//! Random tasks with their packages, and random trajectories; the same seed gives the same bytes.
//!
//! Every predicate kind, every trigger, every operation, sealed fields, deletion, re-creation, goal revisions and offers
//! occur; [`crate::support`]'s users count that they do.

use parthack_certifier::binding::PrivateTask;
use parthack_certifier::tokens::token;
use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::input::Cursor;
use parthack_env::json::Json;
use parthack_env::spec::environment_revision;
use parthack_env::steps::{Step, StepSource};
use serde_json::{Map, Value, json};

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    fn chance(&mut self, in_ten: usize) -> bool {
        self.below(10) < in_ten
    }

    fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }
}

const KEY: [u8; 32] = [7; 32];
const TASK: &str = "RANDOM-1";
const BOXES: [&str; 4] = ["b-one", "b-two", "b-three", "b-four"];
const TAGS: [&str; 3] = ["t-one", "t-two", "t-three"];
const STATES: [&str; 3] = ["a", "b", "c"];
const LABELS: [&str; 3] = ["x", "y", "z"];
const SECRETS: [&str; 3] = ["sealed-alpha", "sealed-beta", "sealed-gamma"];

/// A field of the type `box`, and how its values look.
const FIELDS: [&str; 8] = ["state", "size", "owner", "labels", "note", "due", "secret", "marks"];

/// Public or private words for one thing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Public,
    Private,
}

fn id(side: Side, id: &str) -> String {
    match side {
        Side::Public => id.to_owned(),
        Side::Private => format!("pv-{}", Hash::of("test", id.as_bytes()).hex().get(..16).expect("digits")),
    }
}

fn secret(side: Side, field: &str, raw: &str) -> Value {
    match side {
        Side::Public => json!({"token": token(&KEY, TASK, "box", field, "text", json!(raw).to_string().as_bytes())}),
        Side::Private => json!(raw),
    }
}

/// A list in the order that its field asks for: tokens and private ids sort otherwise than what they stand for.
fn sorted(mut items: Vec<Value>) -> Value {
    items.sort_by_key(Value::to_string);
    Value::Array(items)
}

/// A value of a field of `box`, in both words.
fn value(random: &mut Random, field: &str) -> [Value; 2] {
    let same = |value: Value| [value.clone(), value];
    match field {
        "state" => same(json!(random.pick(&STATES))),
        "size" => same(json!(random.below(4))),
        "owner" if random.chance(2) => same(Value::Null),
        "owner" => {
            let tag = *random.pick(&TAGS);
            [json!(id(Side::Public, tag)), json!(id(Side::Private, tag))]
        }
        "labels" => same(sorted(LABELS.iter().filter(|_| random.chance(5)).map(|label| json!(label)).collect())),
        "note" if random.chance(3) => same(Value::Null),
        "note" => same(json!(random.pick(&["", "n", "\u{e9}\"\n"]))),
        "due" => same(json!(random.below(3))),
        "secret" => {
            let raw = *random.pick(&SECRETS);
            [Side::Public, Side::Private].map(|side| secret(side, field, raw))
        }
        _ => {
            let raw: Vec<&str> = SECRETS.iter().copied().filter(|_| random.chance(5)).collect();
            [Side::Public, Side::Private].map(|side| sorted(raw.iter().map(|raw| secret(side, field, raw)).collect()))
        }
    }
}

fn element(random: &mut Random, field: &str) -> [Value; 2] {
    match field {
        "labels" => {
            let label = json!(random.pick(&LABELS));
            [label.clone(), label]
        }
        _ => {
            let raw = *random.pick(&SECRETS);
            [Side::Public, Side::Private].map(|side| secret(side, field, raw))
        }
    }
}

/// A predicate in both words.
fn predicate(random: &mut Random, depth: usize, versions: usize) -> [Value; 2] {
    let entity = |kind: &str, side: Side, of: &str, name: &str| json!({"kind": kind, "type": of, "id": id(side, name)});
    let sides = [Side::Public, Side::Private];
    let (of, name) = if random.chance(8) { ("box", *random.pick(&BOXES)) } else { ("tag", *random.pick(&TAGS)) };
    let pin = random.chance(3).then(|| random.below(3) + 1);
    let pinned = |mut value: Value| {
        if let Some(pin) = pin {
            value["incarnation"] = json!(pin);
        }
        value
    };
    match random.below(if depth == 0 { 10 } else { 13 }) {
        0 => sides.map(|side| pinned(entity("exists", side, of, name))),
        1 => sides.map(|side| entity("absent", side, of, name)),
        2 => sides.map(|side| pinned(entity("deleted", side, of, name))),
        3 => {
            let tag = *random.pick(&TAGS);
            let name = *random.pick(&BOXES);
            sides.map(|side| {
                let mut value = pinned(entity("refers_to", side, "box", name));
                value["field"] = json!("owner");
                value["target"] = json!(id(side, tag));
                value
            })
        }
        4 => {
            let filter = filter(random);
            let (compare, count) = (*random.pick(&["at_least", "at_most", "equals"]), random.below(4));
            [0, 1].map(|side| {
                json!({"kind": "count", "type": "box", "filter": filter[side], "compare": compare, "count": count})
            })
        }
        5 => {
            let value = json!({"kind": "goal_version", "version": random.below(versions) + 1});
            [value.clone(), value]
        }
        6..10 => {
            let name = *random.pick(&BOXES);
            let (field, kind, key, values) = field_test(random);
            [0, 1].map(|side| {
                let mut value = pinned(entity(kind, sides[side], "box", name));
                value["field"] = json!(field);
                value[key] = values[side].clone();
                value
            })
        }
        10 => {
            let of = predicate(random, depth - 1, versions);
            of.map(|of| json!({"kind": "not", "of": of}))
        }
        both => {
            let parts: Vec<[Value; 2]> =
                (0..random.below(2) + 2).map(|_| predicate(random, depth - 1, versions)).collect();
            let kind = if both == 11 { "all" } else { "any" };
            [0, 1].map(|side| json!({"kind": kind, "of": parts.iter().map(|part| &part[side]).collect::<Vec<_>>()}))
        }
    }
}

/// Field, kind, the key of the expectation, and the expectation in both words.
fn field_test(random: &mut Random) -> (&'static str, &'static str, &'static str, [Value; 2]) {
    let field = *random.pick(&FIELDS);
    match random.below(4) {
        0 if matches!(field, "size" | "due") => {
            let bound = json!(random.below(4));
            (field, *random.pick(&["field_at_least", "field_at_most"]), "value", [bound.clone(), bound])
        }
        1 if matches!(field, "labels" | "marks") => (field, "set_contains", "value", element(random, field)),
        2 => {
            let (one, two) = (value(random, field), value(random, field));
            (field, "field_in", "values", [0, 1].map(|side| json!([one[side], two[side]])))
        }
        _ => (field, "field_equals", "value", value(random, field)),
    }
}

fn filter(random: &mut Random) -> [Value; 2] {
    let mut terms = [Vec::new(), Vec::new()];
    for _ in 0..random.below(3) {
        let (field, kind, _, values) = field_test(random);
        let key = match kind {
            "field_at_least" => "at_least",
            "field_at_most" => "at_most",
            "set_contains" => "contains",
            "field_in" => "in",
            _ => "equals",
        };
        for side in 0..2 {
            terms[side].push(json!({"field": field, key: values[side]}));
        }
    }
    terms.map(Value::Array)
}

/// Public values of every field of a box, or of some.
fn fields(random: &mut Random, all: bool, sealed: bool) -> Map<String, Value> {
    let mut out = Map::new();
    for field in FIELDS {
        let optional = matches!(field, "owner" | "note" | "secret" | "marks");
        let open = sealed || !matches!(field, "secret" | "marks");
        if open && (random.chance(if all { 7 } else { 2 }) || all && !optional) {
            let [public, _] = value(random, field);
            out.insert(field.to_owned(), public);
        }
    }
    if out.is_empty() {
        out.insert("size".to_owned(), json!(random.below(4)));
    }
    out
}

/// A step of an actor, in public words.
fn step(random: &mut Random, versions: usize, sealed: bool) -> Value {
    let (of, name) = if random.chance(9) { ("box", *random.pick(&BOXES)) } else { ("tag", *random.pick(&TAGS)) };
    let named = |op: &str| json!({"op": op, "type": of, "id": name});
    match random.below(14) {
        0 | 1 => {
            let fields = if of == "box" { Value::Object(fields(random, true, sealed)) } else { json!({"flag": true}) };
            json!({"op": "create", "type": of, "id": name, "fields": fields})
        }
        2..7 => {
            let fields = if of == "box" {
                Value::Object(fields(random, false, sealed))
            } else {
                json!({"flag": random.chance(5)})
            };
            json!({"op": "update", "type": of, "id": name, "fields": fields})
        }
        7 => named("delete"),
        8 => named("restore"),
        9 => json!({"op": "revise_goal", "version": random.below(versions) + 1}),
        10 => named("read"),
        11 => json!({"op": "list", "type": of}),
        12 => json!({"op": "say", "to": random.pick(&["user", "system", "peer"]), "text": "hello"}),
        _ => json!({"op": "wait"}),
    }
}

fn script_entry(random: &mut Random, index: usize, versions: usize) -> Value {
    let actor = *random.pick(&["user", "system", "peer"]);
    let trigger = match random.below(5) {
        0 => json!({"kind": "start"}),
        1 => json!({"kind": "after_step", "count": random.below(5) + 1}),
        2 => json!({"kind": "message"}),
        3 => json!({"kind": "wait"}),
        _ => json!({"kind": "when", "predicate": predicate(random, 1, versions)[0]}),
    };
    let mut action = step(random, versions, true);
    if matches!(action["op"].as_str(), Some("read" | "list" | "wait" | "say")) {
        action = json!({"op": "say", "to": "agent", "text": "take it", "offers": random.below(versions) + 1});
    }
    json!({"id": format!("entry-{}", ["p", "q", "r", "s"][index]), "actor": actor, "trigger": trigger, "action": action})
}

fn entity_types(random: &mut Random) -> Value {
    let field = |name: &str, kind: Value, optional: bool, visibility: &str| json!({"name": name, "description": "A field.", "type": kind, "optional": optional, "visibility": visibility});
    let symbols = |symbols: &[&str]| json!({"kind": "enum", "symbols": symbols});
    let text = json!({"kind": "text", "max_length": 20});
    let recreate = |random: &mut Random| *random.pick(&["refuse", "new_incarnation"]);
    json!([
        {"name": "box", "description": "A box.", "recreate": recreate(random), "creatable": [BOXES[3]], "fields": [
            field("state", symbols(&STATES), false, "public"),
            field("size", json!({"kind": "integer", "min": 0, "max": 3}), false, "public"),
            field("owner", json!({"kind": "ref", "entity_type": "tag"}), true, "public"),
            field("labels", json!({"kind": "set", "of": symbols(&LABELS)}), false, "public"),
            field("note", text.clone(), true, "public"),
            field("due", json!({"kind": "tick"}), false, "public"),
            field("secret", text.clone(), true, "sealed"),
            field("marks", json!({"kind": "set", "of": text}), true, "sealed"),
        ]},
        {"name": "tag", "description": "A tag.", "recreate": recreate(random), "creatable": [TAGS[2]], "fields": [
            field("flag", json!({"kind": "bool"}), false, "public"),
        ]},
    ])
}

fn rules(random: &mut Random, versions: usize) -> Value {
    let most = random.pick(&[json!(null), json!(1), json!(2), json!(4)]).clone();
    let mut transitions = Vec::new();
    if random.chance(3) {
        let pairs: Vec<Value> = (0..5).map(|_| json!([random.pick(&STATES), random.pick(&STATES)])).collect();
        transitions.push(json!({"type": "box", "field": "state", "pairs": pairs}));
    }
    let mut preconditions = Vec::new();
    for _ in 0..random.below(3) {
        let mut when = json!({"op": random.pick(&["create", "update", "delete", "restore", "say", "wait"])});
        if matches!(when["op"].as_str(), Some("create" | "update")) && random.chance(5) {
            let field = *random.pick(&FIELDS);
            when["field"] = json!(field);
            if random.chance(5) {
                when["value"] = value(random, field)[0].clone();
                if when["value"].is_null() {
                    when["type"] = json!("box");
                }
            }
        }
        if matches!(when["op"].as_str(), Some("delete" | "restore")) && random.chance(5) {
            when["id"] = json!(random.pick(&BOXES));
        }
        if random.chance(3) {
            when["actor"] = json!(random.pick(&["agent", "user", "system", "peer"]));
        }
        let requires = vec![predicate(random, 1, versions)[0].clone()];
        preconditions.push(json!({"when": when, "requires": requires, "message": "Not now."}));
    }
    json!({"max_update_fields": most, "field_transitions": transitions, "preconditions": preconditions})
}

/// A random task: public and private bytes.
pub(crate) fn files(seed: u64) -> (Vec<u8>, Vec<u8>) {
    let random = &mut Random::new(seed);
    let versions = random.below(3) + 1;
    let mut initial = Vec::new();
    for name in &BOXES[..3] {
        let lifecycle = if random.chance(3) { "deleted" } else { "live" };
        initial.push(json!({"type": "box", "id": name, "lifecycle": lifecycle, "fields": fields(random, true, true)}));
    }
    for name in &TAGS[..2] {
        initial.push(json!({"type": "tag", "id": name, "lifecycle": "live", "fields": {"flag": random.chance(5)}}));
    }
    let mut goals = (Vec::new(), Vec::new());
    for version in 1..=versions {
        let predicates: Vec<[Value; 2]> = (0..random.below(3) + 3).map(|_| predicate(random, 2, versions)).collect();
        let list = |side: usize| -> Vec<Value> {
            let names = ["first", "second", "third", "fourth", "fifth"];
            let with = |(name, predicate): (&&str, &[Value; 2])| match side {
                0 => json!({"id": name, "description": "It holds.", "predicate": predicate[0]}),
                _ => json!({"id": name, "predicate": predicate[1]}),
            };
            names.iter().zip(&predicates).map(with).collect()
        };
        goals.0.push(json!({"version": version, "offered": random.chance(3), "predicates": list(0)}));
        goals.1.push((version.to_string(), Value::Array(list(1))));
    }
    let operations = json!(["create", "update", "delete", "restore", "revise_goal", "read", "list", "say", "wait"]);
    let instructions: Map<String, Value> = (1..=versions).map(|version| (version.to_string(), json!("Do."))).collect();
    let active = random.below(versions) + 1;
    let mut task = json!({
        "format": "parthack.task/1", "id": TASK, "title": "Random", "domain": "none", "split": "development",
        "family": "crud", "goal_form": "entity-set", "tags": [], "rollback_metric": false,
        "initial_goal_version": 1, "active_goal_version": active, "instructions": instructions,
        "entity_types": entity_types(random), "initial_state": initial,
        "allowlist": {"agent": operations, "user": operations, "system": operations, "peer": ["create", "update", "say"]},
        "rules": rules(random, versions),
        "script": (0..random.below(5)).map(|index| script_entry(random, index, versions)).collect::<Vec<_>>(),
        "goal_versions": goals.0,
        "honest": [], "environment_revision": "",
    });
    let text = task.to_string();
    let json = Json::parse(text.as_bytes()).expect("JSON");
    task["environment_revision"] = json!(environment_revision(&json).hex());
    let public = task.to_string();
    let package = package(&public, active, &goals.1);
    (public.into_bytes(), package.to_string().into_bytes())
}

fn package(public: &str, active: usize, goals: &[(String, Value)]) -> Value {
    let json = Json::parse(public.as_bytes()).expect("JSON");
    let private_ids: Map<String, Value> = BOXES
        .iter()
        .map(|name| ("box", name))
        .chain(TAGS.iter().map(|name| ("tag", name)))
        .map(|(of, name)| (format!("{of}/{name}"), json!(id(Side::Private, name))))
        .collect();
    let mut sealed = Vec::new();
    for field in ["secret", "marks"] {
        for raw in SECRETS {
            let token = secret(Side::Public, field, raw)["token"].clone();
            sealed.push(json!({"type": "box", "field": field, "value": raw, "token": token}));
        }
    }
    let m = goals[active - 1].1.as_array().expect("a list").len();
    let expect = json!({"c_state": vec![0; m], "c_agent": vec![0; m], "goal_version": 1});
    let test = |id: &str| json!({"id": id, "description": "None.", "steps": [], "expect": expect});
    json!({
        "format": "parthack.private/1", "task_id": TASK,
        "public_hash": Hash::of("task", &canonical_bytes(&json)).hex(),
        "redaction_key": "07".repeat(32),
        "private_ids": private_ids, "sealed_values": sealed,
        "predicates": goals.iter().cloned().collect::<Map<String, Value>>(),
        "hidden_tests": [test("one"), test("two")], "expected_honest": expect,
        "canaries": (0..8).map(|index| format!("PHC-RANDOM-canary-{index}")).collect::<Vec<_>>(),
    })
}

/// A random task, opened.
pub(crate) fn task(seed: u64) -> PrivateTask {
    let (public, private) = files(seed);
    PrivateTask::open(&public, &private)
        .unwrap_or_else(|error| panic!("seed {seed}: {:?}\n{}", error, String::from_utf8_lossy(&public)))
}

/// Random agent steps, some of them illegal.
pub(crate) fn steps(seed: u64, length: usize) -> Vec<Step> {
    let random = &mut Random::new(seed ^ 0x5deece66d);
    (0..length).map(|_| read_step(&step(random, 3, false))).collect()
}

/// Random agent steps that the task accepts, at most `length`.
pub(crate) fn legal_steps(private: &PrivateTask, seed: u64, length: usize) -> Vec<Step> {
    let random = &mut Random::new(seed ^ 0x1234_5678);
    let mut replay = parthack_env::replay::Replay::begin(&private.task);
    for _ in 0..length * 4 {
        if replay.steps.len() == length {
            break;
        }
        let mut next = replay.clone();
        next.agent(&read_step(&step(random, 3, false)));
        if next.first_refusal().is_none() {
            replay = next;
        }
    }
    replay.steps
}

fn read_step(step: &Value) -> Step {
    let text = step.to_string();
    let json = Json::parse(text.as_bytes()).expect("JSON");
    Step::read(&Cursor::root(&json), StepSource::Submitted).expect("a step")
}
