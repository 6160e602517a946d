//! P's tables, each aggregate labelled as recomputed or printed only.

use crate::exact::Ratio;
use crate::published::PublishedError;
use crate::published::data::{Manifest, PrintedTarget, Published};
use crate::published::findings::{found, fraction, missed, retained_all};
use crate::published::recompute::{AttackResult, Recomputed, Rule};
use crate::statistics::{Interval, MeanEstimate, Proportion, Score};
use crate::table::{Cell, Label, Missing, Table, layout};

/// The note of tables that hold a printed-only value.
const MARKED: &str = "* printed only: nothing that P prints determines it. All else is recomputed from printed per-task values, the rules' \
                      definitions or printed counts; the comparison table says which.";

/// Tables 1, 2, 3, 6.1, A.1–A.5, B.1–B.6, C.1.
pub(crate) fn tables(published: &Published, recomputed: &Recomputed) -> Result<Vec<Table>, PublishedError> {
    let descriptions = &published.descriptions;
    Ok(vec![
        positioning(layout::table_1(), "time", &descriptions.positioning_short)?,
        table_2(published, recomputed)?,
        table_3(published, recomputed)?,
        table_6_1(published, recomputed)?,
        table_a1(&published.manifest)?,
        table_a2(&published.manifest)?,
        positioning(layout::table_a3(), "temporal_rule", &descriptions.positioning)?,
        pairs(layout::table_a4(), ["component", "configuration"], &descriptions.configuration)?,
        table_a5(published, recomputed)?,
        table_b1(published, recomputed)?,
        table_b2(published, recomputed)?,
        table_b3(published, recomputed)?,
        table_b4(published, recomputed)?,
        table_b5(published, recomputed)?,
        table_b6(published, recomputed)?,
        pairs(layout::table_c1(), ["component", "record"], &descriptions.reproduction)?,
    ])
}

fn positioning(mut table: Table, time: &str, rows: &[[String; 5]]) -> Result<Table, PublishedError> {
    for [id, name, temporal, attribution, decomposition] in rows {
        table.push([
            ("evaluator", Cell::named(id, name)),
            (time, Cell::text(temporal)),
            ("attribution", Cell::text(attribution)),
            ("decomposition", Cell::text(decomposition)),
        ])?;
    }
    Ok(table)
}

fn pairs(mut table: Table, keys: [&str; 2], rows: &[[String; 2]]) -> Result<Table, PublishedError> {
    for row in rows {
        table.push(keys.into_iter().zip(row).map(|(key, words)| (key, Cell::text(words))))?;
    }
    Ok(table)
}

fn recomputed_cell(cell: impl Into<Cell>) -> Cell {
    cell.into().labelled(Label::Recomputed)
}

/// A printed decimal, where nothing determines it.
fn printed_number(printed: &str) -> Result<Cell, PublishedError> {
    Ok(Cell::Number(Score::printed(printed.parse()?)).labelled(Label::PrintedOnly))
}

fn printed_estimate(mean: &str, bounds: Option<&[String; 2]>) -> Result<Cell, PublishedError> {
    let score = |text: &str| text.parse::<Ratio>().map(Score::printed);
    let interval = match bounds {
        Some([low, high]) => Some(Interval { low: score(low)?, high: score(high)? }),
        None => None,
    };
    Ok(Cell::Estimate { mean: score(mean)?, interval }.labelled(Label::PrintedOnly))
}

fn printed_count(count: usize) -> Cell {
    Cell::count(count).labelled(Label::PrintedOnly)
}

fn mean_cell(estimate: Option<MeanEstimate>) -> Cell {
    recomputed_cell(estimate.map(|estimate| estimate.mean))
}

/// Honest MAE: recomputed where the rule's definition determines it.
fn mae_cell(recomputed: &Recomputed, id: &str, printed: &str) -> Result<Cell, PublishedError> {
    match recomputed.honest(id) {
        None => printed_number(printed),
        estimate => Ok(mean_cell(estimate)),
    }
}

/// Rollbacks detected, or the printed count, or that the row is auxiliary.
fn rollback_cell(recomputed: &Recomputed, id: &str, printed: Option<&str>) -> Result<Cell, PublishedError> {
    match (recomputed.rollbacks(id), printed) {
        (Some(detected), _) => Ok(recomputed_cell(detected)),
        (None, Some(printed)) => Ok(Cell::from(fraction(printed)?).labelled(Label::PrintedOnly)),
        (None, None) => Ok(Cell::Missing(Missing::Auxiliary)),
    }
}

fn named(published: &Published, id: &str) -> Cell {
    Cell::named(id, published.name(id))
}

fn table_2(published: &Published, recomputed: &Recomputed) -> Result<Table, PublishedError> {
    let mut table = layout::table_2().with_note(MARKED);
    for printed in &published.printed.targets {
        let valid = Proportion::new(printed.protocol_valid.min(printed.generated), printed.generated);
        let mut cells = target_cells(published, recomputed, printed)?;
        cells.push(("valid", Cell::from(valid).labelled(Label::PrintedOnly)));
        table.push(cells)?;
    }
    let analytic = Cell::Missing(Missing::Analytic);
    let zero = Cell::Estimate { mean: Score::ZERO, interval: None };
    table.push([
        ("target", Cell::named("csps", "CSPS / Lightweight CAPE")),
        ("valid", Cell::Missing(Missing::NotApplicable)),
        ("coverage", analytic),
        ("mean_inflation", zero.labelled(Label::Recomputed)),
        ("conditional_asr", Cell::Missing(Missing::NotApplicable)),
        ("end_to_end_yield", Cell::Missing(Missing::NotApplicable)),
    ])?;
    Ok(table)
}

fn table_b3(published: &Published, recomputed: &Recomputed) -> Result<Table, PublishedError> {
    let mut table = layout::table_b3();
    for printed in &published.printed.targets {
        table.push(target_cells(published, recomputed, printed)?)?;
    }
    Ok(table)
}

/// The cells that Tables 2 and B.3 share.
fn target_cells(
    published: &Published,
    recomputed: &Recomputed,
    printed: &PrintedTarget,
) -> Result<Vec<(&'static str, Cell)>, PublishedError> {
    let summary = &found(recomputed.target(&printed.target), &printed.target)?.summary;
    Ok(vec![
        ("target", named(published, &printed.target)),
        ("coverage", recomputed_cell(summary.coverage)),
        ("mean_inflation", recomputed_cell(summary.mean_inflation)),
        ("conditional_asr", recomputed_cell(summary.conditional_asr)),
        ("end_to_end_yield", recomputed_cell(summary.end_to_end_yield)),
    ])
}

fn table_3(published: &Published, recomputed: &Recomputed) -> Result<Table, PublishedError> {
    let mut table = layout::table_3().with_note(MARKED);
    for printed in &published.printed.shared {
        let id = printed.evaluator.as_str();
        let summary = &found(recomputed.shared(id), id)?.summary;
        table.push([
            ("evaluator", named(published, id)),
            ("honest_mae", mae_cell(recomputed, id, &printed.table_3.honest_mae)?),
            ("mean_inflation", mean_cell(summary.mean_inflation)),
            ("rollback", rollback_cell(recomputed, id, printed.rollback.as_deref())?),
        ])?;
    }
    Ok(table)
}

fn table_6_1(published: &Published, recomputed: &Recomputed) -> Result<Table, PublishedError> {
    let mut table = layout::table_6_1().with_note(MARKED);
    for printed in &published.printed.mechanism {
        let mut reductions = recomputed.reductions.iter();
        let ours = reductions.find(|(id, _)| *id == printed.contrast).and_then(|(_, ours)| ours.mean);
        let rollbacks = printed_estimate(&printed.rollbacks, printed.rollbacks_ci95.as_ref())?;
        table.push([
            ("contrast", Cell::named(&printed.contrast, &printed.name)),
            ("attacks", recomputed_cell(ours)),
            ("rollbacks", rollbacks),
        ])?;
    }
    Ok(table)
}

fn table_a1(manifest: &Manifest) -> Result<Table, PublishedError> {
    let mut table = layout::table_a1().with_note(MARKED);
    let held_out = |short: &str| manifest.tasks.iter().filter(|task| task.family == short).count();
    let (mut development_sum, mut held_out_sum) = (0, 0);
    for family in &manifest.families {
        let held_out = held_out(&family.short);
        development_sum += family.development;
        held_out_sum += held_out;
        table.push([
            ("family", Cell::text(&family.family)),
            ("development", printed_count(family.development)),
            ("held_out", recomputed_cell(Cell::count(held_out))),
            ("total", recomputed_cell(Cell::count(family.development + held_out))),
        ])?;
    }
    table.push([
        ("family", Cell::text("Total")),
        ("development", recomputed_cell(Cell::count(development_sum))),
        ("held_out", recomputed_cell(Cell::count(held_out_sum))),
        ("total", recomputed_cell(Cell::count(development_sum + held_out_sum))),
    ])?;
    Ok(table)
}

fn table_a2(manifest: &Manifest) -> Result<Table, PublishedError> {
    let mut table = layout::table_a2();
    for task in &manifest.tasks {
        let tag = task.tag.as_deref().map_or(Cell::Missing(Missing::NotApplicable), Cell::text);
        let metric = if task.rollback_metric { "included" } else { "excluded" };
        table.push([
            ("task", Cell::text(&task.task)),
            ("family", Cell::text(&task.family)),
            ("goal_form", Cell::text(&task.goal_form)),
            ("m", Cell::Integer(i64::from(task.m))),
            ("p_state_honest", Cell::Ratio(task.p_state_honest)),
            ("tag", tag),
            ("a_ref", Cell::Flag(task.a_ref)),
            ("rollback_metric", Cell::text(metric)),
        ])?;
    }
    Ok(table)
}

fn table_a5(published: &Published, recomputed: &Recomputed) -> Result<Table, PublishedError> {
    let mut table = layout::table_a5().with_note(MARKED);
    let attempts = recomputed.shape.tasks().len() * published.printed.attempts_per_task;
    for printed in &published.printed.targets {
        let summary = &found(recomputed.target(&printed.target), &printed.target)?.summary;
        table.push([
            ("target", named(published, &printed.target)),
            ("generated", recomputed_cell(Cell::count(attempts))),
            ("protocol_valid", printed_count(printed.protocol_valid)),
            ("matched_tasks", recomputed_cell(Cell::count(summary.coverage.k))),
            ("successful", recomputed_cell(Cell::count(summary.end_to_end_yield.k))),
        ])?;
    }
    Ok(table)
}

fn table_b1(published: &Published, recomputed: &Recomputed) -> Result<Table, PublishedError> {
    let headings = [("historical", "Historical"), ("deepseek", "DeepSeek"), ("idj", "IDJ")];
    let mut table = layout::table_b1(&headings)
        .with_note("CAPE-Max equals Historical on this set; CSPS and Lightweight CAPE are zero.");
    for row in &published.ledger.shared {
        table.push([
            ("task", Cell::text(&row.task)),
            ("historical", Cell::Number(Score::printed(row.historical))),
            ("deepseek", Cell::Number(Score::printed(row.deepseek))),
            ("idj", Cell::Number(Score::printed(row.idj))),
        ])?;
    }
    for (title, of) in [("Mean", mean_of as fn(&AttackResult) -> Cell), ("ASR", asr_of)] {
        let mut cells = vec![("task", Cell::text(title))];
        for (id, _) in headings {
            cells.push((id, of(found(recomputed.shared(id), id)?)));
        }
        table.push(cells)?;
    }
    Ok(table)
}

fn mean_of(result: &AttackResult) -> Cell {
    mean_cell(result.summary.mean_inflation)
}

fn asr_of(result: &AttackResult) -> Cell {
    recomputed_cell(result.summary.conditional_asr)
}

fn table_b2(published: &Published, recomputed: &Recomputed) -> Result<Table, PublishedError> {
    let mut table = layout::table_b2().with_note(MARKED);
    for printed in &published.printed.shared {
        let id = printed.evaluator.as_str();
        let summary = &found(recomputed.shared(id), id)?.summary;
        table.push([
            ("evaluator", named(published, id)),
            ("honest_mae", mae_cell(recomputed, id, &printed.honest_mae)?),
            ("mean_inflation", recomputed_cell(summary.mean_inflation)),
            ("conditional_asr", recomputed_cell(summary.conditional_asr)),
            ("end_to_end_yield", recomputed_cell(summary.end_to_end_yield)),
            ("rollback", rollback_cell(recomputed, id, printed.rollback.as_deref())?),
        ])?;
    }
    Ok(table)
}

fn table_b4(published: &Published, recomputed: &Recomputed) -> Result<Table, PublishedError> {
    let targets = published.ledger.ranked.targets();
    let headings: Vec<(&str, &str)> = targets.iter().map(|(id, _)| (*id, published.name(id))).collect();
    let mut table = layout::table_b4(&headings)
        .with_note("Values are sorted within a target; a row names no task and no common candidate.");
    let ranks = recomputed.targets.iter().map(|result| result.summary.coverage.k).max().unwrap_or(0);
    for place in 0..ranks {
        let cell = |values: &[Ratio]| match values.get(place) {
            Some(value) => Cell::Number(Score::printed(*value)),
            None => Cell::Missing(Missing::Unmatched),
        };
        let mut cells = vec![("rank", Cell::count(place + 1))];
        cells.extend(targets.iter().map(|(id, values)| (*id, cell(values))));
        table.push(cells)?;
    }
    Ok(table)
}

fn table_b5(published: &Published, recomputed: &Recomputed) -> Result<Table, PublishedError> {
    let mut table = layout::table_b5().with_note(MARKED);
    for printed in &published.printed.rollback {
        let id = printed.evaluator.as_str();
        let missed = missed(&printed.detected)?;
        let retained_all = match (retained_all(printed)?, &printed.retained_all) {
            (Some(score), _) => recomputed_cell(Cell::Number(score)),
            (None, Some(text)) => printed_number(text)?,
            (None, None) => Cell::Missing(Missing::NotPrinted),
        };
        let retained_misses = match &printed.retained_misses {
            Some(text) => printed_number(text)?,
            None if Rule::of(id) == Rule::Current => Cell::Missing(Missing::NotApplicable),
            None => Cell::Missing(Missing::NotPrinted),
        };
        table.push([
            ("evaluator", named(published, id)),
            ("detected", rollback_cell(recomputed, id, Some(&printed.detected))?),
            ("miss_rate", recomputed_cell(missed.ratio().map(Score::exact))),
            ("retained_all", retained_all),
            ("retained_misses", retained_misses),
        ])?;
    }
    Ok(table)
}

fn table_b6(published: &Published, recomputed: &Recomputed) -> Result<Table, PublishedError> {
    let mut table = layout::table_b6();
    for printed in &published.printed.thresholds {
        let id = printed.evaluator.as_str();
        let result = match printed.set.as_str() {
            "shared" => recomputed.shared(id),
            _ => recomputed.target(id),
        };
        let counts = &found(result, id)?.thresholds;
        let mut cells = vec![("set", Cell::text(&printed.set)), ("evaluator", named(published, id))];
        let count = |count: &usize| recomputed_cell(Cell::count(*count));
        cells.extend(layout::THRESHOLD_KEYS.into_iter().zip(counts.iter().map(count)));
        table.push(cells)?;
    }
    Ok(table)
}
