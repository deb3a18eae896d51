//! Pieces of work of a stream, as values: what they do, and which of the stream's they are.

use std::fmt;
use std::sync::Arc;

use super::{GraphNode, KernelName, StreamId};

/// A piece of a stream's work, by its number: the first is 1. As something to wait for, it stands
/// for all the pieces before it too, and 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkId {
    /// The stream.
    pub stream: StreamId,
    /// The number among the work of that stream.
    pub sequence: u64,
}

/// A piece of work that a stream does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// A kernel.
    Kernel {
        /// The kernel's name in its module.
        name: KernelName,
    },
    /// A copy.
    Copy {
        /// From where to where.
        direction: Direction,
        /// The number of bytes.
        bytes: usize,
    },
    /// Memory set to one value.
    Fill {
        /// The number of bytes.
        bytes: usize,
    },
    /// A launch of a graph.
    Graph {
        /// The graph's nodes, in the order in which they were captured.
        nodes: Arc<[GraphNode]>,
    },
    /// A function of the host.
    Callback,
    /// Waiting for an event of another stream.
    Wait,
    /// Recording an event.
    Record,
}

/// The direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the host to a device.
    HostToDevice,
    /// From a device to the host.
    DeviceToHost,
    /// Within a device.
    DeviceToDevice,
    /// From one device to another.
    PeerToPeer,
}

/// A piece of work that was enqueued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchRecord {
    /// The stream.
    pub stream: StreamId,
    /// Its number among the work of that stream, from 1.
    pub sequence: u64,
    /// The work.
    pub work: Work,
}

impl Work {
    /// Whether a device does this, so that it can fail there.
    pub(crate) fn runs_on_device(&self) -> bool {
        match self {
            Work::Kernel { .. } | Work::Copy { .. } | Work::Fill { .. } | Work::Graph { .. } => {
                true
            }
            Work::Callback | Work::Wait | Work::Record => false,
        }
    }

    /// Whether the device's context has to be current to enqueue it. Events and streams say by
    /// themselves where they are, and may be on different devices; but the legacy stream is the one
    /// of whichever context is current.
    pub(crate) fn needs_context(&self) -> bool {
        !matches!(self, Work::Wait | Work::Record)
    }

    /// Whether it uses what the runtime does not keep by itself: memory of the host, which may be
    /// borrowed, or a closure.
    #[inline]
    pub(crate) fn uses_what_is_lent(&self) -> bool {
        let with_host = |direction: &Direction| {
            matches!(direction, Direction::HostToDevice | Direction::DeviceToHost)
        };
        match self {
            Work::Copy { direction, .. } => with_host(direction),
            Work::Callback => true,
            _ => false,
        }
    }

    /// Whether a point of the stream after this work is another one than before. Recording an
    /// event does nothing that one could wait for.
    pub(crate) fn advances(&self) -> bool {
        !matches!(self, Work::Record)
    }
}

impl fmt::Display for LaunchRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (number {} on {})", self.work, self.sequence, self.stream)
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Kernel { name } => write!(f, "kernel `{name}`"),
            Work::Copy { direction, bytes } => write!(f, "a copy of {bytes} bytes {direction}"),
            Work::Fill { bytes } => write!(f, "a fill of {bytes} bytes"),
            Work::Graph { nodes } => write!(f, "a graph of {} nodes", nodes.len()),
            Work::Callback => f.write_str("a host callback"),
            Work::Wait => f.write_str("a wait for an event"),
            Work::Record => f.write_str("the record of an event"),
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::HostToDevice => "from the host to a device",
            Direction::DeviceToHost => "from a device to the host",
            Direction::DeviceToDevice => "within a device",
            Direction::PeerToPeer => "from one device to another",
        })
    }
}
