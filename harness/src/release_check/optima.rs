//! Released optima, found again by exact search.

use std::collections::BTreeMap;
use std::path::Path;

use parthack_attacker::search::{SearchOptions, search};
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use parthack_evaluators::rules::Rule;

use super::checks::{chain, same_score};
use super::line::score;
use super::report::{Difference, Tally};
use super::tasks::Imported;
use crate::locate::read_at_most;

/// Bytes of the file: a shortest action list for each of thousands of tasks.
const MAX_OPTIMUM_BYTES: u64 = 256 << 20;
/// The file's keys, and the rules that they stand for.
const TARGETS: [(&str, Rule); 2] = [("historical", Rule::HistoricalMilestone), ("cape_max", Rule::CapeMax)];

/// Compares every optimum of the file: the greatest score of any eligible trajectory, and the length of the shortest
/// trajectory that has it.
pub(super) fn check(
    path: &Path,
    tasks: &BTreeMap<String, Imported>,
    threads: usize,
    tally: &mut Tally,
) -> Result<(), InputError> {
    let bytes = read_at_most(path, MAX_OPTIMUM_BYTES)?;
    let in_file = |error: InputError| {
        let hint = "--optimum takes {\"<task id>\": {\"historical\": {\"max\", \"steps\"}, \"cape_max\": {…}}}";
        if error.hint.is_none() { error.hint(hint).in_file(path) } else { error.in_file(path) }
    };
    let json = Json::parse(&bytes).map_err(in_file)?;
    for (id, optimum) in Cursor::root(&json).entries().map_err(in_file)? {
        for (key, rule) in TARGETS {
            let claimed = optimum.key(key).and_then(|claim| Optimum::read(&claim)).map_err(in_file)?;
            let found = match tasks.get(id) {
                None => Err("no such task; add its folder as another --tasks".to_owned()),
                Some(task) => Optimum::search(task, rule, threads),
            };
            let agrees = found.as_ref().is_ok_and(|found| found.is(&claimed));
            tally.add(agrees, || Difference {
                place: format!("{}: {}", path.display(), optimum.pointer),
                task: id.to_owned(),
                check: format!("optimum of {key}"),
                found: found.as_ref().map_or_else(Clone::clone, Optimum::show),
                expected: claimed.show(),
            });
        }
    }
    Ok(())
}

/// The greatest score, and the steps of the shortest trajectory that has it.
struct Optimum {
    max: Option<f64>,
    steps: Option<u32>,
}

impl Optimum {
    fn read(claim: &Cursor<'_, '_>) -> Result<Optimum, InputError> {
        let steps = claim.key("steps")?;
        let steps = match steps.json {
            Json::Null => None,
            _ => Some(steps.u32(0, u32::MAX)?),
        };
        Ok(Optimum { max: score(&claim.key("max")?)?, steps })
    }

    /// The best of the honest trajectory, which search leaves out, and every other eligible one.
    fn search(task: &Imported, rule: Rule, threads: usize) -> Result<Optimum, String> {
        let options = SearchOptions { threads: threads.max(1), ..SearchOptions::default() };
        let found = search(&task.task, rule, &options).map_err(|error| chain(&error))?;
        let honest_steps = u32::try_from(task.task.spec.honest.len()).ok();
        let (max, steps) = match found.best {
            Some(best) if best > found.honest => (best, found.witness_length),
            Some(best) if best == found.honest => (best, found.witness_length.min(honest_steps).or(honest_steps)),
            _ => (found.honest, honest_steps),
        };
        Ok(Optimum { max: Some(max.to_f64()), steps })
    }

    fn is(&self, other: &Optimum) -> bool {
        let same = match (self.max, other.max) {
            (Some(left), Some(right)) => same_score(left, right),
            (left, right) => left.is_none() && right.is_none(),
        };
        same && self.steps == other.steps
    }

    fn show(&self) -> String {
        let max = self.max.map_or("no score".to_owned(), |max| max.to_string());
        let steps = self.steps.map_or("no trajectory".to_owned(), |steps| format!("{steps} steps"));
        format!("{max} in {steps}")
    }
}
