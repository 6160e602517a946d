//! Edit distances: between two texts, and from a text to the nearest span of a longer one.

/// A span of a text that is nearest to another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nearest {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// How many characters must be inserted, removed or replaced.
    pub distance: usize,
}

/// The number of characters to insert, remove or replace (Levenshtein).
///
/// ```
/// assert_eq!(parthack_gcpc::text::nearest::distance("kitten", "sitting"), 3);
/// ```
#[must_use]
pub fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, character) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(character != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

/// The span of `text` nearest to `wanted`: least distance, then the earliest start, then the longest span (Sellers).
///
/// `None` where either is empty. The work is the product of the lengths.
#[must_use]
pub fn nearest(text: &str, wanted: &str) -> Option<Nearest> {
    let wanted: Vec<char> = wanted.chars().collect();
    if wanted.is_empty() || text.is_empty() {
        return None;
    }
    // A column of (distance, start): a span that begins earlier is preferred where distances are equal.
    let mut column: Vec<(usize, usize)> = (0..=wanted.len()).map(|row| (row, 0)).collect();
    let mut best: Option<Nearest> = None;
    for (at, character) in text.char_indices() {
        let next = at + character.len_utf8();
        let mut diagonal = column[0];
        column[0] = (0, next);
        // A span may begin at this character.
        diagonal.1 = at;
        for (row, other) in wanted.iter().enumerate() {
            let replaced = (diagonal.0 + usize::from(character != *other), diagonal.1);
            diagonal = column[row + 1];
            let skipped = (diagonal.0 + 1, diagonal.1);
            let missing = (column[row].0 + 1, column[row].1);
            column[row + 1] = better(better(replaced, skipped), missing);
        }
        let (distance, start) = column[wanted.len()];
        if start < next
            && best.is_none_or(|best| distance < best.distance || (distance == best.distance && start == best.start))
        {
            best = Some(Nearest { start, end: next, distance });
        }
    }
    best
}

fn better(left: (usize, usize), right: (usize, usize)) -> (usize, usize) {
    if right.0 < left.0 || (right.0 == left.0 && right.1 < left.1) { right } else { left }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span<'t>(text: &'t str, wanted: &str) -> (&'t str, usize) {
        let found = nearest(text, wanted).expect("both have characters");
        (&text[found.start..found.end], found.distance)
    }

    #[test]
    fn spans() {
        assert_eq!(span("Sort titles alphabetically", "titles"), ("titles", 0));
        assert_eq!(span("Sort titles alphabetically", "tittles"), ("titles", 1));
        assert_eq!(span("Sort the titles", "Sort titles"), ("Sort the titles", 4));
        assert_eq!(span("Größe <0.5C", "Grösse"), ("Größe", 2));
        assert_eq!(nearest("", "a"), None);
    }

    proptest! {
        #[test]
        fn nearest_is_the_least_over_all_spans(text in "[ab ]{1,8}", wanted in "[ab ]{1,5}") {
            let found = nearest(&text, &wanted).expect("both have characters");
            prop_assert_eq!(distance(&text[found.start..found.end], &wanted), found.distance);
            let all = (0..text.len()).flat_map(|start| (start + 1..=text.len()).map(move |end| (start, end)));
            let least = all.map(|(start, end)| distance(&text[start..end], &wanted)).min();
            prop_assert_eq!(Some(found.distance), least);
        }
    }
}
