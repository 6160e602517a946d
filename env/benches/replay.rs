//! Replay with log, diffs, snapshots, state hash and hash chain: events a second, and how the cost of an event depends
//! on the trajectory's length. `blake3` hashes the bytes of the same events and does nothing else: the limit.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use parthack_env::replay::Replay;
use parthack_env::task::Task;

mod support;

/// Agent steps of the trajectories.
const LENGTHS: [usize; 4] = [8, 25, 128, 512];

fn replay(criterion: &mut Criterion) {
    for (name, task) in [
        ("PH-H01", support::reference_task("PH-H01")),
        ("PH-H04", support::reference_task("PH-H04")),
        ("release-shaped", support::release_shaped_task()),
    ] {
        let mut group = criterion.benchmark_group(format!("replay/{name}"));
        for length in LENGTHS {
            let steps = support::walk(&task, length);
            let events = Replay::run(&task, &steps).events.len();
            group.throughput(Throughput::Elements(events as u64));
            group.bench_function(BenchmarkId::from_parameter(length), |bencher| {
                bencher.iter(|| Replay::run(&task, black_box(&steps)).head());
            });
        }
        let (messages, events) = hashed_messages(&task, LENGTHS[1]);
        group.throughput(Throughput::Elements(events));
        group.bench_function("blake3", |bencher| {
            bencher
                .iter(|| messages.iter().fold(0, |sum, message| sum ^ blake3::hash(black_box(message)).as_bytes()[0]));
        });
        group.finish();
    }
}

/// What replay must hash for a trajectory: of each event the entity, the state and the event itself.
fn hashed_messages(task: &Task, length: usize) -> (Vec<Vec<u8>>, u64) {
    let replay = Replay::run(task, &support::walk(task, length));
    let mut messages = Vec::new();
    for (event, world) in replay.events.iter().zip(&replay.snapshots) {
        let mut message = b"event\0".to_vec();
        event.push_public_json(task, &mut message);
        message.extend_from_slice(&[0; 64]);
        messages.push(message);
        if let Some(slot) = event.target.filter(|_| !event.diff.is_empty()) {
            let mut message = b"entity\0".to_vec();
            world.entity(slot).push_json(task, slot, &mut message);
            messages.push(message);
            let mut message = b"state\0....".to_vec();
            for (slot, entity) in world.entities() {
                if entity.incarnation > 0 {
                    let info = &task.slots[slot.at()];
                    message.extend_from_slice(task.type_of_slot(slot).name.as_bytes());
                    message.push(b'/');
                    message.extend_from_slice(info.id.as_bytes());
                    message.extend_from_slice(&[0; 33]);
                }
            }
            messages.push(message);
        }
    }
    let bytes: usize = messages.iter().map(Vec::len).sum();
    let blocks: usize = messages.iter().map(|message| message.len().div_ceil(64)).sum();
    let events = replay.events.len();
    eprintln!("{}: {} bytes and {} blocks an event", task.spec.id, bytes / events, blocks / events);
    (messages, events as u64)
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(40).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = replay
}
criterion_main!(benches);
