//! `parthack bench`: how fast this installation is, beside the targets.

use std::io::Write;
use std::path::PathBuf;

use parthack_env::task::Task;
use serde::Serialize;

use super::bench_work::{self, Churn};
use super::{Output, ReportFormat, SealedArgs, SuiteArgs};
use crate::failure::{Exit, Failure};
use crate::run::suite::Suite;

/// Measure whole-process figures: start-up, replay, certifying, scoring, search, intervals, the reference job
///
/// Each figure is the best of several rounds, as is usual on a machine that others use too. Figures never decide the
/// exit code.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack bench --only search,job")]
pub(super) struct Args {
    /// Only figures whose name begins with one of these
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// Rounds; the best one counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "N")]
    rounds: u32,
    /// One round, to see that everything runs
    #[arg(long)]
    quick: bool,
    /// The most threads that search and the job use; each is measured with one as well
    #[arg(long, default_value_t = super::available_threads(), value_name = "N")]
    threads: usize,
    /// Folder of released task definitions, to time their optima too
    #[arg(long, value_name = "DIR")]
    release: Option<PathBuf>,
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    sealed: SealedArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// One figure.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Figure {
    /// Its name.
    pub(super) name: String,
    /// The best round.
    pub(super) value: f64,
    /// Its unit: `…/s`, or `ms` or `MiB` where less is better.
    pub(super) unit: &'static str,
    /// What PERFORMANCE asks for, if it does.
    pub(super) target: Option<f64>,
    /// Whether the figure meets the target.
    pub(super) meets: Option<bool>,
    /// How many times better than the target it is; below 1 it misses it.
    pub(super) distance: Option<f64>,
}

impl Figure {
    /// A rate: more is better.
    pub(super) fn rate(name: impl Into<String>, value: f64, unit: &'static str, target: Option<f64>) -> Figure {
        let distance = target.map(|target| value / target);
        Figure { name: name.into(), value, unit, target, meets: target.map(|target| value >= target), distance }
    }

    /// A time in milliseconds: less is better.
    pub(super) fn time(name: impl Into<String>, value: f64, target: Option<f64>) -> Figure {
        Figure::most(name, value, "ms", target)
    }

    /// Memory in MiB: less is better.
    pub(super) fn memory(name: impl Into<String>, value: f64, target: Option<f64>) -> Figure {
        Figure::most(name, value, "MiB", target)
    }

    fn most(name: impl Into<String>, value: f64, unit: &'static str, target: Option<f64>) -> Figure {
        let distance = target.map(|target| target / value);
        Figure { name: name.into(), value, unit, target, meets: target.map(|target| value <= target), distance }
    }
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let places = args.suite.places_with(&args.sealed);
    let suite = Suite::load(&places.suite()?)?;
    let tasks: Vec<Task> = suite.tasks.into_iter().map(|task| task.task).collect();
    let Some(churn) = tasks.iter().find_map(Churn::of) else {
        return Err(Failure::usage(
            "no task of the suite lets the agent change a field back and forth",
            "name another --suite",
        ));
    };
    let chosen = |name: &str| args.only.is_empty() || args.only.iter().any(|only| name.starts_with(only.as_str()));
    let threads = if args.threads > 1 { vec![1, args.threads] } else { vec![1] };
    let rounds = if args.quick { 1 } else { args.rounds };
    let mut figures = Vec::new();
    if chosen("start") {
        figures.push(bench_work::start_up(rounds)?);
    }
    if chosen("replay") {
        figures.extend([8, 64, 512].map(|steps| bench_work::replay(&churn, steps, rounds)));
    }
    if chosen("certify") {
        figures.push(bench_work::certify_in_process(&churn, rounds)?);
        figures.push(bench_work::certify_over_pipe(&churn, &places, rounds)?);
    }
    if chosen("score") {
        figures.extend(bench_work::score(&churn, rounds));
        figures.push(bench_work::score_over_pipe(&churn, rounds)?);
    }
    if chosen("search") {
        for threads in &threads {
            figures.extend(bench_work::search_suite(&tasks, *threads, rounds)?);
        }
        if let Some(folder) = &args.release {
            for threads in &threads {
                figures.push(bench_work::search_release(folder, *threads, rounds)?);
            }
        }
    }
    if chosen("intervals") {
        figures.push(bench_work::intervals(rounds)?);
    }
    if chosen("job") {
        for threads in &threads {
            figures.extend(bench_work::job(&places, *threads, rounds)?);
        }
    }
    match args.format {
        ReportFormat::Json => out.json(&serde_json::json!({ "figures": figures }))?,
        ReportFormat::Text => write_text(&figures, out)?,
    }
    Ok(Exit::Done)
}

fn write_text(figures: &[Figure], out: &mut Output) -> Result<(), Failure> {
    out.title(&format!(
        "{:<46} {:>16} {:<14} {:>14}  {:<8} {}",
        "figure", "best", "unit", "target", "meets it", "distance"
    ))?;
    for Figure { name, value, unit, target, meets, distance } in figures {
        let target = target.map_or_else(|| "-".to_owned(), |target| grouped(target, unit));
        let meets = meets.map_or("-", |meets| if meets { "yes" } else { "no" });
        let distance = distance.map_or_else(|| "-".to_owned(), |distance| format!("{distance:.2}x"));
        let value = grouped(*value, unit);
        writeln!(out, "{name:<46} {value:>16} {unit:<14} {target:>14}  {meets:<8} {distance:>8}")?;
    }
    writeln!(out, "\ndistance: how many times better than the target; below 1.00x it is missed")?;
    Ok(())
}

/// Digits in groups of three; times with two decimals.
fn grouped(value: f64, unit: &str) -> String {
    if unit == "ms" {
        return format!("{value:.2}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_know_which_way_is_better() {
        assert_eq!(Figure::rate("a", 2.0, "events/s", Some(1.0)).meets, Some(true));
        assert_eq!(Figure::time("a", 2.0, Some(1.0)).meets, Some(false));
        assert_eq!(Figure::time("a", 2.0, None).meets, None);
        assert_eq!(Figure::rate("a", 2.0, "events/s", Some(1.0)).distance, Some(2.0));
        assert_eq!(Figure::memory("a", 2.0, Some(1.0)).distance, Some(0.5));
        assert_eq!(grouped(1_234_567.4, "events/s"), "1,234,567");
        assert_eq!(grouped(999.0, "events/s"), "999");
        assert_eq!(grouped(7.128, "ms"), "7.13");
    }
}
