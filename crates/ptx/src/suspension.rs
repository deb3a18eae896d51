//! The operations at which threads wait for each other.

/// The number of a block's barrier beyond those that instructions name: that of its cluster.
pub(crate) const CLUSTER_BARRIER: u64 = 16;

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

impl ShuffleMode {
    /// The lane that a lane's value comes from, and whether that is in range; `offset` and `clamp`
    /// are the instruction's operands b and c (PTX ISA, `shfl.sync`).
    pub(crate) fn source(self, lane: usize, offset: usize, clamp: usize) -> (usize, bool) {
        let (offset, segment, clamp) = (offset & 31, clamp >> 8 & 31, clamp & 31);
        let bound = (lane & segment) | (clamp & !segment);
        let (source, inside) = match self {
            ShuffleMode::Up => (lane.wrapping_sub(offset), lane >= bound + offset),
            ShuffleMode::Down => (lane + offset, lane + offset <= bound),
            ShuffleMode::Butterfly => (lane ^ offset, lane ^ offset <= bound),
            ShuffleMode::Index => {
                let source = (lane & segment) | (offset & !segment);
                (source, source <= bound)
            }
        };
        (if inside { source } else { lane }, inside)
    }
}
