//! The printed facts of P, embedded: our own files under `data/published`, decimals as the texts that P prints.

use serde::Deserialize;

use crate::exact::Ratio;
use crate::published::PublishedError;

/// Everything that P prints and this module uses.
#[derive(Debug, Clone)]
pub struct Published {
    /// Tables A.1 and A.2.
    pub manifest: Manifest,
    /// Tables B.1 and B.4.
    pub ledger: Ledger,
    /// Printed aggregates.
    pub printed: Printed,
    /// Tables without numbers: 1, A.3, A.4, C.1.
    pub descriptions: Descriptions,
}

impl Published {
    /// Reads the embedded files.
    ///
    /// # Errors
    /// [`PublishedError::Data`], which names the file, if one of them is malformed.
    pub fn load() -> Result<Published, PublishedError> {
        Ok(Published {
            manifest: read("manifest.json", include_str!("../../data/published/manifest.json"))?,
            ledger: read("ledger.json", include_str!("../../data/published/ledger.json"))?,
            printed: read("printed.json", include_str!("../../data/published/printed.json"))?,
            descriptions: read("descriptions.json", include_str!("../../data/published/descriptions.json"))?,
        })
    }

    /// The printed name of an evaluator; its id if it has none.
    pub fn name<'a>(&'a self, id: &'a str) -> &'a str {
        let named = self.printed.names.iter().find(|named| named.id == id);
        named.map_or(id, |named| named.name.as_str())
    }
}

fn read<T: for<'de> Deserialize<'de>>(file: &'static str, text: &str) -> Result<T, PublishedError> {
    serde_json::from_str(text).map_err(|source| PublishedError::Data { file, source })
}

/// Tables A.1 and A.2.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Where it is printed.
    pub source: String,
    /// Rows of Table A.1.
    pub families: Vec<Family>,
    /// Its last row.
    pub printed_totals: Totals,
    /// Rows of Table A.2.
    pub tasks: Vec<Task>,
}

/// A row of Table A.1.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Name in Table A.1.
    pub family: String,
    /// Name in Table A.2.
    pub short: String,
    /// Development tasks.
    pub development: usize,
    /// Held-out tasks.
    pub held_out: usize,
    /// Printed total.
    pub total: usize,
}

/// The last row of Table A.1.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Development tasks.
    pub development: usize,
    /// Held-out tasks.
    pub held_out: usize,
    /// All tasks.
    pub total: usize,
}

/// A row of Table A.2.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Task id.
    pub task: String,
    /// Family, short name.
    pub family: String,
    /// Goal form.
    pub goal_form: String,
    /// Number of goal predicates, 3 to 5.
    pub m: u32,
    /// P_state(H).
    pub p_state_honest: Ratio,
    /// `Attr.`, `RB`, or none.
    pub tag: Option<String>,
    /// Whether the Historical run found a matched adversary.
    pub a_ref: bool,
    /// Whether the task is in the rollback metric.
    pub rollback_metric: bool,
}

/// Tables B.1 and B.4.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Where it is printed.
    pub source: String,
    /// Per-task inflation on the shared set.
    pub shared: Vec<SharedRow>,
    /// Inflation by rank, for each target.
    pub ranked: Ranked,
}

/// A task of Table B.1.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedRow {
    /// Task id.
    pub task: String,
    /// Historical, and CAPE-Max, which equals it on this set.
    pub historical: Ratio,
    /// DeepSeek judge.
    pub deepseek: Ratio,
    /// Independent-decomposition judge.
    pub idj: Ratio,
}

/// Table B.4, one list a target.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ranked {
    /// Historical target.
    pub historical: Vec<Ratio>,
    /// CAPE-Max target.
    pub cape_max: Vec<Ratio>,
    /// DeepSeek target.
    pub deepseek: Vec<Ratio>,
    /// IDJ target.
    pub idj: Vec<Ratio>,
}

impl Ranked {
    /// The four targets in printed order.
    pub fn targets(&self) -> [(&'static str, &[Ratio]); 4] {
        [
            ("historical", &self.historical),
            ("cape-max", &self.cape_max),
            ("deepseek", &self.deepseek),
            ("idj", &self.idj),
        ]
    }
}

/// Printed aggregates, as the texts that P prints.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// Where they are printed.
    pub source: String,
    /// K.
    pub attempts_per_task: usize,
    /// Evaluators' printed names.
    pub names: Vec<NamedId>,
    /// Rows of Tables B.2 and 3.
    pub shared: Vec<PrintedShared>,
    /// Rows of Tables 2, B.3 and A.5.
    pub targets: Vec<PrintedTarget>,
    /// Rows of Table B.5.
    pub rollback: Vec<PrintedRollback>,
    /// Rows of Table B.6.
    pub thresholds: Vec<PrintedThresholds>,
    /// The reductions of §6.1.
    pub mechanism: Vec<PrintedReduction>,
}

/// An evaluator's id and printed name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedId {
    /// Id.
    pub id: String,
    /// Printed name.
    pub name: String,
}

/// A row of Tables B.2 and 3.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedShared {
    /// Evaluator id.
    pub evaluator: String,
    /// Honest MAE in B.2.
    pub honest_mae: String,
    /// Mean inflation in B.2.
    pub mean: String,
    /// Interval in B.2, where printed.
    pub ci95: Option<[String; 2]>,
    /// Conditional ASR.
    pub conditional_asr: String,
    /// End-to-end yield.
    pub end_to_end_yield: String,
    /// Rollbacks detected; none where `auxiliary` is printed.
    pub rollback: Option<String>,
    /// What Table 3 prints.
    pub table_3: PrintedShort,
}

/// The numbers of Table 3.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedShort {
    /// Honest MAE.
    pub honest_mae: String,
    /// Mean inflation.
    pub mean: String,
}

/// A row of Tables 2, B.3 and A.5.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedTarget {
    /// Target id.
    pub target: String,
    /// Coverage.
    pub coverage: String,
    /// Mean inflation.
    pub mean: String,
    /// Interval.
    pub ci95: [String; 2],
    /// Conditional ASR.
    pub conditional_asr: String,
    /// End-to-end yield.
    pub end_to_end_yield: String,
    /// Attempts.
    pub generated: usize,
    /// Protocol-valid attempts.
    pub protocol_valid: usize,
    /// Matched tasks.
    pub matched_tasks: usize,
    /// Successful tasks.
    pub successful: usize,
}

/// A row of Table B.5.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedRollback {
    /// Evaluator id.
    pub evaluator: String,
    /// Detected, of 14.
    pub detected: String,
    /// Miss rate.
    pub miss_rate: String,
    /// Retained false credit across all pairs, where printed.
    pub retained_all: Option<String>,
    /// Retained false credit among misses, where printed.
    pub retained_misses: Option<String>,
}

/// A row of Table B.6.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedThresholds {
    /// `shared` or `target`.
    pub set: String,
    /// Evaluator id.
    pub evaluator: String,
    /// Successful tasks above .00, .05, .10, .15, .20.
    pub counts: Vec<usize>,
}

/// A reduction of §6.1.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedReduction {
    /// Id of the contrast.
    pub contrast: String,
    /// Its name.
    pub name: String,
    /// Reduction on matched attacks.
    pub attacks: String,
    /// Its interval, where printed.
    pub attacks_ci95: Option<[String; 2]>,
    /// Reduction on rollbacks.
    pub rollbacks: String,
    /// Its interval, where printed.
    pub rollbacks_ci95: Option<[String; 2]>,
}

/// Tables without numbers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descriptions {
    /// Where they are printed.
    pub source: String,
    /// Table 1: id, name, time, attribution, decomposition.
    pub positioning_short: Vec<[String; 5]>,
    /// Table A.3: id, name, temporal rule, attribution, decomposition.
    pub positioning: Vec<[String; 5]>,
    /// Table A.4: component, configuration.
    pub configuration: Vec<[String; 2]>,
    /// Table C.1: component, record.
    pub reproduction: Vec<[String; 2]>,
}
