//! Memory whose life begins and ends when a stream comes there: that of pools, that of graphs, and
//! whatever is freed in a stream's order.
//!
//! Both ends are operations of the stream, which other streams' work must be ordered against as
//! against a write of all of it.

use std::ops::Range;
use std::sync::Arc;

use super::api_call::ApiCall;
use super::report::Report;
use super::tracked::{self, MemoryKind, Tracked};
use super::transfer::touches_all;

/// An allocation that the calling thread's call has enqueued, until its stream has come there or
/// never will.
pub struct ComingAllocation {
    tracked: Arc<Tracked>,
}

impl ComingAllocation {
    /// An allocation of those addresses, for a context.
    pub fn new(range: Range<u64>, kind: MemoryKind, owner: u64) -> ComingAllocation {
        let tracked = Arc::new(Tracked::new(range, kind, owner));
        tracked::expect(&tracked);
        ComingAllocation { tracked }
    }

    /// The stream has come there.
    ///
    /// # Errors
    /// The allocation races with another operation on the same addresses.
    pub fn begin(&self) -> Result<(), Box<Report>> {
        tracked::enter(Arc::clone(&self.tracked));
        touches_all(&self.tracked)
    }
}

impl Drop for ComingAllocation {
    /// Whether it began or not.
    fn drop(&mut self) {
        tracked::expect_no_more(&self.tracked);
    }
}

/// A free that the calling thread's call has enqueued.
pub struct ComingFree {
    start: u64,
    call: ApiCall,
}

impl ComingFree {
    /// The free of the memory that starts there.
    pub fn new(start: u64) -> ComingFree {
        ComingFree { start, call: ApiCall::with_backtrace() }
    }

    /// The stream has come there.
    ///
    /// # Errors
    /// The free races with another operation on the memory.
    pub fn carry_out(&self) -> Result<(), Box<Report>> {
        let Some(tracked) = tracked::find(self.start) else { return Ok(()) };
        let result = touches_all(&tracked);
        tracked::freed_by(self.start, self.call.clone());
        result
    }
}
