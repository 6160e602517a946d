//! Counts: the cells that the manifest plans are those of the ledger, and every denominator is the suite's own (P B.1, C.2).

use std::collections::{BTreeMap, BTreeSet};

use parthack_evaluators::judge;
use serde_json::Value;

use crate::audit::certifier::looks;
use crate::audit::context::{Context, payloads_by_subject};
use crate::audit::outcome::Outcome;
use crate::ledger::{CellName, Ledger, Record, Subject};
use crate::run::error::RunError;
use crate::run::judging::variants_of;
use crate::run::manifest::{FrozenEvaluator, FrozenTask, REFERENCE_SUITE};
use crate::run::plugins::SAID_TWICE;

/// Held-out tasks, those of them that claim a rollback, and development tasks of the paper's suite (P Table A.1).
const PAPER: (usize, usize, usize) = (18, 14, 6);

pub(super) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
    let ledger = context.ledger()?;
    suite(context, outcome);
    cells(context, &ledger, outcome);
    pairs(context, &ledger, outcome);
    denominators(context, &ledger, outcome)
}

fn held_out<'c>(context: &'c Context<'_>) -> impl Iterator<Item = &'c FrozenTask> {
    context.manifest.tasks.iter().filter(|task| task.is_held_out())
}

fn rollback_tasks(context: &Context<'_>) -> usize {
    held_out(context).filter(|task| task.rollback_metric).count()
}

fn suite(context: &Context<'_>, outcome: &mut Outcome) {
    let suite = &context.manifest.suite;
    if suite.id == REFERENCE_SUITE && suite.whole {
        let (tasks, all) = (held_out(context).count(), context.manifest.tasks.len());
        outcome.compare("counts of the suite", "held-out tasks", &tasks, &PAPER.0);
        outcome.compare("counts of the suite", "rollback tasks", &rollback_tasks(context), &PAPER.1);
        outcome.compare("counts of the suite", "development tasks", &(all - tasks), &PAPER.2);
    } else {
        let counts = format!("{} held-out, {} claim a rollback", held_out(context).count(), rollback_tasks(context));
        outcome
            .notes
            .push(format!("the paper's 18 and 14 are asserted of the whole {REFERENCE_SUITE} alone; here: {counts}"));
    }
}

/// The plan, worked out from the manifest and from what certification gave, against the ledger.
fn cells(context: &Context<'_>, ledger: &Ledger, outcome: &mut Outcome) {
    let manifest = &context.manifest;
    let mut planned = BTreeSet::new();
    let controls: BTreeSet<&String> =
        ledger.records().filter_map(|r| if let Record::Control(r) = r { Some(&r.mutation) } else { None }).collect();
    for FrozenTask { id: task, rollback_metric, .. } in &manifest.tasks {
        planned.insert(CellName::Honest { task: task.clone() });
        for target in &manifest.targets {
            planned.insert(CellName::Selection { task: task.clone(), target: target.clone() });
            for attempt in 1..=manifest.attempts(task, target) {
                planned.insert(CellName::Attempt { task: task.clone(), target: target.clone(), attempt });
            }
        }
        planned.extend(
            controls.iter().map(|mutation| CellName::Control { task: task.clone(), mutation: (*mutation).clone() }),
        );
        let sets = manifest.rollback_sets.iter().filter(|_| *rollback_metric);
        for set in sets {
            // `all` has one a predicate that can fall, the others one.
            let of_set = |r: &&Record| matches!(r, Record::Rollback(r) if r.task == *task && r.set == *set);
            let count = if set == "all" { ledger.records().filter(of_set).count().max(1) } else { 1 };
            let indexes = 0..u32::try_from(count).unwrap_or(u32::MAX);
            planned.extend(indexes.map(|index| CellName::Rollback { task: task.clone(), set: set.clone(), index }));
        }
    }
    for evaluator in &manifest.evaluators {
        let frozen = evaluator.judge.as_ref();
        if frozen.is_some_and(|judge| judge.checklist_role.is_some()) {
            let tasks = frozen.into_iter().flat_map(|judge| &judge.tasks);
            planned
                .extend(tasks.map(|task| CellName::Checklist { task: task.clone(), evaluator: evaluator.id.clone() }));
        }
        for (task, subject) in payloads_by_subject(ledger).into_keys() {
            plan_scores(context, evaluator, task, &subject, &mut planned);
        }
    }
    let there: BTreeSet<CellName> = ledger.records().map(Record::name).collect();
    for name in planned.union(&there).filter(|name| !matches!(name, CellName::Audit { .. })) {
        outcome.checks(&format!("cells: {}", kind(name)), 1);
        match (planned.contains(name), there.contains(name)) {
            (true, false) => outcome.finds(name.to_string(), "no cell in the ledger", "the cell, which the plan has"),
            (false, true) => outcome.finds(name.to_string(), "a cell in the ledger", "none, for the plan has none"),
            _ => {}
        }
    }
}

fn plan_scores(
    context: &Context<'_>,
    evaluator: &FrozenEvaluator,
    task: &str,
    subject: &Subject,
    planned: &mut BTreeSet<CellName>,
) {
    let (task, subject, id) = (task.to_owned(), subject.clone(), evaluator.id.clone());
    let Some(frozen) = &evaluator.judge else {
        // Evaluators of users' own say twice what they say of honest trajectories.
        if evaluator.plugin.is_some() && subject == (Subject::Honest {}) {
            for variant in SAID_TWICE {
                let (task, subject, evaluator) = (task.clone(), subject.clone(), id.clone());
                planned.insert(CellName::Judgement { task, subject, evaluator, variant });
            }
        }
        planned.insert(CellName::Score { task, subject, evaluator: id });
        return;
    };
    // A judge is asked about H, A_ref, its own adversary and the rollback of the tables, on the tasks that it covers.
    let judged = match &subject {
        Subject::Honest {} => true,
        Subject::Adversary { target } => *target == context.manifest.reference_target || *target == id,
        Subject::Rollback { set, .. } => set == "least",
    };
    let Some(judge) = judge::judge(&id).filter(|_| judged && frozen.tasks.contains(&task)) else { return };
    let probes = frozen.probes && subject == Subject::Honest {};
    for variant in variants_of(judge.as_ref(), probes) {
        let (task, subject, evaluator) = (task.clone(), subject.clone(), id.clone());
        planned.insert(CellName::Judgement { task, subject, evaluator, variant });
    }
    planned.insert(CellName::Score { task, subject, evaluator: id });
}

fn kind(name: &CellName) -> &'static str {
    match name {
        CellName::Honest { .. } => "honest trajectories",
        CellName::Attempt { .. } => "attempts",
        CellName::Selection { .. } => "selections",
        CellName::Rollback { .. } => "rollbacks",
        CellName::Control { .. } => "mutation controls",
        CellName::Score { .. } => "scores",
        CellName::Checklist { .. } => "checklists",
        CellName::Judgement { .. } => "judgements",
        CellName::Audit { .. } => "audits",
    }
}

/// The assertions of P C.2 about pairs: adversaries match both vectors, rollbacks keep the goal version and lose progress.
fn pairs(context: &Context<'_>, ledger: &Ledger, outcome: &mut Outcome) {
    let payloads = payloads_by_subject(ledger);
    let looks = looks(context, &payloads);
    for (task, subject) in payloads.keys() {
        let (Some(honest), Some(look)) =
            (looks.get(&(*task, Subject::Honest {})), looks.get(&(*task, subject.clone())))
        else {
            outcome.finds(format!("{task}, {subject}"), "a payload that can't be evaluated", "one that can");
            continue;
        };
        let place = format!("{task}, {subject}");
        match subject {
            Subject::Honest {} => {}
            Subject::Adversary { target } => {
                let reference = *target == context.manifest.reference_target;
                let kind = if reference { "pairs (H, A_ref)" } else { "pairs (H, A) of other targets" };
                outcome.checks(kind, 1);
                if (&look.c_state, &look.c_agent, look.goal_version)
                    != (&honest.c_state, &honest.c_agent, honest.goal_version)
                {
                    let found = format!("c_state {}, c_agent {}", look.c_state, look.c_agent);
                    outcome.finds(place, found, format!("{} and {}, as H", honest.c_state, honest.c_agent));
                }
            }
            Subject::Rollback { set, .. } => {
                outcome.checks(&format!("pairs (H, R) of the set {set}"), 1);
                if look.goal_version != honest.goal_version {
                    let found = format!("goal version {}", look.goal_version);
                    outcome.finds(place.as_str(), found, honest.goal_version.to_string());
                }
                if look.satisfied() >= honest.satisfied() {
                    let found = format!("{} satisfied predicates", look.satisfied());
                    outcome.finds(place, found, format!("fewer than {}", honest.satisfied()));
                }
            }
        }
    }
}

/// The denominators that tables print, against the manifest and the ledger.
fn denominators(context: &Context<'_>, ledger: &Ledger, outcome: &mut Outcome) -> Result<(), RunError> {
    let Some(bytes) = context.file("tables/tables.json", outcome) else { return Ok(()) };
    let document: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let (tasks, rollbacks) = (held_out(context).count() as u64, rollback_tasks(context) as u64);
    let matched: BTreeMap<&str, u64> = context
        .manifest
        .targets
        .iter()
        .map(|target| {
            let of_target = ledger.records().filter(|record| match record {
                Record::Selection(r) => {
                    r.target == *target && r.attempt.is_some() && held_out(context).any(|t| t.id == r.task)
                }
                _ => false,
            });
            (target.as_str(), of_target.count() as u64)
        })
        .collect();
    let attempts =
        |target: &str| held_out(context).map(|task| u64::from(context.manifest.attempts(&task.id, target))).sum();
    for table in document["tables"].as_array().into_iter().flatten() {
        let id = table["id"].as_str().unwrap_or_default();
        let key = match id {
            "2" | "B.3" | "A.5" => "target",
            "B.2" | "3" | "B.5" => "evaluator",
            _ => continue,
        };
        for row in table["rows"].as_array().into_iter().flatten() {
            let Some(name) = row[key].as_str() else { continue };
            let target = if key == "target" { name } else { context.manifest.reference_target.as_str() };
            let matched = matched.get(target).copied().unwrap_or_default();
            let missing = row["no_verdict"].as_u64().unwrap_or_default() + unrecorded(context, ledger, target, name);
            let mut check = |column: &str, part: &str, expected: u64| {
                let cell = &row[column];
                let found = if part.is_empty() { cell.as_u64() } else { cell[part].as_u64() };
                if let Some(found) = found {
                    let place = format!("table {id}, {name}, {column}{}{part}", if part.is_empty() { "" } else { "." });
                    outcome.compare("denominators of tables", &place, &found, &expected);
                }
            };
            check("coverage", "n", tasks);
            check("coverage", "k", matched);
            check("conditional_asr", "n", matched - missing.min(matched));
            check("end_to_end_yield", "n", tasks);
            check("rollback", "n", rollbacks);
            check("detected", "n", rollbacks);
            check("valid", "n", produced(context, ledger, target));
            if id == "A.5" {
                check("matched_tasks", "", matched);
                check("generated", "", produced(context, ledger, target));
            }
        }
    }
    for target in &context.manifest.targets {
        let there = ledger.records().filter(|record| {
            matches!(record, Record::Attempt(r) if r.target == *target && held_out(context).any(|t| t.id == r.task))
        });
        let place = format!("attempts against {target} on held-out tasks");
        outcome.compare("attempts a target", &place, &(there.count() as u64), &attempts(target));
    }
    Ok(())
}

/// Pairs of an evaluator on a target's adversaries of held-out tasks of which a replay has no recording.
fn unrecorded(context: &Context<'_>, ledger: &Ledger, target: &str, evaluator: &str) -> u64 {
    let of = |wanted: &Subject| -> BTreeMap<&str, bool> {
        let scores = ledger.records().filter_map(|record| match record {
            Record::Score(r) if r.evaluator == evaluator && r.subject == *wanted => Some(r),
            _ => None,
        });
        scores.map(|r| (r.task.as_str(), r.score.is_unrecorded())).collect()
    };
    let (honest, adversary) = (of(&Subject::Honest {}), of(&Subject::Adversary { target: target.to_owned() }));
    let is_missing = |task: &str| {
        adversary.get(task).is_some_and(|missing| *missing || honest.get(task).copied().unwrap_or_default())
    };
    held_out(context).filter(|task| is_missing(&task.id)).count() as u64
}

/// Attempts on held-out tasks that gave a candidate, or that a model left without one: both consumed budget.
fn produced(context: &Context<'_>, ledger: &Ledger, target: &str) -> u64 {
    let counted = ledger.records().filter(|record| match record {
        Record::Attempt(r) => r.target == target && r.is_generated() && held_out(context).any(|task| task.id == r.task),
        _ => false,
    });
    counted.count() as u64
}
