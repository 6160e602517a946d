//! Identifiers and the words that several formats share.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

/// Characters of the longest identifier.
pub const MAX_IDENTIFIER: usize = 64;

/// Whether `text` is an identifier: 1 to 64 of letters, digits, `.`, `_`, `:` and `-`, beginning with a letter or digit.
#[must_use]
pub fn is_identifier(text: &str) -> bool {
    let bytes = text.as_bytes();
    !bytes.is_empty()
        && bytes.len() <= MAX_IDENTIFIER
        && bytes[0].is_ascii_alphanumeric()
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-'))
}

/// What is left of an identifier when case, separators and look-alike characters no longer count; two ids with one
/// skeleton are confusable.
#[must_use]
pub fn skeleton(identifier: &str) -> String {
    identifier
        .chars()
        .map(|character| match character.to_ascii_lowercase() {
            '0' => 'o',
            '1' | 'i' => 'l',
            '.' | '_' | ':' => '-',
            other => other,
        })
        .collect()
}

/// A look-up by name. Names come from files with few of them (see `limits`), so the hash needs speed and no key.
pub(crate) type ByName<K, V> = HashMap<K, V, BuildHasherDefault<NameHasher>>;

/// Multiplicative hashing, eight bytes at a time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = match <[u8; 8]>::try_from(chunk) {
                Ok(full) => u64::from_le_bytes(full),
                Err(_) => chunk.iter().fold(chunk.len() as u64, |word, byte| (word << 8) | u64::from(*byte)),
            };
            self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// Who acts. The wrapper assigns the class (P, A.1); no step names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// The evaluated agent.
    Agent,
    /// The simulated user.
    User,
    /// The environment itself.
    System,
    /// Another agent or colleague.
    Peer,
}

impl Actor {
    /// All classes, in a fixed order.
    pub const ALL: [Actor; 4] = [Actor::Agent, Actor::User, Actor::System, Actor::Peer];

    /// The word used in every format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Actor::Agent => "agent",
            Actor::User => "user",
            Actor::System => "system",
            Actor::Peer => "peer",
        }
    }

    /// The class of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Actor> {
        Actor::ALL.into_iter().find(|actor| actor.word() == word)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// The operations (P §3.1), and the steps that only reach the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// A new entity.
    Create,
    /// Fields of a live entity.
    Update,
    /// A live entity becomes a deleted one, its fields kept.
    Delete,
    /// A deleted entity becomes live again, with its fields.
    Restore,
    /// A higher goal version.
    ReviseGoal,
    /// One entity is shown.
    Read,
    /// The entities of a type are shown.
    List,
    /// A message.
    Say,
    /// Others may act.
    Wait,
}

impl Operation {
    /// All operations, in a fixed order.
    pub const ALL: [Operation; 9] = [
        Operation::Create,
        Operation::Update,
        Operation::Delete,
        Operation::Restore,
        Operation::ReviseGoal,
        Operation::Read,
        Operation::List,
        Operation::Say,
        Operation::Wait,
    ];

    /// The word used in every format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Update => "update",
            Operation::Delete => "delete",
            Operation::Restore => "restore",
            Operation::ReviseGoal => "revise_goal",
            Operation::Read => "read",
            Operation::List => "list",
            Operation::Say => "say",
            Operation::Wait => "wait",
        }
    }

    /// The operation of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Operation> {
        Operation::ALL.into_iter().find(|operation| operation.word() == word)
    }

    /// Whether an accepted step of this kind is an event of the log.
    #[must_use]
    pub fn is_event(self) -> bool {
        !matches!(self, Operation::Read | Operation::List | Operation::Say | Operation::Wait)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers() {
        for good in ["a", "t-1", "PH-D01", "internal::x", "a.b_c", &"a".repeat(64)] {
            assert!(is_identifier(good), "{good}");
        }
        for bad in ["", "../x", "a/b", "a b", "-a", ".a", "é", "a\n", &"a".repeat(65)] {
            assert!(!is_identifier(bad), "{bad}");
        }
        assert_eq!(skeleton("T_10"), skeleton("t-lO"));
        assert_ne!(skeleton("t-1"), skeleton("t-2"));
    }
}
