//! A process's pipes as lines with a deadline: threads do the blocking, and what they hold is bounded.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::answer::{is_blank, tail_text};

/// Bytes read at a time.
const CHUNK: usize = 1 << 14;
/// Chunks that wait to be looked at; a process that writes more has to wait.
const CHUNKS: usize = 4;
/// How often a wait looks whether the user has stopped the work.
const TICK: Duration = Duration::from_millis(100);

/// What comes from the threads.
enum Event {
    Output(Vec<u8>),
    OutputEnd,
    ErrorsEnd,
    ErrorsFlood,
}

/// What comes next on standard output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A line without its end.
    Line(Vec<u8>),
    /// The output ended; what stood behind the last line feed, if that is not blank.
    End(Option<Vec<u8>>),
    /// Nothing in time.
    Late,
    /// A line that is too long, or as many blank ones.
    TooLong,
    /// Too much on standard error.
    ErrorsFlood,
    /// The user stopped the work.
    Stopped,
}

/// Bounds on what is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caps {
    pub(super) line_bytes: usize,
    pub(super) error_bytes: u64,
    pub(super) tail_bytes: usize,
}

/// The host's side of a process's pipes.
pub(super) struct Pipes {
    input: Option<Sender<Vec<u8>>>,
    events: Receiver<Event>,
    buffer: Vec<u8>,
    /// How far the buffer is known to hold no line feed.
    looked: usize,
    output_ended: bool,
    errors_ended: bool,
    errors_flooded: bool,
    tail: Arc<Mutex<VecDeque<u8>>>,
    caps: Caps,
}

impl Pipes {
    /// Starts the threads. They end when their pipes do, or at the next event after this value is dropped.
    pub(super) fn start(
        input: Box<dyn Write + Send>,
        output: Box<dyn Read + Send>,
        errors: Box<dyn Read + Send>,
        caps: Caps,
    ) -> std::io::Result<Pipes> {
        let (lines, to_write) = mpsc::channel();
        let (sender, events) = mpsc::sync_channel(CHUNKS);
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(format!("plugin-{name}")).spawn(work).map(drop)
        };
        spawn("in", Box::new(move || write(input, &to_write)))?;
        let for_output = sender.clone();
        spawn("out", Box::new(move || read_output(output, &for_output)))?;
        let kept = Arc::clone(&tail);
        spawn("err", Box::new(move || read_errors(errors, &sender, &kept, caps)))?;
        Ok(Pipes {
            input: Some(lines),
            events,
            buffer: Vec::new(),
            looked: 0,
            output_ended: false,
            errors_ended: false,
            errors_flooded: false,
            tail,
            caps,
        })
    }

    /// Sends a line. Whether anybody reads it shows in the answers.
    pub(super) fn send(&mut self, payload: &[u8]) {
        if let Some(input) = &self.input {
            let mut line = Vec::with_capacity(payload.len() + 1);
            line.extend_from_slice(payload);
            line.push(b'\n');
            let _ = input.send(line);
        }
    }

    /// Ends the input, behind what was sent.
    pub(super) fn end_input(&mut self) {
        self.input = None;
    }

    /// The next line of output that is not blank, at most until the deadline.
    pub(super) fn next(&mut self, deadline: Instant, stop: &dyn Fn() -> bool) -> Next {
        let mut blank = 0;
        let mut late = 0;
        loop {
            if self.errors_flooded {
                return Next::ErrorsFlood;
            }
            if let Some(line) = self.take_line() {
                if !is_blank(&line) {
                    return Next::Line(line);
                }
                blank += line.len() + 1;
                if blank <= self.caps.line_bytes {
                    continue;
                }
            }
            if self.buffer.len().max(blank) > self.caps.line_bytes {
                return Next::TooLong;
            }
            if self.output_ended {
                let rest = std::mem::take(&mut self.buffer);
                self.looked = 0;
                return Next::End(Some(rest).filter(|rest| !is_blank(rest)));
            }
            if stop() {
                return Next::Stopped;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let had = self.receive(left.min(TICK));
            if left.is_zero() {
                // What came in time still counts, but a drip without end does not make more time.
                late += 1;
                if !had || late > CHUNKS + 2 {
                    return Next::Late;
                }
            }
        }
    }

    /// How much more comes until the output ends, counted up to `most`, at most until the deadline; and whether it ended.
    pub(super) fn drain(&mut self, most: usize, deadline: Instant) -> (usize, bool) {
        let mut drained = 0;
        loop {
            drained += self.buffer.len();
            self.buffer.clear();
            self.looked = 0;
            if self.output_ended || drained >= most {
                return (drained, self.output_ended);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.receive(left) {
                return (drained, self.output_ended);
            }
        }
    }

    /// The end of what was said on standard error, once it ended or the deadline is there.
    pub(super) fn tail(&mut self, deadline: Instant) -> String {
        while !self.errors_ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.receive(left) || left.is_zero() {
                break;
            }
            // Output that nobody reads any more must not stand before the end of the errors.
            self.buffer.clear();
            self.looked = 0;
        }
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail_text(tail.make_contiguous()).trim_end().to_owned()
    }

    /// Takes one event, if there is one in time.
    fn receive(&mut self, at_most: Duration) -> bool {
        match self.events.recv_timeout(at_most) {
            Ok(Event::Output(bytes)) => self.buffer.extend_from_slice(&bytes),
            Ok(Event::OutputEnd) => self.output_ended = true,
            Ok(Event::ErrorsEnd) => self.errors_ended = true,
            Ok(Event::ErrorsFlood) => (self.errors_flooded, self.errors_ended) = (true, true),
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => {
                let had_all = self.output_ended && self.errors_ended;
                (self.output_ended, self.errors_ended) = (true, true);
                return !had_all;
            }
        }
        true
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let Some(found) = self.buffer[self.looked..].iter().position(|byte| *byte == b'\n') else {
            self.looked = self.buffer.len();
            return None;
        };
        let end = self.looked + found;
        if end > self.caps.line_bytes {
            return None;
        }
        let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
        self.looked = 0;
        line.pop();
        Some(line)
    }
}

fn write(mut input: Box<dyn Write + Send>, lines: &Receiver<Vec<u8>>) {
    while let Ok(line) = lines.recv() {
        if input.write_all(&line).and_then(|()| input.flush()).is_err() {
            // It doesn't read any more; that is its business as long as it answers.
            return;
        }
    }
}

fn read_output(mut output: Box<dyn Read + Send>, events: &SyncSender<Event>) {
    let mut chunk = vec![0; CHUNK];
    loop {
        let event = match output.read(&mut chunk) {
            Ok(0) => Event::OutputEnd,
            Ok(count) => Event::Output(chunk[..count].to_vec()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => Event::OutputEnd,
        };
        let is_end = matches!(event, Event::OutputEnd);
        if events.send(event).is_err() || is_end {
            return;
        }
    }
}

fn read_errors(mut errors: Box<dyn Read + Send>, events: &SyncSender<Event>, tail: &Mutex<VecDeque<u8>>, caps: Caps) {
    let mut chunk = vec![0; CHUNK];
    let mut total: u64 = 0;
    let end = loop {
        match errors.read(&mut chunk) {
            Ok(0) => break Event::ErrorsEnd,
            Ok(count) => {
                total += count as u64;
                let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                let kept = count.min(caps.tail_bytes);
                tail.extend(&chunk[count - kept..count]);
                let excess = tail.len().saturating_sub(caps.tail_bytes);
                tail.drain(..excess);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break Event::ErrorsEnd,
        }
        if total > caps.error_bytes {
            break Event::ErrorsFlood;
        }
    };
    // Nobody may be listening any more.
    let _ = events.send(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPS: Caps = Caps { line_bytes: 10, error_bytes: 100, tail_bytes: 4 };

    fn pipes(output: &'static [u8], errors: &'static [u8]) -> Pipes {
        Pipes::start(Box::new(std::io::sink()), Box::new(output), Box::new(errors), CAPS).expect("threads")
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn all(output: &'static [u8]) -> Vec<Next> {
        let mut pipes = pipes(output, b"");
        let mut found = Vec::new();
        loop {
            found.push(pipes.next(later(), &|| false));
            if !matches!(found.last(), Some(Next::Line(_))) {
                return found;
            }
        }
    }

    fn line(text: &str) -> Next {
        Next::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn output_is_lines() {
        assert_eq!(all(b""), [Next::End(None)]);
        assert_eq!(all(b"a\nb\r\n\n \r\nc"), [line("a"), line("b\r"), Next::End(Some(b"c".to_vec()))]);
        assert_eq!(all(b"0123456789\na\n\n"), [line("0123456789"), line("a"), Next::End(None)]);
        assert_eq!(all(b"a\n01234567890\n"), [line("a"), Next::TooLong]);
        assert_eq!(all(b"a\n01234567890"), [line("a"), Next::TooLong]);
        assert_eq!(all(b"a\n          \n\n\n\n\n"), [line("a"), Next::TooLong]);
    }

    #[test]
    fn waits_end() {
        struct Never;
        impl Read for Never {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                loop {
                    thread::park();
                }
            }
        }
        let mut pipes =
            Pipes::start(Box::new(std::io::sink()), Box::new(Never), Box::new(Never), CAPS).expect("threads");
        assert_eq!(pipes.next(Instant::now(), &|| false), Next::Late);
        assert_eq!(pipes.next(later(), &|| true), Next::Stopped);
        assert_eq!(pipes.drain(5, Instant::now()), (0, false));
        assert_eq!(pipes.tail(Instant::now()), "");
    }

    #[test]
    fn what_is_left_is_counted() {
        let mut pipes = pipes(b"a\nbcd\nefg", b"");
        assert_eq!(pipes.next(later(), &|| false), line("a"));
        assert_eq!(pipes.drain(1_000, later()), (7, true));
        assert_eq!(super::tests::pipes(b"0123456789", b"").drain(3, later()).0, 10);
    }

    #[test]
    fn errors_leave_their_end() {
        assert_eq!(pipes(b"", b"to be cut: end\n").tail(later()), "end");
        assert_eq!(pipes(b"", &[b'x'; 101]).tail(later()), "xxxx");
        let mut flooded = pipes(b"", &[b'x'; 101]);
        while !flooded.errors_flooded {
            assert!(flooded.receive(Duration::from_secs(60)), "the flood is told");
        }
        assert_eq!(flooded.next(later(), &|| false), Next::ErrorsFlood);
    }
}
