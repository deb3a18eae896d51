//! Barriers of a block.

use ptx::{BarrierOp, CLUSTER_BARRIER};

/// The number of barriers that a block has: those that instructions name, and the cluster's.
pub(super) const BARRIERS: usize = CLUSTER_BARRIER as usize + 1;

/// One barrier of a block: who has arrived since it last opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Barrier {
    arrived: u32,
    /// The number of threads that it waits for; 0 for all that have not ended.
    expected: u32,
    /// The number of arrived threads whose predicate holds.
    holds: u32,
}

impl Barrier {
    /// The number of threads that it waits for, as those who have arrived said; `None` if nobody
    /// has.
    pub(super) fn expected(&self) -> Option<u32> {
        (self.arrived > 0).then_some(self.expected)
    }

    /// Counts a thread that arrives.
    pub(super) fn arrive(&mut self, expected: u32, predicate: bool) {
        self.arrive_together(expected, 1, u32::from(predicate));
    }

    /// Counts threads that arrive, for `holds` of which the predicate holds.
    pub(super) fn arrive_together(&mut self, expected: u32, threads: u32, holds: u32) {
        self.arrived += threads;
        self.expected = expected;
        self.holds += holds;
    }

    /// Opens the barrier if all threads that it waits for have arrived. `live` threads of the block
    /// have not ended.
    pub(super) fn open(&mut self, live: u32) -> Option<Opened> {
        let expected = if self.expected == 0 { live } else { self.expected };
        if self.arrived == 0 || self.arrived < expected {
            return None;
        }
        let Barrier { arrived, holds, .. } = std::mem::take(self);
        Some(Opened { arrived, holds })
    }
}

/// The threads that met at a barrier, and their predicates, when it opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    arrived: u32,
    holds: u32,
}

impl Opened {
    /// The result of the instruction in each of its threads.
    pub(super) fn result(self, op: BarrierOp) -> u32 {
        match op {
            BarrierOp::Sync | BarrierOp::Arrive => 0,
            BarrierOp::And => u32::from(self.holds == self.arrived),
            BarrierOp::Or => u32::from(self.holds > 0),
            BarrierOp::PopulationCount => self.holds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_opens_when_all_live_threads_are_there() {
        let mut barrier = Barrier::default();
        barrier.arrive(0, true);
        barrier.arrive(0, false);
        assert!(barrier.open(3).is_none());
        // The third thread has ended meanwhile.
        let opened = barrier.open(2).expect("all are there");
        assert_eq!(opened.result(BarrierOp::PopulationCount), 1);
        assert_eq!(opened.result(BarrierOp::And), 0);
        assert_eq!(opened.result(BarrierOp::Or), 1);
        assert!(barrier.open(0).is_none());
    }
}
