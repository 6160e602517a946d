//! Two thousand calls over sixty-four connections all come back right.

mod support;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parthack_model::client::{Client, ModelMode};
use serde_json::Value;

use support::{Reply, Server, ask, options};

const CALLS: usize = 2000;

#[test]
fn every_call_gets_its_own_answer() {
    // The answer is made of the question, so that a mix-up shows.
    let server = Server::with(Duration::from_millis(1), false, |_, seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        let number = body["messages"][1]["content"].as_str().unwrap_or_default();
        Reply::content(&format!("{{\"score\": 0.{number}1, \"cites\": []}}"))
    });
    let mut options = options(ModelMode::Live, &server.base_url(), None);
    options.concurrency = 64;
    let client = Client::new(options).expect("a client");
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= CALLS {
                return;
            }
            let exchange = ask(&client, &number.to_string()).expect("asked");
            let expected = format!("{{\"score\": 0.{number}1, \"cites\": []}}");
            if exchange.result.as_ref().map(|answer| &answer.content) != Ok(&expected) || exchange.retried {
                wrong.lock().expect("sound").insert(number);
            }
        }
    };
    std::thread::scope(|scope| (0..64).for_each(|_| drop(scope.spawn(work))));
    assert_eq!(*wrong.lock().expect("sound"), BTreeSet::new());
    assert_eq!(server.requests(), CALLS);
    let account = &client.spent().roles["judge"];
    assert_eq!((account.calls, account.requests, account.retries), (CALLS as u64, CALLS as u64, 0));
    assert_eq!((account.usage.prompt_tokens, account.no_answers.len()), (100 * CALLS as u64, 0));
}

/// Never more at once than allowed.
#[test]
fn concurrency_is_bounded() {
    let (running, most) = (std::sync::Arc::new(AtomicUsize::new(0)), std::sync::Arc::new(AtomicUsize::new(0)));
    let server = Server::start({
        let (running, most) = (running.clone(), most.clone());
        move |_, seen| {
            // The script is asked twice a request: before the body is there, and after.
            if !seen.body.is_empty() {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
            }
            Reply::content(support::GOOD)
        }
    });
    let mut options = options(ModelMode::Live, &server.base_url(), None);
    options.concurrency = 3;
    let client = Client::new(options).expect("a client");
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let client = &client;
            scope.spawn(move || (0..10).for_each(|_| drop(ask(client, &thread.to_string()).expect("asked"))));
        }
    });
    assert_eq!(server.requests(), 160);
    assert!((1..=3).contains(&most.load(Ordering::SeqCst)));
}
