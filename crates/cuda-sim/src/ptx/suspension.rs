//! The operations at which threads wait for each other.

/// Where threads wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Suspension {
    /// Sources: barrier, threads expected (0: all), and the predicate for reductions.
    Barrier(BarrierOp),
    /// Source: member mask.
    WarpBarrier,
    /// Sources: value, lane or offset, clamp and segment, member mask. Destinations: value, whether
    /// it was in range.
    Shuffle(ShuffleMode),
    /// Sources: predicate, member mask.
    Vote(VoteMode),
    /// Sources: value, member mask. Destinations: mask, and with `all` whether all agree.
    Match {
        all: bool,
        bits: u32,
    },
    /// Sources: value, member mask.
    Reduce(ReduceOp),
    ActiveMask,
    /// Lets other threads go on.
    Yield,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BarrierOp {
    Sync,
    /// Counts as arrived and goes on.
    Arrive,
    And,
    Or,
    PopulationCount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReduceOp {
    Add,
    Minimum { signed: bool },
    Maximum { signed: bool },
    And,
    Or,
    Xor,
}
