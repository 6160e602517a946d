//! A chat-completions server on 127.0.0.1 that answers any schema: a stand-in for a model whose answers are of the right
//! form, depend on the request alone, and mean nothing. It counts what it is asked, and has the faults that it is told to have.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Map, Value, json};

/// What the server answers instead, by the request: a status and a body; nothing for an answer of the right form.
type Fault = dyn Fn(&Value) -> Option<(u16, String)> + Send + Sync;

/// The server; it serves until the process ends.
pub(crate) struct Loopback {
    /// `http://127.0.0.1:PORT/v1`
    pub(crate) url: String,
    requests: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Loopback {
    /// Starts it.
    pub(crate) fn start() -> Loopback {
        Loopback::with(|_| None)
    }

    /// Starts one with a fault.
    pub(crate) fn with(fault: impl Fn(&Value) -> Option<(u16, String)> + Send + Sync + 'static) -> Loopback {
        let fault: Arc<Fault> = Arc::new(fault);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let (requests, heads) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (counted, kept) = (Arc::clone(&requests), Arc::clone(&heads));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (counted, kept, fault) = (Arc::clone(&counted), Arc::clone(&kept), Arc::clone(&fault));
                thread::spawn(move || serve(&stream, &counted, &kept, fault.as_ref()));
            }
        });
        Loopback { url, requests, heads }
    }

    /// Chat completions that were asked for.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// The heads of all requests.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no panic").clone()
    }
}

fn serve(stream: &TcpStream, requests: &AtomicUsize, heads: &Mutex<Vec<String>>, fault: &Fault) {
    let mut reader = BufReader::new(stream);
    while let Some((head, body)) = read_request(&mut reader) {
        let is_chat = head.starts_with("POST /v1/chat/completions ");
        let (status, text) = match is_chat {
            true => answer(&body, fault),
            false => (404, json!({ "error": "nothing here" }).to_string()),
        };
        heads.lock().expect("no panic").push(head);
        requests.fetch_add(usize::from(is_chat), Ordering::SeqCst);
        let mut out = stream;
        let sent = write!(
            out,
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        );
        if sent.is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head[before..].trim().is_empty() {
            break;
        }
    }
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn answer(body: &[u8], fault: &Fault) -> (u16, String) {
    let request: Value = serde_json::from_slice(body).expect("a JSON body");
    fault(&request).unwrap_or_else(|| (200, completion(body, &request).to_string()))
}

/// The body of a completion with this text.
pub(crate) fn completion_of(text: &str, finish_reason: &str) -> String {
    let message = json!({"role": "assistant", "content": text});
    json!({
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    })
    .to_string()
}

/// An answer of the form that a request asks for.
pub(crate) fn sample_of(request: &Value) -> Value {
    let seed = request.to_string().len() as u64;
    sample(&form_of(request)["schema"], &mut Draws(seed))
}

/// Name and schema of the form that a request asks for: in its `response_format`, or told in the system message.
fn form_of(request: &Value) -> Value {
    match &request["response_format"]["json_schema"] {
        Value::Null => {
            let system = request["messages"][0]["content"].as_str().unwrap_or_default();
            let schema = system.lines().last().and_then(|line| serde_json::from_str(line).ok());
            json!({"schema": schema.unwrap_or(Value::Null)})
        }
        form => form.clone(),
    }
}

fn completion(body: &[u8], request: &Value) -> Value {
    let seed = body.iter().fold(17_u64, |seed, byte| seed.wrapping_mul(1_099_511_628_211) ^ u64::from(*byte));
    let form = &form_of(request);
    let user = request["messages"]
        .as_array()
        .and_then(|all| all.last())
        .map_or("", |last| last["content"].as_str().unwrap_or_default());
    let mut draws = Draws(seed);
    let content = match form["name"].as_str() {
        Some("gcpc_checklist") => checklist(user, &form["schema"], &mut draws),
        Some("gcpc_requirements") => {
            let stated = block("instruction", user).into_iter();
            let stated = stated.map(|(_, text)| json!({"quote": text, "requirement": format!("It holds that {text}")}));
            json!({"requirements": stated.collect::<Vec<_>>()})
        }
        Some("gcpc_verdicts") => verdicts(user, &form["schema"], &mut draws),
        _ => sample(&form["schema"], &mut draws),
    };
    let content = content.to_string();
    json!({
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": body.len() / 4, "completion_tokens": content.len() / 4},
    })
}

/// Draws that depend on the request alone.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

/// A value that meets a schema of the subset that prompts use.
fn sample(schema: &Value, draws: &mut Draws) -> Value {
    if let Some(options) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        return sample(&options[draws.below(options.len())], draws);
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values[draws.below(values.len())].clone();
    }
    let bound = |key: &str, default: u64| schema.get(key).and_then(Value::as_u64).unwrap_or(default);
    match schema.get("type").and_then(Value::as_str).unwrap_or("object") {
        "object" => {
            let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
            let required: Vec<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let fields = properties.iter().filter(|(key, _)| required.contains(&key.as_str()));
            Value::Object(fields.map(|(key, schema)| (key.clone(), sample(schema, draws))).collect::<Map<_, _>>())
        }
        "array" => {
            let least = bound("minItems", 0) as usize;
            let most = bound("maxItems", least as u64 + 2) as usize;
            let count = least + draws.below(most.min(least + 2) - least + 1);
            Value::Array((0..count).map(|_| sample(&schema["items"], draws)).collect())
        }
        "integer" => {
            json!(bound("minimum", 0) + draws.below((bound("maximum", 100) - bound("minimum", 0) + 1) as usize) as u64)
        }
        "number" => json!(draws.below(101) as f64 / 100.0),
        "boolean" => json!(draws.below(2) == 1),
        "null" => Value::Null,
        _ => json!(format!("The ledger of part {} is closed and stays closed.", draws.below(1000))),
    }
}

/// Lines of a block of data: label and text.
fn block<'u>(name: &str, user: &'u str) -> Vec<(&'u str, &'u str)> {
    let lines = user.lines().skip_while(|line| !line.starts_with(&format!("<{name} "))).skip(1);
    lines.take_while(|line| !line.starts_with("</")).filter_map(|line| line.split_once("| ")).collect()
}

/// A checklist that the gates accept where the instruction has words enough: five of them quoted an item, and said in words of no code. An instruction that
/// speaks of misquoting is misquoted.
fn checklist(user: &str, schema: &Value, draws: &mut Draws) -> Value {
    const WORDS: [&str; 6] = ["address", "refund", "exchange", "receipt", "delivery", "greeting"];
    let item = &schema["properties"]["items"]["items"];
    let kinds = item["anyOf"].as_array().map_or(std::slice::from_ref(item), Vec::as_slice);
    let tests = kinds.iter().filter_map(|kind| kind["properties"]["test"]["enum"].as_array()).flatten();
    let tests: Vec<&str> = tests.filter_map(Value::as_str).collect();
    let lines = block("instruction", user);
    let words: Vec<Vec<&str>> = lines.iter().map(|(_, text)| text.split(' ').collect()).collect();
    let quotes = words.iter().flat_map(|words| words.chunks_exact(5)).map(|words| words.join(" "));
    let mut item = |(text, word): (String, &str)| {
        let test = tests[draws.below(tests.len())];
        let text = if user.contains("misquoted") { format!("{text} and so on") } else { text };
        let route = if test == "none" { "judge" } else { "assertion" };
        json!({"quote": text, "requirement": format!("What concerns the {word} is settled."), "route": route, "test": test})
    };
    json!({"items": quotes.zip(WORDS).map(&mut item).collect::<Vec<_>>()})
}

/// Verdicts whose evidence really stands in the log.
fn verdicts(user: &str, schema: &Value, draws: &mut Draws) -> Value {
    let evidence: Vec<(&str, &str)> =
        block("log", user).into_iter().filter(|(label, _)| label.starts_with(['o', 'f'])).collect();
    let verdicts = schema["properties"]["verdicts"]["properties"].as_object().cloned().unwrap_or_default();
    let verdict = |(id, schema): (&String, &Value)| {
        let (span, text) = evidence[draws.below(evidence.len())];
        let text: String = text.chars().take(40).collect();
        let label = sample(&schema["properties"]["verdict"], draws);
        (id.clone(), json!({"evidence": [{"span": span, "text": text}], "verdict": label}))
    };
    json!({"verdicts": verdicts.iter().map(verdict).collect::<Map<_, _>>()})
}
