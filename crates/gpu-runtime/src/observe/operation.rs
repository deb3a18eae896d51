//! What observers are told.

use std::fmt;
use std::panic::Location;

use crate::device::Device;
use crate::graph::Keep;
use crate::ledger::Work;
use crate::memory::DevicePtr;
use crate::order::Access;
use crate::stream::{Stream, StreamId};

/// A piece of a stream's work, by its number: the first is 1. As something to wait for, it stands
/// for all the pieces before it too, and 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkId {
    /// The stream.
    pub stream: StreamId,
    /// The number among the work of that stream.
    pub sequence: u64,
}

/// A piece of work that is being enqueued.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Operation<'a> {
    /// The stream that does it.
    pub stream: &'a Stream,
    /// What it does.
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
    /// What it waits for, if it is a wait of one stream for another.
    pub awaits: Option<WorkId>,
}

/// A range of memory that work accesses. Addresses are unique: no two devices, nor a device and the
/// host, have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoryAccess {
    /// Where it begins.
    pub start: u64,
    /// Its size.
    pub bytes: usize,
    /// What is done with it.
    pub access: Access,
}

/// A wait of the host for a device.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HostWait<'a> {
    /// The device.
    pub device: Device,
    /// Why.
    pub reason: WaitReason,
    /// The place in the source from which it was asked for.
    pub place: &'static Location<'static>,
    /// What is waited for, on each stream.
    pub awaits: &'a [WorkId],
}

/// Why the host waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitReason {
    /// [`Stream::synchronize`].
    Stream,
    /// [`Device::synchronize`](crate::Device::synchronize).
    Device,
    /// [`Event::synchronize`](crate::Event::synchronize).
    Event,
    /// [`StreamPoint::wait`](crate::StreamPoint::wait), and all that stands on it:
    /// [`Pending::wait`](crate::Pending::wait), blocking copies, [`Uses`](crate::Uses).
    Point,
    /// A copy to pageable memory ([`Stream::enqueue_dtoh`]), which the driver waits for.
    PageableCopy,
    /// A [`Timeline`](crate::Timeline) was begun or finished.
    Timeline,
    /// `CUDA_LAUNCH_BLOCKING=1`: the work was waited for where it was enqueued.
    LaunchBlocking,
}

impl MemoryAccess {
    /// A read of so many bytes.
    pub const fn read(start: DevicePtr, bytes: usize) -> MemoryAccess {
        MemoryAccess { start: start.address(), bytes, access: Access::Read }
    }

    /// A write of so many bytes.
    pub const fn write(start: DevicePtr, bytes: usize) -> MemoryAccess {
        MemoryAccess { start: start.address(), bytes, access: Access::Write }
    }
}

impl WaitReason {
    /// Whether the program itself waits, and not who looks at it.
    pub(crate) fn is_of_the_program(self) -> bool {
        !matches!(self, WaitReason::LaunchBlocking | WaitReason::Timeline)
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WaitReason::Stream => "a stream was synchronized",
            WaitReason::Device => "the device was synchronized",
            WaitReason::Event => "an event was synchronized",
            WaitReason::Point => "data was waited for",
            WaitReason::PageableCopy => "memory was copied to pageable memory",
            WaitReason::Timeline => "a timeline was begun or finished",
            WaitReason::LaunchBlocking => "CUDA_LAUNCH_BLOCKING is set",
        })
    }
}

/// What the runtime asks the driver to enqueue, but for the call itself.
pub(crate) struct Request<'a> {
    pub(crate) work: &'a Work,
    /// The driver's function.
    pub(crate) call: &'static str,
    pub(crate) place: &'static Location<'static>,
    pub(crate) accesses: &'a [MemoryAccess],
    pub(crate) awaits: Option<WorkId>,
    /// What a graph has to keep that does it.
    pub(crate) keeps: Option<&'a dyn Keep>,
}

impl<'a> Request<'a> {
    #[inline]
    #[track_caller]
    pub(crate) fn new(work: &'a Work, call: &'static str) -> Request<'a> {
        let place = Location::caller();
        Request { work, call, place, accesses: &[], awaits: None, keeps: None }
    }
}
