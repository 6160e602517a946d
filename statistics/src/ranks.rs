//! Ranks with ties, as integers.

/// The level of each value among the distinct values, from 0, and how many levels there are.
///
/// Levels have the order of the values and nothing else of them, so any statistic of order alone is the same on them.
pub fn levels<T: Ord>(values: &[T]) -> (Vec<u32>, usize) {
    let mut levels = vec![0_u32; values.len()];
    let mut count = 0;
    for group in groups(values) {
        for index in group {
            levels[index] = count as u32;
        }
        count += 1;
    }
    (levels, count)
}

/// Twice the mid-rank of each value, counted from 1: tied values share the mean of the ranks they take together.
///
/// ```
/// use parthack_statistics::ranks::doubled_mid_ranks;
/// assert_eq!(doubled_mid_ranks(&[30, 10, 30]), [5, 2, 5]);
/// ```
pub fn doubled_mid_ranks<T: Ord>(values: &[T]) -> Vec<i128> {
    let mut ranks = vec![0_i128; values.len()];
    let mut before = 0_i128;
    for group in groups(values) {
        let size = group.len() as i128;
        for index in group {
            ranks[index] = 2 * before + size + 1;
        }
        before += size;
    }
    ranks
}

/// The sizes of the groups of equal values, in ascending order of the values.
pub(crate) fn tie_sizes<T: Ord>(values: &[T]) -> Vec<i128> {
    groups(values).iter().map(|group| group.len() as i128).collect()
}

/// Indices of equal values together, in ascending order of the values.
fn groups<T: Ord>(values: &[T]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].cmp(&values[*b]));
    order.chunk_by(|a, b| values[*a] == values[*b]).map(<[usize]>::to_vec).collect()
}
