//! Released honest payloads, scored from their raw bytes.

use std::collections::BTreeMap;
use std::path::Path;

use parthack_env::input::InputError;
use parthack_evaluators::public_view;
use parthack_evaluators::rules::Rule;
use parthack_evaluators::score::ExactScore;

use super::report::{Difference, Tally};
use super::tasks::Imported;
use crate::locate::read_at_most;

/// Bytes of one payload: a snapshot after each of 512 steps.
const MAX_PAYLOAD_BYTES: u64 = 64 << 20;

/// Scores one payload: P_state(H) under every rule but `terminal-outcome`, which gives 0 unless P_state(H) is 1.
pub(super) fn check(path: &Path, tasks: &BTreeMap<String, Imported>, tally: &mut Tally) -> Result<(), InputError> {
    let bytes = read_at_most(path, MAX_PAYLOAD_BYTES)?;
    let view = public_view::read(&bytes).map_err(|error| {
        let hint = "--payloads takes pb-cste-public-v1 payloads as they were released, without their records' wrapper";
        error.hint(hint).in_file(path)
    })?;
    let (found, expected) = match tasks.get(&view.task_id) {
        None => (format!("task {:?}", view.task_id), "a task of the folders given by --tasks".to_owned()),
        Some(task) => {
            let p_state = ExactScore::new(task.honest.last.satisfied.count_ones(), m_of(task));
            let whole = ExactScore::new(1, 1);
            let terminal = if p_state == whole { whole } else { ExactScore::new(0, 1) };
            let expected = |rule: Rule| if rule == Rule::TerminalOutcome { terminal } else { p_state };
            let scores = |score: &dyn Fn(Rule) -> ExactScore| {
                Rule::ALL.map(|rule| format!("{} {}", rule.id(), score(rule))).join(", ")
            };
            (scores(&|rule| rule.score(view.m, &view.frames)), scores(&expected))
        }
    };
    tally.add(found == expected, || Difference {
        place: path.display().to_string(),
        task: view.task_id.clone(),
        check: "scores of the released payload".to_owned(),
        found,
        expected,
    });
    Ok(())
}

fn m_of(task: &Imported) -> u32 {
    u32::try_from(task.task.m()).unwrap_or(u32::MAX)
}
