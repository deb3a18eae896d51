//! The steps of a program's threads.

use std::fmt;

/// A piece of state that threads share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharedSlot {
    /// A tensor in memory that the operating system may move.
    Host,
    /// A tensor in page-locked memory.
    Pinned,
    /// A tensor on the first device.
    First,
    /// A tensor on the second device.
    Second,
    /// The gradient of a leaf on the first device.
    Gradient,
}

impl SharedSlot {
    /// The slots that are tensors.
    pub(crate) const TENSORS: [SharedSlot; 4] =
        [SharedSlot::Host, SharedSlot::Pinned, SharedSlot::First, SharedSlot::Second];
    /// The number of slots.
    pub(crate) const COUNT: usize = 5;
}

/// A step that touches shared state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharedAct {
    /// `slot += by`
    Add { slot: SharedSlot, by: i64 },
    /// `slot *= by`
    Multiply { slot: SharedSlot, by: i64 },
    /// `to = from`, waiting for it or not.
    Copy { to: SharedSlot, from: SharedSlot, waits: bool },
    /// `to += from`, which is refused on two devices.
    AddFrom { to: SharedSlot, from: SharedSlot },
    /// Looks at a slot.
    Read { slot: SharedSlot },
    /// Takes a guard of a slot, and looks through it; until the thread's next `LetGo`, or its end.
    Hold { slot: SharedSlot },
    /// `slot += by`, by a graph that is captured first.
    Launch { slot: SharedSlot, by: i64 },
    /// Gradients add up: `gradient += by`.
    Backward { by: i64 },
}

/// A step that only disturbs the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nuisance {
    /// Drops the guards that the thread holds, after a look through them.
    LetGo,
    /// Enqueues a callback that drops the last handle of a tensor.
    Callback,
    /// Captures work and throws the graph away.
    Capture,
    /// Makes a loader with workers, and drops it after a batch.
    Loader,
    /// Gives all unused memory back.
    EmptyCaches,
    /// Waits for a device.
    Synchronize,
    /// Makes a stream of its own the current one, until the thread's end.
    OwnStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramStep {
    /// Something shared; `in_pool` within a thread pool that is not Sluice's.
    Act {
        act: SharedAct,
        in_pool: bool,
    },
    Nuisance(Nuisance),
}

impl fmt::Display for ProgramStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramStep::Act { act, in_pool: false } => write!(f, "{act:?}"),
            ProgramStep::Act { act, in_pool: true } => write!(f, "in pool {act:?}"),
            ProgramStep::Nuisance(nuisance) => write!(f, "{nuisance:?}"),
        }
    }
}
