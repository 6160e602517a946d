//! Estimates with their task-clustered intervals.

use parthack_statistics::auc::ClusteredSeparation;
use parthack_statistics::ranks::levels;
use parthack_statistics::{Alpha, Bootstrap, BootstrapError, Clusters, Ratio, Scored, mean, separation, spearman};

use super::study::{NOTHING, ONE_SIDED};
use super::table::Value;

/// A share of things, with its interval.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) value: Value,
    pub(crate) count: usize,
    pub(crate) n: usize,
    pub(crate) tasks: usize,
}

/// How many of some things have a property; each stands with its task.
pub(crate) fn share<'k>(
    bootstrap: &Bootstrap,
    things: impl IntoIterator<Item = (&'k str, bool)>,
) -> Result<Share, BootstrapError> {
    let things = Clusters::from_pairs(things);
    let counts: Vec<(usize, usize)> =
        things.iter().map(|(_, of)| (of.iter().filter(|holds| **holds).count(), of.len())).collect();
    let total =
        |of: &mut dyn Iterator<Item = &(usize, usize)>| of.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let ratio = |(count, n): (usize, usize)| Ratio::new(count as i128, n as i128).ok();
    let of_draws = |draws: &[u32]| {
        ratio(total(&mut draws.iter().filter_map(|draw| counts.get(*draw as usize)))).map(Ratio::to_f64)
    };
    let resampled = bootstrap.statistic(things.len(), of_draws)?;
    let (count, n) = total(&mut counts.iter());
    let value = Value::exact_interval(ratio((count, n)), resampled, NOTHING);
    Ok(Share { value, count, n, tasks: things.len() })
}

/// The mean of ratios.
pub(crate) fn mean_of(bootstrap: &Bootstrap, values: &Clusters<&str, Ratio>) -> Result<Value, BootstrapError> {
    statistic_of(bootstrap, values, mean)
}

/// Any statistic of ratios.
pub(crate) fn statistic_of(
    bootstrap: &Bootstrap,
    values: &Clusters<&str, Ratio>,
    statistic: fn(&[Ratio]) -> Option<f64>,
) -> Result<Value, BootstrapError> {
    let all: Vec<Ratio> = values.all().copied().collect();
    Ok(Value::float_interval(statistic(&all), bootstrap.over(values, statistic)?, NOTHING))
}

/// PASS–FAIL mean separation.
pub(crate) fn separation_of(bootstrap: &Bootstrap, logs: &Clusters<&str, Scored>) -> Result<Value, BootstrapError> {
    let all: Vec<Scored> = logs.all().copied().collect();
    let clustered = ClusteredSeparation::new(logs);
    let resampled = bootstrap.statistic(logs.len(), |draws| clustered.of(draws))?;
    Ok(Value::float_interval(separation(&all).map(|of| of.difference), resampled, ONE_SIDED))
}

/// The second separation minus the first: two scores of identical logs, on the same resamples.
pub(crate) fn separation_increment(
    bootstrap: &Bootstrap,
    first: &Clusters<&str, Scored>,
    second: &Clusters<&str, Scored>,
) -> Result<Value, BootstrapError> {
    let whole =
        |logs: &Clusters<&str, Scored>| separation(&logs.all().copied().collect::<Vec<_>>()).map(|of| of.difference);
    let (of_first, of_second) = (ClusteredSeparation::new(first), ClusteredSeparation::new(second));
    let increment = |draws: &[u32]| Some(of_second.of(draws)? - of_first.of(draws)?);
    let resampled = bootstrap.statistic(first.len(), increment)?;
    let estimate = whole(second).zip(whole(first)).map(|(second, first)| second - first);
    Ok(Value::float_interval(estimate, resampled, ONE_SIDED))
}

/// Krippendorff's α of units that are given in clusters.
pub(crate) fn alpha_of<T>(
    bootstrap: &Bootstrap,
    units: &Clusters<&str, Vec<Option<T>>>,
    alpha: impl Fn(&[&Vec<Option<T>>]) -> Option<Alpha>,
) -> Result<Value, BootstrapError> {
    let all: Vec<&Vec<Option<T>>> = units.all().collect();
    let of_draws = |draws: &[u32]| Some(alpha(&units.drawn(draws).collect::<Vec<_>>())?.alpha);
    let resampled = bootstrap.statistic(units.len(), of_draws)?;
    Ok(Value::float_interval(alpha(&all).map(|of| of.alpha), resampled, "undefined"))
}

/// Spearman's ρ of two exact numbers a log.
pub(crate) fn correlation<'k>(
    bootstrap: &Bootstrap,
    pairs: impl IntoIterator<Item = (&'k str, (Ratio, Ratio))>,
) -> Result<Correlation, BootstrapError> {
    let pairs = Clusters::from_pairs(pairs);
    // Ranks are of order alone, and levels are faster to sort again in each resample.
    let (first, second): (Vec<Ratio>, Vec<Ratio>) = pairs.all().copied().unzip();
    let mut of_each = levels(&first).0.into_iter().zip(levels(&second).0);
    let pairs = pairs.filter_map(|_| of_each.next());
    let all: Vec<(u32, u32)> = pairs.all().copied().collect();
    let value = Value::float_interval(spearman(&all), bootstrap.over(&pairs, spearman)?, "undefined");
    Ok(Correlation { value, n: all.len(), tasks: pairs.len() })
}

/// A rank correlation, with its interval.
#[derive(Debug, Clone)]
pub(crate) struct Correlation {
    pub(crate) value: Value,
    pub(crate) n: usize,
    pub(crate) tasks: usize,
}
