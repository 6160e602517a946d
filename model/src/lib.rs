//! Chat-completions models: what is asked, what comes back, and the client in between (SPEC §9).
//!
//! Without features this crate is plain data: [`prompt`] (what a role asks), [`role`] and [`provider`] (who is asked, and
//! how) and [`answer`] (what came back, or why nothing did). Judges and attackers build on these alone, so that they do
//! no IO. The feature `client` adds the rest: requests, the HTTP client, limits, prices and cassettes.
//!
//! Architecture invariant: this crate knows neither tasks nor evaluators nor anything private. A key reaches no log,
//! cassette, report or error.

pub mod answer;
pub mod canonical;
pub mod prompt;
pub mod provider;
pub mod role;

#[cfg(feature = "client")]
pub mod accounting;
#[cfg(feature = "client")]
pub mod cassette;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub mod completion;
#[cfg(feature = "connection")]
pub mod connection;
#[cfg(feature = "client")]
pub mod difference;
#[cfg(feature = "client")]
pub mod environment;
#[cfg(feature = "client")]
pub mod error;
#[cfg(feature = "client")]
mod http;
#[cfg(feature = "client")]
mod identity;
#[cfg(feature = "client")]
mod lane;
#[cfg(feature = "client")]
mod limits;
#[cfg(feature = "client")]
pub mod price;
#[cfg(feature = "client")]
pub mod regular;
#[cfg(feature = "client")]
pub mod request;
#[cfg(feature = "client")]
pub mod schema;
#[cfg(feature = "client")]
mod secret;
#[cfg(feature = "client")]
pub mod strict;
#[cfg(feature = "client")]
mod writings;
