//! Memory that was freed and has not reached the policy yet.

use gpu_runtime::StreamPoint;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::policy::{Block, PoolId};

/// The points after which nobody uses memory that comes back.
pub(super) type LastUsePoints = SmallVec<[StreamPoint; 4]>;

/// Memory on its way back to the policy.
#[derive(Debug)]
pub(super) enum Returned {
    /// A block.
    Block { block: Block, uses: LastUsePoints },
    /// A pool that no graph uses any more.
    Pool { pool: PoolId, uses: LastUsePoints },
}

/// Memory that was freed while the allocator's lock was taken, or a part of the policy lent; who
/// needs the whole policy next deals with it first.
///
/// So a drop never waits for another thread's call to the driver, nor for the lock of its own
/// thread: the runtime, asked for memory, may drop things that were kept for a copy, and there may
/// be memory of ours among them.
#[derive(Debug, Default)]
pub(super) struct ReturnQueue(Mutex<Vec<Returned>>);

impl ReturnQueue {
    /// Adds to the queue; returns its length.
    pub(super) fn push(&self, returned: Returned) -> usize {
        let mut queue = self.0.lock();
        queue.push(returned);
        queue.len()
    }

    /// Empties the queue; what was freed first comes first.
    pub(super) fn take(&self) -> Vec<Returned> {
        // In one step, so that a drop which comes while the policy deals with these does not wait.
        std::mem::take(&mut *self.0.lock())
    }
}
