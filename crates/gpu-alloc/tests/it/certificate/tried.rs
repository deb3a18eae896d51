//! The policies that are tried, as the programs see them.

use gpu_alloc::policy::{BestFit, Home, Inspect, Policy, Pytorch, Segment, Stitched};

use super::Name;

/// A policy that is tried.
pub(super) trait Tried: Policy<Stream = Name> {
    /// Whether it keeps memory apart for graphs.
    const HAS_POOLS: bool = true;

    /// Whom it hands out memory to.
    fn home(home: Home<Name>) -> Self::Home;

    /// Whether memory that waits for its uses waits for one on a stream.
    fn waits_for_use_on(stream: Name, home: Home<Name>) -> bool {
        stream != home.stream
    }

    /// What it shows of its memory, if it shows any.
    fn shown(&self) -> Option<Vec<Segment<Name>>>;
}

impl Tried for Stitched<Name> {
    fn home(home: Home<Name>) -> Home<Name> {
        home
    }

    fn shown(&self) -> Option<Vec<Segment<Name>>> {
        Some(self.snapshot())
    }
}

impl Tried for Pytorch<Name> {
    fn home(home: Home<Name>) -> Home<Name> {
        home
    }

    fn shown(&self) -> Option<Vec<Segment<Name>>> {
        Some(self.snapshot())
    }
}

impl Tried for BestFit<Name> {
    const HAS_POOLS: bool = false;

    fn home(_: Home<Name>) {}

    fn waits_for_use_on(_: Name, _: Home<Name>) -> bool {
        true
    }

    fn shown(&self) -> Option<Vec<Segment<Name>>> {
        None
    }
}
