//! What a packed state remembers for the target.

use parthack_env::frames::Frame;
use parthack_evaluators::rules::Rule;

/// The target's memory in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// The rule's own memory: every score is told apart.
    Full(Rule),
    /// Whether the rule's peak has reached a numerator: one bit, for the question whether this score can be had.
    Reached(Rule, u32),
}

impl Memory {
    /// Whether a rule is the peak of a count, so that [`Memory::Reached`] fits it.
    pub(super) fn is_peak(rule: Rule) -> bool {
        matches!(rule, Rule::HistoricalMilestone | Rule::CapeMax)
    }

    pub(super) fn bits(self, m: u32) -> u32 {
        match self {
            Memory::Full(rule) => rule.memory_bits(m),
            Memory::Reached(..) => 1,
        }
    }

    #[inline]
    pub(super) fn observe(self, memory: u32, frame: Frame) -> u32 {
        match self {
            Memory::Full(rule) => rule.observe(memory, frame),
            Memory::Reached(rule, numerator) => memory | u32::from(rule.observe(0, frame) >= numerator),
        }
    }

    /// The score's numerator over m; none where a state does not have the score that is asked for.
    #[inline]
    pub(super) fn numerator(self, m: u32, memory: u32, frame: Frame) -> Option<u32> {
        match self {
            Memory::Full(rule) => Some(rule.numerator(m, memory, frame)),
            Memory::Reached(_, numerator) => (memory == 1).then_some(numerator),
        }
    }
}
