//! Random numbers of our own: a tree of streams keyed by (seed, purpose), integers only.
//!
//! The scheme is the project's own, "parthack random stream v1". The root's key is BLAKE3's `derive_key` of
//! [`ROOT_CONTEXT`] over the seed (8 bytes, little-endian); a child's key is BLAKE3, keyed with its parent's key, over
//! the purpose in UTF-8. A stream is xoshiro256++ whose four words of state are a key's 32 bytes, little-endian. No
//! dependency's generator or distribution takes part: an update of one can't change a table.

/// Domain label of the root's key; its number changes if any drawn number would.
pub const ROOT_CONTEXT: &str = "parthack random stream v1";

/// A node of the tree of streams.
///
/// ```
/// use parthack_statistics::random::StreamKey;
/// let key = StreamKey::root(7).child("bootstrap").child("tasks=15");
/// assert_eq!(key.stream().next_u64(), key.stream().next_u64(), "the same key gives the same stream");
/// assert_ne!(key.stream().next_u64(), StreamKey::root(8).stream().next_u64());
/// let mut stream = key.stream();
/// let draws: Vec<u32> = (0..4).map(|_| stream.below(15)).collect();
/// assert!(draws.iter().all(|draw| *draw < 15));
/// assert_eq!(draws[0], key.stream().below(15), "the same key gives the same stream");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamKey([u8; 32]);

impl StreamKey {
    /// The root of a seed's tree.
    pub fn root(seed: u64) -> StreamKey {
        StreamKey(blake3::derive_key(ROOT_CONTEXT, &seed.to_le_bytes()))
    }

    /// The node of a secret seed's own key.
    pub fn from_key(key: [u8; 32]) -> StreamKey {
        StreamKey(key)
    }

    /// The node for one purpose below this one.
    pub fn child(&self, purpose: &str) -> StreamKey {
        StreamKey(*blake3::keyed_hash(&self.0, purpose.as_bytes()).as_bytes())
    }

    /// The node's own stream, from its start.
    pub fn stream(&self) -> RandomStream {
        let mut state = [0_u64; 4];
        for (word, bytes) in state.iter_mut().zip(self.0.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte));
        }
        RandomStream::from_state(state)
    }
}

/// A xoshiro256++ stream (Blackman and Vigna, 2019).
#[derive(Debug, Clone)]
pub struct RandomStream {
    state: [u64; 4],
}

impl RandomStream {
    /// A stream at a given state; the all-zero state, where the generator stands still, becomes a fixed other one.
    pub fn from_state(state: [u64; 4]) -> RandomStream {
        match state {
            [0, 0, 0, 0] => RandomStream { state: [0x9E37_79B9_7F4A_7C15, 0, 0, 0] },
            state => RandomStream { state },
        }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let state = &mut self.state;
        let result = state[0].wrapping_add(state[3]).rotate_left(23).wrapping_add(state[0]);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// A number in `0..bound`, each equally likely: multiply and shift with rejection (Lemire, 2019), on the high 32 bits.
    ///
    /// # Panics
    /// If `bound` is 0: there is no such number.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "a draw below zero");
        let mut product = (self.next_u64() >> 32) * u64::from(bound);
        if (product as u32) < bound {
            let smallest_fair = bound.wrapping_neg() % bound;
            while (product as u32) < smallest_fair {
                product = (self.next_u64() >> 32) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    /// Puts `items` into a uniformly random order (Fisher and Yates, from the end).
    ///
    /// # Panics
    /// If there are more than 2^32 − 1 items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let bound = u32::try_from(last + 1).expect("more items than a shuffle can index");
            items.swap(last, self.below(bound) as usize);
        }
    }
}
