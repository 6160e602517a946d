//! One process from its start to its end: payloads go in, outcomes come out, and the books are closed.
//!
//! What a session says of its payloads counts only if it ended cleanly: each payload one line, and nothing left over when
//! the input ended. Otherwise an answer may belong to another payload, and [`super::exec`] asks again in smaller sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::answer::{Asked, MAX_DETAIL_BYTES, Outcome, read_answer, read_line, shown};
use super::fault::{Fault, FaultCode};
use super::hello::{Hello, is_hello, read_hello};
use super::launch::{Ended, Launch, Process};
use super::options::{Feeding, PluginOptions};
use super::pipes::{Caps, Next, Pipes};
use super::spec::Program;

/// What all sessions of a host share.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) program: Program,
    pub(super) launch: Box<dyn Launch>,
    pub(super) options: PluginOptions,
    pub(super) told: Mutex<Told>,
    /// The program answers only when its input ends: each process gets one payload.
    pub(super) one_each: AtomicBool,
    pub(super) starts: AtomicU64,
}

/// What processes told of themselves.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) hello: Option<Hello>,
    pub(super) notes: BTreeSet<String>,
    /// Sessions of several payloads that ended badly, by what happened.
    pub(super) restarts: BTreeMap<FaultCode, u64>,
}

impl Context {
    pub(super) fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, text: impl Into<String>) {
        self.told().notes.insert(text.into());
    }
}

/// What a session came to.
#[derive(Debug)]
pub(super) struct Session {
    /// Places of the payloads that were sent, in order; at least one.
    pub(super) sent: Vec<usize>,
    /// Outcomes of the first of them.
    pub(super) outcomes: Vec<Outcome>,
    pub(super) end: End,
}

/// How a session ended.
#[derive(Debug)]
pub(super) enum End {
    /// Each payload has its one line.
    Clean,
    /// The first payload without an outcome was not answered.
    Broken(Fault),
    /// Each payload has a line, and there is more.
    Surplus(Fault),
    /// The user stopped the work.
    Stopped,
}

/// Runs one session on the payloads at the places that `next` gives; none if it gives none.
pub(super) fn run(context: &Context, payloads: &[&[u8]], next: &mut dyn FnMut() -> Option<usize>) -> Option<Session> {
    let first = next()?;
    context.starts.fetch_add(1, Ordering::Relaxed);
    let started = context.launch.launch(&context.program).map_err(|error| error.fault()).and_then(|launched| {
        if let Some(note) = launched.note {
            context.note(note);
        }
        let options = &context.options;
        let caps =
            Caps { line_bytes: options.answer_bytes, error_bytes: options.error_bytes, tail_bytes: options.tail_bytes };
        let pipes = Pipes::start(launched.input, launched.output, launched.errors, caps)
            .map_err(|error| Fault::new(FaultCode::NotStarted, format!("no threads for its pipes: {error}")))?;
        Ok((pipes, launched.process))
    });
    let (pipes, process) = match started {
        Ok(started) => started,
        Err(fault) => return Some(Session { sent: vec![first], outcomes: Vec::new(), end: End::Broken(fault) }),
    };
    let mut running = Running {
        context,
        payloads,
        pipes,
        process,
        sent: Vec::new(),
        outcomes: Vec::new(),
        hello: None,
        window: 1,
        takes_more: true,
        input: Input::Open,
    };
    running.send(first);
    let end = running.go_on(next);
    let Running { sent, outcomes, .. } = running;
    Some(Session { sent, outcomes, end })
}

struct Running<'c> {
    context: &'c Context,
    payloads: &'c [&'c [u8]],
    pipes: Pipes,
    process: Box<dyn Process>,
    sent: Vec<usize>,
    outcomes: Vec<Outcome>,
    hello: Option<Hello>,
    /// Payloads that may be unanswered at once.
    window: usize,
    takes_more: bool,
    input: Input,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    Ended,
    /// Ended to see whether the program answers then.
    EndedToSee,
}

impl Running<'_> {
    fn send(&mut self, place: usize) {
        self.pipes.send(self.payloads[place]);
        self.sent.push(place);
        let feeding = self.context.options.feeding;
        if feeding == Feeding::One || self.context.one_each.load(Ordering::Relaxed) {
            self.end_input();
        }
    }

    fn end_input(&mut self) {
        self.takes_more = false;
        self.input = Input::Ended;
        self.pipes.end_input();
    }

    fn go_on(&mut self, next: &mut dyn FnMut() -> Option<usize>) -> End {
        let timeout = self.context.options.timeout;
        let mut deadline = Instant::now() + timeout;
        loop {
            while self.takes_more && self.sent.len() < self.outcomes.len() + self.window {
                match next() {
                    Some(place) => self.send(place),
                    // A program that collects payloads answers what is left when its input ends.
                    None => self.end_input(),
                }
            }
            if self.outcomes.len() == self.sent.len() {
                return self.close();
            }
            match self.next_line(deadline) {
                Next::Line(line) => match self.line(&line) {
                    Ok(()) => deadline = Instant::now() + timeout,
                    Err(fault) => return self.broken(fault),
                },
                Next::End(rest) => {
                    self.takes_more = false;
                    if let Err(fault) = self.ended(rest) {
                        return self.broken(fault);
                    }
                }
                Next::Late if self.may_wait_for_the_end() => {
                    self.end_input();
                    self.input = Input::EndedToSee;
                    deadline = Instant::now() + timeout;
                }
                Next::Late => {
                    return self.broken(Fault::new(FaultCode::TimedOut, format!("no answer within {timeout:?}")));
                }
                Next::TooLong => return self.broken(self.too_long()),
                Next::ErrorsFlood => return self.broken(self.errors_flood()),
                Next::Stopped => return self.stopped(),
            }
        }
    }

    fn next_line(&mut self, deadline: Instant) -> Next {
        let stop = || self.context.options.is_stopped();
        self.pipes.next(deadline, &stop)
    }

    /// Takes a line as the answer to the first payload without one.
    fn line(&mut self, line: &[u8]) -> Result<(), Fault> {
        let at = self.outcomes.len();
        let place = self.sent[at];
        let outcome = match read_line(line) {
            Ok(json) if is_hello(&json) => {
                if at > 0 || self.hello.is_some() {
                    let message = format!("{}; expected it first, and once", shown(line));
                    return Err(Fault::new(FaultCode::WrongHello, message));
                }
                let (hello, unknown) = read_hello(&json)?;
                return {
                    self.greeted(hello, &unknown);
                    Ok(())
                };
            }
            Ok(json) => {
                let answer = read_answer(&json, Asked { payload: self.payloads[place], number: at + 1 });
                if answer.left_out_detail {
                    self.context.note(format!("details beyond {MAX_DETAIL_BYTES} bytes were left out"));
                }
                answer.outcome
            }
            Err(fault) => Outcome::Fault(fault),
        };
        match outcome {
            // Not the answer of this payload, and maybe one of another.
            Outcome::Fault(fault) if fault.code == FaultCode::OutOfOrder => Err(fault),
            outcome => {
                if self.input == Input::EndedToSee {
                    self.input = Input::Ended;
                    self.context.one_each.store(true, Ordering::Relaxed);
                    self.context.note("it answers only when its input ends: each payload gets a process of its own");
                }
                self.outcomes.push(outcome);
                Ok(())
            }
        }
    }

    fn greeted(&mut self, hello: Hello, unknown: &[String]) {
        let most = self.context.options.window.max(1);
        self.window = hello.batch.map_or(1, |batch| usize::try_from(batch).unwrap_or(most).min(most));
        let mut told = self.context.told();
        for key in unknown {
            told.notes.insert(format!("its hello has a key {key:?}, which means nothing here"));
        }
        let known = told.hello.replace(hello.clone());
        if let Some(known) = known.filter(|known| *known != hello) {
            told.notes.insert("its processes say different hellos; the least of them counts".to_owned());
            told.hello = Some(known.min(hello.clone()));
        }
        drop(told);
        self.hello = Some(hello);
    }

    /// Whether a program that has said nothing yet should see its input end before it counts as hanging: many buffer what
    /// they print, or read all of their input first. Asked of each such process, not once: which payload came first, and to
    /// which worker, must not matter.
    fn may_wait_for_the_end(&self) -> bool {
        self.context.options.feeding == Feeding::Auto
            && self.outcomes.is_empty()
            && self.hello.is_none()
            && self.input == Input::Open
    }

    /// The output ended while payloads wait. A last line without its end counts if the program ended well.
    fn ended(&mut self, rest: Option<Vec<u8>>) -> Result<(), Fault> {
        let grace = self.context.options.end_grace;
        let ended = self.process.wait(grace).unwrap_or(Some(Ended::Unknown));
        let (code, what) = match ended {
            Some(Ended::Code(0)) => (FaultCode::EndedEarly, Ended::Code(0).to_string()),
            Some(Ended::CpuLimit) => (FaultCode::CpuLimit, Ended::CpuLimit.to_string()),
            Some(ended) => (FaultCode::Crashed, ended.to_string()),
            None => (FaultCode::EndedEarly, "it closed its output and ran on".to_owned()),
        };
        let Some(rest) = rest else { return Err(Fault::new(code, format!("{what} before it answered"))) };
        let within = || Fault::new(code, format!("{what} within an answer: {}", shown(&rest)));
        if ended != Some(Ended::Code(0)) {
            return Err(within());
        }
        self.line(&rest)?;
        let is_whole = match self.outcomes.last() {
            Some(Outcome::Fault(fault)) => fault.code != FaultCode::WrongLine,
            Some(_) => true,
            None => return Err(within()),
        };
        if is_whole {
            return Ok(());
        }
        self.outcomes.pop();
        Err(within())
    }

    /// All are answered: the input ends, and nothing more may come.
    fn close(&mut self) -> End {
        self.end_input();
        let grace = self.context.options.end_grace;
        let deadline = Instant::now() + grace;
        let surplus = match self.next_line(deadline) {
            Next::End(None) | Next::Late => None,
            Next::Line(line) | Next::End(Some(line)) => Some(line),
            Next::TooLong => Some(b"(a line that is too long)".to_vec()),
            Next::ErrorsFlood => {
                let fault = self.errors_flood();
                return End::Surplus(self.killed(fault));
            }
            Next::Stopped => return self.stopped(),
        };
        if let Some(line) = surplus {
            let most = self.context.options.surplus_bytes;
            let (drained, _) = self.pipes.drain(most, deadline);
            let fault = if line.len() + drained >= most {
                Fault::new(
                    FaultCode::Flood,
                    format!("more than {most} bytes behind the last answer: {} …", shown(&line)),
                )
            } else {
                let payloads = self.sent.len();
                let message = format!("{}, one line more than the {payloads} payloads", shown(&line));
                Fault::new(FaultCode::Unsolicited, message)
            };
            return End::Surplus(self.killed(fault));
        }
        match self.process.wait(deadline.saturating_duration_since(Instant::now())) {
            Ok(Some(Ended::Code(0))) | Err(_) => {}
            Ok(Some(ended)) => self.context.note(format!("{ended} behind its last answer")),
            Ok(None) => {
                self.context
                    .note(format!("it ran on for more than {grace:?} when its input had ended, and was killed"));
            }
        }
        // Also what the process left behind.
        let _ = self.process.kill();
        End::Clean
    }

    fn broken(&mut self, fault: Fault) -> End {
        End::Broken(self.killed(fault))
    }

    fn stopped(&mut self) -> End {
        let _ = self.process.kill();
        End::Stopped
    }

    /// Ends the process and adds what it said last.
    fn killed(&mut self, fault: Fault) -> Fault {
        self.pipes.end_input();
        let _ = self.process.kill();
        let grace = self.context.options.end_grace;
        let _ = self.process.wait(grace);
        let tail = self.pipes.tail(Instant::now() + grace);
        fault.with_tail(tail)
    }

    fn too_long(&self) -> Fault {
        let most = self.context.options.answer_bytes;
        Fault::new(FaultCode::TooLong, format!("a line of more than {most} bytes"))
    }

    fn errors_flood(&self) -> Fault {
        let most = self.context.options.error_bytes;
        Fault::new(FaultCode::Flood, format!("more than {most} bytes on standard error"))
    }
}
