//! Tables A.1 and A.2: what tasks a run is over.

use parthack_env::spec::Family;

use crate::run::error::RunError;
use crate::run::manifest::ratio_at;
use crate::table::{Cell, Missing, Table, layout};
use crate::tables::view::LedgerView;

const FAMILIES: [Family; 4] = [Family::Persistent, Family::Crud, Family::Interaction, Family::GoalPatch];

/// Table A.1: tasks by family.
pub(super) fn table_a1(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let mut table = layout::table_a1();
    let mut push = |title: &str, word: Option<&str>| {
        let of = |family: &str| word.is_none_or(|word| word == family);
        let development = view.development().filter(|task| of(&task.family)).count();
        let held_out = view.held_out().filter(|task| of(&task.family)).count();
        table.push([
            ("family", Cell::text(title)),
            ("development", Cell::count(development)),
            ("held_out", Cell::count(held_out)),
            ("total", Cell::count(development + held_out)),
        ])
    };
    for family in FAMILIES {
        push(family.title(), Some(family.word()))?;
    }
    push("Total", None)?;
    Ok(table)
}

/// The paper's short name of a family (Table A.2).
pub(super) fn family(word: &str) -> &str {
    match word {
        "persistent" => "Persistent",
        "crud" => "CRUD",
        "interaction" => "Interaction",
        "goalpatch" => "GoalPatch",
        other => other,
    }
}

fn goal_form(word: &str) -> &str {
    match word {
        "entity-set" => "entity set",
        "fixed-goal" => "fixed goal",
        other => other,
    }
}

/// Table A.2: the held-out manifest.
pub(super) fn table_a2(view: &LedgerView<'_>) -> Result<Table, RunError> {
    let mut table = layout::table_a2();
    for task in view.held_out() {
        let tags: Vec<&str> = task.tags.iter().map(|tag| if tag == "attribution" { "Attr." } else { "RB" }).collect();
        let tag = if tags.is_empty() { Cell::Missing(Missing::NotApplicable) } else { Cell::text(tags.join(" ")) };
        let metric = if task.rollback_metric { "included" } else { "excluded" };
        table.push([
            ("task", Cell::text(&task.id)),
            ("family", Cell::text(family(&task.family))),
            ("goal_form", Cell::text(goal_form(&task.goal_form))),
            ("m", Cell::Integer(i64::from(task.m))),
            ("p_state_honest", Cell::Ratio(ratio_at("/tasks/p_state_honest", &task.p_state_honest)?)),
            ("tag", tag),
            ("a_ref", Cell::Flag(view.is_matched(&task.id, &view.manifest.reference_target)?)),
            ("rollback_metric", Cell::text(metric)),
        ])?;
    }
    Ok(table)
}
