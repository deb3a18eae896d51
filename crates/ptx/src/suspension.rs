//! The operations at which threads wait for each other.

/// The number of a block's barrier beyond those that instructions name: that of its cluster.
pub const CLUSTER_BARRIER: u64 = 16;

/// Where threads wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suspension {
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
        /// `match.all`: whether all lanes hold one value; else which lanes hold the same.
        all: bool,
        /// The width of the value.
        bits: u32,
    },
    /// Sources: value, member mask.
    Reduce(ReduceOp),
    /// `activemask`: which lanes of the warp run together here.
    ActiveMask,
    /// Lets other threads go on.
    Yield,
}

/// What a barrier of a block does beside waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierOp {
    /// Nothing: `barrier.sync`.
    Sync,
    /// Counts as arrived and goes on.
    Arrive,
    /// Whether the predicate holds for all threads.
    And,
    /// Whether it holds for any thread.
    Or,
    /// For how many threads it holds.
    PopulationCount,
}

/// Which lane `shfl.sync` reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShuffleMode {
    /// The one that is b below.
    Up,
    /// The one that is b above.
    Down,
    /// The one whose number differs in the bits of b.
    Butterfly,
    /// Lane b of the segment.
    Index,
}

/// What `vote.sync` tells of the predicates of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteMode {
    /// Whether all hold.
    All,
    /// Whether one holds.
    Any,
    /// Whether all are equal.
    Uniform,
    /// Which hold, as a mask.
    Ballot,
}

/// What `redux.sync` makes of the values of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// Their sum.
    Add,
    /// The smallest.
    Minimum {
        /// Compares as signed numbers.
        signed: bool,
    },
    /// The largest.
    Maximum {
        /// Compares as signed numbers.
        signed: bool,
    },
    /// The bits that all have.
    And,
    /// The bits that any has.
    Or,
    /// The bits that an odd number of them have.
    Xor,
}

impl ShuffleMode {
    /// The lane that a lane's value comes from, and whether that is in range; `offset` and `clamp`
    /// are the instruction's operands b and c (PTX ISA, `shfl.sync`).
    pub fn source(self, lane: usize, offset: usize, clamp: usize) -> (usize, bool) {
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
