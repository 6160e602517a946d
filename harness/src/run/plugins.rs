//! Evaluators of users' own at work (SPEC §6): asked one after the other, each about every payload, in the plan's order.
//!
//! What such an evaluator says can't be worked out again from what a run stored; whoever does the run again takes its
//! scores as they were recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use parthack_evaluators::plugin::{Fault, FaultCode, Reply};
use serde::Serialize;

use crate::ledger::{
    CellName, JudgementRecord, Ledger, Record, RecordedScore, ScoreRecord, Subject, Variant, canonical_of,
};
use crate::plugin::{Plugin, recorded};
use crate::run::error::RunError;
use crate::run::execute::{Phase, WAITING};
use crate::run::files::write_atomically;
use crate::run::folder::{ObjectKind, RunFolder};
use crate::run::journal::{Finished, UnitResult};
use crate::run::units::Unit;
use crate::run::writer::Done;

/// Different payloads that each worker of an evaluator gets in one go, at first and at most: what a kill can lose.
const PAYLOADS_OF_WORKER: [usize; 2] = [4, 64];
/// A turn shorter than this is followed by one of twice the payloads, one longer than the other by one of half of them.
const TURN: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(30)];

/// What an evaluator of a user's own is recorded to have said twice of each honest trajectory.
pub(crate) const SAID_TWICE: [Variant; 2] = [Variant::Repeat { number: 1 }, Variant::Again {}];

/// Where the scores of users' own evaluators come from.
#[derive(Debug)]
pub enum PluginScores {
    /// From the evaluators.
    Asked(Vec<Plugin>),
    /// From a finished run.
    Recorded(BTreeMap<CellName, Record>),
}

/// What an evaluator said of a payload: a score or none, and the code of the fault that left it without one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    score: RecordedScore,
    fault: Option<String>,
}

/// One unit: a trajectory's payload; no subject: an honest one, to be asked about again.
struct Question<'u> {
    unit: &'u Unit,
    task: &'u String,
    subject: Option<&'u Subject>,
    payload: &'u String,
    plugin: &'u String,
}

impl<'u> Question<'u> {
    fn of(unit: &'u Unit) -> Result<Question<'u>, RunError> {
        match unit {
            Unit::Plugin { task, subject, payload, plugin } => {
                Ok(Question { unit, task, subject: Some(subject), payload, plugin })
            }
            Unit::PluginAgain { task, payload, plugin } => Ok(Question { unit, task, subject: None, payload, plugin }),
            other => Err(RunError::Incomplete(format!("{other} is no question to an evaluator of a user's own"))),
        }
    }

    fn done(&self, records: Vec<Record>) -> Done {
        let result = UnitResult { records, private: Vec::new() };
        Done { output: (self.unit.to_string(), result, Vec::new()), microseconds: 0 }
    }

    fn scored(&self, subject: &Subject, said: Said) -> Record {
        Record::Score(ScoreRecord {
            task: self.task.clone(),
            subject: subject.clone(),
            evaluator: self.plugin.clone(),
            payload: self.payload.clone(),
            score: said.score,
            others: BTreeMap::new(),
            fault: said.fault,
        })
    }

    /// Both things said, so that noise is measured as that of judges is.
    fn said_twice(&self, scores: [RecordedScore; 2]) -> Vec<Record> {
        let record = |(variant, score): (Variant, RecordedScore)| {
            Record::Judgement(Box::new(JudgementRecord {
                task: self.task.clone(),
                subject: Subject::Honest {},
                evaluator: self.plugin.clone(),
                variant,
                payload: self.payload.clone(),
                exchanges: Vec::new(),
                score,
                items: Vec::new(),
                cites: Vec::new(),
            }))
        };
        SAID_TWICE.into_iter().zip(scores).map(record).collect()
    }

    /// As a finished run recorded it. What it has no record of gets no verdict, which whoever compares the records will find.
    fn recorded(&self, there: &BTreeMap<CellName, Record>) -> Done {
        let none = || Said { score: RecordedScore::NoVerdict("not in the run".to_owned()), fault: None };
        let Some(subject) = self.subject else {
            let records = self.said_twice([none().score, none().score]);
            let score_of = |record: &Record| match there.get(&record.name()) {
                Some(Record::Judgement(found)) => found.score.clone(),
                _ => none().score,
            };
            let scores: Vec<RecordedScore> = records.iter().map(score_of).collect();
            let both = <[RecordedScore; 2]>::try_from(scores).unwrap_or_else(|_| [none().score, none().score]);
            return self.done(self.said_twice(both));
        };
        let said = match there.get(&self.scored(subject, none()).name()) {
            Some(Record::Score(found)) => Said { score: found.score.clone(), fault: found.fault.clone() },
            _ => none(),
        };
        self.done(vec![self.scored(subject, said)])
    }
}

/// What became of one evaluator in a run; a help, not evidence.
#[derive(Serialize)]
struct Telling<'p> {
    command: &'p str,
    evaluator: &'p str,
    /// Cells without a score by the code of their fault, those of earlier starts of the run included.
    faults: BTreeMap<String, u64>,
    isolation: String,
    notes: Vec<String>,
    /// Payloads that this start of the run asked about.
    payloads: usize,
    /// The first fault of each kind, with what was said beside it; it may differ from run to run, and is shown alone.
    #[serde(skip)]
    first: BTreeMap<&'static str, Fault>,
}

impl PluginScores {
    /// Those of a finished run.
    #[must_use]
    pub fn of_ledger(ledger: &Ledger, evaluators: &BTreeSet<&str>) -> PluginScores {
        let of_plugin = |record: &&Record| match record {
            Record::Score(score) => evaluators.contains(score.evaluator.as_str()),
            Record::Judgement(judgement) => evaluators.contains(judgement.evaluator.as_str()),
            _ => false,
        };
        let records = ledger.records().filter(of_plugin);
        PluginScores::Recorded(records.map(|record| (record.name(), record.clone())).collect())
    }

    /// Works out units ([`Unit::Plugin`], [`Unit::PluginAgain`]); `before` is what the journal has of the run already.
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
                PluginScores::Asked(plugins) => ask_all(plugins, folder, &questions, before, stop, &sender),
                PluginScores::Recorded(there) => {
                    questions.iter().try_for_each(|question| send(&sender, question.recorded(there)))
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

/// `Err(None)`: the writer is gone, and says itself why.
fn send(sender: &SyncSender<Done>, done: Done) -> Result<(), Option<RunError>> {
    sender.send(done).map_err(|_| None)
}

fn ask_all(
    plugins: &mut [Plugin],
    folder: &RunFolder,
    questions: &[Question<'_>],
    before: &Finished,
    stop: &AtomicBool,
    sender: &SyncSender<Done>,
) -> Result<(), Option<RunError>> {
    let mut tellings = Vec::new();
    for plugin in plugins {
        let of_plugin: Vec<&Question<'_>> = questions.iter().filter(|question| *question.plugin == plugin.id).collect();
        let mut asking = Asking {
            known: BTreeMap::new(),
            faults: BTreeMap::new(),
            first: BTreeMap::new(),
            payloads: 0,
            of_worker: PAYLOADS_OF_WORKER[0],
            plugin,
            folder,
            stop,
        };
        asking.remember(before);
        if !asking.scores(&of_plugin, sender)? || !asking.agains(&of_plugin, sender)? {
            return Ok(());
        }
        let Asking { faults, first, payloads, plugin, .. } = asking;
        let (isolation, notes) = (plugin.isolation(), plugin.notes());
        let (command, evaluator) = (plugin.frozen.command.as_str(), plugin.id.as_str());
        tellings.push(Telling { command, evaluator, faults, isolation, notes, payloads, first });
    }
    tell(folder, &tellings);
    Ok(())
}

/// One evaluator that is being asked.
struct Asking<'a> {
    plugin: &'a mut Plugin,
    folder: &'a RunFolder,
    stop: &'a AtomicBool,
    /// What it said first, by payload.
    known: BTreeMap<String, Said>,
    faults: BTreeMap<String, u64>,
    /// The first fault of each kind in this start of the run.
    first: BTreeMap<&'static str, Fault>,
    payloads: usize,
    of_worker: usize,
}

impl Asking<'_> {
    /// What it said in an earlier start of the run. Payloads were asked about in the order of their hashes, and then the honest
    /// ones again.
    fn remember(&mut self, before: &Finished) {
        let mut again = Vec::new();
        for record in before.values().flat_map(|result| &result.records) {
            match record {
                Record::Score(score) if score.evaluator == self.plugin.id => {
                    let said = Said { score: score.score.clone(), fault: score.fault.clone() };
                    self.count(&said);
                    self.known.insert(score.payload.clone(), said);
                }
                Record::Judgement(said) if said.evaluator == self.plugin.id && said.variant == SAID_TWICE[1] => {
                    let code = said.score.why_not().and_then(|reason| reason.split(':').next());
                    again.push(code.and_then(FaultCode::from_code));
                }
                _ => {}
            }
        }
        let first = self.known.values().map(|said| said.fault.as_deref().and_then(FaultCode::from_code));
        self.plugin.resume(&mut first.chain(again));
    }

    fn count(&mut self, said: &Said) {
        if let Some(code) = &said.fault {
            *self.faults.entry(code.clone()).or_default() += 1;
        }
    }

    /// Asks about every trajectory; false if the work was stopped. The same bytes are scored once: trajectories that share them
    /// are answered together.
    fn scores(&mut self, questions: &[&Question<'_>], sender: &SyncSender<Done>) -> Result<bool, Option<RunError>> {
        let mut by_payload: BTreeMap<&String, Vec<(&Question<'_>, &Subject)>> = BTreeMap::new();
        for question in questions {
            if let Some(subject) = question.subject {
                by_payload.entry(question.payload).or_default().push((question, subject));
            }
        }
        let (there, missing): (Vec<_>, Vec<_>) =
            by_payload.into_iter().partition(|(payload, _)| self.known.contains_key(*payload));
        for (payload, questions) in &there {
            let Some(said) = self.known.get(*payload).cloned() else { continue };
            self.send_scores(questions, &said, 0, sender)?;
        }
        let mut left = missing.as_slice();
        while !left.is_empty() {
            let (turn, rest) = left.split_at(self.turn().min(left.len()));
            left = rest;
            let hashes: Vec<&String> = turn.iter().map(|(hash, _)| *hash).collect();
            let Some((said, microseconds)) = self.ask(&hashes).map_err(Some)? else { return Ok(false) };
            for ((hash, questions), said) in turn.iter().zip(said) {
                let Some(said) = said else { return Ok(false) };
                self.send_scores(questions, &said, microseconds, sender)?;
                self.known.insert((*hash).clone(), said);
            }
        }
        Ok(true)
    }

    fn send_scores(
        &mut self,
        questions: &[(&Question<'_>, &Subject)],
        said: &Said,
        microseconds: u128,
        sender: &SyncSender<Done>,
    ) -> Result<(), Option<RunError>> {
        for (question, subject) in questions {
            self.count(said);
            let record = question.scored(subject, said.clone());
            send(sender, Done { microseconds, ..question.done(vec![record]) })?;
        }
        Ok(())
    }

    /// Asks about the honest trajectories again; false if the work was stopped.
    fn agains(&mut self, questions: &[&Question<'_>], sender: &SyncSender<Done>) -> Result<bool, Option<RunError>> {
        let again: Vec<&&Question<'_>> = questions.iter().filter(|question| question.subject.is_none()).collect();
        let mut left = again.as_slice();
        while !left.is_empty() {
            let (turn, rest) = left.split_at(self.turn().min(left.len()));
            left = rest;
            let hashes: Vec<&String> = turn.iter().map(|question| question.payload).collect();
            let Some((said, microseconds)) = self.ask(&hashes).map_err(Some)? else { return Ok(false) };
            for (question, said) in turn.iter().zip(said) {
                let (Some(first), Some(said)) = (self.known.get(question.payload), said) else { return Ok(false) };
                let records = question.said_twice([first.score.clone(), said.score]);
                send(sender, Done { microseconds, ..question.done(records) })?;
            }
        }
        Ok(true)
    }

    /// How many payloads go in one turn. Their number decides nothing but what a kill can lose.
    fn turn(&self) -> usize {
        self.of_worker * self.plugin.workers.max(1)
    }

    /// What the evaluator says of payloads, none of what a stop left unasked, and microseconds a payload; none of all once the work
    /// is stopped.
    #[expect(clippy::type_complexity, reason = "one answer a payload, and the time")]
    fn ask(&mut self, hashes: &[&String]) -> Result<Option<(Vec<Option<Said>>, u128)>, RunError> {
        if self.stop.load(Ordering::SeqCst) {
            return Ok(None);
        }
        let begun = Instant::now();
        let bytes = hashes.iter().map(|hash| read(self.folder, hash)).collect::<Result<Vec<_>, _>>()?;
        let bytes: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        let replies = self.plugin.score(&bytes);
        for fault in replies.iter().filter_map(Reply::fault) {
            self.first.entry(fault.code.code()).or_insert_with(|| fault.clone());
        }
        self.payloads += bytes.len();
        let took = begun.elapsed();
        if took < TURN[0] {
            self.of_worker = (self.of_worker * 2).min(PAYLOADS_OF_WORKER[1]);
        } else if took > TURN[1] {
            self.of_worker = (self.of_worker / 2).max(1);
        }
        let said = hashes.iter().zip(&replies).map(|(hash, reply)| said(&self.plugin.id, hash, reply));
        Ok(Some((said.collect::<Result<_, _>>()?, took.as_micros() / hashes.len().max(1) as u128)))
    }
}

fn read(folder: &RunFolder, hash: &str) -> Result<Vec<u8>, RunError> {
    let bytes = folder.read_object(ObjectKind::Payload, hash);
    bytes.ok_or_else(|| RunError::Incomplete(format!("payload {hash} is missing, or not of its hash")))
}

/// What the ledger keeps of a reply; none if the work was stopped before there was one.
fn said(plugin: &str, payload: &str, reply: &Reply) -> Result<Option<Said>, RunError> {
    if reply.payload.hex() != payload {
        let sent = &reply.payload;
        return Err(RunError::Incomplete(format!("{plugin} was sent payload {sent}, expected {payload}")));
    }
    let fault = reply.fault().map(|fault| fault.code);
    let stopped = fault == Some(FaultCode::Stopped);
    Ok((!stopped).then(|| Said { score: recorded(reply), fault: fault.map(|code| code.code().to_owned()) }))
}

/// Says how the evaluators were kept apart and what went wrong, on standard error and in `plugins.jsonl`. Where that can't
/// be written, the run goes on.
fn tell(folder: &RunFolder, tellings: &[Telling<'_>]) {
    let mut lines = Vec::new();
    for telling in tellings {
        let mut text = format!("{}: {} payloads, {}", telling.evaluator, telling.payloads, telling.isolation);
        for (code, count) in &telling.faults {
            let _ = write!(text, "\n  {count} without a score: {code}");
            if let Some(fault) = telling.first.get(code.as_str()) {
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
