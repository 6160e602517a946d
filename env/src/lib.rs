//! PB-CSTE, the environment of PartHackBench (P §3.1, A.1): typed values, tasks, the pure transition engine, the
//! hash-chained event log, replay, and the public payload.
//!
//! Architecture invariant: this crate does no IO, reads no clock, and does not know that anything private exists.

pub mod candidate;
pub mod canonical;
mod compile;
pub mod engine;
pub mod frames;
pub mod input;
pub mod json;
pub mod limits;
pub mod log;
pub mod names;
pub mod payload;
pub mod predicate;
pub mod refusal;
pub mod release;
pub mod replay;
mod resolve;
#[cfg(feature = "sample")]
pub mod sample;
pub mod spec;
mod spelling;
pub mod steps;
pub mod task;
pub mod value;
pub mod world;
