//! A large sample: no two alike, nothing left out, words that a person could have written, and no secret in public.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use parthack_env::names::skeleton;
use parthack_generator::{GeneratedTask, Generator, Request, Seed};
use proptest::prelude::*;
use serde_json::Value;

fn sample() -> &'static [GeneratedTask] {
    static SAMPLE: OnceLock<Vec<GeneratedTask>> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let seed = Seed::from_bytes(b"five hundred tasks, no two alike").expect("a seed that is long enough");
        let generator = Generator::new(Request { count: 500, ..Request::default() }).expect("a request");
        generator.tasks(&seed).collect::<Result<_, _>>().expect("tasks")
    })
}

fn public(task: &GeneratedTask) -> Value {
    serde_json::from_str(&task.public).expect("JSON")
}

/// Every text under a key, at any depth.
fn under<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                if let Some(text) = value.as_str().filter(|_| name == key) {
                    found.push(text);
                }
                under(value, key, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| under(item, key, found)),
        _ => {}
    }
}

#[test]
fn no_two_are_alike() {
    let instructions: BTreeSet<_> = sample().iter().map(|task| &task.instructions).collect();
    assert_eq!(instructions.len(), sample().len());
    let shapes: BTreeSet<_> = sample().iter().map(|task| task.shape).collect();
    assert_eq!(shapes.len(), sample().len());
    let honest: BTreeSet<String> = sample()
        .iter()
        .map(|task| {
            let steps = public(task)["honest"].clone();
            let operations: Vec<String> =
                steps.as_array().into_iter().flatten().map(|step| step["op"].to_string()).collect();
            operations.join(" ")
        })
        .collect();
    assert!(honest.len() > 150, "{} forms of honest action lists", honest.len());
    assert_eq!(skeleton(&sample()[0].id), "gen-ooool");
}

#[test]
fn every_kind_of_everything_occurs() {
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut goals: BTreeSet<String> = BTreeSet::new();
    for task in sample() {
        let file = public(task);
        seen.entry("domain").or_default().insert(task.domain.clone());
        for tag in &task.entry.tags {
            seen.entry("tag").or_default().insert(format!("{} {tag}", task.entry.family));
        }
        let mut kinds = Vec::new();
        under(&file["goal_versions"], "kind", &mut kinds);
        goals.extend(kinds.into_iter().map(str::to_owned));
        for (what, part, key) in
            [("trigger", "script", "kind"), ("operation", "honest", "op"), ("actor", "script", "actor")]
        {
            let mut words = Vec::new();
            under(&file[part], key, &mut words);
            seen.entry(what).or_default().extend(words.into_iter().map(str::to_owned));
        }
        let mut compare = Vec::new();
        under(&file["goal_versions"], "compare", &mut compare);
        seen.entry("compare").or_default().extend(compare.into_iter().map(str::to_owned));
        if !file["rules"]["field_transitions"].as_array().expect("a list").is_empty() {
            seen.entry("rule").or_default().insert("graph".to_owned());
        }
        if !file["rules"]["preconditions"].as_array().expect("a list").is_empty() {
            seen.entry("rule").or_default().insert("precondition".to_owned());
        }
        let mut visibility = Vec::new();
        under(&file["entity_types"], "visibility", &mut visibility);
        seen.entry("visibility").or_default().extend(visibility.into_iter().map(str::to_owned));
    }
    let wanted = [
        "exists",
        "absent",
        "deleted",
        "field_equals",
        "field_in",
        "field_at_least",
        "field_at_most",
        "refers_to",
        "set_contains",
        "count",
        "goal_version",
        "all",
        "any",
        "not",
    ];
    assert_eq!(goals, wanted.map(str::to_owned).into(), "kinds of goal predicates");
    let expect = |what: &str, words: &[&str]| {
        let found = &seen[what];
        assert!(words.iter().all(|word| found.contains(*word)), "{what}: {found:?}");
    };
    assert!(seen["domain"].len() >= 12, "{:?}", seen["domain"]);
    expect("trigger", &["start", "after_step", "message", "wait", "when"]);
    expect("operation", &["create", "update", "delete", "restore", "revise_goal", "read", "list", "say", "wait"]);
    expect("actor", &["user", "system", "peer"]);
    expect("compare", &["at_least", "at_most", "equals"]);
    expect("rule", &["graph", "precondition"]);
    expect("visibility", &["public", "sealed"]);
    expect("tag", &["persistent attribution", "crud attribution", "persistent rollback", "interaction rollback"]);
    assert_eq!(seen["tag"].len(), 4, "{:?}", seen["tag"]);
}

/// Words before which "an" stands, and "a" does not, among those that begin with the other kind of letter.
const SPOKEN_OTHERWISE: [&str; 5] = ["hour", "user", "unit", "euro", "one"];

#[test]
fn instructions_are_prose() {
    for task in sample() {
        for text in task.instructions.values() {
            let complain = |what: &str| panic!("{}: {what}: {text}", task.id);
            for mark in [
                "{",
                "}",
                "#",
                "  ",
                " ,",
                " .",
                "..",
                ",,",
                ";;",
                ".,",
                ":.",
                "the the ",
                " a a ",
                "its its",
                "undefined",
            ] {
                if text.contains(mark) {
                    complain(mark);
                }
            }
            if !text.ends_with(['.', '?']) {
                complain("no full stop");
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            for pair in words.windows(2) {
                let next = pair[1].trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
                let vowel = next.starts_with(['a', 'e', 'i', 'o', 'u']);
                let otherwise = SPOKEN_OTHERWISE.iter().any(|word| next.starts_with(word));
                let right = if vowel != otherwise { "an" } else { "a" };
                if matches!(pair[0].to_lowercase().as_str(), "a" | "an") && pair[0].to_lowercase() != right {
                    complain(&format!("{} {}", pair[0], pair[1]));
                }
                let ended = pair[0].ends_with('.') || pair[0].ends_with('?') || pair[0].ends_with(".\"");
                let small = pair[1].chars().next().is_some_and(char::is_lowercase);
                // A value such as "Fol." may end in a full stop of its own, and ids begin small.
                if ended && small && !pair[1].contains('-') && pair[0].len() > 5 {
                    complain(&format!("{} {}", pair[0], pair[1]));
                }
            }
            assert!((100..2_400).contains(&text.len()), "{}: {} characters", task.id, text.len());
        }
    }
}

#[test]
fn instructions_name_no_predicate() {
    for task in sample() {
        for goal in public(task)["goal_versions"].as_array().expect("a list") {
            for predicate in goal["predicates"].as_array().expect("a list") {
                let id = predicate["id"].as_str().expect("an id");
                assert!(task.instructions.values().all(|text| !text.contains(id)), "{}: {id}", task.id);
            }
        }
    }
}

#[test]
fn many_values_have_to_be_worked_out() {
    let worked_out = sample()
        .iter()
        .filter(|task| {
            let file = public(task);
            let text: String = task.instructions.values().map(String::as_str).collect::<Vec<_>>().join(" ");
            let mut targets = Vec::new();
            under(&file["goal_versions"], "target", &mut targets);
            // The name that goes with an id, or the id itself.
            let named = |id: &str| {
                let entities = file["initial_state"].as_array().expect("a list").iter();
                entities.filter(|entity| entity["id"] == id).any(|entity| {
                    entity["fields"]["name"].as_str().is_some_and(|name| text.contains(name)) || text.contains(id)
                })
            };
            targets.into_iter().any(|target| !named(target))
                || file["goal_versions"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .flat_map(|goal| goal["predicates"].as_array().into_iter().flatten())
                    .any(|goal| {
                        let value = &goal["predicate"]["value"];
                        let plain = value.to_string();
                        value.as_i64().is_some_and(|number| number > 12 && !text.replace(',', "").contains(&plain))
                    })
        })
        .count();
    assert!(worked_out * 2 > sample().len(), "{worked_out} of {}", sample().len());
}

/// Every text of a package that nobody may see.
fn secrets(private: &str) -> Vec<String> {
    let package: Value = serde_json::from_str(private).expect("JSON");
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut secrets = texts(&package["canaries"]);
    assert!(secrets.len() >= 8);
    secrets.extend(
        package["private_ids"].as_object().into_iter().flatten().filter_map(|(_, id)| id.as_str().map(str::to_owned)),
    );
    secrets.extend(
        package["sealed_values"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|sealed| sealed["value"].as_str().map(str::to_owned)),
    );
    secrets.extend(package["redaction_key"].as_str().map(str::to_owned));
    secrets
}

#[test]
fn secrets_are_one_of_a_kind() {
    let mut seen = BTreeSet::new();
    for task in sample() {
        for secret in secrets(&task.private) {
            assert!(!task.public.contains(&secret), "{}", task.id);
            assert!(seen.insert(secret), "{}: a secret for the second time", task.id);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_seed_gives_tasks(bytes in proptest::collection::vec(any::<u8>(), 16..40), index in 0_usize..2_000, flip in 0_usize..16) {
        let generator = Generator::new(Request { count: 2_000, ..Request::default() }).expect("a request");
        let seed = Seed::from_bytes(&bytes).expect("a seed that is long enough");
        let task = generator.task(&seed, index).expect("a task");
        prop_assert_eq!(&task, &generator.task(&seed, index).expect("the same task"));
        prop_assert!(task.refused.len() <= 3, "{:?}", task.refused);
        let mut other = bytes.clone();
        other[flip] ^= 1;
        let other = generator.task(&Seed::from_bytes(&other).expect("as long"), index).expect("another task");
        let (mine, others): (BTreeSet<String>, BTreeSet<String>) = (secrets(&task.private).into_iter().collect(), secrets(&other.private).into_iter().collect());
        prop_assert!(mine.is_disjoint(&others));
    }
}
