//! Grounded Checklist Partial Credit: checklists, gates, judging, metrics (paper G; SPEC §10, §15.20).
//!
//! The pipeline of one task: [`verifier`] finds the tests in the official verifier's sources; [`synthesis`] makes the prompt
//! for a checklist and reads the answer; [`gates`] refuses what is not grounded, all faults at once; [`checklist`] freezes the
//! rest by hash. Of one trajectory: [`judging`] makes prompts of checklist and log and reads verdicts, whose evidence must
//! occur in the log; [`outcome`] applies the official outcome afterwards; [`metrics`] scores. [`controls`] has the checks of
//! the instrument itself.
//!
//! Architecture invariant: no IO. Prompts go out and answers come in as values; whoever runs the pipeline asks the models and
//! keeps the files. This crate knows neither environments nor evaluators nor anything private.

pub mod analysis;
pub mod baselines;
pub mod block;
pub mod checklist;
pub mod controls;
pub mod gates;
pub mod judging;
pub mod label;
pub mod metrics;
pub mod outcome;
pub mod prompts;
pub mod ratio;
mod reading;
pub mod records;
pub mod synthesis;
pub mod text;
pub mod verifier;
