//! tau2's evaluation criteria as named checks.
//!
//! A check's id is its JSON pointer inside the criteria without the first slash, an action's last segment being its `action_id`:
//! `actions/0_4`, `communicate_info/0`, `nl_assertions/1`, `env_assertions/0`; in a list of several tasks the task's id stands in front,
//! `5/communicate_info/0`. The reward is the product of the components in
//! `reward_basis`, by tau2's default `DB` and `COMMUNICATE` where there is none (`EvaluationCriteria` in its `data_model/tasks.py`); a check outside
//! it is declared and not enforced. Actions are enforced by `ACTION` directly and by `DB`
//! through the state that replaying them gives. Under `DB` alone an action that only reads leaves no trace in that state; the file
//! does not tell which actions read, so this is not told apart here.

use std::borrow::Cow;

use parthack_env::canonical::canonical_bytes;
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;

use super::VerifierTest;

/// The lists of checks.
pub(super) const KEYS: [&str; 4] = ["actions", "communicate_info", "nl_assertions", "env_assertions"];

/// What makes the reward where a task does not say.
const DEFAULT_BASIS: [&str; 2] = ["DB", "COMMUNICATE"];

/// Criteria of a task.
pub(super) struct Criteria<'j, 'a> {
    /// The task's id, where the file has several tasks.
    task: Option<String>,
    at: Cursor<'j, 'a>,
}

/// The criteria in a file: the whole file, what stands under `evaluation_criteria` in a task, or in each task of a list. None where the file is
/// nothing of this.
///
/// # Errors
/// A task of several without an id.
pub(super) fn criteria<'j, 'a>(json: &'j Json<'a>) -> Result<Vec<Criteria<'j, 'a>>, InputError> {
    let root = Cursor::root(json);
    let Json::Array(tasks) = json else {
        let at = root.optional("evaluation_criteria").or(Some(root)).filter(has_checks);
        return Ok(at.map(|at| Criteria { task: None, at }).into_iter().collect());
    };
    let mut found = Vec::new();
    if tasks.iter().any(|task| task.get("evaluation_criteria").is_none()) {
        return Ok(found);
    }
    for task in root.items()? {
        if let Some(at) = task.optional("evaluation_criteria").filter(has_checks) {
            let id = match tasks.len() {
                1 => None,
                _ => Some(match task.key("id")? {
                    id if matches!(id.json, Json::Number(_)) => {
                        String::from_utf8_lossy(&canonical_bytes(id.json)).into_owned()
                    }
                    id => id.text()?.to_owned(),
                }),
            };
            found.push(Criteria { task: id, at });
        }
    }
    Ok(found)
}

fn has_checks(criteria: &Cursor<'_, '_>) -> bool {
    KEYS.iter().any(|key| matches!(criteria.json.get(key), Some(Json::Array(_))))
}

/// Appends the checks.
///
/// # Errors
/// A check that is not what its kind needs.
pub(super) fn tests(criteria: &Criteria<'_, '_>, path: &str, tests: &mut Vec<VerifierTest>) -> Result<(), InputError> {
    let (prefix, criteria) = (criteria.task.as_ref().map(|id| format!("{id}/")).unwrap_or_default(), &criteria.at);
    let basis = match criteria.optional("reward_basis").filter(|basis| *basis.json != Json::Null) {
        Some(basis) => basis.items()?.iter().map(Cursor::text).collect::<Result<Vec<_>, _>>()?,
        None => DEFAULT_BASIS.to_vec(),
    };
    let enforced_by = |components: &[&str]| components.iter().any(|component| basis.contains(component));
    for key in KEYS {
        let Some(list) = criteria.optional(key).filter(|list| *list.json != Json::Null) else { continue };
        for (index, check) in list.items()?.iter().enumerate() {
            let (name, text) = match key {
                "actions" => action(check)?,
                "env_assertions" => (None, env_assertion(check)?),
                _ => (None, check.text()?.to_owned()),
            };
            let name = name.map_or_else(|| Cow::Owned(index.to_string()), Cow::Borrowed);
            tests.push(VerifierTest {
                id: format!("{prefix}{key}/{name}"),
                file: path.to_owned(),
                line: 0,
                text,
                open: false,
                enforced: enforced_by(match key {
                    "actions" => &["ACTION", "DB"],
                    "communicate_info" => &["COMMUNICATE"],
                    "nl_assertions" => &["NL_ASSERTION"],
                    _ => &["ENV_ASSERTION"],
                }),
            });
        }
    }
    Ok(())
}

fn action<'j>(check: &Cursor<'j, '_>) -> Result<(Option<&'j str>, String), InputError> {
    let id = check.optional("action_id").map(|id| id.text()).transpose()?;
    Ok((id, call(check, "name")?))
}

fn env_assertion(check: &Cursor<'_, '_>) -> Result<String, InputError> {
    let text = call(check, "func_name")?;
    Ok(match check.optional("assert_value").map(|value| value.json.clone()) {
        Some(Json::Bool(false)) => format!("not {text}"),
        _ => text,
    })
}

fn call(check: &Cursor<'_, '_>, name: &str) -> Result<String, InputError> {
    let arguments = check.optional("arguments").map(|arguments| canonical_bytes(arguments.json));
    let arguments = String::from_utf8_lossy(arguments.as_deref().unwrap_or(b"{}")).into_owned();
    Ok(format!("{}({arguments})", check.key(name)?.text()?))
}
