//! Which judgements count: each log once a method, by one judge in one configuration, setting and checklist.

use std::collections::{BTreeMap, BTreeSet};

use super::Input;
use super::error::AnalysisError;
use crate::baselines::Baseline;
use crate::records::{Judgement, LogIdentity, Variant};

/// The id of the method that baselines are compared with.
pub(crate) const GCPC: &str = "gcpc";

/// What makes a judgement that counts the only one of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key<'a> {
    pub(crate) judge: &'a str,
    pub(crate) method: &'a str,
    pub(crate) variant: &'a Variant,
    pub(crate) log: &'a str,
    pub(crate) pass: u32,
}

/// The judgements that count.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    /// The primary judge; `None` of no judgements.
    pub(crate) primary: Option<&'a str>,
    /// All judges, in the order of their names.
    pub(crate) judges: Vec<&'a str>,
    /// The judgements, by what they are of.
    pub(crate) kept: BTreeMap<Key<'a>, &'a Judgement>,
    /// Judgements in another configuration, setting or checklist than those that count.
    pub(crate) left_out: usize,
    /// Identities of all logs, those of other judges and of controls too.
    pub(crate) identities: BTreeMap<&'a str, &'a LogIdentity>,
}

/// How a judge was set up: hash of its configuration, hash of what else was chosen.
type Way<'a> = (&'a str, &'a str);

impl<'a> Selection<'a> {
    pub(crate) fn new(input: &Input<'a>) -> Result<Selection<'a>, AnalysisError> {
        let identities = checked(input.judgements)?;
        let mut of_judges: BTreeMap<&str, usize> = BTreeMap::new();
        for judgement in input.judgements {
            *of_judges.entry(&judgement.judge).or_default() += 1;
        }
        let judges: Vec<&str> = of_judges.keys().copied().collect();
        let primary =
            match input.primary_judge.filter(|_| !judges.is_empty()) {
                None => most(&of_judges),
                Some(named) => Some(judges.iter().copied().find(|judge| *judge == named).ok_or_else(|| {
                    AnalysisError::UnknownJudge { found: named.to_owned(), known: judges.join(", ") }
                })?),
            };
        let kept = counted(input);
        let left_out = input.judgements.len() - kept.len();
        let kept = kept.into_iter().map(|judgement| (key(judgement), judgement)).collect();
        Ok(Selection { primary, judges, kept, left_out, identities })
    }

    /// The judgements by one judge, method and kind of variant, in the order of variants, logs and passes.
    pub(crate) fn of<'s>(
        &'s self,
        judge: &'s str,
        method: &'s str,
        wanted: fn(&Variant) -> bool,
    ) -> impl Iterator<Item = &'a Judgement> + 's {
        let chosen = move |key: &Key<'_>| key.judge == judge && key.method == method && wanted(key.variant);
        self.kept.iter().filter(move |(key, _)| chosen(key)).map(|(_, judgement)| *judgement)
    }
}

/// Whether a judgement was asked for as the method has it.
pub(crate) fn is_primary(variant: &Variant) -> bool {
    *variant == Variant::Primary {}
}

/// Whether Abstain was not offered.
pub(crate) fn is_forced(variant: &Variant) -> bool {
    *variant == Variant::Forced {}
}

fn key(judgement: &Judgement) -> Key<'_> {
    let Judgement { judge, method, variant, pass, identity, .. } = judgement;
    Key { judge, method, variant, log: &identity.log, pass: *pass }
}

/// What occurs most, ties by what comes first in order.
fn most<K: Copy + Ord>(counts: &BTreeMap<K, usize>) -> Option<K> {
    let mut best: Option<(K, usize)> = None;
    for (key, count) in counts {
        if best.is_none_or(|(_, most)| *count > most) {
            best = Some((*key, *count));
        }
    }
    best.map(|(key, _)| key)
}

/// Refuses what contradicts itself; returns the identities of the logs.
fn checked(judgements: &[Judgement]) -> Result<BTreeMap<&str, &LogIdentity>, AnalysisError> {
    let mut seen = BTreeSet::new();
    let mut identities: BTreeMap<&str, &LogIdentity> = BTreeMap::new();
    for judgement in judgements {
        let Judgement { method, variant, pass, judge, judge_hash, checklist, setting, identity, .. } = judgement;
        let log = || identity.log.clone();
        if method != GCPC && Baseline::from_id(method).is_none() {
            return Err(AnalysisError::UnknownMethod { log: log(), method: method.clone() });
        }
        if !seen.insert((&identity.log, method, variant, pass, judge, judge_hash, checklist, setting)) {
            let (variant, judge) = (word(variant).to_owned(), judge.clone());
            return Err(AnalysisError::DuplicateJudgement {
                log: log(),
                method: method.clone(),
                variant,
                pass: *pass,
                judge,
            });
        }
        let first = *identities.entry(&identity.log).or_insert(identity);
        if let Some((field, one, other)) = difference(first, identity) {
            // The same whichever of them comes first.
            let (one, other) = if one <= other { (one, other) } else { (other, one) };
            return Err(AnalysisError::Identity { log: log(), field, one, other });
        }
    }
    Ok(identities)
}

fn word(variant: &Variant) -> &'static str {
    match variant {
        Variant::Primary {} => "primary",
        Variant::Forced {} => "forced",
        Variant::Idle { .. } => "idle",
        Variant::WithoutEvidence {} => "without evidence",
        Variant::Replacement { .. } => "replacement",
    }
}

/// What of the identity differs that any table uses.
fn difference(one: &LogIdentity, other: &LogIdentity) -> Option<(&'static str, String, String)> {
    let told = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    let outcome = |of: &LogIdentity| of.outcome.map_or("none", |outcome| outcome.word()).to_owned();
    let fields = |of: &LogIdentity| {
        [
            ("task", of.task.clone()),
            ("outcome", outcome(of)),
            ("condition", of.condition.clone()),
            ("harness", told(&of.harness)),
            ("model", told(&of.model)),
            ("run", told(&of.run)),
        ]
    };
    let pairs = fields(one).into_iter().zip(fields(other));
    pairs.into_iter().find(|(one, other)| one != other).map(|((field, one), (_, other))| (field, one, other))
}

/// The judgements in the ways that count.
fn counted<'a>(input: &Input<'a>) -> Vec<&'a Judgement> {
    let frozen: BTreeMap<&str, String> =
        input.checklists.iter().map(|(task, frozen)| (task.as_str(), frozen.hash().hex())).collect();
    let is_current = |of: &&Judgement| {
        of.method != GCPC
            || frozen.get(of.identity.task.as_str()).is_none_or(|hash| of.checklist.as_deref() == Some(hash.as_str()))
    };
    let current: Vec<&Judgement> = input.judgements.iter().filter(is_current).collect();
    // A forced verdict is a setting of its own. Other variants and later passes are compared with the first judgement of a log as it is, so
    // that its way counts, however many of them there are; where there is none, theirs does.
    let group = |of: &'a Judgement| (of.judge.as_str(), of.method.as_str(), is_forced(&of.variant));
    let way = |of: &'a Judgement| -> Way<'a> { (of.judge_hash.as_str(), of.setting.as_str()) };
    let is_first = |of: &&'a Judgement| of.pass == 1 && (is_primary(&of.variant) || is_forced(&of.variant));
    let mut ways = favoured(&current, group, way);
    ways.extend(favoured(&current.iter().copied().filter(is_first).collect::<Vec<_>>(), group, way));
    let in_way: Vec<&Judgement> =
        current.into_iter().filter(|of| ways.get(&group(of)).is_some_and(|best| *best == way(of))).collect();
    let group = |of: &'a Judgement| (of.judge.as_str(), of.method.as_str(), of.identity.task.as_str());
    let list = |of: &'a Judgement| of.checklist.as_deref();
    let lists = favoured(&in_way, group, list);
    in_way.into_iter().filter(|of| lists.get(&group(of)).is_some_and(|best| *best == list(of))).collect()
}

/// In each group the choice that most judgements made.
fn favoured<'a, G: Copy + Ord, C: Copy + Ord>(
    judgements: &[&'a Judgement],
    group: impl Fn(&'a Judgement) -> G,
    choice: impl Fn(&'a Judgement) -> C,
) -> BTreeMap<G, C> {
    let mut counts: BTreeMap<G, BTreeMap<C, usize>> = BTreeMap::new();
    for judgement in judgements {
        *counts.entry(group(judgement)).or_default().entry(choice(judgement)).or_default() += 1;
    }
    counts.iter().filter_map(|(group, counts)| Some((*group, most(counts)?))).collect()
}
