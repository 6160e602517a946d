//! Observations grouped by task: the unit that is resampled and over which macro means are taken.

use std::collections::BTreeMap;

/// Observations in clusters; clusters in the order of their names, members in the order given, no cluster empty.
///
/// ```
/// use parthack_statistics::Clusters;
/// let clusters = Clusters::from_pairs([("b", 1), ("a", 2), ("b", 3)]);
/// assert_eq!(clusters.names(), ["a", "b"]);
/// assert_eq!(clusters.members(1), [1, 3]);
/// assert_eq!(clusters.drawn(&[1, 1]).collect::<Vec<_>>(), [&1, &3, &1, &3]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clusters<K, T> {
    names: Vec<K>,
    members: Vec<Vec<T>>,
}

impl<K: Ord, T> Clusters<K, T> {
    /// Groups observations by cluster; in which order clusters first appear does not matter.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (K, T)>) -> Clusters<K, T> {
        let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
        for (name, observation) in pairs {
            groups.entry(name).or_default().push(observation);
        }
        let (names, members) = groups.into_iter().unzip();
        Clusters { names, members }
    }

    /// The observations that `select` keeps, as it makes them; a cluster that has none left is dropped.
    pub fn filter_map<U>(&self, mut select: impl FnMut(&T) -> Option<U>) -> Clusters<K, U>
    where
        K: Clone,
    {
        let mut kept = Clusters { names: Vec::new(), members: Vec::new() };
        for (name, members) in self.names.iter().zip(&self.members) {
            let members: Vec<U> = members.iter().filter_map(&mut select).collect();
            if !members.is_empty() {
                kept.names.push(name.clone());
                kept.members.push(members);
            }
        }
        kept
    }
}

impl<K, T> Clusters<K, T> {
    /// The number of clusters.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no observations.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The number of observations.
    pub fn observations(&self) -> usize {
        self.members.iter().map(Vec::len).sum()
    }

    /// The clusters' names, in ascending order.
    pub fn names(&self) -> &[K] {
        &self.names
    }

    /// The members of one cluster; none beyond the last.
    pub fn members(&self, cluster: usize) -> &[T] {
        self.members.get(cluster).map_or(&[], Vec::as_slice)
    }

    /// Name and members of each cluster.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &[T])> {
        self.names.iter().zip(self.members.iter().map(Vec::as_slice))
    }

    /// All observations, cluster by cluster.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.members.iter().flatten()
    }

    /// The observations of a resample: of each drawn cluster all, in the order drawn.
    pub fn drawn<'a>(&'a self, draws: &'a [u32]) -> impl Iterator<Item = &'a T> {
        draws.iter().flat_map(|cluster| self.members(*cluster as usize))
    }
}
