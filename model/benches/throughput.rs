//! Throughput of the client against a bare load generator, with the same server in the same process:
//! `cargo bench -p parthack-model --features client --bench throughput`.
//!
//! The server answers after 20 ms. Both sides send the same 2,000 requests over 64 connections; the bare one writes bytes
//! that were made before and looks at nothing but the length of the answer. Three rounds of each are taken in turn, and the
//! best of each counts. Exits 1 where the client reaches less than 0.9 of the bare one, or its memory grows by more than 8 MiB.

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parthack_model::client::{Call, Client, ModelMode};
use parthack_model::request::Request;

use support::{GOOD, KEY, Reply, Server, cites_exist, options, prompt, role};

const CALLS: usize = 2000;
const CONNECTIONS: usize = 64;
const LATENCY: Duration = Duration::from_millis(20);
const ROUNDS: u32 = 3;
/// KiB that memory may grow by, over three times as many calls as the first round made.
const MOST_GROWTH: u64 = 8 << 10;

fn main() -> ExitCode {
    let server = Server::with(LATENCY, false, |_, _| Reply::content(GOOD));
    let mut options = options(ModelMode::Live, &server.base_url(), None);
    options.concurrency = CONNECTIONS;
    let client = Client::new(options).expect("a client");
    // Connections are made, and memory is taken, before anything is measured.
    asked(&client, 0);
    let before = memory();
    let (mut bare, mut ours) = (Duration::MAX, Duration::MAX);
    for round in 1..=ROUNDS {
        bare = bare.min(generated(server.address()));
        ours = ours.min(asked(&client, round));
    }
    let after = memory();
    let rate = |time: Duration| CALLS as f64 / time.as_secs_f64();
    let ratio = rate(ours) / rate(bare);
    println!("{CALLS} calls, {CONNECTIONS} connections, {} ms of latency", LATENCY.as_millis());
    println!("bare generator: {:.0} calls/s; client: {:.0} calls/s; ratio {ratio:.3}", rate(bare), rate(ours));
    if let (Some(before), Some(after)) = (before, after) {
        println!(
            "memory: {} KiB after the first {CALLS} calls, {} KiB after {} more (peak {} and {} KiB)",
            before.0,
            after.0,
            CALLS as u32 * ROUNDS,
            before.1,
            after.1
        );
    }
    let grown = before.zip(after).map_or(0, |(before, after)| after.0.saturating_sub(before.0));
    if ratio >= 0.9 && grown <= MOST_GROWTH { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// As long as what a judge asks about a trajectory of the reference suite.
fn question() -> String {
    "/events/3/diff/fields/0: the door is open. ".repeat(200)
}

/// How long the client takes.
fn asked(client: &Client, round: u32) -> Duration {
    let (config, prompt, next) = (role(), prompt(&question()), AtomicUsize::new(0));
    let work = || {
        while next.fetch_add(1, Ordering::Relaxed) < CALLS {
            let call = Call { cell: "bench", role: "judge", config: &config, prompt: &prompt, repeat: round };
            assert!(client.ask(&call, &cites_exist).expect("asked").result.is_ok());
        }
    };
    timed(&work)
}

/// How long bare sockets take.
fn generated(address: SocketAddr) -> Duration {
    let body = Request::new(&prompt(&question()), &role(), 0, 0).expect("a request").body;
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let next = AtomicUsize::new(0);
    let work = || {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        while next.fetch_add(1, Ordering::Relaxed) < CALLS {
            stream.write_all(request.as_bytes()).expect("sent");
            skip_answer(&mut stream).expect("answered");
        }
    };
    timed(&work)
}

fn timed(work: &(dyn Fn() + Sync)) -> Duration {
    let began = Instant::now();
    std::thread::scope(|scope| (0..CONNECTIONS).for_each(|_| drop(scope.spawn(work))));
    began.elapsed()
}

fn skip_answer(stream: &mut TcpStream) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(4096);
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]);
        let length: usize = support::header(&head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        if bytes.len() >= end + 4 + length {
            return Ok(());
        }
    }
}

/// Resident memory and its peak in KiB, where the system tells.
fn memory() -> Option<(u64, u64)> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}
