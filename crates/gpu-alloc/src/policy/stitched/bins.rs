//! The free blocks of an arena by size, found in a few steps.
//!
//! Two levels, after M. Masmano and others, "TLSF: a new dynamic memory allocator for real-time
//! systems" (ECRTS 2004): by power of two, and each power in 32 equal parts. A bitmap says which
//! bins have free blocks; those of a bin are a list, the last freed first.

use super::span::SpanTable;
use crate::policy::StreamName;
use crate::policy::slab::SlabIndex;

/// Sizes are multiples of this.
const UNIT: u64 = 512;
/// The bins of a power of two, as a power of two.
const PARTS: u32 = 5;
/// The number of bins, enough for blocks of 2⁵⁵ bytes.
const BINS: usize = 42 << PARTS;
/// The number of free blocks of a bin that are looked at, so that a long list does not slow a request
/// down.
const LOOKED_AT: usize = 8;

#[derive(Debug)]
pub(super) struct Bins {
    occupied: [u64; BINS / 64],
    first: Box<[Option<SlabIndex>; BINS]>,
}

impl Bins {
    pub(super) fn insert<K: StreamName>(&mut self, spans: &mut SpanTable<K>, slot: SlabIndex) {
        let bin = bin_of(spans[slot].bytes);
        let first = self.first[bin].replace(slot);
        self.occupied[bin / 64] |= 1 << (bin % 64);
        (spans[slot].smaller, spans[slot].larger) = (None, first);
        if let Some(first) = first {
            spans[first].smaller = Some(slot);
        }
    }

    pub(super) fn remove<K: StreamName>(&mut self, spans: &mut SpanTable<K>, slot: SlabIndex) {
        let span = &spans[slot];
        let (before, after, bytes) = (span.smaller, span.larger, span.bytes);
        if let Some(after) = after {
            spans[after].smaller = before;
        }
        if let Some(before) = before {
            spans[before].larger = after;
            return;
        }
        let bin = bin_of(bytes);
        self.first[bin] = after;
        if after.is_none() {
            self.occupied[bin / 64] &= !(1 << (bin % 64));
        }
    }

    /// A free block of at least `bytes`: of about the smallest such, the smallest and then the lowest.
    #[inline]
    pub(super) fn smallest<K: StreamName>(
        &self,
        spans: &SpanTable<K>,
        bytes: u64,
    ) -> Option<SlabIndex> {
        let own = bin_of(bytes);
        self.smallest_in(spans, own, bytes)
            .or_else(|| self.smallest_in(spans, self.next_bin(own + 1)?, bytes))
    }

    #[inline]
    fn smallest_in<K: StreamName>(
        &self,
        spans: &SpanTable<K>,
        bin: usize,
        bytes: u64,
    ) -> Option<SlabIndex> {
        let mut best: Option<(u64, u64, SlabIndex)> = None;
        for slot in self.free_blocks(spans, bin).take(LOOKED_AT) {
            let span = &spans[slot];
            if span.bytes >= bytes
                && best.is_none_or(|(b, a, _)| (span.bytes, span.address) < (b, a))
            {
                best = Some((span.bytes, span.address, slot));
            }
        }
        best.map(|(_, _, slot)| slot)
    }

    /// All free blocks of at least `bytes`, in any order.
    pub(super) fn all_at_least<'a, K: StreamName>(
        &'a self,
        spans: &'a SpanTable<K>,
        bytes: u64,
    ) -> impl Iterator<Item = SlabIndex> + 'a {
        let free_blocks =
            self.bins_from(bin_of(bytes)).flat_map(|bin| self.free_blocks(spans, bin));
        free_blocks.filter(move |slot| spans[*slot].bytes >= bytes)
    }

    fn free_blocks<'a, K: StreamName>(
        &'a self,
        spans: &'a SpanTable<K>,
        bin: usize,
    ) -> impl Iterator<Item = SlabIndex> + 'a {
        std::iter::successors(self.first[bin], |slot| spans[*slot].larger)
    }

    /// The bins that have free blocks, from one on.
    fn bins_from(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.next_bin(from), |bin| self.next_bin(bin + 1))
    }

    fn next_bin(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.occupied.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.occupied.get(word)?;
        }
        Some(64 * word + bits.trailing_zeros() as usize)
    }
}

#[inline]
fn bin_of(bytes: u64) -> usize {
    let units = bytes / UNIT;
    let power = units.checked_ilog2().unwrap_or(0);
    if power < PARTS {
        return units as usize;
    }
    let part = (units >> (power - PARTS)) as usize & ((1 << PARTS) - 1);
    ((((power - PARTS + 1) as usize) << PARTS) + part).min(BINS - 1)
}

impl Default for Bins {
    fn default() -> Self {
        Bins { occupied: [0; BINS / 64], first: Box::new([None; BINS]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_grow_with_sizes_and_differ_by_3_percent() {
        let mut last = 0;
        for units in 1..1 << 16 {
            let bin = bin_of(UNIT * units);
            assert!(bin == last || bin == last + 1, "{units}");
            last = bin;
        }
        assert_eq!(bin_of(u64::MAX), BINS - 1);
    }
}
