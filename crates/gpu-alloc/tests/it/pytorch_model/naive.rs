//! What the model works out anew each time: what fits, what is unused, what the figures are.

use std::ops::Range;

use gpu_alloc::policy::{
    BlockSnapshot, BlockState, Pool, PoolStatistics, Pytorch, SegmentSnapshot, StreamAndPool,
};

use super::MIB;
use crate::device_model::DeviceModel;

/// What PyTorch does differently, by its options.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// From which size on blocks are kept whole.
    pub(super) max_split: u64,
    /// Whether segments expand.
    pub(super) expandable: bool,
}

/// What a block that is kept whole may be larger than the request.
const NON_SPLIT_ROUNDING: u64 = 20 * MIB;

impl Rules {
    /// The hole that a request gets: its address and size. The smallest that fits, the lowest among
    /// equals; with expandable segments, a larger one that has less room to grow.
    pub(super) fn best_fit(
        self,
        segments: &[SegmentSnapshot<usize>],
        device: &DeviceModel,
        bytes: u64,
        home: StreamAndPool<usize>,
    ) -> Option<(u64, u64)> {
        let of_home = segments
            .iter()
            .filter(|segment| (segment.stream, segment.pool) == (Some(home.stream), home.pool))
            .filter(|segment| segment.segment_type == pool(bytes));
        let inactive = |block: &&_| is_inactive(block);
        let mut holes: Vec<_> = of_home
            .flat_map(|segment| segment.blocks.iter().filter(inactive))
            .filter(|block| block.size >= rounded(bytes))
            .map(|block| (block.size, block.address.0))
            .collect();
        holes.sort_unstable();
        let mut best = *holes.first()?;
        for hole in &holes[1..] {
            if !self.expandable || room(*hole, device) >= room(best, device) {
                break;
            }
            best = *hole;
        }
        let (size, address) = best;
        let suits = match rounded(bytes) {
            small if small < self.max_split => size < self.max_split,
            large => size < large + NON_SPLIT_ROUNDING,
        };
        suits.then_some((address, size))
    }

    /// How much of a hole a request is given.
    pub(super) fn handed_out(self, bytes: u64, hole: u64) -> u64 {
        let rest = hole - rounded(bytes);
        let splits = match pool(bytes) {
            Pool::Large if !self.expandable => rest > MIB && rounded(bytes) < self.max_split,
            _ => rest >= 512,
        };
        if splits { rounded(bytes) } else { hole }
    }
}

/// How far a hole could grow, into addresses of its range behind it that have no memory.
fn room((size, address): (u64, u64), device: &DeviceModel) -> u64 {
    let end = address + size;
    let range = reservations(device).find(|range| range.contains(&address));
    let range = range.expect("a hole is in a range");
    let next = device.mappings().find(|(start, _, bytes)| start.0 + bytes > end);
    next.map_or(range.end, |(start, ..)| start.0.clamp(end, range.end)) - address
}

/// The ranges of addresses that are reserved.
pub(super) fn reservations(device: &DeviceModel) -> impl Iterator<Item = Range<u64>> {
    device.reservations().map(|(address, bytes)| address.0..address.0 + bytes)
}

/// The plain segments, and what is mapped in each range without a gap.
pub(super) fn pieces(device: &DeviceModel) -> Vec<Range<u64>> {
    let mut pieces: Vec<_> =
        device.segments().map(|(address, bytes)| address.0..address.0 + bytes).collect();
    for range in reservations(device) {
        let mapped = device.mappings().filter(|(address, ..)| range.contains(&address.0));
        for (position, (address, _, bytes)) in mapped.enumerate() {
            match pieces.last_mut() {
                Some(last) if position > 0 && last.end == address.0 => last.end += bytes,
                _ => pieces.push(address.0..address.0 + bytes),
            }
        }
    }
    pieces.sort_unstable_by_key(|piece| piece.start);
    pieces
}

pub(super) fn addresses(segment: &SegmentSnapshot<usize>) -> Range<u64> {
    segment.address.0..segment.address.0 + segment.total_size
}

/// Whether nobody uses a plain segment, or a page of one that expands.
pub(super) fn has_unused(segment: &SegmentSnapshot<usize>, device: &DeviceModel) -> bool {
    if !segment.is_expandable {
        return segment.active_size == 0;
    }
    let range = reservations(device).find(|range| range.contains(&segment.address.0));
    let range = range.expect("a segment is in a range");
    let page = match segment.segment_type {
        Pool::Small => 2 * MIB,
        Pool::Large => 20 * MIB,
    };
    let holds_a_page = |address: u64, size: u64| {
        let first = range.start + (address - range.start).next_multiple_of(page);
        first + page <= address + size
    };
    let mut inactive = segment.blocks.iter().filter(|block| is_inactive(block));
    inactive.any(|block| holds_a_page(block.address.0, block.size))
}

/// The blocks fill the segment, and no two neighbours are both free.
pub(super) fn check_segment(segment: &SegmentSnapshot<usize>) {
    let mut end = segment.address.0;
    for block in &segment.blocks {
        assert_eq!(block.address.0, end);
        end += block.size;
    }
    assert_eq!(end, segment.address.0 + segment.total_size);
    let inactive = |state| state == BlockState::Inactive;
    let unmerged = |pair: &[_]| matches!(pair, [a, b] if inactive(*a) && inactive(*b));
    let states: Vec<_> = segment.blocks.iter().map(|block| block.state).collect();
    assert!(!states.windows(2).any(unmerged), "merge completeness");
}

pub(super) fn check_statistics(policy: &Pytorch<usize>, segments: &[SegmentSnapshot<usize>]) {
    let statistics = policy.statistics();
    for pool in [Pool::Small, Pool::Large] {
        let segments: Vec<_> = segments.iter().filter(|s| s.segment_type == pool).collect();
        let blocks: Vec<_> = segments.iter().flat_map(|segment| &segment.blocks).collect();
        let count = |keep: fn(BlockState) -> bool| {
            let kept: Vec<_> = blocks.iter().filter(|block| keep(block.state)).collect();
            (kept.len() as u64, kept.iter().map(|block| block.size).sum::<u64>())
        };
        let current = |family: &PoolStatistics| family.of(pool).current;
        let allocated = count(|state| state == BlockState::ActiveAllocated);
        assert_eq!(
            (current(&statistics.allocation), current(&statistics.allocated_bytes)),
            allocated
        );
        let active = count(|state| state != BlockState::Inactive);
        assert_eq!((current(&statistics.active), current(&statistics.active_bytes)), active);
        let requested: u64 = blocks.iter().map(|block| block.requested_size).sum();
        assert_eq!(current(&statistics.requested_bytes), requested);
        let reserved: u64 = segments.iter().map(|segment| segment.total_size).sum();
        assert_eq!(current(&statistics.reserved_bytes), reserved);
        let plain: Vec<_> = segments.iter().filter(|segment| !segment.is_expandable).collect();
        assert_eq!(current(&statistics.segment), plain.len() as u64);
        let split = plain.iter().filter(|s| s.active_size > 0).flat_map(|s| &s.blocks);
        let split: Vec<_> =
            split.filter(|b| b.state == BlockState::Inactive).map(|b| b.size).collect();
        let inactive = (split.len() as u64, split.iter().sum());
        let of_policy =
            (current(&statistics.inactive_split), current(&statistics.inactive_split_bytes));
        assert_eq!(of_policy, inactive);
    }
    let is_oversize = |size: u64| statistics.max_split_size.is_some_and(|least| size >= least);
    let blocks = segments.iter().flat_map(|segment| &segment.blocks);
    let oversize = blocks.filter(|b| b.state == BlockState::ActiveAllocated && is_oversize(b.size));
    assert_eq!(statistics.oversize_allocations.current, oversize.count() as u64);
    let oversize = segments.iter().filter(|s| !s.is_expandable && is_oversize(s.total_size));
    assert_eq!(statistics.oversize_segments.current, oversize.count() as u64);
    for family in [&statistics.allocation, &statistics.active_bytes, &statistics.inactive_split] {
        let [all, large, small] = [family.all, family.large_pool, family.small_pool];
        assert_eq!(all.current, large.current + small.current);
        assert_eq!(all.current, all.allocated - all.freed);
        assert!(all.peak >= all.current && all.peak <= large.peak + small.peak);
    }
}

fn is_inactive<K>(block: &BlockSnapshot<K>) -> bool {
    block.state == BlockState::Inactive
}

pub(super) fn rounded(bytes: u64) -> u64 {
    bytes.next_multiple_of(512)
}

fn pool(bytes: u64) -> Pool {
    if rounded(bytes) <= MIB { Pool::Small } else { Pool::Large }
}

pub(super) fn home(segments: &[SegmentSnapshot<usize>], address: u64) -> usize {
    let holds = |segment: &&SegmentSnapshot<usize>| {
        (segment.address.0..segment.address.0 + segment.total_size).contains(&address)
    };
    let segment = segments.iter().find(holds).expect("every block is in a segment");
    segment.stream.expect("device memory belongs to streams")
}
