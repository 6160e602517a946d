//! The loop of the certifier process: lines in, lines out, over any reader and writer.

use std::io::{self, BufRead, BufReader, Read, Write};

use crate::protocol::{Answer, ClientHello, ConfinementMessage, Fault, MAX_LINE_BYTES, PROTOCOL, ServerHello, codes};
use crate::session::Desk;
use crate::store::Store;

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 16;
/// Bytes of replies that are kept before they are written, while more requests are at hand.
const FLUSH_BYTES: usize = 1 << 16;

/// What came in.
enum Line {
    /// A line, without its line feed.
    Text,
    /// A longer one than [`MAX_LINE_BYTES`]; it was read to its end and dropped.
    TooLong,
    /// Nothing more.
    End,
}

/// Serves until the input ends. A reader that goes away ends it quietly too. Whoever asks is told of `confinement`.
///
/// # Errors
/// The input cannot be read, or the output cannot be written for another reason than that nobody reads it.
pub fn serve(store: Store, confinement: ConfinementMessage, input: impl Read, output: impl Write) -> io::Result<()> {
    match talk(store, confinement, BufReader::with_capacity(READ_BYTES, input), output) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

fn talk(
    store: Store,
    confinement: ConfinementMessage,
    mut input: BufReader<impl Read>,
    mut output: impl Write,
) -> io::Result<()> {
    let mut line = Vec::new();
    let mut out = Vec::with_capacity(FLUSH_BYTES);
    let hello = match read_line(&mut input, &mut line)? {
        Line::End => return Ok(()),
        Line::Text => read_hello(&line),
        Line::TooLong => Err(Fault::new(codes::LINE_TOO_LONG, too_long())),
    };
    let mut desk = match hello {
        Ok(hello) => Desk::new(store, hello.operator_key.as_deref()).confined(confinement),
        Err(fault) => {
            Answer { id: None, result: Err(Fault { line: Some(1), ..fault }) }.push_line(&mut out);
            output.write_all(&out)?;
            return output.flush();
        }
    };
    let hello =
        ServerHello { hello: PROTOCOL.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), tasks: desk.tasks() };
    serde_json::to_writer(&mut out, &hello)?;
    out.push(b'\n');
    for number in 2u64.. {
        // Replies wait as long as a whole request is at hand: batches cost one write, and nobody waits for a reply
        // that lies in a buffer.
        if out.len() >= FLUSH_BYTES || !input.buffer().contains(&b'\n') {
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
        match read_line(&mut input, &mut line)? {
            Line::End => break,
            Line::Text if line.is_empty() => {}
            Line::Text => desk.answer_line(&line, number).push_line(&mut out),
            Line::TooLong => {
                let fault = Fault { line: Some(number), ..Fault::new(codes::LINE_TOO_LONG, too_long()) };
                Answer { id: None, result: Err(fault) }.push_line(&mut out);
            }
        }
    }
    output.write_all(&out)?;
    output.flush()
}

fn too_long() -> String {
    format!("a line has at most {MAX_LINE_BYTES} bytes")
}

fn read_hello(line: &[u8]) -> Result<ClientHello, Fault> {
    let hello: ClientHello = serde_json::from_slice(line)
        .map_err(|error| Fault::new(codes::PROTOCOL_VERSION, format!("the first line is no hello: {error}")))?;
    if hello.hello == PROTOCOL {
        return Ok(hello);
    }
    let message = format!("found the protocol {:?}, expected {PROTOCOL:?}", hello.hello);
    Err(Fault::new(codes::PROTOCOL_VERSION, message))
}

/// Reads up to a line feed or the end.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    let mut too_long = false;
    let mut any = false;
    loop {
        let buffer = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if buffer.is_empty() {
            return Ok(if too_long {
                Line::TooLong
            } else if any {
                Line::Text
            } else {
                Line::End
            });
        }
        any = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(buffer.len());
        if line.len() + taken > MAX_LINE_BYTES {
            too_long = true;
            line.clear();
        }
        if !too_long {
            line.extend_from_slice(&buffer[..taken]);
        }
        input.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(if too_long { Line::TooLong } else { Line::Text });
        }
    }
}
