//! Whether a reference names a test that exists, and which names are near where it does not.

use std::collections::BTreeSet;

use super::{Verifier, VerifierTest, is_end_of_path, split_node};
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
    /// Where nothing is so named, the file in front may have more folders than the verifier's paths, as pytest has them below its root.
    #[must_use]
    pub fn resolve(&self, reference: &str) -> Resolution<'_> {
        let matching: Vec<&VerifierTest> = self.tests().iter().filter(|test| is_named(reference, test)).collect();
        let whole: Vec<&VerifierTest> = matching.iter().copied().filter(|test| is_whole(reference, test)).collect();
        let mut matching = if whole.is_empty() { matching } else { whole };
        if matching.is_empty() {
            matching = self.tests().iter().filter(|test| is_named_from_above(reference, test)).collect();
        }
        let names: BTreeSet<(&str, &str)> = matching.iter().map(|test| (test.file.as_str(), test.base())).collect();
        match names.len() {
            0 => Resolution::Unknown(self.near(reference)),
            1 => Resolution::Tests(matching),
            _ => Resolution::Ambiguous(names.iter().map(|(file, base)| format!("{file}::{base}")).collect()),
        }
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
