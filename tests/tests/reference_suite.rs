//! The reference suite: what SPEC §3 asks of its 24 tasks, proved by exploration.

use std::collections::BTreeSet;

use parthack_attacker::lint::{Finding, lint_public};
use parthack_attacker::search::{SearchOptions, search};
use parthack_env::names::Operation;
use parthack_env::predicate::Predicate;
use parthack_env::spec::Split;
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;
use parthack_tests::reference_tasks;

fn tasks() -> Vec<Task> {
    let tasks: Vec<Task> = reference_tasks()
        .iter()
        .map(|path| {
            let bytes = std::fs::read(path).expect("a task file");
            Task::read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect();
    assert_eq!(tasks.len(), 24);
    tasks
}

#[test]
fn every_claim_about_every_task_holds() {
    for task in tasks() {
        for note in lint_public(&task).unwrap_or_else(|error| panic!("{}: {error}", task.spec.id)) {
            assert_eq!(note.finding, Finding::Holds, "{}: {}: {}", task.spec.id, note.code, note.message);
        }
    }
}

#[test]
fn environments_and_honest_shapes_differ() {
    let tasks = tasks();
    let shapes: BTreeSet<Vec<Operation>> =
        tasks.iter().map(|task| task.spec.honest.iter().map(|step| step.operation()).collect()).collect();
    assert_eq!(shapes.len(), 24, "honest lists of one shape");
    let domains: BTreeSet<&str> = tasks.iter().map(|task| task.spec.domain.as_str()).collect();
    assert_eq!(domains.len(), 24, "a domain twice");
    let environments: BTreeSet<String> = tasks
        .iter()
        .map(|task| {
            let types = task.spec.entity_types.iter().map(|t| {
                let fields: Vec<String> =
                    t.fields.iter().map(|f| format!("{:?}", std::mem::discriminant(&f.kind))).collect();
                format!("{}:{}", fields.join(","), t.creatable.len())
            });
            let mut types: Vec<String> = types.collect();
            types.sort();
            format!("{types:?} {} {}", task.spec.script.len(), task.spec.rules.preconditions.len())
        })
        .collect();
    assert_eq!(environments.len(), 24, "an environment twice");
}

#[test]
fn every_predicate_kind_is_used() {
    let mut kinds = BTreeSet::new();
    for task in tasks() {
        for goal in &task.spec.goal_versions {
            for predicate in &goal.predicates {
                fn visit(predicate: &Predicate, kinds: &mut BTreeSet<String>) {
                    let mut out = Vec::new();
                    predicate.push_json(&mut out);
                    let text = String::from_utf8_lossy(&out).into_owned();
                    for part in text.split("\"kind\":\"").skip(1) {
                        kinds.insert(part.split('"').next().unwrap_or_default().to_owned());
                    }
                }
                visit(&predicate.predicate, &mut kinds);
            }
        }
    }
    let all = [
        "absent",
        "all",
        "any",
        "count",
        "deleted",
        "exists",
        "field_at_least",
        "field_at_most",
        "field_equals",
        "field_in",
        "goal_version",
        "not",
        "refers_to",
        "set_contains",
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn the_attribution_tasks_tell_cape_from_historical() {
    for task in tasks().iter().filter(|task| task.spec.split == Split::HeldOut) {
        let best = |rule| search(task, rule, &SearchOptions::default()).unwrap_or_else(|e| panic!("{e}")).best;
        let (historical, cape) = (best(Rule::HistoricalMilestone), best(Rule::CapeMax));
        if task.spec.tags.iter().any(|tag| tag == "attribution") {
            assert!(cape < historical, "{}: {cape:?} and {historical:?}", task.spec.id);
        }
        assert!(cape <= historical, "{}", task.spec.id);
    }
}

/// An independent simulator, written from the format's description alone, explored every task; its optima are data.
#[test]
fn optima_equal_those_of_an_independent_simulator() {
    let expected = include_str!("../data/reference_optima.csv");
    let tasks = tasks();
    let mut compared = 0;
    for line in expected.lines().filter(|line| !line.starts_with('#')) {
        let [id, historical, historical_length, cape, cape_length] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let task = tasks.iter().find(|task| task.spec.id == id).unwrap_or_else(|| panic!("{id}"));
        for (rule, best, length) in
            [(Rule::HistoricalMilestone, historical, historical_length), (Rule::CapeMax, cape, cape_length)]
        {
            let found = search(task, rule, &SearchOptions::default()).unwrap_or_else(|error| panic!("{error}"));
            let (numerator, denominator) = best.split_once('/').expect("a ratio");
            let best = parthack_evaluators::score::ExactScore::new(
                numerator.parse().expect("a number"),
                denominator.parse().expect("a number"),
            );
            assert_eq!(found.best, Some(best), "{id}, {}", rule.id());
            assert_eq!(found.witness_length, length.parse().ok(), "{id}, {}", rule.id());
            compared += 1;
        }
    }
    assert_eq!(compared, 48);
}
