//! The notation in which a prompt shows values: JSON on one line, with fewer quotes.
//!
//! A string is bare when it looks like an identifier and like nothing else of JSON; else it is quoted, and everything in
//! it that ends a line, moves the cursor or can't be seen is escaped. So no value can begin a line of its own.

use parthack_env::json::Json;

/// The most characters of one string; what is over is counted.
pub const MAX_STRING: usize = 300;

/// Appends a value: `null`, `5`, `pr-jun`, `"two words"`, `[a,b]`, `{k=v,…}`.
pub fn push_value(out: &mut String, json: &Json<'_>) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(text) => out.push_str(text),
        Json::String(text) => push_string(out, text),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_value(out, item);
            }
            out.push(']');
        }
        Json::Object(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_string(out, key);
                out.push('=');
                push_value(out, value);
            }
            out.push('}');
        }
    }
}

/// Appends a string, bare where that can't be misread.
pub fn push_string(out: &mut String, text: &str) {
    if is_bare(text) { out.push_str(text) } else { push_quoted(out, text, MAX_STRING) }
}

fn is_bare(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    text.len() <= 64
        && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && text.bytes().all(plain)
        && !matches!(text, "null" | "true" | "false")
}

/// Appends a string in double quotes, at most `most` characters of it.
pub fn push_quoted(out: &mut String, text: &str, most: usize) {
    out.push('"');
    for character in text.chars().take(most) {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            hidden if is_hidden(hidden) => {
                for unit in hidden.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            seen => out.push(seen),
        }
    }
    out.push('"');
    let over = text.chars().count().saturating_sub(most);
    if over > 0 {
        out.push_str(&format!("(+{over} characters)"));
    }
}

/// Controls, line and paragraph separators, zero-width and direction marks, tags and variation selectors, private use.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(u32::from(character),
            0xad | 0x61c | 0x115f | 0x1160 | 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f
            | 0x3164 | 0xe000..=0xf8ff | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0xe0000..)
}
