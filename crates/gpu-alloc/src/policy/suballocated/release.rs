//! Gives segments back that nobody uses.

use std::time::Duration;

use super::allocators::AllocatorKey;
use super::segment::ProgramSegment;
use super::{Suballocated, Suballocator};
use crate::policy::{Address, MemorySource, Pool, StreamName};

impl<A: Suballocator<K>, K: StreamName> Suballocated<A, K> {
    /// Gives back all that can go; returns the bytes.
    pub(super) fn release_unused<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let unused = self.unused();
        unused.into_iter().map(|segment| self.release(source, segment)).sum()
    }

    /// Gives back what was unused for as long as `idle`; returns the bytes.
    pub(super) fn trim<S: MemorySource>(
        &mut self,
        source: &mut S,
        now: Duration,
        idle: Duration,
    ) -> u64 {
        let mut released = 0;
        for address in self.unused() {
            let Some(since) = self.segments.note_idle(address, now) else { continue };
            if now.saturating_sub(since) >= idle {
                released += self.release(source, address);
            }
        }
        released
    }

    /// The segments that nobody holds any of or uses, and that are not kept for graphs.
    fn unused(&self) -> Vec<u64> {
        let is_over = |segment| {
            let mut uses = self.uses_of(segment);
            uses.all(|(stream, sequence)| sequence <= self.pending.completed_on(stream))
        };
        let unused = self.segments.iter().filter(|(_, segment)| {
            segment.is_unused() && !self.is_kept(segment.key) && is_over(*segment)
        });
        unused.map(|(address, _)| address).collect()
    }

    /// Gives an unused segment back if its allocator lets it go; returns the bytes.
    fn release<S: MemorySource>(&mut self, source: &mut S, address: u64) -> u64 {
        let Some(segment) = self.segments.get(address) else { return 0 };
        let (bytes, key) = (segment.bytes, segment.key);
        let is_left = self.is_left(key);
        if let Some(allocator) = self.allocators.get_mut(key)
            && !is_left
            && !allocator.give_up(Address(address), bytes)
        {
            return 0;
        }
        self.segments.remove(address);
        source.release(Address(address), bytes);
        self.accounts.segment_released(Pool::Large, bytes);
        if is_left && self.segments.of(key).next().is_none() {
            self.allocators.remove(key);
        }
        bytes
    }

    /// Whether an allocator will never be asked for anything again: its pool has ended, and nothing
    /// of it is held.
    fn is_left(&self, key: AllocatorKey<K>) -> bool {
        self.allocators.has_ended(key) && self.segments.of(key).all(ProgramSegment::is_unused)
    }
}
