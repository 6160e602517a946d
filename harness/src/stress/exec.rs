//! A user's evaluator as a program (`exec:CMD`; SPEC §6, §15.15): payload lines in, answer lines out, every fault typed and costing its payload alone.
//!
//! The command is split into words as a shell splits them, and no shell runs it. The working folder is that of the first argument that is a file, else of the
//! program; arguments that are files are given by their full path. The environment is empty but for what an interpreter needs and the bundled Python package.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::ledger::RecordedScore;
use crate::locate::python_package;
use crate::run::error::RunError;
use crate::stress::answer::{Fault, Line, MAX_ANSWER, read};
use crate::stress::scorer::{Scored, Scorer};

/// What comes before the command.
pub const EXEC: &str = "exec:";
/// Starts after the first, over all payloads: a program that dies on every payload must not be started ten thousand times.
const MOST_RESTARTS: u32 = 50;
/// Lines that may wait to be read.
const WAITING: usize = 4;
/// Bytes of standard error that are kept, the last ones.
const STDERR_TAIL: usize = 2_000;
/// Variables that an interpreter needs.
const KEPT: [&str; 6] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "SystemRoot", "TZ"];

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecCommand {
    /// As the user wrote it.
    pub text: String,
    /// The program: a path, or a name that is looked for on PATH.
    pub program: String,
    /// Its arguments, files by their full path.
    pub arguments: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
}

impl ExecCommand {
    /// Reads a command.
    ///
    /// # Errors
    /// What is wrong with it, in one sentence.
    pub fn parse(text: &str) -> Result<ExecCommand, String> {
        let words = split(text)?;
        let Some((program, arguments)) = words.split_first() else { return Err("no program".to_owned()) };
        let full = |word: &String| -> Option<PathBuf> {
            let path = Path::new(word);
            path.is_file().then(|| std::fs::canonicalize(path).ok()).flatten()
        };
        let is_path = program.contains('/');
        let own = is_path.then(|| full(program)).flatten();
        if is_path && own.is_none() {
            return Err(format!("{program} is no file"));
        }
        let files: Vec<Option<PathBuf>> = arguments.iter().map(full).collect();
        let home = files.iter().flatten().next().or(own.as_ref()).and_then(|path| path.parent().map(Path::to_path_buf));
        let named = |(word, path): (&String, &Option<PathBuf>)| {
            path.as_ref().map_or_else(|| word.clone(), |path| path.to_string_lossy().into_owned())
        };
        Ok(ExecCommand {
            text: text.to_owned(),
            program: own.map_or_else(|| program.clone(), |path| path.to_string_lossy().into_owned()),
            arguments: arguments.iter().zip(&files).map(named).collect(),
            folder: home.unwrap_or_else(std::env::temp_dir),
        })
    }
}

/// Words of a command: blanks part them, quotes and backslashes keep them together.
fn split(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', None | Some('"')) => {
                let next = characters.next().ok_or("a backslash at the end")?;
                word.get_or_insert_default().push(next);
            }
            (_, Some(open)) if character == open => quote = None,
            ('"' | '\'', None) => {
                word.get_or_insert_default();
                quote = Some(character);
            }
            (_, None) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    if let Some(open) = quote {
        return Err(format!("a quote {open} that is not closed"));
    }
    words.extend(word);
    Ok(words)
}

enum Heard {
    Line(Vec<u8>),
    TooLong,
    End,
}

struct Running {
    child: Child,
    payloads: Sender<Arc<[u8]>>,
    heard: Receiver<Heard>,
    stderr: Arc<Mutex<Vec<u8>>>,
    greeted: bool,
}

/// A program that scores.
pub struct ExecScorer {
    command: ExecCommand,
    timeout: Duration,
    running: Option<Running>,
    starts: u32,
}

impl std::fmt::Debug for ExecScorer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ExecScorer").field("command", &self.command).field("starts", &self.starts).finish()
    }
}

impl ExecScorer {
    /// A program that is not started yet, with so long for each payload.
    #[must_use]
    pub fn new(command: ExecCommand, timeout: Duration) -> ExecScorer {
        ExecScorer { command, timeout, running: None, starts: 0 }
    }

    fn one(&mut self, payload: &[u8]) -> Result<RecordedScore, Fault> {
        if self.running.is_none() {
            self.running = Some(self.start()?);
        }
        let result = self.exchange(payload);
        if let Err(fault) = &result
            && !matches!(
                fault.code,
                "out_of_range" | "not_finite" | "bad_answer" | "bad_cite" | "bad_json" | "bad_utf8"
            )
        {
            self.stop();
        }
        result
    }

    fn exchange(&mut self, payload: &[u8]) -> Result<RecordedScore, Fault> {
        let timeout = self.timeout;
        let Some(running) = &mut self.running else { return Err(Fault::new("not_started", "it is not running")) };
        let line: Arc<[u8]> = [payload, b"\n"].concat().into();
        // If the writer is gone the program does not read any more; its answer, or its end, tells.
        let _ = running.payloads.send(line);
        let until = Instant::now() + timeout;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = match running.heard.recv_timeout(left) {
                Ok(Heard::Line(line)) => line,
                Ok(Heard::TooLong) => {
                    return Err(Fault::new("flood", format!("a line of more than {MAX_ANSWER} bytes")));
                }
                Ok(Heard::End) | Err(RecvTimeoutError::Disconnected) => return Err(ended(running)),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Fault::new("timed_out", format!("no answer within {} s", timeout.as_secs_f64())));
                }
            };
            match read(&line, payload)? {
                Line::Hello if !running.greeted => running.greeted = true,
                Line::Hello => return Err(Fault::new("bad_protocol", "a second hello")),
                Line::Answer(score) => {
                    running.greeted = true;
                    return Ok(score);
                }
            }
        }
    }

    /// What was said without being asked; with `wait`, also what is said until the program ends.
    fn unsolicited(&mut self, wait: bool) -> Option<Fault> {
        let running = self.running.as_mut()?;
        if wait {
            // An input that has ended is what a program ends at.
            let (nobody, _) = channel();
            running.payloads = nobody;
        }
        let heard = match wait {
            true => running.heard.recv_timeout(self.timeout.min(Duration::from_secs(2))).ok(),
            false => running.heard.try_recv().ok(),
        };
        match heard {
            Some(Heard::Line(line)) => {
                let text: String = String::from_utf8_lossy(&line).chars().take(100).collect();
                self.stop();
                Some(Fault::new("answered_twice", format!("a line that nobody asked for: {text}")))
            }
            Some(Heard::TooLong) => {
                self.stop();
                Some(Fault::new("flood", format!("a line of more than {MAX_ANSWER} bytes")))
            }
            Some(Heard::End) if !wait => {
                self.stop();
                None
            }
            _ => None,
        }
    }

    fn start(&mut self) -> Result<Running, Fault> {
        if self.starts > MOST_RESTARTS {
            return Err(Fault::new("gave_up", format!("it ended {MOST_RESTARTS} times and is not started again")));
        }
        self.starts += 1;
        let mut command = Command::new(&self.command.program);
        command.args(&self.command.arguments).current_dir(&self.command.folder).env_clear();
        command.envs(KEPT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
        command.env("PARTHACK_PROTOCOL", parthack_evaluators::serve::EVALUATOR_PROTOCOL);
        if let Some(package) = python_package() {
            command.env("PYTHONPATH", package).env("PYTHONDONTWRITEBYTECODE", "1");
        }
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned
            .map_err(|error| Fault::new("not_started", format!("cannot start {}: {error}", self.command.program)))?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Fault::new("not_started", "it has no pipes"));
        };
        let (payloads, waiting) = channel();
        let (told, heard) = sync_channel(WAITING);
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let tail = Arc::clone(&stderr);
        thread::spawn(move || write_lines(input, &waiting));
        thread::spawn(move || hear(BufReader::new(output), &told));
        thread::spawn(move || keep_tail(errors, &tail));
        Ok(Running { child, payloads, heard, stderr, greeted: false })
    }

    fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            end_group(&mut running.child);
        }
    }
}

/// Ends a process and what it started: they share a process group.
fn end_group(child: &mut Child) {
    #[cfg(unix)]
    {
        let group = format!("-{}", child.id());
        // Where there is no `kill`, the leader alone is ended.
        let _ = Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).stdout(Stdio::null()).status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn ended(running: &mut Running) -> Fault {
    // The pipes close a moment before the process is gone.
    let status = match running.child.try_wait() {
        Ok(Some(status)) => status.to_string(),
        _ => "its output is closed".to_owned(),
    };
    let tail = running.stderr.lock().map(|tail| String::from_utf8_lossy(&tail).trim().to_owned()).unwrap_or_default();
    let tail = if tail.is_empty() { String::new() } else { format!("; on standard error: {tail}") };
    Fault::new("crashed", format!("it ended before it answered ({status}){tail}"))
}

fn write_lines(mut input: ChildStdin, waiting: &Receiver<Arc<[u8]>>) {
    for line in waiting {
        if input.write_all(&line).and_then(|()| input.flush()).is_err() {
            return;
        }
    }
}

fn hear(mut output: impl BufRead, told: &SyncSender<Heard>) {
    loop {
        let mut line = Vec::new();
        let read = output.by_ref().take(MAX_ANSWER as u64 + 1).read_until(b'\n', &mut line);
        let heard = match read {
            Ok(0) | Err(_) => Heard::End,
            Ok(_) if line.last() == Some(&b'\n') => Heard::Line(line),
            Ok(_) if line.len() > MAX_ANSWER => Heard::TooLong,
            // A last line without its end is an answer all the same.
            Ok(_) => Heard::Line(line),
        };
        let is_last = !matches!(heard, Heard::Line(_));
        if told.send(heard).is_err() || is_last {
            return;
        }
    }
}

fn keep_tail(mut errors: impl Read, tail: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 8_192];
    while let Ok(read @ 1..) = errors.read(&mut buffer) {
        let Ok(mut tail) = tail.lock() else { return };
        tail.extend_from_slice(&buffer[..read]);
        let surplus = tail.len().saturating_sub(STDERR_TAIL);
        tail.drain(..surplus);
    }
}

impl Scorer for ExecScorer {
    fn id(&self) -> String {
        format!("{EXEC}{}", self.command.text)
    }

    fn score(&mut self, payloads: &[&[u8]]) -> Result<Vec<Scored>, RunError> {
        let mut scored: Vec<Scored> = Vec::with_capacity(payloads.len());
        let without = |fault: Fault| Scored {
            score: RecordedScore::NoVerdict(format!("{}: {}", fault.code, fault.message)),
            fault: Some(fault.code.to_owned()),
        };
        for payload in payloads {
            if let (Some(fault), Some(last)) = (self.unsolicited(false), scored.last_mut()) {
                *last = without(fault);
            }
            scored.push(match self.one(payload) {
                Ok(score) => Scored { score, fault: None },
                Err(fault) => without(fault),
            });
        }
        if let (Some(fault), Some(last)) = (self.unsolicited(true), scored.last_mut()) {
            *last = without(fault);
        }
        self.stop();
        Ok(scored)
    }

    fn isolation(&self) -> String {
        "a process group of its own with an empty environment; no sandbox".to_owned()
    }
}

impl Drop for ExecScorer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Faults by code with the first message of each, for talk.
#[must_use]
pub fn first_faults(scored: &[Scored]) -> BTreeMap<String, String> {
    let mut first = BTreeMap::new();
    for (code, score) in scored.iter().filter_map(|of| Some((of.fault.clone()?, of.score.why_not()?))) {
        first.entry(code).or_insert_with(|| score.to_owned());
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        let words = |text: &str| split(text).expect(text);
        assert_eq!(words("python3 my_eval.py --x  1"), ["python3", "my_eval.py", "--x", "1"]);
        assert_eq!(words(r#"sh -c 'echo "0.5"' a\ b """#), ["sh", "-c", "echo \"0.5\"", "a b", ""]);
        assert!(split("python3 'x").is_err() && split("x\\").is_err());
        assert_eq!(words("  "), Vec::<String>::new());
        assert!(ExecCommand::parse("").is_err());
        assert!(ExecCommand::parse("./no-such-program").expect_err("absent").contains("no file"));
    }
}
