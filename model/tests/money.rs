//! The cap: it is never passed, a stop is within one call of it, and what was paid for is not paid for again.

mod support;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};

use parthack_model::client::{Call, Client, ModelMode};
use parthack_model::error::ClientError;
use parthack_model::price::{Cost, PriceTable};
use parthack_model::role::RoleConfig;

use support::{GOOD, Reply, Server, ask, cites_exist, options, prompt, role};

const QUESTIONS: usize = 40;

/// What each answer of the server costs: 100 tokens of 0.15 and 10 of 0.60 dollars a million.
const EACH: u64 = 100 * 150_000 + 10 * 600_000;

/// Asks every question with eight threads; returns how many ended and the first error.
fn ask_all(client: &Client) -> (usize, Option<ClientError>) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut done = 0;
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            if number >= QUESTIONS {
                return (done, None);
            }
            match ask(client, &format!("question {number}")) {
                Ok(_) => done += 1,
                Err(error) => return (done, Some(error)),
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        let mut all = (0, None);
        for thread in threads {
            let (done, error) = thread.join().expect("no panic");
            all = (all.0 + done, all.1.or(error));
        }
        all
    })
}

#[test]
fn a_capped_run_stops_and_resumes_without_paying_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, _| Reply::content(GOOD));
    let client = |cap: u64, spent: Cost| {
        let mut options = options(ModelMode::Record, &server.base_url(), Some(folder.path()));
        options.max_cost = Some(Cost { pico_dollars: cap });
        options.spent_before = spent;
        Client::new(options).expect("a client")
    };
    let cap = 20 * EACH;
    let first = client(cap, Cost::ZERO);
    let (done, error) = ask_all(&first);
    let Some(ClientError::CostCap { cell, spent, next, cap: told }) = error else { panic!("{error:?}") };
    assert_eq!((cell.as_str(), told.pico_dollars), ("door/judge", cap));
    let paid = first.spent().cost();
    assert_eq!(paid.pico_dollars, done as u64 * EACH);
    assert_eq!(server.requests(), done);
    assert!(paid.pico_dollars <= cap, "the cap holds");
    assert!(paid.plus(next).pico_dollars > cap, "within one call of it: {paid} of {told}, the next at most {next}");
    assert!(done > 0 && done < QUESTIONS && spent <= told);
    // The same cap again lets nothing pass, and what is recorded costs nothing.
    let (_, error) = ask_all(&client(cap, paid));
    assert!(matches!(error, Some(ClientError::CostCap { .. })));
    assert_eq!(server.requests(), done);
    let resumed = client(10 * cap, paid);
    let (all, error) = ask_all(&resumed);
    assert!(error.is_none(), "{error:?}");
    assert_eq!((all, server.requests()), (QUESTIONS, QUESTIONS));
    assert_eq!(resumed.spent().cost().plus(paid).pico_dollars, QUESTIONS as u64 * EACH);
    let bodies: BTreeSet<String> = server.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies.len(), QUESTIONS, "no question was sent twice");
}

#[test]
fn a_cap_needs_prices() {
    let server = Server::start(|_, _| Reply::content(GOOD));
    let mut options = options(ModelMode::Live, &server.base_url(), None);
    options.max_cost = Cost::from_dollars("1");
    let client = Client::new(options.clone()).expect("a client");
    let config = RoleConfig::named("openai/unheard-of").expect("a role");
    let prompt = prompt("x");
    let call = Call { cell: "door/judge", role: "judge", config: &config, prompt: &prompt, repeat: 0 };
    let error = client.ask(&call, &cites_exist).expect_err("no price").to_string();
    assert!(error.contains("no price of openai/unheard-of is known"), "{error}");
    assert_eq!(server.requests(), 0);
    let table = r#"{"format":"parthack.prices/1","date":"today",
        "usd_per_million_tokens":{"openai/unheard-of":{"prompt":"1","completion":"2"}}}"#;
    options.prices = options.prices.overridden_by(PriceTable::read(table).expect("a table"));
    let priced = Client::new(options).expect("a client").ask(&call, &cites_exist).expect("asked");
    assert_eq!(priced.cost.expect("priced").pico_dollars, 100 * 1_000_000 + 10 * 2_000_000);
}

#[test]
fn an_estimate_bounds_what_is_paid() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, _| Reply::content(GOOD));
    let client = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    ask(&client, "question 0").expect("asked");
    let before = client.spent().cost();
    let (config, prompts): (_, Vec<_>) = (role(), (0..4).map(|number| prompt(&format!("question {number}"))).collect());
    let call = |number: usize| Call {
        cell: "door/judge",
        role: "judge",
        config: &config,
        prompt: &prompts[number],
        repeat: 0,
    };
    // Question 3 is asked twice.
    let estimate = client.estimate([0, 1, 2, 3, 3].map(call)).expect("estimated");
    assert_eq!((estimate.calls, estimate.recorded), (5, 2));
    assert_eq!(estimate.completion_tokens_at_most, 2 * 3 * 64);
    assert!(estimate.unpriced.is_empty() && estimate.cost < estimate.cost_at_most);
    assert_eq!(server.requests(), 1, "nothing is sent");
    for number in [0, 1, 2, 3, 3] {
        client.ask(&call(number), &cites_exist).expect("asked");
    }
    assert!(client.spent().cost().minus(before) <= estimate.cost_at_most);
}

/// The worst that a server can do: every first try fails, and answers are as long as prompts and caps allow.
#[test]
fn an_estimate_bounds_what_failures_cost() {
    let faults: [fn() -> Reply; 3] =
        [|| Reply::Cut, || Reply::content("not JSON"), || Reply::content(r#"{"score": 1.2, "cites": []}"#)];
    for fault in faults {
        let server = Server::start(move |number, seen| {
            let mut reply = if number % 2 == 0 { fault() } else { Reply::content(GOOD) };
            if let Reply::Http { body, .. } = &mut reply {
                let mut answer: serde_json::Value = serde_json::from_slice(body).expect("JSON");
                answer["usage"] = serde_json::json!({"prompt_tokens": seen.body.len(), "completion_tokens": 64});
                *body = answer.to_string().into_bytes();
            }
            reply
        });
        let client = Client::new(options(ModelMode::Live, &server.base_url(), None)).expect("a client");
        let config = role();
        let prompts: Vec<_> = (0..3).map(|number| prompt(&format!("question {number}"))).collect();
        let call = |prompt| Call { cell: "door/judge", role: "judge", config: &config, prompt, repeat: 0 };
        let estimate = client.estimate(prompts.iter().map(call)).expect("estimated");
        for prompt in &prompts {
            let exchange = client.ask(&call(prompt), &cites_exist).expect("asked");
            assert!(exchange.retried && exchange.result.is_ok());
        }
        assert_eq!(server.requests(), 6);
        let spent = client.spent();
        assert_eq!(spent.cost(), estimate.cost_at_most, "the bound is reached, and not passed");
        assert!(spent.roles["judge"].usage.completion_tokens <= estimate.completion_tokens_at_most);
    }
}

/// A first try that failed in form and was recorded before a stop leaves its retry to be paid for.
#[test]
fn an_estimate_counts_a_retry_that_a_stop_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let stop = Arc::new(AtomicBool::new(false));
    let server = Server::start({
        let stop = Arc::clone(&stop);
        move |_, _| {
            stop.store(true, Ordering::SeqCst);
            Reply::content("not JSON")
        }
    });
    let mut stopped = options(ModelMode::Record, &server.base_url(), Some(folder.path()));
    stopped.stop = stop;
    assert!(matches!(ask(&Client::new(stopped).expect("a client"), "x"), Err(ClientError::Stopped)));
    let client = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    let (config, prompt) = (role(), prompt("x"));
    let call = Call { cell: "door/judge", role: "judge", config: &config, prompt: &prompt, repeat: 0 };
    let estimate = client.estimate([call]).expect("estimated");
    assert_eq!((estimate.calls, estimate.recorded, estimate.completion_tokens_at_most), (1, 1, 64));
    assert!(estimate.cost_at_most > Cost::ZERO);
}

/// Three requests are on their way when the stop comes: they are waited for, which is told once.
#[test]
fn a_stop_tells_what_it_waits_for() {
    static TOLD: (Mutex<Vec<usize>>, Condvar) = (Mutex::new(Vec::new()), Condvar::new());
    let stop = Arc::new(AtomicBool::new(false));
    let server = Server::start({
        let (stop, all) = (Arc::clone(&stop), Barrier::new(3));
        move |_, seen| {
            // The script is asked before the body is read, too.
            if !seen.body.is_empty() {
                all.wait();
                stop.store(true, Ordering::SeqCst);
                let told = TOLD.0.lock().expect("sound");
                drop(TOLD.1.wait_while(told, |told| told.is_empty()).expect("sound"));
            }
            Reply::content(GOOD)
        }
    });
    let mut stopped = options(ModelMode::Live, &server.base_url(), None);
    stopped.stop = stop;
    stopped.waiting = |requests| {
        TOLD.0.lock().expect("sound").push(requests);
        TOLD.1.notify_all();
    };
    let client = Client::new(stopped).expect("a client");
    let answers: Vec<_> = std::thread::scope(|scope| {
        let client = &client;
        let threads: Vec<_> =
            (0..3).map(|number| scope.spawn(move || ask(client, &format!("question {number}")))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|exchange| exchange.result.is_ok())));
    assert_eq!(*TOLD.0.lock().expect("sound"), [3]);
    let error = ask(&client, "another").expect_err("stopped").to_string();
    assert!(error.contains("what is done is kept\nhint: ") && error.contains("--resume"), "{error}");
    assert_eq!((TOLD.0.lock().expect("sound").len(), server.requests()), (1, 3));
}

#[test]
fn a_stop_keeps_what_was_paid_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = |url: &str| options(ModelMode::Record, url, Some(folder.path()));
    // The flag is set while the fifth request is on its way.
    let stop = Arc::new(AtomicBool::new(false));
    let server = Server::start({
        let stop = Arc::clone(&stop);
        move |number, _| {
            stop.fetch_or(number == 4, Ordering::SeqCst);
            Reply::content(GOOD)
        }
    });
    let mut first = options(&server.base_url());
    first.stop = stop;
    let client = Client::new(first).expect("a client");
    let mut outcomes = (0..QUESTIONS).map(|number| ask(&client, &format!("question {number}")));
    assert_eq!(outcomes.by_ref().take_while(Result::is_ok).count(), 5);
    assert!(matches!(outcomes.next(), Some(Err(ClientError::Stopped))));
    assert_eq!(server.requests(), 5);
    let (all, error) = ask_all(&Client::new(options(&server.base_url())).expect("a client"));
    assert!(error.is_none());
    assert_eq!((all, server.requests()), (QUESTIONS, QUESTIONS));
}
