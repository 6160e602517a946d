//! Passages of an answer that stand in its request too: where the request may not be passed on, they go with it, and are put
//! back from the request that a replay makes again.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The fewest bytes that are worth a reference; about two words.
const LEAST: usize = 12;

/// A passage: where it was taken out of the rest of the answer, and where it stands in the request's canonical JSON, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Quote(pub usize, pub usize, pub usize);

/// Takes every passage of at least [`LEAST`] bytes that stands in the request out of an answer, the longest first at each place.
pub(super) fn cut(answer: &str, request: &str) -> (String, Vec<Quote>) {
    let (answer_bytes, request_bytes) = (answer.as_bytes(), request.as_bytes());
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (at, window) in request_bytes.windows(LEAST).enumerate().filter(|(at, _)| request.is_char_boundary(*at)) {
        places.entry(window).or_default().push(at);
    }
    let (mut rest, mut quotes, mut at) = (String::with_capacity(answer.len()), Vec::new(), 0);
    while at < answer.len() {
        let window = answer_bytes.get(at..at + LEAST).filter(|_| answer.is_char_boundary(at));
        let candidates = window.and_then(|window| places.get(window)).into_iter().flatten();
        let longest =
            candidates.map(|start| (common(answer, at, request, *start), *start)).max_by_key(|(length, start)| {
                // The first of equally long ones.
                (*length, usize::MAX - *start)
            });
        match longest.filter(|(length, _)| *length >= LEAST) {
            Some((length, start)) => {
                quotes.push(Quote(rest.len(), start, length));
                at += length;
            }
            None => {
                let width = answer[at..].chars().next().map_or(1, char::len_utf8);
                rest.push_str(&answer[at..at + width]);
                at += width;
            }
        }
    }
    (rest, quotes)
}

/// How many bytes agree, up to the end of a character in both.
fn common(answer: &str, at: usize, request: &str, start: usize) -> usize {
    let pairs = answer.as_bytes()[at..].iter().zip(&request.as_bytes()[start..]);
    let mut length = pairs.take_while(|(left, right)| left == right).count();
    while !(answer.is_char_boundary(at + length) && request.is_char_boundary(start + length)) {
        length -= 1;
    }
    length
}

/// The answer again.
///
/// # Errors
/// A passage that does not stand where it should.
pub(super) fn restore(rest: &str, quotes: &[Quote], request: &str) -> Result<String, String> {
    let (mut answer, mut at) = (String::with_capacity(rest.len()), 0);
    for (number, Quote(place, start, length)) in quotes.iter().copied().enumerate() {
        let before = (place >= at).then(|| rest.get(at..place)).flatten();
        let passage = start.checked_add(length).and_then(|end| request.get(start..end));
        let (Some(before), Some(passage)) = (before, passage) else {
            return Err(format!(
                "/request/quoted/{number}: a passage of {length} bytes that the request does not have"
            ));
        };
        answer.push_str(before);
        answer.push_str(passage);
        at = place;
    }
    answer.push_str(&rest[at..]);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_comes_back() {
        let request =
            r#"{"messages":[{"content":"Ärger mit dem Auftrag: das Paket kam nie an.\nDas Paket kam nie an."}]}"#;
        for answer in [
            "",
            "nothing of it",
            r#"{"quote":"Ärger mit dem Auftrag: das Paket kam nie an."}"#,
            r#"{"a":"das Paket kam nie an.","b":"Das Paket kam nie an.","c":"Ärger mit dem"}"#,
            "das Paket kam nie an.das Paket kam nie an.",
            "é mit dem Auftrag: das Paket kam nie anÄ",
        ] {
            let (rest, quotes) = cut(answer, request);
            assert_eq!(restore(&rest, &quotes, request).as_deref(), Ok(answer));
            assert!(!rest.contains("Paket kam nie"), "{rest}");
        }
        assert!(restore("ab", &[Quote(3, 0, 1)], request).is_err());
        assert!(restore("ab", &[Quote(1, 0, 1000)], request).is_err());
        assert!(restore("ab", &[Quote(1, 0, usize::MAX)], request).is_err());
        assert!(restore("ab", &[Quote(2, 0, 1), Quote(1, 0, 1)], request).is_err());
    }

    #[test]
    fn random_texts_come_back() {
        let mut state = 1u64;
        let mut next = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        for _ in 0..300 {
            let mut text =
                |length: u64| (0..length).map(|_| ["a", "b", "ä", "\u{1f600}"][next(4) as usize]).collect::<String>();
            let request = text(400);
            let answer = format!("{}{}{}", text(30), request.chars().skip(50).take(60).collect::<String>(), text(30));
            let (rest, quotes) = cut(&answer, &request);
            assert_eq!(restore(&rest, &quotes, &request).as_deref(), Ok(answer.as_str()));
            assert!(!quotes.is_empty());
        }
    }
}
