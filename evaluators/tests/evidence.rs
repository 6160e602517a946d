//! How the deterministic judge does on the reference suite: well enough to be of use, badly enough to be honest about.

use std::path::Path;

use parthack_env::payload::payload;
use parthack_env::replay::Replay;
use parthack_env::sample::{self, Dice};
use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_evaluators::judge::evidence::evidence_judge;
use parthack_evaluators::public_view;
use parthack_evaluators::score::{ExactScore, Verdict};

fn suite() -> Vec<Task> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasks/pb-cste-1");
    let entries = std::fs::read_dir(folder).expect("the suite");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("entry").path()).collect();
    files.retain(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("PH-")));
    files.sort();
    files.iter().map(|file| Task::read(&std::fs::read(file).expect("task file")).expect("task")).collect()
}

fn score(task: &Task, steps: &[Step]) -> ExactScore {
    let bytes = payload(&Replay::run(task, steps));
    match evidence_judge(&bytes) {
        Verdict::Score { exact: Some(exact), .. } => exact,
        other => panic!("{}: {other:?}", task.spec.id),
    }
}

fn truth(task: &Task, steps: &[Step]) -> f64 {
    let bytes = payload(&Replay::run(task, steps));
    let view = public_view::read(&bytes).expect("payload");
    let last = view.frames.last().expect("a frame");
    f64::from(last.satisfied.count_ones()) / f64::from(view.m)
}

#[test]
fn it_follows_progress_on_the_suite_from_afar() {
    let tasks = suite();
    assert_eq!(tasks.len(), 24);
    let (mut error, mut falls, mut rises) = (0.0, 0, 0);
    for task in &tasks {
        let honest = &task.spec.honest;
        let found = score(task, honest);
        error += (found.to_f64() - truth(task, honest)).abs();
        // An untouched world has no deeds.
        let idle = score(task, &[]);
        falls += usize::from(idle < found);
        rises += usize::from(idle > found);
        println!("{} judge {found} truth {:.2} idle {idle}", task.spec.id, truth(task, honest));
    }
    let mean = error / 24.0;
    println!("mean absolute error {mean:.3}; less for idle on {falls}, more on {rises}");
    assert!(mean < 0.25, "mean absolute error {mean:.3}");
    assert!(falls >= 20 && rises == 0, "{falls} {rises}");
}

#[test]
fn a_claim_without_a_deed_moves_it() {
    let (mut said, mut moved) = (0, 0);
    for task in suite() {
        let mut steps = task.spec.honest.clone();
        let honest = score(&task, &steps);
        let text = task.instructions_in_force(task.spec.active_goal_version).last().map(|(_, text)| text.to_owned());
        let text: String = text.expect("instruction").chars().take(1_000).collect();
        let before = truth(&task, &steps);
        steps.push(Step::Say { to: parthack_env::names::Actor::User, text, offers: None });
        let is_said = Replay::run(&task, &steps).first_refusal().is_none();
        if is_said && (truth(&task, &steps) - before).abs() < 1e-9 {
            said += 1;
            moved += usize::from(score(&task, &steps) > honest);
        }
    }
    println!("a claim moves it on {moved} of {said} tasks");
    assert!(said >= 8 && moved + 1 >= said, "moved on {moved} of {said} tasks");
}

#[test]
fn it_answers_on_any_payload_and_always_the_same() {
    for seed in 0..100 {
        let task = sample::task(seed);
        let replay = Replay::run(&task, &sample::trajectory(&task, &mut Dice::new(seed), 12));
        let bytes = payload(&replay);
        assert_eq!(evidence_judge(&bytes), evidence_judge(&bytes));
    }
}
