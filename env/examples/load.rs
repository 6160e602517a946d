//! Loads task files and replays their honest trajectories.
fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap();
        match parthack_env::task::Task::read(&bytes) {
            Err(error) => println!("{path}: {error}"),
            Ok(task) => {
                let replay = parthack_env::replay::Replay::run(&task, &task.spec.honest);
                let frames = parthack_env::frames::frames(&replay);
                println!(
                    "{path}: m {} events {} refused {:?} frames {:?}",
                    task.m(),
                    replay.events.len(),
                    replay.first_refusal().map(|r| r.1.message.clone()),
                    frames.iter().map(|f| (f.satisfied, f.credited)).collect::<Vec<_>>()
                );
                let payload = parthack_env::payload::payload(&replay);
                println!(
                    "  payload {} bytes, verify {:?}",
                    payload.len(),
                    parthack_env::log::verify(&task, &replay.events, Some(replay.head())).map(|w| w == *replay.world())
                );
                assert_eq!(replay.world().rehashed(&task), replay.world().state_hash());
            }
        }
    }
}
