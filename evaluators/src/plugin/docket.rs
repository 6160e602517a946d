//! Which payloads are settled, which are to be asked next, and when a plugin is given up.
//!
//! A plugin is given up by a rule on the outcomes in the order of the payloads, so that it strikes at the same payload
//! whatever number of workers found them out, and in whatever order.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::answer::{Outcome, Reply};
use super::fault::{Fault, FaultCode, Kind};
use super::options::PluginOptions;
use crate::serve::MAX_LINE;

/// Faults of processes so far; kept from one call to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    in_a_row: u32,
    in_all: u32,
    is_given_up: bool,
}

impl Tally {
    fn count(&mut self, outcome: &Outcome, options: &PluginOptions) {
        let fault = match outcome {
            Outcome::Fault(fault) => Some(fault.code),
            _ => None,
        };
        self.count_fault(fault, options);
    }

    /// Counts the outcome of one payload: a fault, or none.
    pub(super) fn count_fault(&mut self, fault: Option<FaultCode>, options: &PluginOptions) {
        match fault.map(FaultCode::kind) {
            _ if self.is_given_up => {}
            Some(Kind::Unasked) => {}
            Some(Kind::Process) => {
                self.in_a_row += 1;
                self.in_all += 1;
                self.is_given_up =
                    self.in_a_row >= options.faults_in_a_row.max(1) || self.in_all >= options.faults_in_all.max(1);
            }
            _ => self.in_a_row = 0,
        }
    }
}

/// The payloads of one call.
#[derive(Debug)]
pub(super) struct Docket<'o> {
    options: &'o PluginOptions,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    outcomes: Vec<Option<Outcome>>,
    next: usize,
    /// Payloads before this one are settled and counted.
    counted: usize,
    tally: Tally,
}

impl State {
    /// The first payload that is not asked any more.
    fn end(&self) -> usize {
        if self.tally.is_given_up { self.counted } else { self.outcomes.len() }
    }

    fn settle(&mut self, place: usize, outcome: Outcome, options: &PluginOptions) {
        self.outcomes[place] = Some(outcome);
        while let Some(Some(outcome)) = self.outcomes.get(self.counted).filter(|_| !self.tally.is_given_up) {
            self.tally.count(outcome, options);
            self.counted += 1;
        }
    }
}

impl<'o> Docket<'o> {
    pub(super) fn new(payloads: &[&[u8]], tally: Tally, options: &'o PluginOptions) -> Docket<'o> {
        let mut state = State { outcomes: vec![None; payloads.len()], next: 0, counted: 0, tally };
        for (place, payload) in payloads.iter().enumerate() {
            if let Some(fault) = unsendable(payload) {
                state.settle(place, Outcome::Fault(fault), options);
            }
        }
        Docket { options, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next payload that nobody has taken.
    pub(super) fn take(&self) -> Option<usize> {
        let mut state = self.state();
        while state.next < state.end() && !self.options.is_stopped() {
            let place = state.next;
            state.next += 1;
            if state.outcomes[place].is_none() {
                return Some(place);
            }
        }
        None
    }

    /// Whether a payload that was taken is still to be asked.
    pub(super) fn wants(&self, place: usize) -> bool {
        !self.options.is_stopped() && place < self.state().end()
    }

    /// Keeps the outcome of a payload, once.
    pub(super) fn settle(&self, place: usize, outcome: Outcome) {
        self.state().settle(place, outcome, self.options);
    }

    /// The replies, and the tally for the next call.
    pub(super) fn finish(self, payloads: &[&[u8]]) -> (Vec<Reply>, Tally) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let end = state.end();
        let given_up = || {
            let options = self.options;
            let message = format!(
                "not asked: payloads before it ended in faults of the process, {} in a row or {} in all",
                options.faults_in_a_row, options.faults_in_all
            );
            Outcome::Fault(Fault::new(FaultCode::GivenUp, message))
        };
        let stopped = || Outcome::Fault(Fault::new(FaultCode::Stopped, "not asked: the work was stopped"));
        let reply = |(place, (payload, outcome)): (usize, (&&[u8], Option<Outcome>))| {
            let outcome = if place >= end { given_up() } else { outcome.unwrap_or_else(stopped) };
            Reply::new(payload, outcome)
        };
        let replies = payloads.iter().zip(state.outcomes).enumerate().map(reply).collect();
        (replies, state.tally)
    }
}

/// Why a payload is no line.
fn unsendable(payload: &[u8]) -> Option<Fault> {
    let message = if payload.len() >= MAX_LINE {
        format!("a payload of {} bytes; expected fewer than {MAX_LINE}", payload.len())
    } else if let Some(at) = payload.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        format!("a payload with a line end at byte {at}; expected canonical JSON, which has none")
    } else if payload.is_empty() {
        "an empty payload; expected canonical JSON".to_owned()
    } else {
        return None;
    };
    Some(Fault::new(FaultCode::Unsendable, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(code: FaultCode) -> Outcome {
        Outcome::Fault(Fault::new(code, "x"))
    }

    fn fine() -> Outcome {
        Outcome::NoVerdict { reason: "fine".to_owned(), detail: None }
    }

    /// Codes in the end, when payloads are settled in this order.
    fn codes(order: &[usize], outcome: impl Fn(usize) -> Outcome, in_a_row: u32, in_all: u32) -> Vec<String> {
        let options = PluginOptions { faults_in_a_row: in_a_row, faults_in_all: in_all, ..PluginOptions::default() };
        let payloads: Vec<&[u8]> = vec![b"{}"; order.len()];
        let docket = Docket::new(&payloads, Tally::default(), &options);
        for place in order {
            docket.settle(*place, outcome(*place));
        }
        let (replies, _) = docket.finish(&payloads);
        replies.iter().map(|reply| reply.fault().map_or("-", |fault| fault.code.code()).to_owned()).collect()
    }

    #[test]
    fn giving_up_does_not_depend_on_the_order_of_work() {
        let crash_from_two = |place| if place >= 2 { fault(FaultCode::Crashed) } else { fine() };
        let expected = ["-", "-", "crashed", "crashed", "crashed", "given_up", "given_up", "given_up"];
        for order in [[0, 1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1, 0], [3, 4, 5, 0, 7, 1, 2, 6]] {
            assert_eq!(codes(&order, crash_from_two, 3, 100), expected, "{order:?}");
        }
        let every_other = |place: usize| if place.is_multiple_of(2) { fault(FaultCode::TimedOut) } else { fine() };
        let order = [6, 5, 4, 3, 2, 1, 0];
        assert_eq!(
            codes(&order, every_other, 2, 2),
            ["timed_out", "-", "timed_out", "given_up", "given_up", "given_up", "given_up"]
        );
        assert_eq!(codes(&order, |_| fault(FaultCode::WrongLine), 2, 2), ["wrong_line"; 7]);
    }

    #[test]
    fn nothing_is_asked_after_giving_up() {
        let options = PluginOptions { faults_in_a_row: 1, ..PluginOptions::default() };
        let payloads: [&[u8]; 3] = [b"{}", b"{}", b"{}"];
        let docket = Docket::new(&payloads, Tally::default(), &options);
        assert_eq!((docket.take(), docket.take()), (Some(0), Some(1)));
        docket.settle(0, fault(FaultCode::Crashed));
        assert_eq!((docket.take(), docket.wants(1)), (None, false));
        let (_, tally) = docket.finish(&payloads);
        let next = Docket::new(&payloads, tally, &options);
        assert_eq!(next.take(), None);
        assert!(
            next.finish(&payloads)
                .0
                .iter()
                .all(|reply| reply.fault().map(|fault| fault.code) == Some(FaultCode::GivenUp))
        );
    }

    #[test]
    fn what_is_no_line_is_not_sent() {
        let options = PluginOptions::default();
        let payloads: [&[u8]; 4] = [b"{\n}", b"{}", b"", b"{\"a\":\"\r\"}"];
        let docket = Docket::new(&payloads, Tally::default(), &options);
        assert_eq!((docket.take(), docket.take()), (Some(1), None));
        let (replies, tally) = docket.finish(&payloads);
        assert_eq!(tally, Tally::default());
        for place in [0, 2, 3] {
            assert_eq!(replies[place].fault().map(|fault| fault.code), Some(FaultCode::Unsendable));
        }
        assert_eq!(replies[1].fault().map(|fault| fault.code), Some(FaultCode::Stopped));
    }
}
