//! The sizes of PyTorch's native allocator: rounding, pools, segments, and when a block is split.

use crate::policy::Pool;

/// Blocks are multiples of this, and segments begin at multiples of it, so every block is aligned
/// to it.
pub(super) const ROUNDING: u64 = 512;
/// The largest request of the small pool.
const SMALL: u64 = 1 << 20;
/// The segments of the small pool.
const SMALL_SEGMENT: u64 = 2 << 20;
/// The segments that large requests below `OWN_SEGMENT` share.
const SHARED_SEGMENT: u64 = 20 << 20;
/// Requests from this size on get a segment of their own.
const OWN_SEGMENT: u64 = 10 << 20;
/// Segments of their own are multiples of this: the granule in which the driver hands out memory.
const SEGMENT_ROUNDING: u64 = 2 << 20;

/// A request, rounded and assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// The bytes that a block must have.
    pub(super) rounded: u64,
    /// Where it is looked for.
    pub(super) pool: Pool,
}

impl Size {
    pub(super) fn of(requested: u64) -> Size {
        let rounded = round_up(requested.max(1), ROUNDING);
        Size { rounded, pool: if rounded <= SMALL { Pool::Small } else { Pool::Large } }
    }

    /// What to ask the source for when nothing that is kept fits.
    pub(super) fn segment(self) -> u64 {
        match self.pool {
            Pool::Small => SMALL_SEGMENT,
            Pool::Large if self.rounded < OWN_SEGMENT => SHARED_SEGMENT,
            Pool::Large => round_up(self.rounded, SEGMENT_ROUNDING),
        }
    }

    /// Whether a block that is larger by `rest` is split, or handed out whole.
    pub(super) fn splits(self, rest: u64) -> bool {
        match self.pool {
            Pool::Small => rest >= ROUNDING,
            Pool::Large => rest > SMALL,
        }
    }
}

/// The next multiple of `unit`, a power of two; the last one there is for sizes that no source can
/// serve anyway.
fn round_up(bytes: u64, unit: u64) -> u64 {
    bytes.checked_next_multiple_of(unit).unwrap_or(u64::MAX - (unit - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn requests_are_rounded_to_512_bytes() {
        assert_eq!([0, 1, 512, 513].map(|bytes| Size::of(bytes).rounded), [512, 512, 512, 1024]);
    }

    #[test]
    fn segments_are_2_mib_then_20_mib_then_as_large_as_needed() {
        let segment = |bytes| Size::of(bytes).segment();
        assert_eq!(segment(1), 2 * MIB);
        assert_eq!(segment(MIB), 2 * MIB);
        assert_eq!(segment(MIB + 1), 20 * MIB);
        assert_eq!(segment(10 * MIB - 512), 20 * MIB);
        assert_eq!(segment(10 * MIB), 10 * MIB);
        assert_eq!(segment(11 * MIB), 12 * MIB);
    }

    #[test]
    fn small_blocks_split_for_512_bytes_and_large_ones_for_more_than_1_mib() {
        assert!(Size::of(512).splits(512) && !Size::of(512).splits(0));
        assert!(Size::of(2 * MIB).splits(MIB + 512) && !Size::of(2 * MIB).splits(MIB));
    }

    #[test]
    fn sizes_near_the_end_of_the_numbers_do_not_wrap() {
        let size = Size::of(u64::MAX);
        assert!(size.rounded > u64::MAX - ROUNDING && size.segment() > u64::MAX - SEGMENT_ROUNDING);
    }
}
