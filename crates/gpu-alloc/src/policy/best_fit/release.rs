//! Segments that nobody uses, given back to the source.

use std::time::Duration;

use super::BestFit;
use super::heap::BySize;
use crate::policy::{MemorySource, StreamName};

impl<K: StreamName> BestFit<K> {
    /// The number of bytes that unused segments may keep when another segment is taken; what is more
    /// goes back then, and at a [`tick`](crate::policy::Policy::tick). Not bounded at first.
    pub fn set_keep(&mut self, bytes: u64) {
        self.keep = bytes;
    }

    /// Gives back the segments in which nothing is in use, and was not for as long as `idle`, and what
    /// exceeds what may be kept; returns the bytes.
    pub(super) fn trim<S: MemorySource>(
        &mut self,
        source: &mut S,
        now: Duration,
        idle: Duration,
    ) -> u64 {
        let unused: Vec<_> = self.heap.unused_segments().collect();
        let mut released = 0;
        for free in unused {
            let since = self.heap.note_idle(free, now);
            if now.saturating_sub(since) >= idle {
                released += self.release(source, free);
            }
        }
        released + self.release_beyond_keep(source)
    }

    /// Gives back unused segments, the largest first, until the rest is no more than may be kept.
    pub(super) fn release_beyond_keep<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        if self.keep == u64::MAX {
            return 0;
        }
        // The largest first: the fewest calls to the driver for the most bytes.
        let unused: Vec<_> = self.heap.unused_segments().rev().collect();
        let mut kept: u64 = unused.iter().map(|free| free.bytes).sum();
        let before = kept;
        for free in unused {
            if kept <= self.keep {
                break;
            }
            kept -= self.release(source, free);
        }
        before - kept
    }

    /// Gives back all unused segments; returns the bytes.
    pub(super) fn release_idle<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let unused: Vec<_> = self.heap.unused_segments().collect();
        unused.into_iter().map(|free| self.release(source, free)).sum()
    }

    fn release<S: MemorySource>(&mut self, source: &mut S, segment: BySize) -> u64 {
        let BySize { bytes, address, .. } = segment;
        self.heap.remove_segment(segment);
        source.release(address, bytes);
        self.statistics.allocations.decrease(1);
        self.statistics.allocated_bytes.decrease(bytes);
        self.statistics.num_host_free += 1;
        bytes
    }
}
