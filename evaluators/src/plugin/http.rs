//! The host of `http:` evaluators: one payload posted, one JSON answer.

use std::future::Future;
use std::time::Duration;

use parthack_model::connection::{first_cause, pool};
use reqwest::Client;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use tokio::runtime::{Builder, Runtime};

use super::answer::{Asked, Outcome, Reply, read_answer, read_line, shown, tail_text};
use super::docket::{Docket, Tally};
use super::fault::{Fault, FaultCode};
use super::hello::Hello;
use super::host::PluginHost;
use super::options::PluginOptions;
use crate::serve::EVALUATOR_PROTOCOL;

/// The header that holds the protocol's name and version.
pub const PROTOCOL_HEADER: &str = "parthack-protocol";
/// How often a wait looks whether the user has stopped the work.
const TICK: Duration = Duration::from_millis(100);

/// Why there is no host for an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no connections to an evaluator: {0}")]
pub struct HttpHostError(String);

/// Scores payloads by an endpoint. Nothing is asked twice: whether a repeat is harmless is not for the host to know.
#[derive(Debug)]
pub struct HttpHost {
    url: String,
    client: Client,
    runtime: Runtime,
    options: PluginOptions,
    tally: Tally,
    left_out_details: bool,
}

impl HttpHost {
    /// A host that has asked nothing yet. Loopback addresses are never asked for through a proxy.
    ///
    /// # Errors
    /// TLS or the runtime can't be set up.
    pub fn new(url: &str, options: PluginOptions) -> Result<HttpHost, HttpHostError> {
        // Many servers close a connection behind an answer without saying so. Nothing is asked twice, so that a payload sent on such a
        // connection would be lost: each has a connection of its own.
        let client = pool(url, 0).map_err(HttpHostError)?.build();
        let client = client.map_err(|error| HttpHostError(first_cause(&error)))?;
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("plugin-http").enable_all().build();
        let runtime = runtime.map_err(|error| HttpHostError(error.to_string()))?;
        Ok(HttpHost { url: url.to_owned(), client, runtime, options, tally: Tally::default(), left_out_details: false })
    }

    /// One exchange; none if the user stopped the work.
    fn ask(&self, payload: &[u8]) -> Option<(Outcome, bool)> {
        let result = self.runtime.block_on(unless(|| self.options.is_stopped(), self.post(payload)))?;
        let body = match result {
            Ok(body) => body,
            Err(fault) => return Some((Outcome::Fault(fault), false)),
        };
        let answer = read_line(&body).map(|json| read_answer(&json, Asked { payload, number: 1 }));
        Some(match answer {
            Ok(answer) => (answer.outcome, answer.left_out_detail),
            Err(fault) => (Outcome::Fault(fault), false),
        })
    }

    async fn post(&self, payload: &[u8]) -> Result<Vec<u8>, Fault> {
        let request = self
            .client
            .post(&self.url)
            .timeout(self.options.timeout)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header(PROTOCOL_HEADER, EVALUATOR_PROTOCOL)
            .body(payload.to_vec());
        let mut response = request.send().await.map_err(|error| self.fault(error))?;
        let status = response.status();
        let content = content_type(response.headers());
        let most = self.options.answer_bytes;
        let too_long = || Fault::new(FaultCode::TooLong, format!("a body of more than {most} bytes"));
        let is_success = status.is_success();
        if is_success && response.content_length().is_some_and(|length| length > most as u64) {
            return Err(too_long());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.fault(error))? {
            body.extend_from_slice(&chunk);
            if body.len() > most {
                if is_success {
                    return Err(too_long());
                }
                break;
            }
        }
        let head = || tail_text(&body[..body.len().min(self.options.tail_bytes)]).trim_end().to_owned();
        if !is_success {
            let message = format!("status {}; expected 200", status.as_u16());
            return Err(Fault::new(FaultCode::HttpStatus, message).with_tail(head()));
        }
        match content {
            Some(content) if !is_json(&content) => {
                let message = format!("content type {}; expected application/json", shown(content.as_bytes()));
                Err(Fault::new(FaultCode::HttpContent, message).with_tail(head()))
            }
            _ => Ok(body),
        }
    }

    /// What happened, without the URL, which may hold a key.
    fn fault(&self, error: reqwest::Error) -> Fault {
        let error = error.without_url();
        if error.is_timeout() {
            return Fault::new(FaultCode::TimedOut, format!("no answer within {:?}", self.options.timeout));
        }
        let (code, what) = if error.is_connect() || error.is_builder() {
            (FaultCode::HttpUnreachable, "cannot connect")
        } else {
            (FaultCode::HttpCut, "the connection broke before the answer was whole")
        };
        Fault::new(code, format!("{what}: {}", first_cause(&error)))
    }
}

impl PluginHost for HttpHost {
    fn score(&mut self, payloads: &[&[u8]]) -> Vec<Reply> {
        let docket = Docket::new(payloads, self.tally, &self.options);
        let this = &*self;
        let left_out = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..this.options.workers.clamp(1, payloads.len().max(1)) {
                scope.spawn(|| {
                    while let Some(place) = docket.take() {
                        let Some((outcome, left_out_detail)) = this.ask(payloads[place]) else { return };
                        left_out.fetch_or(left_out_detail, std::sync::atomic::Ordering::Relaxed);
                        docket.settle(place, outcome);
                    }
                });
            }
        });
        let (replies, tally) = docket.finish(payloads);
        self.tally = tally;
        self.left_out_details |= left_out.into_inner();
        replies
    }

    fn hello(&self) -> Option<Hello> {
        None
    }

    fn notes(&self) -> Vec<String> {
        let note = format!("details beyond {} bytes were left out", super::answer::MAX_DETAIL_BYTES);
        if self.left_out_details { vec![note] } else { Vec::new() }
    }

    fn resume(&mut self, earlier: &mut dyn Iterator<Item = Option<FaultCode>>) {
        earlier.for_each(|fault| self.tally.count_fault(fault, &self.options));
    }

    fn isolation(&self) -> String {
        "an endpoint of its own, out of the host's hands".to_owned()
    }
}

/// What a future comes to, unless the user stops the work first.
async fn unless<T>(stop: impl Fn() -> bool, future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    while !stop() {
        if let Ok(done) = tokio::time::timeout(TICK, future.as_mut()).await {
            return Some(done);
        }
    }
    None
}

fn content_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?;
    let text = String::from_utf8_lossy(value.as_bytes());
    Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// A number alone is often sent as plain text.
fn is_json(content: &str) -> bool {
    ["application/json", "text/json", "text/plain", "application/octet-stream"].contains(&content)
        || content.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types() {
        assert!(["application/json", "application/problem+json", "text/plain"].into_iter().all(is_json));
        assert!(!["text/html", "", "application/xml"].into_iter().any(is_json));
    }
}
