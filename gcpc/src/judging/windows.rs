//! Long logs in windows: as many lines as a budget allows, each window beginning with the end of the one before.

use std::ops::Range;

/// A budget below this is raised to it.
pub const LEAST_WINDOW: usize = 96;

/// Budgets in tokens, by [`crate::block::tokens`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The most tokens of a window, at least [`LEAST_WINDOW`].
    pub window: usize,
    /// The most tokens that a window repeats of the one before, at most half a window.
    pub overlap: usize,
}

impl Budget {
    /// The budget within its bounds.
    #[must_use]
    pub fn bounded(self) -> Budget {
        let window = self.window.max(LEAST_WINDOW);
        Budget { window, overlap: self.overlap.min(window / 2) }
    }

    /// The most tokens of a line: a longer one is cut. A quarter of a window, so that the overlap and the next line always fit.
    #[must_use]
    pub fn line(self) -> usize {
        self.bounded().window / 4
    }
}

/// The windows over lines of these costs. Each line is in at least one, each window has at least one line that no earlier one has, and none costs
/// more than the budget where no line costs more than half of it. Without lines there is no window.
#[must_use]
pub fn windows(costs: &[usize], budget: Budget) -> Vec<Range<usize>> {
    let Budget { window, overlap } = budget.bounded();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    while start < costs.len() {
        let reached = found.last().map_or(0, |last| last.end);
        let (mut end, mut cost) = (start, 0);
        // What an earlier window has and the first new line go in whatever they cost.
        while end < costs.len() && (cost + costs[end] <= window || end <= reached) {
            cost += costs[end];
            end += 1;
        }
        found.push(start..end);
        if end == costs.len() {
            break;
        }
        let mut repeated = 0;
        start = end;
        while start > 0 && repeated + costs[start - 1] <= overlap {
            start -= 1;
            repeated += costs[start];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_overlap() {
        let budget = Budget { window: 100, overlap: 25 };
        assert_eq!(windows(&[10; 5], budget), vec![Range { start: 0, end: 5 }]);
        assert_eq!(windows(&[20; 12], budget), [0..5, 4..9, 8..12]);
        assert_eq!(windows(&[20; 12], Budget { window: 100, overlap: 0 }), [0..5, 5..10, 10..12]);
        assert!(windows(&[], budget).is_empty());
        assert_eq!(windows(&[500, 1, 500], budget), [0..1, 1..2, 1..3]);
    }

    proptest! {
        #[test]
        fn what_holds_for_all_windows(costs in proptest::collection::vec(0_usize..48, 0..200), window in 0_usize..400, overlap in 0_usize..300) {
            let budget = Budget { window, overlap };
            let bounded = budget.bounded();
            let found = windows(&costs, budget);
            let cost = |range: &Range<usize>| costs[range.clone()].iter().sum::<usize>();
            prop_assert_eq!(found.is_empty(), costs.is_empty());
            let mut reached = 0;
            for range in &found {
                prop_assert!(range.start <= reached && range.end > reached, "no gap, and something new");
                prop_assert!(cost(range) <= bounded.window);
                prop_assert!(cost(&(range.start..reached)) <= bounded.overlap);
                // The overlap is as long as it may be.
                if range.start > 0 {
                    prop_assert!(cost(&(range.start - 1..reached)) > bounded.overlap);
                }
                // The window is as long as it may be.
                if range.end < costs.len() {
                    prop_assert!(cost(&(range.start..range.end + 1)) > bounded.window);
                }
                reached = range.end;
            }
            prop_assert_eq!(reached, costs.len());
        }
    }
}
