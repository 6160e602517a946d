//! What of a sentence has content: words without the endings that English inflection gives them, and without function words.

/// Words that only hold a sentence together: articles, pronouns, the verbs to be and to have, words of obligation, and prepositions and
/// conjunctions that say little by themselves. Words that turn or bound a statement (`not`, `or`, `only`, `before`, `least`, `can`) are none.
const FUNCTION_WORDS: [&str; 97] = [
    "a", "all", "also", "am", "an", "and", "are", "as", "at", "be", "been", "being", "both", "by", "did", "didn", "do",
    "does", "doesn", "doing", "don", "each", "every", "for", "from", "had", "hadn", "has", "hasn", "have", "haven",
    "having", "he", "hence", "her", "here", "him", "his", "i", "in", "into", "is", "isn", "it", "its", "itself",
    "just", "ll", "must", "mustn", "my", "need", "needed", "needing", "needs", "of", "on", "onto", "ought", "our",
    "re", "s", "shall", "she", "should", "shouldn", "simply", "so", "such", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "thus", "to", "upon", "us", "ve", "was", "wasn", "we", "were", "weren",
    "which", "who", "whom", "whose", "will", "with", "won", "you",
];

/// Forms that no ending explains.
const IRREGULAR: [(&str, &str); 28] = [
    ("began", "begin"),
    ("begun", "begin"),
    ("built", "build"),
    ("cannot", "not"),
    ("children", "child"),
    ("chosen", "choose"),
    ("done", "do"),
    ("drawn", "draw"),
    ("found", "find"),
    ("gave", "give"),
    ("given", "give"),
    ("held", "hold"),
    ("indices", "index"),
    ("kept", "keep"),
    ("known", "know"),
    ("lain", "lie"),
    ("made", "make"),
    ("people", "person"),
    ("ran", "run"),
    ("sent", "send"),
    ("shown", "show"),
    ("stood", "stand"),
    ("t", "not"),
    ("taken", "take"),
    ("took", "take"),
    ("vertices", "vertex"),
    ("written", "write"),
    ("wrote", "write"),
];

/// Whether a lower-case word is a function word.
#[must_use]
pub fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.binary_search(&word).is_ok()
}

/// A lower-case word without the endings of plurals and of verbs. What has a digit, an underscore or a letter beyond ASCII stays as it is.
///
/// It is no word of English and need not be: it is there to be compared.
///
/// ```
/// use parthack_gcpc::text::inflection::stem;
/// assert_eq!([stem("titles"), stem("planned"), stem("saving")], [stem("title"), stem("plans"), stem("save")]);
/// assert_ne!(stem("row"), stem("rowan"));
/// ```
#[must_use]
pub fn stem(word: &str) -> String {
    if let Ok(at) = IRREGULAR.binary_search_by(|(form, _)| (*form).cmp(word)) {
        return stem(IRREGULAR[at].1);
    }
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let has_vowel = |text: &str| text.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let singular = match word {
        _ if word.len() > 4 && word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        _ if ["sses", "xes", "ches", "shes", "zes"].iter().any(|ending| word.ends_with(ending)) => {
            word[..word.len() - 2].to_owned()
        }
        _ if word.ends_with('s') && !["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) => {
            word[..word.len() - 1].to_owned()
        }
        _ => word.to_owned(),
    };
    let bare = ["ing", "ed"].iter().find_map(|ending| {
        let bare = singular.strip_suffix(ending)?;
        (bare.len() >= 2 && has_vowel(bare)).then(|| bare.to_owned())
    });
    let mut out = bare.unwrap_or(singular);
    if out.ends_with('y') && out.len() > 3 {
        out.pop();
        out.push('i');
    } else if out.len() > 2 && out.ends_with('e') {
        out.pop();
    }
    let bytes = out.as_bytes();
    if let [.., before, last] = bytes
        && before == last
        && !has_vowel(&out[out.len() - 1..])
    {
        out.pop();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_sorted() {
        assert!(FUNCTION_WORDS.is_sorted());
        assert!(IRREGULAR.is_sorted());
    }

    #[test]
    fn forms_of_a_word_have_one_stem_and_other_words_another() {
        for forms in [
            &["paper", "papers"][..],
            &["city", "cities"],
            &["box", "boxes"],
            &["use", "uses", "used", "using"],
            &["plan", "plans", "planned", "planning"],
            &["write", "writes", "writing", "written", "wrote"],
            &["copy", "copies", "copied", "copying"],
            &["pass", "passes", "passed"],
            &["call", "called"],
        ] {
            assert!(forms.iter().all(|form| stem(form) == stem(forms[0])), "{forms:?}");
        }
        for (left, right) in
            [("male", "female"), ("mean", "median"), ("state", "status"), ("q1s", "q1"), ("row_s", "row_")]
        {
            assert_ne!(stem(left), stem(right));
        }
        assert_eq!((stem(""), stem("é"), stem("s")), (String::new(), "é".to_owned(), "s".to_owned()));
    }
}
