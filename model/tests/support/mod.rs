//! A loopback server that does what it is told, and what the tests ask of it.
#![allow(dead_code, reason = "every test binary uses another part")]

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use parthack_model::answer::Answer;
use parthack_model::client::{Call, Client, ClientOptions, Exchange, ModelMode};
use parthack_model::environment::Environment;
use parthack_model::error::ClientError;
use parthack_model::prompt::{AnswerForm, Prompt};
use parthack_model::role::RoleConfig;
use serde_json::{Value, json};

/// The key that nothing may show.
pub(crate) const KEY: &str = "sk-planted-0123456789abcdef";

/// What the server does with one request.
pub(crate) enum Reply {
    /// An HTTP answer.
    Http { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// A head that promises more than the body holds, then the end of the stream.
    Cut,
    /// The same, but the connection is reset.
    Reset,
    /// A byte now and then, for ever.
    Drip,
    /// A body of so many bytes.
    Flood { bytes: usize, told: bool },
}

impl Reply {
    /// A completion with this text.
    pub(crate) fn content(text: &str) -> Reply {
        Reply::message(json!({"role": "assistant", "content": text}), "stop")
    }

    pub(crate) fn message(message: Value, finish_reason: &str) -> Reply {
        Reply::json(&json!({
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }))
    }

    pub(crate) fn json(value: &Value) -> Reply {
        Reply::status(200, &value.to_string())
    }

    pub(crate) fn status(status: u16, body: &str) -> Reply {
        Reply::Http { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
    }

    pub(crate) fn header(self, name: &'static str, value: &str) -> Reply {
        match self {
            Reply::Http { status, mut headers, body } => {
                headers.push((name, value.to_owned()));
                Reply::Http { status, headers, body }
            }
            other => other,
        }
    }
}

/// What the server saw.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
}

type Script = dyn Fn(usize, &Seen) -> Reply + Send + Sync;

/// A server on a port of its own; it ends when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<thread::JoinHandle<()>>,
}

struct Shared {
    script: Box<Script>,
    requests: AtomicUsize,
    seen: Mutex<Vec<Seen>>,
    keep: bool,
    ended: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
    latency: Duration,
}

impl Server {
    /// A server that answers by the number of the request, from 0, and what it says.
    pub(crate) fn start(script: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static) -> Server {
        Server::with(Duration::ZERO, true, script)
    }

    /// One that waits before each answer; `keep` says whether it remembers requests.
    pub(crate) fn with(
        latency: Duration,
        keep: bool,
        script: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            script: Box::new(script),
            requests: AtomicUsize::new(0),
            seen: Mutex::default(),
            keep,
            ended: AtomicBool::new(false),
            open: Mutex::default(),
            latency,
        });
        let accepting = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                for stream in listener.incoming() {
                    if shared.ended.load(Ordering::SeqCst) {
                        break;
                    }
                    let Ok(stream) = stream else { continue };
                    let _ = stream.set_nodelay(true);
                    if let Ok(copy) = stream.try_clone() {
                        shared.open.lock().expect("sound").push(copy);
                    }
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || while shared.serve(&stream).unwrap_or(false) {});
                }
            }
        });
        Server { address, shared, accepting: Some(accepting) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// How many requests began to arrive.
    pub(crate) fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().expect("sound").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        for stream in self.shared.open.lock().expect("sound").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Serves one request; whether the connection goes on.
    fn serve(&self, mut stream: &TcpStream) -> io::Result<bool> {
        let mut bytes = Vec::new();
        // The head is read alone, so that a reset can leave the body unread: the kernel then resets.
        let head_end = loop {
            if let Some(end) = find(&bytes, b"\r\n\r\n") {
                break end + 4;
            }
            let mut waiting = [0; 4096];
            let count = stream.peek(&mut waiting)?;
            if count == 0 {
                return Ok(false);
            }
            bytes.extend_from_slice(&waiting[..count]);
            let taken = find(&bytes, b"\r\n\r\n").map_or(count, |end| end + 4 - (bytes.len() - count));
            bytes.truncate(bytes.len() - count + taken);
            stream.read_exact(&mut waiting[..taken])?;
        };
        let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        let length = header(&head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        let before = Seen { head, body: String::new() };
        if let Reply::Reset = (self.script)(number, &before) {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"choices\"")?;
            // The last handles go with what is unread.
            let peer = stream.peer_addr()?;
            self.open.lock().expect("sound").retain(|of| of.peer_addr().is_ok_and(|address| address != peer));
            return Ok(false);
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let seen = Seen { body: String::from_utf8_lossy(&body).into_owned(), ..before };
        let reply = (self.script)(number, &seen);
        if self.keep {
            self.seen.lock().expect("sound").push(seen);
        }
        if !self.latency.is_zero() {
            pause(self.latency);
        }
        self.write(stream, reply)
    }

    fn write(&self, mut stream: &TcpStream, reply: Reply) -> io::Result<bool> {
        match reply {
            Reply::Http { status, headers, body } => {
                let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
                for (name, value) in headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                let mut bytes = format!("{head}\r\n").into_bytes();
                bytes.extend_from_slice(&body);
                stream.write_all(&bytes)?;
                Ok(true)
            }
            Reply::Cut | Reply::Reset => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"choices\"")?;
                stream.shutdown(Shutdown::Both)?;
                Ok(false)
            }
            Reply::Drip => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")?;
                while !self.ended.load(Ordering::SeqCst) {
                    stream.write_all(b" ")?;
                    pause(Duration::from_millis(10));
                }
                Ok(false)
            }
            Reply::Flood { bytes, told } => {
                let length =
                    if told { format!("Content-Length: {bytes}\r\n") } else { "Connection: close\r\n".to_owned() };
                stream.write_all(format!("HTTP/1.1 200 OK\r\n{length}\r\n").as_bytes())?;
                let chunk = [b' '; 1 << 16];
                for _ in 0..bytes / chunk.len() {
                    stream.write_all(&chunk)?;
                }
                stream.shutdown(Shutdown::Both)?;
                Ok(false)
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "slowness is what the server is for")]
fn pause(time: Duration) {
    thread::sleep(time);
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// A header of a head.
pub(crate) fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let value = |line: &'h str| line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case(name));
    head.lines().find_map(value).map(|(_, value)| value.trim())
}

/// Variables of a hosted provider that listens at `base_url`.
pub(crate) fn environment(base_url: &str) -> Environment {
    let pairs = [("OPENAI_BASE_URL", base_url), ("OPENAI_API_KEY", KEY), ("PARTHACK_LOCAL_BASE_URL", base_url)];
    Environment::Map(
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect::<BTreeMap<_, _>>(),
    )
}

/// Options of a client of that provider, without waits.
pub(crate) fn options(mode: ModelMode, base_url: &str, cassettes: Option<&Path>) -> ClientOptions {
    ClientOptions {
        cassettes: cassettes.map(Path::to_owned),
        environment: environment(base_url),
        retry_wait: Duration::ZERO,
        ..ClientOptions::new(mode)
    }
}

pub(crate) fn role() -> RoleConfig {
    RoleConfig::named("openai/gpt-4o-mini").expect("a role")
}

/// A judge's prompt: a score in [0, 1] and the fields that it rests on.
pub(crate) fn prompt(user: &str) -> Prompt {
    Prompt {
        system: "Judge.".to_owned(),
        user: user.to_owned(),
        form: AnswerForm {
            name: "verdict".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "score": {"type": "number", "minimum": 0, "maximum": 1},
                    "cites": {"type": "array", "items": {"type": "string"}, "maxItems": 8},
                },
                "required": ["score", "cites"],
                "additionalProperties": false,
            }),
            token_probabilities: false,
        },
        max_tokens: 64,
    }
}

/// A good answer to it.
pub(crate) const GOOD: &str = r#"{"score": 0.5, "cites": ["/door/open"]}"#;

/// The caller's check: only one field exists.
pub(crate) fn cites_exist(answer: &Answer) -> Result<(), String> {
    let value: Value = serde_json::from_str(&answer.content).map_err(|error| error.to_string())?;
    let cites = value["cites"].as_array().cloned().unwrap_or_default();
    match cites.iter().find(|cite| cite.as_str() != Some("/door/open")) {
        Some(cite) => Err(format!("/cites: found {cite}, expected a field of the log")),
        None => Ok(()),
    }
}

pub(crate) fn ask(client: &Client, user: &str) -> Result<Exchange, ClientError> {
    let (config, prompt) = (role(), prompt(user));
    let call = Call { cell: "door/judge", role: "judge", config: &config, prompt: &prompt, repeat: 0 };
    client.ask(&call, &cites_exist)
}

/// Fails if the key stands in a text.
pub(crate) fn assert_no_key(text: &str) {
    assert!(!text.contains(KEY), "the key stands in: {text}");
}

/// Fails if the key stands in any file below a folder.
pub(crate) fn assert_no_key_below(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            assert_no_key_below(&path);
        } else {
            let bytes = std::fs::read(&path).expect("a file");
            assert!(find(&bytes, KEY.as_bytes()).is_none(), "the key stands in {}", path.display());
        }
    }
}
