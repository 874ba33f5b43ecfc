//! Distributes a shard's tabs over its bundles.

use std::ops::Range;

/// Distributes `tabs` over `bundles` in order. The lengths of the returned ranges differ by at most
/// one.
#[must_use]
pub fn spread(tabs: usize, bundles: usize) -> Vec<Range<usize>> {
    // The product of two `usize` values fits into `u128`.
    let cut = |bundle: usize| (bundle as u128 * tabs as u128 / (bundles.max(1) as u128)) as usize;
    (0..bundles).map(|bundle| cut(bundle)..cut(bundle + 1)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_tabs_leave_empty_bundles_between() {
        assert_eq!(spread(2, 4), [0..0, 0..1, 1..1, 1..2]);
        assert_eq!(spread(0, 2), [0..0, 0..0]);
        assert_eq!(spread(5, 0), []);
    }

    proptest! {
        #[test]
        fn ranges_join_cover_everything_and_differ_by_one(
            tabs in 0usize..10_000,
            bundles in 1usize..300,
        ) {
            let ranges = spread(tabs, bundles);
            prop_assert_eq!(ranges.len(), bundles);
            prop_assert_eq!((ranges[0].start, ranges[bundles - 1].end), (0, tabs));
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            let least = tabs / bundles;
            prop_assert!(ranges.iter().all(|range| (least..=least + 1).contains(&range.len())));
        }
    }
}
