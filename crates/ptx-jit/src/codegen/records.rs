//! What the runtime is told about native code: where it suspends, where it goes on, and what it leaves
//! to the runtime.

use ptx::Suspension;

use super::thread::SpaceWindow;
use crate::abi::AccessKind;
use crate::ir;

/// A place in a kernel at which threads may have to wait, as coroutines of LLVM have them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SuspendPoint {
    pub(crate) suspension: Suspension,
    /// In the PTX text.
    pub(crate) line: u32,
}

/// A place between the instructions of a kernel at which a thread by itself may begin, because its
/// warp left the lockstep there, or stop, because the warp goes on there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResumePoint {
    /// The block that begins there.
    pub(super) block: usize,
    /// Whether threads are asked to stop there.
    pub(super) stops: bool,
    /// The state in which a warp goes on there, in its own function.
    pub(crate) warp_state: u32,
}

/// The places at which warps and their threads may be between two calls of a kernel's code for warps.
pub(crate) struct ResumeTable {
    /// The states of threads, from 1 on, in which they leave the lockstep or come back to it.
    pub(crate) points: Vec<ResumePoint>,
    /// For each state of a warp, from 1 on, where it waits, if it does.
    pub(crate) waits: Vec<Option<SuspendPoint>>,
}

/// An access that the lanes of a warp make one by one: lane `l` at
/// [`LaneStrides::at`](ir::LaneStrides::at) from the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneAccess {
    /// The bytes that each lane accesses.
    pub(crate) bytes: u32,
    pub(crate) window: Option<SpaceWindow>,
    pub(crate) shape: ir::WarpShape,
    pub(crate) strides: ir::LaneStrides,
    /// Whether the lanes of a row are at one place.
    pub(crate) shares_rows: bool,
    /// In the PTX text.
    pub(crate) line: u32,
}

/// Accesses to shared memory at distances from one register, which the lanes of a warp make one after
/// the other.
#[derive(Debug)]
pub(crate) struct AccessGroup {
    /// The bytes that each lane accesses.
    pub(crate) bytes: u32,
    pub(crate) shape: ir::WarpShape,
    pub(crate) strides: ir::LaneStrides,
    /// Whether the register has 64 bits, and not 32, in which addresses are computed.
    pub(crate) is_wide: bool,
    /// In the order in which they are made.
    pub(crate) accesses: Vec<GroupedAccess>,
}

/// An access of an [`AccessGroup`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupedAccess {
    /// The distance from the register.
    pub(crate) offset: i64,
    pub(crate) kind: AccessKind,
    /// In the PTX text.
    pub(crate) line: u32,
}

/// The suspend points and accesses that native code refers to by their numbers.
#[derive(Default)]
pub(crate) struct CodeRecords {
    suspend_points: Vec<SuspendPoint>,
    accesses: Vec<LaneAccess>,
    groups: Vec<AccessGroup>,
}

impl CodeRecords {
    /// Adds a place where threads may have to wait, or an operation among the lanes of a warp; its
    /// number.
    pub(super) fn add_suspend_point(&mut self, suspension: Suspension, line: u32) -> i64 {
        self.suspend_points.push(SuspendPoint { suspension, line });
        self.suspend_points.len() as i64 - 1
    }

    /// Adds an access of a warp that native code may leave to the runtime; its number.
    pub(super) fn add_access(&mut self, access: LaneAccess) -> i64 {
        self.accesses.push(access);
        self.accesses.len() as i64 - 1
    }

    /// Adds accesses that are checked together; their number.
    pub(super) fn add_group(&mut self, group: AccessGroup) -> i64 {
        self.groups.push(group);
        self.groups.len() as i64 - 1
    }

    /// The suspend point of that number.
    pub(crate) fn suspend_point(&self, number: u32) -> Option<SuspendPoint> {
        self.suspend_points.get(number as usize).copied()
    }

    /// The access of that number.
    pub(crate) fn access(&self, number: u32) -> Option<LaneAccess> {
        self.accesses.get(number as usize).copied()
    }

    /// The accesses of that number that are checked together.
    pub(crate) fn group(&self, number: u32) -> Option<&AccessGroup> {
        self.groups.get(number as usize)
    }
}

/// The bytes that functions take of the stack.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StackUse {
    /// All of them once: no chain of calls takes more, unless functions call themselves.
    pub(crate) all: usize,
    /// The largest of those that are called by others.
    pub(crate) largest_callee: usize,
}
