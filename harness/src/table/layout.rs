//! The columns of P's tables, one empty table each, so that a run's and the published tables have the same keys.

use crate::table::{Column, Table};

/// Id and printed name of an evaluator or target that heads a column.
pub type Heading<'a> = (&'a str, &'a str);

fn inflation() -> Column {
    Column::estimates("mean_inflation", "Mean inflation [95% CI]", "ci95")
}

fn success() -> [Column; 2] {
    [Column::numbers("conditional_asr", "Cond. ASR"), Column::numbers("end_to_end_yield", "E2E yield")]
}

fn evaluator() -> Column {
    Column::words("evaluator", "Evaluator")
}

fn target() -> Column {
    Column::words("target", "Target")
}

/// Table 1: where evaluators stand. Keys: evaluator, time, attribution, decomposition.
pub fn table_1() -> Table {
    let columns = vec![
        evaluator(),
        Column::words("time", "Time"),
        Column::words("attribution", "Attribution"),
        Column::words("decomposition", "Decomposition"),
    ];
    Table::new("1", "Evaluator positioning", columns)
}

/// Table 2: targeted attacks. Keys: target, valid, coverage, mean_inflation, ci95, conditional_asr, end_to_end_yield.
pub fn table_2() -> Table {
    let mut columns =
        vec![target(), Column::numbers("valid", "Valid"), Column::numbers("coverage", "Coverage"), inflation()];
    columns.extend(success());
    Table::new("2", "Target-specific attack results", columns)
}

/// Table 3: the shared set in short. Keys: evaluator, honest_mae, mean_inflation, rollback.
pub fn table_3() -> Table {
    let columns = vec![
        evaluator(),
        Column::numbers("honest_mae", "Honest MAE"),
        Column::numbers("mean_inflation", "Mean inflation"),
        Column::numbers("rollback", "Rollback"),
    ];
    Table::new("3", "Core results on the shared reference set", columns)
}

/// Table 6.1: the 2×2 reductions of P §6.1. Keys: contrast, attacks, attacks_ci95, rollbacks, rollbacks_ci95.
pub fn table_6_1() -> Table {
    let columns = vec![
        Column::words("contrast", "Contrast"),
        Column::estimates("attacks", "Matched attacks [95% CI]", "attacks_ci95"),
        Column::estimates("rollbacks", "Rollbacks [95% CI]", "rollbacks_ci95"),
    ];
    Table::new("6.1", "Paired reductions of false credit", columns)
}

/// Table A.1: tasks by family. Keys: family, development, held_out, total.
pub fn table_a1() -> Table {
    let columns = vec![
        Column::words("family", "Family"),
        Column::numbers("development", "Development"),
        Column::numbers("held_out", "Held-out"),
        Column::numbers("total", "Total"),
    ];
    Table::new("A.1", "Task-family allocation", columns)
}

/// Table A.2: the held-out manifest. Keys: task, family, goal_form, m, p_state_honest, tag, a_ref, rollback_metric.
pub fn table_a2() -> Table {
    let columns = vec![
        Column::words("task", "ID"),
        Column::words("family", "Family"),
        Column::words("goal_form", "Goal form"),
        Column::numbers("m", "m"),
        Column::numbers("p_state_honest", "P_state(H)"),
        Column::words("tag", "Tag"),
        Column::words("a_ref", "A_ref"),
        Column::words("rollback_metric", "RB metric"),
    ];
    Table::new("A.2", "Held-out manifest and frozen honest progress", columns)
}

/// Table A.3: evaluator positioning. Keys: evaluator, temporal_rule, attribution, decomposition.
pub fn table_a3() -> Table {
    let columns = vec![
        evaluator(),
        Column::words("temporal_rule", "Temporal rule"),
        Column::words("attribution", "Attribution"),
        Column::words("decomposition", "Decomposition"),
    ];
    Table::new("A.3", "Evaluator positioning", columns)
}

/// Table A.4: models and decoding. Keys: component, configuration.
pub fn table_a4() -> Table {
    let columns = vec![Column::words("component", "Component"), Column::words("configuration", "Configuration")];
    Table::new("A.4", "Frozen model and decoding configuration", columns)
}

/// Table A.5: candidate accounting. Keys: target, generated, protocol_valid, matched_tasks, successful.
pub fn table_a5() -> Table {
    let columns = vec![
        target(),
        Column::numbers("generated", "Generated"),
        Column::numbers("protocol_valid", "Protocol-valid"),
        Column::numbers("matched_tasks", "Matched tasks"),
        Column::numbers("successful", "Successful (>.10)"),
    ];
    Table::new("A.5", "Candidate accounting by target", columns)
}

/// Table B.1: per-task inflation on the shared set. Keys: task, then each evaluator's id.
pub fn table_b1(evaluators: &[Heading<'_>]) -> Table {
    let columns = with_headings(Column::words("task", "Task"), evaluators);
    Table::new("B.1", "Per-task inflation on A_ref", columns)
}

/// Table B.2. Keys: evaluator, honest_mae, mean_inflation, ci95, conditional_asr, end_to_end_yield, rollback.
pub fn table_b2() -> Table {
    let mut columns = vec![evaluator(), Column::numbers("honest_mae", "Honest MAE"), inflation()];
    columns.extend(success());
    columns.push(Column::numbers("rollback", "Rollback"));
    Table::new("B.2", "Core shared-reference and honest-score results", columns)
}

/// Table B.3. Keys: target, coverage, mean_inflation, ci95, conditional_asr, end_to_end_yield.
pub fn table_b3() -> Table {
    let mut columns = vec![target(), Column::numbers("coverage", "Coverage"), inflation()];
    columns.extend(success());
    let title = "Frozen target-specific results; means are conditional on matched tasks";
    Table::new("B.3", title, columns)
}

/// Table B.4: inflation by rank within a target. Keys: rank, then each target's id.
pub fn table_b4(targets: &[Heading<'_>]) -> Table {
    let columns = with_headings(Column::numbers("rank", "Rank"), targets);
    Table::new("B.4", "Target-specific per-task inflation", columns)
}

/// Table B.5: rollbacks. Keys: evaluator, detected, miss_rate, retained_all, retained_misses.
pub fn table_b5() -> Table {
    let columns = vec![
        evaluator(),
        Column::numbers("detected", "Detected"),
        Column::numbers("miss_rate", "Miss rate"),
        Column::numbers("retained_all", "Retained, all pairs"),
        Column::numbers("retained_misses", "Retained, misses"),
    ];
    Table::new("B.5", "Strict rollback audit", columns)
}

/// The keys of Table B.6's thresholds, in the order of [`crate::statistics::SENSITIVITY_THRESHOLDS`].
pub const THRESHOLD_KEYS: [&str; 5] = ["over_00", "over_05", "over_10", "over_15", "over_20"];

/// Table B.6: successes under strict thresholds. Keys: set, evaluator, [`THRESHOLD_KEYS`].
pub fn table_b6() -> Table {
    let headers = [">.00", ">.05", ">.10", ">.15", ">.20"];
    let mut columns = vec![Column::words("set", "Set"), evaluator()];
    columns.extend(THRESHOLD_KEYS.iter().zip(headers).map(|(key, header)| Column::numbers(*key, header)));
    Table::new("B.6", "Successful matched tasks under strict thresholds", columns)
}

/// Table C.1: reproduction manifest. Keys: component, record.
pub fn table_c1() -> Table {
    let columns = vec![Column::words("component", "Component"), Column::words("record", "Frozen record")];
    Table::new("C.1", "Minimum reproduction manifest", columns)
}

fn with_headings(first: Column, headings: &[Heading<'_>]) -> Vec<Column> {
    let numbers = headings.iter().map(|(id, name)| Column::numbers(*id, *name));
    std::iter::once(first).chain(numbers).collect()
}
