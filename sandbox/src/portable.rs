//! Tier 0 where there is no Linux: a shell sets the limits that it knows, the parent keeps the bounds.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::ending::{Bounds, End, Exit, Finished, Stopped};
use crate::error::{Errno, Step};
use crate::report::{LayerReport, Report, TierReport};
use crate::{Layer, Policy, SetUpError, Tier};

/// How often an end is looked for: there is no descriptor to wait on.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// Limits that the shell refuses are left; the standard streams and the program's name and arguments are kept.
const LIMITED: &str = "ulimit -t $0 2>/dev/null; ulimit -n $1 2>/dev/null; ulimit -f $2 2>/dev/null; \
    ulimit -v $3 2>/dev/null; ulimit -c 0 2>/dev/null; shift 3; exec \"$@\"";

/// Starts a program at tier 0, the only one on this system.
///
/// # Errors
///
/// [`SetUpError`]: a higher tier was asked for, the policy is refused, or no process can be started.
pub fn spawn(policy: &Policy, tier: Tier) -> Result<Confined, SetUpError> {
    if tier > Tier::Limited {
        return Err(SetUpError::Step {
            tier,
            step: Step::Filter,
            errno: Errno(0),
            subject: Some("this system isn't Linux".to_owned()),
        });
    }
    policy.check(tier)?;
    let limits = &policy.limits;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", LIMITED]);
    let blocks = limits.file_bytes.div_ceil(512);
    for number in [limits.cpu_seconds, limits.open_files, blocks, limits.memory_bytes / 1024] {
        command.arg(number.to_string());
    }
    let mut child = command
        .arg(&policy.program)
        .args(&policy.arguments)
        .env_clear()
        .envs(&policy.environment)
        .current_dir(&policy.working_folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| SetUpError::Step {
            tier,
            step: Step::Execute,
            errno: Errno::of(&error),
            subject: Some(policy.program.display().to_string()),
        })?;
    let stdin = child.stdin.take().map(into_file);
    let stdout = child.stdout.take().map(into_file);
    let stderr = child.stderr.take().map(into_file);
    Ok(Confined { stdin, stdout, stderr, child, exit: None })
}

#[cfg(unix)]
fn into_file(pipe: impl Into<std::os::fd::OwnedFd>) -> File {
    File::from(pipe.into())
}

#[cfg(windows)]
fn into_file(pipe: impl Into<std::os::windows::io::OwnedHandle>) -> File {
    File::from(pipe.into())
}

/// A process at tier 0. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct Confined {
    /// Its standard input; take and drop it to end the input.
    pub stdin: Option<File>,
    /// Its standard output.
    pub stdout: Option<File>,
    /// Its standard error. Something must read it, or the process may wait for ever.
    pub stderr: Option<File>,
    child: Child,
    exit: Option<Exit>,
}

impl Confined {
    /// The tier that the process was started at.
    #[must_use]
    pub fn tier(&self) -> Tier {
        Tier::Limited
    }

    /// The process's number.
    #[must_use]
    pub fn number(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(0)
    }

    /// What the user should know about how the program was found, if anything.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        None
    }

    /// Kills the process. It must still be waited for, or dropped.
    ///
    /// # Errors
    ///
    /// The signal can't be sent; a process that has ended already is no error.
    pub fn kill(&mut self) -> io::Result<()> {
        if self.exit.is_some() { Ok(()) } else { self.child.kill() }
    }

    /// Waits for the end, at most this long; `None` when the time is over and the process still runs.
    ///
    /// # Errors
    ///
    /// The process can't be waited for.
    pub fn wait(&mut self, at_most: Option<Duration>) -> io::Result<Option<Exit>> {
        let started = Instant::now();
        while self.exit.is_none() {
            let status = match at_most {
                None => Some(self.child.wait()?),
                Some(_) => self.child.try_wait()?,
            };
            match status {
                Some(status) => {
                    self.exit = Some(Exit { end: end_of(status), cpu_time: Duration::ZERO, resident_kib: 0 });
                }
                None if at_most.is_some_and(|at_most| started.elapsed() >= at_most) => return Ok(None),
                None => std::thread::park_timeout(LOOK_EVERY),
            }
        }
        Ok(self.exit)
    }

    /// Writes the input, reads both outputs, and waits for the end; kills what goes beyond the bounds.
    ///
    /// # Errors
    ///
    /// A pipe was taken before, or the system refuses to wait.
    pub fn run(mut self, input: &[u8], bounds: &Bounds) -> io::Result<Finished> {
        let missing = || io::Error::other("a standard stream was taken before the run");
        let mut stdin = self.stdin.take().ok_or_else(missing)?;
        let (stdout, stderr) = (self.stdout.take().ok_or_else(missing)?, self.stderr.take().ok_or_else(missing)?);
        let started = Instant::now();
        let input = input.to_vec();
        // Ends when all is written, or when the program is gone.
        std::thread::spawn(move || stdin.write_all(&input));
        let (sender, receiver) = mpsc::channel();
        for (index, file, most) in [(0, stdout, bounds.output_bytes), (1, stderr, bounds.error_bytes)] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = file.take(most as u64 + 1).read_to_end(&mut bytes);
                let over = bytes.len() > most;
                bytes.truncate(most);
                let _ = sender.send((index, bytes, over));
            });
        }
        let (mut output, mut errors, mut stopped) = (Vec::new(), Vec::new(), None);
        for _ in 0..2 {
            let left = bounds.wall.saturating_sub(started.elapsed());
            let Ok((index, bytes, over)) = receiver.recv_timeout(left) else {
                stopped = stopped.or(Some(Stopped::WallClock));
                break;
            };
            let (place, reason) =
                if index == 0 { (&mut output, Stopped::Output) } else { (&mut errors, Stopped::Errors) };
            *place = bytes;
            if over {
                stopped = stopped.or(Some(reason));
                self.kill()?;
            }
        }
        if stopped.is_none() && self.wait(Some(bounds.wall.saturating_sub(started.elapsed())))?.is_none() {
            stopped = Some(Stopped::WallClock);
        }
        if stopped.is_some() {
            self.kill()?;
        }
        let exit = self.wait(None)?.ok_or_else(|| io::Error::other("the process has no end"))?;
        Ok(Finished { exit, stopped, output, errors })
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

fn end_of(status: std::process::ExitStatus) -> End {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        match status.signal() {
            Some(libc::SIGXCPU) => return End::CpuLimit,
            Some(number) => return End::Signal(number),
            None => {}
        }
    }
    End::Code(status.code().unwrap_or(-1))
}

/// What this system gives: limits.
#[must_use]
pub fn detect() -> Report {
    let layers = Layer::ALL.into_iter().map(|layer| LayerReport {
        layer,
        holds: layer == Layer::Limits,
        reason: if layer == Layer::Limits {
            "set by the shell, as far as it knows them".to_owned()
        } else {
            "this system isn't Linux".to_owned()
        },
    });
    let tiers = Tier::ALL
        .into_iter()
        .map(|tier| TierReport { tier, failure: (tier > Tier::Limited).then(|| "this system isn't Linux".to_owned()) });
    Report { layers: layers.collect(), tiers: tiers.collect(), highest: Some(Tier::Limited), uid: 0, runs_as: 0 }
}
