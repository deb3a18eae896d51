//! The sizes of PyTorch's native allocator: rounding, pools, segments, and when a block is split.

use super::PytorchOptions;
use crate::policy::Pool;

// The constants of PyTorch's c10/cuda/CUDACachingAllocator.cpp (kMinBlockSize, kSmallSize,
// kSmallBuffer, kMinLargeAlloc, kRoundLarge): another value here is another policy, whose driver
// calls differ from the recorded ones in tests/data.

/// Blocks are multiples of this, and segments begin at multiples of it, so every block is aligned
/// to it.
pub(super) const ROUNDING: u64 = 512;
/// The largest request of the small pool.
const SMALL: u64 = 1 << 20;
/// The segments of the small pool.
const SMALL_SEGMENT: u64 = 2 << 20;
/// Requests from this size on get a segment of their own; smaller ones share.
const OWN_SEGMENT: u64 = 10 << 20;
/// Segments of their own are multiples of this: the granule in which the driver hands out memory.
const SEGMENT_ROUNDING: u64 = 2 << 20;

/// The sizes of blocks for requests, and of segments for blocks.
#[derive(Debug)]
pub(super) struct Sizes {
    options: PytorchOptions,
    /// The segments, or pages, of the large pool.
    large_segment: u64,
    /// Blocks from this size on are kept whole.
    max_split: u64,
    /// The bytes by which a block that is kept whole may be larger than the request.
    non_split_rounding: u64,
}

/// A request, rounded and assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestSize {
    /// The bytes that a block must have.
    pub(super) rounded: u64,
    /// The kind of segment that it is looked for in.
    pub(super) pool: Pool,
}

impl Sizes {
    pub(super) fn new(options: PytorchOptions) -> Sizes {
        Sizes {
            large_segment: options.large_segment(),
            max_split: options.max_split_size().unwrap_or(u64::MAX),
            non_split_rounding: options.non_split_rounding(),
            options,
        }
    }

    pub(super) fn options(&self) -> &PytorchOptions {
        &self.options
    }

    /// The size from which on blocks are kept whole, or the largest number.
    pub(super) fn max_split(&self) -> u64 {
        self.max_split
    }

    pub(super) fn of(&self, requested: u64) -> RequestSize {
        let requested = requested.max(1);
        let rounded = match self.options.divisions(requested) {
            divisions if divisions > 1 && requested > ROUNDING.saturating_mul(divisions) => {
                round_up(requested, (1 << requested.ilog2()) / divisions)
            }
            _ => round_up(requested, ROUNDING),
        };
        RequestSize { rounded, pool: if rounded <= SMALL { Pool::Small } else { Pool::Large } }
    }

    /// The size to ask the source for when nothing that is kept fits.
    pub(super) fn segment(&self, size: RequestSize) -> u64 {
        match size.pool {
            Pool::Small => SMALL_SEGMENT,
            Pool::Large if size.rounded < OWN_SEGMENT => self.large_segment,
            Pool::Large => round_up(size.rounded, SEGMENT_ROUNDING),
        }
    }

    /// The bytes that a request takes of the source at addresses where there is nothing.
    pub(super) fn fresh(&self, size: RequestSize, is_expandable: bool) -> u64 {
        match is_expandable {
            true => round_up(size.rounded, self.page(size.pool)),
            false => self.segment(size),
        }
    }

    /// The unit in which expandable segments grow.
    pub(super) fn page(&self, pool: Pool) -> u64 {
        match pool {
            Pool::Small => SMALL_SEGMENT,
            Pool::Large => self.large_segment,
        }
    }

    /// Whether a block may serve a request that it is large enough for: large blocks are kept for
    /// large requests, and not given to those that would waste much of them.
    pub(super) fn suits(&self, size: RequestSize, block: u64) -> bool {
        block <= self.largest_suitable(size)
    }

    /// The largest block that may serve a request.
    pub(super) fn largest_suitable(&self, size: RequestSize) -> u64 {
        match size.rounded < self.max_split {
            true => self.max_split - 1,
            false => size.rounded.saturating_add(self.non_split_rounding - 1),
        }
    }

    /// Whether a block that is larger by `rest` is split, or handed out whole.
    pub(super) fn splits(&self, size: RequestSize, rest: u64, is_expandable: bool) -> bool {
        match size.pool {
            // A rest of up to 1 MiB of a large segment is of no use: requests of that size look in
            // small segments only. In an expandable one it can grow, so any rest is kept.
            Pool::Large if !is_expandable => rest > SMALL && size.rounded < self.max_split,
            _ => rest >= ROUNDING,
        }
    }
}

/// The next multiple of `unit`; the last one there is for sizes that no source can serve anyway.
fn round_up(bytes: u64, unit: u64) -> u64 {
    bytes.checked_next_multiple_of(unit).unwrap_or(u64::MAX - u64::MAX % unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn sizes(options: &str) -> Sizes {
        Sizes::new(options.parse().expect("the options are well formed"))
    }

    fn rounded<const N: usize>(options: &str, bytes: [u64; N]) -> [u64; N] {
        bytes.map(|bytes| sizes(options).of(bytes).rounded)
    }

    #[test]
    fn requests_are_rounded_to_512_bytes() {
        assert_eq!(rounded("", [0, 1, 512, 513]), [512, 512, 512, 1024]);
    }

    #[test]
    fn divisions_round_to_steps_between_powers_of_two() {
        let four = "roundup_power2_divisions:4";
        assert_eq!(rounded(four, [1200, 2048, 2049, 4096, 4097]), [1536, 2048, 2560, 4096, 5120]);
        assert_eq!(rounded(four, [9 * MIB, 10 * MIB + 1]), [10 * MIB, 12 * MIB]);
        assert_eq!(rounded("roundup_power2_divisions:1", [9 * MIB - 1]), [9 * MIB]);
    }

    #[test]
    fn divisions_may_differ_by_size() {
        let list = "roundup_power2_divisions:[4:2,16:1,>:4]";
        let sizes = [3 * MIB / 2 + 1, 5 * MIB, 9 * MIB, 17 * MIB, 33 * MIB];
        assert_eq!(rounded(list, sizes), [2 * MIB, 6 * MIB, 9 * MIB, 20 * MIB, 40 * MIB]);
    }

    #[test]
    fn segments_are_2_mib_then_20_mib_then_as_large_as_needed() {
        let sizes = sizes("");
        let segment = |bytes| sizes.segment(sizes.of(bytes));
        assert_eq!(segment(1), 2 * MIB);
        assert_eq!(segment(MIB), 2 * MIB);
        assert_eq!(segment(MIB + 1), 20 * MIB);
        assert_eq!(segment(10 * MIB - 512), 20 * MIB);
        assert_eq!(segment(10 * MIB), 10 * MIB);
        assert_eq!(segment(11 * MIB), 12 * MIB);
    }

    #[test]
    fn small_blocks_split_for_512_bytes_and_large_ones_for_more_than_1_mib() {
        let sizes = sizes("");
        let splits = |bytes, rest, expandable| sizes.splits(sizes.of(bytes), rest, expandable);
        assert!(splits(512, 512, false) && !splits(512, 0, false));
        assert!(splits(2 * MIB, MIB + 512, false) && !splits(2 * MIB, MIB, false));
        assert!(splits(2 * MIB, 512, true));
    }

    #[test]
    fn oversize_blocks_are_not_split_and_serve_requests_of_about_their_size() {
        let sizes = sizes("max_split_size_mb:64,max_non_split_rounding_mb:30");
        let (small, large) = (sizes.of(63 * MIB), sizes.of(64 * MIB));
        assert!(sizes.splits(small, 20 * MIB, false) && !sizes.splits(large, 20 * MIB, false));
        assert!(sizes.suits(small, 64 * MIB - 1) && !sizes.suits(small, 64 * MIB));
        assert!(sizes.suits(large, 94 * MIB - 1) && !sizes.suits(large, 94 * MIB));
    }

    #[test]
    fn sizes_near_the_end_of_the_numbers_do_not_wrap() {
        let sizes = sizes("");
        let size = sizes.of(u64::MAX);
        assert!(size.rounded > u64::MAX - ROUNDING);
        assert!(sizes.segment(size) > u64::MAX - SEGMENT_ROUNDING);
        assert!(rounded("roundup_power2_divisions:4", [u64::MAX]) > [u64::MAX / 8 * 7]);
    }
}
