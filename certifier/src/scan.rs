//! Leak scans of public bytes (P §4.3; SPEC §4): every secret of every package at once, in every encoding, also escaped,
//! split across lines or with separators between its characters. Secrets stay in this process; places go out.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError};
use parthack_env::canonical::push_hex;
use parthack_env::value::{FieldKind, Literal};
use serde::{Deserialize, Serialize};

use crate::binding::PrivateTask;
use crate::leaks::{Encoding, fold};

/// Fewest letters and digits of a secret that is looked for: with separators left out, shorter ones occur by chance.
pub const MIN_SECRET: usize = 10;
/// Most hits that one scan tells of.
pub const MAX_HITS: usize = 16;
/// Fewest hexadecimal digits at the end of a canary that betray it without what stands before them.
const MIN_DIGITS: usize = 16;
/// Times that escapes are resolved: a payload in a request in an exchange in a log.
const MAX_DEPTH: usize = 4;

/// A private string.
#[derive(Clone)]
pub(crate) struct Secret {
    /// Code of the lint note.
    pub(crate) code: &'static str,
    /// What it is, without a private word.
    pub(crate) what: String,
    /// The string.
    pub(crate) text: String,
}

/// Everything that a package calls secret and that says something by occurring: canaries, private ids, the redaction key,
/// and sealed free texts. A sealed number, truth value or declared symbol says nothing by occurring.
pub(crate) fn secrets(private: &PrivateTask) -> Vec<Secret> {
    let package = &private.package;
    let secret = |code, what: String, text: &str| Secret { code, what, text: text.to_owned() };
    let canaries = package.canaries.iter().enumerate();
    let mut all: Vec<Secret> =
        canaries.map(|(index, text)| secret("leak_canary", format!("canary {index}"), text)).collect();
    all.extend(package.private_ids.iter().map(|((entity_type, id), text)| {
        secret("leak_private_id", format!("the private id of {entity_type}/{id}"), text)
    }));
    let mut key = Vec::new();
    push_hex(&mut key, &package.redaction_key);
    all.push(secret("leak_redaction_key", "the redaction key".to_owned(), &String::from_utf8_lossy(&key)));
    let fields = || private.task.spec.entity_types.iter().flat_map(|entity_type| &entity_type.fields);
    for (index, sealed) in package.sealed_values.iter().enumerate() {
        let Literal::Text(text) = &sealed.value else { continue };
        let declared = fields().any(|field| match field.kind.element() {
            FieldKind::Enum { symbols } => symbols.iter().any(|symbol| **symbol == **text),
            _ => false,
        });
        if !declared {
            let what = format!("sealed value {index} ({}.{})", sealed.entity_type, sealed.field);
            all.push(secret("leak_sealed_value", what, text));
        }
    }
    all
}

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanHit {
    /// The task whose package holds it.
    pub task: String,
    /// What it is, without a private word: `canary 3`, `the redaction key`.
    pub secret: String,
    /// `plain`, `reversed`, `hexadecimal` or `base64`; then, after a comma, `escaped` or `split`.
    pub encoding: String,
    /// Offset of its first byte in the text.
    pub at: usize,
    /// Bytes of the text that it takes up; where the last character is escaped, less the rest of the escape.
    pub length: usize,
}

/// Reply to `scan`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanMessage {
    /// Secrets that were looked for.
    pub secrets: usize,
    /// Those of them that are canaries.
    pub canaries: usize,
    /// Secrets with fewer than [`MIN_SECRET`] letters and digits, which were not.
    pub too_short: usize,
    /// Byte strings that betray them.
    pub needles: usize,
    /// Different pairs of a secret and an encoding that were found.
    pub found: usize,
    /// The first of them, at most [`MAX_HITS`].
    pub hits: Vec<ScanHit>,
}

/// Bytes, each with the offset that it came from.
struct Stream {
    bytes: Vec<u8>,
    origin: Vec<usize>,
}

/// Needles of one kind.
struct Needles {
    automaton: AhoCorasick,
    /// By pattern: secret and encoding.
    owners: Vec<(usize, Encoding)>,
}

/// All secrets of a suite, ready to be looked for.
pub struct Scanner {
    secrets: Vec<(String, Secret)>,
    too_short: usize,
    /// In any case.
    folded: Needles,
    /// Base64, which case tells apart.
    exact: Needles,
}

impl Scanner {
    /// A scanner for the secrets of packages, by task.
    ///
    /// # Errors
    /// More needles than an automaton takes.
    pub(crate) fn new(secrets: Vec<(String, Secret)>) -> Result<Scanner, BuildError> {
        let (secrets, short): (Vec<_>, Vec<_>) = (secrets.into_iter())
            .partition(|(_, secret)| squeezed(secret.text.as_bytes(), false).bytes.len() >= MIN_SECRET);
        let needles = |wanted: &dyn Fn(Encoding) -> bool| {
            let (mut patterns, mut owners) = (Vec::new(), Vec::new());
            for (index, (_, secret)) in secrets.iter().enumerate() {
                for encoding in Encoding::ALL.into_iter().filter(|encoding| wanted(*encoding)) {
                    for trace in traces(secret, encoding) {
                        patterns.push(squeezed(&trace, false).bytes);
                        owners.push((index, encoding));
                    }
                }
            }
            Ok(Needles { automaton: AhoCorasick::new(patterns)?, owners })
        };
        let folded = needles(&|encoding| encoding != Encoding::Base64)?;
        let exact = needles(&|encoding| encoding == Encoding::Base64)?;
        Ok(Scanner { too_short: short.len(), secrets, folded, exact })
    }

    /// Looks for every secret in a text.
    #[must_use]
    pub fn scan(&self, text: &str) -> ScanMessage {
        let raw = Stream { bytes: text.as_bytes().to_vec(), origin: (0..text.len()).collect() };
        let mut found = BTreeSet::new();
        let mut hits = Vec::new();
        self.look(text, &raw, "", &mut found, &mut hits);
        let mut stream = raw;
        for _ in 0..MAX_DEPTH {
            match resolved(&stream) {
                Some(next) => stream = next,
                None => break,
            }
            self.look(text, &stream, ", escaped", &mut found, &mut hits);
        }
        ScanMessage {
            secrets: self.secrets.len(),
            canaries: self.secrets.iter().filter(|(_, secret)| secret.code == "leak_canary").count(),
            too_short: self.too_short,
            needles: self.folded.owners.len() + self.exact.owners.len(),
            found: found.len(),
            hits,
        }
    }

    fn look(
        &self,
        text: &str,
        stream: &Stream,
        how: &str,
        found: &mut BTreeSet<(usize, Encoding)>,
        hits: &mut Vec<ScanHit>,
    ) {
        for (needles, folds) in [(&self.folded, true), (&self.exact, false)] {
            let view = squeezed_stream(stream, folds);
            for hit in needles.automaton.find_overlapping_iter(&view.bytes) {
                let (secret, encoding) = needles.owners[hit.pattern().as_usize()];
                if !found.insert((secret, encoding)) || hits.len() == MAX_HITS {
                    continue;
                }
                let last = view.origin[hit.end() - 1];
                let end = (last + 1..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
                let place = view.origin[hit.start()]..end;
                let (task, secret) = &self.secrets[secret];
                let plainly = how.is_empty() && traces(secret, encoding).iter().any(|t| stands(text, &place, t));
                let how = if plainly || !how.is_empty() { how } else { ", split" };
                hits.push(ScanHit {
                    task: task.clone(),
                    secret: secret.what.clone(),
                    encoding: format!("{}{how}", encoding.word()),
                    at: place.start,
                    length: place.len(),
                });
            }
        }
    }
}

/// The byte strings that betray a secret in an encoding. A canary is known by its random digits too, whose prefix anybody can guess.
fn traces(secret: &Secret, encoding: Encoding) -> Vec<Vec<u8>> {
    let mut traces = encoding.traces(&secret.text);
    let before = secret.text.trim_end_matches(|character: char| character.is_ascii_hexdigit());
    let digits = &secret.text[before.len()..];
    if secret.code == "leak_canary" && digits.len() >= MIN_DIGITS && !before.is_empty() {
        traces.extend(encoding.traces(digits));
    }
    traces
}

/// Whether a trace stands at a place in one piece, in whatever case.
fn stands(text: &str, place: &Range<usize>, trace: &[u8]) -> bool {
    let bytes = &text.as_bytes()[place.clone()];
    bytes == trace || fold(bytes) == trace
}

/// Letters and digits of all scripts alone, in lower case if asked for.
fn squeezed_stream(stream: &Stream, folds: bool) -> Stream {
    let mut out =
        Stream { bytes: Vec::with_capacity(stream.bytes.len()), origin: Vec::with_capacity(stream.bytes.len()) };
    let mut at = 0;
    for chunk in stream.bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let origin = stream.origin[at];
            at += character.len_utf8();
            if character.is_ascii() {
                let byte = character as u8;
                if byte.is_ascii_alphanumeric() {
                    out.push(if folds { byte.to_ascii_lowercase() } else { byte }, origin);
                }
                continue;
            }
            let mut buffer = [0; 4];
            // Asked of what comes out: lower case can put a mark behind a letter.
            let mut push = |character: char| {
                if character.is_alphanumeric() {
                    character.encode_utf8(&mut buffer).bytes().for_each(|byte| out.push(byte, origin));
                }
            };
            if folds { character.to_lowercase().for_each(&mut push) } else { push(character) }
        }
        at += chunk.invalid().len();
    }
    out
}

fn squeezed(bytes: &[u8], folds: bool) -> Stream {
    squeezed_stream(&Stream { bytes: bytes.to_vec(), origin: (0..bytes.len()).collect() }, folds)
}

impl Stream {
    fn push(&mut self, byte: u8, origin: usize) {
        self.bytes.push(byte);
        self.origin.push(origin);
    }
}

/// The stream with one level of escapes resolved; none if it has none.
fn resolved(stream: &Stream) -> Option<Stream> {
    let bytes = &stream.bytes;
    if !bytes.iter().any(|byte| matches!(byte, b'\\' | b'%' | b'&')) {
        return None;
    }
    let mut out = Stream { bytes: Vec::with_capacity(bytes.len()), origin: Vec::with_capacity(bytes.len()) };
    let (mut at, mut changed) = (0, false);
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let escape = match byte {
            b'\\' => backslash(rest),
            b'%' => rest.get(1..3).and_then(|digits| number(digits, 16)).map(|code| (Meaning::Byte(code as u8), 3)),
            b'&' => entity(rest),
            _ => None,
        };
        match escape {
            Some((meaning, length)) => {
                match meaning {
                    Meaning::Byte(byte) => out.push(byte, stream.origin[at]),
                    Meaning::Character(character) => {
                        let mut buffer = [0; 4];
                        let encoded = character.encode_utf8(&mut buffer);
                        encoded.bytes().for_each(|byte| out.push(byte, stream.origin[at]));
                    }
                }
                at += length;
                changed = true;
            }
            None => {
                out.push(*byte, stream.origin[at]);
                at += 1;
            }
        }
    }
    changed.then_some(out)
}

/// What an escape stands for.
enum Meaning {
    Byte(u8),
    Character(char),
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let plain = digits.iter().all(u8::is_ascii_alphanumeric);
    std::str::from_utf8(digits).ok().filter(|_| plain).and_then(|digits| u32::from_str_radix(digits, radix).ok())
}

/// `\n`, `\"`, `\x41`, `\u0041`, and two of the latter for one character.
fn backslash(rest: &[u8]) -> Option<(Meaning, usize)> {
    let character = match rest.get(1)? {
        b'n' | b'r' | b't' | b'b' | b'f' => ' ',
        b'"' => '"',
        b'\'' => '\'',
        b'/' => '/',
        b'\\' => '\\',
        b'x' => return Some((Meaning::Byte(number(rest.get(2..4)?, 16)? as u8), 4)),
        b'u' => {
            let high = number(rest.get(2..6)?, 16)?;
            if let Some(character) = char::from_u32(high) {
                return Some((Meaning::Character(character), 6));
            }
            let low = rest.get(6..8).filter(|mark| *mark == b"\\u").and_then(|_| number(rest.get(8..12)?, 16))?;
            let code = 0x1_0000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
            return Some((Meaning::Character(char::from_u32(code)?), 12));
        }
        _ => return None,
    };
    Some((Meaning::Character(character), 2))
}

/// `&#65;`, `&#x41;` and the five names of XML.
fn entity(rest: &[u8]) -> Option<(Meaning, usize)> {
    const LONGEST: usize = 10;
    let end = rest.iter().take(LONGEST).position(|byte| *byte == b';')?;
    let character = match &rest[1..end] {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        _ => return None,
    };
    Some((Meaning::Character(character), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "PHC-T-3f9a17c0d2";

    fn scanner() -> Scanner {
        let secret = |code, text: &str| Secret { code, what: "it".to_owned(), text: text.to_owned() };
        let secrets = vec![
            ("T".to_owned(), secret("leak_canary", CANARY)),
            ("T".to_owned(), secret("leak_private_id", "pv-Straße-4711-ø")),
            ("T".to_owned(), secret("leak_private_id", "r-9")),
        ];
        Scanner::new(secrets).expect("an automaton")
    }

    fn encodings(text: &str) -> Vec<String> {
        scanner().scan(text).hits.into_iter().map(|hit| hit.encoding).collect()
    }

    #[test]
    fn every_way_to_hide_it_is_seen_through() {
        for (text, expected) in [
            (format!("a {CANARY} b"), "plain"),
            (CANARY.to_lowercase(), "plain"),
            ("PHC-T-3f9a\n  17c0d2".to_owned(), "plain, split"),
            ("P H C . T . 3 f 9 a 1 7 c 0 d 2".to_owned(), "plain, split"),
            (r#"["PHC-T-","3f9a","17c0d2"]"#.to_owned(), "plain, split"),
            ("2d0c71a9f3-T-CHP".to_owned(), "reversed"),
            ("5048432d542d33663961313763306432".to_owned(), "hexadecimal"),
            ("50:48:43:2D:54:2D:33:66:39:61:31:37:63:30:64:32".to_owned(), "hexadecimal, split"),
            ("UEhDLVQtM2Y5YTE3YzBkMg==".to_owned(), "base64"),
            ("eFBIQy1ULTNmOWExN2MwZDI=".to_owned(), "base64"),
            ("eHlQSEMtVC0zZjlhMTdjMGQy".to_owned(), "base64"),
            ("eHlQSEMtVC0z\nZjlhMTdjMGQy".to_owned(), "base64, split"),
            (r"PHC-T-\u0033f9a17c0d2".to_owned(), "plain, escaped"),
            (r"PHC-T-3f9a\n17c0d2".to_owned(), "plain, escaped"),
            (r"PHC-T-3f9a\\n17c0d2".to_owned(), "plain, escaped"),
            ("PHC%2DT%2d%33f9a17c0d2".to_owned(), "plain, escaped"),
            ("PHC&#45;T&#x2d;3f9a1&#55;c0d2".to_owned(), "plain, escaped"),
            (r"\x50HC-T-3f9a17c0d2".to_owned(), "plain, escaped"),
        ] {
            assert_eq!(encodings(&text), [expected], "{text}");
        }
        for text in ["PHC-T-3f9a17c0d", "PHC-T-3f9a and 17c0d2", "r-9", "% \\ &", "\\u12", "%4", "&#;", "\\ud800\\u"] {
            assert_eq!(encodings(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn separators_of_any_script() {
        // No-break, zero-width and ideographic spaces, a soft hyphen, a byte order mark, dots, dashes, a replacement, an emoji.
        let separators = "\u{a0}\u{200b}\u{200d}\u{3000}\u{ad}\u{feff}·—–…„\u{fffd}\u{1f600}";
        for separator in separators.chars() {
            for secret in [CANARY, "pv-Straße-4711-ø"] {
                let text: String = secret.chars().flat_map(|character| [character, separator]).collect();
                assert_eq!(encodings(&text), ["plain, split"], "{separator:?}");
            }
        }
        assert_eq!(encodings(r"PHC-T-3f9a\u200b17c\u00ad0d2"), ["plain, escaped"]);
        // Letters and digits of other scripts are letters and digits.
        for letter in "éжλ字٣".chars() {
            assert_eq!(encodings(&format!("PHC-T-3f9a{letter}17c0d2")), [""; 0], "{letter}");
        }
    }

    #[test]
    fn a_canary_is_known_by_its_digits() {
        const DIGITS: &str = "0123456789abcdef01234567";
        let secret = |code, text: String| ("T".to_owned(), Secret { code, what: "it".to_owned(), text });
        let found = |code, text: &str| {
            let scanner = Scanner::new(vec![secret(code, format!("PHC-PH-H01-{DIGITS}"))]).expect("an automaton");
            scanner.scan(text).hits.into_iter().map(|hit| (hit.encoding, hit.at, hit.length)).collect::<Vec<_>>()
        };
        let hit = |encoding: &str, at, length| vec![(encoding.to_owned(), at, length)];
        let base64 = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";
        for (text, expected) in [
            (format!("x {DIGITS}"), hit("plain", 2, 24)),
            (format!("x PHC-PH-H01-{DIGITS}"), hit("plain", 2, 35)),
            (DIGITS.to_uppercase(), hit("plain", 0, 24)),
            ("01234567 89abcdef 01234567".to_owned(), hit("plain, split", 0, 26)),
            (DIGITS.chars().rev().collect(), hit("reversed", 0, 24)),
            (base64.to_owned(), hit("base64", 0, base64.len())),
            (DIGITS[1..].to_owned(), Vec::new()),
        ] {
            assert_eq!(found("leak_canary", &text), expected, "{text}");
        }
        assert_eq!(found("leak_private_id", DIGITS), [], "what is no canary has no such digits");
    }

    #[test]
    fn places_and_counts() {
        let message = scanner().scan(&format!("é\\n{CANARY} PV-STRASSE pv-STRAßE-4711-Ø"));
        let places: Vec<(usize, usize)> = message.hits.iter().map(|hit| (hit.at, hit.length)).collect();
        assert_eq!(places, [(4, CANARY.len()), (32, "pv-STRAßE-4711-Ø".len())]);
        assert_eq!((message.secrets, message.canaries, message.too_short, message.found), (2, 1, 1, 2));
    }
}
