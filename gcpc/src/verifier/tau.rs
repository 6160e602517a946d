//! tau2's evaluation criteria as named checks.
//!
//! A check's id is its JSON pointer inside the criteria without the first slash, an action's last segment being its `action_id`:
//! `actions/0_4`, `communicate_info/0`, `nl_assertions/1`, `env_assertions/0`. The reward is the product of the components in
//! `reward_basis`; a check outside it is declared and not enforced. Actions are enforced by `ACTION` directly and by `DB`
//! through the state that replaying them gives. Under `DB` alone an action that only reads leaves no trace in that state; the file
//! does not tell which actions read, so this is not told apart here.

use std::borrow::Cow;

use parthack_env::canonical::canonical_bytes;
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;

use super::VerifierTest;

const KEYS: [&str; 4] = ["actions", "communicate_info", "nl_assertions", "env_assertions"];

/// The criteria in a file: the whole file, or what stands under `evaluation_criteria` in a task.
pub(super) fn criteria<'j, 'a>(json: &'j Json<'a>) -> Option<Cursor<'j, 'a>> {
    let root = Cursor::root(json);
    root.optional("evaluation_criteria")
        .or(Some(root))
        .filter(|criteria| KEYS.iter().any(|key| matches!(criteria.json.get(key), Some(Json::Array(_)))))
}

/// Appends the checks.
///
/// # Errors
/// A check that is not what its kind needs.
pub(super) fn tests(criteria: &Cursor<'_, '_>, path: &str, tests: &mut Vec<VerifierTest>) -> Result<(), InputError> {
    let basis = match criteria.optional("reward_basis").filter(|basis| *basis.json != Json::Null) {
        Some(basis) => Some(basis.items()?.iter().map(Cursor::text).collect::<Result<Vec<_>, _>>()?),
        None => None,
    };
    let enforced_by = |components: &[&str]| {
        basis.as_ref().is_none_or(|basis| components.iter().any(|component| basis.contains(component)))
    };
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
                id: format!("{key}/{name}"),
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
