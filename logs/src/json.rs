//! A reader of JSON as log writers produce it.
//!
//! It gives the same value type as the strict reader of `parthack-env`, and differs in what it lets pass with a note:
//! bare `NaN` and `Infinity`, halves of surrogate pairs (they become U+FFFD), and repeated keys (the last counts).
//! It can also look at the outline of a document, so that a long list is read one item at a time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use parthack_env::input::{Place, push_index, push_key};
use parthack_env::json::Json;

use crate::fault::{Fault, RefusalCode};
use crate::limits::MAX_DEPTH;

/// What was let pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    pub(crate) repeated_keys: usize,
    pub(crate) surrogates: usize,
    pub(crate) not_finite: usize,
}

/// The text of a file, without a byte order mark.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let byte = bytes.get(at).copied().unwrap_or(0);
        Fault::new(
            RefusalCode::NotUtf8,
            Place::Byte(at),
            format!("byte 0x{byte:02x}, which is not UTF-8"),
            "UTF-8 text",
        )
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Reads a document.
pub(crate) fn parse(text: &str) -> Result<(Json<'_>, Notes), Fault> {
    parse_part(text, 0..text.len(), "")
}

/// Reads the value that fills a range of a document; faults speak of the whole document.
pub(crate) fn parse_part<'a>(text: &'a str, range: Range<usize>, pointer: &str) -> Result<(Json<'a>, Notes), Fault> {
    let mut parser = Parser::new(text, range, pointer);
    parser.space();
    let value = parser.value()?;
    parser.end()?;
    Ok((value, parser.notes))
}

/// The top level of a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outline {
    Object(Vec<(String, Range<usize>)>),
    Array(Vec<Range<usize>>),
    Scalar,
}

impl Outline {
    /// Where the value of a key stands; the last where it is repeated.
    pub(crate) fn get(&self, key: &str) -> Option<Range<usize>> {
        match self {
            Outline::Object(entries) => entries.iter().rev().find(|(known, _)| known == key).map(|(_, at)| at.clone()),
            _ => None,
        }
    }

    /// What a reader of an error message would call this document.
    pub(crate) fn describe(&self) -> String {
        match self {
            Outline::Object(entries) => {
                let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
                format!("an object with {}", list_keys(&keys))
            }
            Outline::Array(items) => format!("an array of {}", items.len()),
            Outline::Scalar => "neither an object nor an array".to_owned(),
        }
    }
}

/// The keys of an object for an error message, shortened.
pub(crate) fn list_keys(keys: &[&str]) -> String {
    const SHOWN: usize = 8;
    if keys.is_empty() {
        return "no keys".to_owned();
    }
    let shown: Vec<String> = keys.iter().take(SHOWN).map(|key| shorten(key)).collect();
    let more = keys.len().saturating_sub(SHOWN);
    let noun = if keys.len() == 1 { "the key" } else { "the keys" };
    if more > 0 {
        format!("{noun} {} and {more} more", shown.join(", "))
    } else {
        format!("{noun} {}", shown.join(", "))
    }
}

/// A text for an error message, shortened.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().nth(LONGEST).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(LONGEST).collect();
    short.push('…');
    short
}

/// Looks at the top level of a range of a document; everything below is checked and not kept.
pub(crate) fn outline(text: &str, range: Range<usize>, pointer: &str) -> Result<Outline, Fault> {
    let mut parser = Parser::new(text, range, pointer);
    parser.space();
    let outline = match parser.peek() {
        Some(b'{') => Outline::Object(parser.object_ranges()?),
        Some(b'[') => Outline::Array(parser.array_ranges()?),
        _ => {
            parser.skip()?;
            Outline::Scalar
        }
    };
    parser.end()?;
    Ok(outline)
}

enum Segment<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

struct Parser<'a, 'p> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    path: Vec<Segment<'a>>,
    base: &'p str,
    notes: Notes,
}

impl<'a, 'p> Parser<'a, 'p> {
    fn new(text: &'a str, range: Range<usize>, base: &'p str) -> Self {
        let end = range.end.min(text.len());
        Parser {
            text,
            bytes: &text.as_bytes()[..end],
            at: range.start.min(end),
            path: Vec::new(),
            base,
            notes: Notes::default(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.space();
        if self.at < self.bytes.len() { Err(self.fault(self.found(), "the end of the document")) } else { Ok(()) }
    }

    fn check_depth(&self) -> Result<(), Fault> {
        if self.path.len() > MAX_DEPTH {
            let mut fault = self.fault(format!("more than {MAX_DEPTH} levels"), "shallower nesting");
            fault.code = RefusalCode::TooDeep;
            return Err(fault);
        }
        Ok(())
    }

    fn value(&mut self) -> Result<Json<'a>, Fault> {
        self.check_depth()?;
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b't') => self.word("true").map(|()| Json::Bool(true)),
            Some(b'f') => self.word("false").map(|()| Json::Bool(false)),
            Some(b'n') => self.word("null").map(|()| Json::Null),
            _ => Ok(Json::Number(Cow::Borrowed(self.number()?))),
        }
    }

    /// Checks a value and keeps nothing of it.
    fn skip(&mut self) -> Result<(), Fault> {
        self.check_depth()?;
        match self.peek() {
            Some(b'{') => self.members(|parser, _| parser.skip()),
            Some(b'[') => self.elements(Self::skip),
            Some(b'"') => self.string().map(|_| ()),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.number().map(|_| ()),
        }
    }

    fn object(&mut self) -> Result<Json<'a>, Fault> {
        const SMALL: usize = 24;
        let mut entries: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
        let mut places: HashMap<Cow<'a, str>, usize> = HashMap::new();
        self.members(|parser, key| {
            let value = parser.value()?;
            if entries.len() == SMALL && places.is_empty() {
                places.extend(entries.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)));
            }
            let known = if entries.len() < SMALL {
                entries.iter().position(|(known, _)| *known == key)
            } else {
                places.get(&key).copied()
            };
            if let Some(at) = known {
                parser.notes.repeated_keys += 1;
                entries[at].1 = value;
            } else {
                if entries.len() >= SMALL {
                    places.insert(key.clone(), entries.len());
                }
                entries.push((key, value));
            }
            Ok(())
        })?;
        Ok(Json::Object(entries))
    }

    fn array(&mut self) -> Result<Json<'a>, Fault> {
        let mut items = Vec::new();
        self.elements(|parser| {
            items.push(parser.value()?);
            Ok(())
        })?;
        Ok(Json::Array(items))
    }

    fn object_ranges(&mut self) -> Result<Vec<(String, Range<usize>)>, Fault> {
        let mut ranges = Vec::new();
        self.members(|parser, key| {
            let start = parser.at;
            parser.skip()?;
            ranges.push((key.into_owned(), start..parser.at));
            Ok(())
        })?;
        Ok(ranges)
    }

    fn array_ranges(&mut self) -> Result<Vec<Range<usize>>, Fault> {
        let mut ranges = Vec::new();
        self.elements(|parser| {
            let start = parser.at;
            parser.skip()?;
            ranges.push(start..parser.at);
            Ok(())
        })?;
        Ok(ranges)
    }

    /// Reads `{…}`, giving each key to `each`, which reads the value.
    fn members(&mut self, mut each: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), Fault>) -> Result<(), Fault> {
        self.at += 1;
        self.space();
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.fault(self.found(), "a key in double quotes"));
            }
            let key = self.string()?;
            self.path.push(Segment::Key(key.clone()));
            self.space();
            if !self.eat(b':') {
                return Err(self.fault(self.found(), "':' after the key"));
            }
            self.space();
            each(self, key)?;
            self.path.pop();
            self.space();
            if self.eat(b'}') {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.fault(self.found(), "',' or '}'"));
            }
            self.space();
        }
    }

    /// Reads `[…]`; `each` reads one item.
    fn elements(&mut self, mut each: impl FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.at += 1;
        self.space();
        if self.eat(b']') {
            return Ok(());
        }
        for index in 0.. {
            self.path.push(Segment::Index(index));
            each(self)?;
            self.path.pop();
            self.space();
            if self.eat(b']') {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.fault(self.found(), "',' or ']'"));
            }
            self.space();
        }
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.at += 1;
        let start = self.at;
        self.plain_run();
        if self.eat(b'"') {
            return Ok(Cow::Borrowed(&self.text[start..self.at - 1]));
        }
        let mut text = self.text[start..self.at].to_owned();
        loop {
            match self.peek() {
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
            let run = self.at;
            self.plain_run();
            text.push_str(&self.text[run..self.at]);
        }
    }

    fn plain_run(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| **byte >= 0x20 && **byte != b'"' && **byte != b'\\').count();
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let plain = match self.peek() {
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

    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let first = self.hex4()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes.get(self.at..self.at + 2) == Some(b"\\u") {
            let before = self.at;
            self.at += 1;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or_else(|| {
            self.notes.surrogates += 1;
            char::REPLACEMENT_CHARACTER
        }))
    }

    /// Reads the four digits after `\u`; `at` stands on the `u`.
    fn hex4(&mut self) -> Result<u32, Fault> {
        let digits = self.bytes.get(self.at + 1..self.at + 5).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else {
            return Err(self.fault(self.found(), "four hexadecimal digits"));
        };
        let code = digits.iter().fold(0, |code, digit| code * 16 + char::from(*digit).to_digit(16).unwrap_or(0));
        self.at += 5;
        Ok(code)
    }

    fn number(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        for word in ["NaN", "Infinity", "-Infinity"] {
            if self.bytes[self.at..].starts_with(word.as_bytes()) {
                self.notes.not_finite += 1;
                self.at += word.len();
                return Ok(&self.text[start..self.at]);
            }
        }
        let negative = self.eat(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ if negative => return Err(self.fault(self.found(), "a digit")),
            _ => return Err(self.fault(self.found(), "a JSON value")),
        }
        if self.eat(b'.') {
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(self.fault(self.found(), "a digit")) } else { Ok(()) }
    }

    fn word(&mut self, word: &str) -> Result<(), Fault> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.fault(self.found(), "a JSON value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn found(&self) -> String {
        if self.at >= self.bytes.len() {
            return "the end of the text".to_owned();
        }
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => "the end of the text".to_owned(),
            Some(character) => format!("{character:?}"),
        }
    }

    fn fault(&self, found: String, expected: &str) -> Fault {
        let before = &self.text.as_bytes()[..self.at.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
        let mut pointer = self.base.to_owned();
        for segment in &self.path {
            match segment {
                Segment::Key(key) => push_key(&mut pointer, key),
                Segment::Index(index) => push_index(&mut pointer, *index),
            }
        }
        if pointer.len() > 400 {
            let cut = (0..=400).rev().find(|at| pointer.is_char_boundary(*at)).unwrap_or(0);
            pointer.truncate(cut);
            pointer.push('…');
        }
        Fault::new(RefusalCode::Syntax, Place::Text { line, column, pointer }, found, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_fault(text: &str, place: &str, found: &str) {
        let fault = parse(text).expect_err(text);
        assert_eq!((fault.place.to_string().as_str(), fault.found.as_str()), (place, found), "{text}");
        let outlined = outline(text, 0..text.len(), "").expect_err(text);
        assert_eq!(outlined, fault, "the outline finds the same fault: {text}");
    }

    #[test]
    fn faults_say_where_and_what() {
        check_fault("", "line 1, column 1", "the end of the text");
        check_fault("[1,2", "line 1, column 5", "the end of the text");
        check_fault("[01]", "line 1, column 3", "'1'");
        check_fault("{\"a\":\n[1,nul]}", "line 2, column 4, at /a/1", "'n'");
        check_fault("1 2", "line 1, column 3", "'2'");
        check_fault("\"a\u{1}b\"", "line 1, column 3", "'\\u{1}'");
        check_fault("{\"a~/b\":[-x]}", "line 1, column 11, at /a~0~1b/0", "'x'");
        let deep = parse(&"[".repeat(100_000)).expect_err("deep");
        assert_eq!(deep.code, RefusalCode::TooDeep);
    }

    #[test]
    fn what_log_writers_produce_passes_with_a_note() {
        let (json, notes) = parse(r#"{"a":NaN,"b":-Infinity,"a":1,"s":"x\ud800y\ud83d\ude00\udc80"}"#).expect("passes");
        assert_eq!(notes, Notes { repeated_keys: 1, surrogates: 2, not_finite: 2 });
        assert_eq!(json.get("a"), Some(&Json::Number("1".into())), "the last counts");
        assert_eq!(json.get("s"), Some(&Json::String("x\u{fffd}y😀\u{fffd}".into())));
        let many: Vec<String> = (0..100).chain(0..100).map(|key| format!("\"k{key}\":{key}")).collect();
        let text = format!("{{{}}}", many.join(","));
        assert_eq!(parse(&text).expect("sound").1.repeated_keys, 100, "also in large objects");
    }

    #[test]
    fn an_outline_leads_to_the_same_values() {
        let text = r#" {"a":[{"x":1},[2]],"b":"é","a":[{"y":[]},3]} "#;
        let whole = outline(text, 0..text.len(), "").expect("sound");
        let at = whole.get("a").expect("there");
        let Outline::Array(items) = outline(text, at, "/a").expect("sound") else { panic!("an array") };
        assert_eq!(parse_part(text, items[1].clone(), "/a/1").expect("sound").0, Json::Number("3".into()));
        assert_eq!(whole.describe(), "an object with the keys a, b, a");
    }
}
