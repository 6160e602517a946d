//! Searches released or native task files: score, length, states, seconds.
use parthack_attacker::search::{SearchOptions, search};
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;

fn main() {
    let mut args = std::env::args().skip(1);
    let threads: usize = args.next().unwrap().parse().unwrap();
    let prove = args.next().unwrap() == "prove";
    for path in args {
        let bytes = std::fs::read(&path).unwrap();
        let task = Task::read(&bytes)
            .or_else(|_| parthack_env::release::read_task(&bytes).and_then(|t| Task::compile(t.spec)));
        let task = match task {
            Ok(task) => task,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        for rule in [Rule::HistoricalMilestone, Rule::PredicateMax, Rule::CapeMax, Rule::Csps] {
            let start = std::time::Instant::now();
            let options = SearchOptions { threads, prove, ..SearchOptions::default() };
            match search(&task, rule, &options) {
                Ok(found) => println!(
                    "{} {} honest {} best {} length {:?} bound {} states {} transitions {} depth {} bits {} dropped {} {:.3}s",
                    task.spec.id,
                    rule.id(),
                    found.honest,
                    found.best.map(|b| b.to_string()).unwrap_or_default(),
                    found.witness_length,
                    found.bound.word(),
                    found.statistics.states,
                    found.statistics.transitions,
                    found.statistics.depth,
                    found.statistics.state_bits,
                    found.statistics.dropped_entities,
                    start.elapsed().as_secs_f64()
                ),
                Err(error) => println!("{} {}: {error}", task.spec.id, rule.id()),
            }
        }
    }
}
