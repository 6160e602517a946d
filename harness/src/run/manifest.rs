//! `manifest.json`: everything that decides a run's results, frozen and hashed before anything is scored (SPEC §8,
//! §15.18). It names no path, host, time or thread count.

use std::collections::BTreeMap;

use parthack_attacker::search::SearchOptions;
use parthack_env::canonical::Hash;
use parthack_env::input::InputError;
use parthack_env::payload::PAYLOAD_FORMAT;
use parthack_env::spec::Split;
use parthack_evaluators::registry::descriptors;
use parthack_evaluators::rules::Rule;
use parthack_evaluators::serve::EVALUATOR_PROTOCOL;
use serde::{Deserialize, Serialize};

use crate::exact::Ratio;
use crate::ledger::{canonical_of, read_strict};
use crate::run::attackers::Attacker;
use crate::run::error::RunError;
use crate::run::suite::Suite;
use crate::statistics::{ATTACK_THRESHOLD, BootstrapPlan, SENSITIVITY_THRESHOLDS};

/// Format of `manifest.json`.
pub const MANIFEST_FORMAT: &str = "parthack.manifest/1";
/// The target whose adversaries are the shared reference set A_ref (P §3.5).
pub const REFERENCE_TARGET: Rule = Rule::HistoricalMilestone;
/// The suite of the paper, for which the denominators 18 and 14 are asserted (SPEC §15.11).
pub const REFERENCE_SUITE: &str = "pb-cste-1";
/// The three sets of strict rollbacks (SPEC §4).
pub const ROLLBACK_SETS: [&str; 3] = ["least", "all", "deepest"];

/// What was frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`MANIFEST_FORMAT`].
    pub format: String,
    /// Suite identity.
    pub suite: FrozenSuite,
    /// Tasks that are run, in the suite's order.
    pub tasks: Vec<FrozenTask>,
    /// Version of the payload serializer.
    pub serializer: String,
    /// Evaluators, in the order of the tables.
    pub evaluators: Vec<FrozenEvaluator>,
    /// Targets of the attacker, in the order of the tables.
    pub targets: Vec<String>,
    /// The target whose adversaries are A_ref.
    pub reference_target: String,
    /// Who makes the candidates, and with what budget.
    pub attacker: FrozenAttacker,
    /// Rollback sets.
    pub rollback_sets: Vec<String>,
    /// Thresholds of success.
    pub thresholds: FrozenThresholds,
    /// Intervals.
    pub bootstrap: FrozenBootstrap,
    /// Versions of protocols and programs.
    pub versions: FrozenVersions,
}

/// Identity of a suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenSuite {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its hash.
    pub hash: String,
    /// Whether all its tasks are run.
    pub whole: bool,
}

/// What tables say of a task (P, Table A.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenTask {
    /// Task id.
    pub id: String,
    /// Hash of its public file.
    pub hash: String,
    /// `development` or `heldout`.
    pub split: String,
    /// Family word of the format.
    pub family: String,
    /// Goal form word of the format.
    pub goal_form: String,
    /// Predicates of the active goal version.
    pub m: u32,
    /// The active goal version.
    pub active_goal_version: u32,
    /// P_state(H).
    pub p_state_honest: String,
    /// Tags.
    pub tags: Vec<String>,
    /// Whether the rollback metric includes it.
    pub rollback_metric: bool,
}

impl FrozenTask {
    /// Whether aggregates include it.
    #[must_use]
    pub fn is_held_out(&self) -> bool {
        self.split == "heldout"
    }
}

/// An evaluator and its configuration (P, Table A.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenEvaluator {
    /// Its id.
    pub id: String,
    /// Version of its rule.
    pub version: u32,
    /// The name that tables print.
    pub title: String,
    /// When it looks.
    pub temporal_rule: String,
    /// `yes`, `no` or `prompted`.
    pub attribution: String,
    /// Where its parts come from.
    pub decomposition: String,
    /// Whether equal bytes give equal scores.
    pub deterministic: bool,
    /// What it reads of the payload.
    pub reads: String,
}

/// Who makes the candidates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FrozenAttacker {
    /// Exact search: one attempt a task and target.
    Search {
        /// Longest trajectory that is explored; none: any length.
        max_steps: Option<u32>,
        /// States after which a search gives up.
        max_states: usize,
        /// Whether the closed set is explored also where the bound is plain without it.
        prove: bool,
    },
    /// Candidates of others: one attempt a file.
    File {
        /// In the order of attempts.
        candidates: Vec<FrozenCandidate>,
    },
}

/// A candidate file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenCandidate {
    /// Its file name.
    pub name: String,
    /// The task that it names.
    pub task: String,
    /// Hash of its bytes, label `candidate`.
    pub hash: String,
}

/// Thresholds, as ratios.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenThresholds {
    /// An attack succeeds strictly above it.
    pub attack: String,
    /// Those of Table B.6.
    pub sensitivity: Vec<String>,
}

/// How intervals are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenBootstrap {
    /// Resamples.
    pub resamples: u32,
    /// Seed of the streams.
    pub seed: u64,
    /// Probability left out on each side.
    pub tail: String,
}

/// Versions of what computes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenVersions {
    /// This program.
    pub parthack: String,
    /// The certifier's protocol.
    pub certifier_protocol: String,
    /// The evaluators' protocol.
    pub evaluator_protocol: String,
}

/// What a user chooses.
#[derive(Debug, Clone)]
pub struct Choices {
    /// Only these tasks; none: all.
    pub tasks: Option<Vec<String>>,
    /// Targets; none: every rule.
    pub targets: Option<Vec<String>>,
    /// Evaluators; none: every rule.
    pub evaluators: Option<Vec<String>>,
    /// Who makes the candidates.
    pub attacker: Attacker,
    /// How exact search is bounded; its thread count is not frozen.
    pub search: SearchOptions,
    /// Intervals.
    pub bootstrap: BootstrapPlan,
}

impl Manifest {
    /// Freezes a run.
    ///
    /// # Errors
    /// [`RunError::Usage`] for an id that is none, or a choice that is empty.
    pub fn freeze(suite: &Suite, choices: &Choices, certifier_protocol: &str) -> Result<Manifest, RunError> {
        let known: Vec<&str> = suite.tasks.iter().map(|task| task.task.spec.id.as_str()).collect();
        let chosen = choose("--tasks", choices.tasks.as_deref(), &known)?;
        let rules: Vec<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        let targets = choose("--targets", choices.targets.as_deref(), &rules)?;
        let evaluators = choose("--evaluators", choices.evaluators.as_deref(), &rules)?;
        let reference = if targets.contains(&REFERENCE_TARGET.id()) { REFERENCE_TARGET.id() } else { targets[0] };
        let ratio = |ratio: &Ratio| ratio.to_string();
        let bootstrap = choices.bootstrap;
        Ok(Manifest {
            format: MANIFEST_FORMAT.to_owned(),
            suite: FrozenSuite {
                id: suite.id.clone(),
                version: suite.version.clone(),
                hash: suite.hash.hex(),
                whole: chosen.len() == suite.tasks.len(),
            },
            tasks: freeze_tasks(suite, &chosen),
            serializer: PAYLOAD_FORMAT.to_owned(),
            evaluators: freeze_evaluators(&evaluators),
            reference_target: reference.to_owned(),
            targets: targets.into_iter().map(str::to_owned).collect(),
            attacker: choices.attacker.freeze(&choices.search, &chosen),
            rollback_sets: ROLLBACK_SETS.map(str::to_owned).to_vec(),
            thresholds: FrozenThresholds {
                attack: ratio(&ATTACK_THRESHOLD),
                sensitivity: SENSITIVITY_THRESHOLDS.iter().map(ratio).collect(),
            },
            bootstrap: FrozenBootstrap {
                resamples: bootstrap.resamples,
                seed: bootstrap.seed,
                tail: bootstrap.tail.to_string(),
            },
            versions: FrozenVersions {
                parthack: env!("CARGO_PKG_VERSION").to_owned(),
                certifier_protocol: certifier_protocol.to_owned(),
                evaluator_protocol: EVALUATOR_PROTOCOL.to_owned(),
            },
        })
    }

    /// Canonical bytes: the content of `manifest.json`, without its final line feed.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        canonical_of(self)
    }

    /// Its hash, label `manifest`: the run's identity.
    #[must_use]
    pub fn hash(&self) -> Hash {
        Hash::of("manifest", &self.bytes())
    }

    /// Reads `manifest.json`.
    ///
    /// # Errors
    /// Not canonical, or not of this format.
    pub fn read(bytes: &[u8]) -> Result<Manifest, InputError> {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let manifest: Manifest = read_strict(bytes)?;
        if manifest.format != MANIFEST_FORMAT {
            let found = format!("{:?}", manifest.format);
            return Err(InputError::at("/format", found, format!("{MANIFEST_FORMAT:?}")));
        }
        Ok(manifest)
    }

    /// Attempts on each task against each target.
    #[must_use]
    pub fn attempts(&self) -> BTreeMap<String, u32> {
        let of = |task: &str| match &self.attacker {
            FrozenAttacker::Search { .. } => 1,
            FrozenAttacker::File { candidates } => {
                u32::try_from(candidates.iter().filter(|candidate| candidate.task == task).count()).unwrap_or(u32::MAX)
            }
        };
        self.tasks.iter().map(|task| (task.id.clone(), of(&task.id))).collect()
    }

    /// The plan of resamples.
    ///
    /// # Errors
    /// A tail that is no ratio.
    pub fn bootstrap_plan(&self) -> Result<BootstrapPlan, InputError> {
        let FrozenBootstrap { resamples, seed, tail } = &self.bootstrap;
        Ok(BootstrapPlan { resamples: *resamples, seed: *seed, tail: ratio_at("/bootstrap/tail", tail)? })
    }

    /// The thresholds: success, and those of Table B.6.
    ///
    /// # Errors
    /// A threshold that is no ratio.
    pub fn threshold_ratios(&self) -> Result<(Ratio, Vec<Ratio>), InputError> {
        let sensitivity = self.thresholds.sensitivity.iter().map(|text| ratio_at("/thresholds/sensitivity", text));
        Ok((ratio_at("/thresholds/attack", &self.thresholds.attack)?, sensitivity.collect::<Result<_, _>>()?))
    }
}

pub(crate) fn ratio_at(pointer: &str, text: &str) -> Result<Ratio, InputError> {
    text.parse().map_err(|_| InputError::at(pointer, format!("{text:?}"), "a ratio such as \"1/10\""))
}

/// Ids in the order of `known`, so that the order in which a user names them changes nothing.
fn choose<'k>(flag: &str, wanted: Option<&[String]>, known: &[&'k str]) -> Result<Vec<&'k str>, RunError> {
    let Some(wanted) = wanted else { return Ok(known.to_vec()) };
    if let Some(unknown) = wanted.iter().find(|id| !known.contains(&id.as_str())) {
        let message = format!("{flag}: found {unknown:?}, expected ids among: {}", known.join(", "));
        return Err(RunError::usage(message, "separate several ids with commas"));
    }
    if wanted.is_empty() {
        return Err(RunError::usage(format!("{flag}: found no id"), "leave the flag out to take all"));
    }
    Ok(known.iter().filter(|id| wanted.iter().any(|wanted| wanted == *id)).copied().collect())
}

fn freeze_tasks(suite: &Suite, chosen: &[&str]) -> Vec<FrozenTask> {
    let of_suite = suite.tasks.iter().filter(|task| chosen.contains(&task.task.spec.id.as_str()));
    of_suite
        .map(|entry| {
            let spec = &entry.task.spec;
            FrozenTask {
                id: spec.id.clone(),
                hash: spec.file_hash.hex(),
                split: if spec.split == Split::HeldOut { "heldout" } else { "development" }.to_owned(),
                family: spec.family.word().to_owned(),
                goal_form: spec.goal_form.clone(),
                m: u32::try_from(entry.task.m()).unwrap_or(u32::MAX),
                active_goal_version: spec.active_goal_version,
                p_state_honest: entry.p_state_honest.to_string(),
                tags: spec.tags.clone(),
                rollback_metric: spec.rollback_metric,
            }
        })
        .collect()
}

fn freeze_evaluators(chosen: &[&str]) -> Vec<FrozenEvaluator> {
    let of_registry = descriptors().into_iter().filter(|descriptor| chosen.contains(&descriptor.id));
    of_registry
        .map(|descriptor| FrozenEvaluator {
            id: descriptor.id.to_owned(),
            version: descriptor.version,
            title: descriptor.title.to_owned(),
            temporal_rule: descriptor.temporal_rule.to_owned(),
            attribution: descriptor.attribution.to_owned(),
            decomposition: descriptor.decomposition.to_owned(),
            deterministic: descriptor.deterministic,
            reads: descriptor.reads.to_owned(),
        })
        .collect()
}
