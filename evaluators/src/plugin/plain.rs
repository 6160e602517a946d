//! Processes without confinement: a group of their own, pipes, and the environment that they are given.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::launch::{Ended, Launch, LaunchError, Launched, Process};
use super::spec::Program;

/// Starts processes as the user, with the user's rights. Each leads a process group and is killed with it, and the group
/// is killed when it ends; what leaves the group gets away.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainLaunch;

impl Launch for PlainLaunch {
    fn launch(&self, program: &Program) -> Result<Launched, LaunchError> {
        let not_started =
            |error: &dyn std::fmt::Display| LaunchError::NotStarted(format!("{}: {error}", program.program.display()));
        let mut child = Command::new(&program.program)
            .args(&program.arguments)
            .env_clear()
            .envs(&program.environment)
            .current_dir(&program.working_folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| not_started(&error))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = PlainProcess::watch(child).map_err(|error| not_started(&error))?;
        let (Some(input), Some(output), Some(errors)) = pipes else { return Err(not_started(&"it has no pipes")) };
        Ok(Launched {
            input: Box::new(input),
            output: Box::new(output),
            errors: Box::new(errors),
            process: Box::new(process),
            note: None,
        })
    }

    fn isolation(&self) -> String {
        "a process of its own with the user's rights, not confined".to_owned()
    }
}

#[derive(Debug)]
struct PlainProcess {
    group: Pid,
    /// Whether the leader has been reaped, after which its number may be another's.
    reaped: Arc<Mutex<bool>>,
    end: Receiver<Ended>,
    ended: Option<Ended>,
}

impl PlainProcess {
    /// Watches a child that leads a group.
    fn watch(mut child: Child) -> io::Result<PlainProcess> {
        let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = number.ok_or_else(|| io::Error::other("it has no number"))?;
        let reaped = Arc::new(Mutex::new(false));
        let (sender, end) = mpsc::channel();
        let watched = Arc::clone(&reaped);
        let watch = move || {
            // Seen to have ended, but not reaped: the group's number stays its own until all of it is killed.
            while let Err(rustix::io::Errno::INTR) =
                waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {}
            let mut reaped = watched.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = kill_process_group(group, Signal::KILL);
            let ended = child.wait().map_or(Ended::Unknown, ended);
            *reaped = true;
            // Nobody may be waiting any more.
            let _ = sender.send(ended);
        };
        let watching = thread::Builder::new().name("plugin-end".to_owned()).spawn(watch);
        if let Err(error) = watching {
            // The child went with the closure; its group is still there.
            let _ = kill_process_group(group, Signal::KILL);
            return Err(error);
        }
        Ok(PlainProcess { group, reaped, end, ended: None })
    }
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Unknown,
    }
}

impl Process for PlainProcess {
    fn wait(&mut self, at_most: Duration) -> io::Result<Option<Ended>> {
        if self.ended.is_none() {
            self.ended = match self.end.recv_timeout(at_most) {
                Ok(ended) => Some(ended),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Ended::Unknown),
            };
        }
        Ok(self.ended)
    }

    fn kill(&mut self) -> io::Result<()> {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if *reaped {
            return Ok(());
        }
        match kill_process_group(self.group, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for PlainProcess {
    fn drop(&mut self) {
        // The thread that watches reaps it.
        let _ = self.kill();
    }
}
