//! A scoring process that is fed as fast as it answers.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use parthack_evaluators::rules::Rule;

/// Sends a payload so many times to a process of `program` that serves all rules; seconds from its hello to the last
/// answer.
///
/// # Errors
/// The process does not start, ends early, or gives no scores.
pub(crate) fn feed(program: &Path, payload: &[u8], count: usize) -> io::Result<f64> {
    let rules = Rule::ALL.map(Rule::id).join(",");
    let mut child = Command::new(program)
        .args(["__evaluate", "--rules", &rules])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let seconds = exchange(&mut child, payload, count);
    // It has ended, or is of no more use; either way it must not stay.
    let _ = child.kill();
    let _ = child.wait();
    seconds
}

fn exchange(child: &mut Child, payload: &[u8], count: usize) -> io::Result<f64> {
    let missing = || io::Error::other("the scoring process has no pipe");
    let mut input = child.stdin.take().ok_or_else(missing)?;
    let mut output = BufReader::with_capacity(1 << 16, child.stdout.take().ok_or_else(missing)?);
    let mut answer = String::new();
    output.read_line(&mut answer)?;
    let mut line = payload.to_vec();
    line.push(b'\n');
    let start = Instant::now();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || (0..count).try_for_each(|_| input.write_all(&line)));
        for _ in 0..count {
            answer.clear();
            output.read_line(&mut answer)?;
            if !answer.starts_with("{\"scores\":[{\"exact\"") {
                return Err(io::Error::other(format!("the scoring process gave no scores: {}", answer.trim_end())));
            }
        }
        writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(start.elapsed().as_secs_f64())
}
