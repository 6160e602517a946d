//! A process of this binary that gets public bytes alone (SPEC §15.6, P §3.4): an empty environment, no folder of the user's,
//! lines on its standard input, lines on its standard output.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// One such process. It ends with the value.
#[derive(Debug)]
pub struct PublicProcess {
    child: Child,
    /// None once it is ending.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl PublicProcess {
    /// Starts a program.
    ///
    /// # Errors
    /// It can't be started.
    pub fn start(program: &Path, arguments: &[&str]) -> Result<PublicProcess, String> {
        let started = Command::new(program)
            .args(arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = started.map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".to_owned());
        };
        Ok(PublicProcess { child, input: Some(input), output: BufReader::new(output) })
    }

    /// Sends a line, of less than `most` bytes.
    ///
    /// # Errors
    /// It is longer, or the process does not read.
    pub fn send(&mut self, line: &[u8], most: usize) -> Result<(), String> {
        if line.len() >= most {
            return Err(format!("a line of {} bytes; at most {most} are sent", line.len()));
        }
        let Some(input) = &mut self.input else { return Err("it has ended".to_owned()) };
        let sent = input.write_all(line).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush());
        sent.map_err(|error| format!("it does not read its input any more ({error})"))
    }

    /// Takes the next line, of at most `most` bytes with its line feed.
    ///
    /// # Errors
    /// There is none, or it is longer.
    pub fn receive(&mut self, line: &mut String, most: usize) -> Result<(), String> {
        line.clear();
        match Read::take(&mut self.output, most as u64).read_line(line) {
            Ok(0) => Err("it ended".to_owned()),
            Ok(_) if line.ends_with('\n') => Ok(()),
            Ok(_) => Err("it ended within a line, or sent a line that is too long".to_owned()),
            Err(error) => Err(format!("its answer can't be read: {error}")),
        }
    }
}

impl Drop for PublicProcess {
    fn drop(&mut self) {
        drop(self.input.take());
        // It may be dead already; what matters is that it is reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
