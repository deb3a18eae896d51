//! What threads of a program do.

use std::fmt;

/// A piece of state that threads share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
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

impl Slot {
    /// Those that are tensors.
    pub(crate) const TENSORS: [Slot; 4] = [Slot::Host, Slot::Pinned, Slot::First, Slot::Second];
    /// How many slots there are.
    pub(crate) const COUNT: usize = 5;
}

/// What touches shared state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// `slot += by`
    Add { slot: Slot, by: i64 },
    /// `slot *= by`
    Multiply { slot: Slot, by: i64 },
    /// `to = from`, waiting for it or not.
    Copy { to: Slot, from: Slot, waits: bool },
    /// `to += from`, which is refused on two devices.
    AddFrom { to: Slot, from: Slot },
    /// Looks at a slot.
    Read { slot: Slot },
    /// Takes a guard of a slot, and looks through it; until the thread's next `LetGo`, or its end.
    Hold { slot: Slot },
    /// `slot += by`, by a graph that is captured first.
    Launch { slot: Slot, by: i64 },
    /// Gradients add up: `gradient += by`.
    Backward { by: i64 },
}

/// What only gets in the way.
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
pub(crate) enum Step {
    /// Something shared; `in_pool` within a thread pool that is not Sluice's.
    Act {
        act: Act,
        in_pool: bool,
    },
    Nuisance(Nuisance),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Act { act, in_pool: false } => write!(f, "{act:?}"),
            Step::Act { act, in_pool: true } => write!(f, "in pool {act:?}"),
            Step::Nuisance(nuisance) => write!(f, "{nuisance:?}"),
        }
    }
}
