//! How large blocks and segments are.

/// What block sizes are multiples of, and so what blocks are aligned to in their segments: a
/// device's transactions and the processor's cache lines end with a block.
const UNIT: u64 = 512;

/// What the operating system locks at least.
const PAGE: u64 = 4096;

/// To take less at a time would not pay: page-locking waits for all devices.
const LEAST_SEGMENT: u64 = 1 << 20;

/// The most that is taken beyond what a request needs.
const MOST_AHEAD: u64 = 64 << 20;

/// The size of a block for a request.
pub(super) fn of(bytes: u64) -> u64 {
    multiple(bytes.max(1), UNIT)
}

/// The least segment that holds a block.
pub(super) fn in_pages(size: u64) -> u64 {
    multiple(size, PAGE)
}

/// The segment to take for a block while so many bytes are in use. It grows with them, so that few
/// calls lead to a large amount, and is never more than an eighth ahead.
pub(super) fn segment(size: u64, active: u64) -> u64 {
    let ahead = (active / 8).min(MOST_AHEAD) / PAGE * PAGE;
    class(size.max(LEAST_SEGMENT)).max(ahead)
}

/// The least of the sizes that hold a block, of which there are eight between a power of two and the
/// next, from [`LEAST_SEGMENT`] on.
fn class(size: u64) -> u64 {
    multiple(size, 1 << ((size - 1).ilog2() - 3))
}

/// What no multiple holds becomes the largest: no source has that much.
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
        let of_a_page = |active| segment(PAGE, active);
        assert_eq!([0, 8 * MIB, 40 * MIB].map(of_a_page), [MIB, MIB, 5 * MIB]);
        assert_eq!(of_a_page(u64::MAX), 64 * MIB);
        assert_eq!(
            [3 * MIB, 3 * MIB + 1].map(|size| segment(size, 0)),
            [3 * MIB, 3 * MIB + MIB / 4]
        );
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(of(u64::MAX), u64::MAX - 511);
        assert_eq!(in_pages(of(u64::MAX)), u64::MAX - 4095);
        assert!(segment(of(u64::MAX), u64::MAX) > u64::MAX / 16 * 15);
    }

    proptest! {
        #[test]
        fn a_segment_of_its_own_wastes_less_than_an_eighth(bytes in MIB..1 << 50) {
            let segment = segment(of(bytes), 0);
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
