//! Runs, ledger, metrics, tables.
#![warn(missing_docs)]
