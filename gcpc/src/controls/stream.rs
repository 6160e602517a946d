//! A stream of choices that a seed and a purpose fix: integers only, the same on every machine.

use parthack_env::canonical::Hash;

/// A stream.
#[derive(Debug, Clone)]
pub struct Stream {
    purpose: String,
    seed: u64,
    drawn: u64,
}

impl Stream {
    /// The stream of a purpose and a seed; streams of different purposes have nothing to do with each other.
    #[must_use]
    pub fn new(purpose: &str, seed: u64) -> Stream {
        Stream { purpose: purpose.to_owned(), seed, drawn: 0 }
    }

    fn draw(&mut self) -> u64 {
        let hash =
            Hash::of(&format!("gcpc-stream-{}", self.purpose), format!("{}/{}", self.seed, self.drawn).as_bytes());
        self.drawn += 1;
        hash.0.iter().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    /// A number below `bound`, each equally likely; 0 where `bound` is 0 or 1.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        let whole = u64::MAX - u64::MAX % bound;
        loop {
            let value = self.draw();
            if value < whole {
                return usize::try_from(value % bound).unwrap_or_default();
            }
        }
    }

    /// Shuffles (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
