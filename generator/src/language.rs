//! English for instructions: articles, numbers, lists, and phrases with placeholders made into sentences.

use crate::domain::Unit;
use crate::seed::Draws;

/// A symbol or field name as words.
pub(crate) fn words(symbol: &str) -> String {
    symbol.replace(['_', '-'], " ")
}

/// With a capital letter in front.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A noun phrase without its indefinite article.
pub(crate) fn bare(phrase: &str) -> &str {
    phrase.strip_prefix("a ").or_else(|| phrase.strip_prefix("an ")).unwrap_or(phrase)
}

/// "a" or "an", by how the word begins when it is spoken.
pub(crate) fn article(word: &str) -> &'static str {
    let lower = word.to_lowercase();
    let silent = ["hour", "honest", "heir", "honour"].iter().any(|start| lower.starts_with(start));
    let consonant = ["uni", "use", "user", "euro", "one", "once", "ewe"].iter().any(|start| lower.starts_with(start));
    if silent || (lower.starts_with(['a', 'e', 'i', 'o', 'u']) && !consonant) { "an" } else { "a" }
}

/// A whole number with commas at thousands.
pub(crate) fn number(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0 { format!("-{out}") } else { out }
}

/// A small number as a word, a larger one in digits.
pub(crate) fn count(value: i64) -> String {
    let small = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    usize::try_from(value)
        .ok()
        .and_then(|index| small.get(index))
        .map_or_else(|| number(value), |word| (*word).to_owned())
}

/// An amount with its unit.
pub(crate) fn quantity(value: i64, unit: Unit, draws: &mut Draws) -> String {
    match unit.code {
        "" => number(value),
        "percent" => format!("{value} percent"),
        "EUR" => match draws.below(3) {
            0 => format!("{} EUR", number(value)),
            1 => format!("{value} euros"),
            _ => format!("{} euros", number(value)),
        },
        _ => format!("{} {}", number(value), if value == 1 { unit.one } else { unit.many }),
    }
}

/// "a", "a and b", "a, b and c".
pub(crate) fn list(items: &[String], conjunction: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

/// Fills `#` with digits.
pub(crate) fn fill_digits(pattern: &str, draws: &mut Draws) -> String {
    pattern
        .chars()
        .map(|c| if c == '#' { char::from(b'0' + u8::try_from(draws.below(10)).unwrap_or(0)) } else { c })
        .collect()
}

/// How the record is spoken of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'t> {
    pub(crate) noun: &'t str,
    pub(crate) id: &'t str,
}

/// Replaces the placeholders `{main}`, `{own}` (in a clause about something else, where "it" would not be clear at first)
/// and `{its:words}`. `clear`: whether "it" can only be the record.
pub(crate) fn realize(phrase: &str, record: Record<'_>, clear: bool, draws: &mut Draws) -> String {
    let mut out = String::new();
    let mut rest = phrase;
    // Within one phrase the record is named once; then "it" will do.
    let mut named = clear && draws.chance(2, 5);
    let mut mentioned = false;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((placeholder, behind)) = after.split_once('}') else {
            out.push('{');
            rest = after;
            continue;
        };
        let full = match draws.below(8) {
            0..=3 => format!("the {}", record.noun),
            4..=5 => record.id.to_owned(),
            _ => format!("{} {}", record.noun, record.id),
        };
        if placeholder == "own" {
            out.push_str(&if mentioned { "it".to_owned() } else { format!("the {}", record.noun) });
            named = true;
        } else if placeholder == "main" {
            out.push_str(if named { "it" } else { &full });
            named = true;
        } else if let Some(thing) = placeholder.strip_prefix("its:") {
            if named {
                out.push_str(&format!("its {thing}"));
            } else if draws.chance(1, 2) && full.starts_with("the ") {
                out.push_str(&format!("{full}'s {thing}"));
            } else {
                out.push_str(&format!("the {thing} of {full}"));
            }
            named = true;
        }
        mentioned = true;
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_english() {
        for (word, expected) in [
            ("estimate", "an"),
            ("unit", "a"),
            ("hour", "an"),
            ("euro", "a"),
            ("handler", "a"),
            ("order", "an"),
            ("user", "a"),
            ("umbrella", "an"),
            ("one", "a"),
        ] {
            assert_eq!(article(word), expected, "{word}");
        }
        for (value, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (-12_345, "-12,345"), (1_234_567, "1,234,567")]
        {
            assert_eq!(number(value), expected);
        }
        assert_eq!((count(0).as_str(), count(3).as_str(), count(1_200).as_str()), ("no", "three", "1,200"));
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&items, "and"), "a, b and c");
        assert_eq!(list(&items[..2], "or"), "a or b");
        assert_eq!(
            (capital("über"), bare("a kitchen"), bare("an atlas"), bare("garden")),
            ("Über".to_owned(), "kitchen", "atlas", "garden")
        );
    }

    #[test]
    fn placeholders_are_replaced() {
        let mut draws = crate::seed::Seed::from_bytes(&[3; 16]).expect("long enough").draws("language");
        let record = Record { noun: "claim", id: "clm-88" };
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let text = realize("set {its:reserve} on {main} to {", record, true, &mut draws);
            assert!(!text.contains("its:") && text.ends_with(" to {"), "{text}");
            seen.insert(text);
        }
        let own = |phrase: &str, draws: &mut crate::seed::Draws| realize(phrase, record, false, draws);
        assert_eq!(own("the one that {own} needs", &mut draws), "the one that the claim needs");
        assert!(own("give {main} to the one that {own} needs", &mut draws).ends_with("to the one that it needs"));
        assert!(seen.contains("set its reserve on it to {") && seen.len() > 4, "{seen:?}");
    }
}
