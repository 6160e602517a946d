//! Runs, ledger, metrics, tables.
#![warn(missing_docs)]

pub mod exact;
pub mod published;
pub mod statistics;
pub mod table;
