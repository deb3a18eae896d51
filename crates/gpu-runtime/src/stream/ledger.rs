//! The ledger of a stream: the newest pieces of work, so that a late error can be traced back.

use std::sync::Arc;

use crate::shared::{NOTE_BITS, Newest, Recent};
use crate::types::{Direction, GraphNode, KernelName, Work};

/// The number of pieces of work that a stream remembers, those included of which nothing can fail.
const REMEMBERED: usize = 128;

/// The newest work of one stream.
///
/// Every launch is noted here, so a note is a number that says what the work is and how large, or
/// which kernel. What graphs do is kept apart.
pub(crate) struct Ledger {
    newest: Newest<REMEMBERED>,
    graphs: Recent<(u64, Arc<[GraphNode]>)>,
}

/// The bits of a note that say what the work is; above them is its size, or its kernel's number.
const KIND_BITS: u32 = 3;
const KERNEL: u64 = 1;
const FILL: u64 = 2;
const GRAPH: u64 = 3;
/// Copies have one kind for each direction, from here.
const COPY: u64 = 4;
const DIRECTIONS: [Direction; 4] = [
    Direction::HostToDevice,
    Direction::DeviceToHost,
    Direction::DeviceToDevice,
    Direction::PeerToPeer,
];

impl Ledger {
    pub(crate) fn new() -> Ledger {
        Ledger { newest: Newest::new(), graphs: Recent::new(REMEMBERED) }
    }

    /// Notes the stream's piece of work of that number.
    #[inline]
    pub(crate) fn note(&self, sequence: u64, work: &Work) {
        let note = match work {
            Work::Kernel { name } => note(KERNEL, u64::from(name.number())),
            Work::Copy { direction, bytes } => note(COPY + *direction as u64, *bytes as u64),
            Work::Fill { bytes } => note(FILL, *bytes as u64),
            Work::Graph { nodes } => {
                self.graphs.note((sequence, Arc::clone(nodes)));
                note(GRAPH, 0)
            }
            Work::Callback | Work::Wait | Work::Record => 0,
        };
        self.newest.note(sequence, note);
    }

    /// Passes over a number that stands for nothing that is known.
    pub(crate) fn pass(&self, sequence: u64) {
        self.newest.note(sequence, 0);
    }

    /// The remembered part of the work after the first `completed` pieces, of `enqueued` in all,
    /// oldest first.
    pub(crate) fn between(&self, completed: u64, enqueued: u64) -> Vec<(u64, Work)> {
        let first = completed.max(enqueued.saturating_sub(REMEMBERED as u64)) + 1;
        let noted = (first..=enqueued).filter_map(|sequence| {
            let note = self.newest.get(sequence)?;
            Some((sequence, self.work(sequence, note)?))
        });
        noted.collect()
    }

    /// The work that a note stands for.
    fn work(&self, sequence: u64, note: u64) -> Option<Work> {
        let (kind, size) = (note & ((1 << KIND_BITS) - 1), note >> KIND_BITS);
        let bytes = size as usize;
        match kind {
            KERNEL => KernelName::at(size as u32).map(|name| Work::Kernel { name }),
            FILL => Some(Work::Fill { bytes }),
            GRAPH => {
                let known = self.graphs.find(|(launch, _)| *launch == sequence);
                known.into_iter().next().map(|(_, nodes)| Work::Graph { nodes })
            }
            kind => {
                let direction = DIRECTIONS.get(kind.checked_sub(COPY)? as usize)?;
                Some(Work::Copy { direction: *direction, bytes })
            }
        }
    }
}

/// A note. No device has memory for a size that does not fit.
#[inline]
fn note(kind: u64, size: u64) -> u64 {
    const MOST: u64 = (1 << (NOTE_BITS - KIND_BITS)) - 1;
    size.min(MOST) << KIND_BITS | kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_work_after_what_is_complete_is_remembered() {
        let ledger = Ledger::new();
        for sequence in 1..=200 {
            ledger.note(sequence, &Work::Fill { bytes: sequence as usize });
        }
        let sequences = |completed| {
            let noted = ledger.between(completed, 200);
            noted.iter().map(|(sequence, _)| *sequence).collect::<Vec<_>>()
        };
        assert_eq!(sequences(0), (73..=200).collect::<Vec<_>>());
        assert_eq!(sequences(198), [199, 200]);
        assert!(sequences(200).is_empty());
    }

    #[test]
    fn what_was_noted_is_what_is_remembered() {
        let ledger = Ledger::new();
        let copy = |direction| Work::Copy { direction, bytes: 1 << 40 };
        let mut all: Vec<Work> = DIRECTIONS.map(copy).into();
        all.extend([
            Work::Kernel { name: KernelName::of("scale") },
            Work::Fill { bytes: 0 },
            Work::Graph { nodes: Arc::new([]) },
        ]);
        // Of a second round, and of what cannot fail nothing.
        let after = 3 * REMEMBERED as u64 - 4;
        for (sequence, work) in (after + 1..).zip(&all) {
            ledger.note(sequence, work);
        }
        let end = after + all.len() as u64 + 1;
        ledger.note(end, &Work::Wait);
        let noted = ledger.between(0, end);
        assert_eq!(noted.into_iter().map(|(_, work)| work).collect::<Vec<_>>(), all);
    }
}
