//! Reasons for which the host waits for a device.

use std::fmt;

/// Why the host waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitReason {
    /// [`Stream::synchronize`](crate::Stream::synchronize).
    Stream,
    /// [`Device::synchronize`](crate::Device::synchronize).
    Device,
    /// [`Event::synchronize`](crate::Event::synchronize).
    Event,
    /// [`StreamPoint::wait`](crate::StreamPoint::wait), and all that stands on it:
    /// [`Pending::wait`](crate::Pending::wait), blocking copies, [`Uses`](crate::Uses).
    Point,
    /// A copy to pageable memory ([`Stream::enqueue_dtoh`](crate::Stream::enqueue_dtoh)), which the driver waits for.
    PageableCopy,
    /// A [`Timeline`](crate::Timeline) was begun or finished.
    Timeline,
    /// `CUDA_LAUNCH_BLOCKING=1`: the work was waited for where it was enqueued.
    LaunchBlocking,
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
