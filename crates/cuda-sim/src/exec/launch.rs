//! A launch: a grid of blocks of one kernel, run on the calling thread.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::{Access, CompiledKernel, Fault, FaultKind};

/// A grid of blocks of one kernel.
///
/// Several host threads may run different blocks of one launch at the same time.
pub(crate) struct Launch<'a> {
    /// The code.
    pub(crate) kernel: &'a CompiledKernel,
    /// Blocks per axis.
    pub(crate) grid: [u32; 3],
    /// Threads of a block per axis.
    pub(crate) block: [u32; 3],
    /// Shared memory per block beyond what the kernel declares with a size.
    pub(crate) dynamic_shared_bytes: u32,
    /// The parameter buffer, laid out as [`Kernel::parameters`](super::Kernel::parameters) says.
    pub(crate) parameters: &'a [u8],
    /// The addresses of the module's variables, in the order of [`Program::globals`](super::Program::globals).
    pub(crate) globals: &'a [u64],
    /// The memory that kernels see.
    pub(crate) memory: &'a dyn MemoryView,
}

impl Launch<'_> {
    /// The number of blocks.
    pub(crate) fn block_count(&self) -> u64 {
        self.grid.iter().map(|&extent| u64::from(extent)).product()
    }

    /// Runs the blocks of `range` on the calling thread, in no particular order.
    ///
    /// `interrupted` is polled between blocks, and every so often in loops.
    ///
    /// # Errors
    ///
    /// The first fault of a thread, which ends the run.
    pub(crate) fn run(&self, _range: Range<u64>, _interrupted: &AtomicBool) -> Result<(), Fault> {
        Err(Fault {
            kernel: String::new(),
            block: [0; 3],
            thread: [0; 3],
            line: 0,
            kind: FaultKind::Trap,
        })
    }
}

/// The device memory that the threads of a launch may touch.
///
/// Device addresses are addresses of the host process. None of the methods may panic: they are called from native code.
pub(crate) trait MemoryView: Sync {
    /// The device's own address range. At [`CheckLevel::Window`](super::CheckLevel::Window), accesses inside pass unasked.
    fn window(&self) -> Range<u64>;

    /// Whether a thread may access `bytes` bytes at `address`.
    fn permits(&self, address: u64, bytes: u64, access: Access) -> bool;

    /// Takes what kernels print.
    fn print(&self, text: &str);
}
