//! The operations at which threads wait for each other.

use crate::matrix::MatrixForm;

/// The number of a block's barrier beyond those that instructions name: that of its cluster.
pub const CLUSTER_BARRIER: u64 = 16;

/// An operation at which threads wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suspension {
    /// `barrier`. Sources: barrier, threads expected (0: all), and the predicate for reductions.
    Barrier(BarrierOp),
    /// `bar.warp.sync`. Source: member mask.
    WarpBarrier,
    /// `shfl.sync`. Sources: value, lane or offset, clamp and segment, member mask. Destinations:
    /// value, whether it was in range.
    Shuffle(ShuffleMode),
    /// `vote.sync`. Sources: predicate, member mask.
    Vote(VoteMode),
    /// `match.sync`. Sources: value, member mask. Destinations: mask, and with `all` whether all
    /// agree.
    Match {
        /// `match.all`: whether all lanes hold one value; else which lanes hold the same.
        all: bool,
        /// The width of the value.
        bits: u32,
    },
    /// `redux.sync`. Sources: value, member mask.
    Reduce(ReduxOp),
    /// `mma.sync`. Sources: the registers of a, of b, and of c. Destinations: those of the result.
    Multiply(MatrixForm),
    /// The exchange of `ldmatrix` and of `stmatrix`. Sources: four words. Destinations: a word of each
    /// matrix, or the four words of a row.
    ExchangeRows(RowExchange),
    /// `mbarrier.try_wait`, `mbarrier.test_wait`. Sources: the place of the barrier in shared memory, and
    /// the parity of the phase. Destination: whether the phase is complete.
    Phase {
        /// Whether the thread waits as long as other threads of its block go on.
        blocks: bool,
    },
    /// `activemask`: the lanes of the warp that run together here, as a mask.
    ActiveMask,
    /// Lets other threads go on.
    Yield,
}

/// An exchange between lanes that hold rows of 8 x 8 matrices of halves, and lanes that hold two elements
/// of each matrix.
///
/// A row is four words: those of matrix n lie in the lanes from 8 n on. Of each matrix a lane has the two
/// elements from 2 (lane % 4) on in row lane / 4, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowExchange {
    /// The number of matrices: 1, 2 or 4.
    pub count: u8,
    /// Whether rows and columns are swapped.
    pub transposed: bool,
    /// Whether rows are put together from elements (`stmatrix`); otherwise elements are taken out of rows
    /// (`ldmatrix`).
    pub gathers: bool,
}

impl RowExchange {
    /// The exchange as a number.
    #[must_use]
    pub fn number(self) -> u32 {
        u32::from(self.count) | u32::from(self.transposed) << 3 | u32::from(self.gathers) << 4
    }

    /// The exchange with that number.
    #[must_use]
    pub fn numbered(number: u32) -> RowExchange {
        let flag = |bit: u32| number >> bit & 1 != 0;
        RowExchange { count: number as u8 & 7, transposed: flag(3), gathers: flag(4) }
    }

    /// The number of words that each lane gets.
    #[must_use]
    pub fn results(self) -> usize {
        if self.gathers { 4 } else { usize::from(self.count) }
    }
}

/// The variants of a block's barrier: it synchronises, and may reduce a predicate over the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierOp {
    /// `barrier.sync`: only waits.
    Sync,
    /// `barrier.arrive`: counts as arrived, and goes on.
    Arrive,
    /// `barrier.red.and`: whether the predicate holds for all threads.
    And,
    /// `barrier.red.or`: whether the predicate holds for any thread.
    Or,
    /// `barrier.red.popc`: the number of threads for which the predicate holds.
    PopulationCount,
}

/// The modes of `shfl.sync`: they say which lane a lane reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShuffleMode {
    /// `up`: from the lane that is b below.
    Up,
    /// `down`: from the lane that is b above.
    Down,
    /// `bfly`: from the lane whose number differs in the bits of b.
    Butterfly,
    /// `idx`: from lane b of the segment.
    Index,
}

/// The results of `vote.sync` over the predicates of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteMode {
    /// Whether all hold.
    All,
    /// Whether one holds.
    Any,
    /// Whether all are equal.
    Uniform,
    /// The lanes whose predicates hold, as a mask.
    Ballot,
}

/// The reductions of `redux.sync` over the values of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduxOp {
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
