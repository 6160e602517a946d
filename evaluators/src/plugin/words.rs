//! A command text split into words, as a POSIX shell splits it, without a shell.

/// Why a command text has no words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// A quote that nothing closes.
    #[error("a {quote} at character {at} that is never closed; expected another {quote}")]
    OpenQuote {
        /// The quote.
        quote: char,
        /// From 1.
        at: usize,
    },
    /// A backslash with nothing behind it.
    #[error("a backslash at the end; expected the character that it quotes")]
    OpenBackslash,
    /// Something that only a shell does.
    #[error(
        "{found:?} at character {at}, which only a shell understands, and none is run\nhint: quote it to mean the character itself, or start a shell: exec:sh -c '…'"
    )]
    Shell {
        /// The character.
        found: char,
        /// From 1.
        at: usize,
    },
    /// No word at all.
    #[error("an empty command; expected a program and its arguments")]
    Empty,
}

/// Splits a command text into words.
///
/// Blanks separate words. `'…'` keeps everything as it stands; within `"…"` a backslash quotes `"`, `\`, `$` and a
/// back quote, elsewhere it quotes any character. Nothing is expanded: no variable, no `~`, no `*`. What a shell would do
/// something else with (`|`, `&`, `;`, `<`, `>`, `(`, `)`, `$`, a back quote) is refused where it stands unquoted, `$`
/// and the back quote within `"…"` too.
///
/// ```
/// # use parthack_evaluators::plugin::words;
/// let split = words(r#"python3 'my eval.py' --name "a \"b\"" c\ d ''"#)?;
/// assert_eq!(split, ["python3", "my eval.py", "--name", "a \"b\"", "c d", ""]);
/// # Ok::<(), parthack_evaluators::plugin::WordsError>(())
/// ```
///
/// # Errors
/// [`WordsError`].
pub fn words(text: &str) -> Result<Vec<String>, WordsError> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars().enumerate();
    while let Some((index, character)) = characters.next() {
        let at = index + 1;
        match character {
            ' ' | '\t' | '\n' | '\r' => found.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some((_, '\'')) => break,
                        Some((_, inner)) => word.push(inner),
                        None => return Err(WordsError::OpenQuote { quote: '\'', at }),
                    }
                }
            }
            '"' => double_quoted(&mut characters, word.get_or_insert_default(), at)?,
            '\\' => {
                let (_, quoted) = characters.next().ok_or(WordsError::OpenBackslash)?;
                word.get_or_insert_default().push(quoted);
            }
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' => {
                return Err(WordsError::Shell { found: character, at });
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    found.extend(word);
    if found.first().is_none_or(String::is_empty) { Err(WordsError::Empty) } else { Ok(found) }
}

fn double_quoted(
    characters: &mut impl Iterator<Item = (usize, char)>,
    word: &mut String,
    at: usize,
) -> Result<(), WordsError> {
    let open = || WordsError::OpenQuote { quote: '"', at };
    loop {
        match characters.next().ok_or_else(open)? {
            (_, '"') => return Ok(()),
            (_, '\\') => match characters.next().ok_or_else(open)?.1 {
                quoted @ ('"' | '\\' | '$' | '`') => word.push(quoted),
                other => word.extend(['\\', other]),
            },
            (index, found @ ('$' | '`')) => return Err(WordsError::Shell { found, at: index + 1 }),
            (_, other) => word.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let cases: [(&str, &[&str]); 8] = [
            ("a", &["a"]),
            ("  a\t b\n", &["a", "b"]),
            ("a'b c'\"d e\"f", &["ab cd ef"]),
            (r"a\ b \\ \'", &["a b", "\\", "'"]),
            (r#""\a\"""#, &["\\a\""]),
            ("node -e '1 | 2 > $x'", &["node", "-e", "1 | 2 > $x"]),
            ("x '' \"\"", &["x", "", ""]),
            ("x #3 ~ * ü木", &["x", "#3", "~", "*", "ü木"]),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text).as_deref(), Ok(&expected.map_to_owned()[..]), "{text}");
        }
    }

    trait MapToOwned {
        fn map_to_owned(&self) -> Vec<String>;
    }

    impl MapToOwned for &[&str] {
        fn map_to_owned(&self) -> Vec<String> {
            self.iter().map(|word| (*word).to_owned()).collect()
        }
    }

    #[test]
    fn what_needs_a_shell_is_refused() {
        let shell = |found, at| Err(WordsError::Shell { found, at });
        assert_eq!(words("a | b"), shell('|', 3));
        assert_eq!(words("a 2>b"), shell('>', 4));
        assert_eq!(words("a \"$HOME\""), shell('$', 4));
        assert_eq!(words("a 'b"), Err(WordsError::OpenQuote { quote: '\'', at: 3 }));
        assert_eq!(words("a \"b\\\""), Err(WordsError::OpenQuote { quote: '"', at: 3 }));
        assert_eq!(words("a \\"), Err(WordsError::OpenBackslash));
        for empty in ["", "  ", "'' a"] {
            assert_eq!(words(empty), Err(WordsError::Empty), "{empty:?}");
        }
    }
}
