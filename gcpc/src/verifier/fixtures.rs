//! Fixtures of pytest, as far as they give parameters to tests.

use std::collections::BTreeSet;

/// A fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fixture {
    pub name: String,
    /// Whether it has `params`.
    pub has_params: bool,
    /// Whether every test in its reach has it.
    pub is_autouse: bool,
    /// The fixtures that it asks for.
    pub needs: Vec<String>,
}

/// What a `conftest.py` gives to the tests of its folder and below.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shared {
    pub fixtures: Vec<Fixture>,
    /// Whether it has the hook `pytest_generate_tests`.
    pub has_hook: bool,
}

/// Whether a fixture with parameters is among those that a test asks for, that every test has, or that they ask for.
///
/// Fixtures are in reach of the test, those nearest to it first: the first of a name hides the others.
pub(super) fn needs_many(wanted: &[&str], in_reach: &[&Fixture]) -> bool {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let autouse = in_reach.iter().filter(|fixture| fixture.is_autouse).map(|fixture| fixture.name.as_str());
    let mut waiting: Vec<&str> = wanted.iter().copied().chain(autouse).collect();
    while let Some(name) = waiting.pop() {
        if !seen.insert(name) {
            continue;
        }
        let Some(fixture) = in_reach.iter().find(|fixture| fixture.name == name) else { continue };
        if fixture.has_params {
            return true;
        }
        waiting.extend(fixture.needs.iter().map(String::as_str));
    }
    false
}
