//! A process timed from outside: wall time until it ends, and the peak of its resident memory with that of its
//! children, where `/proc` tells.

use std::fs;
use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often memory is looked at: a peak is a high-water mark, so only growth in a process's last moments can be missed.
const INTERVAL: Duration = Duration::from_millis(2);
/// Processes of one tree that are looked at.
const MOST_PROCESSES: usize = 256;

/// What a process took.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Timed {
    pub(crate) status: ExitStatus,
    pub(crate) seconds: f64,
    /// Sum of the peaks of all processes of the tree; none where the system does not tell.
    pub(crate) peak_bytes: Option<u64>,
    /// What it said on standard error.
    pub(crate) said: String,
}

/// Runs a command to its end and watches its memory.
pub(crate) fn watched(command: &mut Command) -> io::Result<Timed> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let stderr = child.stderr.take();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let said = stderr.map(io::read_to_string).transpose().ok().flatten().unwrap_or_default();
        // If nobody listens any more, nobody needs it.
        let _ = sender.send(said);
    });
    let mut peaks: Vec<(u32, u64)> = Vec::new();
    // Its standard error ends when it does; until then there is something to look at.
    let said = loop {
        look(child.id(), &mut peaks);
        match ended.recv_timeout(INTERVAL) {
            Ok(said) => break said,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break String::new(),
        }
    };
    let status = child.wait()?;
    let seconds = start.elapsed().as_secs_f64();
    let peak_bytes = (!peaks.is_empty()).then(|| peaks.iter().map(|(_, bytes)| bytes).sum());
    Ok(Timed { status, seconds, peak_bytes, said })
}

/// Notes the peak of a process and of everything below it.
fn look(root: u32, peaks: &mut Vec<(u32, u64)>) {
    let mut open = vec![root];
    while let Some(process) = open.pop() {
        if let Some(bytes) = peak_of(process) {
            match peaks.iter().position(|(known, _)| *known == process) {
                Some(at) => peaks[at].1 = peaks[at].1.max(bytes),
                None if peaks.len() < MOST_PROCESSES => peaks.push((process, bytes)),
                None => return,
            }
        }
        for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            open.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
}

fn peak_of(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
