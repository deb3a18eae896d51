//! A launch: a grid of blocks of one kernel, run on the calling thread.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::block::{Round, ThreadBlock};
use super::checker::{BlockChecker, BlockLayout};
use super::fault::{Fault, FaultKind};
use crate::abi::{AccessKind, KernelContext, slots};
use crate::program::CompiledKernel;
use crate::stack::Stack;

/// The most threads that are begun while none can go on: some more than a GPU of the size that
/// devices here report could hold.
const MAX_THREADS: u64 = 1 << 16;

/// A grid of blocks of one kernel.
///
/// Several host threads may run different blocks of one launch at the same time.
pub struct Launch<'a> {
    /// The code.
    pub kernel: &'a CompiledKernel,
    /// Blocks per axis.
    pub grid: [u32; 3],
    /// Threads of a block per axis: at most 1024 in all.
    pub block: [u32; 3],
    /// Shared memory per block beyond what the kernel declares with a size.
    pub dynamic_shared_bytes: u32,
    /// The parameter buffer, laid out as [`Kernel::parameters`](crate::Kernel::parameters) says.
    pub parameters: &'a [u8],
    /// The addresses of the module's variables, in the order of
    /// [`Program::globals`](crate::Program::globals).
    pub globals: &'a [u64],
    /// The memory that kernels see.
    pub memory: &'a dyn MemoryView,
}

impl Launch<'_> {
    /// Runs the blocks of `range` on the calling thread, in no particular order.
    ///
    /// `interrupted` is polled between blocks, and every so often in loops.
    ///
    /// # Errors
    ///
    /// The first fault of a thread, which ends the run.
    pub fn run(&self, range: Range<u64>, interrupted: &AtomicBool) -> Result<(), Fault> {
        debug_assert!(self.parameters.len() >= self.kernel.parameter_bytes);
        if range.is_empty() || self.block.contains(&0) {
            return Ok(());
        }
        let stack = Stack::take(self.kernel.frame_room()).map_err(|error| self.no_stack(&error))?;
        if self.kernel.suspends || self.kernel.warps().is_some() {
            return self.run_waiting(range, interrupted, &stack);
        }
        let mut block = ThreadBlock::new(self, interrupted, &stack);
        for index in range {
            block.start(index);
            block.run_all()?;
        }
        Ok(())
    }

    fn no_stack(&self, error: &std::io::Error) -> Fault {
        let kind = FaultKind::NoStack(error.to_string());
        let kernel = self.kernel.name().to_string();
        Fault { kernel, block: [0; 3], thread: [0; 3], line: 0, kind }
    }

    /// The record that native code is given. The block that runs is filled in when it starts.
    pub(super) fn context(
        &self,
        shared: *mut u8,
        shared_bytes: usize,
        stack: &Stack,
    ) -> KernelContext {
        let kernel = self.kernel;
        let window = self.memory.window();
        // In a window that is not aligned, places would be; so all accesses are asked for.
        let known = window.start.is_multiple_of(32);
        KernelContext {
            window_start: window.start,
            window_slots: slots(if known { window.end - window.start } else { 0 }),
            parameters: self.parameters.as_ptr(),
            parameter_slots: slots(kernel.parameter_bytes as u64),
            shared,
            shared_slots: slots(shared_bytes as u64),
            local_slots: slots(kernel.local_bytes as u64),
            stack_limit: stack.limit() + kernel.largest_callee() as u64,
            globals: self.globals.as_ptr(),
            grid: self.grid,
            block: self.block,
            block_index: [0; 3],
            dynamic_shared_bytes: self.dynamic_shared_bytes,
            total_shared_bytes: shared_bytes as u32,
            warps: std::ptr::null_mut(),
            warp_count: 0,
            chained: 0,
            ended: 0,
            elsewhere: 0,
            marked: 0,
            sweeps: 0,
            running: std::ptr::null_mut(),
            lanes: [0; _],
            answer: 0,
            runner: std::ptr::null(),
        }
    }

    /// Runs blocks whose threads may wait. One runs at a time, unless all that run only wait for
    /// something outside.
    fn run_waiting(
        &self,
        range: Range<u64>,
        interrupted: &AtomicBool,
        stack: &Stack,
    ) -> Result<(), Fault> {
        let threads: u64 = self.block.into_iter().map(u64::from).product();
        let max_blocks = (MAX_THREADS / threads).max(1) as usize;
        let mut coming = range;
        let mut running: Vec<Box<ThreadBlock<'_>>> = Vec::new();
        let mut idle: Vec<Box<ThreadBlock<'_>>> = Vec::new();
        loop {
            let mut spinning = true;
            let mut place = 0;
            while place < running.len() {
                match running[place].round()? {
                    Round::Ended => {
                        idle.push(running.swap_remove(place));
                        spinning = false;
                    }
                    round => {
                        spinning &= round == Round::Spun;
                        place += 1;
                    }
                }
            }
            let may_join = running.is_empty() || spinning && running.len() < max_blocks;
            let next = if may_join { coming.next() } else { None };
            match next {
                Some(index) => {
                    let block = idle.pop();
                    let mut block = block
                        .unwrap_or_else(|| Box::new(ThreadBlock::new(self, interrupted, stack)));
                    block.start(index);
                    running.push(block);
                }
                None if running.is_empty() => return Ok(()),
                None if spinning => self.memory.rest(),
                None => {}
            }
        }
    }
}

/// The device memory that the threads of a launch may touch.
///
/// Device addresses are addresses of the host process. None of the methods may panic: they are
/// called from native code.
pub trait MemoryView: Sync {
    /// The device's own address range. At [`CheckLevel::Window`](crate::CheckLevel::Window),
    /// accesses inside pass unasked.
    fn window(&self) -> Range<u64>;

    /// Whether a thread may access `bytes` bytes at `address`.
    fn permits(&self, address: u64, bytes: u64, access: AccessKind) -> bool;

    /// Allocates memory for a kernel's `malloc`; `None` if there is not so much.
    fn heap_allocate(&self, bytes: u64) -> Option<u64>;

    /// Frees memory for a kernel's `free`; `false` if no allocation begins there.
    fn heap_release(&self, address: u64) -> bool;

    /// A checker that is told of each access of kernels that were compiled at
    /// [`CheckLevel::Full`](crate::CheckLevel::Full), if there is one. One checker sees the blocks
    /// that one thread of the host runs.
    fn checker(&self, layout: &BlockLayout) -> Option<Box<dyn BlockChecker + '_>> {
        let _ = layout;
        None
    }

    /// Lets others go first: no thread can go on before somebody else does something.
    fn rest(&self) {
        std::thread::yield_now();
    }

    /// Takes what kernels print.
    fn print(&self, text: &str);
}
