//! The set of packed states that were seen: open addressing over the states themselves.

/// A packed state of W words. All ones is no state; the layout never uses the last bit.
pub(super) type State<const W: usize> = [u64; W];

/// A set of states.
pub(super) struct Visited<const W: usize> {
    table: Vec<State<W>>,
    count: usize,
    shift: u32,
}

impl<const W: usize> Visited<W> {
    const EMPTY: State<W> = [u64::MAX; W];

    pub(super) fn new() -> Self {
        const FIRST_BITS: u32 = 10;
        Visited { table: vec![Self::EMPTY; 1 << FIRST_BITS], count: 0, shift: u64::BITS - FIRST_BITS }
    }

    #[inline]
    fn place(&self, state: &State<W>) -> usize {
        // Multiplicative hashing; the high bits are the well-mixed ones.
        let mut hash = 0u64;
        for word in state {
            hash = (hash.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        hash ^= hash >> 32;
        (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline]
    pub(super) fn contains(&self, state: &State<W>) -> bool {
        let mask = self.table.len() - 1;
        let mut at = self.place(state);
        loop {
            let there = &self.table[at];
            if there == state {
                return true;
            }
            if *there == Self::EMPTY {
                return false;
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds states in their order and calls `added` for each that was not there.
    ///
    /// The first places of all are read before any is used: these reads do not depend on each other, so that the waits
    /// for memory overlap. What is read may be stale for a state that the batch itself adds; `insert` looks again.
    #[inline]
    pub(super) fn insert_batch<T: Copy>(
        &mut self,
        batch: &[(T, State<W>)],
        known: &mut Vec<bool>,
        mut added: impl FnMut(T, &State<W>),
    ) {
        known.clear();
        known.extend(batch.iter().map(|(_, state)| self.table[self.place(state)] == *state));
        for ((tag, state), known) in batch.iter().zip(&*known) {
            if !known && self.insert(state) {
                added(*tag, state);
            }
        }
    }

    /// Adds a state; false if it was there.
    #[inline]
    pub(super) fn insert(&mut self, state: &State<W>) -> bool {
        debug_assert!(*state != Self::EMPTY);
        let mask = self.table.len() - 1;
        let mut at = self.place(state);
        loop {
            let there = &self.table[at];
            if there == state {
                return false;
            }
            if *there == Self::EMPTY {
                break;
            }
            at = (at + 1) & mask;
        }
        self.table[at] = *state;
        self.count += 1;
        if self.count * 3 > self.table.len() * 2 {
            self.grow();
        }
        true
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.table);
        self.shift -= 1;
        self.table = vec![Self::EMPTY; old.len() * 2];
        let mask = self.table.len() - 1;
        for state in old {
            if state != Self::EMPTY {
                let mut at = self.place(&state);
                while self.table[at] != Self::EMPTY {
                    at = (at + 1) & mask;
                }
                self.table[at] = state;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_inserted() {
        let mut visited = Visited::<2>::new();
        let state = |n: u64| [n.wrapping_mul(0x1234_5678_9abc_def1) >> 1, n & 0xff];
        for n in 0..20_000 {
            assert!(visited.insert(&state(n)), "{n}");
        }
        for n in 0..20_000 {
            assert!(!visited.insert(&state(n)) && visited.contains(&state(n)));
        }
        assert!(!visited.contains(&[1, 777]));
    }
}
