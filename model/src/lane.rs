//! The way to one provider: connections, key, and what bounds them.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Runtime;

use crate::answer::NoAnswer;
use crate::completion::Response;
use crate::environment::Environment;
use crate::error::ClientError;
use crate::http::{self, Fault};
use crate::limits::{Gate, Rates, Stopped, TICK, UnderWay};
use crate::provider::Provider;
use crate::secret::{ApiKey, redact};

/// One provider's connections.
#[derive(Debug)]
pub(crate) struct Lane {
    provider: &'static Provider,
    base_url: String,
    key: Option<ApiKey>,
    http: reqwest::Client,
    gate: Gate,
    rates: Rates,
    began: Instant,
}

/// How many at once and how fast.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) connections: usize,
    pub(crate) requests_per_minute: Option<u32>,
    pub(crate) tokens_per_minute: Option<u32>,
}

/// What one request came to.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) result: Result<Response, NoAnswer>,
    /// Whether the request reached the server.
    pub(crate) sent: bool,
    /// The wait that the server asks for.
    pub(crate) retry_after: Option<Duration>,
}

impl Lane {
    pub(crate) fn new(
        provider: &'static Provider,
        environment: &Environment,
        bounds: Bounds,
    ) -> Result<Lane, ClientError> {
        let base_url = environment
            .base_url(provider)
            .map_err(|error| ClientError::usage(error, format!("the default is {}", provider.base_url)))?;
        let http = http::client(&base_url, bounds.connections)
            .map_err(|error| ClientError::usage(format!("{}: {error}", provider.name), "check TLS certificates"))?;
        Ok(Lane {
            provider,
            base_url,
            key: environment.key(provider),
            http,
            gate: Gate::new(bounds.connections),
            rates: Rates::new(bounds.requests_per_minute, bounds.tokens_per_minute),
            began: Instant::now(),
        })
    }

    /// Whether a key is there where one is needed, and doesn't stand in what is to be sent.
    pub(crate) fn ready(&self, body: &str) -> Result<(), ClientError> {
        match &self.key {
            None if self.provider.needs_key => {
                Err(ClientError::NoKey { provider: self.provider.name, variables: self.provider.key_variables })
            }
            Some(key) if key.stands_in(body) => Err(ClientError::usage(
                format!("the prompt holds the key of {}", self.provider.name),
                "take the key out of the task or the prompt file; a recording would have published it",
            )),
            _ => Ok(()),
        }
    }

    /// Sends a chat request when bounds allow. `tokens` is what it counts for.
    pub(crate) fn chat(
        &self,
        runtime: &Runtime,
        body: &str,
        tokens: u64,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
        under_way: &UnderWay,
    ) -> Result<Sent, Stopped> {
        let _place = self.gate.enter(stop)?;
        let delay = self.rates.delay(self.began.elapsed(), tokens);
        wait(runtime, delay, stop)?;
        let url = format!("{}/chat/completions", self.base_url);
        let request = under_way.begin();
        let reply = runtime.block_on(async {
            let mut reply = std::pin::pin!(http::post(&self.http, &url, self.key.as_ref(), body.to_owned(), timeout));
            loop {
                match tokio::time::timeout(TICK, reply.as_mut()).await {
                    Ok(reply) => break reply,
                    // It may be billed, so it is waited for.
                    Err(_) if stop() => request.is_waited_for(),
                    Err(_) => {}
                }
            }
        });
        drop(request);
        let reply = match reply {
            Ok(reply) => reply,
            Err(Fault { reason, sent }) => return Ok(Sent { result: Err(reason), sent, retry_after: None }),
        };
        if let Some(pause) = reply.retry_after {
            self.rates.pause(self.began.elapsed() + pause);
        }
        let result = Response::read(reply.status, &reply.body, self.key.as_ref());
        Ok(Sent { result, sent: (200..300).contains(&reply.status), retry_after: reply.retry_after })
    }

    /// A text from the server, or about it, without the key.
    pub(crate) fn clean(&self, text: String) -> String {
        redact(self.key.as_ref(), text)
    }

    fn clean_texts(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.clean(std::mem::take(text)),
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.clean_texts(element)),
            Value::Object(members) => members.values_mut().for_each(|member| self.clean_texts(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A small document of the server, `path` counted from the server's root; `None` where it has none.
    pub(crate) fn document(&self, runtime: &Runtime, path: &str) -> Option<Value> {
        const TIMEOUT: Duration = Duration::from_secs(10);
        let root = self.base_url.strip_suffix("/v1").unwrap_or(&self.base_url);
        let url = format!("{root}{path}");
        let bytes = runtime.block_on(http::get(&self.http, &url, self.key.as_ref(), TIMEOUT))?;
        let mut value = serde_json::from_slice(&bytes).ok()?;
        // Before anything is cut out of a text: a part of a key would not be found.
        self.clean_texts(&mut value);
        Some(value)
    }
}

/// Waits, in steps that notice a stop.
pub(crate) fn wait(runtime: &Runtime, mut rest: Duration, stop: &dyn Fn() -> bool) -> Result<(), Stopped> {
    loop {
        if stop() {
            return Err(Stopped);
        }
        if rest.is_zero() {
            return Ok(());
        }
        let step = rest.min(TICK);
        runtime.block_on(async { tokio::time::sleep(step).await });
        rest = rest.saturating_sub(step);
    }
}
