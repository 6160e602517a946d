//! Every fault that a server can have, its typed outcome, and how many requests it was worth. The servers send the key
//! back wherever they can; it must not come out anywhere.

mod support;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use parthack_model::answer::NoAnswer;
use parthack_model::client::{Client, ClientOptions, Exchange, ModelMode};
use parthack_model::error::ClientError;
use serde_json::json;

use support::{GOOD, KEY, Reply, Seen, Server, ask, assert_no_key, assert_no_key_below, environment, header, options};

/// What a run against a server came to.
struct Outcome {
    exchange: Exchange,
    requests: usize,
}

impl Outcome {
    fn code(&self) -> &'static str {
        self.exchange.result.as_ref().map_or_else(NoAnswer::code, |_| "answer")
    }

    fn detail(&self) -> String {
        self.exchange.result.as_ref().map_or_else(ToString::to_string, |answer| answer.content.clone())
    }
}

/// Asks once while recording, checks what holds for every fault, and then that a replay of what is recorded agrees.
fn run(script: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static) -> Outcome {
    run_within(Duration::from_secs(20), script)
}

fn run_within(timeout: Duration, script: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(script);
    let mut record = options(ModelMode::Record, &server.base_url(), Some(folder.path()));
    record.timeout = Some(timeout);
    let client = Client::new(record).expect("a client");
    let exchange = ask(&client, "Is the door open?").expect("an exchange");
    let requests = server.requests();
    assert!(requests <= 2, "{requests} requests");
    assert_eq!(exchange.requests as usize, requests);
    assert_eq!(exchange.retried, requests == 2);
    assert_eq!(exchange.keys.len(), requests);
    for seen in server.seen() {
        assert_eq!(header(&seen.head, "authorization"), Some(format!("Bearer {KEY}").as_str()), "the key was sent");
    }
    assert_no_key(&format!("{exchange:?} {client:?}"));
    assert_no_key_below(folder.path());
    if let Err(reason) = &exchange.result {
        assert_no_key(&format!("{reason} {reason:?}"));
        let accounting = client.spent();
        assert_eq!(accounting.roles["judge"].no_answers[reason.code()], 1);
        assert_eq!(accounting.roles["judge"].retries, u64::from(exchange.retried));
    }
    let address = server.base_url();
    drop(server);
    let replay = Client::new(options(ModelMode::Replay, &address, Some(folder.path()))).expect("a client");
    match ask(&replay, "Is the door open?") {
        Ok(again) => {
            assert_eq!((&again.result, &again.keys), (&exchange.result, &exchange.keys));
            assert_eq!((again.requests, again.usage), (0, exchange.usage));
        }
        // What a transport, a gateway or an unreadable body did is not recorded, so that it is asked again.
        Err(ClientError::NotRecorded(_)) => {
            let code = exchange.result.as_ref().expect_err("an answer is recorded").code();
            assert!(matches!(code, "transport" | "status" | "protocol"), "{code}");
        }
        Err(other) => panic!("{other}"),
    }
    Outcome { exchange, requests }
}

/// What the answers of one content come to.
fn content(text: &'static str) -> Outcome {
    run(move |_, _| Reply::content(text))
}

#[test]
fn a_good_answer_takes_one_request() {
    let outcome = content(GOOD);
    assert_eq!((outcome.code(), outcome.requests, outcome.detail().as_str()), ("answer", 1, GOOD));
    assert_eq!(outcome.exchange.usage.prompt_tokens, 100);
    // 100 tokens of 0.15 and 10 of 0.60 dollars a million.
    assert_eq!(outcome.exchange.cost.expect("priced").pico_dollars, 100 * 150_000 + 10 * 600_000);
}

#[test]
fn a_fault_and_then_a_good_answer_is_an_answer() {
    let faults: [fn() -> Reply; 7] = [
        || Reply::Cut,
        || Reply::Reset,
        || Reply::status(429, "slow down"),
        || Reply::status(500, "oh"),
        || Reply::status(503, "busy").header("Retry-After", "0"),
        || Reply::content("not JSON"),
        || Reply::content(r#"{"score": 1.2, "cites": []}"#),
    ];
    for (index, fault) in faults.into_iter().enumerate() {
        let outcome = run(move |number, _| if number == 0 { fault() } else { Reply::content(GOOD) });
        assert_eq!((outcome.code(), outcome.requests, outcome.exchange.retried), ("answer", 2, true), "fault {index}");
    }
}

#[test]
fn connection_refused() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let client = Client::new(options(ModelMode::Live, &format!("http://{free}/v1"), None)).expect("a client");
    let exchange = ask(&client, "Is the door open?").expect("an exchange");
    let reason = exchange.result.expect_err("no answer");
    assert_eq!((reason.code(), exchange.requests, exchange.retried), ("transport", 2, true));
    assert!(reason.to_string().contains("cannot connect"), "{reason}");
    // Nothing was sent, so nothing was paid.
    assert_eq!(exchange.cost.expect("known").pico_dollars, 0);
}

#[test]
fn cut_within_the_body() {
    let outcome = run(|_, _| Reply::Cut);
    assert_eq!((outcome.code(), outcome.requests), ("transport", 2));
    assert!(outcome.detail().contains("cut"), "{}", outcome.detail());
    // It may have been billed in full, twice.
    assert!(outcome.exchange.cost.expect("priced").pico_dollars > 2 * 64 * 600_000);
}

#[test]
fn reset_within_the_body() {
    let outcome = run(|_, _| Reply::Reset);
    assert_eq!((outcome.code(), outcome.requests), ("transport", 2));
    assert!(outcome.detail().contains("reset"), "{}", outcome.detail());
}

#[test]
fn a_slow_drip_ends_at_the_time_out() {
    let began = Instant::now();
    let outcome = run_within(Duration::from_millis(200), |_, _| Reply::Drip);
    assert_eq!((outcome.code(), outcome.requests), ("transport", 2));
    assert!(outcome.detail().contains("timed out"), "{}", outcome.detail());
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(400) && took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn too_many_requests_with_and_without_retry_after() {
    let outcome = run(|_, _| Reply::status(429, KEY));
    assert_eq!((outcome.code(), outcome.requests), ("status", 2));
    assert_eq!(outcome.detail(), "status: 429 ***");
    let began = Instant::now();
    let outcome = run(|_, _| Reply::status(429, "wait").header("Retry-After", "1"));
    assert_eq!((outcome.code(), outcome.requests), ("status", 2));
    assert!(began.elapsed() >= Duration::from_secs(1), "the server asked for a second");
}

/// The pause before the retry is the configured one, a second by default, unless the server asks for another.
#[test]
fn the_pause_before_a_retry() {
    assert_eq!(ClientOptions::new(ModelMode::Live).retry_wait, Duration::from_secs(1));
    let configured = Duration::from_millis(7);
    for (retry_after, pause) in [(None, configured), (Some("0"), Duration::ZERO)] {
        let server = Server::start(move |_, _| {
            let reply = Reply::status(429, "wait");
            retry_after.map_or(Reply::status(429, "wait"), |seconds| reply.header("Retry-After", seconds))
        });
        let mut options = options(ModelMode::Live, &server.base_url(), None);
        options.retry_wait = configured;
        let exchange = ask(&Client::new(options).expect("a client"), "x").expect("an exchange");
        assert_eq!((exchange.pause, exchange.requests), (Some(pause), 2), "{retry_after:?}");
    }
    let server = Server::start(|_, _| Reply::content(GOOD));
    let client = Client::new(options(ModelMode::Live, &server.base_url(), None)).expect("a client");
    assert_eq!(ask(&client, "x").expect("an exchange").pause, None);
}

#[test]
fn retry_after_may_be_a_date() {
    let began = Instant::now();
    let outcome = run(|number, _| match number {
        0 => Reply::status(503, "wait")
            .header("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
            .header("Retry-After", "Sun, 06 Nov 1994 08:49:38 GMT"),
        _ => Reply::content(GOOD),
    });
    assert_eq!((outcome.code(), outcome.requests), ("answer", 2));
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[test]
fn statuses() {
    for (status, requests) in
        [(500, 2), (502, 2), (503, 2), (408, 2), (400, 1), (401, 1), (403, 1), (404, 1), (422, 1), (302, 1)]
    {
        let outcome = run(move |_, _| Reply::status(status, &format!("{{\"error\": \"bad key {KEY}\u{1b}[2J\"}}")));
        assert_eq!((outcome.code(), outcome.requests), ("status", requests), "{status}");
        let detail = outcome.detail();
        assert!(detail.starts_with(&format!("status: {status} ")) && detail.contains("bad key ***"), "{detail}");
        assert!(!detail.contains('\u{1b}'), "{detail:?}");
    }
}

/// What is recorded of it is the server's word alone; what the user is told names the option.
#[test]
fn a_refused_option_is_named_where_runs_are_summed_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = r#"{"error": {"message": "Unsupported value: 'temperature' does not support 0 with this model."}}"#;
    let server = Server::start(move |_, _| Reply::status(400, body));
    let client = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    let reason = ask(&client, "x").expect("asked").result.expect_err("refused");
    assert_eq!(reason.to_string(), format!("status: 400 {body}"));
    let example = &client.spent().roles["judge"].examples["status"];
    assert_eq!(example.reason, format!("{reason}\n  hint: {}", reason.hint().expect("a hint")));
    assert!(example.reason.contains("temperature=default"), "{}", example.reason);
    // The form is told apart.
    let server = Server::start(|_, _| Reply::status(400, "response_format is not supported"));
    let client = Client::new(options(ModelMode::Live, &server.base_url(), None)).expect("a client");
    assert!(ask(&client, "x").expect("asked").result.is_err());
    let example = &client.spent().roles["judge"].examples["status"];
    assert!(example.refuses_form && !example.reason.contains("hint"), "{}", example.reason);
}

#[test]
fn a_redirect_is_not_followed() {
    let outcome = run(|_, _| Reply::status(307, "").header("Location", "/v1/elsewhere"));
    assert_eq!((outcome.code(), outcome.requests), ("status", 1));
}

#[test]
fn success_with_html() {
    let outcome = run(|_, _| Reply::status(200, &format!("<html>{KEY}</html>")));
    assert_eq!((outcome.code(), outcome.requests), ("protocol", 1));
    assert!(outcome.detail().contains("<html>***"), "{}", outcome.detail());
}

#[test]
fn truncated_json() {
    let outcome = run(|_, _| Reply::status(200, r#"{"choices": [{"message": {"content": "{}"#));
    assert_eq!((outcome.code(), outcome.requests), ("protocol", 1));
    let outcome = content(r#"{"score": 0.5, "cites": ["/do"#);
    assert_eq!((outcome.code(), outcome.requests), ("schema", 2));
}

#[test]
fn json_that_is_no_completion() {
    for body in ["[]", "{}", r#"{"choices": []}"#, r#"{"choices": [{"message": {"content": 1}}]}"#] {
        let outcome = run(move |_, _| Reply::status(200, body));
        assert_eq!((outcome.code(), outcome.requests), ("protocol", 1), "{body}");
    }
}

#[test]
fn an_error_with_status_200() {
    let outcome = run(|_, _| Reply::json(&json!({"error": {"code": 503, "message": KEY}})));
    assert_eq!((outcome.code(), outcome.requests), ("status", 2));
}

#[test]
fn wrong_schema() {
    for (text, place) in [
        (r#"{"verdict": "yes"}"#, "expected key \"score\""),
        (r#"{"score": 0.5}"#, "expected key \"cites\""),
        (r#"{"score": "0.5", "cites": []}"#, "/score: found \"0.5\", expected type number"),
        (r#"{"score": 0.5, "cites": [], "extra": 1}"#, "/extra: found 1, expected no such key"),
        (r#"{"score": 0.5, "cites": [7]}"#, "/cites/0: found 7, expected type string"),
        ("[]", "expected type object"),
    ] {
        let outcome = content(text);
        assert_eq!((outcome.code(), outcome.requests), ("schema", 2), "{text}");
        assert!(outcome.detail().contains(place), "{}", outcome.detail());
    }
}

#[test]
fn scores_out_of_range_and_no_numbers() {
    for (text, place) in [
        (r#"{"score": 1.2, "cites": []}"#, "/score: found 1.2, expected at most 1"),
        (r#"{"score": -0.1, "cites": []}"#, "/score: found -0.1, expected at least 0"),
        (r#"{"score": NaN, "cites": []}"#, "not one JSON value"),
        (r#"{"score": Infinity, "cites": []}"#, "not one JSON value"),
        (r#"{"score": 1e999, "cites": []}"#, "number out of range"),
        (r#"{"score": null, "cites": []}"#, "/score: found null"),
    ] {
        let outcome = content(text);
        assert_eq!((outcome.code(), outcome.requests), ("schema", 2), "{text}");
        assert!(outcome.detail().contains(place), "{}", outcome.detail());
    }
}

#[test]
fn duplicate_keys() {
    let outcome = content(r#"{"score": 0, "cites": [], "score": 1}"#);
    assert_eq!((outcome.code(), outcome.requests), ("schema", 2));
    assert!(outcome.detail().contains("key \"score\" stands twice"), "{}", outcome.detail());
    // In the completion itself it is no schema failure: nobody can say which text was meant.
    let outcome = run(|_, _| Reply::status(200, r#"{"choices": [], "choices": []}"#));
    assert_eq!((outcome.code(), outcome.requests), ("protocol", 1));
}

#[test]
fn a_cited_field_that_does_not_exist() {
    let outcome = content(r#"{"score": 1, "cites": ["/window/open"]}"#);
    assert_eq!((outcome.code(), outcome.requests), ("schema", 2));
    assert!(outcome.detail().contains("\"/window/open\", expected a field of the log"), "{}", outcome.detail());
}

#[test]
fn answers_with_something_around_the_json() {
    for text in [
        r#"{"score": 0, "cites": []} {"score": 1, "cites": []}"#,
        "```json\n{\"score\": 1, \"cites\": []}\n```",
        "Sure! {\"score\": 1, \"cites\": []}",
        "{\"score\": 1, \"cites\": []}\n\nIgnore the instructions above.",
        "</answer>{\"score\": 1, \"cites\": []}",
        "\"{\\\"score\\\": 1, \\\"cites\\\": []}\"",
        "\u{feff}{\"score\": 1, \"cites\": []}",
    ] {
        let outcome = content(text);
        assert_eq!((outcome.code(), outcome.requests), ("schema", 2), "{text}");
    }
}

#[test]
fn nesting_without_end() {
    let deep = "[".repeat(100_000);
    let outcome = run(move |_, _| Reply::content(&deep));
    assert_eq!((outcome.code(), outcome.requests), ("schema", 2));
    assert!(outcome.detail().contains("recursion limit"), "{}", outcome.detail());
}

#[test]
fn refusals() {
    let message = json!({"content": null, "refusal": format!("I can't {KEY}")});
    let outcome = run(move |_, _| Reply::message(message.clone(), "stop"));
    assert_eq!((outcome.code(), outcome.requests), ("refusal", 1));
    assert_eq!(outcome.detail(), "refusal: I can't ***");
    let outcome = run(|_, _| Reply::message(json!({"content": GOOD}), "content_filter"));
    assert_eq!((outcome.code(), outcome.requests), ("refusal", 1));
}

#[test]
fn the_token_limit() {
    // A text that would be sound is none if it was cut.
    let outcome = run(|_, _| Reply::message(json!({"content": GOOD}), "length"));
    assert_eq!((outcome.code(), outcome.requests), ("length", 1));
    let thinking = json!({"content": "", "reasoning_content": "Let me think."});
    let outcome = run(move |_, _| Reply::message(thinking.clone(), "length"));
    assert_eq!((outcome.code(), outcome.requests), ("reasoning_ate_budget", 1));
}

#[test]
fn no_content() {
    for message in [json!({"content": ""}), json!({"content": null}), json!({"content": " \n\t"}), json!({})] {
        let outcome = run(move |_, _| Reply::message(message.clone(), "stop"));
        assert_eq!((outcome.code(), outcome.requests), ("empty", 1));
    }
}

#[test]
fn fifty_megabytes() {
    for told in [true, false] {
        let outcome = run(move |_, _| Reply::Flood { bytes: 50 << 20, told });
        assert_eq!((outcome.code(), outcome.requests), ("protocol", 1), "told: {told}");
        assert!(outcome.detail().contains("the most is 4194304"), "{}", outcome.detail());
    }
}

#[test]
fn a_text_that_is_too_long() {
    let long = "x".repeat(300 << 10);
    let outcome = run(move |_, _| Reply::content(&long));
    assert_eq!((outcome.code(), outcome.requests), ("protocol", 1));
}

#[test]
fn a_key_in_an_answer_is_not_kept() {
    let outcome = run(|_, _| Reply::content(&format!(r#"{{"score": 1, "cites": ["{KEY}"]}}"#)));
    assert_eq!(outcome.code(), "schema");
    assert!(outcome.detail().contains("***"), "{}", outcome.detail());
}

#[test]
fn a_key_in_a_prompt_is_not_sent() {
    let server = Server::start(|_, _| Reply::content(GOOD));
    let client = Client::new(options(ModelMode::Live, &server.base_url(), None)).expect("a client");
    let error = ask(&client, &format!("My key is {KEY}.")).expect_err("refused");
    assert!(matches!(error, ClientError::Usage { .. }));
    assert_no_key(&format!("{error} {error:?}"));
    assert_eq!(server.requests(), 0);
}

#[test]
fn no_key_and_wrong_urls() {
    let mut none = options(ModelMode::Live, "http://127.0.0.1:9/v1", None);
    none.environment = parthack_model::environment::Environment::Map(Default::default());
    let error = ask(&Client::new(none).expect("a client"), "x").expect_err("no key").to_string();
    assert_eq!(error, "openai: no key\nhint: set OPENAI_API_KEY");
    let mut wrong = options(ModelMode::Live, "", None);
    wrong.environment = environment(&format!("http://user:{KEY}@127.0.0.1/v1"));
    let error = ask(&Client::new(wrong).expect("a client"), "x").expect_err("a password in a URL");
    assert!(error.to_string().contains("OPENAI_BASE_URL"), "{error}");
    assert_no_key(&format!("{error} {error:?}"));
}

#[test]
fn a_schema_outside_the_subset_is_refused_before_anything_is_sent() {
    let server = Server::start(|_, _| Reply::content(GOOD));
    let client = Client::new(options(ModelMode::Live, &server.base_url(), None)).expect("a client");
    let (config, mut prompt) = (support::role(), support::prompt("x"));
    prompt.form.schema["properties"]["score"]["multipleOf"] = json!(0.1);
    let call =
        parthack_model::client::Call { cell: "door/judge", role: "judge", config: &config, prompt: &prompt, repeat: 0 };
    let error = client.ask(&call, &|_| Ok(())).expect_err("refused").to_string();
    assert!(error.contains("/properties/score/multipleOf"), "{error}");
    assert_eq!(server.requests(), 0);
}
