//! What bounds a client: connections, rates and money. None of them ever changes an answer.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::price::Cost;

/// How long a waiter sleeps before it looks at the stop flag again.
pub(crate) const TICK: Duration = Duration::from_millis(50);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every guarded value is sound after each statement, so a panic of another thread breaks nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The client was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopped;

/// So many at once, and no more.
#[derive(Debug)]
pub(crate) struct Gate {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place in a [`Gate`], free again when dropped.
#[derive(Debug)]
pub(crate) struct Place<'g>(&'g Gate);

impl Gate {
    pub(crate) fn new(places: usize) -> Gate {
        Gate { free: Mutex::new(places.max(1)), freed: Condvar::new() }
    }

    pub(crate) fn enter(&self, stop: &dyn Fn() -> bool) -> Result<Place<'_>, Stopped> {
        let mut free = lock(&self.free);
        while *free == 0 {
            if stop() {
                return Err(Stopped);
            }
            free = self.freed.wait_timeout(free, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Ok(Place(self))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *lock(&self.0.free) += 1;
        self.0.freed.notify_one();
    }
}

/// Requests that are on their way. When a stop comes they are waited for, and that is told once.
#[derive(Debug)]
pub(crate) struct UnderWay {
    requests: AtomicUsize,
    told: AtomicBool,
    tell: fn(usize),
}

/// A request that is on its way until this is dropped.
#[derive(Debug)]
pub(crate) struct OnItsWay<'u>(&'u UnderWay);

impl UnderWay {
    pub(crate) fn new(tell: fn(usize)) -> UnderWay {
        UnderWay { requests: AtomicUsize::new(0), told: AtomicBool::new(false), tell }
    }

    pub(crate) fn begin(&self) -> OnItsWay<'_> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        OnItsWay(self)
    }
}

impl OnItsWay<'_> {
    /// Tells how many requests are waited for, unless that is told already.
    pub(crate) fn is_waited_for(&self) {
        if !self.0.told.swap(true, Ordering::SeqCst) {
            (self.0.tell)(self.0.requests.load(Ordering::SeqCst));
        }
    }
}

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The money of a run: what is spent, what running calls may yet cost, and the cap.
#[derive(Debug)]
pub(crate) struct Budget {
    cap: Option<Cost>,
    state: Mutex<Money>,
    settled: Condvar,
}

#[derive(Debug, Clone, Copy)]
struct Money {
    spent: Cost,
    reserved: Cost,
}

/// Why a call may not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAfforded {
    Stopped,
    /// What is spent and this call's most would pass the cap.
    Cap {
        spent: Cost,
        cap: Cost,
    },
}

/// A call's most, held back until it is settled. One that is dropped unsettled costs its most.
#[derive(Debug)]
pub(crate) struct Reservation<'b> {
    budget: &'b Budget,
    most: Cost,
    paid: Cost,
}

impl Budget {
    pub(crate) fn new(cap: Option<Cost>, spent: Cost) -> Budget {
        Budget { cap, state: Mutex::new(Money { spent, reserved: Cost::ZERO }), settled: Condvar::new() }
    }

    pub(crate) fn cap(&self) -> Option<Cost> {
        self.cap
    }

    /// Holds `most` back. Where only running calls stand in the way, it waits for them: they seldom cost their most.
    pub(crate) fn reserve(&self, most: Cost, stop: &dyn Fn() -> bool) -> Result<Reservation<'_>, NotAfforded> {
        let mut state = lock(&self.state);
        if let Some(cap) = self.cap {
            loop {
                if stop() {
                    return Err(NotAfforded::Stopped);
                }
                if state.spent.plus(most) > cap {
                    return Err(NotAfforded::Cap { spent: state.spent, cap });
                }
                if state.spent.plus(state.reserved).plus(most) <= cap {
                    break;
                }
                state = self.settled.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        state.reserved = state.reserved.plus(most);
        Ok(Reservation { budget: self, most, paid: most })
    }
}

impl Reservation<'_> {
    /// Pays what the call cost.
    pub(crate) fn settle(mut self, paid: Cost) {
        self.paid = paid;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.budget.state);
        state.reserved = state.reserved.minus(self.most);
        state.spent = state.spent.plus(self.paid);
        self.budget.settled.notify_all();
    }
}

/// Requests and tokens a minute, and pauses that a server asked for.
///
/// Each caller gets its moment at once, in the order of asking, and then waits for it (the generic cell rate algorithm).
/// Up to a tenth of a minute's amount may pass in one burst. Moments are durations since the client began.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    requests_per_minute: Option<u32>,
    tokens_per_minute: Option<u32>,
    state: Mutex<Moments>,
}

#[derive(Debug, Default)]
struct Moments {
    requests: Duration,
    tokens: Duration,
    paused_until: Duration,
}

impl Rates {
    pub(crate) fn new(requests_per_minute: Option<u32>, tokens_per_minute: Option<u32>) -> Rates {
        Rates { requests_per_minute, tokens_per_minute, state: Mutex::default() }
    }

    /// How long a request of so many tokens must wait from `now`.
    pub(crate) fn delay(&self, now: Duration, tokens: u64) -> Duration {
        let mut state = lock(&self.state);
        let mut moment = now.max(state.paused_until);
        if let Some(rate) = self.requests_per_minute {
            moment = moment.max(take(&mut state.requests, now, share(1, rate)));
        }
        if let Some(rate) = self.tokens_per_minute {
            moment = moment.max(take(&mut state.tokens, now, share(tokens, rate)));
        }
        moment.saturating_sub(now)
    }

    /// Lets nobody begin before `until`.
    pub(crate) fn pause(&self, until: Duration) {
        let mut state = lock(&self.state);
        state.paused_until = state.paused_until.max(until);
    }
}

/// The share of a minute that an amount takes.
fn share(amount: u64, per_minute: u32) -> Duration {
    let nanos = u128::from(amount) * 60_000_000_000 / u128::from(per_minute.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Takes a share; `used` is the moment up to which all shares are taken. Returns when the taker may begin.
fn take(used: &mut Duration, now: Duration, share: Duration) -> Duration {
    const BURST: Duration = Duration::from_secs(6);
    let begin = (*used).max(now);
    *used = begin.saturating_add(share);
    begin.saturating_sub(BURST)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const GO: fn() -> bool = || false;

    fn cost(pico_dollars: u64) -> Cost {
        Cost { pico_dollars }
    }

    #[test]
    fn rates_allow_a_burst_and_then_the_rate() {
        let rates = Rates::new(Some(60), None);
        let delays: Vec<u64> = (0..9).map(|_| rates.delay(Duration::ZERO, 1).as_secs()).collect();
        assert_eq!(delays, [0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(rates.delay(Duration::from_secs(60), 1), Duration::ZERO);
    }

    #[test]
    fn tokens_count_by_their_number() {
        let rates = Rates::new(None, Some(6000));
        assert_eq!(rates.delay(Duration::ZERO, 1200), Duration::ZERO);
        assert_eq!(rates.delay(Duration::ZERO, 1), Duration::from_secs(6));
    }

    #[test]
    fn a_pause_holds_everybody() {
        let rates = Rates::new(None, None);
        rates.pause(Duration::from_secs(5));
        assert_eq!(rates.delay(Duration::from_secs(2), 1), Duration::from_secs(3));
        assert_eq!(rates.delay(Duration::from_secs(6), 1), Duration::ZERO);
    }

    #[test]
    fn a_budget_is_never_passed() {
        let budget = Budget::new(Some(cost(10)), cost(1));
        let call = budget.reserve(cost(5), &GO).expect("6 of 10");
        call.settle(cost(3));
        assert_eq!(
            budget.reserve(cost(7), &GO).expect_err("11 of 10"),
            NotAfforded::Cap { spent: cost(4), cap: cost(10) }
        );
        // Dropped without being settled: it may have been billed in full.
        drop(budget.reserve(cost(6), &GO).expect("10 of 10"));
        assert_eq!(
            budget.reserve(cost(1), &GO).expect_err("full"),
            NotAfforded::Cap { spent: cost(10), cap: cost(10) }
        );
    }

    #[test]
    fn a_call_waits_for_running_ones_rather_than_give_up() {
        let budget = Budget::new(Some(cost(10)), Cost::ZERO);
        let first = budget.reserve(cost(8), &GO).expect("8 of 10");
        std::thread::scope(|scope| {
            let second = scope.spawn(|| budget.reserve(cost(8), &GO).map(|call| call.settle(cost(1))));
            first.settle(cost(2));
            second.join().expect("no panic").expect("2 and 8 of 10");
        });
        assert_eq!(lock(&budget.state).spent, cost(3));
    }

    #[test]
    fn waiters_notice_a_stop() {
        let stop = AtomicBool::new(false);
        let gate = Gate::new(1);
        let place = gate.enter(&GO).expect("free");
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| gate.enter(&|| stop.load(Ordering::SeqCst)).map(|_| ()));
            stop.store(true, Ordering::SeqCst);
            assert_eq!(waiter.join().expect("no panic"), Err(Stopped));
        });
        drop(place);
        assert!(gate.enter(&|| true).is_ok());
    }
}
