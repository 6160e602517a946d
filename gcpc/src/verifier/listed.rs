//! Tests that a file lists by name: CTRF reports, plain lists, and SWE-bench instances.

use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;

use super::{VerifierTest, split_node};

/// The tests of a JSON file, or `None` where it has none of the shapes.
///
/// # Errors
/// A known shape with the wrong content.
pub(super) fn tests(json: &Json<'_>) -> Result<Option<Vec<VerifierTest>>, InputError> {
    let root = Cursor::root(json);
    if let Some(results) = root.optional("results").filter(|results| results.json.get("tests").is_some()) {
        let tests = results.key("tests")?.items()?;
        return tests.iter().map(|test| Ok(named(test.key("name")?.text()?, ""))).collect::<Result<_, _>>().map(Some);
    }
    if let Some(list) = root.optional("FAIL_TO_PASS") {
        return names_maybe_in_text(&list).map(Some);
    }
    if let Some(list) = root.optional("tests").filter(|list| is_texts(list.json)) {
        let file = root.optional("verifier_file").map(|file| file.text().map(str::to_owned)).transpose()?;
        return names(&list, file.as_deref().unwrap_or_default()).map(Some);
    }
    if is_texts(json) {
        return names(&root, "").map(Some);
    }
    Ok(None)
}

fn is_texts(json: &Json<'_>) -> bool {
    matches!(json, Json::Array(items) if !items.is_empty() && items.iter().all(|item| item.as_str().is_some()))
}

fn names(list: &Cursor<'_, '_>, file: &str) -> Result<Vec<VerifierTest>, InputError> {
    list.items()?.iter().map(|item| item.text().map(|name| named(name, file))).collect()
}

/// SWE-bench publishes its lists as JSON text inside a string, or as a list.
fn names_maybe_in_text(list: &Cursor<'_, '_>) -> Result<Vec<VerifierTest>, InputError> {
    let Json::String(text) = list.json else { return names(list, "") };
    let inner = Json::parse(text.as_bytes())
        .map_err(|error| list.fault_found(format!("a text that is no JSON ({error})"), "a JSON list of test names"))?;
    names(&Cursor { json: &inner, pointer: list.pointer.clone() }, "")
}

fn named(name: &str, file: &str) -> VerifierTest {
    let (own_file, id) = split_node(name);
    let file = if own_file.is_empty() { file } else { own_file };
    VerifierTest { id: id.to_owned(), file: file.to_owned(), line: 0, text: String::new(), open: false, enforced: true }
}
