//! Faults: how a launch ends that does not end well.

use std::fmt;

use thiserror::Error;

use super::checker::AccessRefusal;
use crate::abi::AccessKind;
use crate::trap::Wild;

/// A kernel that was stopped, with the place where it was.
///
/// The first fault of a launch ends it; no statement is made about how far other threads got.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("kernel `{kernel}`, block {block:?}, thread {thread:?}, PTX line {line}: {kind}")]
pub struct Fault {
    /// The kernel's name.
    pub kernel: String,
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The thread's index in its block.
    pub thread: [u32; 3],
    /// The line of the instruction in the PTX text, from 1; 0 where no instruction is to blame.
    pub line: u32,
    /// The kind of fault.
    pub kind: FaultKind,
}

/// The reasons for which a kernel is stopped.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FaultKind {
    /// An access to memory that the thread may not touch.
    #[error("illegal {access} of {bytes} bytes at {address:#x}")]
    IllegalAddress {
        /// The address, as the instruction gave it.
        address: u64,
        /// The size of the access.
        bytes: u32,
        /// The kind of access that was attempted.
        access: AccessKind,
    },
    /// An access at an address that is no multiple of its size.
    #[error("misaligned {access} of {bytes} bytes at {address:#x}")]
    MisalignedAddress {
        /// The address, as the instruction gave it.
        address: u64,
        /// The size of the access.
        bytes: u32,
        /// The kind of access that was attempted.
        access: AccessKind,
    },
    /// A device-side `assert` that failed.
    #[error("{0}")]
    Assert(Box<Assertion>),
    /// A `trap` instruction.
    #[error("trap")]
    Trap,
    /// Every live thread of the block waits, and no barrier or warp operation can complete.
    #[error("deadlock: {waiting} of the block's threads wait for others that will not come")]
    BarrierDivergence {
        /// The number of threads that wait.
        waiting: u32,
    },
    /// Calls nested deeper than a thread's memory allows.
    #[error("calls nested too deeply for the {local} bytes of local memory or the stack")]
    StackOverflow {
        /// The local memory of a thread.
        local: usize,
    },
    /// An access inside the device's window where there is no memory.
    #[error("illegal access at {:#x}", .0.address)]
    Wild(Wild),
    /// The machine has no memory for the kernel to run in.
    #[error("no memory for a stack: {0}")]
    NoStack(String),
    /// The code generator refused the kernel.
    #[error("could not be compiled for this host: {0}")]
    NotCompiled(String),
    /// A [`BlockChecker`](super::BlockChecker) refused an access.
    #[error("{0}")]
    Refused(AccessRefusal),
    /// The launch was asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// A device-side `assert` that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The asserted expression.
    pub message: String,
    /// The source file.
    pub file: String,
    /// The line in the source file.
    pub line: u32,
    /// The function that asserts.
    pub function: String,
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Assertion { message, file, line, function } = self;
        write!(f, "{file}:{line}: {function}: assertion `{message}` failed")
    }
}
