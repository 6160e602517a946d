//! The six rule evaluators on a 25-step trajectory: on frames in memory, and from the canonical bytes of the payload.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use parthack_env::frames::frames;
use parthack_env::json::Json;
use parthack_env::payload::payload;
use parthack_env::replay::Replay;
use parthack_evaluators::public_view;
use parthack_evaluators::registry::score_all;
use parthack_evaluators::rules::Rule;

#[path = "../../env/benches/support/mod.rs"]
mod support;

/// Agent steps of the trajectories.
const LENGTH: usize = 25;

fn score(criterion: &mut Criterion) {
    for id in ["PH-H01", "PH-H04", "PH-H17"] {
        let task = support::reference_task(id);
        let replay = Replay::run(&task, &support::walk(&task, LENGTH));
        let m = u32::try_from(task.m()).unwrap_or(0);
        let all = frames(&replay);
        let bytes = payload(&replay);
        eprintln!("{id}: {} events, {} bytes of payload", replay.events.len(), bytes.len());
        let mut group = criterion.benchmark_group(format!("score/{id}"));
        group.throughput(Throughput::Elements(Rule::ALL.len() as u64));
        group.bench_function("frames in memory, scores", |bencher| {
            bencher.iter(|| Rule::ALL.map(|rule| rule.score(m, black_box(&all)).numerator));
        });
        group.throughput(Throughput::Elements(1));
        group.bench_function("payload to six scores", |bencher| {
            bencher.iter(|| score_all(&Rule::ALL, black_box(&bytes)));
        });
        group.bench_function("payload to frames", |bencher| {
            bencher.iter(|| public_view::read(black_box(&bytes)).map(|view| view.m));
        });
        group.bench_function("payload to frames, through a tree", |bencher| {
            bencher.iter(|| Json::parse(black_box(&bytes)).map(|json| json.get("events").is_some()));
        });
        group.bench_function("UTF-8 alone", |bencher| {
            bencher.iter(|| std::str::from_utf8(black_box(&bytes)).map(str::len));
        });
        group.bench_function("trajectory to payload", |bencher| {
            bencher.iter(|| payload(black_box(&replay)).len());
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(40).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = score
}
criterion_main!(benches);
