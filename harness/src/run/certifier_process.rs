//! The certifier process as a run asks it: attempt sessions for candidates, one evidence session for everything else
//! (SPEC §15.6).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use parthack_certifier::client::{Certifier, CertifierError};
use parthack_certifier::protocol::{CertificateMessage, PROTOCOL, RollbackMessage, SessionId};
use parthack_certifier::vectors::BitVector;
use parthack_env::canonical::Hash;
use parthack_env::input::Cursor;
use parthack_env::json::Json;
use parthack_env::spec::read_steps;
use parthack_env::steps::Step;
use parthack_env::task::Task;

use crate::run::certifying::{Certified, Certify, Control, Rollback, Scan, ScanHit};
use crate::run::error::RunError;

/// A running certifier with its sessions.
#[derive(Debug)]
pub struct CertifierProcess {
    certifier: Certifier,
    evidence: SessionId,
    attempts: BTreeMap<(String, String), SessionId>,
}

impl CertifierProcess {
    /// Starts the certifier's program over a suite and its packages, with an operator's key that nobody else learns.
    ///
    /// # Errors
    /// [`RunError::Certifier`] if it does not start or speak the protocol, [`RunError::Storage`] without random bytes.
    pub fn start(program: &Path, tasks: &Path, sealed: &Path) -> Result<CertifierProcess, RunError> {
        let source = Path::new("/dev/urandom");
        let mut bytes = [0; 32];
        let read = File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(|error| RunError::storage("cannot read", source, error))?;
        let key = Hash(bytes).hex();
        let certifier = Certifier::start(program, tasks, sealed, Some(&key));
        CertifierProcess::new(certifier.map_err(|error| fault_of("the suite", &error))?, &key)
    }

    /// Takes a started certifier and opens its evidence session with the operator's key.
    ///
    /// # Errors
    /// [`RunError::Certifier`].
    pub fn new(mut certifier: Certifier, operator_key: &str) -> Result<CertifierProcess, RunError> {
        let evidence = certifier.open_evidence(operator_key).map_err(|error| fault_of("the suite", &error))?;
        Ok(CertifierProcess { certifier, evidence, attempts: BTreeMap::new() })
    }

    fn session(&mut self, task: &str, target: &str, budget: u32) -> Result<SessionId, CertifierError> {
        let key = (task.to_owned(), target.to_owned());
        if let Some(session) = self.attempts.get(&key) {
            return Ok(*session);
        }
        let session = self.certifier.open_attempt(task, target, budget.max(1))?;
        self.attempts.insert(key, session);
        Ok(session)
    }
}

/// What a fault of the certifier means for a run.
fn fault_of(task: &str, error: &CertifierError) -> RunError {
    let mut fault = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        fault.push_str(&format!(": {cause}"));
    }
    let task = task.to_owned();
    match error.code() {
        Some("unknown_task" | "package_fault") => RunError::Package { task, fault },
        Some("certifier_disagreement" | "log_fault" | "illegal_action") => RunError::Certification { task, fault },
        _ => RunError::Certifier { fault },
    }
}

fn certified(task: &str, message: &CertificateMessage) -> Result<Certified, RunError> {
    let bits = |vector: BitVector| (0..vector.len()).map(|at| vector.get(at)).collect();
    let state_hash = Hash::from_hex(&message.state_hash)
        .ok_or_else(|| RunError::Certifier { fault: format!("no state hash for {task}") })?;
    Ok(Certified {
        c_state: bits(message.c_state),
        c_agent: bits(message.c_agent),
        goal_version: message.goal_version,
        state_hash,
    })
}

fn rollback(task: &Task, set: &'static str, message: &RollbackMessage) -> Result<Rollback, RunError> {
    let id = &task.spec.id;
    let garbled = |what: String| RunError::Certifier { fault: format!("a rollback of {id} that is none: {what}") };
    let text = message.steps.to_string();
    let json = Json::parse(text.as_bytes()).map_err(|error| garbled(error.to_string()))?;
    let mut steps = read_steps(&Cursor::root(&json)).map_err(|fault| garbled(fault.into_error().to_string()))?;
    // Fields may stand in another order than in the task file; canonical bytes are what counts.
    let undo = steps.split_off(task.spec.honest.len().min(steps.len()));
    if steps.iter().map(Step::json).ne(task.spec.honest.iter().map(Step::json)) || undo.is_empty() {
        return Err(garbled("it is not the honest steps and at least one more".to_owned()));
    }
    Ok(Rollback { set, undo, certified: certified(id, &message.certificate)? })
}

impl Certify for CertifierProcess {
    fn protocol(&self) -> String {
        PROTOCOL.to_owned()
    }

    fn check(&mut self, task: &Task) -> Result<(), RunError> {
        let id = &task.spec.id;
        let info = self.certifier.task_info(self.evidence, id).map_err(|error| fault_of(id, &error))?;
        let expected = task.spec.file_hash.hex();
        if info.public_hash == expected {
            return Ok(());
        }
        let fault = format!("it is bound to public file {}, expected {expected}", info.public_hash);
        Err(RunError::Package { task: id.clone(), fault })
    }

    fn canaries(&mut self) -> Result<Vec<String>, RunError> {
        let tasks = self.certifier.canaries(self.evidence).map_err(|error| fault_of("the suite", &error))?;
        Ok(tasks.into_iter().flat_map(|(_, canaries)| canaries).collect())
    }

    fn scan(&mut self, text: &str) -> Result<Option<Scan>, RunError> {
        let message = self.certifier.scan(self.evidence, text).map_err(|error| fault_of("the suite", &error))?;
        let hit = |hit: parthack_certifier::scan::ScanHit| ScanHit {
            task: hit.task,
            secret: hit.secret,
            encoding: hit.encoding,
            at: hit.at,
        };
        Ok(Some(Scan {
            secrets: message.secrets,
            canaries: message.canaries,
            too_short: message.too_short,
            needles: message.needles,
            found: message.found,
            hits: message.hits.into_iter().map(hit).collect(),
        }))
    }

    fn honest(&mut self, task: &Task) -> Result<Certified, RunError> {
        self.steps(task, &task.spec.honest)
    }

    fn steps(&mut self, task: &Task, steps: &[Step]) -> Result<Certified, RunError> {
        let id = &task.spec.id;
        let message = self.certifier.certify(self.evidence, id, steps);
        certified(id, &message.map_err(|error| fault_of(id, &error))?)
    }

    fn attempt(&mut self, task: &Task, target: &str, budget: u32, candidate: &[u8]) -> Result<String, RunError> {
        let id = &task.spec.id;
        let session = self.session(id, target, budget).map_err(|error| fault_of(id, &error))?;
        self.certifier.attempt(session, candidate).map_err(|error| fault_of(id, &error))
    }

    fn rollbacks(&mut self, task: &Task) -> Result<Vec<Rollback>, RunError> {
        let id = &task.spec.id;
        let sets = self.certifier.rollbacks(self.evidence, id).map_err(|error| fault_of(id, &error))?;
        if !sets.complete {
            let fault = format!("the rollback search stopped after {} states", sets.visited);
            return Err(RunError::Certification { task: id.clone(), fault });
        }
        let least = sets.least.iter().map(|message| rollback(task, "least", message));
        let all = sets.all.iter().map(|message| rollback(task, "all", message));
        let deepest = sets.deepest.iter().map(|message| rollback(task, "deepest", message));
        least.chain(all).chain(deepest).collect()
    }

    fn controls(&mut self, task: &Task) -> Result<Vec<Control>, RunError> {
        let id = &task.spec.id;
        let controls = self.certifier.controls(self.evidence, id).map_err(|error| fault_of(id, &error))?;
        Ok(controls
            .into_iter()
            .map(|control| Control {
                mutation: control.name,
                expected: control.expected,
                backward: control.found_backward,
                forward: control.found_forward,
            })
            .collect())
    }
}
