//! The plugin host: a user's own evaluator, run and read with suspicion.
//!
//! Entry points: [`EvaluatorSpec::parse`] for what a user writes, [`Program::find`] for what it means here, [`ExecHost`]
//! and (feature `http`) `HttpHost` for scores. The protocol, as its users read it:
#![doc = ""]
#![doc = include_str!("protocol.md")]

mod answer;
mod docket;
mod exec;
mod fault;
mod hello;
mod host;
#[cfg(feature = "http")]
mod http;
mod launch;
mod options;
mod pipes;
#[cfg(unix)]
mod plain;
mod session;
mod spec;
mod words;

pub use answer::{MAX_ANSWER_BYTES, MAX_CITES, MAX_DETAIL_BYTES, MAX_REASON_CHARACTERS, Outcome, PluginScore, Reply};
pub use exec::ExecHost;
pub use fault::{Fault, FaultCode};
pub use hello::{HELLO_VARIABLE, Hello, MAX_BATCH, PROTOCOL_VARIABLE};
pub use host::{Determinism, PluginHost};
#[cfg(feature = "http")]
pub use http::{HttpHost, HttpHostError, PROTOCOL_HEADER};
pub use launch::{Ended, Launch, LaunchError, Launched, Process};
pub use options::{Feeding, PluginOptions};
#[cfg(unix)]
pub use plain::PlainLaunch;
pub use spec::{EvaluatorSpec, KEPT_VARIABLES, Program, SpecError, Surroundings};
pub use words::{WordsError, words};
