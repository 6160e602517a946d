//! Prints what the model attacker asks about a task, as one JSON object:
//! `cargo run -p parthack-attacker --example prompt -- TASK.json TARGET [ATTEMPT [BUDGET]]`. With an answer on standard
//! input and `--read` as the target, says what the answer comes to.
use std::error::Error;
use std::io::Read as _;

use parthack_attacker::llm::{Feedback, TargetDescription, prompt, read, target_description};
use parthack_env::candidate::Candidate;
use parthack_env::frames::frames;
use parthack_env::replay::Replay;
use parthack_env::task::Task;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, target, rest @ ..] = arguments.as_slice() else { return Err("expected TASK.json TARGET".into()) };
    let task = Task::read(&std::fs::read(path)?)?;
    if target == "--read" {
        return say_what_it_comes_to(&task);
    }
    let number = |index: usize| rest.get(index).map_or(Ok(if index == 0 { 1 } else { 3 }), |text| text.parse());
    let description = target_description(target).unwrap_or_else(|| TargetDescription::black_box(target));
    let prompt = prompt(&task, &description, number(0)?, number(1)?, &Feedback::None);
    println!(
        "{}",
        json!({
            "system": prompt.system,
            "user": prompt.user,
            "name": prompt.form.name,
            "schema": prompt.form.schema,
            "max_tokens": prompt.max_tokens,
        })
    );
    Ok(())
}

fn say_what_it_comes_to(task: &Task) -> Result<(), Box<dyn Error>> {
    let mut content = String::new();
    std::io::stdin().read_to_string(&mut content)?;
    let bytes = read(&task.spec.id, &content)?;
    println!("{}", String::from_utf8_lossy(&bytes));
    let (_, replay) = match Candidate::admit(task, &bytes) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            println!("{}: {}", refusal.code, refusal.fault);
            return Ok(());
        }
    };
    let (ours, theirs) = (frames(&replay), frames(&Replay::run(task, &task.spec.honest)));
    let bits = |frame: &parthack_env::frames::Frame| format!("{:b}/{:b}", frame.satisfied, frame.credited);
    println!("legal; satisfied/credited: {}", ours.iter().map(bits).collect::<Vec<_>>().join(" "));
    println!("the honest ones:           {}", theirs.iter().map(bits).collect::<Vec<_>>().join(" "));
    Ok(())
}
