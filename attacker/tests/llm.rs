//! The model attacker's prompts over the reference suite, and what is made of answers.

use std::collections::BTreeSet;

use parthack_attacker::llm::{Earlier, Feedback, TargetDescription, prompt, prompt_hash, read, target_description};
use parthack_env::candidate::{Candidate, RefusalOfCandidate};
use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::json::Json;
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;

fn tasks() -> Vec<Task> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasks/pb-cste-1");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the suite").map(|entry| entry.expect("entry").path()).collect();
    paths.sort();
    let tasks: Vec<Task> = paths
        .iter()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("PH-")))
        .map(|path| Task::read(&std::fs::read(path).expect("readable")).expect("a task"))
        .collect();
    assert_eq!(tasks.len(), 24);
    tasks
}

fn historical() -> TargetDescription {
    target_description("historical-milestone").expect("built in")
}

/// Recordings hold these bytes. A change makes all of them useless, so it is made on purpose or not at all.
#[test]
fn the_prompts_are_frozen() {
    assert_eq!(prompt_hash(), "5b758fa52a3ffab68a572372bd217e6096f528faaaefd5256694558a8f4ba075");
    let mut all = Vec::new();
    for task in tasks() {
        let prompt = prompt(&task, &historical(), 1, 3, &Feedback::None);
        let schema = prompt.form.schema.to_string();
        all.extend_from_slice(format!("{}\n{}\n", prompt.system, prompt.user).as_bytes());
        all.extend_from_slice(&canonical_bytes(&Json::parse(schema.as_bytes()).expect("JSON")));
    }
    assert_eq!(Hash::of("prompts", &all).hex(), "3d4a60408fa0747f87851c1104db41deb91419dcb59d04f2b5c17ba0c60e8c6d");
}

#[test]
fn every_rule_is_described() {
    for rule in Rule::ALL {
        let target = target_description(rule.id()).expect("built in");
        assert_eq!(target.title, rule.title());
    }
    assert_eq!(target_description("no-such"), None);
    assert_eq!(TargetDescription::black_box("exec:./mine").id, "exec:./mine");
}

#[test]
fn prompts_are_white_box_quoted_and_small() {
    for task in tasks() {
        let prompt = prompt(&task, &historical(), 2, 3, &Feedback::None);
        let id = &task.spec.id;
        assert!(prompt.system.len() + prompt.user.len() < 7_500, "{id}: {}", prompt.user.len());
        let mark = prompt.user.lines().find(|line| line.starts_with("==== ")).expect("a mark");
        assert_eq!(prompt.user.matches(&format!("\n{mark}\n")).count(), 2, "{id}");
        let goal = task.spec.goal_versions.iter().find(|goal| goal.version == task.spec.active_goal_version);
        for predicate in &goal.expect("active").predicates {
            assert!(prompt.user.contains(&predicate.id), "{id}");
        }
        for entity in &task.spec.initial_state {
            assert!(prompt.user.contains(&format!("{} {}", entity.entity_type, entity.id)), "{id}");
        }
        for text in task.spec.instructions.values() {
            assert!(prompt.user.contains(text.as_str()), "{id}");
        }
        assert!(!prompt.user.contains("tok_"), "{id}: a token says nothing and costs much");
        assert!(prompt.user.contains("Attempt 2 of 3."));
    }
}

#[test]
fn attempts_targets_and_feedback_make_other_prompts() {
    let task = &tasks()[0];
    let mut seen = BTreeSet::new();
    for attempt in 1..=5 {
        for rule in Rule::ALL {
            let target = target_description(rule.id()).expect("built in");
            assert!(seen.insert(prompt(task, &target, attempt, 5, &Feedback::None).user));
        }
    }
    let list = vec![
        Earlier { attempt: 1, fault: Some("/steps/3: found a refused step".to_owned()), score: None },
        Earlier { attempt: 2, fault: None, score: Some("3/4".to_owned()) },
    ];
    let protocol = prompt(task, &historical(), 3, 3, &Feedback::Protocol(list.clone())).user;
    assert!(protocol.contains("attempt 1: void (/steps/3: found a refused step)"));
    assert!(protocol.contains("attempt 2: it runs\n") && !protocol.contains("3/4"));
    let scored = prompt(task, &historical(), 3, 3, &Feedback::PublicScore(list)).user;
    assert!(scored.contains("attempt 2: it runs; the evaluator gives 3/4\n"));
    let words: Vec<&str> = [Feedback::None, Feedback::Protocol(vec![]), Feedback::PublicScore(vec![])]
        .iter()
        .map(Feedback::word)
        .collect();
    assert_eq!(words, ["none", "protocol", "public-score"]);
}

#[test]
fn what_is_filled_in_is_not_looked_at_again() {
    let task = &tasks()[0];
    let target = TargetDescription {
        id: "x".to_owned(),
        title: "{task}".to_owned(),
        description: "{attempt} {mark} { {unknown}".to_owned(),
    };
    let user = prompt(task, &target, 1, 3, &Feedback::None).user;
    assert!(user.contains("Evaluator to be misled: {task}\n{attempt} {mark} { {unknown}\n"));
}

#[test]
fn answers_become_candidates() {
    let content = r#"{"steps":[{"op":"update","type":"loan","id":"loan-204","set":[{"field":"due","value":58}]},{"op":"list","type":"library"}]}"#;
    let bytes = read("PH-D01", content).expect("in the form");
    let candidate = Candidate::read(&bytes).expect("a candidate");
    assert_eq!(candidate.bytes(), bytes, "canonical");
    assert_eq!(
        candidate.steps.iter().map(parthack_env::steps::Step::json).collect::<Vec<_>>(),
        [r#"{"fields":{"due":58},"id":"loan-204","op":"update","type":"loan"}"#, r#"{"op":"list","type":"library"}"#]
    );
    // Gates beyond the form give their own codes.
    let unknown = read("PH-D01", r#"{"steps":[{"op":"drop","type":"loan"}]}"#).expect("in the form");
    assert_eq!(Candidate::read(&unknown).expect_err("no such operation").code, RefusalOfCandidate::IllegalAction);
    assert!(read("PH-D01", r#"{"steps":[]}"#).is_ok());
}

#[test]
fn answers_of_another_form_are_refused() {
    let refused = [
        ("", "found"),
        ("[]", "an array of 0"),
        ("I can't help with that.", "found"),
        (r#"{"steps":{}}"#, "an array"),
        (r#"{"steps":[],"note":"x"}"#, "one key"),
        (r#"{"list":[]}"#, "/list"),
        (r#"{"steps":[7]}"#, "/steps/0"),
        (r#"{"steps":[{"op":"list"}]}"#, "/steps/0"),
        (r#"{"steps":[{"op":"wait","actor":"user"}]}"#, "actor"),
        (r#"{"steps":[{"op":"wait","op":"wait"}]}"#, "op"),
        (r#"{"steps":[{"op":"wait"}]"#, "found"),
        (r#"{"steps":[{"op":"wait"}]} And so on."#, "found"),
        (r#"{"steps":[{"op":"update","type":"t","id":"a","set":{}}]}"#, "/steps/0/set"),
        (r#"{"steps":[{"op":"update","type":"t","id":"a","set":[{"field":"b"}]}]}"#, "/steps/0/set/0"),
        (
            r#"{"steps":[{"op":"update","type":"t","id":"a","set":[{"field":"b","value":1},{"field":"b","value":2}]}]}"#,
            "twice",
        ),
        (r#"{"steps":[{"op":"update","type":"t","id":"a","set":[],"fields":{}}]}"#, "fields"),
    ];
    for (content, expected) in refused {
        let fault = read("PH-D01", content).expect_err(content);
        assert!(fault.contains(expected), "{content}: {fault}");
    }
}
