//! Tests that a file lists by name: CTRF reports, plain lists in JSON and in lines, and SWE-bench instances.

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
    if let Some(list) = failing(&root) {
        return names_maybe_in_text(&list).map(Some);
    }
    if let Json::Array(instances) = json
        && !instances.is_empty()
        && instances.iter().all(|of| of.get("FAIL_TO_PASS").or_else(|| of.get("fail_to_pass")).is_some())
    {
        let lists = root
            .items()?
            .iter()
            .filter_map(failing)
            .map(|list| names_maybe_in_text(&list))
            .collect::<Result<Vec<_>, _>>()?;
        return Ok(Some(lists.into_iter().flatten().collect()));
    }
    if let Some(list) =
        root.optional("tests").or_else(|| root.optional("test_names")).filter(|list| is_names(list.json, true))
    {
        let file = root.optional("verifier_file").map(|file| file.text().map(str::to_owned)).transpose()?;
        return names(&list, file.as_deref().unwrap_or_default()).map(Some);
    }
    if is_names(json, file_name(path) == "test_names.json") {
        return names(&root, "").map(Some);
    }
    Ok(None)
}

fn failing<'j, 'a>(instance: &Cursor<'j, 'a>) -> Option<Cursor<'j, 'a>> {
    instance.optional("FAIL_TO_PASS").or_else(|| instance.optional("fail_to_pass"))
}

/// Whether a line may be a SWE-bench instance.
pub(super) fn is_instance(line: &str) -> bool {
    line.contains("\"FAIL_TO_PASS\"") || line.contains("\"fail_to_pass\"")
}

/// The tests of a text that names one a line, and nothing else; lines that begin with `#` are comments.
pub(super) fn lines(text: &str) -> Vec<VerifierTest> {
    let names: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let is_name = |line: &&str| {
        let (_, id) = split_node(line);
        let (base, parameters) = id.find('[').map_or((id, "]"), |at| id.split_at(at));
        let is_plain = base.split("::").all(|part| {
            part.starts_with(|first: char| first.is_alphabetic() || first == '_')
                && part.chars().all(|of| of.is_alphanumeric() || of == '_')
        });
        let last = base.rsplit("::").next().unwrap_or_default();
        let is_unittest = line.starts_with("test") && line.contains(" (") && line.ends_with(')');
        (is_plain && parameters.ends_with(']') && last.starts_with("test")) || is_unittest
    };
    if names.iter().all(is_name) { names.into_iter().map(|name| named(name, "")).collect() } else { Vec::new() }
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
