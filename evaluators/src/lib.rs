//! Partial-credit evaluators over public payloads (P §3.2, §4.1, A.4).
//!
//! Architecture invariant: this crate does not know the certifier, nor any private type; it has no dependency edge to
//! it. Every evaluator reads the same public bytes.

pub mod judge;
pub mod plugin;
pub mod public_view;
pub mod registry;
pub mod rules;
pub mod score;
pub mod serve;
