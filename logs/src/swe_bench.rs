//! Instances of SWE-bench and its relatives: a list, one object, an object of objects, or one a line.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::builder::Warnings;
use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::json::{self, Notes, Outline};
use crate::kind::Kind;
use crate::lines;
use crate::log::{Provenance, WarningCode};
use crate::node::Node;
use crate::task::{NamedTest, Piece, TaskSource, TestList, VerifierFile};

const EXPECTED: &str =
    "SWE-bench instances: objects with instance_id, problem_statement, FAIL_TO_PASS and PASS_TO_PASS";

pub(crate) fn open(path: &Path, file: &Arc<str>) -> Result<Items, Fault> {
    let file = file.clone();
    if lines::is_in_lines(path)? {
        return lines::each(path, EXPECTED, move |node, notes, number| instance(node, notes, &file, Some(number)));
    }
    let text = input::read_text(path)?;
    match json::outline(&text, 0..text.len(), "")? {
        Outline::Array(ranges) => {
            let Some(first) = ranges.first() else {
                return Err(Fault::at(RefusalCode::NothingInIt, "", "an empty list", EXPECTED));
            };
            let (value, _) = json::parse_part(&text, first.clone(), "/0")?;
            if !looks_like_instance(&Node::new(&value, "/0")) {
                let found = format!("a list whose first item is {}", Node::new(&value, "/0").describe());
                return Err(Fault::at(RefusalCode::NotOfKind, "/0", found, EXPECTED));
            }
            Ok(input::each(Arc::from(text), ranges, "", move |node, notes| instance(node, notes, &file, None)))
        }
        whole @ Outline::Object(_) => {
            let (value, notes) = json::parse(&text)?;
            let root = Node::new(&value, "");
            if looks_like_instance(&root) {
                return instance(&root, notes, &file, None).map(input::one);
            }
            // Rows of a data set server, or instances by id.
            let rows: Vec<Node<'_, '_>> = match root.get("rows") {
                Some(rows) => rows.list().into_iter().filter_map(|row| row.get("row")).collect(),
                None => root.entries().into_iter().map(|(_, node)| node).collect(),
            };
            if !rows.first().is_some_and(looks_like_instance) {
                return Err(Fault::at(RefusalCode::NotOfKind, "", whole.describe(), EXPECTED));
            }
            let found: Vec<_> = rows.iter().map(|row| instance(row, Notes::default(), &file, None)).collect();
            Ok(Box::new(found.into_iter()))
        }
        Outline::Scalar => Err(Fault::at(RefusalCode::NotOfKind, "", "a single value", EXPECTED)),
    }
}

fn looks_like_instance(node: &Node<'_, '_>) -> bool {
    node.get("instance_id").is_some() && node.get("problem_statement").is_some()
}

fn instance(node: &Node<'_, '_>, notes: Notes, file: &Arc<str>, line: Option<usize>) -> Result<Found, Fault> {
    let at = |pointer: &str| Provenance { file: file.clone(), line, pointer: pointer.to_owned() };
    if !looks_like_instance(node) {
        return Err(Fault::at(RefusalCode::NotOfKind, &node.pointer, node.describe(), EXPECTED));
    }
    let id = node.need("instance_id", "the id of the instance")?;
    let id = id.str().ok_or_else(|| id.fault("the id of the instance"))?.to_owned();
    let statement = node.need("problem_statement", "text")?;
    let text = statement.str().ok_or_else(|| statement.fault("text"))?;
    let mut warnings = Warnings::default();
    warnings.notes(notes, &at(&node.pointer));
    let mut facts = BTreeMap::new();
    for key in
        ["repo", "base_commit", "version", "environment_setup_commit", "created_at", "difficulty", "repo_language"]
    {
        if let Some(value) = node.get(key).and_then(|value| value.scalar()) {
            facts.insert(key.to_owned(), value);
        }
    }
    // The patch is the solution and is left out; the test patch is the verifier's source.
    let mut verifier = Vec::new();
    match node.get("test_patch") {
        Some(patch) => {
            let text = patch.str().ok_or_else(|| patch.fault("a patch as text"))?.to_owned();
            verifier.push(VerifierFile { path: "test_patch".to_owned(), text: Some(text), at: at(&patch.pointer) });
        }
        None => warnings.push(WarningCode::TaskPartMissing, Some(at(&node.pointer)), "no test_patch"),
    }
    let mut tests = Vec::new();
    for (keys, list) in [
        (["FAIL_TO_PASS", "fail_to_pass"], TestList::FailToPass),
        (["PASS_TO_PASS", "pass_to_pass"], TestList::PassToPass),
    ] {
        match keys.iter().find_map(|key| node.get(key)) {
            Some(field) => named(&field, list, &at, &mut tests)?,
            None => warnings.push(WarningCode::TaskPartMissing, Some(at(&node.pointer)), format!("no {}", keys[0])),
        }
    }
    Ok(Found::Task(Box::new(TaskSource {
        kind: Kind::SweBench,
        suite: None,
        id,
        instruction: vec![Piece { text: text.to_owned(), at: at(&statement.pointer) }],
        facts,
        verifier,
        tests,
        files: vec![file.clone()],
        warnings: warnings.finish(),
    })))
}

/// Names in a list, or in a list that is JSON text (or text as Python prints a list) inside a string.
fn named(
    field: &Node<'_, '_>,
    list: TestList,
    at: &impl Fn(&str) -> Provenance,
    tests: &mut Vec<NamedTest>,
) -> Result<(), Fault> {
    let expected = "a list of test names, or one as JSON text";
    let mut push = |name: &str, pointer: &str| {
        tests.push(NamedTest { name: name.to_owned(), list, file: None, detail: None, at: at(pointer) });
    };
    if let Some(text) = field.str() {
        if text.trim().is_empty() {
            return Ok(());
        }
        if let Ok((inner, _)) = json::parse(text) {
            let node = Node::new(&inner, &*field.pointer);
            for item in node.items().ok_or_else(|| field.fault(expected))? {
                push(item.str().ok_or_else(|| field.fault(expected))?, &field.pointer);
            }
            return Ok(());
        }
        for name in python_list(text).ok_or_else(|| field.fault(expected))? {
            push(&name, &field.pointer);
        }
        return Ok(());
    }
    for item in field.need_items(expected)? {
        push(item.str().ok_or_else(|| item.fault("the name of a test"))?, &item.pointer);
    }
    Ok(())
}

/// `['a', "b's"]` as Python prints it.
fn python_list(text: &str) -> Option<Vec<String>> {
    let mut rest = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim_start().chars();
    let mut names = Vec::new();
    loop {
        let Some(quote) = rest.next() else { return Some(names) };
        if !matches!(quote, '\'' | '"') {
            return None;
        }
        let mut name = String::new();
        loop {
            match rest.next()? {
                '\\' => match rest.next()? {
                    'n' => name.push('\n'),
                    't' => name.push('\t'),
                    other => name.push(other),
                },
                end if end == quote => break,
                other => name.push(other),
            }
        }
        names.push(name);
        let after = rest.as_str().trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start().chars(),
            None if after.is_empty() => return Some(names),
            None => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::python_list;

    #[test]
    fn lists_as_python_prints_them() {
        assert_eq!(python_list(r#"['a[1]', "b's", 'c\'d']"#), Some(vec!["a[1]".into(), "b's".into(), "c'd".into()]));
        assert_eq!(python_list("[]"), Some(vec![]));
        assert_eq!(python_list("['a' 'b']"), None);
        assert_eq!(python_list("['a"), None);
    }
}
