//! A server sends the key back in every field and in every writing; nobody can read it in anything that comes out.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use parthack_model::client::{Call, Client, ClientOptions, ModelMode};
use parthack_model::environment::Environment;
use parthack_model::error::ClientError;
use parthack_model::role::RoleConfig;
use serde_json::Value;

use support::{GOOD, Reply, Server, cites_exist, header, prompt};

/// A key with what JSON and URLs escape.
const KEY: &str = "sk-PLANTED/abc+123=xyz";

/// `base64` of `Bearer sk-PLANTED/abc+123=xyz`, of the key alone, and its percent-encoding.
const ENCODED: [&str; 3] =
    ["QmVhcmVyIHNrLVBMQU5URUQvYWJjKzEyMz14eXo=", "c2stUExBTlRFRC9hYmMrMTIzPXh5eg", "sk-PLANTED%2Fabc%2B123%3Dxyz"];

/// The key within a JSON string, in the writings that stand for it there.
fn writings() -> Vec<String> {
    let escaped = |backslash: &str| KEY.chars().map(|of| format!("{backslash}u{:04x}", of as u32)).collect::<String>();
    let mut writings = vec![
        KEY.to_owned(),
        KEY.replace('/', "\\/"),
        KEY.replacen('s', "\\u0073", 1),
        escaped("\\"),
        // A text that is JSON itself, as an error of an error or the content of an answer.
        KEY.replace('/', "\\\\/"),
        KEY.replacen('s', "\\\\u0073", 1),
        escaped("\\\\"),
        escaped("\\u005c"),
        format!("Bearer {}", KEY.replace('/', "\\/")),
    ];
    writings.extend(ENCODED.map(str::to_owned));
    writings
}

/// Bodies that hold a text, a JSON string without its quotes, in another place each.
fn bodies(text: &str) -> Vec<(u16, String)> {
    let choice = |choice: &str| (200, format!(r#"{{"choices": [{choice}]}}"#));
    let token = |text: &str| {
        format!(
            r#"{{"token": "{text}", "logprob": -1, "top_logprobs": [{{"token": "no", "logprob": -2}}, {{"token": "{text}", "logprob": -1}}]}}"#
        )
    };
    let content = GOOD.replace('"', "\\\"");
    let mut bodies = vec![
        (200, format!(r#"{{"error": {{"message": "Incorrect API key provided: {text}"}}}}"#)),
        (200, format!(r#"{{"error": "{}{text}"}}"#, "x".repeat(280))),
        (401, format!(r#"{{"error": {{"message": "Incorrect API key provided: {text}"}}}}"#)),
        (400, format!(r#"{{"error": "{text}"}}"#)),
        (500, text.to_owned()),
        (200, format!("<html>{text}</html>")),
        (200, format!(r#"{{"{text}": 1, "{text}": 2}}"#)),
        choice(&format!(r#"{{"message": {{"content": "{text}"}}}}"#)),
        choice(&format!(r#"{{"message": {{"content": "{{\"score\": 1, \"cites\": [\"{text}\"]}}"}}}}"#)),
        choice(&format!(r#"{{"message": {{"content": "{{\"score\": 1, \"{text}\": 2, \"{text}\": 2}}"}}}}"#)),
        choice(&format!(r#"{{"message": {{"refusal": "I can't {text}"}}}}"#)),
        choice(&format!(r#"{{"message": {{"content": "{content}"}}, "finish_reason": "{text}"}}"#)),
        choice(&format!(r#"{{"message": {{"content": null, "tool_calls": [{{"function": {{"name": "{text}"}}}}]}}}}"#)),
        choice(&format!(
            r#"{{"message": {{"content": null, "reasoning_content": "{text}"}}, "finish_reason": "length"}}"#
        )),
    ];
    let tokens = |list: String| {
        choice(&format!(r#"{{"message": {{"content": "{content}"}}, "logprobs": {{"content": [{list}]}}}}"#))
    };
    bodies.push(tokens(token(text)));
    // Half an escape is no JSON: what has none is told in two parts as well.
    if !text.contains('\\') {
        let parts: [&str; 2] = text.split_at(text.len() / 2).into();
        let list = parts.map(|part| format!(r#"{{"type": "text", "text": "{part}"}}"#)).join(", ");
        bodies.push(choice(&format!(r#"{{"message": {{"content": [{list}]}}}}"#)));
        bodies.push(tokens(parts.map(token).join(", ")));
    }
    bodies
}

fn environment(base_url: &str, key: &str) -> Environment {
    let pairs =
        [("OPENAI_BASE_URL", base_url), ("OPENAI_API_KEY", key), ("LOCAL_BASE_URL", base_url), ("LOCAL_API_KEY", key)];
    Environment::Map(
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect::<BTreeMap<_, _>>(),
    )
}

fn client(server: &Server, key: &str, folder: &Path) -> Client {
    Client::new(ClientOptions {
        cassettes: Some(folder.to_owned()),
        environment: environment(&server.base_url(), key),
        retry_wait: Duration::ZERO,
        ..ClientOptions::new(ModelMode::Record)
    })
    .expect("a client")
}

/// Fails if the key can be read in a text: as it stands, encoded, or in a string of the JSON that it is, at whatever depth.
fn assert_no_key(text: &str, what: &str) {
    for writing in [KEY, "PLANTED", "abc+123"].into_iter().chain(ENCODED) {
        assert!(!text.contains(writing), "{writing} stands in {text}\nfor {what}");
    }
    let unescaped = text.replace("\\/", "/").replace('\\', "");
    assert!(!unescaped.contains("u0073") && !unescaped.contains(KEY), "{text}\nfor {what}");
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        assert_no_key_in(&value, what);
    }
}

fn assert_no_key_in(value: &Value, what: &str) {
    match value {
        Value::String(text) => assert_no_key(text, what),
        Value::Array(elements) => {
            elements.iter().for_each(|element| assert_no_key_in(element, what));
            // Tokens: texts, and alternatives of one rank, one after the other.
            let column =
                |pointer: &str| elements.iter().filter_map(|of| of.pointer(pointer)?.as_str()).collect::<String>();
            ["/0", "/2/0/0", "/2/1/0"].iter().for_each(|pointer| assert_no_key(&column(pointer), what));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            assert_no_key(name, what);
            assert_no_key_in(member, what);
        }),
        _ => {}
    }
}

fn assert_no_key_below(folder: &Path, what: &str) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            assert_no_key_below(&path, what);
        } else {
            assert_no_key(&fs::read_to_string(&path).expect("a file"), what);
        }
    }
}

#[test]
fn no_writing_of_a_key_comes_out_of_any_field() {
    let mut answers = 0;
    for writing in writings() {
        for (status, body) in bodies(&writing) {
            let folder = tempfile::tempdir().expect("a folder");
            let server = Server::start({
                let body = body.clone();
                let writing = writing.clone();
                move |_, _| Reply::status(status, &body).header("Retry-After", "0").header("X-Key", &writing)
            });
            let client = client(&server, KEY, folder.path());
            let (config, prompt) = (support::role(), prompt("Is the door open?"));
            let call = Call { cell: "door/judge", role: "judge", config: &config, prompt: &prompt, repeat: 0 };
            let exchange = client.ask(&call, &cites_exist).expect("an exchange");
            answers += usize::from(exchange.result.is_ok());
            let seen = server.seen();
            assert_eq!(header(&seen[0].head, "authorization"), Some(format!("Bearer {KEY}").as_str()));
            assert_no_key(&format!("{exchange:?} {client:?}"), &body);
            assert_no_key(&serde_json::to_string(&client.spent()).expect("JSON"), &body);
            match &exchange.result {
                Ok(answer) => {
                    assert_no_key(&answer.content, &body);
                    assert_no_key(&answer.tokens.iter().map(|token| token.text.as_str()).collect::<String>(), &body);
                }
                Err(reason) => assert_no_key(&reason.to_string(), &body),
            }
            assert_no_key_below(folder.path(), &body);
        }
    }
    assert!(answers > 0, "some of them are answers all the same");
}

#[test]
fn no_key_comes_out_of_what_a_server_tells_of_itself() {
    for writing in writings() {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start({
            let writing = writing.clone();
            move |_, seen| match seen.head.split(' ').nth(1) {
                Some("/props") => {
                    Reply::status(200, &format!(r#"{{"build_info": "{writing}", "model_path": "/x {writing}"}}"#))
                }
                Some("/version") => Reply::status(200, &format!(r#"{{"version": "v {writing}"}}"#)),
                Some("/v1/models") => Reply::status(200, &format!(r#"{{"data": [{{"root": "{writing}"}}]}}"#)),
                _ => Reply::content(GOOD),
            }
        });
        let client = client(&server, KEY, folder.path());
        let config = client.resolve_identity(&RoleConfig::named("local/small").expect("a role")).expect("resolved");
        assert!(config.identity.contains_key("server_build"), "{config:?}");
        assert_no_key(&serde_json::to_string(&config).expect("JSON"), &writing);
        let prompt = prompt("x");
        let call = Call { cell: "c", role: "judge", config: &config, prompt: &prompt, repeat: 0 };
        assert!(client.ask(&call, &cites_exist).expect("asked").result.is_ok());
        assert_no_key_below(folder.path(), &writing);
    }
}

/// A key in a prompt, a model's name or an identity would be recorded; one that is written otherwise would be too.
#[test]
fn nothing_that_holds_the_key_is_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, _| Reply::content(GOOD));
    let client = client(&server, KEY, folder.path());
    let sound = support::role();
    let named = RoleConfig::named(&format!("openai/{KEY}")).expect("a role");
    let identity = RoleConfig { identity: BTreeMap::from([("build".to_owned(), KEY.to_owned())]), ..sound.clone() };
    let mut cases = vec![(named, "x".to_owned()), (identity, "x".to_owned())];
    cases.extend(writings().into_iter().map(|writing| (sound.clone(), format!("My key is {writing}."))));
    for (config, user) in &cases {
        let prompt = prompt(user);
        let call = Call { cell: "c", role: "judge", config, prompt: &prompt, repeat: 0 };
        let error = client.ask(&call, &cites_exist).expect_err("refused");
        assert!(
            matches!(&error, ClientError::Usage { message, .. } if message.contains("holds the key of openai")),
            "{error}"
        );
        assert_no_key(&format!("{error} {error:?}"), user);
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn a_key_in_the_place_of_a_base_url_is_not_shown() {
    let mut options = ClientOptions::new(ModelMode::Live);
    options.environment = environment(KEY, KEY);
    let prompt = prompt("x");
    let (client, config) = (Client::new(options).expect("a client"), support::role());
    let call = Call { cell: "c", role: "judge", config: &config, prompt: &prompt, repeat: 0 };
    let error = client.ask(&call, &cites_exist).expect_err("refused");
    assert!(error.to_string().contains("OPENAI_BASE_URL"), "{error}");
    assert_no_key(&format!("{error} {error:?}"), "a base URL");
}

/// `LOCAL_API_KEY=token` and the like: words of that length stand in prompts and in answers, and stay there.
#[test]
fn a_placeholder_is_no_secret() {
    for key in ["x", "token", "score"] {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(|_, _| Reply::content(GOOD));
        let client = client(&server, key, folder.path());
        let (config, prompt) =
            (RoleConfig::named("local/small").expect("a role"), prompt(&format!("x: the score of a {key}")));
        let call = Call { cell: "c", role: "judge", config: &config, prompt: &prompt, repeat: 0 };
        let exchange = client.ask(&call, &cites_exist).expect("asked");
        assert_eq!(exchange.result.expect("an answer").content, GOOD);
        assert_eq!(header(&server.seen()[0].head, "authorization"), Some(format!("Bearer {key}").as_str()));
    }
}
