//! Both certifiers on a 25-step trajectory, in process: with the replay that they certify, and alone.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use parthack_certifier::certify::TaskCertifier;
use parthack_env::replay::Replay;

#[path = "../../env/benches/support/mod.rs"]
mod support;

/// Agent steps of the trajectories.
const LENGTH: usize = 25;

fn certify(criterion: &mut Criterion) {
    for (name, task) in [
        ("PH-H01", support::reference_task("PH-H01")),
        ("PH-H04", support::reference_task("PH-H04")),
        ("release-shaped", support::release_shaped_task()),
    ] {
        let task = Arc::new(task);
        let steps = support::walk(&task, LENGTH);
        let replay = Replay::run(&task, &steps);
        let certifier = TaskCertifier::public(Arc::clone(&task)).expect("the second certifier reads the task");
        let mut group = criterion.benchmark_group(format!("certify/{name}"));
        group.throughput(Throughput::Elements(1));
        group.bench_function("replay and both certifiers", |bencher| {
            bencher.iter(|| certifier.certify(black_box(&steps)).expect("a certificate").state_hash);
        });
        group.bench_function("both certifiers", |bencher| {
            bencher.iter(|| certifier.certify_replay(black_box(&replay)).expect("a certificate").state_hash);
        });
        group.bench_function("replay", |bencher| {
            bencher.iter(|| Replay::run(&task, black_box(&steps)).head());
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(40).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = certify
}
criterion_main!(benches);
