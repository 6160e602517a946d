//! The GCPC pipeline at work (G §3; SPEC §10): tasks and logs in, models asked, ledgers kept. What an item, a gate, a verdict or a score is
//! stands in `parthack-gcpc`, which does no IO.
//!
//! A pipeline's folder:
//!
//! | path | what |
//! |---|---|
//! | `tasks/` | instruction and verifier of each task, as they were read |
//! | `generations.jsonl` | every attempt at a checklist, refused ones too |
//! | `checklists/` | frozen checklists |
//! | `questions.jsonl` | questions of baselines, made before any log is read |
//! | `judgements.jsonl` | what was said of each log |
//! | `audits.jsonl` | coverage audits |
//! | `objects/exchanges/` | every exchange with a model that a record rests on |
//! | `tables/` | what `analyze` wrote |
//! | `spending.jsonl` | what answers cost, outside every hash |

pub mod chain;
pub mod checklists;
pub mod controls;
pub mod folder;
pub mod judging;
pub mod logs;
pub mod matching;
pub mod pipeline;
pub mod render;
pub mod task;
