//! Evaluators at an address: a server that does what it is told, also what it should not.
#![cfg(unix)]

mod plugin_support;

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use parthack_evaluators::plugin::{HttpHost, Outcome, PluginHost, PluginOptions};
use plugin_support::{options, payloads, slices, told};

/// What the server does with a request.
#[derive(Debug, Clone)]
enum Act {
    /// Answers with a status, a content type and a body.
    Answer(u16, &'static str, String),
    /// Promises more than it sends, and hangs up.
    Cut,
    /// Hangs up without a word.
    HangUp,
    /// Never answers.
    Wait,
    /// Sends without end and without a length.
    Flood,
    /// Whole, with status 200, and then the connection is closed without a word.
    AnswerAndHangUp(String),
}

fn fine(body: &str) -> Act {
    Act::Answer(200, "application/json; charset=utf-8", body.to_owned())
}

/// A server on a port of its own, for as long as the value lives.
struct Server {
    url: String,
    shared: Arc<Shared>,
    accepting: Option<thread::JoinHandle<()>>,
}

type Script = dyn Fn(&str, &[u8]) -> Act + Send + Sync;

struct Shared {
    script: Box<Script>,
    requests: AtomicUsize,
    ended: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Server {
    fn start(script: impl Fn(&str, &[u8]) -> Act + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/score?key=secret", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared {
            script: Box::new(script),
            requests: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        let accepting = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if of_thread.ended.load(Ordering::SeqCst) {
                    return;
                }
                let copy = stream.try_clone().expect("a second handle");
                of_thread.open.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
                let shared = Arc::clone(&of_thread);
                thread::spawn(move || shared.serve(stream));
            }
        });
        Server { url, shared, accepting: Some(accepting) }
    }

    fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        for stream in self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let address = self.url.trim_start_matches("http://").split('/').next().unwrap_or_default();
        let _ = TcpStream::connect(address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) {
        // An error is the client's going.
        while self.request(&mut stream).unwrap_or(false) {}
        let _ = stream.shutdown(Shutdown::Both);
    }

    fn request(&self, stream: &mut TcpStream) -> io::Result<bool> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |text| text.parse().expect("a length"));
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        self.requests.fetch_add(1, Ordering::SeqCst);
        match (self.script)(&head, &body) {
            Act::Answer(status, content, body) => {
                let length = body.len();
                let location = if (300..400).contains(&status) { "Location: /elsewhere\r\n" } else { "" };
                write!(
                    stream,
                    "HTTP/1.1 {status} X\r\nContent-Type: {content}\r\n{location}Content-Length: {length}\r\n\r\n{body}"
                )?;
                Ok(true)
            }
            Act::AnswerAndHangUp(body) => {
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
                )?;
                Ok(false)
            }
            Act::Cut => {
                stream.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"score\":",
                )?;
                Ok(false)
            }
            Act::HangUp => Ok(false),
            Act::Wait => {
                let mut byte = [0];
                stream.read_exact(&mut byte)?;
                Ok(false)
            }
            Act::Flood => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")?;
                loop {
                    stream.write_all(&[b' '; 1 << 16])?;
                }
            }
        }
    }
}

fn host(url: &str, options: PluginOptions) -> HttpHost {
    HttpHost::new(url, options).expect("a host")
}

/// What the server does with each payload, and what comes of each.
fn check(act: Act, options: PluginOptions, expected: &str) -> Vec<parthack_evaluators::plugin::Reply> {
    let shown = format!("{act:?}");
    let server = Server::start(move |_, _| act.clone());
    let payloads = payloads(3);
    let mut host = host(&server.url, options);
    let replies = host.score(&slices(&payloads));
    assert_eq!(told(&replies), [expected; 3], "{shown}\n{replies:?}");
    assert_eq!(server.requests(), 3, "nothing is asked twice: {shown}");
    replies
}

#[test]
fn scores_come_in_order() {
    let payloads = payloads(40);
    let expected: Vec<String> = payloads.iter().map(|payload| format!("0.{:06}", payload.len())).collect();
    for workers in [1, 4] {
        let server = Server::start(|head, body| {
            let is_whole = head.starts_with("post /score?key=secret http/1.1\r\n")
                && head.contains("content-type: application/json\r\n")
                && head.contains("parthack-protocol: parthack.evaluator/1\r\n");
            fine(&if is_whole {
                format!("{{\"score\":0.{:06},\"cites\":[\"/task_id\"]}}\n", body.len())
            } else {
                head.to_owned()
            })
        });
        let mut host = host(&server.url, options(workers));
        let replies = host.score(&slices(&payloads));
        assert_eq!(told(&replies), expected);
        assert!(
            replies.iter().all(|reply| matches!(&reply.outcome, Outcome::Score(score) if score.cites == ["/task_id"]))
        );
        assert!(host.measure(&slices(&payloads), &replies, 1).is_equal());
        assert_eq!(server.requests(), 80);
    }
}

#[test]
fn payloads_are_posted_byte_for_byte() {
    let payloads = payloads(5);
    let expected = payloads.clone();
    let server =
        Server::start(move |_, body| fine(if expected.iter().any(|payload| payload == body) { "1" } else { "0" }));
    assert_eq!(told(&host(&server.url, options(2)).score(&slices(&payloads))), ["1"; 5]);
}

#[test]
fn other_answers() {
    check(fine(r#"{"no_verdict":"why"}"#), options(1), "no verdict: why");
    check(Act::Answer(200, "text/plain", "0.5\n".to_owned()), options(1), "0.5");
    check(Act::Answer(201, "application/vnd.x+json", "0.5".to_owned()), options(1), "0.5");
}

#[test]
fn faults() {
    let quick = || PluginOptions { timeout: Duration::from_millis(800), ..options(3) };
    let replies = check(Act::Answer(500, "text/html", "<p>no</p>".to_owned()), options(2), "http_status");
    let fault = replies[0].fault().expect("a fault");
    assert_eq!((fault.message.as_str(), fault.stderr_tail.as_str()), ("status 500; expected 200", "<p>no</p>"));
    check(Act::Answer(302, "application/json", "0.5".to_owned()), options(1), "http_status");
    check(Act::Answer(204, "application/json", String::new()), options(1), "wrong_line");
    check(Act::Answer(200, "text/html", "0.5".to_owned()), options(1), "http_content");
    check(fine("<html>"), options(1), "wrong_line");
    check(fine(r#"{"score":NaN}"#), options(1), "not_finite");
    check(fine(r#"{"score":2}"#), options(1), "out_of_range");
    check(fine(r#"{"score":1}{"score":1}"#), options(1), "wrong_line");
    check(fine(r#"{"score":1,"cites":["/no"]}"#), options(1), "bad_cite");
    check(fine(r#"{"protocol":"parthack.evaluator/1"}"#), options(1), "wrong_schema");
    check(fine(&" ".repeat(300 << 10)), options(1), "too_long");
    check(Act::Flood, options(1), "too_long");
    check(Act::Cut, options(1), "http_cut");
    check(Act::HangUp, options(1), "http_cut");
    check(Act::Wait, quick(), "timed_out");
}

#[test]
fn nobody_there() {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address");
    let payloads = payloads(4);
    let mut host = host(&format!("http://{address}/?key=secret"), PluginOptions { faults_in_a_row: 3, ..options(2) });
    let replies = host.score(&slices(&payloads));
    assert_eq!(told(&replies), ["http_unreachable", "http_unreachable", "http_unreachable", "given_up"]);
    assert!(replies.iter().all(|reply| !format!("{reply:?}").contains("secret")));
}

#[test]
fn the_user_may_stop_the_work() {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let server = Server::start(move |_, _| {
        flag.store(true, Ordering::Relaxed);
        Act::Wait
    });
    let mut host = host(&server.url, PluginOptions { stop: Some(stop), ..options(1) });
    assert_eq!(told(&host.score(&slices(&payloads(3)))), ["stopped"; 3]);
}

/// A connection that a server closes behind its answer takes no later payload with it.
#[test]
fn a_server_that_closes_without_saying_so_loses_nothing() {
    for workers in [1, 4] {
        let server = Server::start(|_, _| Act::AnswerAndHangUp("{\"score\":0.5}".to_owned()));
        let payloads = payloads(200);
        let mut host = host(&server.url, options(workers));
        let replies = host.score(&slices(&payloads));
        assert_eq!(told(&replies), vec!["0.5"; 200], "{workers} workers");
        assert_eq!(server.requests(), 200);
    }
}
