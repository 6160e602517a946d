//! What a pipeline's ledgers say: G's Tables 2 to 4, the data of its Figures 4 and 5, and what surrounds them (G §4; SPEC §10).
//!
//! [`analyze`] is a function of the ledgers, the annotations and the seed: no IO, and the order of the judgements does not matter.
//!
//! **What counts.** Each log counts once a method: its first pass, asked for as the method has it, by the primary judge (the named one,
//! else the one with the most judgements). Where that judge worked in several configurations or settings, the one of most first
//! passes of the method counts; where a task's checklist was frozen anew, the frozen one. What is left out is counted in the notes. A judgement without a
//! verdict is never a score. A log whose items all abstain has no plain GCPC and is apart.
//!
//! **How sure.** Intervals are percentiles of task-clustered resamples ([`parthack_statistics::Bootstrap`]), unless a table says otherwise.
//! Wilcoxon's and sign tests take pairs as independent, which several pairs of one task are not: they describe.

pub mod annotations;
mod checklists;
mod controls;
mod coverage;
mod discrimination;
pub mod error;
mod human;
mod matched;
mod outcome_step;
mod reliability;
mod resampling;
mod scores;
mod selection;
mod study;
mod synthesis;
pub mod table;

use std::collections::BTreeMap;

use crate::checklist::Frozen;
use crate::records::{AttemptSummary, Audit, Judgement};

pub use annotations::Annotations;
pub use error::AnalysisError;
pub use table::{Column, Estimate, Kind, Table, Value};

use study::Study;

/// What is analyzed.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// All judgements, in any order.
    pub judgements: &'a [Judgement],
    /// The frozen checklists, by task with its suite.
    pub checklists: &'a BTreeMap<String, Frozen>,
    /// What became of attempts at checklists.
    pub attempts: &'a [AttemptSummary],
    /// Coverage audits.
    pub audits: &'a [Audit],
    /// What people said, where anybody was asked.
    pub annotations: Option<&'a Annotations>,
    /// Seed of the resamples.
    pub seed: u64,
    /// Resamples of each interval, from 2 to 1,000,000; G uses 2,000.
    pub resamples: u32,
    /// The judge whose judgements count; without, the one with the most, ties by name.
    pub primary_judge: Option<&'a str>,
}

/// The tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// In the order in which they are printed; ids are distinct.
    pub tables: Vec<Table>,
}

impl Analysis {
    /// The table of an id.
    #[must_use]
    pub fn table(&self, id: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.id == id)
    }
}

/// Makes all tables. Of nothing, they have no rows.
///
/// # Errors
/// [`AnalysisError`]: ledgers that contradict themselves, a primary judge that judged nothing, a number of resamples outside its range.
pub fn analyze(input: &Input<'_>) -> Result<Analysis, AnalysisError> {
    let study = Study::new(input)?;
    let (own, pairs) = (discrimination::own_samples(&study)?, discrimination::pairs(&study)?);
    Ok(Analysis {
        tables: vec![
            scores::table(&study),
            human::table(&study)?,
            human::annotators(&study)?,
            controls::table(&study, &own)?,
            synthesis::table(&study)?,
            discrimination::paired(&study, &pairs),
            discrimination::figure(&study, &pairs, &own),
            discrimination::conditions(&study)?,
            outcome_step::perfect(&study),
            matched::transitions(&study)?,
            matched::figure(&study),
            matched::same_task(&study),
            checklists::routes(&study),
            checklists::items(&study),
            reliability::passes(&study)?,
            reliability::judges(&study)?,
            coverage::table(&study)?,
        ],
    })
}
