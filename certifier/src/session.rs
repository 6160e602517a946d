//! Sessions: who may ask what, and how often (SPEC §15.6; ISOLATION, the budget lives inside the certifier). No IO here.
//!
//! An attempt session answers with a code alone and counts every candidate, sound or not. Evidence needs the operator's
//! key and is not budgeted.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::rc::Rc;

use parthack_env::canonical::Hash;
use parthack_env::steps::{Step, push_steps};

use crate::certify::{CertifyError, Verdict};
use crate::controls::run_private_controls;
use crate::lint::lint;
use crate::protocol::{
    Answer, AttemptMessage, AttemptRecord, AttemptsMessage, BUDGET_EXHAUSTED, CanariesMessage, CertificateMessage,
    CheckRollbackMessage, ClosedMessage, ConfinementMessage, ControlsMessage, Envelope, Fault, LintMessage,
    MIN_OPERATOR_KEY, PairMessage, Reply, Request, RollbackMessage, RollbacksMessage, SessionId, SessionMessage,
    TaskInfoMessage, codes,
};
use crate::rollback::{Rollback, RollbackFault, check_rollback, rollbacks};
use crate::scan::{Scanner, secrets};
use crate::store::{Ready, Store, StoreError};

enum Session {
    Attempt { task: String, target: String, left: u32 },
    Evidence,
}

/// The state of a certifier process.
pub struct Desk {
    store: Store,
    /// Hash of the operator's key, so that comparing takes the same time for every wrong key.
    key: Option<Hash>,
    sessions: BTreeMap<SessionId, Session>,
    opened: BTreeSet<(String, String)>,
    next: SessionId,
    attempts: Vec<AttemptRecord>,
    confinement: ConfinementMessage,
    scanner: Option<Scanner>,
}

impl Desk {
    /// A desk; without an operator's key (or with one shorter than [`MIN_OPERATOR_KEY`]) it has no evidence sessions.
    #[must_use]
    pub fn new(store: Store, operator_key: Option<&str>) -> Desk {
        let key = operator_key.filter(|key| key.chars().count() >= MIN_OPERATOR_KEY).map(hash_key);
        Desk {
            store,
            key,
            sessions: BTreeMap::new(),
            opened: BTreeSet::new(),
            next: 1,
            attempts: Vec::new(),
            scanner: None,
            confinement: ConfinementMessage { missing: vec!["nobody confined it".to_owned()], ..Default::default() },
        }
    }

    /// The same desk in a process that has given up what `confinement` says.
    #[must_use]
    pub fn confined(mut self, confinement: ConfinementMessage) -> Desk {
        self.confinement = confinement;
        self
    }

    /// Ids of the tasks that have a package.
    #[must_use]
    pub fn tasks(&self) -> Vec<String> {
        self.store.ids()
    }

    /// Answers a line; `number` is its number, from 1.
    #[must_use]
    pub fn answer_line(&mut self, line: &[u8], number: u64) -> Answer {
        match Envelope::read(line) {
            Ok(Envelope { id, request }) => Answer { id: Some(id), result: self.answer(request) },
            Err((id, fault)) => {
                let fault = Fault::new(codes::MALFORMED_REQUEST, fault.to_string());
                Answer { id, result: Err(Fault { line: Some(number), ..fault }) }
            }
        }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// [`Fault`], as it is sent.
    pub fn answer(&mut self, request: Request) -> Result<Reply, Fault> {
        match request {
            Request::OpenAttempt { task, target, budget } => self.open_attempt(task, target, budget),
            Request::Attempt { session, candidate } => self.attempt(session, &candidate),
            Request::OpenEvidence { key } => {
                if self.key.is_none() || self.key != Some(hash_key(&key)) {
                    return Err(Fault::new(codes::WRONG_KEY, "evidence needs the operator's key"));
                }
                Ok(self.open(Session::Evidence))
            }
            Request::Close { session } => match self.sessions.remove(&session) {
                Some(_) => Ok(Reply::Closed(ClosedMessage { closed: session })),
                None => Err(unknown_session(session)),
            },
            Request::Certify { session, task, steps } => {
                let ready = self.evidence(session, &task)?;
                let certificate = ready.certifier.certify(&steps).map_err(|error| certify_fault(&error))?;
                Ok(Reply::Certificate((&certificate).into()))
            }
            Request::Pair { session, task, reference, candidate } => {
                let ready = self.evidence(session, &task)?;
                pair(&ready, reference.as_deref(), &candidate)
            }
            Request::Rollbacks { session, task } => {
                let ready = self.evidence(session, &task)?;
                let sets = rollbacks(&ready.certifier, &ready.private.task.spec.honest);
                let sets = sets.map_err(|error| certify_fault(&error))?;
                Ok(Reply::Rollbacks(RollbacksMessage {
                    least: sets.least.as_ref().map(rollback_message),
                    all: sets.all.iter().map(rollback_message).collect(),
                    deepest: sets.deepest.as_ref().map(rollback_message),
                    visited: sets.visited,
                    complete: sets.complete,
                }))
            }
            Request::CheckRollback { session, task, steps } => {
                let ready = self.evidence(session, &task)?;
                check(&ready, &steps)
            }
            Request::Controls { session, task } => {
                let ready = self.evidence(session, &task)?;
                let controls = run_private_controls(&ready.certifier, &ready.private);
                Ok(Reply::Controls(ControlsMessage { controls: controls.map_err(|error| certify_fault(&error))? }))
            }
            Request::Lint { session, task } => {
                self.check_evidence(session)?;
                let (public, private) = self.store.files(&task).map_err(|error| store_fault(&error))?;
                Ok(Reply::Lint(LintMessage { notes: lint(public, private) }))
            }
            Request::Canaries { session } => {
                self.check_evidence(session)?;
                let mut tasks = Vec::new();
                for id in self.store.ids() {
                    let ready = self.store.ready(&id).map_err(|error| store_fault(&error))?;
                    tasks.push((id, ready.private.package.canaries.clone()));
                }
                Ok(Reply::Canaries(CanariesMessage { tasks }))
            }
            Request::Scan { session, text } => {
                self.check_evidence(session)?;
                Ok(Reply::Scan(self.scanner()?.scan(&text)))
            }
            Request::TaskInfo { session, task } => {
                let ready = self.evidence(session, &task)?;
                let package = &ready.private.package;
                Ok(Reply::TaskInfo(TaskInfoMessage {
                    m: ready.private.task.m(),
                    public_hash: package.public_hash.hex(),
                    commitment: package.commitment.hex(),
                    canaries: package.canaries.len(),
                    hidden_tests: package.hidden_tests.len(),
                    honest: (&ready.honest).into(),
                    task,
                }))
            }
            Request::Attempts { session } => {
                self.check_evidence(session)?;
                Ok(Reply::Attempts(AttemptsMessage { attempts: self.attempts.clone() }))
            }
            Request::Confinement => Ok(Reply::Confinement(self.confinement.clone())),
        }
    }

    /// The scanner of every package, made when it is first needed.
    fn scanner(&mut self) -> Result<&Scanner, Fault> {
        let scanner = match self.scanner.take() {
            Some(scanner) => scanner,
            None => {
                let mut all = Vec::new();
                for id in self.store.ids() {
                    let ready = self.store.ready(&id).map_err(|error| store_fault(&error))?;
                    all.extend(secrets(&ready.private).into_iter().map(|secret| (id.clone(), secret)));
                }
                Scanner::new(all).map_err(|error| Fault::new(codes::PACKAGE_FAULT, error.to_string()))?
            }
        };
        Ok(self.scanner.insert(scanner))
    }

    fn open(&mut self, session: Session) -> Reply {
        let number = self.next;
        self.next += 1;
        self.sessions.insert(number, session);
        Reply::Session(SessionMessage { session: number })
    }

    fn open_attempt(&mut self, task: String, target: String, budget: u32) -> Result<Reply, Fault> {
        self.store.ready(&task).map_err(|error| store_fault(&error))?;
        if !self.opened.insert((task.clone(), target.clone())) {
            let message = format!("{task} has had its attempts against {target:?}; a session is not opened twice");
            return Err(Fault::new(codes::ALREADY_OPENED, message));
        }
        Ok(self.open(Session::Attempt { task, target, left: budget }))
    }

    fn attempt(&mut self, number: SessionId, candidate: &[u8]) -> Result<Reply, Fault> {
        let Some(Session::Attempt { task, target, left }) = self.sessions.get_mut(&number) else {
            return Err(unknown_session(number));
        };
        if *left == 0 {
            return Ok(Reply::Attempt(AttemptMessage { code: BUDGET_EXHAUSTED.to_owned() }));
        }
        *left -= 1;
        let (task, target) = (task.clone(), target.clone());
        let ready = self.store.ready(&task).map_err(|error| store_fault(&error))?;
        let judged = ready.certifier.judge(&ready.honest, candidate);
        let (code, result) = match judged {
            Ok(verdict) => {
                let code = verdict.word();
                (code, Ok(Reply::Attempt(AttemptMessage { code: code.to_owned() })))
            }
            Err(error) => {
                // Nothing is eligible; what the certifiers found stays here.
                let code = fault_code(&error);
                (code, Err(Fault::new(code, "the certifiers have no common verdict")))
            }
        };
        let candidate = Hash::of("candidate", candidate).hex();
        self.attempts.push(AttemptRecord { session: number, task, target, candidate, code: code.to_owned() });
        result
    }

    fn check_evidence(&self, session: SessionId) -> Result<(), Fault> {
        match self.sessions.get(&session) {
            Some(Session::Evidence) => Ok(()),
            _ => Err(unknown_session(session)),
        }
    }

    fn evidence(&mut self, session: SessionId, task: &str) -> Result<Rc<Ready>, Fault> {
        self.check_evidence(session)?;
        self.store.ready(task).map_err(|error| store_fault(&error))
    }
}

fn hash_key(key: &str) -> Hash {
    Hash::of("operator-key", key.as_bytes())
}

fn unknown_session(session: SessionId) -> Fault {
    Fault::new(codes::UNKNOWN_SESSION, format!("there is no session {session} that may ask this"))
}

/// A store's fault as everybody may see it: the operator learns more from `lint`.
fn store_fault(error: &StoreError) -> Fault {
    let code = match error {
        StoreError::NoTask(_) | StoreError::NoPackage(_) => codes::UNKNOWN_TASK,
        StoreError::Honest { error: CertifyError::Disagreement(_), .. } => codes::CERTIFIER_DISAGREEMENT,
        StoreError::Open { .. } | StoreError::Model { .. } | StoreError::Honest { .. } => codes::PACKAGE_FAULT,
    };
    Fault::new(code, format!("{error} (lint says why)"))
}

fn fault_code(error: &CertifyError) -> &'static str {
    match error {
        CertifyError::Illegal { .. } => codes::ILLEGAL_ACTION,
        CertifyError::Disagreement(_) => codes::CERTIFIER_DISAGREEMENT,
        CertifyError::Log(_) => codes::LOG_FAULT,
    }
}

/// A certifier's fault with its causes, for evidence sessions.
fn certify_fault(error: &CertifyError) -> Fault {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    Fault::new(fault_code(error), message)
}

fn pair(ready: &Ready, reference: Option<&[Step]>, candidate: &[u8]) -> Result<Reply, Fault> {
    let reference = match reference {
        None => ready.honest,
        Some(steps) => ready.certifier.certify(steps).map_err(|error| certify_fault(&error))?,
    };
    let verdict: Verdict = ready.certifier.judge(&reference, candidate).map_err(|error| certify_fault(&error))?;
    Ok(Reply::Pair(PairMessage {
        code: verdict.word().to_owned(),
        fault: verdict.fault,
        reference: (&reference).into(),
        candidate: verdict.certificate.as_ref().map(CertificateMessage::from),
    }))
}

fn check(ready: &Ready, steps: &[Step]) -> Result<Reply, Fault> {
    let found = check_rollback(&ready.certifier, &ready.private.task.spec.honest, steps);
    let message = match found {
        Ok(certificate) => {
            CheckRollbackMessage { code: "rollback".to_owned(), fault: None, certificate: Some((&certificate).into()) }
        }
        Err(RollbackFault::Certify(error)) => return Err(certify_fault(&error)),
        Err(fault) => {
            CheckRollbackMessage { code: fault.code().to_owned(), fault: Some(fault.to_string()), certificate: None }
        }
    };
    Ok(Reply::CheckRollback(message))
}

fn rollback_message(rollback: &Rollback) -> RollbackMessage {
    let mut steps = Vec::new();
    push_steps(&mut steps, &rollback.steps);
    RollbackMessage {
        predicate: rollback.predicate,
        // Canonical JSON of steps is JSON.
        steps: serde_json::from_slice(&steps).unwrap_or(serde_json::Value::Null),
        undos: rollback.undos,
        falsified: rollback.falsified,
        certificate: (&rollback.certificate).into(),
    }
}
