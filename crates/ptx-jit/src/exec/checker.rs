//! Checks of a launch beyond those of native code: whoever launches brings a [`BlockChecker`], which
//! is told of each access and of what orders the threads of a block.

use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ptx::CopyGroup;

use super::MemoryView;
use crate::abi::AccessInfo;

/// The dimensions of a launch's grid and blocks, and the memory of a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockLayout {
    /// Blocks per axis.
    pub grid: [u32; 3],
    /// Threads of a block per axis.
    pub block: [u32; 3],
    /// The shared memory of a block.
    pub shared_bytes: usize,
    /// The local memory of a thread.
    pub local_bytes: usize,
    /// The number of local memories: one for each thread of a block, or one that all threads use in
    /// turn.
    pub local_count: usize,
}

/// The thread that makes an access, and the instruction by which it does.
pub struct AccessContext<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The thread's number in its block.
    pub linear: u32,
    /// The thread's index in its block.
    pub thread: [u32; 3],
    /// The line of the instruction in the PTX text, from 1; 0 if there is none.
    pub line: u32,
    /// The memory that the launch may touch.
    pub memory: &'a dyn MemoryView,
}

/// An access that is wrong whatever else happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// It leaves the shared, local or parameter memory that the instruction names.
    OutOfBounds,
    /// Its address is no multiple of its size.
    Misaligned,
    /// It writes to the kernel's parameters.
    ReadOnly,
}

/// Something that a block does and that CUDA leaves undefined, although nothing comes of it here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// A barrier that not all threads come to, or not in the same way.
    Barrier,
    /// A shuffle that reads from a lane which takes no part.
    InactiveLane,
}

/// Checks one block after the other, on one thread of the host. None of the methods may panic: they
/// are called from native code.
pub trait BlockChecker {
    /// Begins a block.
    fn start(&mut self, block: [u32; 3]);

    /// An access to global memory. `value` is what it writes, if it writes a single value.
    ///
    /// # Errors
    /// What is wrong with it. The access is not made, and the launch ends.
    fn global(
        &mut self,
        address: u64,
        access: AccessInfo,
        value: Option<u64>,
        context: &AccessContext<'_>,
    ) -> Result<(), AccessRefusal>;

    /// An access inside the block's shared memory, which begins at `base`.
    ///
    /// # Errors
    /// As [`BlockChecker::global`].
    fn shared(
        &mut self,
        address: u64,
        base: u64,
        access: AccessInfo,
        value: Option<u64>,
        context: &AccessContext<'_>,
    ) -> Result<(), AccessRefusal>;

    /// An access to a range of the thread's local memory, in bytes from its start.
    ///
    /// # Errors
    /// As [`BlockChecker::global`].
    fn local(
        &mut self,
        range: Range<u64>,
        access: AccessInfo,
        context: &AccessContext<'_>,
    ) -> Result<(), AccessRefusal>;

    /// Arguments or results of a call were written to a range of the thread's local memory.
    fn passed(&mut self, linear: u32, range: &Range<u64>);

    /// A strong read or an atomic operation of the thread is done.
    fn acquired(&mut self, address: u64, is_shared: bool, linear: u32);

    /// The thread commits its asynchronous copies, or waits for them.
    fn copy_group(&mut self, linear: u32, step: CopyGroup);

    /// The last asynchronous copies of a thread arrive at the mbarrier at that place in shared memory when
    /// they are done; all of them if it has not so many that were not committed.
    fn copies_arrive(&mut self, linear: u32, barrier: u64, last: usize);

    /// A thread arrives at the mbarrier at that place in shared memory.
    fn arrive_at_phase(&mut self, linear: u32, barrier: u64);

    /// The phase of an mbarrier is complete.
    fn complete_phase(&mut self, barrier: u64);

    /// A thread has waited for a phase of an mbarrier that is complete.
    fn wait_for_phase(&mut self, linear: u32, barrier: u64);

    /// The thread executes a fence.
    fn fence(&mut self, linear: u32);

    /// The thread arrives at a barrier of the block.
    fn arrive(&mut self, linear: u32, barrier: usize);

    /// A barrier opens for the threads that wait at it.
    fn open(&mut self, barrier: usize, waiting: &mut dyn Iterator<Item = u32>);

    /// The lanes in `members` execute `bar.warp.sync`; `first` is the number of lane 0 in its block.
    fn sync_warp(&mut self, first: u32, members: u32);

    /// Takes note of a misuse, which does not end the launch.
    fn note(&self, misuse: Misuse, detail: String, context: &AccessContext<'_>);

    /// The refusal of an access that has been found wrong already, with what the checker knows
    /// about its address.
    fn refuse(
        &self,
        violation: Violation,
        address: u64,
        access: AccessInfo,
        context: &AccessContext<'_>,
    ) -> AccessRefusal;
}

/// Why a [`BlockChecker`] refuses an access: an error of the checker's own.
#[derive(Clone, Debug)]
pub struct AccessRefusal(Arc<dyn Error + Send + Sync>);

impl AccessRefusal {
    /// Wraps the checker's error.
    pub fn new(error: impl Error + Send + Sync + 'static) -> AccessRefusal {
        AccessRefusal(Arc::new(error))
    }

    /// The checker's error, if it is of that type.
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

/// Refusals are the same if they say the same.
impl PartialEq for AccessRefusal {
    fn eq(&self, other: &AccessRefusal) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.to_string() == other.to_string()
    }
}

impl fmt::Display for AccessRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
