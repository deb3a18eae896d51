//! The operations by which a stream begins and ends the life of memory, for checks: that of pools,
//! that of graphs, and whatever is freed in a stream's order.

use std::ops::Range;
use std::sync::{Arc, Weak};

use crate::device::memory::allocation::GlobalAllocation;
use crate::queue::{Failure, Job, StreamWork};
use cuda_check::{ComingAllocation, ComingFree, Label};

/// The work by which an allocation's life begins; nothing where no checks are made.
pub(crate) fn allocation_work(allocation: &Arc<GlobalAllocation>) -> StreamWork {
    if !cuda_check::is_on() {
        return StreamWork::Nothing;
    }
    let kind = allocation.purpose.memory_kind();
    let coming = ComingAllocation::new(allocation.range(), kind, allocation.owner);
    StreamWork::Job(Arc::new(AllocationJob { coming, allocation: Arc::downgrade(allocation) }))
}

/// The work by which the life of the memory that starts there ends, which is held until then;
/// nothing where no checks are made.
pub(crate) fn free_work<M: Send + Sync + 'static>(start: u64, memory: &Arc<M>) -> StreamWork {
    if !cuda_check::is_on() {
        return StreamWork::Nothing;
    }
    StreamWork::Job(Arc::new(FreeJob { free: ComingFree::new(start), _memory: Arc::clone(memory) }))
}

struct AllocationJob {
    coming: ComingAllocation,
    allocation: Weak<GlobalAllocation>,
}

impl Job for AllocationJob {
    fn pieces(&self) -> u64 {
        1
    }

    fn is_heavy(&self) -> bool {
        false
    }

    fn label(&self) -> Label {
        Label::Allocation
    }

    fn run(&self, _: Range<u64>) -> Result<(), Failure> {
        // The host may have freed it since.
        if self.allocation.strong_count() == 0 {
            return Ok(());
        }
        Ok(self.coming.begin()?)
    }
}

struct FreeJob<M> {
    free: ComingFree,
    _memory: Arc<M>,
}

impl<M: Send + Sync> Job for FreeJob<M> {
    fn pieces(&self) -> u64 {
        1
    }

    fn is_heavy(&self) -> bool {
        false
    }

    fn label(&self) -> Label {
        Label::Free
    }

    fn run(&self, _: Range<u64>) -> Result<(), Failure> {
        Ok(self.free.carry_out()?)
    }
}
