//! Functions `test_*` of shell scripts, and tests of bats; a script `test_*.sh` without such a function is one test itself.

use tree_sitter::{Node, Parser};

use super::python::first_error;
use super::{Note, Source, VerifierTest, file_name};

/// Appends the tests of a script; a function that is defined twice counts once, the later one.
pub(super) fn tests(source: &Source, tests: &mut Vec<VerifierTest>, notes: &mut Vec<Note>) {
    let mut parser = Parser::new();
    let tree =
        parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok().and_then(|()| parser.parse(&source.text, None));
    let Some(tree) = tree else {
        let text = "the parser for shells could not be started".to_owned();
        return notes.push(Note { file: source.path.clone(), line: 0, text });
    };
    if let Some(line) = first_error(tree.root_node()) {
        let text = "a syntax error; functions after it may have been missed".to_owned();
        notes.push(Note { file: source.path.clone(), line, text });
    }
    let mut found: Vec<VerifierTest> = Vec::new();
    let mut waiting = vec![tree.root_node()];
    while let Some(node) = waiting.pop() {
        if node.kind() == "function_definition" {
            if let Some(test) = test(node, source) {
                found.retain(|known| known.id != test.id || known.line > test.line);
                if found.iter().all(|known| known.id != test.id) {
                    found.push(test);
                }
            }
            continue;
        }
        waiting.extend(node.named_children(&mut node.walk()));
    }
    let stem = file_name(&source.path).split('.').next().unwrap_or_default();
    if found.is_empty() && stem.starts_with("test_") && !source.text.trim().is_empty() {
        let (id, file, text) = (stem.to_owned(), source.path.clone(), source.text.clone());
        found.push(VerifierTest { id, file, line: 1, text, open: false, enforced: true });
    }
    found.sort_by_key(|test| test.line);
    tests.extend(found);
}

/// Appends the tests of a bats file, `@test "name" {`.
pub(super) fn bats(source: &Source, tests: &mut Vec<VerifierTest>) {
    let lines: Vec<&str> = source.text.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|at| bats_name(lines[*at]).is_some()).collect();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(lines.len());
        let Some(id) = bats_name(lines[*start]).map(str::to_owned) else { continue };
        let (file, text) = (source.path.clone(), lines[*start..end].join("\n"));
        tests.push(VerifierTest { id, file, line: start + 1, text, open: false, enforced: true });
    }
}

fn bats_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("@test")?.trim_start();
    let mark = rest.chars().next().filter(|mark| ['"', '\''].contains(mark))?;
    let (name, after) = rest[1..].rsplit_once(mark)?;
    (after.trim_start().starts_with('{') && !name.is_empty()).then_some(name)
}

fn test(node: Node<'_>, source: &Source) -> Option<VerifierTest> {
    let bytes = source.text.as_bytes();
    let name = node.child_by_field_name("name")?.utf8_text(bytes).ok()?;
    name.starts_with("test_").then(|| VerifierTest {
        id: name.to_owned(),
        file: source.path.clone(),
        line: node.start_position().row + 1,
        text: node.utf8_text(bytes).unwrap_or_default().to_owned(),
        open: false,
        enforced: true,
    })
}
