//! The tables of an analysis against small ledgers worked by hand.

mod agreement;
mod annotation_files;
mod discrimination;
mod instruments;
mod ledger;
mod pairs;
mod properties;
mod repeats;
