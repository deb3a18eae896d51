//! Enqueued work and waits of the host, as observers are told of them.

use std::panic::Location;

use crate::stream::Stream;
use crate::types::{Device, MemoryAccess, WaitReason, Work, WorkId};

/// A piece of work that is being enqueued.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EnqueuedWork<'a> {
    /// The stream that does it.
    pub stream: &'a Stream,
    /// The work.
    pub work: &'a Work,
    /// The place in the source from which it was asked for: outside this crate, and what
    /// [`at_place`](crate::at_place) says where that was called.
    pub place: &'static Location<'static>,
    /// The memory that it reads and writes, as far as that is known: both ends of copies, what is
    /// filled, and of kernels and callbacks the buffers among their arguments or the operands of
    /// [`ordered`](crate::ordered) that have a range. There may be any number, and they may overlap.
    /// Pageable memory of the host is not among them: the driver has done with it when the call
    /// returns. The launch of a graph has what all its nodes together access; what each does is in
    /// [`Work::Graph`].
    pub accesses: &'a [MemoryAccess],
    /// The work that it waits for, if it is a wait of one stream for another.
    pub awaits: Option<WorkId>,
}

/// A wait of the host for a device.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HostWait<'a> {
    /// The device.
    pub device: Device,
    /// The reason.
    pub reason: WaitReason,
    /// The place in the source from which it was asked for.
    pub place: &'static Location<'static>,
    /// The work that is waited for, on each stream.
    pub awaits: &'a [WorkId],
}
