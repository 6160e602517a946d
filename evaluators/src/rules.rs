//! Rule evaluators (SPEC §6; P Tables 1 and A.3), each a fold over frames with a small memory. Scoring a payload and
//! exact search run these same functions.

use parthack_env::frames::Frame;

use crate::score::ExactScore;

/// A rule evaluator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// 1 if all active predicates hold at the end, else 0.
    TerminalOutcome,
    /// Greatest satisfied fraction of any state (P, Prop. 2).
    HistoricalMilestone,
    /// Mean over predicates of their running maximum.
    PredicateMax,
    /// Greatest agent-credited fraction of any state.
    CapeMax,
    /// Satisfied fraction of the final state.
    Csps,
    /// Agent-credited fraction of the final state.
    LightweightCape,
}

/// When a rule looks (P, Table A.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporalRule {
    /// At all states; the best counts.
    HistoricalMaximum,
    /// At the final state.
    TerminalState,
    /// At terminal success alone.
    TerminalSuccess,
}

impl TemporalRule {
    /// The paper's words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            TemporalRule::HistoricalMaximum => "historical maximum",
            TemporalRule::TerminalState => "terminal current state",
            TemporalRule::TerminalSuccess => "terminal success",
        }
    }
}

impl Rule {
    /// All rules, in the order of the tables.
    pub const ALL: [Rule; 6] = [
        Rule::HistoricalMilestone,
        Rule::PredicateMax,
        Rule::CapeMax,
        Rule::Csps,
        Rule::LightweightCape,
        Rule::TerminalOutcome,
    ];

    /// The id used in every format.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Rule::TerminalOutcome => "terminal-outcome",
            Rule::HistoricalMilestone => "historical-milestone",
            Rule::PredicateMax => "predicate-max",
            Rule::CapeMax => "cape-max",
            Rule::Csps => "csps",
            Rule::LightweightCape => "lightweight-cape",
        }
    }

    /// The rule of an id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.id() == id)
    }

    /// The name that tables print.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Rule::TerminalOutcome => "Terminal Outcome",
            Rule::HistoricalMilestone => "Historical Milestone",
            Rule::PredicateMax => "Predicate-Max",
            Rule::CapeMax => "CAPE-Max",
            Rule::Csps => "CSPS",
            Rule::LightweightCape => "Lightweight CAPE",
        }
    }

    /// When it looks.
    #[must_use]
    pub fn temporal_rule(self) -> TemporalRule {
        match self {
            Rule::TerminalOutcome => TemporalRule::TerminalSuccess,
            Rule::HistoricalMilestone | Rule::PredicateMax | Rule::CapeMax => TemporalRule::HistoricalMaximum,
            Rule::Csps | Rule::LightweightCape => TemporalRule::TerminalState,
        }
    }

    /// Whether it asks who caused a predicate.
    #[must_use]
    pub fn uses_attribution(self) -> bool {
        matches!(self, Rule::CapeMax | Rule::LightweightCape)
    }

    /// Whether its score is a function of the certified vectors, so that Proposition 1 holds for it.
    #[must_use]
    pub fn is_matched_vector_control(self) -> bool {
        !matches!(self, Rule::HistoricalMilestone | Rule::PredicateMax | Rule::CapeMax)
    }

    /// The memory after the initial state.
    #[must_use]
    pub fn begin(self, frame: Frame) -> u32 {
        self.observe(0, frame)
    }

    /// The memory after one more state.
    #[must_use]
    pub fn observe(self, memory: u32, frame: Frame) -> u32 {
        match self {
            Rule::HistoricalMilestone => memory.max(frame.satisfied.count_ones()),
            Rule::PredicateMax => memory | frame.satisfied,
            Rule::CapeMax => memory.max(frame.credited.count_ones()),
            Rule::TerminalOutcome | Rule::Csps | Rule::LightweightCape => 0,
        }
    }

    /// Bits of memory for m predicates.
    #[must_use]
    pub fn memory_bits(self, m: u32) -> u32 {
        match self {
            Rule::HistoricalMilestone | Rule::CapeMax => u32::BITS - m.leading_zeros(),
            Rule::PredicateMax => m,
            Rule::TerminalOutcome | Rule::Csps | Rule::LightweightCape => 0,
        }
    }

    /// The score as a numerator over m, after the last state.
    #[must_use]
    pub fn numerator(self, m: u32, memory: u32, last: Frame) -> u32 {
        match self {
            Rule::TerminalOutcome if last.satisfied.count_ones() == m => m,
            Rule::TerminalOutcome => 0,
            Rule::HistoricalMilestone | Rule::CapeMax => memory,
            Rule::PredicateMax => memory.count_ones(),
            Rule::Csps => last.satisfied.count_ones(),
            Rule::LightweightCape => last.credited.count_ones(),
        }
    }

    /// The score of a whole trajectory: its initial frame and one after each event.
    #[must_use]
    pub fn score(self, m: u32, frames: &[Frame]) -> ExactScore {
        let memory = frames.iter().fold(0, |memory, frame| self.observe(memory, *frame));
        ExactScore::new(self.numerator(m, memory, frames.last().copied().unwrap_or_default()), m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(satisfied: u32, credited: u32) -> Frame {
        Frame { satisfied, credited, goal_version: 1 }
    }

    #[test]
    fn rules_part_where_they_should() {
        // Peaks of different predicates at different times; the second predicate is somebody else's work.
        let frames = [frame(0, 0), frame(0b001, 0b001), frame(0b110, 0b100), frame(0b010, 0)];
        let score = |rule: Rule| rule.score(3, &frames).to_string();
        assert_eq!(score(Rule::HistoricalMilestone), "2/3");
        assert_eq!(score(Rule::PredicateMax), "1");
        assert_eq!(score(Rule::CapeMax), "1/3");
        assert_eq!(score(Rule::Csps), "1/3");
        assert_eq!(score(Rule::LightweightCape), "0");
        assert_eq!(score(Rule::TerminalOutcome), "0");
        assert_eq!(Rule::TerminalOutcome.score(1, &[frame(1, 0)]).to_string(), "1");
    }

    #[test]
    fn ids_read_back() {
        for rule in Rule::ALL {
            assert_eq!(Rule::from_id(rule.id()), Some(rule));
        }
        assert_eq!(Rule::from_id("csp"), None);
    }
}
