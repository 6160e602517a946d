//! Content words of texts and values: what the deterministic judge and the alignment audit compare.
//!
//! The rule, whole: a text is cut at everything that is no letter, digit, `-` or `_`; a word with `-` or `_` counts whole and in its
//! parts; letters are lowered; words of a fixed list (articles, pronouns, auxiliaries and the like) and single letters don't count; of
//! a word of more than five letters only the first five count, so that `resolved` and `resolve` are one word.

use std::collections::BTreeSet;

use parthack_env::json::Json;

/// Words that say nothing about what a text is about.
const STOP: &str = " a about after all already also an and any are as at be been before but by can did do does each every \
for from get had has have he her his if in into instead is it its keep may more must no not of on once one only or other out \
own same set she should so still than that the their them then there they this those to too under until up was what when \
where which while who whose will with you your ";

/// How many letters of a word count.
const STEM: usize = 5;

/// The content words of a text.
///
/// ```
/// # use parthack_evaluators::judge::words::words;
/// let found = words("Set the ticket tk-9 to Resolved.");
/// assert_eq!(found.into_iter().collect::<Vec<_>>(), ["9", "resol", "ticke", "tk", "tk-9"]);
/// ```
#[must_use]
pub fn words(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    push_words(&mut found, text);
    found
}

/// Adds the content words of a text.
pub fn push_words(found: &mut BTreeSet<String>, text: &str) {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_');
    for whole in text.split(|character| !is_part(character)) {
        let whole = whole.trim_matches(['-', '_']).to_lowercase();
        if whole.contains(['-', '_']) {
            whole.split(['-', '_']).for_each(|part| push_word(found, part));
            found.insert(whole);
        } else {
            push_word(found, &whole);
        }
    }
}

fn push_word(found: &mut BTreeSet<String>, word: &str) {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    if word.is_empty() || (word.chars().count() < 2 && !is_number) || STOP.contains(&format!(" {word} ")) {
        return;
    }
    found.insert(if is_number { word.to_owned() } else { word.chars().take(STEM).collect() });
}

/// Adds the content words of a value: of its strings, numbers and, where true, the names of its fields.
pub fn push_value_words(found: &mut BTreeSet<String>, json: &Json<'_>) {
    match json {
        Json::String(text) => push_words(found, text),
        Json::Number(text) => push_words(found, text),
        Json::Array(items) => items.iter().for_each(|item| push_value_words(found, item)),
        Json::Object(entries) => {
            for (key, value) in entries {
                if *value == Json::Bool(true) {
                    push_words(found, key);
                }
                push_value_words(found, value);
            }
        }
        Json::Null | Json::Bool(_) => {}
    }
}
