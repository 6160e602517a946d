//! Whether a reference names a test that exists, and which names are near where it does not.

use std::collections::BTreeSet;

use super::{Verifier, VerifierTest, is_end_of_path, split_node, tau};
use crate::text::nearest::distance;

/// The most names that a refusal suggests.
const MOST_NEAR: usize = 3;

/// What a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution<'v> {
    /// One test, or all parameters of one.
    Tests(Vec<&'v VerifierTest>),
    /// Several tests of different names; their ids with files.
    Ambiguous(Vec<String>),
    /// None; the nearest ids, nearest first.
    Unknown(Vec<String>),
}

impl Verifier {
    /// Resolves a reference.
    ///
    /// It is an id as in [`VerifierTest::id`], with or without its file in front, or the last `::`-separated segments of one. Without
    /// parameters it stands for all parameters of a test. A whole id is preferred to the end of a longer one; segments that end several ids are ambiguous.
    /// Where nothing is so named, the file in front may have more folders than the verifier's paths, as pytest has them below its root. Where
    /// nothing is then, other ways to name the same test count: [`VerifierTest::is_also`], and for a listed test without a file any source in
    /// which a function of its name is defined.
    #[must_use]
    pub fn resolve(&self, reference: &str) -> Resolution<'_> {
        let matching: Vec<&VerifierTest> = self.tests().iter().filter(|test| is_named(reference, test)).collect();
        let whole: Vec<&VerifierTest> = matching.iter().copied().filter(|test| is_whole(reference, test)).collect();
        let mut matching = if whole.is_empty() { matching } else { whole };
        if matching.is_empty() {
            matching = self.tests().iter().filter(|test| is_named_from_above(reference, test)).collect();
        }
        if matching.is_empty() {
            matching = self.tests().iter().filter(|test| test.is_also(reference)).collect();
        }
        if matching.is_empty() {
            matching = self.tests().iter().filter(|test| self.is_defined_there(reference, test)).collect();
        }
        let names: BTreeSet<(&str, &str)> = matching.iter().map(|test| (test.file.as_str(), test.base())).collect();
        match names.len() {
            0 => Resolution::Unknown(self.near(reference)),
            1 => Resolution::Tests(matching),
            _ => Resolution::Ambiguous(names.iter().map(|(file, base)| format!("{file}::{base}")).collect()),
        }
    }

    /// Whether a listed test without a file is defined in the file that a reference says.
    fn is_defined_there(&self, reference: &str, test: &VerifierTest) -> bool {
        let (file, id) = split_node(parts(reference).0);
        let name = id.rsplit("::").next().unwrap_or_default();
        let is_it = !file.is_empty() && test.file.is_empty() && name == test.base() && has_parameters(reference, test);
        let definition = format!("def {name}(");
        let defines = |text: &str| {
            text.lines().any(|line| line.trim_start().trim_start_matches("async ").starts_with(&definition))
        };
        is_it
            && self.sources().iter().any(|(source, _)| {
                (is_end_of_path(&source.path, file) || is_end_of_path(file, &source.path)) && defines(&source.text)
            })
    }

    /// Ids whose last segment, `test_` aside, differs from the reference's in at most half of its characters.
    fn near(&self, reference: &str) -> Vec<String> {
        let last = |id: &str| {
            let name = id.rsplit("::").next().unwrap_or_default().to_lowercase();
            name.strip_prefix("test_").map(str::to_owned).unwrap_or(name)
        };
        let wanted = last(reference);
        let mut near: Vec<(usize, &str)> = Vec::new();
        let bases: BTreeSet<&str> = self.tests().iter().map(VerifierTest::base).collect();
        for base in bases {
            let name = last(base);
            let apart = distance(&wanted, &name);
            if 2 * apart <= wanted.chars().count().max(name.chars().count()) {
                near.push((apart, base));
            }
        }
        near.sort_unstable();
        near.into_iter().take(MOST_NEAR).map(|(_, id)| id.to_owned()).collect()
    }
}

impl VerifierTest {
    /// Whether a reference is another way to write this test's id.
    ///
    /// An id as unittest prints it, `method (module.Class)` or `method (module.Class.method)`, is also the dotted path, a path with `::` and the
    /// file in front, and the last segments of either. A check of tau2's, `communicate_info/0`, is also `communicate_info_0`, and
    /// `env_assertions/0` also `env_assertions_0:` with the name of its function.
    #[must_use]
    pub fn is_also(&self, reference: &str) -> bool {
        if let Some(path) = unittest_path(&self.id) {
            let wanted = unittest_path(reference).unwrap_or_else(|| segments(reference));
            // The reference may have folders in front that the module's path has not.
            return !wanted.is_empty() && (path.ends_with(&wanted) || wanted.ends_with(&path));
        }
        let Some((list, index)) = self.id.rsplit_once('/').filter(|_| self.line == 0) else { return false };
        let (prefix, list) = list.rsplit_once('/').unwrap_or(("", list));
        if !tau::KEYS.contains(&list) {
            return false;
        }
        let reference = match reference.rsplit_once('/') {
            Some((wanted, rest)) if wanted == prefix => rest,
            Some(_) => return false,
            None => reference,
        };
        let Some(wanted) = reference.strip_prefix(list).and_then(|rest| rest.strip_prefix('_')) else { return false };
        match wanted.split_once(':') {
            Some((wanted, function)) => {
                let own = self.text.strip_prefix("not ").unwrap_or(&self.text).split('(').next().unwrap_or_default();
                list == "env_assertions" && wanted == index && function == own
            }
            None => wanted == index,
        }
    }
}

/// The dotted path of a test as unittest prints it.
fn unittest_path(id: &str) -> Option<Vec<&str>> {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && name.chars().all(|of| of.is_alphanumeric() || of == '_')
    };
    let (method, rest) = id.trim().split_once(" (")?;
    let mut path: Vec<&str> = rest.strip_suffix(')')?.split('.').collect();
    if path.len() > 2 && path.last() == Some(&method) {
        path.pop();
    }
    path.push(method);
    path.iter().all(|name| is_name(name)).then_some(path)
}

/// The segments of a dotted path, or of a node id with its file.
fn segments(reference: &str) -> Vec<&str> {
    let (file, id) = split_node(reference);
    let folders =
        file.strip_suffix(".py").unwrap_or(file).split('/').filter(|folder| !folder.is_empty() && *folder != ".");
    let names = id.split("::").flat_map(|part| part.split('.'));
    let all: Vec<&str> = folders.chain(names).collect();
    if all.iter().any(|name| name.is_empty()) { Vec::new() } else { all }
}

fn parts(name: &str) -> (&str, Option<&str>) {
    match name.find('[') {
        Some(at) if name.ends_with(']') => (&name[..at], Some(&name[at..])),
        _ => (name, None),
    }
}

fn has_parameters(reference: &str, test: &VerifierTest) -> bool {
    let (_, wanted) = parts(reference);
    wanted.is_none_or(|wanted| test.open || parts(&test.id).1 == Some(wanted))
}

fn is_whole(reference: &str, test: &VerifierTest) -> bool {
    let (base, _) = parts(reference);
    let own = parts(&test.id).0;
    base == own || base == format!("{}::{own}", test.file)
}

fn is_named_from_above(reference: &str, test: &VerifierTest) -> bool {
    let (file, id) = split_node(parts(reference).0);
    id == parts(&test.id).0 && is_end_of_path(&test.file, file) && has_parameters(reference, test)
}

fn is_named(reference: &str, test: &VerifierTest) -> bool {
    let (base, _) = parts(reference);
    let own = parts(&test.id).0;
    let full = format!("{}::{own}", test.file);
    let is_end = |separator: &str| full.ends_with(&format!("{separator}{base}"));
    !base.is_empty() && (is_whole(reference, test) || is_end("::") || is_end("/")) && has_parameters(reference, test)
}
