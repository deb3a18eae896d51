//! The ledger of a stream: the newest pieces of work, so that a late error can be traced back.

use std::fmt;
use std::sync::Arc;

use crate::graph::GraphNode;
use crate::shared::Recent;
use crate::stream::StreamId;

/// How many pieces of work a stream remembers.
const REMEMBERED: usize = 64;

/// A piece of work that a stream does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// A kernel.
    Kernel {
        /// The kernel's name in its module.
        name: Arc<str>,
    },
    /// A copy.
    Copy {
        /// From where to where.
        direction: Direction,
        /// How much.
        bytes: usize,
    },
    /// Memory set to one value.
    Fill {
        /// How much.
        bytes: usize,
    },
    /// A launch of a graph.
    Graph {
        /// What it does, in the order in which it was captured.
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
    /// What it does.
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

    /// Whether a point of the stream after this work is another one than before. Recording an
    /// event does nothing that one could wait for.
    pub(crate) fn advances(&self) -> bool {
        !matches!(self, Work::Record)
    }
}

/// The newest work of one stream.
pub(crate) struct Ledger {
    entries: Recent<(u64, Work)>,
}

impl Ledger {
    pub(crate) fn new() -> Ledger {
        Ledger { entries: Recent::new(REMEMBERED) }
    }

    pub(crate) fn note(&self, sequence: u64, work: &Work) {
        self.entries.note((sequence, work.clone()));
    }

    /// What is remembered after `completed`, oldest first.
    pub(crate) fn after(&self, completed: u64) -> Vec<(u64, Work)> {
        self.entries.find(|(sequence, _)| *sequence > completed)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_work_after_what_is_complete_is_remembered() {
        let ledger = Ledger::new();
        for sequence in 1..=100 {
            ledger.note(sequence, &Work::Callback);
        }
        let sequences = |completed| {
            ledger.after(completed).iter().map(|(sequence, _)| *sequence).collect::<Vec<_>>()
        };
        assert_eq!(sequences(0), (37..=100).collect::<Vec<_>>());
        assert_eq!(sequences(98), [99, 100]);
        assert!(sequences(100).is_empty());
    }
}
