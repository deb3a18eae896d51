//! Barriers in memory (`mbarrier`), and copies that arrive there.

use crate::types::StateSpace;

/// An operation on a barrier in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MbarrierForm {
    /// The function that changes the barrier.
    pub op: MbarrierOp,
    /// The space that the address points to: shared or generic.
    pub space: StateSpace,
}

/// The functions that change a barrier in memory. Each gives the barrier's word of before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MbarrierOp {
    /// `mbarrier.init`: for so many arrivals in each phase.
    Initialize,
    /// `mbarrier.inval`: the memory is used for something else.
    Invalidate,
    /// `mbarrier.arrive`: so many of the phase's arrivals.
    Arrive,
    /// `mbarrier.arrive_drop`: they are not expected in later phases.
    ArriveAndDrop,
    /// `mbarrier.expect_tx`: the phase waits for so many bytes more.
    ExpectBytes,
    /// `mbarrier.complete_tx`: so many bytes less.
    CompleteBytes,
    /// `cp.async.mbarrier.arrive`: the thread's copies arrive when they are done. `noinc`: that is one
    /// of the arrivals that the phase waits for.
    CopiesArrive {
        /// Whether it counts as one of the expected arrivals.
        counted: bool,
    },
    /// Nothing but what comes of a look at it: before a thread waits.
    Look,
}

impl MbarrierOp {
    const ALL: [MbarrierOp; 9] = [
        MbarrierOp::Initialize,
        MbarrierOp::Invalidate,
        MbarrierOp::Arrive,
        MbarrierOp::ArriveAndDrop,
        MbarrierOp::ExpectBytes,
        MbarrierOp::CompleteBytes,
        MbarrierOp::CopiesArrive { counted: false },
        MbarrierOp::CopiesArrive { counted: true },
        MbarrierOp::Look,
    ];

    /// The function as a number.
    #[must_use]
    pub fn number(self) -> u32 {
        MbarrierOp::ALL.iter().position(|&op| op == self).map_or(0, |at| at as u32)
    }

    /// The function with that number.
    #[must_use]
    pub fn numbered(number: u32) -> Option<MbarrierOp> {
        MbarrierOp::ALL.get(number as usize).copied()
    }

    /// Whether it writes without looking at what was there.
    #[must_use]
    pub fn overwrites(self) -> bool {
        matches!(self, MbarrierOp::Initialize | MbarrierOp::Invalidate)
    }
}

/// `cp.async.bulk` without a tensor map: a copy whose size is known when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BulkForm {
    /// The space of the destination.
    pub to: StateSpace,
    /// The space of the source.
    pub from: StateSpace,
    /// Whether its bytes arrive at a barrier in memory, the fourth source.
    pub arrives: bool,
}
