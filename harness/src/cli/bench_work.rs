//! What `parthack bench` measures. Wall-clock times end here: nothing that is hashed or compared sees them.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Instant;

use parthack_attacker::search::{SearchOptions, search, universe};
use parthack_certifier::certify::TaskCertifier;
use parthack_env::frames::frames;
use parthack_env::payload::payload;
use parthack_env::release::read_task;
use parthack_env::replay::Replay;
use parthack_env::steps::Step;
use parthack_env::task::{FieldIndex, Slot, Task};
use parthack_env::value::Literal;
use parthack_evaluators::registry::score_all;
use parthack_evaluators::rules::Rule;

use super::bench::Figure;
use super::certifier;
use crate::bench::{process, scoring};
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::locate::{Places, files_of, read_input};
use crate::statistics::{Bootstrap, Score};

/// Agent steps of the trajectories that are certified and scored.
const STEPS: usize = 25;
/// Repetitions within a round, so that a round is long beside the clock's grain.
const REPEATS: usize = 400;

/// A task, and two steps that change one of its fields back and forth.
pub(super) struct Churn {
    task: Arc<Task>,
    steps: [Step; 2],
}

impl Churn {
    /// The first such pair of steps of a task.
    pub(super) fn of(task: &Task) -> Option<Churn> {
        let live = task.initial.entities().filter(|(_, entity)| entity.is_live());
        let found = live.flat_map(|(slot, entity)| (0..entity.fields.len()).map(move |field| (slot, field)));
        let found = found.filter_map(|(slot, field)| pair(task, slot, FieldIndex(u16::try_from(field).ok()?)));
        let steps = found.into_iter().next()?;
        Some(Churn { task: Arc::new(task.clone()), steps })
    }

    /// A legal trajectory of so many steps.
    fn trajectory(&self, steps: usize) -> Vec<Step> {
        self.steps.iter().cycle().take(steps).cloned().collect()
    }
}

fn pair(task: &Task, slot: Slot, field: FieldIndex) -> Option<[Step; 2]> {
    let info = &task.slots[slot.at()];
    let spec = &task.spec.entity_types[info.entity_type];
    let before = &task.initial.entity(slot).fields[field.at()];
    let write = |value| Step::Update {
        entity_type: spec.name.clone(),
        id: info.id.to_string(),
        fields: vec![(spec.fields[field.at()].name.clone(), Literal::from_value(value))],
    };
    universe(task, info.entity_type, field).iter().filter(|value| *value != before).find_map(|value| {
        let steps = [write(value), write(before)];
        let replay = Replay::run(task, &[steps.clone(), steps.clone()].concat());
        replay.first_refusal().is_none().then_some(steps)
    })
}

/// Seconds of the best round.
fn best(rounds: u32, mut round: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        round()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best.max(1e-9))
}

/// Seconds of the best round of work that cannot fail.
fn best_of(rounds: u32, mut round: impl FnMut()) -> f64 {
    let seconds = best(rounds, || {
        round();
        Ok(())
    });
    seconds.unwrap_or(f64::INFINITY)
}

fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::environment("cannot find this program", error, "check its permissions"))
}

/// Runs a program to its end without its output.
fn call(command: &mut Command) -> Result<(), Failure> {
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.map_err(cannot_start)?;
    if output.status.success() {
        return Ok(());
    }
    Err(ended(command, output.status, &String::from_utf8_lossy(&output.stderr)))
}

fn cannot_start(error: io::Error) -> Failure {
    Failure::environment("cannot start a program", error, "see `parthack doctor`")
}

fn ended(command: &Command, status: ExitStatus, said: &str) -> Failure {
    Failure::Failed(format!("{} ended with {status}: {}", command.get_program().display(), said.trim()))
}

/// `parthack --help`, from start to end.
pub(super) fn start_up(rounds: u32) -> Result<Figure, Failure> {
    let program = this_program()?;
    let seconds = best(rounds * 4, || call(Command::new(&program).arg("--help")))?;
    Ok(Figure::time("start-up: parthack --help", seconds * 1e3, Some(10.0)))
}

/// Events a second: log, diffs, snapshots, state hash, hash chain.
pub(super) fn replay(churn: &Churn, steps: usize, rounds: u32) -> Figure {
    let trajectory = churn.trajectory(steps);
    let repeats = (REPEATS * STEPS / steps).max(1);
    let mut events = 0;
    let seconds = best_of(rounds, || {
        events = (0..repeats).map(|_| std::hint::black_box(Replay::run(&churn.task, &trajectory)).events.len()).sum();
    });
    Figure::rate(format!("replay: {steps} steps"), events as f64 / seconds, "events/s", Some(1e6))
}

/// Both certifiers on one trajectory after the other.
pub(super) fn certify_in_process(churn: &Churn, rounds: u32) -> Result<Figure, Failure> {
    let certifier = TaskCertifier::public(Arc::clone(&churn.task)).map_err(|error| Failure::Bug(error.to_string()))?;
    let trajectory = churn.trajectory(STEPS);
    let seconds = best(rounds, || {
        for _ in 0..REPEATS {
            let certified = std::hint::black_box(certifier.certify(&trajectory));
            certified.map_err(|error| Failure::Bug(error.to_string()))?;
        }
        Ok(())
    })?;
    let name = format!("certify: both certifiers, {STEPS} steps");
    Ok(Figure::rate(name, REPEATS as f64 / seconds, "trajectories/s", Some(40_000.0)))
}

/// The same through the certifier process, many requests on their way at once.
pub(super) fn certify_over_pipe(churn: &Churn, places: &Places, rounds: u32) -> Result<Figure, Failure> {
    let key = certifier::fresh_key()?;
    let mut process = certifier::start(places, Some(&key))?;
    let session = process.open_evidence(&key)?;
    let trajectory = churn.trajectory(STEPS);
    let id = churn.task.spec.id.as_str();
    let seconds = best(rounds, || {
        let answers = process.certify_all(session, (0..REPEATS).map(|_| (id, trajectory.as_slice())))?;
        match answers.into_iter().find_map(Result::err) {
            None => Ok(()),
            Some(fault) => Err(Failure::Failed(fault.to_string())),
        }
    })?;
    let name = format!("certify: over the pipe, {STEPS} steps");
    Ok(Figure::rate(name, REPEATS as f64 / seconds, "trajectories/s", Some(20_000.0)))
}

/// Six rules from canonical bytes, and one rule in memory.
pub(super) fn score(churn: &Churn, rounds: u32) -> [Figure; 2] {
    let trajectory = churn.trajectory(STEPS);
    let replay = Replay::run(&churn.task, &trajectory);
    let (bytes, frames) = (payload(&replay), frames(&replay));
    let m = u32::try_from(churn.task.m()).unwrap_or(0);
    let seconds = best_of(rounds, || {
        for _ in 0..REPEATS {
            std::hint::black_box(score_all(&Rule::ALL, std::hint::black_box(&bytes)));
        }
    });
    let from_bytes = Figure::rate(
        format!("score: six rules from bytes, {STEPS} steps"),
        REPEATS as f64 / seconds,
        "payloads/s",
        Some(60_000.0),
    );
    let many = REPEATS * 100;
    let seconds = best_of(rounds, || {
        for _ in 0..many {
            std::hint::black_box(Rule::CapeMax.score(m, std::hint::black_box(&frames)));
        }
    });
    let name = format!("score: one rule in memory, {STEPS} steps");
    [from_bytes, Figure::rate(name, many as f64 / seconds, "scores/s", Some(1e6))]
}

/// Six rules in a process of their own, which is how a run scores, and how a million trajectories are scored anew.
pub(super) fn score_over_pipe(churn: &Churn, rounds: u32) -> Result<Figure, Failure> {
    // A million in a minute on two cores.
    const TARGET: f64 = 1e6 / 60.0 / 2.0;
    let program = this_program()?;
    let bytes = payload(&Replay::run(&churn.task, &churn.trajectory(STEPS)));
    let count = REPEATS * 10;
    let mut seconds = f64::INFINITY;
    for _ in 0..rounds {
        let fed = scoring::feed(&program, &bytes, count);
        seconds = seconds.min(fed.map_err(|error| {
            Failure::environment("cannot score in a process", error, "`parthack doctor` says what works")
        })?);
    }
    let name = format!("score: six rules over the pipe, {STEPS} steps");
    Ok(Figure::rate(name, count as f64 / seconds, "payloads/s", Some(TARGET)))
}

/// Optima of every task of the suite under the two historical targets, and the rate at which their closed sets are
/// explored.
pub(super) fn search_suite(tasks: &[Task], threads: usize, rounds: u32) -> Result<[Figure; 2], Failure> {
    let seconds = best(rounds, || search_all(tasks, threads, false).map(drop))?;
    let name = format!("search: optima of {} tasks, {}", tasks.len(), of_threads(threads));
    let optima = Figure::time(name, seconds * 1e3, None);
    let mut transitions = 0;
    let seconds = best(rounds, || {
        transitions = search_all(tasks, threads, true)?;
        Ok(())
    })?;
    let name = format!("search: closed sets of {} tasks, {}", tasks.len(), of_threads(threads));
    let target = (threads == 1).then_some(30e6);
    Ok([optima, Figure::rate(name, transitions as f64 / seconds, "transitions/s", target)])
}

/// The optima of the authors' released tasks. All of them are 1, which nothing exceeds: the witness is the proof.
pub(super) fn search_release(folder: &Path, threads: usize, rounds: u32) -> Result<Figure, Failure> {
    let mut tasks = Vec::new();
    for path in files_of(folder, "json")? {
        let bytes = read_input(&path)?;
        let task = read_task(&bytes).and_then(|released| Task::compile(released.spec));
        tasks.push(task.map_err(|error| error.in_file(&path))?);
    }
    let seconds = best(rounds, || search_all(&tasks, threads, false).map(drop))?;
    let name = format!("search: optima of {} released tasks, {}", tasks.len(), of_threads(threads));
    Ok(Figure::time(name, seconds * 1e3, Some(500.0)))
}

/// Searches every task under both targets; the number of transitions.
fn search_all(tasks: &[Task], threads: usize, prove: bool) -> Result<u64, Failure> {
    let options = SearchOptions { threads, prove, ..SearchOptions::default() };
    let mut transitions = 0;
    for task in tasks {
        for target in [Rule::HistoricalMilestone, Rule::CapeMax] {
            transitions += search(task, target, &options)?.statistics.transitions;
        }
    }
    Ok(transitions)
}

fn of_threads(threads: usize) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

/// Intervals of the shared inflations of six evaluators and four targets, 18 tasks, 10,000 resamples.
pub(super) fn intervals(rounds: u32) -> Result<Figure, Failure> {
    let columns: Vec<Vec<Score>> = (0..10)
        .map(|column| (0..18).map(|task| Score::exact(Ratio::fraction((task * 7 + column) % 5, 5))).collect())
        .collect();
    let seconds = best(rounds, || {
        let bootstrap = Bootstrap::with_seed(0);
        for scores in &columns {
            let estimate = bootstrap.mean(scores).map_err(|error| Failure::Bug(error.to_string()))?;
            std::hint::black_box(estimate);
        }
        Ok(())
    })?;
    Ok(Figure::time("intervals: 10 means, 10,000 resamples", seconds * 1e3, Some(50.0)))
}

/// The whole reference job, in a process of its own: its time, and the peaks of all its processes' memory together.
pub(super) fn job(places: &Places, threads: usize, rounds: u32) -> Result<Vec<Figure>, Failure> {
    let program = this_program()?;
    let suite = places.suite()?;
    let scratch = std::env::temp_dir().join(format!("parthack-bench-{}", std::process::id()));
    let clean = || match std::fs::remove_dir_all(&scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::environment(format!("cannot remove {}", scratch.display()), error, "remove it by hand"))
        }
        _ => Ok(()),
    };
    let (mut seconds, mut peak) = (f64::INFINITY, None);
    for _ in 0..rounds.min(3) {
        clean()?;
        let mut command = Command::new(&program);
        command.arg("run").arg("--suite").arg(&suite).arg("--sealed").arg(places.sealed()?);
        command.arg("--certifier").arg(places.certifier()?).arg("--out").arg(&scratch);
        command.arg("--threads").arg(threads.to_string());
        let timed = process::watched(&mut command);
        if !timed.as_ref().is_ok_and(|timed| timed.status.success()) {
            clean()?;
        }
        let timed = timed.map_err(cannot_start)?;
        if !timed.status.success() {
            return Err(ended(&command, timed.status, &timed.said));
        }
        seconds = seconds.min(timed.seconds);
        peak = peak.max(timed.peak_bytes);
    }
    clean()?;
    let name = format!("job: the whole suite, {}", of_threads(threads));
    let memory = peak.map(|bytes| {
        Figure::memory(format!("{name}, memory"), bytes as f64 / f64::from(1 << 20), (threads > 1).then_some(200.0))
    });
    let time = Figure::time(name, seconds * 1e3, (threads > 1).then_some(2_000.0));
    Ok([Some(time), memory].into_iter().flatten().collect())
}
