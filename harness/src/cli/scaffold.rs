//! The content of a scaffolded task: the smallest one of its family that lints.

use serde_json::{Value, json};

/// A family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Persistent,
    Crud,
    Interaction,
    GoalPatch,
}

/// A public file without its revision, and what its private package needs.
#[derive(Debug, Clone)]
pub(super) struct Scaffold {
    pub(super) public: Value,
    /// Every (type, id) that can exist.
    pub(super) ids: Vec<(&'static str, String)>,
    pub(super) hidden_tests: Value,
    pub(super) expected_honest: Value,
}

/// A goal predicate, and the step by which the agent satisfies it.
struct Part {
    predicate: Value,
    step: Value,
}

/// A task of m predicates: the honest trajectory satisfies the first one.
pub(super) fn new(id: &str, form: Form, m: usize) -> Scaffold {
    let parts: Vec<Part> = (1..=m).map(|number| part(form, number)).collect();
    let predicates: Vec<Value> = parts.iter().map(|part| part.predicate.clone()).collect();
    let revised = form == Form::GoalPatch;
    let begin: Vec<Value> =
        if revised { vec![json!({"op": "wait"}), json!({"op": "revise_goal", "version": 2})] } else { Vec::new() };
    let after = |done: usize| -> Vec<Value> {
        begin.iter().cloned().chain(parts.iter().take(done).map(|part| part.step.clone())).collect()
    };
    let active = if revised { 2 } else { 1 };
    let expect = |done: usize| {
        let vector: Vec<u8> = (0..m).map(|j| u8::from(j < done)).collect();
        json!({ "c_state": vector, "c_agent": vector, "goal_version": active })
    };
    let test = |id: &str, description: &str, done: usize| json!({ "id": id, "description": description, "steps": after(done), "expect": expect(done) });
    let mut ids: Vec<(&'static str, String)> = (1..=m).map(|number| ("item", format!("item-{number}"))).collect();
    ids.push(("item", "item-other".to_owned()));
    Scaffold {
        public: public_file(id, form, m, &predicates, &after(1)),
        ids,
        hidden_tests: json!([
            test("nothing-done", "Nothing is done.", 0),
            test("all-done", "Everything is done by the agent.", m),
        ]),
        expected_honest: expect(1),
    }
}

fn part(form: Form, number: usize) -> Part {
    let id = format!("item-{number}");
    match (form, number) {
        (Form::Crud, 1) => Part {
            predicate: named(number, "The missing item exists.", json!({"kind": "exists", "type": "item", "id": id})),
            step: json!({"op": "create", "type": "item", "id": id, "fields": {"status": "open"}}),
        },
        (Form::Crud, 2) => Part {
            predicate: named(
                number,
                "The outdated item is gone.",
                json!({"kind": "deleted", "type": "item", "id": id}),
            ),
            step: json!({"op": "delete", "type": "item", "id": id}),
        },
        _ => Part {
            predicate: named(
                number,
                "The item is done.",
                json!({"kind": "field_equals", "type": "item", "id": id, "field": "status", "value": "done"}),
            ),
            step: json!({"op": "update", "type": "item", "id": id, "fields": {"status": "done"}}),
        },
    }
}

fn named(number: usize, description: &str, predicate: Value) -> Value {
    json!({ "id": format!("part-{number}"), "description": description, "predicate": predicate })
}

fn public_file(id: &str, form: Form, m: usize, predicates: &[Value], honest: &[Value]) -> Value {
    let (family, goal_form) = match form {
        Form::Persistent => ("persistent", "multi-step"),
        Form::Crud => ("crud", "entity-set"),
        Form::Interaction => ("interaction", "fixed-goal"),
        Form::GoalPatch => ("goalpatch", "revision"),
    };
    let absent = |number: usize| form == Form::Crud && number == 1;
    let item = |id: String| json!({"type": "item", "id": id, "lifecycle": "live", "fields": {"status": "open"}});
    let mut entities: Vec<Value> =
        (1..=m).filter(|number| !absent(*number)).map(|number| item(format!("item-{number}"))).collect();
    entities.push(item("item-other".to_owned()));
    let creatable: Vec<String> = (1..=m).filter(|number| absent(*number)).map(|n| format!("item-{n}")).collect();
    let revised = form == Form::GoalPatch;
    let goal = |version: u32, predicates: &[Value]| json!({ "version": version, "offered": version > 1, "predicates": predicates });
    let goals =
        if revised { vec![goal(1, &first_goal(predicates)), goal(2, predicates)] } else { vec![goal(1, predicates)] };
    let instruction = "Describe the work here, in words that a person could follow, without the ids of the goals.";
    let instructions = if revised {
        json!({ "1": instruction, "2": "Describe what the revised goal asks for." })
    } else {
        json!({ "1": instruction })
    };
    json!({
        "format": "parthack.task/1",
        "id": id,
        "title": "A title to be replaced",
        "domain": "a domain to be replaced",
        "split": "development",
        "family": family,
        "goal_form": goal_form,
        "tags": [],
        "rollback_metric": !revised,
        "initial_goal_version": 1,
        "active_goal_version": if revised { 2 } else { 1 },
        "instructions": instructions,
        "entity_types": [{
            "name": "item",
            "description": "A thing that the work is about.",
            "recreate": "refuse",
            "creatable": creatable,
            "fields": [{
                "name": "status",
                "description": "Whether its work is done.",
                "type": {"kind": "enum", "symbols": ["open", "done"]},
                "optional": false,
                "visibility": "public",
            }],
        }],
        "initial_state": entities,
        "allowlist": allowlist(revised),
        "rules": {"max_update_fields": 1, "field_transitions": [], "preconditions": []},
        "script": script(form),
        "goal_versions": goals,
        "honest": honest,
        "environment_revision": "",
    })
}

/// The goal before the revision: the same, but for its last predicate, which is about the other item.
fn first_goal(predicates: &[Value]) -> Vec<Value> {
    let mut first = predicates.to_vec();
    if let Some(last) = first.last_mut() {
        last["predicate"]["id"] = "item-other".into();
    }
    first
}

fn allowlist(revised: bool) -> Value {
    let mut agent = vec!["create", "update", "delete", "restore", "read", "list", "say", "wait"];
    if revised {
        agent.push("revise_goal");
    }
    json!({ "agent": agent, "user": ["say", "update"] })
}

fn script(form: Form) -> Value {
    match form {
        Form::Persistent | Form::Crud => json!([]),
        Form::Interaction => json!([{
            "id": "answer",
            "actor": "user",
            "trigger": {"kind": "message"},
            "action": {"op": "say", "to": "agent", "text": "What the user answers."},
        }]),
        Form::GoalPatch => json!([{
            "id": "change-of-mind",
            "actor": "user",
            "trigger": {"kind": "wait"},
            "action": {"op": "say", "to": "agent", "text": "What the user wants instead.", "offers": 2},
        }]),
    }
}
