//! Statistics on a task-indexed ledger: metrics with the denominators of P B.1, and their intervals.
//!
//! The task is the unit. Every denominator is checked against the suite's own counts and a mismatch is a
//! [`MetricError`] that names what was found and what was expected. Resampling is integer-only and comes from our
//! own random streams, so the same ledger gives the same table on any machine. P leaves its hypothesis family
//! unspecified, so every paired test here is exploratory ([`EXPLORATORY`]).

pub mod attack;
pub mod bootstrap;
pub mod budget;
pub mod honest;
pub mod mechanism;
pub mod paired;
pub mod proportion;
pub mod rollback;
mod scaled;
pub mod score;
pub mod suite;

pub use attack::{ATTACK_THRESHOLD, AttackCell, AttackOutcome, AttackSummary, SENSITIVITY_THRESHOLDS};
pub use bootstrap::{Bootstrap, BootstrapPlan, Interval, MeanEstimate};
pub use honest::{HonestCell, HonestSummary};
pub use mechanism::{PairedDifference, PerTask};
pub use parthack_statistics::random;
pub use proportion::Proportion;
pub use rollback::{RollbackCell, RollbackSummary};
pub use score::Score;
pub use suite::{MetricError, SuiteShape};

/// The label that goes with every paired test (P §4.2: H1–H4 underspecified, no Holm-controlled family).
pub const EXPLORATORY: &str = "exploratory: no family-wise correction";
