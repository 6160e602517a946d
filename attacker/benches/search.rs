//! Exact search: transitions and unique states a second, on one thread and on two; bytes of a state; and every exact
//! optimum of the reference suite.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use parthack_attacker::search::{SearchOptions, SearchOutcome, search};
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;

mod grid;
#[path = "../../env/benches/support/mod.rs"]
mod support;

/// Cells and values: 1.7 million states.
const GRID: (usize, usize) = (8, 6);
/// 16.8 million states.
const LARGE: (usize, usize) = (12, 4);

fn explore(task: &Task, target: Rule, threads: usize) -> SearchOutcome {
    let options = SearchOptions { threads, prove: true, ..SearchOptions::default() };
    search(task, target, &options).expect("the search ends")
}

fn speed(criterion: &mut Criterion) {
    let task = grid::task(GRID.0, GRID.1);
    let counted = explore(&task, Rule::Csps, 1).statistics;
    assert_eq!(counted.states, grid::states(GRID.0, GRID.1));
    eprintln!("grid: {} states, {} transitions, {} bits", counted.states, counted.transitions, counted.state_bits);
    for (unit, count) in [("states", counted.states), ("transitions", counted.transitions)] {
        let mut group = criterion.benchmark_group(format!("search/{unit}"));
        group.throughput(Throughput::Elements(count));
        for threads in [1, 2] {
            group.bench_function(BenchmarkId::new("threads", threads), |bencher| {
                bencher.iter(|| explore(black_box(&task), Rule::Csps, threads).statistics.states);
            });
        }
        group.finish();
    }
}

fn suite(criterion: &mut Criterion) {
    let tasks: Vec<Task> = ["D", "H"]
        .iter()
        .zip([6, 18])
        .flat_map(|(split, count)| (1..=count).map(move |number| format!("PH-{split}{number:02}")))
        .map(|id| support::reference_task(&id))
        .collect();
    let mut group = criterion.benchmark_group("search/reference suite");
    for rule in [Rule::HistoricalMilestone, Rule::CapeMax] {
        group.bench_function(format!("24 optima, {}", rule.id()), |bencher| {
            let options = SearchOptions::default();
            bencher.iter(|| tasks.iter().filter(|task| search(task, rule, &options).is_ok()).count());
        });
    }
    group.finish();
}

/// One large exploration, timed once: what a state costs in memory, where the system says.
fn memory(_: &mut Criterion) {
    let task = grid::task(LARGE.0, LARGE.1);
    let before = peak_bytes();
    let start = Instant::now();
    let counted = explore(&task, Rule::Csps, 1).statistics;
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(counted.states, grid::states(LARGE.0, LARGE.1));
    let per_state = match (before, peak_bytes()) {
        (Some(before), Some(after)) => format!("{:.1}", (after - before) as f64 / counted.states as f64),
        _ => "unknown".to_owned(),
    };
    println!(
        "search/large: {} states in {seconds:.2} s, {:.1} M states/s, {:.1} M transitions/s, {per_state} bytes a state",
        counted.states,
        counted.states as f64 / seconds / 1e6,
        counted.transitions as f64 / seconds / 1e6,
    );
}

/// Most memory that the process ever had resident.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(4));
    targets = memory, speed, suite
}
criterion_main!(benches);
