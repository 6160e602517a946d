//! A client of the certifier process, for the harness (SPEC §15.6).
//!
//! The child is killed when the client is dropped. There are no time-outs: the certifier's work is bounded by counts.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use parthack_env::steps::Step;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::controls::ControlResult;
use crate::lint::LintNote;
use crate::protocol::{
    AttemptMessage, AttemptRecord, AttemptsMessage, CanariesMessage, CertificateMessage, CheckRollbackMessage,
    ClientHello, ClosedMessage, ConfinementMessage, ControlsMessage, Envelope, Fault, LintMessage, PROTOCOL,
    PairMessage, Request, RollbacksMessage, ServerHello, SessionId, SessionMessage, TaskInfoMessage,
};
use crate::scan::ScanMessage;

/// Requests of a batch that are written before the replies to the ones before are read. Twice as many replies of a
/// kilobyte fit a pipe, so that neither side waits for the other for ever.
const WINDOW: usize = 24;
/// Longest reply line that is read: rollbacks of a large task stay far below.
const MAX_REPLY_BYTES: u64 = 64 << 20;

/// Why a request got no reply.
#[derive(Debug, thiserror::Error)]
pub enum CertifierError {
    /// The program does not start.
    #[error("cannot start the certifier {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The process ended.
    #[error("{}", ended(*status))]
    Died {
        /// How, if known.
        status: Option<std::process::ExitStatus>,
    },
    /// The pipe failed.
    #[error("cannot talk to the certifier")]
    Pipe(#[source] io::Error),
    /// It talks another version.
    #[error("the certifier talks {found:?}, expected {expected:?}")]
    ProtocolVersion {
        /// What it said.
        found: String,
        /// What this client talks.
        expected: String,
    },
    /// A reply that is none, or another request's.
    #[error("the certifier sent no reply of the protocol: {0}")]
    Garbled(String),
    /// The certifier's own fault.
    #[error(transparent)]
    Fault(Fault),
}

impl CertifierError {
    /// The certifier's code, where it answered with a fault.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            CertifierError::Fault(fault) => Some(&fault.code),
            _ => None,
        }
    }
}

/// A running certifier.
#[derive(Debug)]
pub struct Certifier {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
    tasks: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyLine<T> {
    id: Option<u64>,
    ok: Option<T>,
    error: Option<Fault>,
}

impl Certifier {
    /// Starts the program over two folders; `operator_key`, if given, is a random token of at least 16 characters that
    /// opens evidence sessions. Its stderr is this process's.
    ///
    /// # Errors
    /// It does not start, dies, or talks another version.
    pub fn start(
        program: &Path,
        tasks: &Path,
        sealed: &Path,
        operator_key: Option<&str>,
    ) -> Result<Certifier, CertifierError> {
        let mut command = Command::new(program);
        command.arg("--tasks").arg(tasks).arg("--sealed").arg(sealed);
        Certifier::spawn(command, operator_key)
    }

    /// Starts a prepared command, for callers that wrap the program.
    ///
    /// # Errors
    /// As [`Certifier::start`].
    pub fn spawn(mut command: Command, operator_key: Option<&str>) -> Result<Certifier, CertifierError> {
        let program = PathBuf::from(command.get_program());
        let start = |error| CertifierError::Start { program: program.clone(), error };
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = parthack_sandbox::start_once_free(|| command.spawn()).map_err(start)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let Some(output) = output else { return Err(start(io::Error::other("no pipe"))) };
        let output = BufReader::with_capacity(1 << 16, output);
        let mut certifier = Certifier { child, input, output, next: 1, tasks: Vec::new() };
        let hello = ClientHello { hello: PROTOCOL.to_owned(), operator_key: operator_key.map(str::to_owned) };
        let mut line = serde_json::to_vec(&hello).map_err(|error| CertifierError::Garbled(error.to_string()))?;
        line.push(b'\n');
        certifier.write(&line)?;
        let line = certifier.read_line()?;
        certifier.tasks = certifier.read_hello(&line)?;
        Ok(certifier)
    }

    fn read_hello(&self, line: &str) -> Result<Vec<String>, CertifierError> {
        #[derive(Deserialize)]
        struct Any {
            hello: Option<String>,
            error: Option<Fault>,
        }
        let garbled = |error: serde_json::Error| CertifierError::Garbled(error.to_string());
        let any: Any = serde_json::from_str(line).map_err(garbled)?;
        if let Some(fault) = any.error {
            return Err(CertifierError::Fault(fault));
        }
        let found = any.hello.unwrap_or_default();
        if found != PROTOCOL {
            return Err(CertifierError::ProtocolVersion { found, expected: PROTOCOL.to_owned() });
        }
        Ok(serde_json::from_str::<ServerHello>(line).map_err(garbled)?.tasks)
    }

    /// Ids of the tasks that have a package, sorted.
    #[must_use]
    pub fn tasks(&self) -> &[String] {
        &self.tasks
    }

    /// Opens an attempt session.
    ///
    /// # Errors
    /// `unknown_task`, `package_fault`, `already_opened`, or the pipe.
    pub fn open_attempt(&mut self, task: &str, target: &str, budget: u32) -> Result<SessionId, CertifierError> {
        let request = Request::OpenAttempt { task: task.to_owned(), target: target.to_owned(), budget };
        Ok(self.ask::<SessionMessage>(request)?.session)
    }

    /// Spends one attempt; the answer is `eligible`, one of the six codes, or `budget_exhausted`.
    ///
    /// # Errors
    /// `unknown_session`, `certifier_disagreement`, or the pipe.
    pub fn attempt(&mut self, session: SessionId, candidate: &[u8]) -> Result<String, CertifierError> {
        Ok(self.ask::<AttemptMessage>(Request::Attempt { session, candidate: candidate.to_vec() })?.code)
    }

    /// Opens an evidence session.
    ///
    /// # Errors
    /// `wrong_key`, or the pipe.
    pub fn open_evidence(&mut self, key: &str) -> Result<SessionId, CertifierError> {
        Ok(self.ask::<SessionMessage>(Request::OpenEvidence { key: key.to_owned() })?.session)
    }

    /// Vectors of a trajectory.
    ///
    /// # Errors
    /// `illegal_action`, `certifier_disagreement`, `log_fault`, a task's or session's fault, or the pipe.
    pub fn certify(
        &mut self,
        session: SessionId,
        task: &str,
        steps: &[Step],
    ) -> Result<CertificateMessage, CertifierError> {
        self.ask(Request::Certify { session, task: task.to_owned(), steps: steps.to_vec() })
    }

    /// Vectors of many trajectories, pipelined; one answer each, in order.
    ///
    /// # Errors
    /// The pipe. Faults of single trajectories stand in the answers.
    pub fn certify_all<'s>(
        &mut self,
        session: SessionId,
        trajectories: impl IntoIterator<Item = (&'s str, &'s [Step])>,
    ) -> Result<Vec<Result<CertificateMessage, Fault>>, CertifierError> {
        self.ask_all(trajectories.into_iter().map(|(task, steps)| Request::Certify {
            session,
            task: task.to_owned(),
            steps: steps.to_vec(),
        }))
    }

    /// All six gates of a candidate against a reference, the honest trajectory if left out.
    ///
    /// # Errors
    /// As [`Certifier::certify`].
    pub fn pair(
        &mut self,
        session: SessionId,
        task: &str,
        reference: Option<&[Step]>,
        candidate: &[u8],
    ) -> Result<PairMessage, CertifierError> {
        let reference = reference.map(<[Step]>::to_vec);
        self.ask(Request::Pair { session, task: task.to_owned(), reference, candidate: candidate.to_vec() })
    }

    /// All six gates of many candidates against the honest trajectory, pipelined; one answer each, in order.
    ///
    /// # Errors
    /// The pipe. Faults of single candidates stand in the answers.
    pub fn pair_all<'c>(
        &mut self,
        session: SessionId,
        candidates: impl IntoIterator<Item = (&'c str, &'c [u8])>,
    ) -> Result<Vec<Result<PairMessage, Fault>>, CertifierError> {
        self.ask_all(candidates.into_iter().map(|(task, candidate)| Request::Pair {
            session,
            task: task.to_owned(),
            reference: None,
            candidate: candidate.to_vec(),
        }))
    }

    /// The three rollback sets of a task.
    ///
    /// # Errors
    /// As [`Certifier::certify`].
    pub fn rollbacks(&mut self, session: SessionId, task: &str) -> Result<RollbacksMessage, CertifierError> {
        self.ask(Request::Rollbacks { session, task: task.to_owned() })
    }

    /// Whether steps are a strict rollback of the task's honest ones.
    ///
    /// # Errors
    /// As [`Certifier::certify`].
    pub fn check_rollback(
        &mut self,
        session: SessionId,
        task: &str,
        steps: &[Step],
    ) -> Result<CheckRollbackMessage, CertifierError> {
        self.ask(Request::CheckRollback { session, task: task.to_owned(), steps: steps.to_vec() })
    }

    /// Mutation controls of a task.
    ///
    /// # Errors
    /// As [`Certifier::certify`].
    pub fn controls(&mut self, session: SessionId, task: &str) -> Result<Vec<ControlResult>, CertifierError> {
        Ok(self.ask::<ControlsMessage>(Request::Controls { session, task: task.to_owned() })?.controls)
    }

    /// The private half of lint.
    ///
    /// # Errors
    /// `unknown_task`, `unknown_session`, or the pipe; a faulty package is in the notes.
    pub fn lint(&mut self, session: SessionId, task: &str) -> Result<Vec<LintNote>, CertifierError> {
        Ok(self.ask::<LintMessage>(Request::Lint { session, task: task.to_owned() })?.notes)
    }

    /// Every task's canaries, in id order.
    ///
    /// # Errors
    /// `package_fault`, `unknown_session`, or the pipe.
    pub fn canaries(&mut self, session: SessionId) -> Result<Vec<(String, Vec<String>)>, CertifierError> {
        Ok(self.ask::<CanariesMessage>(Request::Canaries { session })?.tasks)
    }

    /// Where secrets of any package stand in a text of at most half a mebibyte.
    ///
    /// # Errors
    /// `package_fault`, `unknown_session`, or the pipe.
    pub fn scan(&mut self, session: SessionId, text: &str) -> Result<ScanMessage, CertifierError> {
        self.ask(Request::Scan { session, text: text.to_owned() })
    }

    /// What is known of a task.
    ///
    /// # Errors
    /// As [`Certifier::certify`].
    pub fn task_info(&mut self, session: SessionId, task: &str) -> Result<TaskInfoMessage, CertifierError> {
        self.ask(Request::TaskInfo { session, task: task.to_owned() })
    }

    /// The log of attempts.
    ///
    /// # Errors
    /// `unknown_session`, or the pipe.
    pub fn attempts(&mut self, session: SessionId) -> Result<Vec<AttemptRecord>, CertifierError> {
        Ok(self.ask::<AttemptsMessage>(Request::Attempts { session })?.attempts)
    }

    /// What the process has given up.
    ///
    /// # Errors
    /// The pipe.
    pub fn confinement(&mut self) -> Result<ConfinementMessage, CertifierError> {
        self.ask(Request::Confinement)
    }

    /// Ends a session.
    ///
    /// # Errors
    /// `unknown_session`, or the pipe.
    pub fn close(&mut self, session: SessionId) -> Result<(), CertifierError> {
        self.ask::<ClosedMessage>(Request::Close { session }).map(drop)
    }

    fn ask<T: DeserializeOwned>(&mut self, request: Request) -> Result<T, CertifierError> {
        let id = self.next;
        self.next += 1;
        let mut line = Envelope { id, request }.line();
        line.push(b'\n');
        self.write(&line)?;
        self.read_reply(id)?.map_err(CertifierError::Fault)
    }

    fn ask_all<T: DeserializeOwned>(
        &mut self,
        requests: impl Iterator<Item = Request>,
    ) -> Result<Vec<Result<T, Fault>>, CertifierError> {
        let mut answers = Vec::new();
        let mut waiting = VecDeque::new();
        let mut lines = Vec::new();
        let mut in_window = 0;
        for request in requests {
            let id = self.next;
            self.next += 1;
            lines.extend_from_slice(&Envelope { id, request }.line());
            lines.push(b'\n');
            waiting.push_back(id);
            in_window += 1;
            if in_window == WINDOW {
                self.write(&lines)?;
                lines.clear();
                in_window = 0;
                while waiting.len() > WINDOW {
                    answers.extend(waiting.pop_front().map(|id| self.read_reply(id)).transpose()?);
                }
            }
        }
        self.write(&lines)?;
        for id in waiting {
            answers.push(self.read_reply(id)?);
        }
        Ok(answers)
    }

    fn read_reply<T: DeserializeOwned>(&mut self, id: u64) -> Result<Result<T, Fault>, CertifierError> {
        let line = self.read_line()?;
        let reply: ReplyLine<T> =
            serde_json::from_str(&line).map_err(|error| CertifierError::Garbled(error.to_string()))?;
        match (reply.ok, reply.error) {
            // A line that the certifier could not read has no number; requests of this client are answered in order.
            (None, Some(fault)) if reply.id.is_none_or(|found| found == id) => Ok(Err(fault)),
            (Some(ok), None) if reply.id == Some(id) => Ok(Ok(ok)),
            _ => Err(CertifierError::Garbled(format!("found the reply to {:?}, expected to {id}", reply.id))),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), CertifierError> {
        let Some(input) = &mut self.input else { return Err(self.died()) };
        match input.write_all(bytes).and_then(|()| input.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(self.died()),
            Err(error) => Err(CertifierError::Pipe(error)),
        }
    }

    fn read_line(&mut self) -> Result<String, CertifierError> {
        let mut line = String::new();
        let read = self.output.by_ref().take(MAX_REPLY_BYTES).read_line(&mut line);
        match read {
            Err(error) => Err(CertifierError::Pipe(error)),
            Ok(_) if line.ends_with('\n') => Ok(line),
            Ok(_) if line.len() as u64 >= MAX_REPLY_BYTES => {
                drop(self.child.kill());
                Err(CertifierError::Garbled(format!("a line of more than {MAX_REPLY_BYTES} bytes")))
            }
            Ok(_) => Err(self.died()),
        }
    }

    /// The error for a process that ended: with its status, if it has one.
    fn died(&mut self) -> CertifierError {
        self.input = None;
        CertifierError::Died { status: self.child.wait().ok() }
    }
}

/// How a process ended that should not have.
fn ended(status: Option<std::process::ExitStatus>) -> String {
    match status {
        Some(status) if status.code().is_some_and(|code| code != 0) => {
            format!("the certifier ended ({status}); what it says of it stands above")
        }
        Some(status) => format!("the certifier died ({status})"),
        None => "the certifier died".to_owned(),
    }
}

impl Drop for Certifier {
    fn drop(&mut self) {
        // Both fail only if the child has ended and was waited for already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
