//! Tables of AUC: with clustered intervals, two methods on the same logs, by condition, and task by task (G §4.2).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::auc::{
    ClusteredAuc, ClusteredPairedAuc, ClusteredSeparation, PairedAuc, PairedScored, Scored, Separation, auc,
    paired_auc, separation,
};
use crate::bootstrap::{Bootstrap, BootstrapError, Resampled};
use crate::clusters::Clusters;
use crate::exact::Ratio;
use crate::quantiles::mean;

/// How one method tells passed logs from failed ones, on its own available sample (G Table 3 A, Figure 4 B).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Discrimination {
    /// Tasks.
    pub tasks: usize,
    /// Passed logs.
    pub passes: usize,
    /// Failed logs.
    pub fails: usize,
    /// AUC, in [0, 1]; `None` without a passed or without a failed log.
    pub auc: Option<f64>,
    /// The same as a ratio.
    pub auc_exact: Option<Ratio>,
    /// AUC over task-clustered resamples.
    pub auc_resampled: Option<Resampled>,
    /// Mean separation; `None` as for the AUC.
    pub separation: Option<Separation>,
    /// The separation's difference over the same resamples.
    pub separation_resampled: Option<Resampled>,
}

/// AUC and mean separation of one method, with intervals over resampled tasks.
///
/// # Errors
/// [`BootstrapError::TooManyClusters`].
pub fn discrimination<K>(logs: &Clusters<K, Scored>, bootstrap: &Bootstrap) -> Result<Discrimination, BootstrapError> {
    let all: Vec<Scored> = logs.all().copied().collect();
    let passes = all.iter().filter(|log| log.passed).count();
    let (by_rank, by_sum) = (ClusteredAuc::new(logs), ClusteredSeparation::new(logs));
    let auc_exact = auc(&all);
    Ok(Discrimination {
        tasks: logs.len(),
        passes,
        fails: all.len() - passes,
        auc: auc_exact.map(Ratio::to_f64),
        auc_exact,
        auc_resampled: bootstrap.statistic(logs.len(), |draws| by_rank.of(draws).map(Ratio::to_f64))?,
        separation: separation(&all),
        separation_resampled: bootstrap.statistic(logs.len(), |draws| by_sum.of(draws))?,
    })
}

/// The same for each condition (with skill, without: G §4.2), in the order of the conditions.
///
/// Tasks are clustered within a condition; two conditions over equally many tasks share their draws by index only, so
/// these intervals are not paired.
///
/// # Errors
/// [`BootstrapError::TooManyClusters`].
pub fn discrimination_by<C: Ord, K: Ord>(
    logs: impl IntoIterator<Item = (C, K, Scored)>,
    bootstrap: &Bootstrap,
) -> Result<BTreeMap<C, Discrimination>, BootstrapError> {
    let mut by_condition: BTreeMap<C, Vec<(K, Scored)>> = BTreeMap::new();
    for (condition, task, log) in logs {
        by_condition.entry(condition).or_default().push((task, log));
    }
    (by_condition.into_iter())
        .map(|(condition, logs)| Ok((condition, discrimination(&Clusters::from_pairs(logs), bootstrap)?)))
        .collect()
}

/// Two methods on identical logs (G Figure 4 A).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedDiscrimination {
    /// Tasks.
    pub tasks: usize,
    /// Logs scored by both methods.
    pub logs: usize,
    /// AUC of the first method; `None` without a passed or without a failed log, as all that follows.
    pub first: Option<f64>,
    /// AUC of the second method.
    pub second: Option<f64>,
    /// ΔAUC, first minus second, in [−1, 1].
    pub difference: Option<f64>,
    /// ΔAUC as a ratio.
    pub difference_exact: Option<Ratio>,
    /// ΔAUC over task-clustered resamples, both methods on the same ones; its share of positive resamples is G's.
    pub difference_resampled: Option<Resampled>,
}

/// Paired ΔAUC with its interval over resampled tasks.
///
/// # Errors
/// [`BootstrapError::TooManyClusters`].
pub fn paired_discrimination<K: Ord + Clone>(
    logs: &Clusters<K, PairedScored>,
    bootstrap: &Bootstrap,
) -> Result<PairedDiscrimination, BootstrapError> {
    let all: Vec<PairedScored> = logs.all().copied().collect();
    let clustered = ClusteredPairedAuc::new(logs);
    let paired: Option<PairedAuc> = paired_auc(&all);
    let difference = |draws: &[u32]| clustered.of(draws).map(|paired| paired.difference.to_f64());
    Ok(PairedDiscrimination {
        tasks: logs.len(),
        logs: all.len(),
        first: paired.map(|paired| paired.first.to_f64()),
        second: paired.map(|paired| paired.second.to_f64()),
        difference: paired.map(|paired| paired.difference.to_f64()),
        difference_exact: paired.map(|paired| paired.difference),
        difference_resampled: bootstrap.statistic(logs.len(), difference)?,
    })
}

/// A mean of tasks' means, beside the plain mean of all observations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MacroMean<K: Ord> {
    /// Each task's value; tasks on which it is undefined are absent.
    pub by_task: BTreeMap<K, f64>,
    /// Mean over those tasks, each counted once.
    pub macro_mean: f64,
    /// Tasks on which the value is undefined.
    pub undefined: usize,
    /// The value over all observations together, each counted once; `None` where it is undefined.
    pub pooled: Option<f64>,
}

/// Means of a value by task, then over tasks; `None` of no values.
pub fn macro_mean<K: Ord + Clone>(values: &Clusters<K, Ratio>) -> Option<MacroMean<K>> {
    over_tasks(values, mean)
}

/// AUC within each task that has both outcomes, then its mean over those tasks; `None` where no task has both.
///
/// Unlike the pooled AUC it never compares logs of different tasks, so a task's difficulty has no part in it.
pub fn macro_auc<K: Ord + Clone>(logs: &Clusters<K, Scored>) -> Option<MacroMean<K>> {
    over_tasks(logs, |logs| auc(logs).map(Ratio::to_f64))
}

/// Any statistic by task, then its mean over the tasks that define it, in the order of the tasks.
pub fn over_tasks<K: Ord + Clone, T: Clone>(
    clusters: &Clusters<K, T>,
    statistic: impl Fn(&[T]) -> Option<f64>,
) -> Option<MacroMean<K>> {
    let value = |(name, members): (&K, &[T])| {
        statistic(members).filter(|value| value.is_finite()).map(|value| (name.clone(), value))
    };
    let by_task: BTreeMap<K, f64> = clusters.iter().filter_map(value).collect();
    if by_task.is_empty() {
        return None;
    }
    let pooled: Vec<T> = clusters.all().cloned().collect();
    Some(MacroMean {
        macro_mean: by_task.values().sum::<f64>() / by_task.len() as f64,
        undefined: clusters.len() - by_task.len(),
        pooled: statistic(&pooled).filter(|value| value.is_finite()),
        by_task,
    })
}
