//! Evaluators of users' own at work (SPEC §6): asked one after the other, each about every payload, in the plan's order.
//!
//! What such an evaluator says can't be worked out again from what a run stored; whoever does the run again takes its
//! scores as they were recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use parthack_evaluators::plugin::{Fault, FaultCode, Reply};
use serde::Serialize;

use crate::ledger::{Ledger, Record, RecordedScore, ScoreRecord, Subject, canonical_of};
use crate::plugin::{Plugin, recorded};
use crate::run::error::RunError;
use crate::run::execute::{Phase, WAITING};
use crate::run::files::write_atomically;
use crate::run::folder::{ObjectKind, RunFolder};
use crate::run::journal::{Finished, UnitResult};
use crate::run::units::Unit;
use crate::run::writer::Done;

/// Different payloads that an evaluator gets in one go, for each of its workers: what a stop can lose.
const PAYLOADS_OF_WORKER: usize = 64;

/// Where the scores of users' own evaluators come from.
#[derive(Debug)]
pub enum PluginScores {
    /// From the evaluators.
    Asked(Vec<Plugin>),
    /// From a finished run.
    Recorded(BTreeMap<ScoreName, ScoreRecord>),
}

/// Task, trajectory and evaluator.
type ScoreName = (String, Subject, String);

/// One unit: a trajectory's payload.
struct Question<'u> {
    unit: &'u Unit,
    task: &'u String,
    subject: &'u Subject,
    payload: &'u String,
    plugin: &'u String,
}

impl<'u> Question<'u> {
    fn of(unit: &'u Unit) -> Result<Question<'u>, RunError> {
        match unit {
            Unit::Plugin { task, subject, payload, plugin } => Ok(Question { unit, task, subject, payload, plugin }),
            other => Err(RunError::Incomplete(format!("{other} is no question to an evaluator of a user's own"))),
        }
    }

    fn answered(&self, score: RecordedScore) -> Done {
        let record = Record::Score(ScoreRecord {
            task: self.task.clone(),
            subject: self.subject.clone(),
            evaluator: self.plugin.clone(),
            payload: self.payload.clone(),
            score,
            others: BTreeMap::new(),
        });
        let result = UnitResult { records: vec![record], private: Vec::new() };
        Done { output: (self.unit.to_string(), result, Vec::new()), microseconds: 0 }
    }
}

/// What became of one evaluator in a run; a help, not evidence.
#[derive(Serialize)]
struct Telling<'p> {
    command: &'p str,
    evaluator: &'p str,
    faults: BTreeMap<&'static str, u64>,
    isolation: String,
    notes: Vec<String>,
    payloads: usize,
    /// The first fault of each kind, with what was said beside it; it may differ from run to run, and is shown alone.
    #[serde(skip)]
    first: BTreeMap<&'static str, Fault>,
}

impl PluginScores {
    /// Those of a finished run.
    #[must_use]
    pub fn of_ledger(ledger: &Ledger, evaluators: &BTreeSet<&str>) -> PluginScores {
        let of_plugin = ledger.records().filter_map(|record| match record {
            Record::Score(score) if evaluators.contains(score.evaluator.as_str()) => {
                Some(((score.task.clone(), score.subject.clone(), score.evaluator.clone()), score.clone()))
            }
            _ => None,
        });
        PluginScores::Recorded(of_plugin.collect())
    }

    /// Works out units ([`Unit::Plugin`]); `before` is what the journal has of the run already.
    ///
    /// # Errors
    /// A payload that can't be read, or what the sink says. What evaluators do wrong stands in their scores.
    pub fn work(
        &mut self,
        folder: &RunFolder,
        units: &[Unit],
        before: &Finished,
        stop: &AtomicBool,
        sink: impl FnOnce(Receiver<Done>) -> Result<Finished, RunError> + Send,
    ) -> Result<Phase, RunError> {
        let questions = units.iter().map(Question::of).collect::<Result<Vec<_>, _>>()?;
        let (sender, receiver) = sync_channel(WAITING);
        let (asked, finished) = thread::scope(|scope| {
            let writer = scope.spawn(move || sink(receiver));
            let asked = match self {
                PluginScores::Asked(plugins) => ask(plugins, folder, &questions, before, stop, &sender),
                PluginScores::Recorded(scores) => {
                    questions.iter().try_for_each(|question| send(&sender, take(scores, question)))
                }
            };
            drop(sender);
            let finished = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (asked, finished)
        });
        // A writer that failed is why its channel was closed.
        let finished = finished?;
        asked.or_else(|stopped| stopped.map_or(Ok(()), Err))?;
        Ok(Phase { stopped: finished.len() < units.len(), finished })
    }
}

/// A recorded score. One of other bytes, or none, gives no verdict, which whoever compares the records will find.
fn take(scores: &BTreeMap<ScoreName, ScoreRecord>, question: &Question<'_>) -> Done {
    let name = (question.task.clone(), question.subject.clone(), question.plugin.clone());
    let score = scores.get(&name).map(|record| record.score.clone());
    question.answered(score.unwrap_or_else(|| RecordedScore::NoVerdict("not in the run".to_owned())))
}

/// `Err(None)`: the writer is gone, and says itself why.
fn send(sender: &SyncSender<Done>, done: Done) -> Result<(), Option<RunError>> {
    sender.send(done).map_err(|_| None)
}

fn ask(
    plugins: &mut [Plugin],
    folder: &RunFolder,
    questions: &[Question<'_>],
    before: &Finished,
    stop: &AtomicBool,
    sender: &SyncSender<Done>,
) -> Result<(), Option<RunError>> {
    let mut tellings = Vec::new();
    for plugin in plugins {
        let mut known = known_scores(before, &plugin.id);
        let of_plugin: Vec<&Question<'_>> = questions.iter().filter(|question| *question.plugin == plugin.id).collect();
        // The same bytes are scored once; subjects that share them are answered together.
        let mut by_payload: BTreeMap<&String, Vec<&Question<'_>>> = BTreeMap::new();
        for question in of_plugin {
            by_payload.entry(question.payload).or_default().push(question);
        }
        let (there, missing): (Vec<_>, Vec<_>) =
            by_payload.into_iter().partition(|(payload, _)| known.contains_key(*payload));
        for (payload, questions) in there {
            let Some(score) = known.remove(payload) else { continue };
            questions.iter().try_for_each(|question| send(sender, question.answered(score.clone())))?;
        }
        let mut faults: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut first: BTreeMap<&'static str, Fault> = BTreeMap::new();
        let payloads = missing.len();
        for chunk in missing.chunks(PAYLOADS_OF_WORKER * plugin.workers.max(1)) {
            if stop.load(Ordering::SeqCst) {
                return Ok(());
            }
            let begun = Instant::now();
            let bytes = chunk.iter().map(|(hash, _)| read(folder, hash)).collect::<Result<Vec<_>, _>>()?;
            let bytes: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
            let replies = plugin.score(&bytes);
            let microseconds = begun.elapsed().as_micros() / chunk.len().max(1) as u128;
            for ((hash, questions), reply) in chunk.iter().zip(&replies) {
                let Some(score) = answer(&plugin.id, hash, reply)? else { continue };
                if let Some(fault) = reply.fault() {
                    *faults.entry(fault.code.code()).or_default() += 1;
                    first.entry(fault.code.code()).or_insert_with(|| fault.clone());
                }
                for question in questions {
                    send(sender, Done { microseconds, ..question.answered(score.clone()) })?;
                }
            }
        }
        tellings.push(Telling {
            command: &plugin.frozen.command,
            evaluator: &plugin.id,
            faults,
            isolation: plugin.isolation(),
            notes: plugin.notes(),
            payloads,
            first,
        });
    }
    tell(folder, &tellings);
    Ok(())
}

/// What an evaluator said of payloads in an earlier start of the run.
fn known_scores(before: &Finished, plugin: &str) -> BTreeMap<String, RecordedScore> {
    let records = before.values().flat_map(|result| &result.records);
    let of_plugin = records.filter_map(|record| match record {
        Record::Score(score) if score.evaluator == plugin => Some((score.payload.clone(), score.score.clone())),
        _ => None,
    });
    of_plugin.collect()
}

fn read(folder: &RunFolder, hash: &str) -> Result<Vec<u8>, RunError> {
    let bytes = folder.read_object(ObjectKind::Payload, hash);
    bytes.ok_or_else(|| RunError::Incomplete(format!("payload {hash} is missing, or not of its hash")))
}

/// What the ledger keeps of a reply; none if the work was stopped before there was one.
fn answer(plugin: &str, payload: &str, reply: &Reply) -> Result<Option<RecordedScore>, RunError> {
    if reply.payload.hex() != payload {
        let sent = &reply.payload;
        return Err(RunError::Incomplete(format!("{plugin} was sent payload {sent}, expected {payload}")));
    }
    let stopped = reply.fault().is_some_and(|fault| fault.code == FaultCode::Stopped);
    Ok((!stopped).then(|| recorded(reply)))
}

/// Says how the evaluators were kept apart and what went wrong, on standard error and in `plugins.jsonl`. Where that can't
/// be written, the run goes on.
fn tell(folder: &RunFolder, tellings: &[Telling<'_>]) {
    let mut lines = Vec::new();
    for telling in tellings {
        let mut text = format!("{}: {} payloads, {}", telling.evaluator, telling.payloads, telling.isolation);
        for (code, count) in &telling.faults {
            let _ = write!(text, "\n  {count} without a score: {code}");
            if let Some(fault) = telling.first.get(code) {
                let _ = write!(text, "\n  the first of them: {}", fault.message);
                for line in fault.talk() {
                    let _ = write!(text, "\n    | {line}");
                }
            }
        }
        for note in &telling.notes {
            let _ = write!(text, "\n  note: {note}");
        }
        eprintln!("{text}");
        lines.extend(canonical_of(telling));
        lines.push(b'\n');
    }
    if !lines.is_empty() {
        let _ = write_atomically(&folder.path("plugins.jsonl"), &lines);
    }
}
