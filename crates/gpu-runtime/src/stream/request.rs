//! Work that a stream is asked to enqueue.

use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

use crate::types::{MemoryAccess, Work, WorkId};

/// Work that the driver is to be asked for: all but the call itself.
pub(crate) struct Request<'a> {
    pub(crate) work: &'a Work,
    /// The driver's function.
    pub(crate) call: &'static str,
    pub(crate) place: &'static Location<'static>,
    pub(crate) accesses: &'a [MemoryAccess],
    pub(crate) awaits: Option<WorkId>,
    /// The thing that a graph has to keep alive if the work is part of it.
    pub(crate) keeps: Option<&'a dyn GraphResource>,
}

impl<'a> Request<'a> {
    #[inline]
    #[track_caller]
    pub(crate) fn new(work: &'a Work, call: &'static str) -> Request<'a> {
        let place = Location::caller();
        Request { work, call, place, accesses: &[], awaits: None, keeps: None }
    }
}

/// A thing that a graph keeps alive in which it is used: a kernel with its module, another graph.
pub(crate) trait GraphResource {
    /// A handle of it for the graph to hold.
    fn to_keep(&self) -> Arc<dyn Any + Send + Sync>;
}
