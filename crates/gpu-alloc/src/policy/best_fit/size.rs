//! The sizes of blocks and segments.

/// The unit of block sizes, and so what blocks are aligned to in their segments: a
/// device's transactions and the processor's cache lines end with a block.
const UNIT: u64 = 512;

/// The least that the operating system locks.
const PAGE: u64 = 4096;

/// The least that is taken at a time: page-locking waits for all devices, so less would not pay.
const MIN_SEGMENT: u64 = 1 << 20;

/// The most that is taken beyond what a request needs.
const MAX_AHEAD: u64 = 64 << 20;

/// The size of a block for a request.
pub(super) fn of(bytes: u64) -> u64 {
    multiple(bytes.max(1), UNIT)
}

/// The least segment that holds a block.
pub(super) fn in_pages(size: u64) -> u64 {
    multiple(size, PAGE)
}

/// The segment to take for a block while so many bytes are in use and so many are free. It holds
/// several such blocks if what is free stays an eighth of what is in use, so that few calls lead to a
/// large amount.
pub(super) fn segment(size: u64, active: u64, free: u64) -> u64 {
    // In proportion to what is in use, as a vector grows, so that few calls lead to a large amount. An
    // eighth bounds what is wasted.
    let usage = (active.saturating_add(size) / 8).min(MAX_AHEAD);
    let ahead = size.saturating_add(usage.saturating_sub(free));
    // A small request may be far less than a segment, but not again and again.
    let least = if free <= usage.saturating_add(size) { MIN_SEGMENT } else { 0 };
    // In whole pages, so that what rounds up to some of them is no more.
    match (ahead.max(least) / PAGE * PAGE) / size {
        0 | 1 => class(size),
        several if size * several > MIN_SEGMENT => in_pages(size * several),
        several => class(size * several),
    }
}

/// The least of the sizes that hold a block, of which there are eight between a power of two and the
/// next.
fn class(size: u64) -> u64 {
    multiple(size, (1_u64 << ((size - 1).ilog2() - 3)).max(PAGE))
}

/// A size that no multiple holds becomes the largest: no source has that much.
fn multiple(bytes: u64, unit: u64) -> u64 {
    bytes.checked_next_multiple_of(unit).unwrap_or(u64::MAX / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn segments_grow_with_what_is_in_use() {
        let of_a_page = |active| segment(PAGE, active, 0);
        assert_eq!([0, 8 * MIB - PAGE, 40 * MIB].map(of_a_page), [MIB, MIB + PAGE, 5 * MIB + PAGE]);
        assert_eq!(of_a_page(u64::MAX), 64 * MIB + PAGE);
        assert_eq!(
            [3 * MIB, 3 * MIB + 1].map(|size| segment(size, 0, 0)),
            [3 * MIB, 3 * MIB + MIB / 4]
        );
    }

    #[test]
    fn a_segment_is_several_times_its_request() {
        assert_eq!(segment(3 * MIB, 64 * MIB, 0), 9 * MIB);
        assert_eq!(segment(3 * MIB, 64 * MIB, 3 * MIB), 6 * MIB);
        assert_eq!(segment(3 * MIB, 64 * MIB, 64 * MIB), 3 * MIB);
        assert_eq!(segment(700 << 10, 0, 0), 704 << 10);
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(of(u64::MAX), u64::MAX - 511);
        assert_eq!(in_pages(of(u64::MAX)), u64::MAX - 4095);
        assert!(segment(of(u64::MAX), u64::MAX, u64::MAX) > u64::MAX / 16 * 15);
        assert!(segment(of(u64::MAX), 0, 0) > u64::MAX / 16 * 15);
    }

    #[test]
    fn what_small_requests_take_ahead_is_rounded_down_to_pages() {
        assert_eq!(segment(UNIT, 8 * MIB, 0), MIB);
        assert_eq!(segment(UNIT, 8 * MIB + 8 * PAGE, 0), MIB + PAGE);
    }

    proptest! {
        #[test]
        fn no_more_is_taken_ahead_than_an_eighth_of_what_is_in_use(
            size in prop_oneof![1..MIB, 1..1_u64 << 32],
            active in prop_oneof![0..64 * MIB, 0..1_u64 << 40],
            free in 0..8 * MIB,
        ) {
            let size = of(size);
            let most = size + ((active + size) / 8).min(MAX_AHEAD);
            prop_assert!(segment(size, active, free) <= most.max(class(size)).max(MIN_SEGMENT));
        }

        #[test]
        fn a_segment_of_its_own_wastes_less_than_an_eighth(bytes in MIB..1 << 50) {
            let segment = segment(of(bytes), 0, 0);
            prop_assert!(segment >= bytes && (segment - bytes) * 8 < bytes);
            prop_assert!(segment.is_multiple_of(PAGE));
        }

        #[test]
        fn a_block_of_a_page_or_more_wastes_less_than_an_eighth(bytes in PAGE..1 << 50) {
            let size = of(bytes);
            prop_assert!(size >= bytes && (size - bytes) * 8 < bytes);
            prop_assert_eq!(of(size), size);
            prop_assert!((in_pages(size) - bytes) < PAGE);
        }
    }
}
