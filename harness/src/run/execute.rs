//! Working units out on several threads. Which thread does what, and when, decides nothing but the order in which the
//! journal's lines come in.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::run::error::RunError;
use crate::run::evaluators::EvaluatorProcess;
use crate::run::journal::Finished;
use crate::run::units::Unit;
use crate::run::work::Shared;
use crate::run::writer::Done;

/// Finished units that may wait for the disk, so that memory stays flat.
pub(crate) const WAITING: usize = 1024;

/// How a phase ended.
#[derive(Debug)]
pub struct Phase {
    /// What was finished and is on disk.
    pub finished: Finished,
    /// Whether a stop left units undone.
    pub stopped: bool,
}

/// Works out `units`, one evaluator process a thread; `sink` takes what is finished, on a thread of its own.
///
/// # Errors
/// The first [`RunError`] of any thread. What was finished before it went through the sink.
pub fn execute(
    shared: &Shared<'_>,
    units: Vec<Unit>,
    evaluators: &mut [EvaluatorProcess],
    stop: &AtomicBool,
    sink: impl FnOnce(Receiver<Done>) -> Result<Finished, RunError> + Send,
) -> Result<Phase, RunError> {
    let jobs = jobs_of(units, shared.attacker.is_sequential());
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let fault: Mutex<Option<RunError>> = Mutex::new(None);
    let fail = |error: RunError| {
        let mut first = fault.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        failed.store(true, Ordering::SeqCst);
    };
    let (sender, receiver) = sync_channel::<Done>(WAITING);
    let finished = thread::scope(|scope| {
        let writer = scope.spawn(move || sink(receiver));
        for evaluator in evaluators {
            let sender = sender.clone();
            let (jobs, next, failed, fail) = (&jobs, &next, &failed, &fail);
            scope.spawn(move || {
                while !stop.load(Ordering::SeqCst) && !failed.load(Ordering::SeqCst) {
                    let Some(job) = jobs.get(next.fetch_add(1, Ordering::SeqCst)) else { return };
                    if let Err(error) = one_job(shared, job, evaluator, &sender) {
                        return error.map_or((), fail);
                    }
                }
            });
        }
        drop(sender);
        match writer.join() {
            Ok(written) => written,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })?;
    if let Some(error) = fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let total: usize = jobs.iter().map(Vec::len).sum();
    Ok(Phase { stopped: finished.len() < total, finished })
}

/// Works one job out. `Err(None)`: the writer is gone, and says itself why.
fn one_job(
    shared: &Shared<'_>,
    job: &[Unit],
    evaluator: &mut EvaluatorProcess,
    sender: &SyncSender<Done>,
) -> Result<(), Option<RunError>> {
    let begun = Instant::now();
    let outputs = shared.work(job, evaluator).map_err(Some)?;
    let microseconds = begun.elapsed().as_micros() / outputs.len().max(1) as u128;
    for output in outputs {
        sender.send(Done { output, microseconds }).map_err(|_| None)?;
    }
    Ok(())
}

/// Scores of one task are one job, for they are asked for in one go. So are attempts on one task against one target
/// where each hears of those before it. Every other unit is a job of its own.
fn jobs_of(units: Vec<Unit>, sequential_attempts: bool) -> Vec<Vec<Unit>> {
    let mut jobs = Vec::new();
    let mut scores: BTreeMap<String, Vec<Unit>> = BTreeMap::new();
    let mut attempts: BTreeMap<(String, String), Vec<Unit>> = BTreeMap::new();
    for unit in units {
        match &unit {
            Unit::Scores { task, .. } => scores.entry(task.clone()).or_default().push(unit),
            Unit::Attempt { task, target, .. } if sequential_attempts => {
                attempts.entry((task.clone(), target.clone())).or_default().push(unit);
            }
            _ => jobs.push(vec![unit]),
        }
    }
    jobs.extend(scores.into_values());
    jobs.extend(attempts.into_values());
    jobs
}
