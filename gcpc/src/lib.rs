//! Grounded Checklist Partial Credit: checklists, gates, judging, metrics (paper G; SPEC §10, §15.20).
//!
//! Architecture invariant: no IO. Prompts go out and answers come in as values; whoever runs the pipeline asks the models and
//! keeps the files. This crate knows neither environments nor evaluators nor anything private.

pub mod checklist;
pub mod gates;
pub mod label;
pub mod metrics;
pub mod outcome;
pub mod ratio;
pub mod text;
pub mod verifier;
