//! Connections over HTTP(S) as every part of the project makes them: roots to trust, proxies, redirects, repeats.

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{ClientBuilder, redirect, retry};

/// The longest that connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Small servers close idle connections after five seconds, and a request on its way then would be lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// A pool of connections for one address, of which at most `idle` are kept. Loopback addresses are never asked for through a proxy; redirects are not
/// followed, since they would carry keys elsewhere; nothing is asked twice, since a repeat has to be counted.
///
/// # Errors
/// What hinders TLS from being set up.
pub fn pool(url: &str, idle: usize) -> Result<ClientBuilder, String> {
    let builder = ClientBuilder::new()
        .user_agent(concat!("parthack/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured(tls().map_err(|error| format!("TLS: {error}"))?)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(idle)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .tcp_nodelay(true);
    Ok(if is_loopback(url) { builder.no_proxy() } else { builder })
}

/// The first cause of an error: what the system said.
#[must_use]
pub fn first_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// TLS with ring, trusting Mozilla's roots and the system's.
fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn is_loopback(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
    let name = if host.starts_with('[') {
        host.split_inclusive(']').next().unwrap_or_default()
    } else {
        host.split(':').next().unwrap_or_default()
    };
    name == "localhost" || name == "[::1]" || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses() {
        for url in [
            "http://127.0.0.1:1/v1",
            "http://127.9.9.9",
            "http://[::1]:1/v1",
            "https://localhost?x",
            "http://localhost",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["http://127.example.org/", "https://api.example/127.0.0.1", "http://localhost.example:1"] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
