//! The block that sets quoted data apart in a user message.
//!
//! Its delimiters carry the first 16 hexadecimal digits of the hash of what stands between them, so that data can't name
//! the delimiter that would close it; and every line within begins with a JSON pointer, which a delimiter doesn't.

use parthack_env::canonical::Hash;

/// A line of data: the pointer of what it shows, and one line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// JSON pointer into the document.
    pub pointer: String,
    /// What stands there, in the notation of [`super::notation`].
    pub text: String,
}

/// The block: opening delimiter, lines, closing delimiter, each with its line end.
///
/// Invariant: no line holds a line end; the notation escapes them.
#[must_use]
pub fn block(lines: &[Line]) -> String {
    let mut data = String::new();
    for line in lines {
        debug_assert!(line.pointer.starts_with('/') && !line.text.chars().any(char::is_control));
        data.push_str(&line.pointer);
        data.push(' ');
        data.push_str(&line.text);
        data.push('\n');
    }
    let key = key(&data);
    format!("<data {key}>\n{data}</data {key}>\n")
}

fn key(data: &str) -> String {
    Hash::of("judge-data", data.as_bytes()).hex()[..16].to_owned()
}

/// Reads a block back from the start of a message: its lines, and what follows it.
///
/// # Errors
/// What is wrong, in one sentence.
pub fn read(message: &str) -> Result<(Vec<Line>, &str), String> {
    let (first, rest) = message.split_once('\n').ok_or("no line")?;
    let key_told =
        first.strip_prefix("<data ").and_then(|text| text.strip_suffix('>')).ok_or("no opening delimiter")?;
    let closing = format!("</data {key_told}>\n");
    let end = match rest.find(&format!("\n{closing}")) {
        Some(at) => at + 1,
        None if rest.starts_with(&closing) => 0,
        None => return Err("no closing delimiter".to_owned()),
    };
    let data = &rest[..end];
    if key(data) != key_told {
        return Err("the delimiter is not the data's".to_owned());
    }
    let mut lines = Vec::new();
    for line in data.lines() {
        let (pointer, text) = line.split_once(' ').ok_or("a line without a pointer")?;
        if !pointer.starts_with('/') {
            return Err(format!("a line that does not begin with a pointer: {line}"));
        }
        lines.push(Line { pointer: pointer.to_owned(), text: text.to_owned() });
    }
    Ok((lines, &rest[end + closing.len()..]))
}
