//! Memory whose life begins and ends when a stream comes there: that of pools, that of graphs, and
//! whatever is freed in a stream's order.
//!
//! Both ends are operations of the stream, which other streams' work must be ordered against as
//! against a write of all of it.

use std::ops::Range;
use std::sync::{Arc, Weak};

use super::operation::Label;
use super::site::Site;
use super::tracked::{self, Tracked};
use super::transfer::touches_all;
use crate::device::Allocation;
use crate::queue::{Failure, Job, Work};

/// The work by which an allocation's life begins; nothing where no checks are made.
pub(crate) fn begins(allocation: &Arc<Allocation>) -> Work {
    if !super::is_on() {
        return Work::Nothing;
    }
    let kind = allocation.purpose.memory_kind();
    let tracked = Arc::new(Tracked::new(allocation.range(), kind, allocation.owner));
    tracked::expect(&tracked);
    Work::Job(Arc::new(Beginning { tracked, allocation: Arc::downgrade(allocation) }))
}

/// The work by which the life of the memory that starts there ends, which is held until then;
/// nothing where no checks are made.
pub(crate) fn ends<M: Send + Sync + 'static>(start: u64, memory: &Arc<M>) -> Work {
    if !super::is_on() {
        return Work::Nothing;
    }
    let (memory, site) = (Arc::clone(memory), Site::with_backtrace());
    Work::Job(Arc::new(Ending { start, site, _memory: memory }))
}

struct Beginning {
    tracked: Arc<Tracked>,
    allocation: Weak<Allocation>,
}

impl Drop for Beginning {
    /// Whether it ran or not.
    fn drop(&mut self) {
        tracked::expect_no_more(&self.tracked);
    }
}

impl Job for Beginning {
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
        tracked::enter(Arc::clone(&self.tracked));
        touches_all(&self.tracked)
    }
}

struct Ending<M> {
    start: u64,
    site: Site,
    _memory: Arc<M>,
}

impl<M: Send + Sync> Job for Ending<M> {
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
        let Some(tracked) = tracked::find(self.start) else { return Ok(()) };
        let result = touches_all(&tracked);
        tracked::freed_by(self.start, self.site.clone());
        result
    }
}
