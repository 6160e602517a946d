//! Runs, ledger, metrics, tables.
#![warn(missing_docs)]

pub mod audit;
pub(crate) mod bench;
pub mod cli;
pub mod exact;
pub mod failure;
pub mod gcpc;
pub mod ledger;
pub mod locate;
pub mod plugin;
pub mod published;
pub mod release_check;
pub mod run;
pub mod schemas;
pub mod statistics;
pub mod stress;
pub mod table;
pub mod tables;
