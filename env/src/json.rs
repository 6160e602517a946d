//! A strict reader of JSON text.
//!
//! Three things that input files of this project need and that general readers do not offer together: duplicate keys are
//! refused, numbers keep their exact text, and every complaint says line, column and JSON pointer.

use std::borrow::Cow;

use crate::input::{InputError, MAX_DEPTH, Place};

/// A JSON value as it stands in the text; strings borrow from it where no escape stands in them.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// The number's exact text.
    Number(Cow<'a, str>),
    /// A string, unescaped.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object, keys in the text's order, none twice.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// What a reader of an error message would call this value.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Json::Null => "null".to_owned(),
            Json::Bool(value) => value.to_string(),
            Json::Number(text) => format!("the number {}", shorten(text)),
            Json::String(text) => format!("the string {:?}", shorten(text)),
            Json::Array(items) => format!("an array of {}", items.len()),
            Json::Object(entries) => format!("an object of {} keys", entries.len()),
        }
    }

    /// The value behind a key of an object; `None` for a missing key and for anything that is not an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        match self {
            Json::Object(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text of a string value.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// Reads one JSON text that fills `bytes`.
    ///
    /// # Errors
    /// Not UTF-8, not JSON, a duplicate key, nesting beyond [`MAX_DEPTH`], or text after the value.
    pub fn parse(bytes: &'a [u8]) -> Result<Json<'a>, InputError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            InputError::new(
                Place::Byte(error.valid_up_to()),
                format!("byte 0x{:02x}, which is not UTF-8", bytes[error.valid_up_to()]),
                "UTF-8 text",
            )
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut parser = Parser { text, bytes: text.as_bytes(), at: 0, path: Vec::new() };
        parser.space();
        let value = parser.value()?;
        parser.space();
        if parser.at < parser.bytes.len() {
            return Err(parser.fault(parser.found(), "the end of the file"));
        }
        Ok(value)
    }
}

fn shorten(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", text.chars().take(LONGEST).collect::<String>()))
}

enum Segment<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    path: Vec<Segment<'a>>,
}

impl<'a> Parser<'a> {
    fn value(&mut self) -> Result<Json<'a>, InputError> {
        if self.path.len() > MAX_DEPTH {
            return Err(self.fault(format!("more than {MAX_DEPTH} levels"), "shallower nesting"));
        }
        match self.bytes.get(self.at) {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.fault(self.found(), "a JSON value")),
        }
    }

    fn object(&mut self) -> Result<Json<'a>, InputError> {
        self.at += 1;
        let mut entries: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
        self.space();
        if self.eat(b'}') {
            return Ok(Json::Object(entries));
        }
        loop {
            if self.bytes.get(self.at) != Some(&b'"') {
                return Err(self.fault(self.found(), "a key in double quotes"));
            }
            let key_at = self.at;
            let key = self.string()?;
            let twice = entries.iter().any(|(known, _)| *known == key);
            self.path.push(Segment::Key(key.clone()));
            if twice {
                self.at = key_at;
                return Err(self.fault(format!("the key {:?} a second time", shorten(&key)), "each key once"));
            }
            self.space();
            if !self.eat(b':') {
                return Err(self.fault(self.found(), "':' after the key"));
            }
            self.space();
            let value = self.value()?;
            self.path.pop();
            entries.push((key, value));
            self.space();
            if self.eat(b'}') {
                return Ok(Json::Object(entries));
            }
            if !self.eat(b',') {
                return Err(self.fault(self.found(), "',' or '}'"));
            }
            self.space();
        }
    }

    fn array(&mut self) -> Result<Json<'a>, InputError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.eat(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            self.path.push(Segment::Index(items.len()));
            let item = self.value()?;
            self.path.pop();
            items.push(item);
            self.space();
            if self.eat(b']') {
                return Ok(Json::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.fault(self.found(), "',' or ']'"));
            }
            self.space();
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, InputError> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    return Ok(Cow::Borrowed(text));
                }
                Some(b'\\') => return self.escaped_string(start),
                Some(byte) if *byte >= 0x20 => self.at += 1,
                _ => return Err(self.fault(self.found(), "the rest of a string")),
            }
        }
    }

    fn escaped_string(&mut self, start: usize) -> Result<Cow<'a, str>, InputError> {
        let mut text = self.text[start..self.at].to_owned();
        loop {
            let run = self.at;
            while self.bytes.get(self.at).is_some_and(|b| *b >= 0x20 && *b != b'"' && *b != b'\\') {
                self.at += 1;
            }
            text.push_str(&self.text[run..self.at]);
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => {
                    self.at += 1;
                    text.push(self.escape()?);
                }
                _ => return Err(self.fault(self.found(), "the rest of a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, InputError> {
        let plain = match self.bytes.get(self.at) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.fault(self.found(), "an escape such as \\n or \\u0041")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<char, InputError> {
        let first = self.hex4()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.fault(self.found(), "a Unicode scalar value"));
        }
        if first < 0xdc00 && self.bytes.get(self.at) == Some(&b'\\') && self.bytes.get(self.at + 1) == Some(&b'u') {
            self.at += 1;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return char::from_u32(code).ok_or_else(|| self.fault(self.found(), "a Unicode scalar value"));
            }
        }
        Err(self.fault("half of a surrogate pair".to_owned(), "a Unicode scalar value"))
    }

    /// Reads the four digits after `\u`; `at` stands on the `u`.
    fn hex4(&mut self) -> Result<u32, InputError> {
        let digits = self.bytes.get(self.at + 1..self.at + 5).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else {
            return Err(self.fault(self.found(), "four hexadecimal digits"));
        };
        let code = digits.iter().fold(0, |code, digit| code * 16 + (*digit as char).to_digit(16).unwrap_or(0));
        self.at += 5;
        Ok(code)
    }

    fn number(&mut self) -> Result<Json<'a>, InputError> {
        let start = self.at;
        self.eat(b'-');
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.fault(self.found(), "a digit")),
        }
        if self.eat(b'.') {
            self.some_digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(Json::Number(Cow::Borrowed(&self.text[start..self.at])))
    }

    fn digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), InputError> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(self.fault(self.found(), "a digit")) } else { Ok(()) }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, InputError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.fault(self.found(), "a JSON value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn found(&self) -> String {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => "the end of the file".to_owned(),
            Some(character) => format!("{character:?}"),
        }
    }

    fn fault(&self, found: String, expected: &str) -> InputError {
        let before = &self.bytes[..self.at.min(self.bytes.len())];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|b| **b != b'\n').count();
        let mut pointer = String::new();
        for segment in &self.path {
            match segment {
                Segment::Key(key) => crate::input::push_key(&mut pointer, key),
                Segment::Index(index) => crate::input::push_index(&mut pointer, *index),
            }
        }
        InputError::new(Place::Text { line, column, pointer }, found, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_fault(text: &str, place: &str, found: &str) {
        let error = Json::parse(text.as_bytes()).expect_err(text);
        assert_eq!(error.place.to_string(), place, "{text}");
        assert_eq!(error.found, found, "{text}");
    }

    #[test]
    fn faults_say_where_and_what() {
        check_fault("", "line 1, column 1", "the end of the file");
        check_fault("{\"a\":1,\n \"a\":2}", "line 2, column 2, at /a", "the key \"a\" a second time");
        check_fault("[1,2", "line 1, column 5", "the end of the file");
        check_fault("[01]", "line 1, column 3", "'1'");
        check_fault("{\"a\":[1,nul]}", "line 1, column 9, at /a/1", "'n'");
        check_fault("\"\\ud800\"", "line 1, column 8", "half of a surrogate pair");
        check_fault("1 2", "line 1, column 3", "'2'");
        check_fault("\"a\u{1}b\"", "line 1, column 3", "'\\u{1}'");
        let deep = "[".repeat(100_000);
        assert_eq!(Json::parse(deep.as_bytes()).expect_err("deep").found, "more than 64 levels");
    }

    #[test]
    fn values_keep_their_text() {
        let text = r#"{"n":[1e21,-0.0,12345678901234567890],"s":"a\n\u00e9\ud83d\ude00","t":true}"#;
        let json = Json::parse(text.as_bytes()).expect("valid");
        assert_eq!(json.get("s"), Some(&Json::String("a\né😀".into())));
        let Some(Json::Array(numbers)) = json.get("n") else { panic!("an array") };
        assert_eq!(numbers[0], Json::Number("1e21".into()));
        assert_eq!(numbers[2], Json::Number("12345678901234567890".into()));
    }

    #[test]
    fn not_utf8_names_the_byte() {
        let error = Json::parse(b"\"a\xff\"").expect_err("not UTF-8");
        assert_eq!(error.found, "byte 0xff, which is not UTF-8");
    }
}
