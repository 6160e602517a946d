//! `parthack.certifier/1`: what is said over the certifier process's pipes (SPEC §15.6). No IO here.
//!
//! One JSON object a line, both ways. The first line of each side is a hello. Then come requests `{"id": 7, "request":
//! {"op": …}}`, answered in order by `{"id": 7, "ok": {…}}` or `{"id": 7, "error": {"code": …, "message": …}}`. Requests
//! may be pipelined. A line that is no request is answered with `"id": null` and its line number.

use parthack_env::canonical::canonical_bytes;
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use parthack_env::spec::read_steps;
use parthack_env::steps::{Step, StepFault};
use serde::{Deserialize, Serialize};

use crate::certify::Certificate;
use crate::controls::ControlResult;
use crate::lint::LintNote;
use crate::scan::ScanMessage;
use crate::vectors::BitVector;

/// Name and version of the protocol.
pub const PROTOCOL: &str = "parthack.certifier/1";
/// Longest line: a full-size candidate in a JSON string, each byte of it escaped.
pub const MAX_LINE_BYTES: usize = 4 << 20;
/// Fewest characters of an operator's key.
pub const MIN_OPERATOR_KEY: usize = 16;
/// Most attempts that one session may be opened with.
pub const MAX_BUDGET: u32 = 100_000;

/// The first line from the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientHello {
    /// [`PROTOCOL`].
    pub hello: String,
    /// The token that opens evidence sessions; without it there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_key: Option<String>,
}

/// The first line from the certifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerHello {
    /// [`PROTOCOL`].
    pub hello: String,
    /// Version of the crate.
    pub version: String,
    /// Task ids, sorted.
    pub tasks: Vec<String>,
}

/// A session's number, from 1.
pub type SessionId = u64;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Opens a session of `budget` attempts on a task against a target; each (task, target) once a process.
    OpenAttempt {
        /// Task id.
        task: String,
        /// The target evaluator's id.
        target: String,
        /// K, 1 to [`MAX_BUDGET`].
        budget: u32,
    },
    /// Spends one attempt.
    Attempt {
        /// An attempt session.
        session: SessionId,
        /// Bytes of the candidate.
        candidate: Vec<u8>,
    },
    /// Opens an evidence session.
    OpenEvidence {
        /// The key of the hello line.
        key: String,
    },
    /// Vectors of a trajectory (evidence).
    Certify {
        /// An evidence session.
        session: SessionId,
        /// Task id.
        task: String,
        /// Agent steps.
        steps: Vec<Step>,
    },
    /// All six gates of a candidate, with vectors (evidence).
    Pair {
        /// An evidence session.
        session: SessionId,
        /// Task id.
        task: String,
        /// The reference; the task's honest trajectory if left out.
        reference: Option<Vec<Step>>,
        /// Bytes of the candidate.
        candidate: Vec<u8>,
    },
    /// The three rollback sets (evidence).
    Rollbacks {
        /// An evidence session.
        session: SessionId,
        /// Task id.
        task: String,
    },
    /// Whether steps are a strict rollback of the honest ones (evidence).
    CheckRollback {
        /// An evidence session.
        session: SessionId,
        /// Task id.
        task: String,
        /// All steps, the honest ones first.
        steps: Vec<Step>,
    },
    /// Mutation controls (evidence).
    Controls {
        /// An evidence session.
        session: SessionId,
        /// Task id.
        task: String,
    },
    /// The private half of lint (evidence).
    Lint {
        /// An evidence session.
        session: SessionId,
        /// Task id.
        task: String,
    },
    /// Every canary, for leak scans (evidence).
    Canaries {
        /// An evidence session.
        session: SessionId,
    },
    /// Where secrets of any package stand in a text (evidence).
    Scan {
        /// An evidence session.
        session: SessionId,
        /// Public text.
        text: String,
    },
    /// What is known of a task (evidence).
    TaskInfo {
        /// An evidence session.
        session: SessionId,
        /// Task id.
        task: String,
    },
    /// The log of attempts (evidence).
    Attempts {
        /// An evidence session.
        session: SessionId,
    },
    /// What the process has given up; anybody may ask.
    Confinement,
    /// Ends a session.
    Close {
        /// Any session.
        session: SessionId,
    },
}

/// A request with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The client's number for it.
    pub id: u64,
    /// What is asked.
    pub request: Request,
}

impl Envelope {
    /// Reads a request line.
    ///
    /// # Errors
    /// Not JSON, a duplicate, unknown or missing key, an unknown `op`, a value of another shape. Where the line has a
    /// sound `id`, it comes with the fault.
    pub fn read(line: &[u8]) -> Result<Envelope, (Option<u64>, InputError)> {
        let json = Json::parse(line).map_err(|fault| (None, fault))?;
        let root = Cursor::root(&json);
        let id = root.key("id").and_then(|id| id.integer(0, i64::MAX)).map_err(|fault| (None, fault))?;
        let id = u64::try_from(id).unwrap_or(0);
        let read = || {
            root.object(&["id", "request"])?;
            Request::read(&root.key("request")?)
        };
        Ok(Envelope { id, request: read().map_err(|fault| (Some(id), fault))? })
    }

    /// The line, without its line feed.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        let mut out = format!("{{\"id\":{},\"request\":", self.id).into_bytes();
        self.request.push_json(&mut out);
        out.push(b'}');
        out
    }
}

const OPERATIONS: &str = "one of: open_attempt, attempt, open_evidence, certify, pair, rollbacks, check_rollback, \
                          controls, lint, canaries, scan, task_info, attempts, confinement, close";

impl Request {
    fn read(cursor: &Cursor<'_, '_>) -> Result<Request, InputError> {
        let op = cursor.key("op")?;
        let known = |keys: &[&str]| {
            let mut all = vec!["op"];
            all.extend_from_slice(keys);
            cursor.object(&all)
        };
        let session = || Ok::<_, InputError>(u64::try_from(cursor.key("session")?.integer(1, i64::MAX)?).unwrap_or(0));
        let task = || cursor.key("task")?.identifier().map(str::to_owned);
        let steps = |key: &str| read_steps(&cursor.key(key)?).map_err(StepFault::into_error);
        Ok(match op.text()? {
            "open_attempt" => {
                known(&["task", "target", "budget"])?;
                let target = cursor.key("target")?.prose(200)?.to_owned();
                Request::OpenAttempt { task: task()?, target, budget: cursor.key("budget")?.u32(1, MAX_BUDGET)? }
            }
            "attempt" => {
                known(&["session", "candidate"])?;
                Request::Attempt { session: session()?, candidate: read_candidate(&cursor.key("candidate")?) }
            }
            "open_evidence" => {
                known(&["key"])?;
                Request::OpenEvidence { key: cursor.key("key")?.text()?.to_owned() }
            }
            "certify" => {
                known(&["session", "task", "steps"])?;
                Request::Certify { session: session()?, task: task()?, steps: steps("steps")? }
            }
            "pair" => {
                known(&["session", "task", "reference", "candidate"])?;
                let reference = cursor.optional("reference").map(|_| steps("reference")).transpose()?;
                let candidate = read_candidate(&cursor.key("candidate")?);
                Request::Pair { session: session()?, task: task()?, reference, candidate }
            }
            "rollbacks" => {
                known(&["session", "task"])?;
                Request::Rollbacks { session: session()?, task: task()? }
            }
            "check_rollback" => {
                known(&["session", "task", "steps"])?;
                Request::CheckRollback { session: session()?, task: task()?, steps: steps("steps")? }
            }
            "controls" => {
                known(&["session", "task"])?;
                Request::Controls { session: session()?, task: task()? }
            }
            "lint" => {
                known(&["session", "task"])?;
                Request::Lint { session: session()?, task: task()? }
            }
            "task_info" => {
                known(&["session", "task"])?;
                Request::TaskInfo { session: session()?, task: task()? }
            }
            "scan" => {
                known(&["session", "text"])?;
                Request::Scan { session: session()?, text: cursor.key("text")?.text()?.to_owned() }
            }
            "canaries" => known(&["session"]).and_then(|()| Ok(Request::Canaries { session: session()? }))?,
            "attempts" => known(&["session"]).and_then(|()| Ok(Request::Attempts { session: session()? }))?,
            "confinement" => known(&[]).map(|()| Request::Confinement)?,
            "close" => known(&["session"]).and_then(|()| Ok(Request::Close { session: session()? }))?,
            _ => return Err(op.fault(OPERATIONS)),
        })
    }

    fn push_json(&self, out: &mut Vec<u8>) {
        use parthack_env::canonical::{push_key, push_number_entry, push_text_entry};
        use parthack_env::steps::push_steps;
        out.push(b'{');
        let head = |out: &mut Vec<u8>, op: &str, session: Option<u64>, task: Option<&str>| {
            push_text_entry(out, "op", op);
            if let Some(session) = session {
                push_number_entry(out, "session", session);
            }
            if let Some(task) = task {
                push_text_entry(out, "task", task);
            }
        };
        match self {
            Request::OpenAttempt { task, target, budget } => {
                head(out, "open_attempt", None, Some(task));
                push_text_entry(out, "target", target);
                push_number_entry(out, "budget", u64::from(*budget));
            }
            Request::Attempt { session, candidate } => {
                head(out, "attempt", Some(*session), None);
                push_candidate(out, candidate);
            }
            Request::OpenEvidence { key } => {
                head(out, "open_evidence", None, None);
                push_text_entry(out, "key", key);
            }
            Request::Certify { session, task, steps } => {
                head(out, "certify", Some(*session), Some(task));
                push_key(out, "steps");
                push_steps(out, steps);
            }
            Request::Pair { session, task, reference, candidate } => {
                head(out, "pair", Some(*session), Some(task));
                if let Some(reference) = reference {
                    push_key(out, "reference");
                    push_steps(out, reference);
                }
                push_candidate(out, candidate);
            }
            Request::Rollbacks { session, task } => head(out, "rollbacks", Some(*session), Some(task)),
            Request::CheckRollback { session, task, steps } => {
                head(out, "check_rollback", Some(*session), Some(task));
                push_key(out, "steps");
                push_steps(out, steps);
            }
            Request::Controls { session, task } => head(out, "controls", Some(*session), Some(task)),
            Request::Lint { session, task } => head(out, "lint", Some(*session), Some(task)),
            Request::TaskInfo { session, task } => head(out, "task_info", Some(*session), Some(task)),
            Request::Canaries { session } => head(out, "canaries", Some(*session), None),
            Request::Scan { session, text } => {
                head(out, "scan", Some(*session), None);
                push_text_entry(out, "text", text);
            }
            Request::Attempts { session } => head(out, "attempts", Some(*session), None),
            Request::Confinement => head(out, "confinement", None, None),
            Request::Close { session } => head(out, "close", Some(*session), None),
        }
        out.push(b'}');
    }
}

/// A candidate stands in a request as an object, or, where it may be no JSON at all, as a string of its text.
fn read_candidate(cursor: &Cursor<'_, '_>) -> Vec<u8> {
    match cursor.json {
        Json::String(text) => text.as_bytes().to_vec(),
        other => canonical_bytes(other),
    }
}

/// Always as a string: what a candidate holds can then not spoil the line. A candidate that is not UTF-8 is no JSON
/// either, and the empty text is refused for the same reason.
fn push_candidate(out: &mut Vec<u8>, candidate: &[u8]) {
    parthack_env::canonical::push_text_entry(out, "candidate", std::str::from_utf8(candidate).unwrap_or_default());
}

/// An error reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// A stable code, one of [`codes`].
    pub code: String,
    /// A sentence without a private word.
    pub message: String,
    /// The line that was no request, from 1 (the hello is line 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// Codes of error replies.
pub mod codes {
    /// The hello names another protocol version.
    pub const PROTOCOL_VERSION: &str = "protocol_version";
    /// A line is no request.
    pub const MALFORMED_REQUEST: &str = "malformed_request";
    /// A line is longer than [`super::MAX_LINE_BYTES`].
    pub const LINE_TOO_LONG: &str = "line_too_long";
    /// No such task, or no package for it.
    pub const UNKNOWN_TASK: &str = "unknown_task";
    /// The package or the public file does not open.
    pub const PACKAGE_FAULT: &str = "package_fault";
    /// No such session, or one of the other kind.
    pub const UNKNOWN_SESSION: &str = "unknown_session";
    /// The (task, target) has a session already.
    pub const ALREADY_OPENED: &str = "already_opened";
    /// Another key than the hello's, or none was given there.
    pub const WRONG_KEY: &str = "wrong_key";
    /// The certifiers disagree.
    pub const CERTIFIER_DISAGREEMENT: &str = "certifier_disagreement";
    /// The trajectory has no certificate: a step is illegal.
    pub const ILLEGAL_ACTION: &str = "illegal_action";
    /// The log does not verify.
    pub const LOG_FAULT: &str = "log_fault";
}

/// The code of an attempt when the budget is spent.
pub const BUDGET_EXHAUSTED: &str = "budget_exhausted";

/// A certificate, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateMessage {
    /// c_state.
    pub c_state: BitVector,
    /// c_agent.
    pub c_agent: BitVector,
    /// P_state, such as `2/4`.
    pub p_state: String,
    /// P_agent.
    pub p_agent: String,
    /// Goal version at the end.
    pub goal_version: u32,
    /// The task's active goal version.
    pub active_goal_version: u32,
    /// Hash of the terminal state.
    pub state_hash: String,
    /// Hash of the last event.
    pub log_head: String,
    /// Events.
    pub events: u32,
}

impl From<&Certificate> for CertificateMessage {
    fn from(certificate: &Certificate) -> CertificateMessage {
        CertificateMessage {
            c_state: certificate.c_state,
            c_agent: certificate.c_agent,
            p_state: certificate.p_state().to_string(),
            p_agent: certificate.p_agent().to_string(),
            goal_version: certificate.goal_version,
            active_goal_version: certificate.active_goal_version,
            state_hash: certificate.state_hash.hex(),
            log_head: certificate.log_head.hex(),
            events: certificate.events,
        }
    }
}

/// Reply to `open_attempt` and `open_evidence`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionMessage {
    /// The new session.
    pub session: SessionId,
}

/// Reply to `attempt`: a code alone, whatever the candidate was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptMessage {
    /// `eligible`, one of the six codes, or `budget_exhausted`.
    pub code: String,
}

/// Reply to `pair`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairMessage {
    /// `eligible`, or one of the six codes.
    pub code: String,
    /// Where and why, for the first three codes.
    pub fault: Option<String>,
    /// The reference's certificate.
    pub reference: CertificateMessage,
    /// The candidate's, where the first three gates let it pass.
    pub candidate: Option<CertificateMessage>,
}

/// One strict rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollbackMessage {
    /// Index of the predicate that it was sought for; none for the deepest.
    pub predicate: Option<usize>,
    /// Canonical JSON of all steps, the honest ones first.
    pub steps: serde_json::Value,
    /// How many of them are inverse.
    pub undos: usize,
    /// Satisfied predicates that it makes false.
    pub falsified: BitVector,
    /// Its certificate.
    pub certificate: CertificateMessage,
}

/// Reply to `rollbacks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollbacksMessage {
    /// The canonical one.
    pub least: Option<RollbackMessage>,
    /// One a satisfied predicate.
    pub all: Vec<RollbackMessage>,
    /// The deepest.
    pub deepest: Option<RollbackMessage>,
    /// States visited.
    pub visited: usize,
    /// Whether all were.
    pub complete: bool,
}

/// Reply to `check_rollback`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRollbackMessage {
    /// `rollback`, or the code of what is wrong.
    pub code: String,
    /// A sentence, where something is.
    pub fault: Option<String>,
    /// The certificate, where nothing is.
    pub certificate: Option<CertificateMessage>,
}

/// Reply to `controls`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlsMessage {
    /// One a control, in the table's order.
    pub controls: Vec<ControlResult>,
}

/// Reply to `lint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LintMessage {
    /// Sorted.
    pub notes: Vec<LintNote>,
}

/// Reply to `canaries`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanariesMessage {
    /// (task id, its canaries), in id order.
    pub tasks: Vec<(String, Vec<String>)>,
}

/// Reply to `task_info`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskInfoMessage {
    /// Task id.
    pub task: String,
    /// Predicates of the active goal.
    pub m: usize,
    /// Hash of the public file.
    pub public_hash: String,
    /// Hash (label `private`) of the canonical package.
    pub commitment: String,
    /// Canaries of the package.
    pub canaries: usize,
    /// Hidden tests.
    pub hidden_tests: usize,
    /// The honest trajectory's certificate.
    pub honest: CertificateMessage,
}

/// One line of the log of attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptRecord {
    /// Session.
    pub session: SessionId,
    /// Task id.
    pub task: String,
    /// Target.
    pub target: String,
    /// Hash (label `candidate`) of the candidate's bytes.
    pub candidate: String,
    /// What it was answered with.
    pub code: String,
}

/// Reply to `attempts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptsMessage {
    /// In the order in which they were answered.
    pub attempts: Vec<AttemptRecord>,
}

/// Reply to `confinement`: what holds for the process that answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfinementMessage {
    /// Instructions of the filter of system calls; none without a filter.
    pub filter_instructions: Option<usize>,
    /// Version of Landlock whose empty ruleset was entered; none without one.
    pub landlock: Option<u32>,
    /// What is missing, a sentence each; empty where everything holds.
    pub missing: Vec<String>,
}

/// Reply to `close`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedMessage {
    /// The session that ended.
    pub closed: SessionId,
}

/// A reply that went well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each variant is its message")]
pub enum Reply {
    Session(SessionMessage),
    Attempt(AttemptMessage),
    Certificate(CertificateMessage),
    Pair(PairMessage),
    Rollbacks(RollbacksMessage),
    CheckRollback(CheckRollbackMessage),
    Controls(ControlsMessage),
    Lint(LintMessage),
    Canaries(CanariesMessage),
    Scan(ScanMessage),
    TaskInfo(TaskInfoMessage),
    Attempts(AttemptsMessage),
    Confinement(ConfinementMessage),
    Closed(ClosedMessage),
}

/// A reply with the number of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The request's number; none for a line that was no request.
    pub id: Option<u64>,
    /// The reply.
    pub result: Result<Reply, Fault>,
}

impl Answer {
    /// Appends the line with its line feed.
    pub fn push_line(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"id\":");
        match self.id {
            Some(id) => parthack_env::canonical::push_u64(out, id),
            None => out.extend_from_slice(b"null"),
        }
        let (key, body) = match &self.result {
            Ok(reply) => ("ok", serde_json::to_vec(reply)),
            Err(fault) => ("error", serde_json::to_vec(fault)),
        };
        parthack_env::canonical::push_key(out, key);
        // These types hold texts, numbers and lists alone: serialization has nothing to fail on.
        out.extend_from_slice(&body.unwrap_or_else(|_| b"null".to_vec()));
        out.extend_from_slice(b"}\n");
    }
}

impl Fault {
    /// A fault.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Fault {
        Fault { code: code.to_owned(), message: message.into(), line: None }
    }
}
