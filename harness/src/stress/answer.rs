//! One line of a user's evaluator, read strictly (`parthack.evaluator/1`; SPEC §6): nothing is believed because it was asked for.

use parthack_env::json::Json;
use parthack_evaluators::judge::pointer::resolve;
use parthack_evaluators::serve::EVALUATOR_PROTOCOL;

use crate::exact::Ratio;
use crate::ledger::RecordedScore;

/// Bytes of the longest answer.
pub const MAX_ANSWER: usize = 1 << 20;
/// Deepest nesting of an answer.
const MAX_DEPTH: usize = 64;
/// Keys of an answer.
const KEYS: [&str; 7] = ["score", "exact", "no_verdict", "detail", "cites", "id", "payload"];

/// Why a payload has no score although the evaluator did not say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A stable word.
    pub code: &'static str,
    /// What happened.
    pub message: String,
}

impl Fault {
    /// A fault.
    #[must_use]
    pub fn new(code: &'static str, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into() }
    }
}

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The evaluator's hello, which may come once and first.
    Hello,
    /// An answer.
    Answer(RecordedScore),
}

/// Reads a line. `payload` is what was asked about: cited pointers must exist in it.
///
/// # Errors
/// `bad_utf8`, `bad_json`, `not_finite`, `out_of_range`, `bad_answer`, `bad_cite`, `bad_protocol`.
pub fn read(line: &[u8], payload: &[u8]) -> Result<Line, Fault> {
    let shown = || cut(&String::from_utf8_lossy(line));
    let text = std::str::from_utf8(line)
        .map_err(|error| Fault::new("bad_utf8", format!("byte {} is no UTF-8: {}", error.valid_up_to(), shown())))?;
    if depth_of(text) > MAX_DEPTH {
        return Err(Fault::new("bad_json", format!("nested deeper than {MAX_DEPTH}")));
    }
    let bare = text.trim();
    if matches!(bare.trim_start_matches(['-', '+']), "NaN" | "nan" | "Infinity" | "inf" | "Inf" | "infinity") {
        return Err(Fault::new("not_finite", format!("found {bare}, expected a number from 0 to 1")));
    }
    let json = Json::parse(bare.as_bytes()).map_err(|error| {
        let names_none = ["NaN", "Infinity"].iter().any(|word| bare.contains(word));
        let code = if names_none { "not_finite" } else { "bad_json" };
        Fault::new(code, format!("{error}: {}", shown()))
    })?;
    let entries = match &json {
        Json::Number(number) => return score_of(number, None).map(Line::Answer),
        Json::Object(entries) => entries,
        other => {
            return Err(Fault::new(
                "bad_answer",
                format!("found {}, expected an object or a number", other.describe()),
            ));
        }
    };
    if let Some(protocol) = json.get("protocol") {
        return match protocol.as_str() {
            Some(EVALUATOR_PROTOCOL) => Ok(Line::Hello),
            _ => {
                let found = protocol.describe();
                Err(Fault::new("bad_protocol", format!("found protocol {found}, expected {EVALUATOR_PROTOCOL:?}")))
            }
        };
    }
    if let Some((key, _)) = entries.iter().find(|(key, _)| !KEYS.contains(&key.as_ref())) {
        return Err(Fault::new("bad_answer", format!("found key {key:?}, expected {}", KEYS.join(", "))));
    }
    match (json.get("score"), json.get("no_verdict")) {
        (Some(Json::Number(number)), None) => {
            let exact = match json.get("exact") {
                None | Some(Json::Null) => None,
                Some(Json::String(text)) => Some(text.as_ref()),
                Some(other) => {
                    return Err(Fault::new(
                        "bad_answer",
                        format!("/exact: found {}, expected a ratio", other.describe()),
                    ));
                }
            };
            check_cites(&json, payload)?;
            score_of(number, exact).map(Line::Answer)
        }
        (None, Some(Json::String(reason))) => Ok(Line::Answer(RecordedScore::NoVerdict(cut(reason)))),
        (Some(_), Some(_)) => Err(Fault::new("bad_answer", "a score and no verdict at once")),
        (Some(other), None) => {
            Err(Fault::new("bad_answer", format!("/score: found {}, expected a number", other.describe())))
        }
        (None, Some(other)) => {
            Err(Fault::new("bad_answer", format!("/no_verdict: found {}, expected a text", other.describe())))
        }
        (None, None) => Err(Fault::new("bad_answer", format!("neither score nor no_verdict: {}", shown()))),
    }
}

fn score_of(number: &str, exact: Option<&str>) -> Result<RecordedScore, Fault> {
    let range = |found: &str| Fault::new("out_of_range", format!("found {found}, expected a number from 0 to 1"));
    let value: f64 = number.parse().map_err(|_| range(number))?;
    if !value.is_finite() {
        return Err(Fault::new("not_finite", format!("found {number}, expected a number from 0 to 1")));
    }
    if !(0.0..=1.0).contains(&value) {
        return Err(range(number));
    }
    let Some(text) = exact else { return Ok(RecordedScore::Measured((value + 0.0).to_string())) };
    let ratio = text.parse::<Ratio>().ok().filter(|ratio| *ratio >= Ratio::ZERO && *ratio <= Ratio::ONE);
    match ratio {
        Some(ratio) if (ratio.to_f64() - value).abs() < 1e-9 => Ok(RecordedScore::Exact(ratio.to_string())),
        _ => Err(Fault::new(
            "bad_answer",
            format!("/exact: found {text:?} beside the score {number}, expected the same number"),
        )),
    }
}

fn check_cites(json: &Json<'_>, payload: &[u8]) -> Result<(), Fault> {
    let Some(cites) = json.get("cites") else { return Ok(()) };
    let Json::Array(cites) = cites else {
        return Err(Fault::new("bad_answer", format!("/cites: found {}, expected a list", cites.describe())));
    };
    let document = Json::parse(payload).ok();
    for (index, cite) in cites.iter().enumerate() {
        let found = cite.as_str().and_then(|pointer| resolve(document.as_ref()?, pointer));
        if found.is_none() {
            let told = cite.as_str().map_or_else(|| cite.describe(), |text| format!("{:?}", cut(text)));
            return Err(Fault::new("bad_cite", format!("/cites/{index}: {told} is no pointer into the payload")));
        }
    }
    Ok(())
}

/// How deep brackets nest, texts left out; so that no reader recurses as deep as a hostile line wants.
fn depth_of(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn cut(text: &str) -> String {
    const MOST: usize = 300;
    if text.chars().count() <= MOST { text.to_owned() } else { text.chars().take(MOST).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &[u8] = br#"{"events":[{"id":"a"}]}"#;

    fn code(line: &str) -> &'static str {
        read(line.as_bytes(), PAYLOAD).expect_err(line).code
    }

    #[test]
    fn good_lines() {
        let answer = |line: &str| read(line.as_bytes(), PAYLOAD).unwrap_or_else(|fault| panic!("{line}: {fault:?}"));
        let measured = |text: &str| Line::Answer(RecordedScore::Measured(text.to_owned()));
        assert_eq!(answer(r#"{"score": 0.5}"#), measured("0.5"));
        assert_eq!(answer("0.50"), measured("0.5"));
        assert_eq!(answer(" 1e-1 \r"), measured("0.1"));
        assert_eq!(answer("-0.0"), measured("0"));
        assert_eq!(
            answer(r#"{"score":0.3333333333333333,"exact":"1/3"}"#),
            Line::Answer(RecordedScore::Exact("1/3".to_owned()))
        );
        assert_eq!(answer(r#"{"score":1,"cites":["/events/0/id",""],"detail":{"why":[1.5]}}"#), measured("1"));
        assert_eq!(answer(r#"{"no_verdict":"unsure"}"#), Line::Answer(RecordedScore::NoVerdict("unsure".to_owned())));
        assert_eq!(answer(r#"{"protocol":"parthack.evaluator/1","name":"x","deterministic":true}"#), Line::Hello);
    }

    #[test]
    fn each_wrong_line_has_its_code() {
        for (line, expected) in [
            ("", "bad_json"),
            ("half {", "bad_json"),
            (r#"{"score":0.5,"score":0.6}"#, "bad_json"),
            ("NaN", "not_finite"),
            (r#"{"score":NaN}"#, "not_finite"),
            (r#"{"score":-Infinity}"#, "not_finite"),
            ("1.5", "out_of_range"),
            (r#"{"score":-0.1}"#, "out_of_range"),
            (r#"{"score":"0.5"}"#, "bad_answer"),
            (r#"{"score":0.5,"no_verdict":"x"}"#, "bad_answer"),
            (r#"{"score":0.5,"exact":"2/3"}"#, "bad_answer"),
            (r#"{"points":3}"#, "bad_answer"),
            ("[0.5]", "bad_answer"),
            ("true", "bad_answer"),
            (r#"{"score":0.5,"cites":["/events/7"]}"#, "bad_cite"),
            (r#"{"score":0.5,"cites":[4]}"#, "bad_cite"),
            (r#"{"score":0.5,"cites":"/events"}"#, "bad_answer"),
            (r#"{"protocol":"parthack.evaluator/9"}"#, "bad_protocol"),
        ] {
            assert_eq!(code(line), expected, "{line}");
        }
        assert_eq!(code(&"[".repeat(100_000)), "bad_json");
        assert_eq!(read(b"\xff\xfe", PAYLOAD).expect_err("bytes").code, "bad_utf8");
        assert_eq!(code("1e999"), "not_finite");
    }
}
