//! Arithmetic of pages.

use std::ops::Range;

/// The size of a page: what virtual memory is mapped in.
pub(super) const PAGE: u64 = 2 << 20;

/// The most pages of a chunk. More cost fewer calls to the driver; fewer are less often held in
/// part, when the rest cannot move.
pub(super) const MAX_CHUNK_PAGES: u64 = 4;

/// The pages that a range of addresses touches.
#[inline]
pub(super) fn touched(start: u64, end: u64) -> Range<u64> {
    start / PAGE..end.div_ceil(PAGE)
}

/// The pages that lie in a range of addresses as a whole.
pub(super) fn whole(start: u64, end: u64) -> Range<u64> {
    let first = start.div_ceil(PAGE);
    first..(end / PAGE).max(first)
}

/// The number of pages that a block would take of those that nobody holds anything of.
///
/// It lies in free space from `space.start` to `space.end`, with held memory before and after. So
/// the page of either end is taken already if the end is not where the page begins or ends.
#[inline]
pub(super) fn newly_taken(space: &Range<u64>, block: &Range<u64>) -> u64 {
    let pages = touched(block.start, block.end);
    let [first, last] = [space.start, space.end]
        .map(|edge| (!edge.is_multiple_of(PAGE)).then_some(edge / PAGE))
        .map(|page| page.filter(|page| pages.contains(page)));
    let taken = u64::from(first.is_some()) + u64::from(last.is_some() && last != first);
    pages.end - pages.start - taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_the_edges_are_taken_already() {
        let at = |page: u64, part: u64| page * PAGE + part;
        let space = at(1, 100)..at(5, 100);
        assert_eq!(newly_taken(&space, &(at(1, 100)..at(1, 200))), 0);
        assert_eq!(newly_taken(&space, &(at(1, 100)..at(2, 200))), 1);
        assert_eq!(newly_taken(&space, &(at(4, 0)..at(5, 100))), 1);
        assert_eq!(newly_taken(&space, &(at(2, 0)..at(4, 0))), 2);
        assert_eq!(newly_taken(&space, &space), 3);
        assert_eq!(newly_taken(&(at(1, 0)..at(3, 0)), &(at(1, 0)..at(2, 1))), 2);
        assert_eq!(newly_taken(&(at(1, 5)..at(1, 9)), &(at(1, 5)..at(1, 9))), 0);
        assert_eq!(newly_taken(&(at(1, 0)..at(1, 9)), &(at(1, 0)..at(1, 9))), 0);
    }

    #[test]
    fn whole_pages_may_be_none() {
        assert_eq!(whole(PAGE + 1, 2 * PAGE - 1).count(), 0);
        assert_eq!(whole(PAGE, 3 * PAGE), 1..3);
    }
}
