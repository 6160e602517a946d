//! Counts over checklists: items a task, shares of routes and categories (G §3.2).

use std::collections::BTreeMap;

use crate::checklist::{Category, Checklist, Route};
use crate::ratio::Ratio;

/// Counts over the checklists of some tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteStatistics {
    /// Tasks.
    pub tasks: usize,
    /// Items of all tasks.
    pub items: usize,
    /// Fewest and most items a task; `None` without tasks.
    pub range: Option<(usize, usize)>,
    /// Twice the median of items a task, so that it is whole; `None` without tasks.
    pub twice_median: Option<usize>,
    /// Items of each route, those without any too.
    pub routes: BTreeMap<Route, usize>,
    /// Items of each category; `None` for items that have none yet.
    pub categories: BTreeMap<Option<Category>, usize>,
}

/// Counts.
#[must_use]
pub fn statistics<'c>(checklists: impl IntoIterator<Item = &'c Checklist>) -> RouteStatistics {
    let mut sizes = Vec::new();
    let mut routes: BTreeMap<Route, usize> = Route::WORDS.iter().map(|(_, route)| (*route, 0)).collect();
    let mut categories: BTreeMap<Option<Category>, usize> = BTreeMap::new();
    for checklist in checklists {
        sizes.push(checklist.items.len());
        for item in &checklist.items {
            *routes.entry(item.route).or_default() += 1;
            *categories.entry(item.category).or_default() += 1;
        }
    }
    sizes.sort_unstable();
    let middle = sizes.len() / 2;
    let twice_median = match sizes.len() {
        0 => None,
        count if count % 2 == 1 => Some(2 * sizes[middle]),
        _ => Some(sizes[middle - 1] + sizes[middle]),
    };
    RouteStatistics {
        tasks: sizes.len(),
        items: sizes.iter().sum(),
        range: sizes.first().copied().zip(sizes.last().copied()),
        twice_median,
        routes,
        categories,
    }
}

impl RouteStatistics {
    /// A route's share of all items; `None` without items.
    #[must_use]
    pub fn share(&self, route: Route) -> Option<Ratio> {
        Ratio::of(self.routes.get(&route).copied().unwrap_or_default(), self.items)
    }
}
