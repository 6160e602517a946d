//! A scanner of canonical JSON: one pass, no tree, values as spans of the text.
//!
//! It accepts a part of JSON in which equal values are equal bytes: no white space, keys of ASCII letters sorted and each
//! once, integers only, and of the escapes only those that have one spelling. Everything else is `None`, and the reader
//! of trees decides.

/// Levels of nesting; no payload goes beyond half of it.
const MAX_DEPTH: u32 = 32;

/// A position in a text; the text is UTF-8.
#[derive(Clone)]
pub(super) struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t [u8]) -> Scanner<'t> {
        Scanner { text, at: 0 }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        self.eat(byte).then_some(())
    }

    /// Nothing follows.
    pub(super) fn end(&self) -> Option<()> {
        (self.at == self.text.len()).then_some(())
    }

    /// A string without escapes.
    #[inline]
    pub(super) fn plain(&mut self) -> Option<&'t [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        let end = end_of_plain(self.text, start);
        if self.text.get(end) != Some(&b'"') {
            return None;
        }
        self.at = end + 1;
        self.text.get(start..end)
    }

    /// A string, passed over.
    #[inline]
    fn skip_string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            self.at = end_of_plain(self.text, self.at);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    let next = self.text.get(self.at + 1)?;
                    if !matches!(next, b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') {
                        return None;
                    }
                    self.at += 2;
                }
                _ => return None,
            }
        }
    }

    fn integer_span(&mut self) -> Option<&'t [u8]> {
        let start = self.at;
        let negative = self.eat(b'-');
        let first = self.peek()?;
        self.at += 1;
        match first {
            b'0' if negative => return None,
            b'0' => {}
            b'1'..=b'9' => {
                while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                    self.at += 1;
                }
            }
            _ => return None,
        }
        match self.peek() {
            Some(b'0'..=b'9' | b'.' | b'e' | b'E') => None,
            _ => self.text.get(start..self.at),
        }
    }

    /// An integer from 0.
    pub(super) fn natural(&mut self) -> Option<i64> {
        self.integer().filter(|value| *value >= 0)
    }

    /// Any integer.
    pub(super) fn integer(&mut self) -> Option<i64> {
        std::str::from_utf8(self.integer_span()?).ok()?.parse().ok()
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    /// A scalar, an equality token, or a list of such: the span.
    pub(super) fn value(&mut self) -> Option<&'t [u8]> {
        let start = self.at;
        self.skip_value(MAX_DEPTH)?;
        self.text.get(start..self.at)
    }

    fn skip_value(&mut self, depth: u32) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_string(),
            b'[' => self.list(|item| item.skip_value(depth.checked_sub(1)?)),
            b'{' => {
                self.at += 1;
                (self.plain()? == b"token").then_some(())?;
                self.expect(b':')?;
                self.skip_string()?;
                self.expect(b'}')
            }
            _ => self.scalar(),
        }
    }

    fn scalar(&mut self) -> Option<()> {
        match self.peek()? {
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.integer_span().map(|_| ()),
        }
    }

    /// Any value, passed over.
    pub(super) fn skip(&mut self) -> Option<()> {
        self.skip_any(MAX_DEPTH)
    }

    fn skip_any(&mut self, depth: u32) -> Option<()> {
        let below = depth.checked_sub(1)?;
        match self.peek()? {
            b'"' => self.skip_string(),
            b'[' => self.list(|item| item.skip_any(below)),
            b'{' => self.object(|_, value| value.skip_any(below)),
            _ => self.scalar(),
        }
    }

    /// The items of an array.
    #[inline]
    pub(super) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.eat(b']') {
            return Some(());
        }
        loop {
            item(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// The entries of an object; keys must rise.
    #[inline]
    pub(super) fn object(&mut self, mut entry: impl FnMut(&'t [u8], &mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        if self.eat(b'}') {
            return Some(());
        }
        // The empty key is equal to the one before the first, and so left to the reader of trees.
        let (mut last, mut last_head): (&[u8], u64) = (b"", 0);
        loop {
            let key = self.plain()?;
            let head = head(key);
            if head < last_head || (head == last_head && key <= last) || !key.is_ascii() {
                return None;
            }
            (last, last_head) = (key, head);
            self.expect(b':')?;
            entry(key, self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }
}

/// The first eight bytes of a key as a number: keys with different heads have their heads' order.
#[inline]
fn head(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => key.iter().fold(0, |head, byte| (head << 8) | u64::from(*byte)) << ((8 * (8 - key.len())) % 64),
    }
}

/// The first position from `at` of a quote, a backslash or a control character.
#[inline]
fn end_of_plain(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        // The high bit of each byte that is the one sought, or below 0x20. The lowest mark is always right; only bytes
        // above it may be marked wrongly, and no byte beyond ASCII is.
        let equal = |byte: u64| {
            let differs = word ^ (ONES * byte);
            differs.wrapping_sub(ONES) & !differs
        };
        let low = word.wrapping_sub(ONES * 0x20) & !word;
        let marks = (equal(0x22) | equal(0x5c) | low) & HIGHS;
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\') {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_runs_end_where_they_should() {
        for length in 0..40 {
            for stop in [b'"', b'\\', 0x00, 0x1f, b'\n'] {
                let mut bytes = "é~a!\u{7f}ü# ]".repeat(5).into_bytes();
                bytes.truncate(length);
                bytes.push(stop);
                bytes.extend_from_slice(b"\"\"\"\"\"\"\"\"\"");
                assert_eq!(end_of_plain(&bytes, 0), length, "{bytes:?}");
            }
            assert_eq!(end_of_plain(&vec![b'x'; length], 0), length);
        }
    }

    #[test]
    fn only_what_has_one_spelling_is_accepted() {
        let accepts = |text: &str| {
            let mut scanner = Scanner::new(text.as_bytes());
            scanner.skip().and_then(|()| scanner.end()).is_some()
        };
        for text in [
            "0",
            "-1",
            "10",
            "true",
            "null",
            r#""a\n\"é""#,
            "[]",
            "[1,[2]]",
            r#"{"a":1,"b":{}}"#,
            r#"{"a":1,"ab":1,"abcdefgh":1,"abcdefghi":1,"b":1}"#,
        ] {
            assert!(accepts(text), "{text}");
        }
        for text in [
            "",
            "-0",
            "01",
            "1.0",
            "1e2",
            "-",
            "tru",
            "\"\\u0041\"",
            "\"\\/\"",
            "\"",
            "\"\n\"",
            "[1,]",
            "[1 ]",
            "{",
            "{}}",
            r#"{"b":1,"a":1}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"abcdefghi":1,"abcdefgh":1}"#,
            r#"{"abcdefgh":1,"abcdefgh":1}"#,
            r#"{"é":1}"#,
            r#"{"":1}"#,
            r#"{"a"}"#,
            r#"{a:1}"#,
        ] {
            assert!(!accepts(text), "{text}");
        }
        assert!(!accepts(&"[".repeat(100)));
    }
}
