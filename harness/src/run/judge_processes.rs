//! The processes in which semantic judges read payloads and answers: a few of them, each asked by one thread at a time.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use parthack_evaluators::judge::remote::{Carrier, JUDGE_PROTOCOL};
use serde::Deserialize;

use crate::run::error::RunError;
use crate::run::public_process::PublicProcess;

/// Bytes of the longest line: a payload and a model's whole answer, each escaped.
const MAX_LINE: usize = 256 << 20;

/// The processes. They are started when they are first needed.
#[derive(Debug)]
pub struct JudgeProcesses {
    program: PathBuf,
    most: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug)]
struct State {
    idle: Vec<PublicProcess>,
    /// Idle or asked.
    running: usize,
    restarts_left: u32,
    fault: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hello {
    protocol: String,
}

impl JudgeProcesses {
    /// Processes of `program`, this binary: as many as there are cores, at most.
    #[must_use]
    pub fn new(program: &Path) -> JudgeProcesses {
        let state = State { idle: Vec::new(), running: 0, restarts_left: 1, fault: None };
        let most = std::thread::available_parallelism().map_or(1, usize::from);
        JudgeProcesses { program: program.to_path_buf(), most, state: Mutex::new(state), freed: Condvar::new() }
    }

    /// Whether every question so far had its reply; what a judge says is worth nothing otherwise.
    ///
    /// # Errors
    /// [`RunError::Evaluator`]: processes could not be started, or died twice.
    pub fn sound(&self) -> Result<(), RunError> {
        let hint = "a process of judges died twice; a run that had begun goes on with --resume once the cause is gone";
        match &self.state().fault {
            None => Ok(()),
            Some(fault) => Err(RunError::Evaluator { fault: fault.clone(), hint }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An idle process, a new one, or one that becomes idle; none after a fault.
    fn take(&self) -> Option<PublicProcess> {
        let mut state = self.state();
        loop {
            if state.fault.is_some() {
                return None;
            }
            if let Some(process) = state.idle.pop() {
                return Some(process);
            }
            if state.running < self.most {
                state.running += 1;
                drop(state);
                return match start(&self.program) {
                    Ok(process) => Some(process),
                    Err(fault) => {
                        self.lose(fault, true);
                        None
                    }
                };
            }
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, process: PublicProcess) {
        self.state().idle.push(process);
        self.freed.notify_one();
    }

    /// One process less; a fault of all if it is the second one that died.
    fn lose(&self, fault: String, at_once: bool) {
        let mut state = self.state();
        state.running -= 1;
        if at_once || state.restarts_left == 0 {
            state.fault.get_or_insert(fault);
        } else {
            state.restarts_left -= 1;
        }
        drop(state);
        self.freed.notify_all();
    }
}

impl Carrier for JudgeProcesses {
    fn carry(&self, line: &[u8]) -> Option<Vec<u8>> {
        loop {
            let mut process = self.take()?;
            let mut reply = String::new();
            match process.send(line, MAX_LINE).and_then(|()| process.receive(&mut reply, MAX_LINE)) {
                Ok(()) => {
                    self.give_back(process);
                    return Some(reply.into_bytes());
                }
                Err(fault) => self.lose(fault, false),
            }
        }
    }
}

fn start(program: &Path) -> Result<PublicProcess, String> {
    let mut process = PublicProcess::start(program, &["__judge"])?;
    let mut line = String::new();
    process.receive(&mut line, MAX_LINE)?;
    let hello: Hello = serde_json::from_str(&line).map_err(|error| format!("a wrong hello line: {error}"))?;
    if hello.protocol != JUDGE_PROTOCOL {
        return Err(format!("it speaks {:?}, expected {JUDGE_PROTOCOL:?}", hello.protocol));
    }
    Ok(process)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_serves_no_judges_is_a_fault_and_not_a_verdict() {
        for program in ["/bin/false", "/no/such/program", "/bin/cat"] {
            let processes = JudgeProcesses::new(Path::new(program));
            assert!(processes.sound().is_ok());
            assert_eq!(processes.carry(b"{}"), None, "{program}");
            assert!(matches!(processes.sound(), Err(RunError::Evaluator { .. })), "{program}");
            assert_eq!(processes.carry(b"{}"), None, "{program}: nobody is asked again");
        }
    }
}
