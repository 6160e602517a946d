//! One answer line, read strictly: a score, a `no_verdict`, or the fault that it is.

use std::borrow::Cow;

use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::input::{Cursor, InputError, Place};
use parthack_env::json::Json;

use super::fault::{Fault, FaultCode};
use crate::judge::decimal;
use crate::judge::pointer::resolve;
use crate::registry::payload_hash;
use crate::score::{ExactScore, NoVerdict, Verdict};

/// Bytes of the longest answer.
pub const MAX_ANSWER_BYTES: usize = 256 << 10;
/// Bytes of a detail that is kept.
pub const MAX_DETAIL_BYTES: usize = 64 << 10;
/// Citations of one answer.
pub const MAX_CITES: usize = 1_000;
/// Characters of a reason that are kept.
pub const MAX_REASON_CHARACTERS: usize = 2_000;
/// Bytes of a number's text: every double written out in full fits.
const MAX_NUMBER_BYTES: usize = 1_200;
/// How far the double may be from the ratio that it stands beside.
const MOST_APART: f64 = 1e-9;
const KNOWN: [&str; 6] = ["score", "exact", "no_verdict", "detail", "cites", "id"];

/// What a plugin said of a payload.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A score.
    Score(PluginScore),
    /// That there is none.
    NoVerdict {
        /// Why, as the plugin says.
        reason: String,
        /// Canonical JSON, if it gave any.
        detail: Option<String>,
    },
    /// It did not answer as the protocol asks.
    Fault(Fault),
}

/// A score as it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginScore {
    /// The nearest double; 0 has no sign.
    pub value: f64,
    /// The number's text as it stood in the answer.
    pub text: String,
    /// The ratio, if the plugin gave one.
    pub exact: Option<ExactScore>,
    /// Canonical JSON, if it gave any and it is not longer than [`MAX_DETAIL_BYTES`].
    pub detail: Option<String>,
    /// JSON pointers into the payload; each leads to something.
    pub cites: Vec<String>,
}

/// The answer to one payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Hash of the bytes that were sent ([`payload_hash`]).
    pub payload: Hash,
    /// What came back.
    pub outcome: Outcome,
}

impl Reply {
    pub(super) fn new(payload: &[u8], outcome: Outcome) -> Reply {
        Reply { payload: payload_hash(payload), outcome }
    }

    /// The fault, if it is one.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match &self.outcome {
            Outcome::Fault(fault) => Some(fault),
            _ => None,
        }
    }

    /// The verdict. A fault is no verdict, with its code before its message.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match &self.outcome {
            Outcome::Score(score) => Verdict::Score { value: score.value, exact: score.exact },
            Outcome::NoVerdict { reason, .. } => Verdict::NoVerdict(NoVerdict { reason: reason.clone() }),
            Outcome::Fault(fault) => Verdict::NoVerdict(NoVerdict { reason: fault.to_string() }),
        }
    }
}

/// A payload and its number in the session, from 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'p> {
    pub(super) payload: &'p [u8],
    pub(super) number: usize,
}

/// What an answer line came to, and whether its detail was left out.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) outcome: Outcome,
    pub(super) left_out_detail: bool,
}

/// Reads a line as JSON.
pub(super) fn read_line(line: &[u8]) -> Result<Json<'_>, Fault> {
    Json::parse(line).map_err(|error| {
        let shown = shown(line);
        match non_finite(line, &error) {
            Some(word) => {
                Fault::new(FaultCode::NotFinite, format!("{word} in {shown}; expected a number that JSON has"))
            }
            None => Fault::new(FaultCode::WrongLine, format!("{shown}: {error}")),
        }
    })
}

/// Reads an answer.
pub(super) fn read_answer(json: &Json<'_>, asked: Asked<'_>) -> Answer {
    let mut left_out_detail = false;
    let outcome = match answer(json, asked, &mut left_out_detail) {
        Ok(outcome) => outcome,
        Err(fault) => Outcome::Fault(fault),
    };
    Answer { outcome, left_out_detail }
}

fn answer(json: &Json<'_>, asked: Asked<'_>, left_out_detail: &mut bool) -> Result<Outcome, Fault> {
    let root = Cursor::root(json);
    if let Json::Number(text) = json {
        return Ok(Outcome::Score(PluginScore { detail: None, cites: Vec::new(), ..number(text)? }));
    }
    root.object(&KNOWN).map_err(|error| schema(error.hint("further things go into \"detail\"")))?;
    if let Some(id) = root.optional("id") {
        check_id(&id, asked)?;
    }
    let mut detail = || {
        let text = root.optional("detail").map(|cursor| canonical_bytes(cursor.json));
        let kept = text.filter(|bytes| {
            *left_out_detail = bytes.len() > MAX_DETAIL_BYTES;
            !*left_out_detail
        });
        kept.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    match (root.optional("score"), root.optional("no_verdict")) {
        (Some(score), None) => {
            let Json::Number(text) = score.json else { return Err(schema(score.fault("a number"))) };
            let mut found = number(text)?;
            if let Some(exact) = root.optional("exact") {
                found.exact = Some(ratio(&exact, found.value)?);
            }
            found.cites = cites(&root, asked.payload)?;
            found.detail = detail();
            Ok(Outcome::Score(found))
        }
        (None, Some(reason)) => {
            for key in ["exact", "cites"] {
                if let Some(cursor) = root.optional(key) {
                    return Err(schema(cursor.fault("no such key beside \"no_verdict\"")));
                }
            }
            let text = reason.text().map_err(schema)?;
            Ok(Outcome::NoVerdict { reason: cut(text, MAX_REASON_CHARACTERS), detail: detail() })
        }
        (Some(_), Some(_)) => Err(schema(root.fault_found("\"score\" and \"no_verdict\"", "one of the two"))),
        (None, None) => Err(schema(root.fault_found("neither \"score\" nor \"no_verdict\"", "one of the two"))),
    }
}

fn schema(error: InputError) -> Fault {
    Fault::new(FaultCode::WrongSchema, error.to_string())
}

fn number(text: &str) -> Result<PluginScore, Fault> {
    if text.len() > MAX_NUMBER_BYTES {
        let message = format!("a number of {} characters; expected at most {MAX_NUMBER_BYTES}", text.len());
        return Err(Fault::new(FaultCode::WrongSchema, message));
    }
    // By its digits, since a double would round 1.00000000000000000001 into the range.
    decimal::score(text, 0).map_err(|message| Fault::new(FaultCode::OutOfRange, message))?;
    let value = text.parse::<f64>().unwrap_or(f64::NAN);
    if !(0.0..=1.0).contains(&value) {
        return Err(Fault::new(FaultCode::OutOfRange, format!("the score {text} is not in [0, 1]")));
    }
    // Adding 0 takes the sign from -0.
    Ok(PluginScore { value: value + 0.0, text: text.to_owned(), exact: None, detail: None, cites: Vec::new() })
}

/// `0`, `1` or `NUMERATOR/DENOMINATOR`.
fn ratio(cursor: &Cursor<'_, '_>, value: f64) -> Result<ExactScore, Fault> {
    let wrong = || schema(cursor.fault("a ratio in [0, 1] such as \"2/3\", its parts below 2^32"));
    let text = cursor.text().map_err(schema)?;
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    let part = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
        if digits { text.parse::<u32>().ok() } else { None }
    };
    let (Some(numerator), Some(denominator)) = (part(numerator), part(denominator)) else { return Err(wrong()) };
    if denominator == 0 || numerator > denominator {
        return Err(wrong());
    }
    let exact = ExactScore::new(numerator, denominator);
    if (exact.to_f64() - value).abs() > MOST_APART {
        return Err(schema(cursor.fault(format!("a ratio equal to the score {value}"))));
    }
    Ok(exact)
}

fn cites(root: &Cursor<'_, '_>, payload: &[u8]) -> Result<Vec<String>, Fault> {
    let Some(cursor) = root.optional("cites") else { return Ok(Vec::new()) };
    let items = cursor.items().map_err(schema)?;
    if items.len() > MAX_CITES {
        return Err(schema(cursor.fault(format!("at most {MAX_CITES} citations"))));
    }
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let bad = |message: String| Fault::new(FaultCode::BadCite, message);
    let document = Json::parse(payload).map_err(|error| bad(format!("the payload can't be cited: {error}")))?;
    let mut found = Vec::with_capacity(items.len());
    for item in items {
        let text = item.text().map_err(schema)?;
        if text.is_empty() || resolve(&document, text).is_none() {
            return Err(bad(item.fault("a JSON pointer to a part of the payload").to_string()));
        }
        found.push(text.to_owned());
    }
    Ok(found)
}

/// An `id` is the number of the payload line in the session, from 1, or the payload's hash.
fn check_id(cursor: &Cursor<'_, '_>, asked: Asked<'_>) -> Result<(), Fault> {
    let (is_own, expected) = match cursor.json {
        Json::Number(text) => (**text == *asked.number.to_string(), asked.number.to_string()),
        Json::String(text) => {
            let hash = payload_hash(asked.payload).hex();
            (**text == *hash, format!("{hash:?}"))
        }
        _ => return Err(schema(cursor.fault("the number of the payload's line, or the payload's hash"))),
    };
    if is_own {
        return Ok(());
    }
    Err(Fault::new(
        FaultCode::OutOfOrder,
        cursor.fault(format!("{expected}: answers in the order of payloads")).to_string(),
    ))
}

/// The word that made a line no JSON, if it is one that stands for a number elsewhere.
fn non_finite(line: &[u8], error: &InputError) -> Option<&'static str> {
    const WORDS: [&str; 8] = ["NaN", "nan", "Infinity", "infinity", "inf", "Inf", "NAN", "INF"];
    let Place::Text { line: 1, column, .. } = error.place else { return None };
    let rest = line.get(column - 1..)?;
    let rest = rest.strip_prefix(b"-").unwrap_or(rest);
    WORDS.into_iter().find(|word| rest.starts_with(word.as_bytes()))
}

/// A line as a message shows it: short, and in one line.
pub(super) fn shown(line: &[u8]) -> String {
    const LONGEST: usize = 80;
    // Four bytes a character at most, so that a long line is not gone through.
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * LONGEST + 4)]);
    format!("{:?}", cut(&text, LONGEST))
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Whether a line holds nothing.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// The end of what was said, as text.
pub(super) fn tail_text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &[u8] = br#"{"events":[{"actor":"agent"}],"task_id":"t"}"#;

    fn read(line: &[u8]) -> Outcome {
        match read_line(line) {
            Ok(json) => read_answer(&json, Asked { payload: PAYLOAD, number: 3 }).outcome,
            Err(fault) => Outcome::Fault(fault),
        }
    }

    fn score(line: &str) -> PluginScore {
        match read(line.as_bytes()) {
            Outcome::Score(score) => score,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn check_fault(line: &[u8], code: FaultCode, part: &str) {
        match read(line) {
            Outcome::Fault(fault) => {
                assert_eq!(fault.code, code, "{}: {fault}", shown(line));
                assert!(fault.message.contains(part), "{}: {fault}", shown(line));
            }
            other => panic!("{}: {other:?}", shown(line)),
        }
    }

    #[test]
    fn scores_keep_their_text() {
        let cases = [
            ("0.5", 0.5),
            ("0", 0.0),
            ("1", 1.0),
            ("1e-1", 0.1),
            ("0.50", 0.5),
            ("-0.0", 0.0),
            ("-0", 0.0),
            ("10E-1", 1.0),
            ("1e-400", 0.0),
            ("0.1000000000000000055511151231257827021181583404541015625", 0.1),
            ("0.99999999999999999999999", 1.0),
        ];
        for (text, value) in cases {
            for line in [format!("{{\"score\":{text}}}"), format!(" {{ \"score\" : {text} }} "), text.to_owned()] {
                let found = score(&line);
                assert_eq!((found.value, found.text.as_str()), (value, text), "{line}");
                assert!(found.value.is_sign_positive(), "{line}");
            }
        }
    }

    #[test]
    fn whole_answers() {
        let found = score(
            r#"{"id":3,"score":0.6666666666666666,"exact":"2/3","detail":{"b":1.50,"a":[]},"cites":["/events/0/actor","/task_id"]}"#,
        );
        assert_eq!(found.exact, Some(ExactScore::new(2, 3)));
        assert_eq!(found.detail.as_deref(), Some(r#"{"a":[],"b":1.50}"#));
        assert_eq!(found.cites, ["/events/0/actor", "/task_id"]);
        let by_hash = format!("{{\"id\":\"{}\",\"score\":1,\"exact\":\"1\"}}", payload_hash(PAYLOAD).hex());
        assert_eq!(score(&by_hash).exact, Some(ExactScore::new(1, 1)));
        let none = read(r#"{"no_verdict":"why é","detail":null}"#.as_bytes());
        assert_eq!(none, Outcome::NoVerdict { reason: "why é".to_owned(), detail: Some("null".to_owned()) });
        let long = format!("{{\"no_verdict\":\"{}\"}}", "x".repeat(5_000));
        let Outcome::NoVerdict { reason, .. } = read(long.as_bytes()) else { panic!("no verdict") };
        assert_eq!(reason.chars().count(), MAX_REASON_CHARACTERS + 1);
    }

    #[test]
    fn long_details_are_left_out() {
        for (size, left_out) in [(MAX_DETAIL_BYTES - 2, false), (MAX_DETAIL_BYTES - 1, true)] {
            let line = format!("{{\"score\":1,\"detail\":\"{}\"}}", "x".repeat(size));
            let json = read_line(line.as_bytes()).expect("JSON");
            let answer = read_answer(&json, Asked { payload: PAYLOAD, number: 1 });
            let Outcome::Score(score) = answer.outcome else { panic!("a score") };
            assert_eq!((answer.left_out_detail, score.detail.is_none()), (left_out, left_out));
        }
    }

    #[test]
    fn wrong_lines() {
        use FaultCode::{NotFinite, WrongLine};
        check_fault(b"Loading model", WrongLine, "Loading model");
        check_fault(b"{\"score\":0.5", WrongLine, "the end of the file");
        check_fault(b"{\"score\":0.5}{\"score\":0.5}", WrongLine, "the end of the file");
        check_fault(b"{\"score\":0.5,\"score\":0.6}", WrongLine, "a second time");
        check_fault(b"{\"score\":\"\xff\"}", WrongLine, "UTF-8");
        check_fault("[".repeat(100_000).as_bytes(), WrongLine, "levels");
        check_fault(b"{\"score\":.5}", WrongLine, "'.'");
        check_fault(b"{\"score\":05}", WrongLine, "'5'");
        for word in ["NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"] {
            check_fault(format!("{{\"score\": {word}}}").as_bytes(), NotFinite, word.trim_start_matches('-'));
            check_fault(word.as_bytes(), NotFinite, "JSON");
        }
        check_fault(b"nano", NotFinite, "nan");
    }

    #[test]
    fn wrong_schemas() {
        for (line, part) in [
            ("[]", "an object"),
            ("null", "null"),
            ("\"0.5\"", "an object"),
            ("true", "true"),
            ("{}", "neither"),
            (r#"{"score":1,"no_verdict":"x"}"#, "one of the two"),
            (r#"{"score":"0.5"}"#, "/score"),
            (r#"{"score":true}"#, "/score"),
            (r#"{"score":null}"#, "/score"),
            (r#"{"no_verdict":1}"#, "/no_verdict"),
            (r#"{"no_verdict":"x","cites":[]}"#, "/cites"),
            (r#"{"score":1,"reason":"x"}"#, "/reason"),
            (r#"{"score":1,"cites":"/events"}"#, "/cites"),
            (r#"{"score":1,"cites":[1]}"#, "/cites/0"),
            (r#"{"score":1,"id":null}"#, "/id"),
            (r#"{"score":0.5,"exact":"2/3"}"#, "/exact"),
            (r#"{"score":0.5,"exact":"01/2"}"#, "/exact"),
            (r#"{"score":0.5,"exact":0.5}"#, "/exact"),
            (r#"{"score":0.5,"exact":"1/0"}"#, "/exact"),
            (r#"{"score":0.5,"exact":"4294967296/8589934592"}"#, "/exact"),
            (r#"{"scores":[{"score":1}]}"#, "/scores"),
        ] {
            check_fault(line.as_bytes(), FaultCode::WrongSchema, part);
        }
        let long = format!("0.{}", "1".repeat(2_000));
        check_fault(long.as_bytes(), FaultCode::WrongSchema, "2002 characters");
    }

    #[test]
    fn scores_outside_the_range() {
        for text in ["1.5", "-0.1", "2", "1.00000000000000000001", "-1e-400", "1e999", "1e99999999999999999999"] {
            check_fault(format!("{{\"score\":{text}}}").as_bytes(), FaultCode::OutOfRange, text);
            check_fault(text.as_bytes(), FaultCode::OutOfRange, text);
        }
    }

    #[test]
    fn citations_must_lead_somewhere() {
        for cite in ["", "/", "/events/1", "/events/00", "events", "/task_id/0", "/Events"] {
            check_fault(
                format!("{{\"score\":1,\"cites\":[\"/events\",\"{cite}\"]}}").as_bytes(),
                FaultCode::BadCite,
                "/cites/1",
            );
        }
    }

    #[test]
    fn ids_tell_the_order() {
        check_fault(br#"{"id":2,"score":1}"#, FaultCode::OutOfOrder, "/id");
        check_fault(br#"{"id":"3","score":1}"#, FaultCode::OutOfOrder, "/id");
        assert_eq!(score(r#"{"score":1,"id":3}"#).value, 1.0);
    }
}
