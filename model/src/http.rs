//! HTTP: one request, one whole answer, within a time and a size.

use std::time::Duration;

use reqwest::Client;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};

use crate::answer::NoAnswer;
use crate::completion::MAX_BODY_BYTES;
use crate::connection::{first_cause, pool};
use crate::secret::{ApiKey, redact};

/// The longest that a server's `Retry-After` is honoured.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// A whole HTTP answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

/// Why there is none.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) reason: NoAnswer,
    /// Whether the request reached the server, which may then bill it.
    pub(crate) sent: bool,
}

/// A connection pool for one provider.
pub(crate) fn client(base_url: &str, connections: usize) -> Result<Client, String> {
    pool(base_url, connections)?.build().map_err(|error| describe(error, None))
}

/// Checks a base URL and cuts its last slash.
pub(crate) fn base_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest {
        // What stands before an @ may be a password, so the text is not repeated.
        Some(rest) if rest.contains('@') => Err("a base URL with a user name; give the key in its variable".to_owned()),
        Some(rest) if !rest.is_empty() && !rest.contains(['?', '#', ' ']) => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err(format!("a base URL {text:?}; expected http(s)://HOST[:PORT]/PATH, without a query")),
    }
}

/// Posts a JSON body and reads the answer, all within `timeout`.
pub(crate) async fn post(
    client: &Client,
    url: &str,
    key: Option<&ApiKey>,
    body: String,
    timeout: Duration,
) -> Result<Reply, Fault> {
    let mut request = client.post(url).timeout(timeout).header(CONTENT_TYPE, "application/json").body(body);
    if let Some(value) = key.and_then(ApiKey::header) {
        request = request.header(AUTHORIZATION, value);
    }
    let response = request.send().await.map_err(|error| fault(error, key))?;
    read(response, MAX_BODY_BYTES, key).await
}

/// Gets a small document; whatever fails is `None`.
pub(crate) async fn get(client: &Client, url: &str, key: Option<&ApiKey>, timeout: Duration) -> Option<Vec<u8>> {
    let mut request = client.get(url).timeout(timeout);
    if let Some(value) = key.and_then(ApiKey::header) {
        request = request.header(AUTHORIZATION, value);
    }
    let reply = read(request.send().await.ok()?, MAX_BODY_BYTES, key).await.ok()?;
    (reply.status == 200).then_some(reply.body)
}

async fn read(mut response: reqwest::Response, most: usize, key: Option<&ApiKey>) -> Result<Reply, Fault> {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    let too_large = |size: &dyn std::fmt::Display| Fault {
        reason: NoAnswer::Protocol(format!("a body of {size} bytes, the most is {most}")),
        sent: true,
    };
    if let Some(length) = response.content_length().filter(|length| *length > most as u64) {
        return Err(too_large(&length));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| fault(error, key))? {
        if body.len() + chunk.len() > most {
            return Err(too_large(&format_args!("more than {}", body.len())));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Reply { status, retry_after, body })
}

fn fault(error: reqwest::Error, key: Option<&ApiKey>) -> Fault {
    let sent = !error.is_connect() && !error.is_builder();
    Fault { reason: NoAnswer::Transport(describe(error, key)), sent }
}

/// What happened, without URL and key.
fn describe(error: reqwest::Error, key: Option<&ApiKey>) -> String {
    let error = error.without_url();
    let what = match () {
        () if error.is_connect() => "cannot connect",
        () if error.is_timeout() => "timed out",
        () if error.is_body() || error.is_decode() => "the connection was cut within the answer",
        () => "the connection failed",
    };
    redact(key, format!("{what}: {}", first_cause(&error)))
}

/// The wait that a server asks for: seconds, or a date against the answer's own `Date`, so that no clock is needed here.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => {
            let now = headers.get(DATE).and_then(|date| http_date(date.to_str().ok()?))?;
            http_date(text)?.saturating_sub(now)
        }
    };
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

/// Seconds since 1970 of a date like `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, IMF-fixdate).
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (_, rest) = text.split_once(", ")?;
    let parts: Vec<&str> = rest.split([' ', ':']).collect();
    let [day, month, year, hour, minute, second, "GMT"] = parts[..] else { return None };
    let number = |text: &str, most: u64| text.parse::<u64>().ok().filter(|number| *number <= most);
    let (day, year) = (number(day, 31)?, number(year, 9999).filter(|year| *year >= 1970)?);
    let month = MONTHS.find(month).filter(|place| place % 3 == 0 && month.len() == 3)? as u64 / 3 + 1;
    // Years that begin in March put the leap day last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day.checked_sub(1)?;
    let days = days.checked_sub(719_468)?;
    Some(((days * 24 + number(hour, 23)?) * 60 + number(minute, 59)?) * 60 + number(second, 60)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        for wrong in
            ["", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 ovD 1994 08:49:37 GMT"]
        {
            assert_eq!(http_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn waits_are_read_and_capped() {
        let wait = |pairs: &[(reqwest::header::HeaderName, &'static str)]| {
            let headers =
                pairs.iter().map(|(name, text)| (name.clone(), reqwest::header::HeaderValue::from_static(text)));
            retry_after(&headers.collect()).map(|wait| wait.as_secs())
        };
        assert_eq!(wait(&[(RETRY_AFTER, "7")]), Some(7));
        assert_eq!(wait(&[(RETRY_AFTER, "9999")]), Some(60));
        assert_eq!(wait(&[(RETRY_AFTER, "soon")]), None);
        assert_eq!(wait(&[]), None);
        let (now, later) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:47 GMT");
        assert_eq!(wait(&[(RETRY_AFTER, later), (DATE, now)]), Some(10));
        assert_eq!(wait(&[(RETRY_AFTER, now), (DATE, later)]), Some(0));
        assert_eq!(wait(&[(RETRY_AFTER, later)]), None);
    }

    #[test]
    fn base_urls() {
        assert_eq!(base_url("http://127.0.0.1:8080/v1/").as_deref(), Ok("http://127.0.0.1:8080/v1"));
        assert!(base_url("https://me:secret@host/v1").is_err_and(|error| !error.contains("secret")));
        for wrong in ["", "host/v1", "ftp://host", "http://", "https://host/v1?key=1"] {
            assert!(base_url(wrong).is_err(), "{wrong}");
        }
    }
}
