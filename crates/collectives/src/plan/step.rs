//! The steps of a plan, and the places in memory that they name.

use std::ops::Range;

/// A queue of work of one rank: what is on one lane runs in its order, and beside other lanes. On a
/// device it is a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Reductions, and the beginning and the end of the operation.
    Compute,
    /// Copies. There are two such lanes, so that one copy follows another without a gap.
    Copy(usize),
}

impl Lane {
    /// The number of lanes.
    pub const COUNT: usize = 3;

    /// The number of this lane.
    pub const fn index(self) -> usize {
        match self {
            Lane::Compute => 0,
            Lane::Copy(number) => 1 + number % 2,
        }
    }
}

/// A piece of memory that a rank has in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RankBuffer {
    /// The rank's tensor: what it puts in, and in operations in place also what it gets.
    Tensor,
    /// The rank's result, where that is a tensor of its own.
    Result,
    /// Memory for what other ranks send, during the operation.
    Scratch,
}

/// Elements of one buffer of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BufferRegion {
    /// The buffer.
    pub buffer: RankBuffer,
    /// The numbers of the elements.
    pub range: Range<usize>,
}

impl BufferRegion {
    pub(super) fn of(buffer: RankBuffer, range: &Range<usize>) -> BufferRegion {
        BufferRegion { buffer, range: range.clone() }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }
}

/// A point of one lane of one rank, which lanes of all ranks can wait for: on a device, an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signal {
    /// The rank whose lane it is.
    pub rank: usize,
    /// The number of the signal among those of the rank.
    pub number: usize,
}

/// One thing that a rank enqueues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankStep {
    /// Copies elements of the rank to memory of a rank, itself perhaps.
    Copy {
        /// The lane that copies.
        lane: Lane,
        /// The elements that are copied.
        from: BufferRegion,
        /// The rank that gets them.
        to_rank: usize,
        /// The place where they go.
        to: BufferRegion,
    },
    /// Combines elements of several places, in the order given, on the lane for reductions.
    Reduce {
        /// The place of the result, which may be one of the inputs.
        into: BufferRegion,
        /// The regions that are combined.
        inputs: Vec<BufferRegion>,
        /// Whether the result is that of all ranks, so that a mean is now divided by their number.
        is_last: bool,
    },
    /// The signal stands for all that is on the lane so far.
    Signal {
        /// The lane.
        lane: Lane,
        /// The signal, which is one of this rank.
        signal: Signal,
    },
    /// All that comes later on the lane comes after the signal.
    Wait {
        /// The lane that waits.
        lane: Lane,
        /// The signal that it waits for.
        signal: Signal,
    },
}

impl RankStep {
    /// The lane that the step is enqueued on.
    pub fn lane(&self) -> Lane {
        match self {
            RankStep::Copy { lane, .. }
            | RankStep::Signal { lane, .. }
            | RankStep::Wait { lane, .. } => *lane,
            RankStep::Reduce { .. } => Lane::Compute,
        }
    }
}
