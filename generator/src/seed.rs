//! The secret seed: two trees of keys, one for what the public may see drawn, one for secrets.
//!
//! Both trees hang on BLAKE3 `derive_key` of the seed with contexts of their own, and every node is a keyed hash of its
//! parent. Whoever knows a public task whole, and so the state of the stream that drew it, learns neither the key above
//! it nor anything of the other tree.

use std::fmt;

use parthack_statistics::random::{RandomStream, StreamKey};

/// Domain label of the keys that structure and wording are drawn with.
const STRUCTURE_CONTEXT: &str = "parthack task generator v1 structure";
/// Domain label of the keys that secrets come from.
const SECRET_CONTEXT: &str = "parthack task generator v1 secrets";
/// Fewest bytes of a seed: 128 bits.
pub const MIN_SEED_BYTES: usize = 16;
/// Letters of secret words: nothing that looks like something else.
const LETTERS: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz7";

/// A secret seed.
///
/// Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed {
    structure: [u8; 32],
    secrets: [u8; 32],
}

impl fmt::Debug for Seed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Seed").finish_non_exhaustive()
    }
}

/// A seed that is too short to be secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the seed has {found} bytes, and a secret one has at least {MIN_SEED_BYTES}")]
pub struct ShortSeed {
    /// Bytes given.
    pub found: usize,
}

impl Seed {
    /// The seed of some bytes, all of which count: a file's, to the last newline.
    ///
    /// # Errors
    /// [`ShortSeed`] for fewer than [`MIN_SEED_BYTES`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Seed, ShortSeed> {
        if bytes.len() < MIN_SEED_BYTES {
            return Err(ShortSeed { found: bytes.len() });
        }
        Ok(Seed {
            structure: blake3::derive_key(STRUCTURE_CONTEXT, bytes),
            secrets: blake3::derive_key(SECRET_CONTEXT, bytes),
        })
    }

    /// The stream for one purpose.
    pub(crate) fn draws(&self, purpose: &str) -> Draws {
        Draws(StreamKey::from_key(self.structure).child(purpose).stream())
    }

    /// The secrets for one purpose.
    pub(crate) fn secrets(&self, purpose: &str) -> Secrets {
        Secrets(*blake3::keyed_hash(&self.secrets, purpose.as_bytes()).as_bytes())
    }
}

/// Secrets of one task, each the keyed hash of its purpose: none tells anything of another.
#[derive(Clone)]
pub(crate) struct Secrets([u8; 32]);

impl Secrets {
    /// 32 bytes for a purpose.
    pub(crate) fn bytes(&self, purpose: &str) -> [u8; 32] {
        *blake3::keyed_hash(&self.0, purpose.as_bytes()).as_bytes()
    }

    /// Up to 64 hexadecimal digits for a purpose.
    pub(crate) fn hex(&self, purpose: &str, digits: usize) -> String {
        let mut out = Vec::with_capacity(64);
        parthack_env::canonical::push_hex(&mut out, &self.bytes(purpose));
        out.truncate(digits);
        out.into_iter().map(char::from).collect()
    }

    /// Up to 32 letters and digits for a purpose, 5 bits each.
    pub(crate) fn word(&self, purpose: &str, letters: usize) -> String {
        self.bytes(purpose).iter().take(letters).map(|byte| char::from(LETTERS[usize::from(byte & 31)])).collect()
    }
}

/// A stream of draws.
#[derive(Debug, Clone)]
pub(crate) struct Draws(RandomStream);

impl Draws {
    /// A number in `0..bound`; 0 where the bound is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        match u32::try_from(bound) {
            Ok(bound) if bound > 0 => self.0.below(bound) as usize,
            _ => 0,
        }
    }

    /// A number in `low..=high`.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = usize::try_from(high - low + 1).unwrap_or(0);
        low + i64::try_from(self.below(span)).unwrap_or(0)
    }

    /// Whether an event of probability `wins / of` happens.
    pub(crate) fn chance(&mut self, wins: usize, of: usize) -> bool {
        self.below(of) < wins
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are none: lists of domains and phrasings are never empty.
    pub(crate) fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }

    /// One of them, as text.
    pub(crate) fn word(&mut self, items: &[&'static str]) -> &'static str {
        self.pick::<&'static str>(items)
    }

    /// Puts them into a random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_in_every_byte_and_short_ones_are_refused() {
        let seed = |bytes: &[u8]| Seed::from_bytes(bytes).expect("long enough");
        let (one, other) = (seed(b"sixteen bytes ok"), seed(b"sixteen bytes ok\n"));
        assert_ne!(one.secrets("a").hex("key", 64), other.secrets("a").hex("key", 64));
        assert_ne!(one.secrets("a").hex("key", 64), one.secrets("b").hex("key", 64));
        assert_ne!(one.secrets("a").hex("key", 64), one.secrets("a").hex("yek", 64));
        assert_eq!(one.secrets("a").word("id", 18).len(), 18);
        assert_eq!(Seed::from_bytes(b"fifteen bytes.."), Err(ShortSeed { found: 15 }));
        assert_eq!(format!("{one:?}"), "Seed { .. }");
    }

    #[test]
    fn draws_stay_in_range() {
        let mut draws = Seed::from_bytes(&[7; 16]).expect("long enough").draws("test");
        let mut seen = [0; 5];
        for _ in 0..1_000 {
            let drawn = draws.between(-2, 2);
            assert!((-2..=2).contains(&drawn));
            seen[usize::try_from(drawn + 2).expect("in range")] += 1;
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
        assert_eq!(draws.below(0), 0);
    }
}
