//! A confined process that runs: its pipes, its end, and what it is given and cut off at.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use crate::Tier;
use crate::ending::{Bounds, End, Exit, Finished, Stopped};
use crate::raw::calls::{self, Wait};

/// Bytes read at a time.
const CHUNK: usize = 1 << 16;

/// A confined process. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct Confined {
    /// Its standard input; take and drop it to end the input.
    pub stdin: Option<File>,
    /// Its standard output.
    pub stdout: Option<File>,
    /// Its standard error. Something must read it, or the process may wait for ever.
    pub stderr: Option<File>,
    tier: Tier,
    number: i32,
    process: OwnedFd,
    cpu_seconds: u64,
    exit: Option<Exit>,
    note: Option<String>,
}

impl Confined {
    pub(crate) fn new(tier: Tier, number: i32, process: OwnedFd, pipes: [File; 3], cpu_seconds: u64) -> Self {
        let [stdin, stdout, stderr] = pipes.map(Some);
        Self { stdin, stdout, stderr, tier, number, process, cpu_seconds, exit: None, note: None }
    }

    pub(crate) fn noted(mut self, note: Option<String>) -> Self {
        self.note = note;
        self
    }

    /// The tier that the process was started at.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The process's number.
    #[must_use]
    pub fn number(&self) -> i32 {
        self.number
    }

    /// What the user should know about how the program was found, if anything.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Kills the process, whatever it does. It must still be waited for, or dropped.
    ///
    /// # Errors
    ///
    /// The signal can't be sent; a process that has ended already is no error.
    pub fn kill(&self) -> io::Result<()> {
        if self.exit.is_some() {
            return Ok(());
        }
        if self.tier < Tier::Filtered {
            // At tier 0 it may have started others.
            calls::kill_group(self.number);
        }
        match calls::signal(self.process.as_fd(), libc::SIGKILL) {
            Ok(()) => Ok(()),
            Err(errno) if errno.0 == libc::ESRCH => Ok(()),
            Err(errno) => Err(io::Error::from_raw_os_error(errno.0)),
        }
    }

    /// Waits for the end, at most this long; `None` when the time is over and the process still runs.
    ///
    /// # Errors
    ///
    /// The process can't be waited for, as when someone else has reaped it.
    pub fn wait(&mut self, at_most: Option<Duration>) -> io::Result<Option<Exit>> {
        let started = Instant::now();
        loop {
            if let Some(exit) = self.try_reap()? {
                return Ok(Some(exit));
            }
            let left = match at_most {
                None => -1,
                Some(at_most) => match at_most.checked_sub(started.elapsed()) {
                    None => return Ok(None),
                    Some(left) => milliseconds(left),
                },
            };
            let wait = Wait { descriptor: self.process.as_fd(), writing: false };
            calls::poll(&[wait], left).map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
        }
    }

    fn has_ended(&self) -> io::Result<bool> {
        let wait = Wait { descriptor: self.process.as_fd(), writing: false };
        let ready = calls::poll(&[wait], 0).map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
        Ok(ready.first().copied().unwrap_or(false))
    }

    fn try_reap(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() && self.tier < Tier::Filtered && self.has_ended()? {
            // What it started goes with it, while its number is still its own.
            calls::kill_group(self.number);
        }
        if self.exit.is_none()
            && let Some(ended) = calls::reap(self.number).map_err(|errno| io::Error::from_raw_os_error(errno.0))?
        {
            let signal = ended.status & 0x7f;
            let over = ended.cpu_microseconds >= self.cpu_seconds.saturating_mul(1_000_000);
            let end = match signal {
                0 => End::Code((ended.status >> 8) & 0xff),
                libc::SIGXCPU => End::CpuLimit,
                libc::SIGKILL if over => End::CpuLimit,
                other => End::Signal(other),
            };
            let cpu_time = Duration::from_micros(ended.cpu_microseconds);
            self.exit = Some(Exit { end, cpu_time, resident_kib: ended.resident_kib });
        }
        Ok(self.exit)
    }

    /// Writes the input, reads both outputs, and waits for the end; kills what goes beyond the bounds.
    ///
    /// # Errors
    ///
    /// A pipe was taken before, or the system refuses to read, write or wait.
    pub fn run(mut self, input: &[u8], bounds: &Bounds) -> io::Result<Finished> {
        let missing = || io::Error::other("a standard stream was taken before the run");
        let mut stdin = Some(self.stdin.take().ok_or_else(missing)?);
        let mut stdout = Stream::new(self.stdout.take().ok_or_else(missing)?, bounds.output_bytes)?;
        let mut stderr = Stream::new(self.stderr.take().ok_or_else(missing)?, bounds.error_bytes)?;
        if let Some(stdin) = &stdin {
            calls::do_not_wait(stdin.as_fd()).map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
        }
        let started = Instant::now();
        let mut rest = input;
        let mut stopped = None;
        while stopped.is_none() && !(stdout.ended && stderr.ended) {
            if rest.is_empty() {
                stdin = None;
            }
            let Some(left) = bounds.wall.checked_sub(started.elapsed()) else {
                stopped = Some(Stopped::WallClock);
                break;
            };
            let mut waits = vec![Wait { descriptor: self.process.as_fd(), writing: false }];
            for stream in [&stdout, &stderr].into_iter().filter(|stream| !stream.ended) {
                waits.push(Wait { descriptor: stream.file.as_fd(), writing: false });
            }
            if let Some(stdin) = &stdin {
                waits.push(Wait { descriptor: stdin.as_fd(), writing: true });
            }
            let ready =
                calls::poll(&waits, milliseconds(left)).map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
            let has_ended = ready.first().copied().unwrap_or(false);
            if let Some(file) = &mut stdin {
                match file.write(rest) {
                    Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // The program doesn't read on; that is its business.
                    Err(_) => stdin = None,
                }
            }
            if !stdout.take()? {
                stopped = Some(Stopped::Output);
            } else if !stderr.take()? {
                stopped = Some(Stopped::Errors);
            } else if has_ended {
                // What it wrote is read; a pipe that is still open is held by a process it left behind at tier 0.
                break;
            }
        }
        if stopped.is_some() {
            self.kill()?;
        } else {
            let left = bounds.wall.saturating_sub(started.elapsed());
            if self.wait(Some(left))?.is_none() {
                stopped = Some(Stopped::WallClock);
                self.kill()?;
            }
        }
        let exit = self.wait(None)?.ok_or_else(|| io::Error::other("the process has no end"))?;
        Ok(Finished { exit, stopped, output: stdout.bytes, errors: stderr.bytes })
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if self.exit.is_none() {
            let _ = self.kill();
            let _ = self.wait(None);
        }
    }
}

fn milliseconds(time: Duration) -> i32 {
    // Rounded up, so that the wait isn't repeated for a fraction.
    i32::try_from(time.as_millis().saturating_add(1)).unwrap_or(i32::MAX)
}

struct Stream {
    file: File,
    bytes: Vec<u8>,
    most: usize,
    ended: bool,
}

impl Stream {
    fn new(file: File, most: usize) -> io::Result<Self> {
        calls::do_not_wait(file.as_fd()).map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
        Ok(Self { file, bytes: Vec::new(), most, ended: false })
    }

    /// Reads what is there; false when it is more than allowed.
    fn take(&mut self) -> io::Result<bool> {
        let mut chunk = [0; CHUNK];
        while !self.ended {
            match self.file.read(&mut chunk) {
                Ok(0) => self.ended = true,
                Ok(count) => {
                    let room = self.most - self.bytes.len();
                    self.bytes.extend(chunk.iter().take(count.min(room)));
                    if count > room {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
