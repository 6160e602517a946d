//! Logs of agents from many harnesses as one type, and tasks from many benchmarks as another.
//!
//! [`import`] takes a [`Kind`] and a file or folder, and gives [`Log`]s and [`TaskSource`]s one after the other, each span of
//! text with the file and JSON pointer that it came from. What cannot be read is a [`Refusal`] that says where, what was
//! found and what was expected, and never stops the rest. [`Summary`] counts what came.
//!
//! Architecture invariant: this crate reads files and writes none; it knows nothing of evaluators, models and checklists.

mod archive;
mod atif;
mod bench;
mod builder;
mod condition;
mod fault;
mod harbor_tasks;
mod import;
mod input;
mod inspect;
mod inspect_events;
mod json;
mod kind;
pub mod limits;
mod lines;
mod log;
mod messages;
mod mini_swe_agent;
mod node;
mod openai;
mod report;
mod summary;
mod swe_agent;
mod swe_bench;
mod task;
mod tau;
mod tau2;
mod tau2_tasks;
mod tau2_ticks;
mod trial;
mod walk;
mod yaml;

pub use fault::{Refusal, RefusalCode};
pub use import::{Import, Imported, import};
pub use kind::{Kind, UnknownKind};
pub use log::{
    Condition, Content, Fact, FactSource, Identity, Log, Origin, Outcome, Provenance, Requestor, Role, Step, Verdict,
    Warning, WarningCode,
};
pub use parthack_env::input::Place;
pub use summary::{Refused, Summary, Verdicts};
pub use task::{NamedTest, Piece, TaskSource, TestList, VerifierFile};
