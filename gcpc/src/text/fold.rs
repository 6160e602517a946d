//! Foldings of text that remember where each character came from, so that a match in folded text is a span of the true one.

use unicode_security::confusable_detection::skeleton;

/// What a folding lets go of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Folding {
    /// Runs of white space become one space; at both ends none is left.
    pub space: bool,
    /// Characters that show nothing are left out.
    pub invisible: bool,
    /// Letters become lower-case.
    pub case: bool,
    /// Characters become what they look like, by the Unicode table of confusables.
    pub look: bool,
}

impl Folding {
    /// Everything at once.
    pub const ALL: Folding = Folding { space: true, invisible: true, case: true, look: true };
}

/// A folded text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    characters: Vec<char>,
    /// The bytes of the true text that each character stands for.
    places: Vec<(usize, usize)>,
}

/// Folds a text.
#[must_use]
pub fn fold(text: &str, folding: Folding) -> Folded {
    let mut folded = Folded { characters: Vec::new(), places: Vec::new() };
    for (start, character) in text.char_indices() {
        let place = (start, start + character.len_utf8());
        if folding.invisible && is_invisible(character) {
            continue;
        }
        if folding.space && character.is_whitespace() {
            match folded.characters.last() {
                None => {}
                Some(' ') => {
                    if let Some(last) = folded.places.last_mut() {
                        last.1 = place.1;
                    }
                }
                Some(_) => folded.push(' ', place),
            }
            continue;
        }
        let looks: String = if folding.look { look(character) } else { character.to_string() };
        for shown in looks.chars() {
            if folding.case {
                shown.to_lowercase().for_each(|lower| folded.push(lower, place));
            } else {
                folded.push(shown, place);
            }
        }
    }
    if folding.space && folded.characters.last() == Some(&' ') {
        folded.characters.pop();
        folded.places.pop();
    }
    folded
}

impl Folded {
    fn push(&mut self, character: char, place: (usize, usize)) {
        self.characters.push(character);
        self.places.push(place);
    }

    /// The bytes of the true text whose folding contains `wanted`, for the first place where it does.
    #[must_use]
    pub fn find(&self, wanted: &Folded) -> Option<(usize, usize)> {
        let length = wanted.characters.len();
        if length == 0 {
            return None;
        }
        let at = self.characters.windows(length).position(|window| window == wanted.characters)?;
        Some((self.places[at].0, self.places[at + length - 1].1))
    }

    /// The folded text.
    #[must_use]
    pub fn text(&self) -> String {
        self.characters.iter().collect()
    }
}

/// What a character looks like; itself where the table has nothing for it.
#[must_use]
pub fn look(character: char) -> String {
    // White space has look-alikes among white space alone, which its own folding is for.
    if character.is_ascii_alphabetic() || character.is_whitespace() {
        // ASCII letters stay: the table merges some of them (`I` and `l`), which are different letters of a quote.
        return character.to_string();
    }
    let shown: String = skeleton(character.encode_utf8(&mut [0; 4])).collect();
    if shown.is_empty() { character.to_string() } else { shown }
}

/// Whether a character shows nothing: format and default-ignorable characters, the blank of Braille, and controls that are no white space.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{2800}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
        || (character.is_control() && !character.is_whitespace())
}

/// A letter that looks like an ASCII letter and is none.
#[must_use]
pub fn is_disguised(character: char) -> bool {
    let shown = look(character);
    character.is_alphabetic()
        && !character.is_ascii()
        && shown.len() == 1
        && shown.chars().all(|of| of.is_ascii_alphabetic())
}

/// What two ids share that a reader can't tell apart: case, look and separators are folded, digits that look like letters too.
#[must_use]
pub fn id_look(id: &str) -> String {
    let shown: String = fold(id, Folding::ALL).text();
    let letters = shown.chars().filter(|character| character.is_alphanumeric());
    letters
        .map(|character| match character {
            '0' => 'o',
            '1' | 'i' => 'l',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn find<'t>(text: &'t str, wanted: &str, folding: Folding) -> Option<&'t str> {
        fold(text, folding).find(&fold(wanted, folding)).map(|(start, end)| &text[start..end])
    }

    #[test]
    fn each_folding_finds_the_true_span() {
        let text = "Sort  titles\nalphabetically, “clean” – don't";
        let one = |change: fn(&mut Folding)| {
            let mut folding = Folding::default();
            change(&mut folding);
            folding
        };
        assert_eq!(find(text, "titles alphabetically", one(|f| f.space = true)), Some("titles\nalphabetically"));
        assert_eq!(find(text, "ti\u{200b}tles", one(|f| f.invisible = true)), Some("titles"));
        assert_eq!(find(text, "TITLES", one(|f| f.case = true)), Some("titles"));
        assert_eq!(find(text, "tit\u{217c}es", one(|f| f.look = true)), Some("titles"));
        assert_eq!(find(text, "t\u{456}tles", one(|f| f.look = true)), Some("titles"));
        assert_eq!(find(text, "\"clean\" - don\u{2019}t", one(|f| f.look = true)), Some("“clean” – don't"));
        assert_eq!(find(text, "t\u{456}tles", one(|f| f.case = true)), None);
        assert_eq!(find(text, "", Folding::ALL), None);
    }

    #[test]
    fn ids_that_look_alike() {
        assert_eq!(id_look("C-1"), id_look("c\u{2010}l"));
        assert_eq!(id_look("c10"), id_look("C_l\u{41e}"));
        assert_ne!(id_look("c1"), id_look("c2"));
        assert!(is_disguised('\u{430}') && !is_disguised('é') && !is_disguised('a'));
    }

    proptest! {
        #[test]
        fn a_span_of_a_text_is_found_under_every_folding(text in "[aA \n\u{200b}é\u{430}-]{1,20}", bits in 0_u8..16, from in 0_usize..20, length in 1_usize..8) {
            let folding = Folding { space: bits & 1 > 0, invisible: bits & 2 > 0, case: bits & 4 > 0, look: bits & 8 > 0 };
            let characters: Vec<char> = text.chars().collect();
            let part: String = characters.iter().skip(from % characters.len()).take(length).collect();
            let wanted = fold(&part, folding);
            if !wanted.text().is_empty() {
                let (start, end) = fold(&text, folding).find(&wanted).expect("found");
                prop_assert_eq!(fold(&text[start..end], folding).text(), wanted.text());
            }
        }
    }
}
