//! The policies that are tried, as the programs see them.

use gpu_alloc::policy::{
    BestFit, Inspect, Policy, Pytorch, SegmentSnapshot, Stitched, StreamAndPool,
};

use super::Name;

/// A policy that is tried.
pub(super) trait Tried: Policy<Stream = Name> {
    /// Whether it keeps memory apart for graphs.
    const HAS_POOLS: bool = true;

    /// Whom it hands out memory to.
    fn home(home: StreamAndPool<Name>) -> Self::Owner;

    /// Whether memory that waits for its uses waits for one on a stream.
    fn waits_for_use_on(stream: Name, home: StreamAndPool<Name>) -> bool {
        stream != home.stream
    }

    /// What it shows of its memory, if it shows any.
    fn shown(&self) -> Option<Vec<SegmentSnapshot<Name>>>;
}

impl Tried for Stitched<Name> {
    fn home(home: StreamAndPool<Name>) -> StreamAndPool<Name> {
        home
    }

    fn shown(&self) -> Option<Vec<SegmentSnapshot<Name>>> {
        Some(self.snapshot())
    }
}

impl Tried for Pytorch<Name> {
    fn home(home: StreamAndPool<Name>) -> StreamAndPool<Name> {
        home
    }

    fn shown(&self) -> Option<Vec<SegmentSnapshot<Name>>> {
        Some(self.snapshot())
    }
}

impl Tried for BestFit<Name> {
    const HAS_POOLS: bool = false;

    fn home(_: StreamAndPool<Name>) {}

    fn waits_for_use_on(_: Name, _: StreamAndPool<Name>) -> bool {
        true
    }

    fn shown(&self) -> Option<Vec<SegmentSnapshot<Name>>> {
        None
    }
}
