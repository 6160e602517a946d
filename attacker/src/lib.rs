//! Adversaries (P §3.5, A.5): candidates, and the exact search for the best of them.
//!
//! Architecture invariant: this crate does not know the certifier's vectors or verdict reasons; it has no dependency
//! edge to it and reads public data only.

pub mod lint;
pub mod llm;
pub mod patterns;
pub mod proof;
pub mod reference;
pub mod search;
