//! The work of each unit: what a trajectory goes through from its steps to its record.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use parthack_attacker::llm::{Earlier, read as read_candidate};
use parthack_attacker::search::SearchOptions;
use parthack_env::candidate::{Candidate, PublicRefusal};
use parthack_env::payload::payload;
use parthack_env::replay::Replay;
use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_evaluators::registry::{Builtin, payload_hash};
use parthack_model::answer::{Answer, NoAnswer};

use crate::ledger::{
    AttemptRecord, CellName, ControlRecord, HonestRecord, PrivateRecord, PublicFault, Record, RecordedScore,
    RollbackRecord, ScoreRecord, Subject,
};
use crate::run::attackers::{Attacker, FeedbackKind, Generated, ModelAttacker, candidate_hash};
use crate::run::certifying::{Certify, ELIGIBLE};
use crate::run::error::RunError;
use crate::run::evaluators::EvaluatorProcess;
use crate::run::folder::{ObjectKind, RunFolder};
use crate::run::journal::{Finished, UnitResult};
use crate::run::judging::{Exhibit, Judging};
use crate::run::manifest::Manifest;
use crate::run::suite::{Suite, SuiteTask};
use crate::run::units::Unit;

/// Bytes that the run folder keeps by hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its hash.
    pub hash: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What became of attempts, by task and target, then by number; for feedback alone.
pub type EarlierAttempts = BTreeMap<(String, String), BTreeMap<u32, EarlierAttempt>>;

/// What its author may know of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierAttempt {
    /// Its own fault of schema or replay.
    pub fault: Option<String>,
    /// The payload of one that replays.
    pub payload: Option<Object>,
}

/// The attempts of an earlier start of a run.
#[must_use]
pub fn earlier_attempts(folder: &RunFolder, finished: &Finished) -> EarlierAttempts {
    let mut earlier = EarlierAttempts::new();
    for record in finished.values().flat_map(|result| &result.records) {
        let Record::Attempt(record) = record else { continue };
        let payload = record.payload.as_ref().and_then(|hash| {
            let bytes = folder.read_object(ObjectKind::Payload, hash)?;
            Some(Object { kind: ObjectKind::Payload, hash: hash.clone(), bytes })
        });
        let key = (record.task.clone(), record.target.clone());
        earlier.entry(key).or_default().insert(record.attempt, EarlierAttempt { fault: fault_of(record), payload });
    }
    earlier
}

fn fault_of(record: &AttemptRecord) -> Option<String> {
    let fault = record.fault.as_ref().map(|fault| format!("{}: {}", fault.code, fault.detail));
    fault.or_else(|| record.no_answer.clone())
}

/// What all threads of a run share.
pub struct Shared<'r> {
    /// The frozen manifest.
    pub manifest: &'r Manifest,
    /// The suite.
    pub suite: &'r Suite,
    /// The run folder, for payloads of the first phase.
    pub folder: &'r RunFolder,
    /// Who makes candidates.
    pub attacker: &'r Attacker,
    /// How exact search is bounded.
    pub search: SearchOptions,
    /// The certifier.
    pub certifier: &'r Mutex<Box<dyn Certify>>,
    /// What the evaluator processes serve: targets and evaluators without a model, in the order of the tables.
    pub builtins: &'r [Builtin],
    /// The semantic judges.
    pub judging: &'r Judging<'r>,
    /// What became of attempts, where the attacker hears of it.
    pub earlier: Mutex<EarlierAttempts>,
    /// Scores by payload hash, so that the same bytes are scored once.
    pub scored: Mutex<BTreeMap<String, Vec<RecordedScore>>>,
}

/// A unit's name, its result, and the objects that its records refer to.
pub type Output = (String, UnitResult, Vec<Object>);

impl Shared<'_> {
    fn task(&self, id: &str) -> Result<&SuiteTask, RunError> {
        self.suite.task(id).ok_or_else(|| RunError::Incomplete(format!("no task {id} in the suite")))
    }

    /// Asks the certifier, one thread at a time.
    ///
    /// # Errors
    /// As the question.
    pub fn certify<T>(&self, ask: impl FnOnce(&mut dyn Certify) -> Result<T, RunError>) -> Result<T, RunError> {
        // A thread that panicked while it held the lock stops the run; the certifier itself holds no state of it.
        let mut certifier = self.certifier.lock().unwrap_or_else(PoisonError::into_inner);
        ask(certifier.as_mut())
    }

    /// Works a list of units of one task out. Scores are asked for in one go.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn work(&self, units: &[Unit], evaluator: &mut EvaluatorProcess) -> Result<Vec<Output>, RunError> {
        let mut outputs = Vec::with_capacity(units.len());
        let mut scores = Vec::new();
        for unit in units {
            let output = match unit {
                Unit::Honest { task } => self.honest(self.task(task)?)?,
                Unit::Attempt { task, target, attempt, budget } => {
                    self.attempt(&self.task(task)?.task, target, *attempt, *budget, evaluator)?
                }
                Unit::Rollbacks { task } => self.rollbacks(self.task(task)?)?,
                Unit::Controls { task } => self.controls(&self.task(task)?.task)?,
                Unit::Checklist { task, judge } => (self.judging.checklist(&self.task(task)?.task, judge)?, Vec::new()),
                Unit::Judgement { task, subject, payload, judge } => {
                    (self.judgement(task, subject, payload, judge)?, Vec::new())
                }
                // Users' own evaluators are asked elsewhere, one after the other.
                Unit::Plugin { .. } | Unit::PluginAgain { .. } => {
                    return Err(RunError::Incomplete(format!("{unit} is no work of this phase")));
                }
                Unit::Scores { task, subject, payload } => {
                    scores.push((unit, task, subject, payload));
                    continue;
                }
            };
            outputs.push((unit.to_string(), output.0, output.1));
        }
        let payloads: Vec<&String> = scores.iter().map(|(.., payload)| *payload).collect();
        self.score_objects(&payloads, evaluator)?;
        let scored = self.scored.lock().unwrap_or_else(PoisonError::into_inner);
        for (unit, task, subject, payload) in scores {
            let Some(of_payload) = scored.get(payload) else {
                return Err(RunError::Incomplete(format!("no scores of payload {payload}")));
            };
            outputs.push((unit.to_string(), self.score_records(task, subject, payload, of_payload), Vec::new()));
        }
        Ok(outputs)
    }

    fn honest(&self, entry: &SuiteTask) -> Result<(UnitResult, Vec<Object>), RunError> {
        let task = &entry.task;
        let id = &task.spec.id;
        let fault = |fault: String| RunError::Certification { task: id.clone(), fault };
        let replay = replay_legal(task, &task.spec.honest)?;
        let certified = self.certify(|certifier| certifier.honest(task))?;
        if certified.p_state() != entry.p_state_honest {
            let (found, expected) = (certified.p_state(), entry.p_state_honest);
            return Err(fault(format!("found P_state(H) = {found}, expected {expected}, as the suite promises")));
        }
        check_goal_version(task, certified.goal_version)?;
        let (trajectory, public) = trajectory_objects(id, &task.spec.honest, &replay);
        let record = Record::Honest(HonestRecord {
            task: id.clone(),
            trajectory: trajectory.hash.clone(),
            payload: public.hash.clone(),
            steps: count(task.spec.honest.len()),
            events: count(replay.events.len()),
            goal_version: certified.goal_version,
            p_state: certified.p_state().to_string(),
            p_agent: certified.p_agent().to_string(),
        });
        let private = vec![(record.name(), certified.record())];
        Ok((UnitResult { records: vec![record], private }, vec![trajectory, public]))
    }

    fn attempt(
        &self,
        task: &Task,
        target: &str,
        attempt: u32,
        budget: u32,
        evaluator: &mut EvaluatorProcess,
    ) -> Result<(UnitResult, Vec<Object>), RunError> {
        let generated = match self.attacker {
            Attacker::Llm(llm) => self.generate_by_model(llm, task, target, attempt, evaluator)?,
            other => other.generate(task, target, attempt, &self.search)?,
        };
        let Generated { candidate, name, search, exchanges, no_answer } = generated;
        let mut record = AttemptRecord {
            task: task.spec.id.clone(),
            target: target.to_owned(),
            attempt,
            name,
            candidate: candidate.as_ref().map(|bytes| candidate_hash(bytes).hex()),
            fault: None,
            payload: None,
            steps: None,
            repeats_honest: false,
            eligible: false,
            score: None,
            search,
            exchanges,
            no_answer,
        };
        let Some(bytes) = candidate else {
            self.remember(&record, None);
            return Ok((
                UnitResult { records: vec![Record::Attempt(Box::new(record))], private: Vec::new() },
                Vec::new(),
            ));
        };
        let mut objects = Vec::new();
        let gates = Candidate::admit(task, &bytes);
        let code = match gates {
            Err(PublicRefusal { code, fault }) => {
                record.fault = Some(PublicFault { code: code.word().to_owned(), detail: fault.to_string() });
                code.word().to_owned()
            }
            Ok((candidate, replay)) => {
                let public = payload_object(&replay);
                record.steps = Some(count(candidate.steps.len()));
                record.payload = Some(public.hash.clone());
                record.repeats_honest = replay.head() == Replay::run(task, &task.spec.honest).head();
                let code = self.certify(|certifier| certifier.attempt(task, target, budget, &bytes))?;
                record.eligible = code == ELIGIBLE && !record.repeats_honest;
                if record.eligible {
                    record.score = Some(self.target_score(task, target, &public, evaluator)?);
                }
                objects.push(public);
                code
            }
        };
        self.remember(&record, objects.first());
        let hash = candidate_hash(&bytes).hex();
        objects.push(Object { kind: ObjectKind::Trajectory, hash, bytes });
        let record = Record::Attempt(Box::new(record));
        let private = vec![(record.name(), PrivateRecord::Code { code })];
        Ok((UnitResult { records: vec![record], private }, objects))
    }

    fn rollbacks(&self, entry: &SuiteTask) -> Result<(UnitResult, Vec<Object>), RunError> {
        let task = &entry.task;
        let id = &task.spec.id;
        let fault = |fault: String| RunError::Certification { task: id.clone(), fault };
        let rollbacks = self.certify(|certifier| certifier.rollbacks(task))?;
        let mut next: BTreeMap<&str, u32> = BTreeMap::new();
        let mut result = UnitResult::default();
        let mut objects = Vec::new();
        for rollback in &rollbacks {
            let mut steps = task.spec.honest.clone();
            steps.extend(rollback.undo.iter().cloned());
            let replay = replay_legal(task, &steps)?;
            let p_state = rollback.certified.p_state();
            if p_state >= entry.p_state_honest {
                let honest = entry.p_state_honest;
                return Err(fault(format!("found a rollback with P_state = {p_state}, expected less than {honest}")));
            }
            check_goal_version(task, rollback.certified.goal_version)?;
            let (trajectory, public) = trajectory_objects(id, &steps, &replay);
            let index = next.entry(rollback.set).or_default();
            let record = Record::Rollback(RollbackRecord {
                task: id.clone(),
                set: rollback.set.to_owned(),
                index: *index,
                trajectory: trajectory.hash.clone(),
                payload: public.hash.clone(),
                undo_steps: count(rollback.undo.len()),
                p_state: p_state.to_string(),
            });
            *index += 1;
            result.private.push((record.name(), rollback.certified.record()));
            result.records.push(record);
            objects.extend([trajectory, public]);
        }
        for set in &self.manifest.rollback_sets {
            if !next.contains_key(set.as_str()) {
                return Err(fault(format!("the task claims a strict rollback; found none in the set {set:?}")));
            }
        }
        Ok((result, objects))
    }

    fn controls(&self, task: &Task) -> Result<(UnitResult, Vec<Object>), RunError> {
        let controls = self.certify(|certifier| certifier.controls(task))?;
        let mut result = UnitResult::default();
        for control in controls {
            let right = |code: &Option<String>| code.as_ref().is_none_or(|code| *code == control.expected);
            let applicable = control.backward.is_some() || control.forward.is_some();
            let as_expected = right(&control.backward)
                && right(&control.forward)
                && control.backward.is_some() == control.forward.is_some();
            let (task, mutation) = (task.spec.id.clone(), control.mutation);
            let name = CellName::Control { task: task.clone(), mutation: mutation.clone() };
            let (expected, backward, forward) = (control.expected, control.backward, control.forward);
            result.private.push((name, PrivateRecord::Control { expected, backward, forward }));
            result.records.push(Record::Control(ControlRecord { task, mutation, applicable, as_expected }));
        }
        Ok((result, Vec::new()))
    }

    fn target_score(
        &self,
        task: &Task,
        target: &str,
        public: &Object,
        evaluator: &mut EvaluatorProcess,
    ) -> Result<RecordedScore, RunError> {
        if self.judging.has(target) {
            let subject = Subject::Adversary { target: target.to_owned() };
            let (hash, payload) = (public.hash.as_str(), public.bytes.as_slice());
            let exhibit = Exhibit { task: &task.spec.id, subject: &subject, hash, payload };
            return Ok(self.judging.judge(target, exhibit, false)?.score);
        }
        self.score_bytes(&[(public.hash.clone(), &public.bytes)], evaluator)?;
        let scored = self.scored.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self.builtins.iter().position(|served| served.id() == target);
        let score = scored.get(&public.hash).zip(at).and_then(|(scores, at)| scores.get(at));
        score.cloned().ok_or_else(|| RunError::Incomplete(format!("no score by {target} of a payload")))
    }

    fn judgement(&self, task: &str, subject: &Subject, hash: &str, judge: &str) -> Result<UnitResult, RunError> {
        let payload = self.read_payload(hash)?;
        let exhibit = Exhibit { task, subject, hash, payload: &payload };
        let frozen = self.manifest.evaluator(judge).and_then(|evaluator| evaluator.judge.as_ref());
        let probes = matches!(subject, Subject::Honest {}) && frozen.is_some_and(|judge| judge.probes);
        let records = self.judging.judge(judge, exhibit, probes)?.into_records(judge, exhibit);
        Ok(UnitResult { records, private: Vec::new() })
    }

    fn generate_by_model(
        &self,
        llm: &ModelAttacker,
        task: &Task,
        target: &str,
        attempt: u32,
        evaluator: &mut EvaluatorProcess,
    ) -> Result<Generated, RunError> {
        let id = &task.spec.id;
        let cell = format!("attempt {attempt} on {id} against {target}");
        let prompt = llm.prompt(task, target, attempt, self.earlier_than(llm, task, target, attempt, evaluator)?)?;
        let check = |answer: &Answer| read_candidate(id, &answer.content).map(|_| ());
        let asked = self.judging.ask(&cell, ("attacker", &llm.role), &prompt, 0, &check)?;
        let read = asked.result.and_then(|answer| read_candidate(id, &answer.content).map_err(NoAnswer::Schema));
        let (candidate, no_answer) = match read {
            Ok(candidate) => (Some(candidate), None),
            Err(no_answer) => (None, Some(no_answer.to_string())),
        };
        Ok(Generated { candidate, name: None, search: None, exchanges: asked.exchanges, no_answer })
    }

    /// What an attempt may hear of those before it. A public score is shown of every one that replays: shown of eligible
    /// ones alone, it would tell which are eligible.
    fn earlier_than(
        &self,
        llm: &ModelAttacker,
        task: &Task,
        target: &str,
        attempt: u32,
        evaluator: &mut EvaluatorProcess,
    ) -> Result<Vec<Earlier>, RunError> {
        let key = (task.spec.id.clone(), target.to_owned());
        let kept: Vec<(u32, EarlierAttempt)> = {
            let earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
            let of_key = earlier.get(&key).into_iter().flat_map(|attempts| attempts.range(..attempt));
            of_key.map(|(number, earlier)| (*number, earlier.clone())).collect()
        };
        let with_score = llm.feedback == FeedbackKind::PublicScore;
        let mut list = Vec::with_capacity(kept.len());
        for (number, EarlierAttempt { fault, payload }) in kept {
            let score = match payload.filter(|_| with_score) {
                Some(payload) => self.target_score(task, target, &payload, evaluator)?.score(),
                None => None,
            };
            list.push(Earlier { attempt: number, fault, score: score.map(|score| score.value().to_string()) });
        }
        Ok(list)
    }

    fn remember(&self, record: &AttemptRecord, payload: Option<&Object>) {
        if self.attacker.is_sequential() {
            let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
            let of_key = earlier.entry((record.task.clone(), record.target.clone())).or_default();
            of_key.insert(record.attempt, EarlierAttempt { fault: fault_of(record), payload: payload.cloned() });
        }
    }

    fn read_payload(&self, hash: &str) -> Result<Vec<u8>, RunError> {
        self.folder.read_object(ObjectKind::Payload, hash).ok_or_else(|| {
            let path = self.folder.object(ObjectKind::Payload, hash);
            RunError::storage("cannot read", &path, std::io::Error::other("missing, or not of its hash"))
        })
    }

    fn score_objects(&self, payloads: &[&String], evaluator: &mut EvaluatorProcess) -> Result<(), RunError> {
        let mut missing: Vec<String> = {
            let scored = self.scored.lock().unwrap_or_else(PoisonError::into_inner);
            payloads.iter().filter(|hash| !scored.contains_key(hash.as_str())).map(|hash| (*hash).clone()).collect()
        };
        missing.sort();
        missing.dedup();
        let mut read = Vec::with_capacity(missing.len());
        for hash in missing {
            let bytes = self.read_payload(&hash)?;
            read.push((hash, bytes));
        }
        let read: Vec<(String, &Vec<u8>)> = read.iter().map(|(hash, bytes)| (hash.clone(), bytes)).collect();
        self.score_bytes(&read, evaluator)
    }

    fn score_bytes(&self, payloads: &[(String, &Vec<u8>)], evaluator: &mut EvaluatorProcess) -> Result<(), RunError> {
        let bytes: Vec<&[u8]> = payloads.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        // A run of judges alone has nothing to ask the process.
        let scores = if self.builtins.is_empty() { vec![Vec::new(); bytes.len()] } else { evaluator.score(&bytes)? };
        let mut scored = self.scored.lock().unwrap_or_else(PoisonError::into_inner);
        for ((hash, _), scores) in payloads.iter().zip(scores) {
            scored.insert(hash.clone(), scores);
        }
        Ok(())
    }

    fn score_records(&self, task: &str, subject: &Subject, payload: &str, scores: &[RecordedScore]) -> UnitResult {
        let of_evaluators =
            self.builtins.iter().zip(scores).filter(|(builtin, _)| self.manifest.evaluator(builtin.id()).is_some());
        let records = of_evaluators.map(|(builtin, score)| {
            Record::Score(ScoreRecord {
                task: task.to_owned(),
                subject: subject.clone(),
                evaluator: builtin.id().to_owned(),
                payload: payload.to_owned(),
                score: score.clone(),
                others: BTreeMap::new(),
                fault: None,
            })
        });
        UnitResult { records: records.collect(), private: Vec::new() }
    }
}

/// Keys of the exchanges that a record rests on.
pub(crate) fn exchanges_of(record: &Record) -> &[String] {
    match record {
        Record::Attempt(record) => &record.exchanges,
        Record::Checklist(record) => &record.exchanges,
        Record::Judgement(record) => &record.exchanges,
        _ => &[],
    }
}

/// Replays steps that must all be legal.
///
/// # Errors
/// [`RunError::Certification`] with the first refusal.
pub(crate) fn replay_legal<'t>(task: &'t Task, steps: &[Step]) -> Result<Replay<'t>, RunError> {
    let replay = Replay::run(task, steps);
    match replay.first_refusal() {
        None => Ok(replay),
        Some((entry, refusal)) => Err(RunError::Certification {
            task: task.spec.id.clone(),
            fault: format!("step at tick {} is refused: {}", entry.tick, refusal.message),
        }),
    }
}

fn check_goal_version(task: &Task, found: u32) -> Result<(), RunError> {
    let expected = task.spec.active_goal_version;
    if found == expected {
        return Ok(());
    }
    let fault = format!("found goal version {found} at the end, expected {expected}");
    Err(RunError::Certification { task: task.spec.id.clone(), fault })
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn payload_object(replay: &Replay<'_>) -> Object {
    let bytes = payload(replay);
    Object { kind: ObjectKind::Payload, hash: payload_hash(&bytes).hex(), bytes }
}

fn trajectory_objects(task: &str, steps: &[Step], replay: &Replay<'_>) -> (Object, Object) {
    let bytes = Candidate::new(task, steps.to_vec()).bytes();
    let hash = candidate_hash(&bytes).hex();
    (Object { kind: ObjectKind::Trajectory, hash, bytes }, payload_object(replay))
}
