//! One recorded exchange: `parthack.exchange/1`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::quotes::{self, Quote};
use super::store::is_key;
use crate::completion::Response;
use crate::role::RoleConfig;
use crate::{canonical, request};

/// The format of a recorded exchange.
pub const EXCHANGE_FORMAT: &str = "parthack.exchange/1";

/// The key that a request has that is left out.
const LEFT_OUT: &str = "left_out";
/// The other key of such a request: where the answer's passages stand that the request has too.
const QUOTED: &str = "quoted";

/// A request and what came back. Its file is its canonical JSON and a line end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedExchange {
    /// [`EXCHANGE_FORMAT`].
    pub format: String,
    /// The cell that asked first.
    pub cell: String,
    /// The role that asked first.
    pub role: String,
    /// The role's configuration.
    pub config: RoleConfig,
    /// Which repeat of the question this is, from 0.
    pub repeat: u32,
    /// 0 for the first try, 1 for the retry.
    #[serde(rename = "try")]
    pub attempt: u32,
    /// The request's body; or, where it may not be passed on, `{"left_out": HASH, "quoted": [[at, start, length], …]}` with the BLAKE3 of its
    /// canonical JSON. The answer then lacks the passages that stand in the request, each taken out at byte `at`, and standing there from byte `start` on.
    pub request: Value,
    /// What came back.
    pub response: Response,
    /// The key that this is stored under.
    pub key: String,
    /// BLAKE3 of the canonical JSON of everything else.
    pub hash: String,
}

impl RecordedExchange {
    /// The same with its key and hash as they must be.
    ///
    /// # Errors
    /// An exchange that can't be written as JSON, which no exchange is.
    pub(crate) fn sealed(mut self) -> Result<RecordedExchange, String> {
        if !self.is_stripped() {
            self.key = self.computed_key();
        }
        self.hash = self.computed_hash()?;
        Ok(self)
    }

    /// The bytes of its file.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, String> {
        let mut text = self.text()?;
        text.push('\n');
        Ok(text.into_bytes())
    }

    /// Reads a file's bytes and checks all of them: form, key, hash, and that they are the canonical ones.
    pub(crate) fn read(bytes: &[u8], key: &str) -> Result<RecordedExchange, String> {
        let exchange: RecordedExchange = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let same = |what: &str, found: &str, expected: &str| {
            if found == expected { Ok(()) } else { Err(format!("{what}: found {found:?}, expected {expected:?}")) }
        };
        same("/format", &exchange.format, EXCHANGE_FORMAT)?;
        same("/key", &exchange.key, key)?;
        if exchange.is_stripped() {
            exchange.quotes()?;
        } else {
            same("/key, computed from the request", &exchange.computed_key(), key)?;
        }
        same("/hash", &exchange.hash, &exchange.computed_hash()?)?;
        if exchange.bytes()? != bytes {
            return Err("the bytes are not the canonical ones of their content".to_owned());
        }
        Ok(exchange)
    }

    /// Whether the request is left out. Such an exchange answers its key like any other; that the key is the request's can only be
    /// seen by making the request again.
    #[must_use]
    pub fn is_stripped(&self) -> bool {
        let Value::Object(fields) = &self.request else { return false };
        let hash = fields.get(LEFT_OUT).and_then(Value::as_str);
        let known = fields.keys().all(|key| key == LEFT_OUT || key == QUOTED);
        known && hash.is_some_and(is_key)
    }

    fn quotes(&self) -> Result<Vec<Quote>, String> {
        let quoted = self.request.get(QUOTED).cloned();
        let quotes = quoted.map_or(Ok(Vec::new()), serde_json::from_value);
        quotes.map_err(|error| format!("/request/{QUOTED}: {error}"))
    }

    /// What came back, whole: passages that were left out with the request are put back from `body`, the request's canonical JSON.
    ///
    /// # Errors
    /// `body` is not the request that was left out, or lacks a passage.
    pub(crate) fn response_to(self, body: &str) -> Result<Response, String> {
        if !self.is_stripped() {
            return Ok(self.response);
        }
        let quotes = self.quotes()?;
        if quotes.is_empty() {
            return Ok(self.response);
        }
        let (found, expected) = (blake3::hash(body.as_bytes()).to_hex(), self.request.get(LEFT_OUT));
        if expected.and_then(Value::as_str) != Some(found.as_str()) {
            return Err(format!("/request/{LEFT_OUT}: the hash of another request than {found}"));
        }
        let content = quotes::restore(&self.response.content, &quotes, body)?;
        Ok(Response { content, ..self.response })
    }

    /// The same without the request, and without what the answer quotes of it: for questions about texts that may not be passed on. Texts
    /// of single tokens stay.
    ///
    /// # Errors
    /// As [`RecordedExchange::sealed`].
    pub(crate) fn stripped(mut self) -> Result<RecordedExchange, String> {
        if !self.is_stripped() {
            let body = canonical::request(&self.request);
            let hash = blake3::hash(body.as_bytes()).to_hex().to_string();
            let (rest, quotes) = quotes::cut(&self.response.content, &body);
            self.response.content = rest;
            self.request = serde_json::json!({ LEFT_OUT: hash, QUOTED: quotes });
        }
        self.sealed()
    }

    fn computed_key(&self) -> String {
        request::key(&self.config, &canonical::request(&self.request), self.repeat, self.attempt)
    }

    fn computed_hash(&self) -> Result<String, String> {
        let blank = RecordedExchange { hash: String::new(), ..self.clone() };
        Ok(blake3::hash(blank.text()?.as_bytes()).to_hex().to_string())
    }

    fn text(&self) -> Result<String, String> {
        let value = serde_json::to_value(self).map_err(|error| error.to_string())?;
        Ok(canonical::with_request(&value))
    }
}
