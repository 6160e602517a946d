//! The host of `exec:` evaluators: workers with sessions, and how a session that ends badly is asked again.
//!
//! An outcome counts in two cases: it is an answer from a session that ended cleanly, or it is what came of a payload that
//! had a process to itself. So a program whose answers depend on the payload alone gets the same outcomes with any number
//! of workers, a fault stays with the payload that caused it, and a line too many can't move answers from one payload to
//! the next. A session that ends badly is cut: in three (what was answered before, the payload that was not, the rest)
//! where it is known who was not answered, or in halves where a surplus may be anybody's.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::answer::{Outcome, Reply};
use super::docket::{Docket, Tally};
use super::fault::FaultCode;
use super::hello::Hello;
use super::host::PluginHost;
use super::launch::Launch;
use super::options::PluginOptions;
use super::session::{Context, End, Session, Told, run};
use super::spec::Program;

/// Scores payloads by a program.
#[derive(Debug)]
pub struct ExecHost {
    context: Context,
    tally: Tally,
}

impl ExecHost {
    /// A host that has started nothing yet.
    #[must_use]
    pub fn new(program: Program, launch: Box<dyn Launch>, options: PluginOptions) -> ExecHost {
        let context = Context {
            program,
            launch,
            options,
            told: Mutex::new(Told::default()),
            one_each: AtomicBool::new(false),
            starts: AtomicU64::new(0),
        };
        ExecHost { context, tally: Tally::default() }
    }

    /// Processes started so far. How many it takes depends on timing, so that the number belongs into no hash.
    #[must_use]
    pub fn starts(&self) -> u64 {
        self.context.starts.load(Ordering::Relaxed)
    }
}

impl PluginHost for ExecHost {
    fn score(&mut self, payloads: &[&[u8]]) -> Vec<Reply> {
        let context = &self.context;
        let docket = Docket::new(payloads, self.tally, &context.options);
        std::thread::scope(|scope| {
            for _ in 0..context.options.workers.clamp(1, payloads.len().max(1)) {
                // Each worker starts its processes itself: a confined one dies with the thread that started it.
                scope.spawn(|| work(context, payloads, &docket));
            }
        });
        let (replies, tally) = docket.finish(payloads);
        self.tally = tally;
        replies
    }

    fn hello(&self) -> Option<Hello> {
        self.context.told().hello.clone()
    }

    fn notes(&self) -> Vec<String> {
        let told = self.context.told();
        let restarted = told.restarts.iter().map(|(code, count)| {
            format!("{code} among several payloads, {count} times: they were asked again, fewer to a process")
        });
        let mut notes: Vec<String> = told.notes.iter().cloned().chain(restarted).collect();
        notes.sort();
        notes
    }

    fn restarts(&self) -> BTreeMap<FaultCode, u64> {
        self.context.told().restarts.clone()
    }

    fn resume(&mut self, earlier: &mut dyn Iterator<Item = Option<FaultCode>>) {
        earlier.for_each(|fault| self.tally.count_fault(fault, &self.context.options));
    }

    fn isolation(&self) -> String {
        self.context.launch.isolation()
    }
}

fn work(context: &Context, payloads: &[&[u8]], docket: &Docket<'_>) {
    // What is to be asked again, the next last.
    let mut again: Vec<Vec<usize>> = Vec::new();
    loop {
        let session = match again.pop() {
            Some(list) => {
                let mut left = list.into_iter().filter(|place| docket.wants(*place));
                let session = run(context, payloads, &mut || left.next());
                push(&mut again, left.collect());
                match session {
                    Some(session) => session,
                    None => continue,
                }
            }
            None => {
                let mut left = context.options.session_payloads.max(1);
                let mut take = || {
                    left = left.checked_sub(1)?;
                    docket.take()
                };
                match run(context, payloads, &mut take) {
                    Some(session) => session,
                    None => return,
                }
            }
        };
        if let (2.., End::Broken(fault) | End::Surplus(fault)) = (session.sent.len(), &session.end) {
            *context.told().restarts.entry(fault.code).or_default() += 1;
        }
        if !judge(session, docket, &mut again) {
            return;
        }
    }
}

/// Settles what a session decides and lists what is to be asked again; false once the work is stopped.
fn judge(session: Session, docket: &Docket<'_>, again: &mut Vec<Vec<usize>>) -> bool {
    let Session { sent, mut outcomes, end } = session;
    match end {
        End::Clean => {
            for (place, outcome) in sent.into_iter().zip(outcomes) {
                docket.settle(place, outcome);
            }
        }
        End::Broken(fault) | End::Surplus(fault) if sent.len() == 1 => {
            // A line that is no answer says more than the one behind it, but not than a flood of them.
            let outcome = match outcomes.pop() {
                Some(Outcome::Fault(first)) if fault.code != FaultCode::Flood => {
                    Outcome::Fault(first.with_tail(fault.stderr_tail))
                }
                _ => Outcome::Fault(fault),
            };
            docket.settle(sent[0], outcome);
        }
        End::Broken(_) => {
            let unanswered = outcomes.len();
            push(again, sent[unanswered + 1..].to_vec());
            push(again, vec![sent[unanswered]]);
            push(again, sent[..unanswered].to_vec());
        }
        End::Surplus(_) => {
            let (first, second) = sent.split_at(sent.len() / 2);
            push(again, second.to_vec());
            push(again, first.to_vec());
        }
        End::Stopped => return false,
    }
    true
}

fn push(again: &mut Vec<Vec<usize>>, list: Vec<usize>) {
    if !list.is_empty() {
        again.push(list);
    }
}
