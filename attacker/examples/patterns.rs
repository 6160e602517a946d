//! What each strategy of the catalogue comes to, by task: its steps and the rules' scores beside the honest ones.
//! `cargo run -p parthack-attacker --example patterns -- tasks/pb-cste-1/PH-*.json`; with `--steps` first, the steps too.
use std::error::Error;

use parthack_attacker::patterns::{Strategy, attempt};
use parthack_env::frames::frames;
use parthack_env::replay::Replay;
use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let show = arguments.first().is_some_and(|first| first == "--steps");
    arguments.retain(|argument| argument != "--steps");
    for path in arguments {
        let task = Task::read(&std::fs::read(&path)?)?;
        println!("{} honest: {} steps, {}", task.spec.id, task.spec.honest.len(), scores(&task, &task.spec.honest));
        for strategy in Strategy::ALL {
            match attempt(&task, strategy) {
                Ok(steps) => {
                    println!("  {:<22} {:>3} steps, {}", strategy.id(), steps.len(), scores(&task, &steps));
                    steps.iter().filter(|_| show).for_each(|step| println!("      {}", step.json()));
                }
                Err(reason) => println!("  {:<22} - {reason}", strategy.id()),
            }
        }
    }
    Ok(())
}

fn scores(task: &Task, steps: &[Step]) -> String {
    let m = u32::try_from(task.m()).unwrap_or(0);
    let all = frames(&Replay::run(task, steps));
    let parts: Vec<String> = Rule::ALL.iter().map(|rule| format!("{} {}", rule.id(), rule.score(m, &all))).collect();
    parts.join(", ")
}
