//! The ledger of a run (SPEC §8, P C.2): one record a cell, sorted by cell key, hash-chained, without a wall clock.
//!
//! A [`Record`] is public. What only an operator may see (vectors, certification codes) is a [`PrivateRecord`] of the
//! same cell and lives in the run folder's `private/`.

mod canonical;
mod chain;
mod key;
mod private;
mod record;
mod score;

pub use canonical::{canonical_of, canonical_value, read_strict};
pub use chain::{LEDGER_FORMAT, Ledger, LedgerFault, LedgerLine, LedgerReason, SEMANTIC_LEDGER_FORMAT};
pub use key::{CellKey, CellName, Subject, Variant};
pub use private::{PRIVATE_LEDGER_FORMAT, PrivateRecord};
pub use record::{
    AlignedItem, AttemptRecord, AuditRecord, ChecklistRecord, ControlRecord, HonestRecord, JudgementRecord,
    PublicFault, Record, RollbackRecord, ScoreRecord, SearchRecord, SelectionRecord,
};
pub use score::RecordedScore;
pub(crate) use score::{is_lost_on_the_way, mentions};
