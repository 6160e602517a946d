//! Other ways to start a process than the plain one: whatever has three pipes and an end.
#![cfg(unix)]

mod plugin_support;

use std::io::{self, BufReader};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use parthack_evaluators::plugin::{
    Ended, ExecHost, Launch, LaunchError, Launched, Outcome, PluginHost, Process, Program, Reply,
};
use parthack_evaluators::registry::{Builtin, score_builtins};
use parthack_evaluators::score::Verdict;
use parthack_evaluators::serve::serve;
use plugin_support::{Folder, options, payloads, slices, told};

/// Serves a built-in evaluator on a thread, with the pipes of a process.
#[derive(Debug)]
struct ThreadLaunch {
    builtin: Builtin,
    end: Ended,
}

#[derive(Debug)]
struct ThreadProcess {
    end: Receiver<Ended>,
    ended: Option<Ended>,
}

impl Launch for ThreadLaunch {
    fn launch(&self, _: &Program) -> Result<Launched, LaunchError> {
        let pipe = || io::pipe().map_err(|error| LaunchError::NotStarted(error.to_string()));
        let ((stdin, input), (output, mut stdout), (errors, stderr)) = (pipe()?, pipe()?, pipe()?);
        let (sender, end) = mpsc::channel();
        let (builtin, ended) = (self.builtin, self.end);
        thread::spawn(move || {
            // A host that has gone is no concern of a served evaluator.
            let _ = serve(&[builtin], &mut BufReader::new(stdin), &mut stdout);
            let _ = sender.send(ended);
            drop(stderr);
        });
        let process = Box::new(ThreadProcess { end, ended: None });
        let note = Some("it runs on a thread".to_owned());
        Ok(Launched { input: Box::new(input), output: Box::new(output), errors: Box::new(errors), process, note })
    }

    fn isolation(&self) -> String {
        "a thread".to_owned()
    }
}

impl Process for ThreadProcess {
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
        Ok(())
    }
}

fn host(launch: Box<dyn Launch>, workers: usize) -> ExecHost {
    let program = Folder::new().program("exec:sh");
    ExecHost::new(program, launch, options(workers))
}

#[test]
fn built_in_evaluators_say_the_same_behind_the_protocol() {
    let payloads = payloads(60);
    let (mut scores, mut others) = (0, 0);
    for builtin in Builtin::all() {
        for workers in [1, 3] {
            let mut host = host(Box::new(ThreadLaunch { builtin, end: Ended::Code(0) }), workers);
            let replies = host.score(&slices(&payloads));
            let direct = payloads.iter().flat_map(|payload| score_builtins(&[builtin], payload));
            let verdicts: Vec<Verdict> = direct.collect();
            assert_eq!(replies.iter().map(Reply::verdict).collect::<Vec<_>>(), verdicts, "{}", builtin.id());
            let scored = replies.iter().filter(|reply| matches!(reply.outcome, Outcome::Score(_))).count();
            (scores, others) = (scores + scored, others + replies.len() - scored);
            assert_eq!((host.isolation().as_str(), host.notes()), ("a thread", vec!["it runs on a thread".to_owned()]));
        }
    }
    assert!(scores > 0 && others > 0, "{scores} scores, {others} without");
}

/// Refuses to start anything.
#[derive(Debug)]
struct NoLaunch(LaunchError);

impl Launch for NoLaunch {
    fn launch(&self, _: &Program) -> Result<Launched, LaunchError> {
        Err(self.0.clone())
    }

    fn isolation(&self) -> String {
        "nothing runs".to_owned()
    }
}

#[test]
fn what_is_not_started_is_told_from_what_is_not_confined() {
    for (error, code) in [
        (LaunchError::Sandbox("no namespaces here".to_owned()), "sandbox"),
        (LaunchError::NotStarted("no such file".to_owned()), "not_started"),
    ] {
        let mut host = host(Box::new(NoLaunch(error.clone())), 2);
        let replies = host.score(&slices(&payloads(3)));
        assert_eq!(told(&replies), [code; 3]);
        assert!(replies.iter().all(|reply| reply.fault().is_some_and(|fault| fault.message == error.to_string())));
    }
}

/// Ends at once, as something else says.
#[derive(Debug)]
struct EndLaunch(Ended);

impl Launch for EndLaunch {
    fn launch(&self, _: &Program) -> Result<Launched, LaunchError> {
        let (sender, end) = mpsc::channel();
        sender.send(self.0).map_err(|error| LaunchError::NotStarted(error.to_string()))?;
        let process = Box::new(ThreadProcess { end, ended: None });
        let (input, output, errors) = (Box::new(io::sink()), Box::new(io::empty()), Box::new(io::empty()));
        Ok(Launched { input, output, errors, process, note: None })
    }

    fn isolation(&self) -> String {
        "none".to_owned()
    }
}

#[test]
fn ends_have_codes() {
    for (ended, code) in [
        (Ended::CpuLimit, "cpu_limit"),
        (Ended::Code(0), "ended_early"),
        (Ended::Code(9), "crashed"),
        (Ended::Signal(31), "crashed"),
        (Ended::Unknown, "crashed"),
    ] {
        assert_eq!(told(&host(Box::new(EndLaunch(ended)), 1).score(&[b"{}"])), [code], "{ended}");
    }
}
