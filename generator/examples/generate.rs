//! Generates tasks into a folder and prints what was drawn: `generate COUNT FOLDER [SEED]`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use parthack_attacker::search::{SearchOptions, search};
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;
use parthack_generator::{Generator, Request, Seed, suite_manifest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(count), Some(folder)) = (arguments.first(), arguments.get(1)) else {
        return Err("usage: generate COUNT FOLDER [SEED]".into());
    };
    let seed = arguments.get(2).map_or("an example's seed, no secret", String::as_str);
    let seed = Seed::from_bytes(seed.as_bytes())?;
    let generator = Generator::new(Request { count: count.parse()?, ..Request::default() })?;
    let (tasks, sealed) = (Path::new(folder).join("tasks"), Path::new(folder).join("sealed"));
    std::fs::create_dir_all(&tasks)?;
    std::fs::create_dir_all(&sealed)?;
    let begin = Instant::now();
    let made = generator.tasks(&seed).collect::<Result<Vec<_>, _>>()?;
    let took = begin.elapsed();
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    for refusal in made.iter().flat_map(|task| &task.refused) {
        *codes.entry(refusal.code().to_owned()).or_default() += 1;
        eprintln!("refused: {refusal}");
    }
    for task in &made {
        std::fs::write(tasks.join(format!("{}.json", task.id)), &task.public)?;
        std::fs::write(sealed.join(format!("{}.json", task.id)), &task.private)?;
    }
    let entries: Vec<_> = made.iter().map(|task| task.entry.clone()).collect();
    std::fs::write(tasks.join("suite.json"), suite_manifest("generated", "1.0.0", "An example.", &entries)?)?;
    let refused: usize = codes.values().sum();
    println!(
        "{} tasks in {took:.2?}, {:.1?} each; {refused} drafts refused: {codes:?}",
        made.len(),
        took / u32::try_from(made.len())?
    );
    let instructions: BTreeSet<_> = made.iter().map(|task| &task.instructions).collect();
    let shapes: BTreeSet<_> = made.iter().map(|task| task.shape).collect();
    println!("{} different instructions, {} different shapes", instructions.len(), shapes.len());
    let (mut inflated, mut states) = (0, Vec::new());
    for task in made.iter().take(200) {
        let read = Task::read(task.public.as_bytes())?;
        let found = search(&read, Rule::HistoricalMilestone, &SearchOptions::default())?;
        inflated += usize::from(found.best.is_some_and(|best| best.to_string() != found.honest.to_string()));
        states.push(parthack_attacker::search::reached(&read, 20_000_000)?.statistics.states);
    }
    states.sort_unstable();
    println!(
        "historical optimum above H in {inflated} of {}; reachable states: median {}, greatest {}",
        states.len(),
        states[states.len() / 2],
        states.last().copied().unwrap_or(0)
    );
    Ok(())
}
