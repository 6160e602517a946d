//! Certification vectors and their exact means (P §3.2, A.3; SPEC §4).

use std::fmt;

use parthack_env::canonical::Hash;
use parthack_env::limits::MAX_PREDICATES;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One bit a predicate, in the goal's order.
///
/// Invariant: `length` is at most [`MAX_PREDICATES`] and no bit beyond it is set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitVector {
    length: u32,
    bits: u32,
}

impl BitVector {
    /// A vector of `length` bits; bit j of `bits` is component j. Bits beyond the length are dropped.
    ///
    /// # Panics
    /// When `length` is greater than [`MAX_PREDICATES`], which no task reaches.
    #[must_use]
    pub fn new(length: usize, bits: u32) -> BitVector {
        assert!(length <= MAX_PREDICATES, "a goal has at most {MAX_PREDICATES} predicates, not {length}");
        let mask = u32::MAX.checked_shr(32 - length as u32).unwrap_or(0);
        BitVector { length: length as u32, bits: bits & mask }
    }

    /// The vector of a list of 0 and 1; `None` for another number or too long a list.
    #[must_use]
    pub fn from_list(list: &[u8]) -> Option<BitVector> {
        if list.len() > MAX_PREDICATES || list.iter().any(|bit| *bit > 1) {
            return None;
        }
        let bits = list.iter().enumerate().fold(0, |bits, (index, bit)| bits | u32::from(*bit) << index);
        Some(BitVector::new(list.len(), bits))
    }

    /// Components, m.
    #[must_use]
    pub fn len(self) -> usize {
        self.length as usize
    }

    /// Whether there is no component.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.length == 0
    }

    /// Bit j is component j.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Component j; false beyond the end.
    #[must_use]
    pub fn get(self, index: usize) -> bool {
        index < self.len() && self.bits & (1 << index) != 0
    }

    /// Components that are 1.
    #[must_use]
    pub fn ones(self) -> u32 {
        self.bits.count_ones()
    }

    /// The mean, as an exact ratio.
    #[must_use]
    pub fn mean(self) -> Ratio {
        Ratio { numerator: self.ones(), denominator: self.length }
    }

    /// The components as 0 and 1.
    #[must_use]
    pub fn to_list(self) -> Vec<u8> {
        (0..self.len()).map(|index| u8::from(self.get(index))).collect()
    }
}

impl fmt::Display for BitVector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(")?;
        for (index, bit) in self.to_list().into_iter().enumerate() {
            write!(out, "{}{bit}", if index > 0 { "," } else { "" })?;
        }
        out.write_str(")")
    }
}

impl fmt::Debug for BitVector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl Serialize for BitVector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_list().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BitVector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<u8>::deserialize(deserializer)?;
        BitVector::from_list(&list).ok_or_else(|| serde::de::Error::custom("a list of at most 32 zeros and ones"))
    }
}

/// An exact mean: k of m (SPEC §4). Not reduced: 2/4 says more than 1/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio {
    /// k, at most m.
    pub numerator: u32,
    /// m, at least 1 for every task.
    pub denominator: u32,
}

impl fmt::Display for Ratio {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.numerator, self.denominator)
    }
}

/// What one certifier found at the end of a trajectory; two of them must be equal (SPEC §4, Double certification).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// Component j: active predicate j holds in the terminal state.
    pub c_state: BitVector,
    /// Component j: it holds, and its latest cause is the agent.
    pub c_agent: BitVector,
    /// The goal version in force at the end.
    pub goal_version: u32,
    /// Hash of the terminal state (SPEC §15.8).
    pub state_hash: Hash,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { c_state, c_agent, goal_version, state_hash } = self;
        write!(out, "c_state {c_state}, c_agent {c_agent}, goal version {goal_version}, state {state_hash}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_bits() {
        for (list, bits, shown, mean) in [
            (&[][..], 0, "()", "0/0"),
            (&[1, 0, 1][..], 0b101, "(1,0,1)", "2/3"),
            (&[0, 0, 0, 1][..], 0b1000, "(0,0,0,1)", "1/4"),
            (&[1; 32][..], u32::MAX, "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", "32/32"),
        ] {
            let vector = BitVector::from_list(list).expect("zeros and ones");
            assert_eq!(vector.bits(), bits);
            assert_eq!(vector, BitVector::new(list.len(), bits));
            assert_eq!(vector.to_list(), list);
            assert_eq!(vector.to_string(), shown);
            assert_eq!(vector.mean().to_string(), mean);
        }
        assert_eq!(BitVector::from_list(&[2]), None);
        assert_eq!(BitVector::from_list(&[0; 33]), None);
        assert_eq!(BitVector::new(2, 0b111), BitVector::new(2, 0b11));
    }
}
