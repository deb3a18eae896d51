//! The memory at the moment of a refusal, as it matters to the request: what would serve it, who has
//! that, and what graphs and pools keep.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::panic::Location;

use gpu_runtime::StreamId;
use smallvec::SmallVec;

use super::KeptMemory;
use super::analysis::bytes;
use super::groups::Groups;
use super::release::{CandidatePlace, MemoryHolder, MovableUnit, ReachableMemory};
use crate::observers::HeapState;
use crate::observers::history;
use crate::policy::{
    Address, BlockState, OutOfMemoryReport, SegmentSnapshot, SegmentUsage, StreamAndPool,
};

/// Memory that somebody has.
type HeldRange = (Range<u64>, MemoryHolder);

/// The memory that would serve a request of that owner, with `room` that the driver would still give;
/// also finds out who holds what.
pub(super) fn memory(
    owner: StreamAndPool<StreamId>,
    report: &OutOfMemoryReport,
    heap: &HeapState,
    room: u64,
    holders: &mut Groups,
) -> ReachableMemory {
    let now = history::now();
    let (mut serving, mut taken, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for segment in &heap.segments {
        let parts = segment.blocks.iter().map(|block| {
            let held_by = match block.state {
                BlockState::Inactive => MemoryHolder::Nobody,
                BlockState::ActiveAwaitingFree => MemoryHolder::Work,
                BlockState::ActiveAllocated => {
                    let holder = heap.holders.get(&block.address);
                    match holder.and_then(|holder| Some((holder, holder.owner?.stream))) {
                        None => MemoryHolder::Unknown,
                        Some((holder, stream)) => {
                            let age = heap.allocations.saturating_sub(holder.number + 1);
                            MemoryHolder::Holder(holders.add(
                                holder,
                                stream,
                                (block.size, age),
                                now,
                            ))
                        }
                    }
                }
            };
            let range = block.address.0..block.address.0 + block.size;
            taken.extend((held_by != MemoryHolder::Nobody).then_some((range, held_by)));
            (block.size, held_by)
        });
        let parts: Vec<_> = parts.collect();
        if serves(segment, owner, report) {
            serving.push(parts);
        }
        if segment.is_kept {
            // Whose memory it is cannot do without it.
            let keeper =
                if segment.pool == owner.pool { MemoryHolder::Unknown } else { MemoryHolder::Pool };
            let start = segment.address.0;
            kept.push((start..start + segment.total_size, keeper));
        }
    }
    // Where the policy was told to refuse at once, nothing goes back.
    let goes_back = !report.certificate.denial().is_rejection();
    let usages = if goes_back { report.certificate.usages() } else { &[] };
    let anywhere = CandidatePlace { needed: report.needed, units: units(usages, &taken, &kept) };
    let best = best_place(report, usages, &anywhere.units);
    let places = std::iter::once(anywhere).chain(best).collect();
    ReachableMemory { segments: serving, block: report.rounded, places, room }
}

/// The place that came closest, where less is missing than elsewhere. Pages that are partly held are
/// of use there; those that would be free do not count, as others must take their place.
fn best_place(
    report: &OutOfMemoryReport,
    usages: &[SegmentUsage],
    units: &[MovableUnit],
) -> Option<CandidatePlace> {
    let place = report.certificate.place().filter(|_| report.takes_any)?;
    let needed = place.missing * place.page_bytes;
    let first = place.address.0 / place.page_bytes * place.page_bytes;
    let pages = first..first + place.pages * place.page_bytes;
    let is_outside = |usage: &SegmentUsage| {
        usage
            .address
            .is_none_or(|Address(start)| start >= pages.end || start + usage.bytes <= pages.start)
    };
    let outside = usages.iter().zip(units).filter(|(usage, _)| is_outside(usage));
    let units = outside.map(|(_, unit)| unit.clone()).collect();
    (needed < report.needed).then_some(CandidatePlace { needed, units })
}

/// Whether a request may have a part of a segment.
fn serves(
    segment: &SegmentSnapshot<StreamId>,
    owner: StreamAndPool<StreamId>,
    report: &OutOfMemoryReport,
) -> bool {
    if report.takes_any {
        return !segment.is_kept;
    }
    segment.stream == Some(owner.stream)
        && segment.pool == owner.pool
        && report.segment_type.is_none_or(|served| segment.segment_type == served)
        && segment.total_size <= report.largest_suitable
}

/// Each share with those who have a part of it. All are in the order of their addresses.
fn units(usages: &[SegmentUsage], taken: &[HeldRange], kept: &[HeldRange]) -> Vec<MovableUnit> {
    let mut ranges = Vec::new();
    let mut units: Vec<_> = usages
        .iter()
        .map(|usage| {
            let start = usage.address.map_or(0, |address| address.0);
            // What is mapped nowhere is nobody's.
            ranges.push(start..start + usage.address.map_or(0, |_| usage.bytes));
            MovableUnit { bytes: usage.bytes, keepers: SmallVec::new() }
        })
        .collect();
    for taken in [taken, kept] {
        let mut first = 0;
        for (range, held_by) in taken {
            while ranges.get(first).is_some_and(|unit| unit.end <= range.start) {
                first += 1;
            }
            let touched = ranges[first..].iter().take_while(|unit| unit.start < range.end).count();
            units[first..first + touched].iter_mut().for_each(|unit| unit.keepers.push(*held_by));
        }
    }
    for unit in &mut units {
        unit.keepers.sort_unstable();
        unit.keepers.dedup();
    }
    units
}

/// The memory that graphs and pools keep from a request of that owner, those that keep the most free
/// memory first.
pub(super) fn kept(owner: StreamAndPool<StreamId>, heap: &HeapState) -> Vec<KeptMemory> {
    let is_kept =
        |segment: &&SegmentSnapshot<StreamId>| segment.is_kept && segment.pool != owner.pool;
    let mut pools = BTreeMap::new();
    for segment in heap.segments.iter().filter(is_kept) {
        let Some(pool) = segment.pool else { continue };
        let (kept, ranges) = pools
            .entry(pool)
            .or_insert_with(|| (KeptMemory { pool, bytes: 0, free: 0, place: None }, Vec::new()));
        kept.bytes += bytes(segment.total_size);
        kept.free += bytes(segment.total_size - segment.active_size);
        ranges.push(segment.address.0..segment.address.0 + segment.total_size);
    }
    let mut kept: Vec<_> = pools
        .into_values()
        .map(|(kept, ranges)| KeptMemory { place: main_place(&ranges, heap), ..kept })
        .collect();
    kept.sort_by_key(|kept| std::cmp::Reverse(kept.free));
    kept
}

/// The place that asked for the most of some memory, whether or not that is held still.
fn main_place(ranges: &[Range<u64>], heap: &HeapState) -> Option<&'static Location<'static>> {
    let mut places = HashMap::<_, u64>::new();
    for (address, holder) in &heap.holders {
        if ranges.iter().any(|range| range.contains(&address.0)) {
            *places.entry(holder.call_site.location).or_default() += holder.requested;
        }
    }
    let places = places.into_iter();
    places.max_by_key(|(place, bytes)| (*bytes, place.file(), place.line())).map(|(place, _)| place)
}
