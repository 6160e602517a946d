//! Tests that a file lists by name: CTRF reports, plain lists, and SWE-bench instances.

use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;

use super::{VerifierTest, file_name, python, split_node};

/// The tests of a JSON file, or `None` where it has none of the shapes. A bare list of objects with names is one in `test_names.json` alone.
///
/// # Errors
/// A known shape with the wrong content.
pub(super) fn tests(json: &Json<'_>, path: &str) -> Result<Option<Vec<VerifierTest>>, InputError> {
    let root = Cursor::root(json);
    if let Some(results) = root.optional("results").filter(|results| results.json.get("tests").is_some()) {
        let tests = results.key("tests")?.items()?;
        return tests.iter().map(|test| Ok(named(test.key("name")?.text()?, ""))).collect::<Result<_, _>>().map(Some);
    }
    if let Some(list) = root.optional("FAIL_TO_PASS").or_else(|| root.optional("fail_to_pass")) {
        return names_maybe_in_text(&list).map(Some);
    }
    if let Some(list) = root.optional("tests").filter(|list| is_names(list.json, true)) {
        let file = root.optional("verifier_file").map(|file| file.text().map(str::to_owned)).transpose()?;
        return names(&list, file.as_deref().unwrap_or_default()).map(Some);
    }
    if is_names(json, file_name(path) == "test_names.json") {
        return names(&root, "").map(Some);
    }
    Ok(None)
}

/// Whether every item is a text or, where those may be, an object with a name.
fn is_names(json: &Json<'_>, may_be_objects: bool) -> bool {
    let is_named = |item: &Json<'_>| may_be_objects && item.get("name").is_some_and(|name| name.as_str().is_some());
    matches!(json, Json::Array(items) if !items.is_empty() && items.iter().all(|item| item.as_str().is_some() || is_named(item)))
}

fn names(list: &Cursor<'_, '_>, file: &str) -> Result<Vec<VerifierTest>, InputError> {
    let name = |item: &Cursor<'_, '_>| match item.optional("name") {
        Some(inner) => inner.text().map(|name| named(name, file)),
        None => item.text().map(|name| named(name, file)),
    };
    list.items()?.iter().map(name).collect()
}

/// SWE-bench publishes its lists as JSON text inside a string, as a list, or as Python prints one.
fn names_maybe_in_text(list: &Cursor<'_, '_>) -> Result<Vec<VerifierTest>, InputError> {
    let Json::String(text) = list.json else { return names(list, "") };
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    match Json::parse(text.as_bytes()) {
        Ok(inner) => names(&Cursor { json: &inner, pointer: list.pointer.clone() }, ""),
        Err(error) => match python::list(text) {
            Some(printed) => Ok(printed.iter().map(|name| named(name, "")).collect()),
            None => {
                let found = format!("a text that is no list in JSON ({error}) nor in Python");
                Err(list.fault_found(found, "a list of test names"))
            }
        },
    }
}

fn named(name: &str, file: &str) -> VerifierTest {
    let (own_file, id) = split_node(name);
    let file = if own_file.is_empty() { file } else { own_file };
    VerifierTest { id: id.to_owned(), file: file.to_owned(), line: 0, text: String::new(), open: false, enforced: true }
}
