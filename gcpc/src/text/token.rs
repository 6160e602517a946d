//! Tokens of prose and code: words, identifiers, numbers, and marks.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Letters, digits and underscores that begin with a letter or an underscore.
    Word,
    /// Digits, with one point between digits; the whole part may be in groups of three (`185,000`, `185_000`).
    Number,
    /// One other character, or one of the operators of two characters.
    Mark,
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'t> {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: &'t str,
    /// Its first byte.
    pub start: usize,
}

const OPERATORS: [&str; 10] = ["==", "!=", "<=", ">=", "->", "**", "//", "&&", "||", "::"];

/// The tokens of a text; white space separates and is none.
#[must_use]
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (kind, length) = if first.is_alphabetic() || first == '_' {
            let ends = rest.find(|next: char| !(next.is_alphanumeric() || next == '_'));
            (Kind::Word, ends.unwrap_or(rest.len()))
        } else if first.is_ascii_digit() {
            (Kind::Number, number_length(rest))
        } else if let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) {
            (Kind::Mark, operator.len())
        } else {
            (Kind::Mark, first.len_utf8())
        };
        found.push(Token { kind, text: &rest[..length], start: at });
        at += length;
    }
    found
}

fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.find(|next: char| !next.is_ascii_digit()).unwrap_or(text.len());
    let mut whole = digits(text);
    if (1..=3).contains(&whole) {
        // A group that is longer or shorter is another number, and then nothing was grouped.
        while let Some(group) = text[whole..].strip_prefix([',', '_']).filter(|group| digits(group) == 3) {
            whole = text.len() - group.len() + 3;
        }
    }
    match text[whole..].strip_prefix('.').map(digits) {
        Some(part) if part > 0 => whole + 1 + part,
        _ => whole,
    }
}

/// The words and numbers of a text in lower case, without marks.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    tokens(text).into_iter().filter(|token| token.kind != Kind::Mark).map(|token| token.text.to_lowercase()).collect()
}

/// A number in one form: ungrouped, no leading and no trailing zeros; small ones also from English words.
#[must_use]
pub fn number_value(word: &str) -> Option<String> {
    const WORDS: [&str; 13] =
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    if let Some(value) = WORDS.iter().position(|name| *name == word) {
        return Some(value.to_string());
    }
    let word = word.replace([',', '_'], "");
    let word = word.as_str();
    if !word.starts_with(|first: char| first.is_ascii_digit()) || !word.chars().all(|c| c.is_ascii_digit() || c == '.')
    {
        return None;
    }
    let word = if word.contains('.') { word.trim_end_matches('0').trim_end_matches('.') } else { word };
    let word = word.trim_start_matches('0');
    Some(if word.is_empty() || word.starts_with('.') { format!("0{word}") } else { word.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces() {
        let texts: Vec<&str> = tokens("x_1 == 3.50, a.b(\"é\")<0.5C 7.").iter().map(|token| token.text).collect();
        let expected = ["x_1", "==", "3.50", ",", "a", ".", "b", "(", "\"", "é", "\"", ")", "<", "0.5", "C", "7", "."];
        assert_eq!(texts, expected);
        assert_eq!(words("Seven days, 22.0C"), ["seven", "days", "22.0", "c"]);
        assert_eq!(
            words("$185,000 and 1_250_000.5, in 2,024,1 parts"),
            ["185,000", "and", "1_250_000.5", "in", "2,024", "1", "parts"]
        );
        assert_eq!(words("1,2345 12345,678 5,10"), ["1", "2345", "12345", "678", "5", "10"]);
    }

    #[test]
    fn numbers_have_one_form() {
        let value = |word| number_value(word).unwrap_or_default();
        assert_eq!(
            [value("22.0"), value("007"), value("0.50"), value("seven"), value("0"), value("100")],
            ["22", "7", "0.5", "7", "0", "100"]
        );
        assert_eq!([value("185,000"), value("185_000"), value("5,100.50")], ["185000", "185000", "5100.5"]);
        assert_eq!((number_value("day"), number_value("_")), (None, None));
    }
}
