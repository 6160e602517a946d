//! Every way in which a plugin can fail to answer, each with a stable code.

use std::fmt;

macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident => $code:literal, $kind:ident);* $(;)?) => {
        /// What went wrong. The codes are stable: reports and ledgers keep them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FaultCode { $($(#[$meta])* $name),* }

        impl FaultCode {
            /// All of them.
            pub const ALL: &'static [FaultCode] = &[$(FaultCode::$name),*];

            /// The code.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(FaultCode::$name => $code),* }
            }

            pub(super) const fn kind(self) -> Kind {
                match self { $(FaultCode::$name => Kind::$kind),* }
            }
        }
    };
}

/// What a fault says about what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The evaluator answered, badly; it goes on.
    Answer,
    /// The process, or the connection, is of no more use. Many in a row end the work with a plugin.
    Process,
    /// The host did not ask.
    Unasked,
}

codes! {
    /// The program can't be started.
    NotStarted => "not_started", Process;
    /// The confinement that was asked for can't be set up.
    Sandbox => "sandbox", Process;
    /// The process ended with an exit code other than 0, or by a signal, without an answer.
    Crashed => "crashed", Process;
    /// The process ended with exit code 0, or closed its output, without an answer.
    EndedEarly => "ended_early", Process;
    /// The process used up its processor time.
    CpuLimit => "cpu_limit", Process;
    /// No answer in time.
    TimedOut => "timed_out", Process;
    /// More output than a program with something to say has.
    Flood => "flood", Process;
    /// A line, or a body, beyond the longest.
    TooLong => "too_long", Process;
    /// More lines than payloads: an answer given twice, or talk on standard output.
    Unsolicited => "unsolicited", Process;
    /// An answer whose `id` is another payload's.
    OutOfOrder => "out_of_order", Process;
    /// A hello of another protocol, or a malformed one.
    WrongHello => "wrong_hello", Process;
    /// Not UTF-8, not JSON, a key given twice, or nested too deep.
    WrongLine => "wrong_line", Answer;
    /// JSON, but no answer: a missing, unknown or wrongly typed key.
    WrongSchema => "wrong_schema", Answer;
    /// A score below 0 or above 1.
    OutOfRange => "out_of_range", Answer;
    /// A score that is NaN or infinite.
    NotFinite => "not_finite", Answer;
    /// A citation that is no JSON pointer to a part of the payload.
    BadCite => "bad_cite", Answer;
    /// Nobody listens at the address.
    HttpUnreachable => "http_unreachable", Process;
    /// The connection broke before the answer was whole.
    HttpCut => "http_cut", Process;
    /// A status other than success.
    HttpStatus => "http_status", Process;
    /// A content type that is not JSON.
    HttpContent => "http_content", Answer;
    /// A payload that has a line feed in it, or is too long to be sent.
    Unsendable => "unsendable", Unasked;
    /// Not asked any more: too many payloads had ended in faults.
    GivenUp => "given_up", Unasked;
    /// Not asked any more: the user stopped the work.
    Stopped => "stopped", Unasked;
}

impl FaultCode {
    /// The fault of a code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<FaultCode> {
        FaultCode::ALL.iter().copied().find(|fault| fault.code() == code)
    }
}

impl fmt::Display for FaultCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.code())
    }
}

/// Lines of talk that are shown beside a fault.
const TALK_LINES: usize = 20;
/// Characters of such a line.
const TALK_CHARACTERS: usize = 400;

/// Why a payload got neither a score nor a `no_verdict`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Fault {
    /// What went wrong.
    pub code: FaultCode,
    /// What was found and what was expected, in one sentence. Equal faults have equal messages.
    pub message: String,
    /// What the process said last on standard error, or how the body of an HTTP answer begins; empty if nothing. It
    /// may differ from run to run, so that it belongs into no hash.
    pub stderr_tail: String,
}

impl Fault {
    /// A fault without talk.
    #[must_use]
    pub fn new(code: FaultCode, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into(), stderr_tail: String::new() }
    }

    /// What the evaluator said, for people: the last lines on standard error, or the first of an HTTP body, at most 20. Characters
    /// that would steer a terminal are escaped.
    #[must_use]
    pub fn talk(&self) -> Vec<String> {
        let lines: Vec<&str> = self.stderr_tail.lines().filter(|line| !line.trim().is_empty()).collect();
        let surplus = lines.len().saturating_sub(TALK_LINES);
        let is_body = matches!(self.code, FaultCode::HttpStatus | FaultCode::HttpContent);
        let shown = if is_body { &lines[..lines.len() - surplus] } else { &lines[surplus..] };
        shown.iter().map(|line| tamed(line)).collect()
    }

    pub(super) fn with_tail(mut self, tail: String) -> Fault {
        self.stderr_tail = tail;
        self
    }
}

/// A line without characters that a terminal obeys, cut to a length that can be read.
fn tamed(line: &str) -> String {
    let line = line.trim_end();
    let mut text = String::with_capacity(line.len());
    for character in line.chars().take(TALK_CHARACTERS) {
        match character {
            '\t' => text.push_str("    "),
            // Marks that turn the direction of writing.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                text.extend(character.escape_unicode());
            }
            other if other.is_control() => text.extend(other.escape_default()),
            other => text.push(other),
        }
    }
    if line.chars().nth(TALK_CHARACTERS).is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talk_is_the_last_lines_and_steers_no_terminal() {
        let talk = |code, text: &str| Fault::new(code, "x").with_tail(text.to_owned()).talk();
        let none: [&str; 0] = [];
        assert_eq!(talk(FaultCode::Crashed, ""), none);
        assert_eq!(
            talk(FaultCode::Crashed, "\n  a\tb\r\n\n\u{1b}[31mé\u{202e}\n"),
            ["  a    b", "\\u{1b}[31mé\\u{202e}"]
        );
        let lines: Vec<String> = (0..30).map(|line| line.to_string()).collect();
        assert_eq!(talk(FaultCode::Crashed, &lines.join("\n")), lines[10..]);
        assert_eq!(talk(FaultCode::HttpStatus, &lines.join("\n")), lines[..20]);
        assert_eq!(talk(FaultCode::Crashed, &"x".repeat(401)), [format!("{}…", "x".repeat(400))]);
    }

    #[test]
    fn codes_are_distinct_and_lead_back() {
        for code in FaultCode::ALL {
            assert_eq!(FaultCode::from_code(code.code()), Some(*code));
        }
        assert_eq!(FaultCode::from_code("Crashed"), None);
    }

    #[test]
    fn the_protocols_text_names_every_code() {
        let text = include_str!("protocol.md");
        let (_, list) = text.split_once("**Faults.**").expect("a list");
        let named: Vec<&str> = list.split('`').skip(1).step_by(2).filter(|word| *word != "id").collect();
        let codes: Vec<&str> = FaultCode::ALL.iter().map(|code| code.code()).collect();
        assert_eq!(named, codes);
    }
}
