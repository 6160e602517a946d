//! What Python code says besides its tests: decoded literals, names, dotted names, and variables of loops.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::{Node, Parser};

use super::literal::{Module, children, unescape};

/// Names and literals of code, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lexicon {
    /// Literals as the program sees them, adjacent ones joined; an interpolation stands as it is written.
    pub literals: BTreeSet<String>,
    /// Names outside of literals and comments.
    pub names: BTreeSet<String>,
    /// Two names with a point between them, such as `json.load`.
    pub dotted: BTreeSet<String>,
    /// Variables of `for`, in statements and in comprehensions.
    pub loop_variables: BTreeSet<String>,
}

impl Lexicon {
    /// Adds what a text says, as far as it can be read as Python.
    pub(crate) fn add(&mut self, text: &str) {
        let mut parser = Parser::new();
        let tree =
            parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok().and_then(|()| parser.parse(text, None));
        let Some(tree) = tree else { return };
        let module = Module { bytes: text.as_bytes(), constants: BTreeMap::new(), named: Vec::new() };
        let mut waiting = vec![tree.root_node()];
        while let Some(node) = waiting.pop() {
            match node.kind() {
                "identifier" => {
                    self.names.insert(module.text(node).to_owned());
                }
                "attribute" => self.add_attribute(&module, node),
                "for_statement" | "for_in_clause" => {
                    if let Some(left) = node.child_by_field_name("left") {
                        let names = module.text(left).split(|of: char| !(of.is_alphanumeric() || of == '_'));
                        self.loop_variables.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
                    }
                }
                "string" if node.parent().is_none_or(|parent| parent.kind() != "concatenated_string") => {
                    self.literals.insert(decoded(&module, node));
                }
                "concatenated_string" => {
                    let parts = children(node).into_iter().filter(|part| part.kind() == "string");
                    self.literals.insert(parts.map(|part| decoded(&module, part)).collect());
                }
                _ => {}
            }
            waiting.extend(node.named_children(&mut node.walk()));
        }
    }

    fn add_attribute(&mut self, module: &Module<'_>, node: Node<'_>) {
        let (Some(object), Some(name)) = (node.child_by_field_name("object"), node.child_by_field_name("attribute"))
        else {
            return;
        };
        let before = match object.kind() {
            "identifier" => Some(object),
            "attribute" => object.child_by_field_name("attribute"),
            _ => None,
        };
        if let Some(before) = before {
            self.dotted.insert(format!("{}.{}", module.text(before), module.text(name)));
        }
    }
}

/// A string's text; what can't be decoded stays as it is written.
fn decoded(module: &Module<'_>, node: Node<'_>) -> String {
    let mut out = String::new();
    let mut is_raw = false;
    for child in node.children(&mut node.walk()) {
        let text = module.text(child);
        match child.kind() {
            "string_start" => is_raw = text.to_lowercase().trim_end_matches(['"', '\'']).contains('r'),
            "string_end" => {}
            "string_content" if !is_raw => {
                let mut plain = String::new();
                let is_plain = unescape(text, &mut plain).is_some();
                out.push_str(if is_plain { &plain } else { text });
            }
            _ => out.push_str(text),
        }
    }
    out
}

/// Comments of whole lines that stand one below the other, each run joined by blanks.
pub(crate) fn comments(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let comment = line.trim().strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim());
        match (comment, found.last_mut()) {
            (Some(words), Some(last)) if is_open => {
                last.push(' ');
                last.push_str(words);
            }
            (Some(words), _) => found.push(words.to_owned()),
            (None, _) => {}
        }
        is_open = comment.is_some();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn literals_are_as_the_program_sees_them() {
        let mut found = Lexicon::default();
        found.add("M = (\"one \"\n     'two')\nassert x, \"a \\\"b\\\"\"\ny = r'\\d' + b'\\x41'\nz = (f\"Region {r} is \"\n 'not')\nw = '\\N{DASH}'\n");
        assert_eq!(found.literals, set(&["one two", "a \"b\"", "\\d", "A", "Region {r} is not", "\\N{DASH}"]));
    }

    #[test]
    fn names_are_those_outside_of_literals() {
        let mut found = Lexicon::default();
        found.add("import os\nfor e in f(os.path.isfile, 'x.y'):\n    {k for k, v in e.items() if a().b}  # c.d\n");
        assert_eq!(found.dotted, set(&["os.path", "path.isfile", "e.items"]));
        assert_eq!(found.loop_variables, set(&["e", "k", "v"]));
        assert!(found.names.contains("isfile") && !found.names.contains("x") && !found.names.contains("c"));
    }

    #[test]
    fn comments_one_below_the_other_are_one_text() {
        let text = "# Amounts of the north\n  ## beat those\nx = 1  # no\n\n# other\n\n# more";
        assert_eq!(comments(text), ["Amounts of the north beat those", "other", "more"]);
        assert_eq!(comments(""), [""; 0]);
    }
}
