//! Kernels as native code.

use std::sync::{Arc, OnceLock};

use ptx::{BarrierOp, LineMap, Suspension};

use crate::abi::{CheckLevel, ThreadEntry, WarpEntry};
use crate::codegen::{
    self, AccessGroup, LaneAccess, NativeKernel, ResumeTable, StackUse, SuspendPoint, Target,
};
use crate::ir;
use crate::stack;

/// A kernel as native code. Shared between the threads that run its blocks.
pub struct CompiledKernel {
    pub(crate) check: CheckLevel,
    pub(super) target: Target,
    pub(crate) name: Arc<str>,
    /// The source locations of its instructions.
    pub(super) lines: Arc<LineMap>,
    pub(crate) suspends: bool,
    pub(crate) parameter_bytes: usize,
    pub(crate) local_bytes: usize,
    pub(crate) dynamic_shared_offset: usize,
    pub(super) kernel: ir::KernelIr,
    pub(super) code: KernelCode,
    /// The code for one thread at a time; beside that for warps, made when first needed.
    pub(super) threads: OnceLock<Result<NativeKernel<ThreadEntry>, String>>,
}

/// The code of a kernel: for single threads, or for warps in lockstep.
pub(super) enum KernelCode {
    Threads(ir::Resumable),
    Warps(Box<Warps>),
}

/// A kernel's code for warps in lockstep.
pub(crate) struct Warps {
    pub(crate) native: NativeKernel<WarpEntry>,
    pub(super) points: ResumeTable,
    pub(super) plan: ir::Lockstep,
    pub(super) takes_turns: bool,
}

impl Warps {
    /// The state of a warp all of whose threads have come to a state of the code for threads.
    pub(crate) fn state_of(&self, thread_state: u32) -> u32 {
        self.points.points[thread_state as usize - 1].warp_state
    }
}

impl CompiledKernel {
    /// Whether threads may wait in loops for what others do, of other blocks too.
    pub fn spins(&self) -> bool {
        self.kernel.spins
    }

    /// The name in the PTX text.
    pub fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// The source locations of its instructions.
    pub fn lines(&self) -> Arc<LineMap> {
        Arc::clone(&self.lines)
    }

    /// The code for warps in lockstep, if the kernel runs so.
    pub(crate) fn warps(&self) -> Option<&Warps> {
        match &self.code {
            KernelCode::Threads(_) => None,
            KernelCode::Warps(warps) => Some(warps),
        }
    }

    /// The code for one thread at a time.
    pub(crate) fn threads(&self) -> Result<&NativeKernel<ThreadEntry>, &str> {
        let compile = || match &self.code {
            KernelCode::Threads(plan) => {
                codegen::compile_threads(&self.kernel, self.target, plan, None)
            }
            KernelCode::Warps(warps) => {
                let points = Some(&warps.points.points[..]);
                codegen::compile_threads(&self.kernel, self.target, &warps.plan.resumable, points)
            }
        };
        // A warp in the middle of its kernel may ask for it, on a stack that is not for compilers.
        let compile = || match stack::with_room(compile) {
            Ok(compiled) => compiled,
            Err(error) => Err(format!("no memory for a stack: {error}")),
        };
        self.threads.get_or_init(compile).as_ref().map_err(String::as_str)
    }

    /// The bytes that native code takes of the stack, nested calls of recursive functions not
    /// counted. The code for one thread at a time may be made when warps are under way, so there is
    /// room for it before: as much as theirs, whose values are of 32 threads.
    pub(crate) fn frame_room(&self) -> usize {
        let made: usize = self.frames().map(|frames| frames.all).sum();
        if self.threads.get().is_some() { made } else { 2 * made }
    }

    /// The largest frame of a function that is called.
    pub(crate) fn largest_callee(&self) -> usize {
        self.frames().map(|frames| frames.largest_callee).max().unwrap_or(0)
    }

    /// The frames of the translations that have been made so far.
    fn frames(&self) -> impl Iterator<Item = StackUse> {
        let warps = self.warps().map(|warps| warps.native.stack_use);
        let threads = self.threads.get().and_then(|native| native.as_ref().ok());
        warps.into_iter().chain(threads.map(|native| native.stack_use))
    }

    /// The suspension at which a thread waits.
    pub(crate) fn thread_site(&self, site: u32) -> Option<SuspendPoint> {
        self.threads().ok()?.records.suspend_point(site)
    }

    /// The suspension at which a warp waits that goes on in a state; `None` if it does not wait.
    pub(crate) fn wait_of_warp(&self, state: u32) -> Option<SuspendPoint> {
        let before = (state as usize).checked_sub(1)?;
        self.warps()?.points.waits.get(before).copied()?
    }

    /// Whether a warp that is to go on in a state waits at the block's barrier.
    pub(crate) fn is_at_barrier(&self, state: u32) -> bool {
        let wait = self.wait_of_warp(state);
        wait.is_some_and(|site| site.suspension == Suspension::Barrier(BarrierOp::Sync))
    }

    /// An operation among the lanes of a warp.
    pub(crate) fn exchange(&self, site: u32) -> Option<SuspendPoint> {
        self.warps()?.native.records.suspend_point(site)
    }

    /// Whether warps in a chain may go on to the next one before they end.
    pub(crate) fn takes_turns(&self) -> bool {
        self.warps().is_some_and(|warps| warps.takes_turns)
    }

    /// An access that lanes of a warp make one by one.
    pub(crate) fn lane_access(&self, access: u32) -> Option<LaneAccess> {
        self.warps()?.native.records.access(access)
    }

    /// Accesses of warps that are checked together.
    pub(crate) fn access_group(&self, number: u32) -> Option<&AccessGroup> {
        self.warps()?.native.records.group(number)
    }

    /// The size of a warp's frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        match &self.code {
            KernelCode::Threads(plan) => plan.layout.bytes,
            KernelCode::Warps(warps) => warps.plan.resumable.layout.bytes,
        }
    }
}
