//! The five-category scheme and its falsifications: reduced, irrelevant, name-permuted (G, Table 3 C).

use super::stream::Stream;
use crate::prompts;

/// A category: a name and what belongs there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// What belongs there.
    pub text: String,
}

/// A scheme of categories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheme {
    /// In the order in which they are shown.
    pub categories: Vec<Definition>,
}

/// Which falsification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The scheme as it is.
    Real,
    /// Some definitions removed; so many are kept.
    Reduced(usize),
    /// Definitions that have nothing to do with tasks.
    Irrelevant,
    /// Every definition under another one's name.
    NamePermuted,
}

impl Variant {
    /// G's four, in the order of its table; two of five definitions are removed.
    pub const ALL: [(&'static str, Variant); 4] = [
        ("real", Variant::Real),
        ("reduced", Variant::Reduced(3)),
        ("irrelevant", Variant::Irrelevant),
        ("name_permuted", Variant::NamePermuted),
    ];
}

/// The scheme of the project: `categories-1`.
#[must_use]
pub fn real() -> Scheme {
    of_file(prompts::CATEGORIES.text)
}

fn of_file(text: &str) -> Scheme {
    let pairs = text.lines().filter_map(|line| line.split_once(" = "));
    Scheme {
        categories: pairs.map(|(name, text)| Definition { name: name.to_owned(), text: text.to_owned() }).collect(),
    }
}

impl Scheme {
    /// A variant of the scheme. The seed chooses what is removed, and which name goes where.
    #[must_use]
    pub fn variant(&self, variant: Variant, seed: u64) -> Scheme {
        match variant {
            Variant::Real => self.clone(),
            Variant::Reduced(kept) => {
                let mut places: Vec<usize> = (0..self.categories.len()).collect();
                Stream::new("scheme-reduced", seed).shuffle(&mut places);
                places.truncate(kept);
                places.sort_unstable();
                Scheme {
                    categories: places.into_iter().filter_map(|place| self.categories.get(place).cloned()).collect(),
                }
            }
            Variant::Irrelevant => of_file(prompts::IRRELEVANT_CATEGORIES.text),
            Variant::NamePermuted => {
                // One cycle through all, so that no name keeps its definition (Sattolo).
                let mut names: Vec<String> = self.categories.iter().map(|category| category.name.clone()).collect();
                let mut stream = Stream::new("scheme-names", seed);
                for last in (1..names.len()).rev() {
                    names.swap(last, stream.below(last));
                }
                let categories = names.into_iter().zip(&self.categories);
                Scheme { categories: categories.map(|(name, of)| Definition { name, text: of.text.clone() }).collect() }
            }
        }
    }
}
