//! Reports of data races.

use std::fmt;
use std::panic::Location;

use crate::types::{Access, Allocation, DevicePtr, StreamId, Work, WorkId};

/// Two accesses to the same memory, of which at least one writes, and nothing makes the later one
/// wait for the earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Race {
    /// The one that was asked for first.
    pub earlier: RacingAccess,
    /// The one that was asked for last.
    pub later: RacingAccess,
    /// The first byte that both access.
    pub start: DevicePtr,
    /// From there to the last such byte. Accesses to rows may leave some in between alone.
    pub bytes: usize,
    /// The memory, if it was got while the checker was on.
    pub allocation: Option<Allocation>,
    /// The allocation that the memory was part of at the earlier access, if it was given back since and
    /// allocated anew.
    pub former: Option<Allocation>,
    /// The order that is missing.
    pub missing: MissingEdge,
    /// The number of times that it was seen between the same places, kinds of work and streams.
    pub times: usize,
}

/// One side of a [`Race`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RacingAccess {
    /// The stream's work, or the host, that accesses.
    pub party: Party,
    /// How.
    pub access: Access,
    /// The place in the source that asked for it: see [`at_place`](crate::at_place).
    pub place: &'static Location<'static>,
}

/// One that accesses memory: work of a stream, or the host.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Party {
    /// Work of a stream.
    Work {
        /// Its stream, and its number there.
        id: WorkId,
        /// The work.
        work: Work,
    },
    /// A thread of the host.
    Host,
}

/// The smallest addition to the program that makes a [`Race`] none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingEdge {
    /// This work has to be done
    pub after: WorkId,
    /// before this stream goes on, or the host if it is none.
    pub before: Option<StreamId>,
    /// The number of pieces of the former's stream that are waited for already, which are not enough.
    pub awaited: u64,
    /// Whether the memory was given to a new owner although that work was not known to use it.
    pub is_reuse: bool,
}

impl Race {
    /// Whether this is another sighting of the same: the same places, work and streams.
    pub(crate) fn is_like(&self, other: &Race) -> bool {
        self.earlier.is_like(&other.earlier)
            && self.later.is_like(&other.later)
            && self.missing.is_reuse == other.missing.is_reuse
    }
}

impl RacingAccess {
    /// The stream that accesses; none for the host.
    pub fn stream(&self) -> Option<StreamId> {
        match self.party {
            Party::Work { id, .. } => Some(id.stream),
            Party::Host => None,
        }
    }

    fn is_like(&self, other: &RacingAccess) -> bool {
        let kind = |party: &Party| match party {
            Party::Work { work, .. } => Some(work.clone()),
            Party::Host => None,
        };
        self.place == other.place
            && self.access == other.access
            && self.stream() == other.stream()
            && kind(&self.party) == kind(&other.party)
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Race { earlier, later, start, bytes, .. } = self;
        write!(f, "data race on {bytes} bytes at {:#x}", start.address())?;
        if let Some(allocation) = &self.allocation {
            let from = start.address() - allocation.start.address();
            write!(f, ": {from}..{} of {}", from + *bytes as u64, DescribedAllocation(allocation))?;
        }
        if let Some(former) = &self.former {
            write!(
                f,
                "\n  which for the first of the two was part of {}",
                DescribedAllocation(former)
            )?;
        }
        write!(f, "\n  first {earlier}\n  then  {later}\n  {}", self.missing)?;
        match self.times {
            0 | 1 => Ok(()),
            times => write!(f, "\n  seen {times} times"),
        }
    }
}

impl fmt::Display for RacingAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            Access::Read => "read",
            Access::Write => "written",
        };
        match &self.party {
            Party::Work { id, work } => {
                write!(f, "{access} by {work}, number {} on {}", id.sequence, id.stream)?;
            }
            Party::Host => write!(f, "{access} by the host")?,
        }
        write!(f, ", asked for at {}", self.place)
    }
}

impl fmt::Display for MissingEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkId { stream, sequence } = self.after;
        let waits = match self.before {
            Some(before) => before.to_string(),
            None => "the host".to_owned(),
        };
        match self.awaited {
            0 => write!(f, "{waits} does not wait for {stream}")?,
            upto => write!(f, "{waits} waits for {stream} only up to number {upto}")?,
        }
        write!(
            f,
            ". Missing: after number {sequence}, `let event = <{stream}>.record_event()?`; "
        )?;
        match self.before {
            Some(before) => write!(f, "before the second, `<{before}>.wait_event(&event)?`")?,
            None => f.write_str("before the access, `event.synchronize()?`")?,
        }
        match self.is_reuse {
            true => write!(
                f,
                ". Or, before the memory is given back, `record_stream(&<{stream}>)`, which keeps \
                 it until that work is done"
            ),
            false => Ok(()),
        }
    }
}

/// DescribedAllocation, for messages.
struct DescribedAllocation<'a>(&'a Allocation);

impl fmt::Display for DescribedAllocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Allocation { bytes, device, place, .. } = self.0;
        match device {
            Some(device) => write!(f, "{bytes} bytes of {device}, got at {place}"),
            None => write!(f, "{bytes} bytes of page-locked memory, got at {place}"),
        }
    }
}
