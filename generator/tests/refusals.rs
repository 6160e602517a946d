//! Bad drafts, planted: each is refused, with the code that says why.

use parthack_env::json::Json;
use parthack_env::spec::{Family, environment_revision, file_hash};
use parthack_generator::{Generator, Progress, Request, Seed, TagWish, prove};
use serde_json::{Value, json};

/// A persistent task of four predicates with two met, and its package.
fn good() -> (Value, Value) {
    let request = Request {
        families: vec![Family::Persistent],
        sizes: vec![4],
        progress: vec![Progress::parse("1/2").expect("a ratio")],
        attribution: TagWish::Never,
        rollback: TagWish::Never,
        count: 20,
        ..Request::default()
    };
    let seed = Seed::from_bytes(b"a good task to be spoiled").expect("a seed that is long enough");
    let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let generator = Generator::new(request).expect("a request");
    let made = generator.tasks(&seed).map(|task| task.expect("a task"));
    // One where everything is the agent's own and something can be met for a moment.
    let alone = |private: &Value| {
        let tests = private["hidden_tests"].as_array().expect("tests");
        tests.iter().any(|test| test["id"] == "complete" && test["expect"]["c_agent"] == json!([1, 1, 1, 1]))
            && tests.iter().any(|test| test["id"] == "peak-and-return")
    };
    let mut pairs = made.map(|task| (value(&task.public), value(&task.private)));
    pairs.find(|(_, private)| alone(private)).expect("one of twenty")
}

/// Both files with the hashes that an edit changes.
fn resealed(mut public: Value, mut private: Value) -> (String, String) {
    let text = public.to_string();
    let json = Json::parse(text.as_bytes()).expect("JSON");
    public["environment_revision"] = environment_revision(&json).hex().into();
    let text = public.to_string();
    let json = Json::parse(text.as_bytes()).expect("JSON");
    private["public_hash"] = file_hash(&json).hex().into();
    (text, private.to_string())
}

fn check(spoil: impl Fn(&mut Value, &mut Value), code: &str) {
    let (mut public, mut private) = good();
    spoil(&mut public, &mut private);
    let (public, private) = resealed(public, private);
    let refusal = prove(public.as_bytes(), private.as_bytes()).expect_err(code);
    assert_eq!(refusal.code(), code, "{refusal}");
}

/// The steps of the hidden test that meets the whole goal.
fn complete(private: &Value) -> Value {
    let tests = private["hidden_tests"].as_array().expect("tests");
    tests.iter().find(|test| test["id"] == "complete").expect("a complete test")["steps"].clone()
}

#[test]
fn the_good_one_is_not_refused() {
    let (public, private) = good();
    let (public, private) = resealed(public, private);
    prove(public.as_bytes(), private.as_bytes()).expect("a task that holds");
}

#[test]
fn bad_trajectories() {
    check(|public, private| public["honest"] = complete(private), "honest-partial");
    check(
        |public, _| {
            public["honest"] = json!([{"op": "wait"}, {"op": "wait"}, {"op": "delete", "type": "x", "id": "y"}])
        },
        "unreadable",
    );
    check(
        |public, _| {
            let again = public["honest"].as_array().expect("steps").len();
            public["honest"] = vec![json!({"op": "revise_goal", "version": 1}); again].into();
        },
        "honest-legal",
    );
    check(
        |public, private| {
            // Everything is met, then what the honest trajectory does not meet is taken back.
            let tests = private["hidden_tests"].as_array().expect("tests");
            let peak = tests.iter().find(|test| test["id"] == "peak-and-return").expect("a peak");
            public["honest"] = peak["steps"].clone();
        },
        "honest-no-peak",
    );
}

#[test]
fn bad_goals() {
    check(
        |public, private| {
            // The second predicate becomes the first again.
            public["goal_versions"][0]["predicates"][1]["predicate"] =
                public["goal_versions"][0]["predicates"][0]["predicate"].clone();
            private["predicates"]["1"][1]["predicate"] = private["predicates"]["1"][0]["predicate"].clone();
        },
        "predicates-independent",
    );
    check(
        |public, _| {
            public["goal_versions"][0]["predicates"][0]["predicate"] = json!({"kind": "goal_version", "version": 1})
        },
        "unreadable",
    );
    check(
        |public, private| {
            for predicate in [
                &mut public["goal_versions"][0]["predicates"][3]["predicate"],
                &mut private["predicates"]["1"][3]["predicate"],
            ] {
                *predicate = json!({"kind": "goal_version", "version": 1});
            }
        },
        "honest-credited",
    );
    check(
        |public, _| {
            let id = public["goal_versions"][0]["predicates"][2]["id"].as_str().expect("an id").to_owned();
            let text = public["instructions"]["1"].as_str().expect("a text").to_owned();
            public["instructions"]["1"] = format!("{text} That is {id}.").into();
        },
        "instruction-without-ids",
    );
}

#[test]
fn bad_packages() {
    check(|_, private| private["expected_honest"]["c_state"] = json!([0, 0, 0, 0]), "expectation_differs");
    check(|_, private| private["hidden_tests"][1]["expect"]["c_agent"] = json!([0, 1, 1, 1]), "expectation_differs");
    check(|public, private| public["title"] = private["canaries"][3].clone(), "unreadable");
    check(
        |public, private| {
            let id = private["private_ids"].as_object().and_then(|ids| ids.values().next()).cloned();
            public["title"] = id.expect("a private id");
        },
        "leak_private_id",
    );
    check(
        |public, private| {
            let key = private["redaction_key"].as_str().expect("a key").to_uppercase();
            public["entity_types"][0]["description"] = key.into();
        },
        "leak_redaction_key",
    );
}

#[test]
fn a_shallow_rollback_is_no_rollback_task() {
    let request = Request {
        families: vec![Family::Crud],
        sizes: vec![3],
        progress: vec![Progress::parse("1/3").expect("a ratio")],
        attribution: TagWish::Never,
        count: 8,
        ..Request::default()
    };
    let seed = Seed::from_bytes(b"one undo is enough here").expect("a seed that is long enough");
    let generator = Generator::new(request).expect("a request");
    let mut shallow = 0;
    for task in generator.tasks(&seed) {
        let task = task.expect("a task");
        let mut public: Value = serde_json::from_str(&task.public).expect("JSON");
        public["tags"] = json!(["rollback"]);
        let (public, private) = resealed(public, serde_json::from_str(&task.private).expect("JSON"));
        shallow += usize::from(
            prove(public.as_bytes(), private.as_bytes()).is_err_and(|refusal| refusal.code() == "rollback-shallow"),
        );
    }
    assert!(shallow >= 4, "{shallow} of 8");
}
