//! The hello of either side: what the host tells a program, and what a program may tell the host.

use std::borrow::Cow;

use parthack_env::input::Cursor;
use parthack_env::json::Json;

use super::answer::MAX_ANSWER_BYTES;
use super::fault::{Fault, FaultCode};
use crate::serve::EVALUATOR_PROTOCOL;

/// The variable that holds the protocol's name and version.
pub const PROTOCOL_VARIABLE: &str = "PARTHACK_PROTOCOL";
/// The variable that holds the host's whole hello.
pub const HELLO_VARIABLE: &str = "PARTHACK_HELLO";
/// The largest `batch`.
pub const MAX_BATCH: u32 = 64;

/// Characters of a name or version.
const LONGEST_TEXT: usize = 200;
const KNOWN: [&str; 6] = ["protocol", "name", "version", "deterministic", "batch", "evaluators"];

/// What a program says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hello {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Whether it says that equal payloads get equal scores.
    pub deterministic: Option<bool>,
    /// How many payloads it wants to have waiting at once.
    pub batch: Option<u32>,
}

/// The host's hello: one canonical JSON object.
pub(super) fn host_hello() -> String {
    format!(
        "{{\"max_answer_bytes\":{MAX_ANSWER_BYTES},\"max_batch\":{MAX_BATCH},\"payload\":\"parthack.payload/1\",\"protocol\":\"{EVALUATOR_PROTOCOL}\"}}"
    )
}

/// Whether a line is meant as a hello: an object with the key `protocol`.
pub(super) fn is_hello(json: &Json<'_>) -> bool {
    json.get("protocol").is_some()
}

/// Reads a hello, and the keys in it that nobody knows.
pub(super) fn read_hello(json: &Json<'_>) -> Result<(Hello, Vec<String>), Fault> {
    let wrong = |message: String| Fault::new(FaultCode::WrongHello, format!("a hello line: {message}"));
    let root = Cursor::root(json);
    let read = || -> Result<Hello, parthack_env::input::InputError> {
        let protocol = root.key("protocol")?;
        if protocol.text()? != EVALUATOR_PROTOCOL {
            return Err(protocol.fault(format!("the protocol {EVALUATOR_PROTOCOL:?}")));
        }
        let text =
            |key: &str| root.optional(key).map(|cursor| cursor.prose(LONGEST_TEXT).map(str::to_owned)).transpose();
        Ok(Hello {
            name: text("name")?,
            version: text("version")?,
            deterministic: root.optional("deterministic").map(|cursor| cursor.bool()).transpose()?,
            batch: root.optional("batch").map(|cursor| cursor.u32(1, u32::MAX)).transpose()?,
        })
    };
    let hello = read().map_err(|error| wrong(error.to_string()))?;
    let keys: &[(Cow<'_, str>, Json<'_>)] = if let Json::Object(entries) = json { entries } else { &[] };
    let unknown = keys.iter().filter(|(key, _)| !KNOWN.contains(&key.as_ref())).take(8);
    Ok((hello, unknown.map(|(key, _)| key.chars().take(60).collect()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Hello, Vec<String>), String> {
        let json = Json::parse(text.as_bytes()).expect(text);
        assert!(is_hello(&json), "{text}");
        read_hello(&json).map_err(|fault| fault.to_string())
    }

    #[test]
    fn hellos_are_read() {
        assert_eq!(read(r#"{"protocol":"parthack.evaluator/1"}"#), Ok((Hello::default(), vec![])));
        let whole =
            r#"{"batch":8,"deterministic":false,"name":"n","protocol":"parthack.evaluator/1","version":"2","x":1}"#;
        let hello = Hello {
            name: Some("n".to_owned()),
            version: Some("2".to_owned()),
            deterministic: Some(false),
            batch: Some(8),
        };
        assert_eq!(read(whole), Ok((hello, vec!["x".to_owned()])));
        for (text, part) in [
            (r#"{"protocol":"parthack.evaluator/2"}"#, "/protocol"),
            (r#"{"protocol":1}"#, "/protocol"),
            (r#"{"protocol":"parthack.evaluator/1","batch":0}"#, "/batch"),
            (r#"{"protocol":"parthack.evaluator/1","name":5}"#, "/name"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.starts_with("wrong_hello: ") && error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_hosts_hello_is_a_hello_and_no_payload() {
        let text = host_hello();
        let json = Json::parse(text.as_bytes()).expect("JSON");
        assert_eq!(text.as_bytes(), parthack_env::canonical::canonical_bytes(&json));
        assert!(is_hello(&json) && json.get("format").is_none());
    }
}
