//! What an answer says, checked: nothing is believed because a schema was asked for.

use parthack_env::json::Json;
use parthack_model::answer::{Answer, Token};

use super::decimal::{MILLIONTHS, integer_score, score};
use super::pointer;
use crate::score::ExactScore;

/// The most pointers that an answer may cite.
pub const MAX_CITES: usize = 4;

/// How the score field is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A JSON number in [0, 1].
    Unit,
    /// A JSON number in [0, 10].
    Ten,
    /// An integer from 0 to 100.
    Percent,
    /// An integer from 0 to 10.
    WholeTen,
}

impl Scale {
    /// A number's text on this scale.
    ///
    /// # Errors
    /// Out of range, or no integer where one is wanted.
    pub fn read(self, text: &str) -> Result<ExactScore, String> {
        match self {
            Scale::Unit => score(text, 0),
            Scale::Ten => score(text, 1),
            Scale::Percent => integer_score(text, 100),
            Scale::WholeTen => integer_score(text, 10),
        }
    }
}

/// The object that an answer is, its keys being exactly `keys`.
///
/// # Errors
/// Not strict JSON, not an object, a key too many or too few.
pub fn object<'a>(answer: &'a Answer, keys: &[&str]) -> Result<Json<'a>, String> {
    let json = Json::parse(answer.content.as_bytes()).map_err(|error| format!("not strict JSON: {error}"))?;
    let Json::Object(entries) = &json else { return Err(format!("expected an object, found {}", json.describe())) };
    if let Some((key, _)) = entries.iter().find(|(key, _)| !keys.contains(&key.as_ref())) {
        return Err(format!("/{key}: no such key"));
    }
    match keys.iter().find(|key| json.get(key).is_none()) {
        Some(key) => Err(format!("/{key} is missing")),
        None => Ok(json),
    }
}

/// The score field.
///
/// # Errors
/// No number, or one out of range.
pub fn score_field(json: &Json<'_>, scale: Scale) -> Result<ExactScore, String> {
    match json.get("score") {
        Some(Json::Number(text)) => scale.read(text).map_err(|error| format!("/score: {error}")),
        other => Err(format!("/score: expected a number, found {}", described(other))),
    }
}

/// The verdicts of items, in the order of `keys`: 1 for yes, 0 for no.
///
/// # Errors
/// A key too many or too few, or a verdict that is neither.
pub fn verdicts(json: &Json<'_>, keys: &[String]) -> Result<Vec<bool>, String> {
    let Some(Json::Object(entries)) = json.get("verdicts") else {
        return Err(format!("/verdicts: expected an object, found {}", described(json.get("verdicts"))));
    };
    if let Some((key, _)) = entries.iter().find(|(key, _)| keys.iter().all(|known| known != key)) {
        return Err(format!("/verdicts/{key}: no such item"));
    }
    let verdict = |key: &String| match entries.iter().find(|(name, _)| name == key).map(|(_, value)| value) {
        Some(Json::String(word)) if word == "yes" => Ok(true),
        Some(Json::String(word)) if word == "no" => Ok(false),
        other => Err(format!("/verdicts/{key}: expected yes or no, found {}", described(other))),
    };
    keys.iter().map(verdict).collect()
}

/// The cited pointers, without repeats.
///
/// # Errors
/// None, too many, or one that leads nowhere in the document that was judged.
pub fn cites(json: &Json<'_>, document: &Json<'_>) -> Result<Vec<String>, String> {
    let Some(Json::Array(items)) = json.get("cites") else {
        return Err(format!("/cites: expected an array, found {}", described(json.get("cites"))));
    };
    if items.is_empty() || items.len() > MAX_CITES {
        return Err(format!("/cites: expected 1 to {MAX_CITES} pointers, found {}", items.len()));
    }
    let mut cites: Vec<String> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Json::String(text) = item else {
            return Err(format!("/cites/{index}: expected a string, found {}", item.describe()));
        };
        if text.is_empty() || pointer::resolve(document, text).is_none() {
            let found: String = text.chars().take(80).collect();
            return Err(format!("/cites/{index}: {found:?} leads to nothing in the document"));
        }
        if !cites.iter().any(|cite| cite == text) {
            cites.push(text.clone().into_owned());
        }
    }
    Ok(cites)
}

/// The rationale must be a string; what it says is not looked at.
///
/// # Errors
/// Something else.
pub fn rationale(json: &Json<'_>) -> Result<(), String> {
    match json.get("rationale") {
        Some(Json::String(_)) => Ok(()),
        other => Err(format!("/rationale: expected a string, found {}", described(other))),
    }
}

fn described(json: Option<&Json<'_>>) -> String {
    json.map_or_else(|| "nothing".to_owned(), Json::describe)
}

/// P(yes) of each item, in millionths: `yes / (yes + no)` over the likeliest tokens at the place that decides its verdict.
///
/// # Errors
/// No probabilities, tokens that do not spell the answer, or a place where neither word is among the likeliest.
pub fn probabilities(answer: &Answer, keys: &[String]) -> Result<Vec<ExactScore>, String> {
    if answer.tokens.is_empty() {
        return Err("the answer came without token probabilities, which answer mode logprobs needs".to_owned());
    }
    let places = verdict_places(&answer.content)?;
    let probability = |key: &String| {
        let place = places.iter().find(|(name, _)| name == key).map(|(_, place)| *place);
        let place = place.ok_or_else(|| format!("/verdicts/{key} is missing"))?;
        let token = token_at(answer, place)
            .ok_or_else(|| format!("/verdicts/{key}: the tokens do not spell the answer's text"))?;
        yes_share(token).ok_or_else(|| format!("/verdicts/{key}: no probability of yes or no at its token"))
    };
    keys.iter().map(probability).collect()
}

/// The token in whose text a byte of the answer lies. Servers drop what a model wraps around its answer (a code fence), so the
/// answer is looked for in the text that all tokens spell; where an odd token keeps it from being there, it is counted from the
/// end.
fn token_at(answer: &Answer, place: usize) -> Option<&Token> {
    let content = answer.content.as_str();
    let spelled: String = answer.tokens.iter().map(|token| token.text.as_str()).collect();
    if let Some(start) = spelled.find(content) {
        let mut end = 0;
        return answer.tokens.iter().find(|token| {
            end += token.text.len();
            start + place < end
        });
    }
    let mut end = content.len();
    // A token that ends the message may follow the text and have one of its own, or none.
    let last =
        answer.tokens.iter().rposition(|token| content.ends_with(token.text.as_str()) && !token.text.is_empty())?;
    for token in answer.tokens[..=last].iter().rev() {
        if !content.get(..end).is_some_and(|start| start.ends_with(token.text.as_str())) {
            return None;
        }
        end -= token.text.len();
        if place >= end {
            return Some(token);
        }
    }
    None
}

fn yes_share(token: &Token) -> Option<ExactScore> {
    let own = (token.text.as_str(), token.logprob);
    let is_listed = token.top.iter().any(|(text, _)| *text == token.text);
    let mut shares = (0.0, 0.0);
    let listed = token.top.iter().map(|(text, logprob)| (text.as_str(), *logprob));
    for (text, logprob) in listed.chain(Some(own).filter(|_| !is_listed)) {
        if logprob.is_nan() || logprob > 1e-6 {
            return None;
        }
        let word = text.trim_matches(|character: char| !character.is_alphanumeric()).to_lowercase();
        match word.as_str() {
            "yes" | "ye" | "y" => shares.0 += logprob.exp(),
            "no" | "n" => shares.1 += logprob.exp(),
            _ => {}
        }
    }
    let both = shares.0 + shares.1;
    if both <= 0.0 {
        return None;
    }
    let millionths = (shares.0 / both * f64::from(MILLIONTHS)).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to a million")]
    Some(ExactScore::new((millionths as u32).min(MILLIONTHS), MILLIONTHS))
}

/// Where the verdict of each item begins: the byte after the quote that opens its value, in the object under `verdicts`.
fn verdict_places(content: &str) -> Result<Vec<(String, usize)>, String> {
    let strings = strings_by_depth(content);
    let object = strings.iter().position(|string| string.depth == 1 && string.is_key && string.text == "\"verdicts\"");
    let Some(object) = object else { return Err("/verdicts is missing".to_owned()) };
    let inside = strings[object + 1..].iter().take_while(|string| string.depth == 2);
    let mut places = Vec::new();
    let mut key = None;
    for string in inside {
        if string.is_key {
            key = match Json::parse(string.text.as_bytes()) {
                Ok(Json::String(text)) => Some(text.into_owned()),
                _ => None,
            };
        } else if let Some(key) = key.take() {
            places.push((key, string.start + 1));
        }
    }
    Ok(places)
}

struct Quoted<'a> {
    /// With its quotes.
    text: &'a str,
    start: usize,
    depth: usize,
    is_key: bool,
}

/// The strings of a JSON text that has been read already, with how deep they stand.
fn strings_by_depth(content: &str) -> Vec<Quoted<'_>> {
    let bytes = content.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    let mut strings = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at;
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += 1 + usize::from(bytes[at] == b'\\');
                }
                let Some(text) = content.get(start..=at) else { break };
                let is_key = content[at + 1..].trim_start().starts_with(':');
                strings.push(Quoted { text, start, depth, is_key });
            }
            _ => {}
        }
        at += 1;
    }
    strings
}
