//! What every plugin host offers, and how determinism is measured.

use std::collections::BTreeMap;

use super::answer::{Outcome, Reply};
use super::fault::{FaultCode, Kind};
use super::hello::Hello;

/// Scores payloads by somebody's evaluator. A fault costs its payload alone: scoring never fails as a whole.
pub trait PluginHost {
    /// One reply a payload, in order. Processes live no longer than the call, so that payloads are best given all at
    /// once.
    fn score(&mut self, payloads: &[&[u8]]) -> Vec<Reply>;

    /// What the evaluator has said of itself so far.
    fn hello(&self) -> Option<Hello>;

    /// What the user should know, sorted.
    fn notes(&self) -> Vec<String>;

    /// Takes over what came of payloads in an earlier start of the same work, in the order of that start: the fault of each, or
    /// none. An evaluator is then given up where it would have been.
    fn resume(&mut self, earlier: &mut dyn Iterator<Item = Option<FaultCode>>);

    /// How the evaluator is kept apart, for reports.
    fn isolation(&self) -> String;

    /// Processes that failed with several payloads, by what happened. The payloads were asked again, fewer to a process, and a fault that did not come
    /// back stands here alone. How many there are depends on timing, so that they belong into no hash.
    fn restarts(&self) -> BTreeMap<FaultCode, u64> {
        BTreeMap::new()
    }

    /// Scores payloads again, `repeats` times and in reverse order, and compares with what was said before.
    fn measure(&mut self, payloads: &[&[u8]], replies: &[Reply], repeats: usize) -> Determinism {
        let count = payloads.len().min(replies.len());
        let order: Vec<usize> = (0..repeats).flat_map(|_| (0..count).rev()).collect();
        let asked: Vec<&[u8]> = order.iter().map(|place| payloads[*place]).collect();
        let answers = self.score(&asked);
        let claimed = self.hello().and_then(|hello| hello.deterministic);
        Determinism::of(
            order.into_iter().zip(&answers).map(|(place, answer)| (place, &replies[place], answer)),
            claimed,
        )
    }
}

/// How an evaluator agrees with itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Determinism {
    /// Repeated calls that could be compared: both times the evaluator itself gave a score or a `no_verdict`, or one
    /// time it did and the other time it failed.
    pub calls: usize,
    /// Payloads that they were about.
    pub payloads: usize,
    /// Payloads with two different scores.
    pub moved: usize,
    /// Payloads with a score one time and none another.
    pub lost: usize,
    /// The largest difference between the first score of a payload and a repeated one; 0 if all are equal.
    pub largest_difference: f64,
    /// What the evaluator says of itself.
    pub claimed: Option<bool>,
}

impl Determinism {
    /// Whether every repeat gave what the first call gave, and there was one.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.calls > 0 && self.moved == 0 && self.lost == 0
    }

    fn of<'r>(pairs: impl Iterator<Item = (usize, &'r Reply, &'r Reply)>, claimed: Option<bool>) -> Determinism {
        use std::collections::BTreeSet;
        let (mut seen, mut moved, mut lost) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut largest_difference: f64 = 0.0;
        let mut calls = 0;
        for (place, first, again) in pairs {
            let was_asked =
                [first, again].iter().all(|reply| reply.fault().is_none_or(|fault| fault.code.kind() != Kind::Unasked));
            let answered = first.fault().is_none() || again.fault().is_none();
            if !was_asked || !answered {
                continue;
            }
            calls += 1;
            seen.insert(place);
            match (&first.outcome, &again.outcome) {
                (Outcome::Score(first), Outcome::Score(again)) => {
                    let same = match (first.exact, again.exact) {
                        (Some(first), Some(again)) => first == again,
                        _ => first.value == again.value,
                    };
                    if !same {
                        moved.insert(place);
                        largest_difference = largest_difference.max((first.value - again.value).abs());
                    }
                }
                (Outcome::NoVerdict { .. }, Outcome::NoVerdict { .. }) => {}
                _ => {
                    lost.insert(place);
                }
            }
        }
        let (payloads, moved, lost) = (seen.len(), moved.len(), lost.len());
        Determinism { calls, payloads, moved, lost, largest_difference, claimed }
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::PluginScore;
    use super::super::fault::Fault;
    use super::*;

    fn score(value: f64) -> Reply {
        let score = PluginScore { value, text: value.to_string(), exact: None, detail: None, cites: Vec::new() };
        Reply::new(b"{}", Outcome::Score(score))
    }

    fn fault(code: FaultCode) -> Reply {
        Reply::new(b"{}", Outcome::Fault(Fault::new(code, "x")))
    }

    fn check(pairs: &[(usize, Reply, Reply)], counts: [usize; 4], largest: f64) {
        let found = Determinism::of(pairs.iter().map(|(place, first, again)| (*place, first, again)), None);
        assert_eq!([found.calls, found.payloads, found.moved, found.lost], counts);
        assert_eq!(found.largest_difference, largest);
        assert_eq!(found.is_equal(), counts[0] > 0 && counts[2] + counts[3] == 0);
    }

    #[test]
    fn repeats_are_compared() {
        let none = || Reply::new(b"{}", Outcome::NoVerdict { reason: "x".to_owned(), detail: None });
        check(&[], [0; 4], 0.0);
        check(&[(0, score(0.5), score(0.5)), (0, score(0.5), score(0.5))], [2, 1, 0, 0], 0.0);
        check(&[(0, score(0.5), score(0.75)), (0, score(0.5), score(0.0)), (1, none(), none())], [3, 2, 1, 0], 0.5);
        check(&[(0, score(0.5), none()), (1, fault(FaultCode::Crashed), score(1.0))], [2, 2, 0, 2], 0.0);
        check(&[(0, fault(FaultCode::Crashed), fault(FaultCode::TimedOut))], [0; 4], 0.0);
        check(&[(0, score(0.5), fault(FaultCode::Stopped)), (1, fault(FaultCode::GivenUp), score(1.0))], [0; 4], 0.0);
    }
}
