//! Tasks of tau2: what the user wants as the instruction, the evaluation criteria as the verifier.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::builder::{Warnings, canonical_text};
use crate::fault::Fault;
use crate::input::Found;
use crate::json::Notes;
use crate::kind::Kind;
use crate::log::{Provenance, WarningCode};
use crate::node::Node;
use crate::task::{NamedTest, Piece, TaskSource, TestList, VerifierFile};
use crate::tau2::without_defaults;

pub(crate) fn looks_like_task(node: &Node<'_, '_>) -> bool {
    node.get("id").is_some() && (node.get("user_scenario").is_some() || node.get("evaluation_criteria").is_some())
}

/// Ids of the gold actions of a task.
pub(crate) fn action_ids(task: &Node<'_, '_>) -> Vec<String> {
    let actions = task.path(&["evaluation_criteria", "actions"]).map(|actions| actions.list()).unwrap_or_default();
    actions.iter().filter_map(|action| action.get("action_id")?.scalar()).collect()
}

pub(crate) fn read(node: &Node<'_, '_>, notes: Notes, file: &Arc<str>, suite: Option<String>) -> Result<Found, Fault> {
    let at = |pointer: &str| Provenance { file: file.clone(), line: None, pointer: pointer.to_owned() };
    let id = node.need("id", "the id of the task")?;
    let id = id.scalar().ok_or_else(|| id.fault("the id of the task: text or a number"))?;
    let mut warnings = Warnings::default();
    warnings.notes(notes, &at(&node.pointer));
    let mut facts = BTreeMap::new();
    let mut suite = suite;
    let mut instruction = Vec::new();
    let piece = |field: &Node<'_, '_>| {
        let text = field.str().filter(|text| !text.trim().is_empty())?;
        Some(Piece { text: text.to_owned(), at: at(&field.pointer) })
    };
    if let Some(told) = node.path(&["user_scenario", "instructions"]) {
        instruction.extend(piece(&told));
        for (key, field) in told.entries() {
            match (key, field.str()) {
                ("domain", Some(domain)) => {
                    suite.get_or_insert_with(|| domain.to_owned());
                }
                _ => instruction.extend(piece(&field)),
            }
        }
    }
    if let Some(ticket) = node.get("ticket") {
        instruction.extend(piece(&ticket));
    }
    if instruction.is_empty() {
        warnings.push(WarningCode::TaskPartMissing, Some(at(&node.pointer)), "no instruction");
    }
    if let Some(purpose) = node.path(&["description", "purpose"]).and_then(|purpose| purpose.scalar()) {
        facts.insert("description.purpose".to_owned(), purpose);
    }
    let mut verifier = Vec::new();
    let mut tests = Vec::new();
    match node.get("evaluation_criteria") {
        None => warnings.push(WarningCode::TaskPartMissing, Some(at(&node.pointer)), "no evaluation criteria"),
        Some(criteria) => {
            if let Some(basis) = criteria.get("reward_basis") {
                let words: Vec<String> = basis.list().iter().filter_map(Node::scalar).collect();
                facts.insert("evaluation_criteria.reward_basis".to_owned(), words.join(" "));
            }
            verifier.push(VerifierFile {
                path: "evaluation_criteria".to_owned(),
                text: Some(canonical_text(&without_defaults(criteria.json))),
                at: at(&criteria.pointer),
            });
            named_checks(&criteria, &at, &mut tests);
        }
    }
    Ok(Found::Task(Box::new(TaskSource {
        kind: Kind::Tau2,
        suite,
        id,
        instruction,
        facts,
        verifier,
        tests,
        files: vec![file.clone()],
        warnings: warnings.finish(),
    })))
}

fn named_checks(criteria: &Node<'_, '_>, at: &impl Fn(&str) -> Provenance, tests: &mut Vec<NamedTest>) {
    let lists = [
        ("actions", TestList::Action),
        ("env_assertions", TestList::EnvironmentAssertion),
        ("communicate_info", TestList::Communicate),
        ("nl_assertions", TestList::NaturalLanguageAssertion),
    ];
    for (key, list) in lists {
        for (index, check) in criteria.get(key).map(|list| list.list()).unwrap_or_default().iter().enumerate() {
            let name = match list {
                TestList::Action => check.get("action_id").and_then(|id| id.scalar()),
                TestList::EnvironmentAssertion => {
                    check.text("func_name").map(|name| format!("env_assertions_{index}:{name}"))
                }
                _ => None,
            };
            let detail = check.scalar().unwrap_or_else(|| canonical_text(&without_defaults(check.json)));
            tests.push(NamedTest {
                name: name.unwrap_or_else(|| format!("{key}_{index}")),
                list,
                file: None,
                detail: Some(detail),
                at: at(&check.pointer),
            });
        }
    }
}
