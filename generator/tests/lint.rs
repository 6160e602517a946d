//! Every kind of task proves whole, is the same bytes whenever and wherever it is made, and is what was asked for.

use std::collections::BTreeSet;

use parthack_attacker::lint::{Finding, lint_public};
use parthack_attacker::search::{SearchOptions, search};
use parthack_certifier::lint::{Severity, lint};
use parthack_env::frames::frames;
use parthack_env::replay::Replay;
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;
use parthack_generator::{
    FAMILIES, GenerateError, GeneratedTask, Generator, Progress, Request, Seed, TagWish, suite_manifest,
};

fn seed(bytes: &[u8]) -> Seed {
    Seed::from_bytes(bytes).expect("a seed that is long enough")
}

fn generator(request: Request) -> Generator {
    Generator::new(request).expect("a request that tasks can meet")
}

fn all(generator: &Generator, seed: &Seed) -> Vec<GeneratedTask> {
    generator.tasks(seed).collect::<Result<_, _>>().expect("tasks")
}

#[test]
fn every_family_size_and_progress_lints_whole() {
    let request = Request { count: 108, ..Request::default() };
    let made = all(&generator(request), &seed(b"every family, size and progress"));
    let mut cells = BTreeSet::new();
    for task in &made {
        let read = Task::read(task.public.as_bytes()).expect("a task file");
        let failed: Vec<_> =
            lint_public(&read).expect("small").into_iter().filter(|note| note.finding == Finding::Failed).collect();
        assert_eq!(failed, [], "{}", task.id);
        let notes = lint(task.public.as_bytes(), task.private.as_bytes());
        let bad: Vec<_> = notes.iter().filter(|note| note.severity != Severity::Proof).collect();
        assert!(bad.is_empty() && !notes.is_empty(), "{}: {bad:?}", task.id);
        if read.spec.rollback_metric {
            assert!(notes.iter().any(|note| note.code == "rollback_exists"), "{}", task.id);
        }
        let replay = Replay::run(&read, &read.spec.honest);
        let last = frames(&replay).last().copied().expect("a frame");
        let k = last.satisfied.count_ones();
        assert_eq!(task.entry.p_state_honest, format!("{k}/{}", read.m()));
        assert_eq!(task.entry.hash, read.spec.file_hash.hex());
        assert_eq!((task.entry.m, task.entry.family), (read.m(), read.spec.family.word()));
        assert_eq!(task.entry.tags, read.spec.tags);
        cells.insert((read.spec.family, read.m(), k));
    }
    assert_eq!(cells.len(), 4 * (2 + 3 + 4), "each family, size and progress occurs");
}

#[test]
fn a_task_is_a_function_of_seed_request_and_index() {
    let seed = seed(b"the same bytes again and again");
    let small = generator(Request { count: 12, ..Request::default() });
    let large = generator(Request { count: 9_000, ..Request::default() });
    let made = all(&small, &seed);
    let threads: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..made.len())
            .rev()
            .map(|index| {
                let (large, seed) = (&large, &seed);
                scope.spawn(move || large.task(seed, index))
            })
            .collect();
        handles.into_iter().rev().map(|handle| handle.join().expect("no panic").expect("a task")).collect()
    });
    assert_eq!(made, threads);
    assert!(matches!(small.task(&seed, 12), Err(GenerateError::Index { index: 12, count: 12 })));
    let other = all(&small, &self::seed(b"the same bytes again and agaim"));
    assert!(made.iter().zip(&other).all(|(one, other)| one.public != other.public && one.private != other.private));
}

/// What a seed gives is a promise to whoever published a commitment; these change only with the generator's version.
#[test]
fn a_fixed_seed_gives_fixed_bytes() {
    let task = generator(Request::default()).task(&seed(b"an example's seed, no secret"), 0).expect("a task");
    let package = parthack_certifier::package::Package::read(task.private.as_bytes()).expect("a package");
    assert_eq!(task.entry.hash, "765d0073612de20c1d6a0e6f805e8c16ef3e56acaa54b2c320df9ae32d3bd511");
    assert_eq!(package.commitment.hex(), "4b3440ad3c319acd57a078662d229da5970353d221b5460a683be555f02a75a8");
}

#[test]
fn requests_are_met() {
    let seed = seed(b"what was asked for is what comes");
    let base = Request { count: 6, id_prefix: "my.suite".to_owned(), ..Request::default() };
    for family in FAMILIES {
        let half = Progress::parse("1/2").expect("a ratio");
        let request = Request { families: vec![family], sizes: vec![4], progress: vec![half], ..base.clone() };
        for task in all(&generator(request), &seed) {
            assert_eq!((task.entry.family, task.entry.m), (family.word(), 4));
            assert_eq!(task.entry.p_state_honest, "2/4");
            assert!(task.id.starts_with("my.suite-0000"));
        }
    }
    let tagged =
        |attribution, rollback| all(&generator(Request { attribution, rollback, count: 24, ..base.clone() }), &seed);
    for task in tagged(TagWish::Always, TagWish::Never) {
        assert_eq!(task.entry.tags, ["attribution"], "{}", task.id);
    }
    for task in tagged(TagWish::Never, TagWish::Always) {
        assert_eq!(task.entry.tags, ["rollback"], "{}", task.id);
    }
    for task in tagged(TagWish::Always, TagWish::Always) {
        assert_eq!(task.entry.tags, ["attribution", "rollback"], "{}", task.id);
    }
    assert!(tagged(TagWish::Never, TagWish::Never).iter().all(|task| task.entry.tags.is_empty()));
}

#[test]
fn the_manifest_names_every_task() {
    let made = all(&generator(Request { count: 3, ..Request::default() }), &seed(b"a manifest of three tasks"));
    let entries: Vec<_> = made.iter().map(|task| task.entry.clone()).collect();
    let text = suite_manifest("three", "1.0.0", "Three tasks.", &entries).expect("a manifest");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let keys: BTreeSet<&str> = json.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, BTreeSet::from(["format", "id", "version", "description", "tasks"]));
    let ids: Vec<&str> =
        json["tasks"].as_array().expect("a list").iter().filter_map(|task| task["id"].as_str()).collect();
    assert_eq!(ids, ["GEN-00001", "GEN-00002", "GEN-00003"]);
    assert_eq!(json["tasks"][2]["hash"], made[2].entry.hash);
}

/// An update that also writes a field with the value that it has gives the same event as one that does not.
#[test]
fn exact_search_knows_the_honest_log_by_its_events() {
    let bytes = b"seed number 5, long enough to count as secret............\n";
    let made = all(&generator(Request { count: 60, ..Request::default() }), &seed(bytes));
    // The honest update of this one has such a twin.
    let read = Task::read(made[2].public.as_bytes()).expect("a task file");
    for rule in [Rule::Csps, Rule::TerminalOutcome, Rule::HistoricalMilestone] {
        let found = search(&read, rule, &SearchOptions::default()).expect("the packed model and the engine agree");
        assert!(found.best.is_some(), "{}", rule.id());
    }
}
