//! Chat-completions models: what is asked, what comes back, and the client in between (SPEC §9).
//!
//! Without features this crate is plain data: [`prompt`] (what a role asks) and [`answer`] (what came back, or why nothing
//! did). Judges and attackers build on these alone, so that they do no IO. The feature `client` adds the rest:
//! providers, the HTTP client, limits, prices and cassettes.
//!
//! Architecture invariant: this crate knows neither tasks nor evaluators nor anything private. A key reaches no log,
//! cassette, report or error.

pub mod answer;
pub mod prompt;
