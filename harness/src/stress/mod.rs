//! `parthack stress`: one evaluator under certified stress (SPEC §1.1, §7).
//!
//! Honest trajectories, eligible adversaries (the exact ones of every rule, and the patterns), strict rollbacks and pairs of the other certified
//! relations are made first, from public data, and certified; then the evaluator scores all of their payloads, some of them again; then the report is
//! computed. Every evaluator gets the same bytes for the same trajectory.

pub mod bars;
pub mod files;
pub mod junit;
pub mod pool;
pub mod renaming;
pub mod report;
pub mod scorer;
pub mod scores;
pub mod text;
