//! Free address ranges: best fit, with merging.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A set of free address ranges, none of which touch but at multiples of `seam`.
///
/// Taking and giving back cost a logarithm of the number of ranges.
#[derive(Debug)]
pub(in crate::device) struct Ranges {
    seam: u64,
    /// Sizes by address.
    by_address: BTreeMap<u64, u64>,
    /// (size, address), so that the first that fits is the best, and the lowest among equals.
    by_size: BTreeSet<(u64, u64)>,
}

impl Ranges {
    /// An empty set, in which ranges do not merge across multiples of `seam`.
    pub(in crate::device) fn with_seam(seam: u64) -> Ranges {
        Ranges { seam, by_address: BTreeMap::new(), by_size: BTreeSet::new() }
    }

    /// One free range.
    pub(in crate::device) fn new(range: Range<u64>) -> Ranges {
        let mut ranges = Ranges::with_seam(u64::MAX);
        ranges.insert(range.start, range.end - range.start);
        ranges
    }

    /// Takes `bytes` from the start of the smallest range that has them.
    pub(in crate::device) fn take(&mut self, bytes: u64) -> Option<u64> {
        let &(size, address) = self.by_size.range((bytes, 0)..).next()?;
        self.remove(address, size);
        self.insert(address + bytes, size - bytes);
        Some(address)
    }

    /// Takes `bytes` at a multiple of `alignment`, a power of two, from the smallest range that has
    /// room for them.
    pub(in crate::device) fn take_aligned(&mut self, bytes: u64, alignment: u64) -> Option<u64> {
        let fitting = self.by_size.range((bytes, 0)..).find_map(|&(size, address)| {
            let start = address.checked_next_multiple_of(alignment)?;
            (start.checked_add(bytes)? <= address + size).then_some(start)
        })?;
        self.take_at(fitting..fitting + bytes).then_some(fitting)
    }

    /// Takes just this range. False if not all of it is free.
    pub(in crate::device) fn take_at(&mut self, range: Range<u64>) -> bool {
        let before = self.by_address.range(..=range.start).next_back();
        let Some((&address, &size)) = before.filter(|(a, size)| *a + *size >= range.end) else {
            return false;
        };
        self.remove(address, size);
        self.insert(address, range.start - address);
        self.insert(range.end, address + size - range.end);
        true
    }

    /// Gives a range back, which was taken, and returns the free range that it is now part of.
    pub(in crate::device) fn give(&mut self, range: Range<u64>) -> Range<u64> {
        let Range { mut start, mut end } = range;
        let before = self.by_address.range(..start).next_back().map(|(&a, &size)| (a, size));
        if let Some((address, size)) = before
            && address + size == start
            && !self.is_seam(start)
        {
            self.remove(address, size);
            start = address;
        }
        if let Some(&size) = self.by_address.get(&end)
            && !self.is_seam(end)
        {
            self.remove(end, size);
            end += size;
        }
        self.insert(start, end - start);
        start..end
    }

    /// Takes one whole free range out.
    pub(in crate::device) fn take_range(&mut self, range: &Range<u64>) {
        self.remove(range.start, range.end - range.start);
    }

    fn is_seam(&self, address: u64) -> bool {
        address.is_multiple_of(self.seam)
    }

    fn insert(&mut self, address: u64, bytes: u64) {
        if bytes > 0 {
            self.by_address.insert(address, bytes);
            self.by_size.insert((bytes, address));
        }
    }

    fn remove(&mut self, address: u64, bytes: u64) {
        self.by_address.remove(&address);
        self.by_size.remove(&(bytes, address));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    #[test]
    fn the_smallest_range_that_fits_is_taken_and_its_rest_stays_free() {
        let mut ranges = Ranges::new(0..100);
        let taken: Vec<_> = (0..4).map(|_| ranges.take(20)).collect();
        assert_eq!(taken, [Some(0), Some(20), Some(40), Some(60)]);
        ranges.give(20..40);
        assert_eq!(ranges.give(0..20), 0..40);
        // Free now: 0..40 and 80..100.
        assert_eq!(ranges.take(15), Some(80));
        assert_eq!(ranges.take(30), Some(0));
        assert_eq!(ranges.take(11), None);
    }

    #[test]
    fn what_was_given_back_merges_on_both_sides() {
        let mut ranges = Ranges::new(0..90);
        for address in [0, 30, 60] {
            assert_eq!(ranges.take(30), Some(address));
        }
        assert_eq!(ranges.give(0..30), 0..30);
        assert_eq!(ranges.give(60..90), 60..90);
        assert_eq!(ranges.give(30..60), 0..90);
    }

    #[test]
    fn a_range_is_taken_at_an_address_or_at_a_multiple_if_it_is_free_there() {
        let mut ranges = Ranges::new(10..100);
        assert!(ranges.take_at(50..60));
        assert!(!ranges.take_at(55..65));
        assert!(!ranges.take_at(90..101));
        assert_eq!(ranges.take_aligned(20, 32), Some(64));
        assert_eq!(ranges.take_aligned(32, 32), None);
        assert_eq!(ranges.take_aligned(8, 16), Some(16));
    }

    #[test]
    fn ranges_do_not_merge_across_a_seam() {
        let mut ranges = Ranges::with_seam(100);
        assert_eq!(ranges.give(200..300), 200..300);
        assert_eq!(ranges.give(100..150), 100..150);
        assert_eq!(ranges.give(150..200), 100..200);
        ranges.take_range(&(100..200));
        assert_eq!(ranges.take(100), Some(200));
        assert_eq!(ranges.take(1), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn taken_ranges_never_overlap_and_everything_comes_back(
            steps in prop::collection::vec((any::<bool>(), 1_u64..64, any::<Index>()), 1..200)
        ) {
            let mut ranges = Ranges::new(1000..3000);
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for (take, bytes, index) in steps {
                if take {
                    if let Some(address) = ranges.take(bytes) {
                        prop_assert!(address >= 1000 && address + bytes <= 3000);
                        let apart = |&(a, b): &(u64, u64)| address + bytes <= a || a + b <= address;
                        prop_assert!(taken.iter().all(apart));
                        taken.push((address, bytes));
                    }
                } else if !taken.is_empty() {
                    let (address, bytes) = taken.swap_remove(index.index(taken.len()));
                    ranges.give(address..address + bytes);
                }
            }
            for (address, bytes) in taken {
                ranges.give(address..address + bytes);
            }
            prop_assert_eq!(ranges.take(2000), Some(1000));
        }
    }
}
