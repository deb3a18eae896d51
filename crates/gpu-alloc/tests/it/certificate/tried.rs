//! The policies that are tried, as the programs see them.

use gpu_alloc::policy::{
    BestFit, Inspect, Policy, Pytorch, SegmentSnapshot, Stitched, StreamAndPool,
};

/// A policy that is tried.
pub(super) trait Tried: Policy<Stream = usize> {
    /// Whether it keeps memory apart for graphs.
    const HAS_POOLS: bool = true;

    /// Whom it hands out memory to.
    fn home(home: StreamAndPool<usize>) -> Self::Owner;

    /// Whether memory that waits for its uses waits for one on a stream.
    fn waits_for_use_on(stream: usize, home: StreamAndPool<usize>) -> bool {
        stream != home.stream
    }

    /// What it shows of its memory, if it shows any.
    fn shown(&self) -> Option<Vec<SegmentSnapshot<usize>>>;
}

impl Tried for Stitched<usize> {
    fn home(home: StreamAndPool<usize>) -> StreamAndPool<usize> {
        home
    }

    fn shown(&self) -> Option<Vec<SegmentSnapshot<usize>>> {
        Some(self.snapshot())
    }
}

impl Tried for Pytorch<usize> {
    fn home(home: StreamAndPool<usize>) -> StreamAndPool<usize> {
        home
    }

    fn shown(&self) -> Option<Vec<SegmentSnapshot<usize>>> {
        Some(self.snapshot())
    }
}

impl Tried for BestFit<usize> {
    const HAS_POOLS: bool = false;

    fn home(_: StreamAndPool<usize>) {}

    fn waits_for_use_on(_: usize, _: StreamAndPool<usize>) -> bool {
        true
    }

    fn shown(&self) -> Option<Vec<SegmentSnapshot<usize>>> {
        None
    }
}
