//! `manifest.json`: everything that decides a run's results, frozen and hashed before anything is scored (SPEC §8,
//! §15.18). It names no path, host, time or thread count.

use std::collections::{BTreeMap, BTreeSet};

use parthack_attacker::search::SearchOptions;
use parthack_env::canonical::Hash;
use parthack_env::input::InputError;
use parthack_env::payload::PAYLOAD_FORMAT;
use parthack_env::spec::Split;
use parthack_evaluators::judge::{self, AnswerMode, Judge};
use parthack_evaluators::registry::all_descriptors;
use parthack_evaluators::rules::Rule;
use parthack_evaluators::serve::EVALUATOR_PROTOCOL;
use parthack_model::role::RoleConfig;
use serde::{Deserialize, Serialize};

use crate::exact::Ratio;
use crate::ledger::{canonical_of, read_strict};
use crate::run::attackers::Attacker;
use crate::run::error::RunError;
use crate::run::suite::Suite;
use crate::statistics::{ATTACK_THRESHOLD, BootstrapPlan, SENSITIVITY_THRESHOLDS};

/// Format of a `manifest.json` of rules and search alone.
pub const MANIFEST_FORMAT: &str = "parthack.manifest/1";
/// Format of a `manifest.json` that names commitments, judges, evaluators of users' own, or an attacker that the first format does
/// not know.
pub const SEMANTIC_MANIFEST_FORMAT: &str = "parthack.manifest/2";
/// The target whose adversaries are the shared reference set A_ref (P §3.5).
pub const REFERENCE_TARGET: Rule = Rule::HistoricalMilestone;
/// The suite of the paper, for which the denominators 18 and 14 are asserted (SPEC §15.11).
pub const REFERENCE_SUITE: &str = "pb-cste-1";
/// The semantic judges of the paper (P §4.1): those that take part where a model answers for judges.
pub const PAPER_JUDGES: [&str; 2] = ["llm-judge", "idj"];
/// The three sets of strict rollbacks (SPEC §4).
pub const ROLLBACK_SETS: [&str; 3] = ["least", "all", "deepest"];

/// What was frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`MANIFEST_FORMAT`] or [`SEMANTIC_MANIFEST_FORMAT`]: the lowest that knows everything in it.
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
    /// Hash of the commitments to its packages, where there are some: the certifier opened what was committed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitments: Option<String>,
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
    /// Who answers for a semantic judge, and how it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<FrozenJudge>,
    /// How an evaluator of a user's own is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<FrozenPlugin>,
}

impl FrozenEvaluator {
    /// Whether it scores trajectories of a task.
    #[must_use]
    pub fn covers(&self, task: &str) -> bool {
        self.judge.as_ref().is_none_or(|judge| judge.tasks.iter().any(|judged| judged == task))
    }
}

/// How an evaluator of a user's own is asked (SPEC §6). What its rule is nobody but its author knows: the manifest names its
/// command and the hashes of its files, not its answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenPlugin {
    /// `exec:CMD` or an address, as the user wrote it.
    pub command: String,
    /// Hashes of the files that the command names, label `evaluator-file`, by file name.
    pub files: BTreeMap<String, String>,
    /// Seconds for one payload.
    pub timeout_seconds: u64,
    /// Address space of a process in bytes; of a program alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Whether it may reach the network.
    pub network: bool,
}

/// How a semantic judge is asked (P, Table A.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenJudge {
    /// Hash of its prompt files.
    pub prompts: String,
    /// `number`, `integer` or `logprobs`.
    pub answer_mode: String,
    /// Judgements that make a score.
    pub repeats: u32,
    /// Whether noise and order sensitivity are probed on honest trajectories.
    pub probes: bool,
    /// Tasks whose trajectories it judges, in the suite's order: all that are run, or those with recordings.
    pub tasks: Vec<String>,
    /// The model that judges.
    pub role: RoleConfig,
    /// The model that makes checklists, for a judge with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checklist_role: Option<RoleConfig>,
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
        /// Strategies that are tried against targets that are no folds, in the order of attempts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fallback: Vec<String>,
    },
    /// Candidates of others: one attempt a file.
    File {
        /// In the order of attempts.
        candidates: Vec<FrozenCandidate>,
    },
    /// The catalogue of patterns: one attempt a strategy.
    Patterns {
        /// Strategies, in the order of attempts.
        strategies: Vec<String>,
    },
    /// A model (P §3.5, Table A.4).
    Llm {
        /// Attempts a task and target: K.
        budget: u32,
        /// What it hears of its earlier attempts: `none`, `protocol` or `public-score`.
        feedback: String,
        /// Hash of its prompt files.
        prompts: String,
        /// The model.
        role: RoleConfig,
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
    /// Models; none: no semantic judge takes part.
    pub semantic: Option<SemanticChoices>,
    /// Evaluators of the user's own, by id.
    pub plugins: BTreeMap<String, FrozenPlugin>,
}

/// What a user chooses of models.
#[derive(Debug, Clone)]
pub struct SemanticChoices {
    /// The model that judges.
    pub judge: Option<RoleConfig>,
    /// The model that makes checklists; none: the one that judges.
    pub checklist: Option<RoleConfig>,
    /// How judges answer.
    pub answer_mode: AnswerMode,
    /// Whether noise and order sensitivity are probed on honest trajectories.
    pub probes: bool,
    /// What is recorded, for a run that replays; none: everything is judged.
    pub recorded: Option<Recorded>,
}

/// Which judgements of honest trajectories have recordings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Tasks by judge.
    pub tasks: BTreeMap<String, BTreeSet<String>>,
}

impl Recorded {
    /// Whether a judge's judgement of a task is recorded.
    #[must_use]
    pub fn holds(&self, judge: &str, task: &str) -> bool {
        self.tasks.get(judge).is_some_and(|tasks| tasks.contains(task))
    }
}

impl SemanticChoices {
    /// Judges that take part unless others are named: those with recordings, or else the two of the paper.
    fn default_judges(&self) -> Vec<String> {
        match (&self.recorded, &self.judge) {
            (Some(recorded), _) => recorded.tasks.keys().cloned().collect(),
            (None, Some(_)) => PAPER_JUDGES.map(str::to_owned).to_vec(),
            (None, None) => Vec::new(),
        }
    }
}

impl Manifest {
    /// Freezes a run.
    ///
    /// # Errors
    /// [`RunError::Usage`] for an id that is none, or a choice that is empty.
    pub fn freeze(suite: &Suite, choices: &Choices, certifier_protocol: &str) -> Result<Manifest, RunError> {
        let known: Vec<&str> = suite.tasks.iter().map(|task| task.task.spec.id.as_str()).collect();
        let chosen = choose("--tasks", choices.tasks.as_deref(), &known, &known)?;
        let ids: Vec<&str> = all_descriptors().into_iter().map(|descriptor| descriptor.id).collect();
        let judges = choices.semantic.as_ref().map(SemanticChoices::default_judges).unwrap_or_default();
        let is_default = |id: &&str| judge::judge(id).is_none() || judges.iter().any(|judge| judge == id);
        let default_evaluators: Vec<&str> = ids.iter().copied().filter(is_default).collect();
        let evaluators = match &choices.evaluators {
            // Evaluators of the user's own are evaluators enough.
            Some(none) if none.is_empty() && !choices.plugins.is_empty() => Vec::new(),
            wanted => choose("--evaluators", wanted.as_deref(), &ids, &default_evaluators)?,
        };
        let mut frozen_evaluators = freeze_evaluators(&evaluators, choices.semantic.as_ref(), &chosen)?;
        frozen_evaluators.extend(freeze_plugins(&choices.plugins, &ids)?);
        let default_targets = choices.attacker.default_targets(&evaluators);
        let targets = choose("--targets", choices.targets.as_deref(), &ids, &default_targets)?;
        if let Some(target) = targets.iter().find(|id| judge::judge(id).is_some() && !evaluators.contains(*id)) {
            let message = format!("--targets: {target} is a judge that is not among the evaluators");
            return Err(RunError::usage(message, format!("add it: --evaluators {},{target}", evaluators.join(","))));
        }
        let reference = if targets.contains(&REFERENCE_TARGET.id()) { REFERENCE_TARGET.id() } else { targets[0] };
        let ratio = |ratio: &Ratio| ratio.to_string();
        let bootstrap = choices.bootstrap;
        let mut manifest = Manifest {
            format: MANIFEST_FORMAT.to_owned(),
            suite: FrozenSuite {
                id: suite.id.clone(),
                version: suite.version.clone(),
                hash: suite.hash.hex(),
                whole: chosen.len() == suite.tasks.len(),
                commitments: suite.commitments.clone(),
            },
            tasks: freeze_tasks(suite, &chosen),
            serializer: PAYLOAD_FORMAT.to_owned(),
            evaluators: frozen_evaluators,
            reference_target: reference.to_owned(),
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            attacker: choices.attacker.freeze(&choices.search, &chosen, &targets),
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
        };
        manifest.format = manifest.lowest_format().to_owned();
        Ok(manifest)
    }

    /// The lowest format that knows everything in it: a run of rules and search keeps the bytes that it always had.
    fn lowest_format(&self) -> &'static str {
        let old_attacker = matches!(self.attacker, FrozenAttacker::Search { .. } | FrozenAttacker::File { .. });
        let newer = |evaluator: &FrozenEvaluator| evaluator.judge.is_some() || evaluator.plugin.is_some();
        let old_suite = self.suite.commitments.is_none();
        if old_suite && old_attacker && !self.evaluators.iter().any(newer) {
            MANIFEST_FORMAT
        } else {
            SEMANTIC_MANIFEST_FORMAT
        }
    }

    /// An evaluator by id.
    #[must_use]
    pub fn evaluator(&self, id: &str) -> Option<&FrozenEvaluator> {
        self.evaluators.iter().find(|evaluator| evaluator.id == id)
    }

    /// The semantic judges, in the order of the tables.
    pub fn judges(&self) -> impl Iterator<Item = (&str, &FrozenJudge)> {
        self.evaluators.iter().filter_map(|evaluator| Some((evaluator.id.as_str(), evaluator.judge.as_ref()?)))
    }

    /// The evaluators of users' own, in the order of the tables.
    pub fn plugins(&self) -> impl Iterator<Item = (&str, &FrozenPlugin)> {
        self.evaluators.iter().filter_map(|evaluator| Some((evaluator.id.as_str(), evaluator.plugin.as_ref()?)))
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
        let expected = manifest.lowest_format();
        if manifest.format != expected {
            let found = format!("{:?}", manifest.format);
            return Err(InputError::at("/format", found, format!("{expected:?}")));
        }
        Ok(manifest)
    }

    /// Attempts on a task against a target.
    #[must_use]
    pub fn attempts(&self, task: &str, target: &str) -> u32 {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        match &self.attacker {
            FrozenAttacker::Search { fallback, .. } if Rule::from_id(target).is_none() => count(fallback.len()),
            FrozenAttacker::Search { .. } => 1,
            FrozenAttacker::Patterns { strategies } => count(strategies.len()),
            FrozenAttacker::Llm { budget, .. } => *budget,
            FrozenAttacker::File { candidates } => {
                count(candidates.iter().filter(|candidate| candidate.task == task).count())
            }
        }
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

/// Ids in the order of `known`, so that the order in which a user names them changes nothing; none wanted: `default`.
fn choose<'k>(
    flag: &str,
    wanted: Option<&[String]>,
    known: &[&'k str],
    default: &[&'k str],
) -> Result<Vec<&'k str>, RunError> {
    let Some(wanted) = wanted else { return Ok(default.to_vec()) };
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

fn freeze_evaluators(
    chosen: &[&str],
    semantic: Option<&SemanticChoices>,
    tasks: &[&str],
) -> Result<Vec<FrozenEvaluator>, RunError> {
    let of_registry = all_descriptors().into_iter().filter(|descriptor| chosen.contains(&descriptor.id));
    of_registry
        .map(|descriptor| {
            let judge = judge::judge(descriptor.id);
            Ok(FrozenEvaluator {
                id: descriptor.id.to_owned(),
                version: descriptor.version,
                title: descriptor.title.to_owned(),
                temporal_rule: descriptor.temporal_rule.to_owned(),
                attribution: descriptor.attribution.to_owned(),
                decomposition: descriptor.decomposition.to_owned(),
                deterministic: descriptor.deterministic,
                reads: descriptor.reads.to_owned(),
                judge: judge.map(|judge| freeze_judge(judge.as_ref(), semantic, tasks)).transpose()?,
                plugin: None,
            })
        })
        .collect()
}

/// Evaluators of users' own, in the order of their ids. What is unknown of their rules the manifest calls unknown.
fn freeze_plugins(plugins: &BTreeMap<String, FrozenPlugin>, known: &[&str]) -> Result<Vec<FrozenEvaluator>, RunError> {
    let unknown = || "unknown".to_owned();
    let freeze = |(id, plugin): (&String, &FrozenPlugin)| {
        if known.contains(&id.as_str()) {
            let message = format!("--plugin: {id} is the name of a built-in evaluator");
            return Err(RunError::usage(message, format!("give it another one: my-{id}={}", plugin.command)));
        }
        Ok(FrozenEvaluator {
            id: id.clone(),
            version: 1,
            title: id.clone(),
            temporal_rule: unknown(),
            attribution: unknown(),
            decomposition: unknown(),
            deterministic: false,
            reads: "payload".to_owned(),
            judge: None,
            plugin: Some(plugin.clone()),
        })
    };
    plugins.iter().map(freeze).collect()
}

/// A judge as a run freezes it.
///
/// # Errors
/// [`RunError::Usage`] if no model answers for judges.
pub(crate) fn freeze_judge(
    judge: &dyn Judge,
    semantic: Option<&SemanticChoices>,
    tasks: &[&str],
) -> Result<FrozenJudge, RunError> {
    let role = semantic.and_then(|semantic| Some((semantic, semantic.judge.clone()?)));
    let Some((semantic, role)) = role else {
        let message = format!("--evaluators: {} is a semantic judge, and no model answers for it", judge.id());
        let hint = "give --model-mode replay, or --role judge=PROVIDER/MODEL with --model-mode live or record";
        return Err(RunError::usage(message, hint));
    };
    let judged = |task: &&&str| semantic.recorded.as_ref().is_none_or(|recorded| recorded.holds(judge.id(), task));
    let checklist_role = semantic.checklist.clone().unwrap_or_else(|| role.clone());
    Ok(FrozenJudge {
        prompts: judge.prompt_hash(),
        answer_mode: semantic.answer_mode.word().to_owned(),
        repeats: judge.repeats(),
        probes: semantic.probes,
        tasks: tasks.iter().filter(judged).map(|task| (*task).to_owned()).collect(),
        role,
        checklist_role: judge.has_checklist().then_some(checklist_role),
    })
}
