//! Tests of Python sources, by pytest's rules of collection.
//!
//! Collected are functions `test…` at the top level and in classes `Test…` without `__init__`, nested classes and inherited methods included,
//! and methods `test…` of classes that derive from a `TestCase`; also under `if`, `try`, `with` and loops; and such names that a lambda, a function or a
//! class of the file is assigned to. Not collected: fixtures, properties, functions within functions, classes with `__test__ = False`.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::{Node, Parser};

use super::fixtures::{Fixture, Shared, needs_many};
use super::literal::{Module, children};
use super::parametrize::{self, Ids};
use super::{Note, Source, VerifierTest};

/// Statements within statements are followed so deep.
const MOST_DEPTH: usize = 40;

/// What a `conftest.py` gives to tests.
pub(super) fn shared(source: &Source) -> Shared {
    let mut parser = Parser::new();
    let tree =
        parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok().and_then(|()| parser.parse(&source.text, None));
    let Some(tree) = tree else { return Shared::default() };
    let mut module = Module { bytes: source.text.as_bytes(), constants: BTreeMap::new(), named: Vec::new() };
    let mut scope = Scope::default();
    scope.fill(&mut module, tree.root_node(), true, 0);
    Shared { fixtures: scope.fixtures(&module), has_hook: scope.has_hook() }
}

/// Appends the tests of a file, in the order of its lines. `shared` is what the `conftest.py` of its folder and those above give, nearest first.
pub(super) fn tests(source: &Source, shared: &[&Shared], tests: &mut Vec<VerifierTest>, notes: &mut Vec<Note>) {
    let mut parser = Parser::new();
    let tree =
        parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok().and_then(|()| parser.parse(&source.text, None));
    let mut note = |line, text: &str| notes.push(Note { file: source.path.clone(), line, text: text.to_owned() });
    let Some(tree) = tree else { return note(0, "the parser for Python could not be started") };
    if let Some(line) = first_error(tree.root_node()) {
        note(line, "a syntax error; tests after it may have been missed");
    }
    let mut module = Module { bytes: source.text.as_bytes(), constants: BTreeMap::new(), named: Vec::new() };
    let mut scope = Scope::default();
    scope.fill(&mut module, tree.root_node(), true, 0);
    let own = scope.fixtures(&module);
    let found = Collector { module: &module, top: &scope, source, own: &own, shared }.collect();
    let mut sorted: Vec<VerifierTest> = found.into_values().flatten().collect();
    sorted.sort_by_key(|test| test.line);
    tests.extend(sorted);
}

/// A list of strings as Python prints it, and nothing else.
pub(super) fn list(text: &str) -> Option<Vec<String>> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok()?;
    let text = text.trim();
    let tree = parser.parse(text, None)?;
    let module = Module { bytes: text.as_bytes(), constants: BTreeMap::new(), named: Vec::new() };
    let root = tree.root_node();
    let [statement] = children(root)[..] else { return None };
    let [list] = children(statement)[..] else { return None };
    if root.has_error() || list.kind() != "list" {
        return None;
    }
    module.elements(list)?.into_iter().map(|element| module.string(element)).collect()
}

/// The line, from 1, of the first thing that the parser could not read.
pub(super) fn first_error(root: Node<'_>) -> Option<usize> {
    if !root.has_error() {
        return None;
    }
    let mut node = root;
    loop {
        if node.is_error() || node.is_missing() {
            return Some(node.start_position().row + 1);
        }
        match node.children(&mut node.walk()).find(|child| child.has_error() || child.is_missing()) {
            Some(child) => node = child,
            None => return Some(node.start_position().row + 1),
        }
    }
}

/// What a module or a class defines.
#[derive(Debug, Default)]
struct Scope<'t> {
    functions: Vec<Function<'t>>,
    classes: Vec<Class<'t>>,
    /// Names that something is assigned to: name, the name of what is assigned.
    aliases: Vec<(&'t str, &'t str)>,
    /// `pytestmark`.
    marks: Vec<Node<'t>>,
    /// `__test__ = False`.
    is_switched_off: bool,
}

#[derive(Debug, Clone)]
struct Function<'t> {
    name: &'t str,
    /// The definition, its decorators included.
    whole: Node<'t>,
    /// In the order of the text; each is the expression after `@`.
    decorators: Vec<Node<'t>>,
    parameters: Vec<&'t str>,
}

#[derive(Debug)]
struct Class<'t> {
    name: &'t str,
    /// The last segments of the bases' names.
    bases: Vec<&'t str>,
    decorators: Vec<Node<'t>>,
    scope: Scope<'t>,
}

/// Whether a decorator makes a fixture.
fn is_fixture(module: &Module<'_>, decorator: Node<'_>) -> bool {
    let name = decorator.child_by_field_name("function").unwrap_or(decorator);
    module.text(name).rsplit('.').next() == Some("fixture")
}

impl<'t> Scope<'t> {
    fn has_hook(&self) -> bool {
        self.functions.iter().any(|of| of.name == "pytest_generate_tests")
    }

    fn fixtures(&self, module: &Module<'t>) -> Vec<Fixture> {
        let fixture = |function: &Function<'t>| {
            let decorator = function.decorators.iter().find(|decorator| is_fixture(module, **decorator))?;
            let told: String = module.text(*decorator).split_whitespace().collect();
            Some(Fixture {
                name: function.name.to_owned(),
                has_params: told.contains("params"),
                is_autouse: told.contains("autouse=True"),
                needs: function.parameters.iter().map(|name| (*name).to_owned()).collect(),
            })
        };
        self.functions.iter().filter_map(fixture).collect()
    }

    fn fill(&mut self, module: &mut Module<'t>, node: Node<'t>, is_top: bool, depth: usize) {
        if depth > MOST_DEPTH {
            return;
        }
        for child in node.named_children(&mut node.walk()) {
            match child.kind() {
                "function_definition" => self.define(module, child, child, Vec::new(), is_top, depth),
                "class_definition" => self.define(module, child, child, Vec::new(), is_top, depth),
                "decorated_definition" => {
                    let decorators = children(child).into_iter().filter(|part| part.kind() == "decorator");
                    let decorators = decorators.filter_map(|decorator| decorator.named_child(0)).collect();
                    if let Some(definition) = child.child_by_field_name("definition") {
                        self.define(module, child, definition, decorators, is_top, depth);
                    }
                }
                "expression_statement" => self.assign(module, child, is_top && depth == 0),
                kind if is_nesting(kind) => self.fill(module, child, is_top, depth + 1),
                _ => {}
            }
        }
    }

    fn define(
        &mut self,
        module: &mut Module<'t>,
        whole: Node<'t>,
        definition: Node<'t>,
        decorators: Vec<Node<'t>>,
        is_top: bool,
        depth: usize,
    ) {
        let Some(name) = definition.child_by_field_name("name").map(|name| module.text(name)) else { return };
        if is_top {
            module.named.push(name);
        }
        if definition.kind() == "function_definition" {
            let parameters = definition.child_by_field_name("parameters");
            let parameters = parameters.map(|list| list.named_children(&mut list.walk()).collect::<Vec<_>>());
            let name_of = |parameter: Node<'t>| match parameter.kind() {
                "identifier" => Some(module.text(parameter)),
                "typed_parameter" => parameter.named_child(0).map(|name| module.text(name)),
                _ => None,
            };
            let parameters = parameters.unwrap_or_default().into_iter().filter_map(name_of).collect();
            self.functions.retain(|known| known.name != name);
            self.functions.push(Function { name, whole, decorators, parameters });
            return;
        }
        let bases = definition.child_by_field_name("superclasses");
        let bases = bases.map(|list| list.named_children(&mut list.walk()).collect::<Vec<_>>()).unwrap_or_default();
        let bases = bases.into_iter().filter(|base| matches!(base.kind(), "identifier" | "attribute"));
        let bases = bases.map(|base| module.text(base).rsplit('.').next().unwrap_or_default()).collect();
        let mut scope = Scope::default();
        if let Some(body) = definition.child_by_field_name("body") {
            scope.fill(module, body, false, depth + 1);
        }
        self.classes.retain(|known| known.name != name);
        self.classes.push(Class { name, bases, decorators, scope });
    }

    fn assign(&mut self, module: &mut Module<'t>, statement: Node<'t>, is_constant: bool) {
        let Some(assignment) = statement.named_child(0).filter(|child| child.kind() == "assignment") else { return };
        let (Some(left), Some(right)) =
            (assignment.child_by_field_name("left"), assignment.child_by_field_name("right"))
        else {
            return;
        };
        let name = module.text(left);
        match name {
            "pytestmark" if right.kind() == "list" => self.marks = right.named_children(&mut right.walk()).collect(),
            "pytestmark" => self.marks = vec![right],
            "__test__" => self.is_switched_off = right.kind() == "false",
            _ if name.starts_with("test") && right.kind() == "lambda" => {
                self.functions.retain(|known| known.name != name);
                let (decorators, parameters) = (Vec::new(), Vec::new());
                self.functions.push(Function { name, whole: statement, decorators, parameters });
            }
            _ if right.kind() == "identifier" && (name.starts_with("test") || name.starts_with("Test")) => {
                self.aliases.push((name, module.text(right)));
            }
            _ => {}
        }
        if is_constant && left.kind() == "identifier" {
            // A name that is assigned twice is none whose value the text shows.
            module.constants.entry(name).and_modify(|value| *value = None).or_insert(Some(right));
        }
    }
}

fn is_nesting(kind: &str) -> bool {
    matches!(
        kind,
        "block"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "try_statement"
            | "except_clause"
            | "except_group_clause"
            | "finally_clause"
            | "with_statement"
            | "for_statement"
            | "while_statement"
            | "match_statement"
            | "case_clause"
            | "ERROR"
    )
}

struct Collector<'m, 't> {
    module: &'m Module<'t>,
    top: &'m Scope<'t>,
    source: &'m Source,
    /// The module's fixtures.
    own: &'m [Fixture],
    shared: &'m [&'m Shared],
}

/// What a class gives to its methods: the ids of its marks and those around it, and its fixtures and theirs.
struct Around<'a> {
    marks: &'a [Ids],
    fixtures: &'a [Fixture],
}

type Found = BTreeMap<String, Vec<VerifierTest>>;

impl<'m, 't> Collector<'m, 't> {
    fn collect(&self) -> Found {
        let mut found = Found::new();
        let marks = self.marks(&[], &self.top.marks);
        let around = Around { marks: &marks, fixtures: &[] };
        for function in self.top.functions.iter().filter(|function| self.is_test(function)) {
            self.push(function, "", &around, true, &mut found);
        }
        for class in &self.top.classes {
            self.class(class, class.name, "", &around, 0, &mut found);
        }
        for (name, of) in &self.top.aliases {
            let function = self.top.functions.iter().find(|function| function.name == *of);
            if let Some(function) = function.filter(|_| name.starts_with("test")) {
                let function = Function { name, ..function.clone() };
                if self.is_test(&function) {
                    self.push(&function, "", &around, true, &mut found);
                }
            }
            if let Some(class) = self.top.classes.iter().find(|class| class.name == *of) {
                self.class(class, name, "", &around, 0, &mut found);
            }
        }
        found
    }

    fn class(
        &self,
        class: &'m Class<'t>,
        name: &str,
        within: &str,
        outer: &Around<'_>,
        depth: usize,
        found: &mut Found,
    ) {
        let line = self.ancestry(class);
        let is_unittest = line.iter().any(|of| of.bases.iter().any(|base| base.ends_with("TestCase")));
        let has_constructor = || {
            line.iter()
                .any(|of| of.scope.functions.iter().any(|function| matches!(function.name, "__init__" | "__new__")))
        };
        let is_collected = is_unittest || (name.starts_with("Test") && !has_constructor());
        if !is_collected || class.scope.is_switched_off || depth > MOST_DEPTH {
            return;
        }
        let path = format!("{within}{name}::");
        // A class's `pytestmark` is there before its decorators are applied.
        let of_class = |of: &&Class<'t>| [self.marks(&[], &of.scope.marks), self.marks(&of.decorators, &[])].concat();
        let mut marks: Vec<Ids> = line.iter().flat_map(of_class).collect();
        marks.extend_from_slice(outer.marks);
        let mut fixtures: Vec<Fixture> = line.iter().flat_map(|of| of.scope.fixtures(self.module)).collect();
        fixtures.extend_from_slice(outer.fixtures);
        let around = Around { marks: &marks, fixtures: &fixtures };
        let mut seen = BTreeSet::new();
        for function in line.iter().flat_map(|of| &of.scope.functions) {
            // The nearest definition of a name hides the others.
            if seen.insert(function.name) && self.is_test(function) {
                self.push(function, &path, &around, !is_unittest, found);
            }
        }
        let mut seen = BTreeSet::new();
        for inner in line.iter().flat_map(|of| &of.scope.classes) {
            if seen.insert(inner.name) {
                self.class(inner, inner.name, &path, &around, depth + 1, found);
            }
        }
    }

    /// A class and its bases in this file, nearest first.
    fn ancestry(&self, class: &'m Class<'t>) -> Vec<&'m Class<'t>> {
        let mut line: Vec<&'m Class<'t>> = Vec::new();
        let mut waiting = vec![class];
        while let Some(next) = waiting.pop() {
            if line.iter().any(|known| std::ptr::eq(*known, next)) {
                continue;
            }
            line.push(next);
            let base = |name: &&str| self.top.classes.iter().find(|of| of.name == *name);
            waiting.extend(next.bases.iter().rev().filter_map(base));
        }
        line
    }

    fn is_test(&self, function: &Function<'t>) -> bool {
        let is_none = |decorator: &Node<'t>| is_fixture(self.module, *decorator) || self.is_property(*decorator);
        function.name.starts_with("test") && !function.decorators.iter().any(is_none)
    }

    fn is_property(&self, decorator: Node<'t>) -> bool {
        let last = self.module.text(decorator).rsplit('.').next();
        matches!(last, Some("property" | "cached_property" | "setter" | "getter" | "deleter"))
    }

    /// The ids of the marks on something: the decorator next to the definition first, then `pytestmark`.
    fn marks(&self, decorators: &[Node<'t>], own: &[Node<'t>]) -> Vec<Ids> {
        let all = decorators.iter().rev().chain(own);
        let marks = all.map(|mark| self.module.resolve(*mark));
        marks
            .filter(|mark| parametrize::is_parametrize(self.module, *mark))
            .map(|mark| parametrize::ids(self.module, mark))
            .collect()
    }

    /// The decorator of the library `parameterized`.
    fn expansion(&self, function: &Function<'t>) -> Option<Node<'t>> {
        let expands = |decorator: &&Node<'t>| {
            let name = decorator.child_by_field_name("function").unwrap_or(**decorator);
            self.module.text(name).contains("parameterized")
        };
        function.decorators.iter().find(expands).copied()
    }

    /// Whether something other than marks gives a function parameters: a fixture with `params`, a hook, or another library's decorator.
    fn is_open(&self, function: &Function<'t>, around: &Around<'_>) -> bool {
        let has_hook = self.top.has_hook() || self.shared.iter().any(|of| of.has_hook);
        let all = around.fixtures.iter().chain(self.own).chain(self.shared.iter().flat_map(|of| &of.fixtures));
        has_hook
            || self.expansion(function).is_some()
            || needs_many(&function.parameters, &all.collect::<Vec<&Fixture>>())
    }

    fn push(&self, function: &Function<'t>, path: &str, outer: &Around<'_>, takes_marks: bool, found: &mut Found) {
        let mut marks = self.marks(&function.decorators, &[]);
        marks.extend_from_slice(outer.marks);
        if !takes_marks {
            marks.clear();
        }
        let base = format!("{path}{}", function.name);
        let test = |id: String, open: bool| VerifierTest {
            id,
            file: self.source.path.clone(),
            line: function.whole.start_position().row + 1,
            text: self.module.text(function.whole).to_owned(),
            open,
            enforced: true,
        };
        let ids = if self.is_open(function, outer) { None } else { parametrize::combine(&marks) };
        let mut all = match ids {
            Some(_) if marks.is_empty() => vec![test(base.clone(), false)],
            Some(ids) => ids.into_iter().map(|id| test(format!("{base}[{id}]"), false)).collect(),
            None => vec![test(base.clone(), true)],
        };
        // Methods that `parameterized.expand` makes, beside the name that stands for all of them.
        let made = self.expansion(function).and_then(|call| parametrize::expanded(self.module, call));
        all.extend(made.into_iter().flatten().map(|suffix| test(format!("{base}{suffix}"), false)));
        found.insert(base, all);
    }
}
