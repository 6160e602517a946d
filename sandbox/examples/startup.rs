//! Measures what confinement adds to the start and exit of a program, per tier.
//!
//! `cargo run -p parthack-sandbox --example startup -- 200 /bin/true` prints the median and the 95th percentile of wall
//! time per start, for a plain spawn and for each tier that this host gives.

#[cfg(target_os = "linux")]
fn main() {
    use std::time::Instant;

    use parthack_sandbox::{Bounds, Policy, Tier, spawn};

    let mut arguments = std::env::args_os().skip(1);
    let count: usize = arguments.next().and_then(|count| count.to_str()?.parse().ok()).unwrap_or(200);
    let program = arguments.next().unwrap_or_else(|| "/bin/true".into());
    let rest: Vec<_> = arguments.collect();
    let tell = |name: &str, mut times: Vec<u128>| {
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 100).map_or(0.0, |time| *time as f64 / 1000.0);
        println!("{name}: median {:.2} ms, 95 % {:.2} ms ({} starts)", at(50), at(95), times.len());
    };
    let mut times = Vec::new();
    for _ in 0..count {
        let started = Instant::now();
        let output = std::process::Command::new(&program).args(&rest).output();
        if let Err(error) = output {
            println!("plain spawn: {error}");
            return;
        }
        times.push(started.elapsed().as_micros());
    }
    tell("plain spawn", times);
    for tier in Tier::ALL.into_iter().rev() {
        let policy = Policy::new(&program).arguments(rest.clone());
        let mut times = Vec::new();
        for _ in 0..count {
            let started = Instant::now();
            match spawn(&policy, tier).map(|confined| confined.run(b"", &Bounds::default())) {
                Ok(Ok(finished)) if finished.exit.success() => times.push(started.elapsed().as_micros()),
                Ok(Ok(finished)) => {
                    println!(
                        "{tier}: ended with {:?}: {}",
                        finished.exit.end,
                        String::from_utf8_lossy(&finished.errors)
                    );
                    break;
                }
                Ok(Err(error)) => {
                    println!("{tier}: {error}");
                    break;
                }
                Err(error) => {
                    println!("{error}");
                    break;
                }
            }
        }
        if !times.is_empty() {
            tell(&tier.to_string(), times);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("no tiers but 0 on this system");
}
