//! The private side of PartHackBench: packages, double certification, eligibility, strict rollbacks, mutation controls,
//! the closed serializer, sealing, and the certifier process (P §3.2–§3.4, A.3; SPEC §4, §15.6).
//!
//! Architecture invariant: this crate knows no evaluator, no attacker, no model and no network. Where something is scored,
//! only the binary of this crate opens packages. Everything in this library takes bytes and gives values, but for [`client`],
//! which starts that binary and talks to it, and [`sealing::folder`], which reads a folder of packages.

pub mod backward;
pub mod binding;
pub mod certify;
pub mod client;
pub mod controls;
pub mod forward;
pub mod leaks;
pub mod lint;
mod mapping;
pub mod package;
pub mod protocol;
mod reach;
pub mod rollback;
pub mod scan;
pub mod sealing;
pub mod serializer;
pub mod serve;
pub mod session;
pub mod store;
pub mod tokens;
pub mod vectors;
