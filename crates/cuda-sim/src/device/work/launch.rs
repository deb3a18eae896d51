//! Kernel launches.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_sys::CUresult;
use ptx_jit::trap::Wild;
use ptx_jit::{CheckLevel, CompiledKernel, Execution, Fault, FaultKind, Launch};

use super::view::View;
use super::workspace::Workspace;
use crate::config::CheckKinds;
use crate::device::attributes::{MAX_BLOCK, MAX_GRID, MAX_THREADS_PER_BLOCK};
use crate::device::code::kernel_call::{ExecutionConfiguration, KernelCall, KernelParameters};
use crate::device::code::module::KernelFunction;
use crate::device::machine::SimulatedMachine;
use crate::device::streams::operation::StreamOperation;
use crate::device::streams::stream::StreamRef;
use crate::queue::{Failure, Job, StreamWork};
use crate::time::{self, Demand};
use cuda_check::{Label, Report};

/// Enqueues a launch, or adds it to the stream's capture.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if function and stream are of different contexts,
/// `CUDA_ERROR_INVALID_VALUE` for a shape that the device or this kernel cannot run, and those of
/// [`KernelFunction::code`].
pub(crate) fn launch(
    machine: &'static SimulatedMachine,
    function: &Arc<KernelFunction>,
    shape: ExecutionConfiguration,
    parameters: KernelParameters,
    stream: &StreamRef,
) -> Result<(), CUresult> {
    let context = stream.context();
    if function.module.context.id != context.id {
        return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    let call = KernelCall { function: Arc::clone(function), shape, parameters };
    call.check()?;
    context.output.write();
    if !stream.capture_operation(|| StreamOperation::Kernel(call.clone()))? {
        stream.queue().enqueue(StreamWork::Job(call.into_job(machine)?));
    }
    Ok(())
}

impl KernelCall {
    /// Checks grid, block and shared memory.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a shape that the device or this kernel cannot run.
    pub(crate) fn check(&self) -> Result<(), CUresult> {
        check_shape(&self.function, self.shape)
    }

    /// The launch as work.
    ///
    /// # Errors
    /// Those of [`KernelFunction::code`].
    pub(crate) fn into_job(
        self,
        machine: &'static SimulatedMachine,
    ) -> Result<Arc<dyn Job>, CUresult> {
        let KernelCall { function, shape, mut parameters } = self;
        let level = match in_kernels(machine.config.check) {
            true => CheckLevel::Full,
            false => CheckLevel::Window,
        };
        let execution = Execution::of(machine.config.execution, level, shape.block);
        let code = function.code(level, execution)?;
        let view = View::new(machine, Arc::clone(&function.module.context), level);
        let workspace = Workspace::new(&function, shape, &mut parameters)?;
        let launch =
            KernelLaunch { function, code, shape, parameters, _workspace: workspace, view };
        Ok(Arc::new(launch))
    }
}

struct KernelLaunch {
    function: Arc<KernelFunction>,
    code: Arc<CompiledKernel>,
    shape: ExecutionConfiguration,
    parameters: KernelParameters,
    _workspace: Option<Workspace>,
    view: View,
}

impl Job for KernelLaunch {
    fn pieces(&self) -> u64 {
        if self.runs_as_one() { 1 } else { self.shape.blocks() }
    }

    fn demand(&self) -> Demand {
        let ExecutionConfiguration { grid, block, .. } = self.shape;
        let threads: u64 = grid.iter().chain(&block).map(|&extent| u64::from(extent)).product();
        let declared = time::declared(&self.function.name, grid, block, &self.parameters);
        let work = declared.unwrap_or_else(|| self.function.work.times(threads));
        Demand::Kernel { device: self.function.module.context.device.id.ordinal as usize, work }
    }

    fn is_heavy(&self) -> bool {
        /// To run so many threads of a short kernel takes ten times what it takes to wake a worker.
        const HEAVY: u64 = 1 << 14;
        let threads: u32 = self.shape.block.iter().product();
        self.shape.blocks().saturating_mul(u64::from(threads)) >= HEAVY
    }

    fn label(&self) -> Label {
        let ExecutionConfiguration { grid, block, .. } = self.shape;
        Label::Launch { kernel: self.code.name(), grid, block, lines: self.code.lines() }
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        let health = &self.function.module.context.device.health;
        let launch = Launch {
            kernel: &self.code,
            grid: self.shape.grid,
            block: self.shape.block,
            dynamic_shared_bytes: self.shape.dynamic_shared,
            parameters: &self.parameters,
            globals: self.function.module.variables(),
            memory: &self.view,
        };
        let blocks = if self.runs_as_one() { 0..self.shape.blocks() } else { pieces };
        match launch.run(blocks, health.interrupt()) {
            Err(fault) if fault.kind != FaultKind::Interrupted => Err(failure(&fault)),
            _ => Ok(()),
        }
    }
}

impl KernelLaunch {
    /// Whether one worker runs all blocks in turns: those that wait for each other, as they may in
    /// ordinary launches too, must not wait for a worker besides.
    fn runs_as_one(&self) -> bool {
        self.shape.cooperative || self.code.spins()
    }
}

fn failure(fault: &Fault) -> Failure {
    let code = match &fault.kind {
        FaultKind::IllegalAddress { .. } | FaultKind::Wild(_) => {
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        }
        FaultKind::MisalignedAddress { .. } => CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
        FaultKind::Refused(refusal) => {
            let report = refusal.downcast_ref::<Report>();
            let code = report.and_then(|report| report.kind.error());
            code.unwrap_or(CUresult::CUDA_ERROR_LAUNCH_FAILED)
        }
        FaultKind::Assert { .. } => CUresult::CUDA_ERROR_ASSERT,
        FaultKind::StackOverflow { .. } => CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
        FaultKind::NoStack(_) => CUresult::CUDA_ERROR_OUT_OF_MEMORY,
        FaultKind::Trap
        | FaultKind::BarrierDivergence { .. }
        | FaultKind::NotCompiled(_)
        | FaultKind::Interrupted => CUresult::CUDA_ERROR_LAUNCH_FAILED,
    };
    let text = match &fault.kind {
        FaultKind::Refused(refusal) => refusal.to_string(),
        // Where a kernel is left, nobody knows which thread of the block it was.
        FaultKind::Wild(Wild { address }) => format!(
            "kernel `{}`: illegal access at {address:#x}, where nothing is allocated \
             (CUDA_SIM_CHECK=1 tells block, thread and line)",
            fault.kernel
        ),
        _ => fault.to_string(),
    };
    Failure { code, text, is_told: matches!(fault.kind, FaultKind::Refused(_)) }
}

/// Whether a kernel's own code has a part in those checks.
fn in_kernels(kinds: CheckKinds) -> bool {
    kinds.has(
        CheckKinds::MEMORY
            | CheckKinds::INIT
            | CheckKinds::SHARED
            | CheckKinds::GLOBAL
            | CheckKinds::STREAMS,
    )
}

fn check_shape(function: &KernelFunction, shape: ExecutionConfiguration) -> Result<(), CUresult> {
    let within = |extents: [u32; 3], most: [u32; 3]| {
        extents.iter().zip(most).all(|(&extent, most)| (1..=most).contains(&extent))
    };
    let dynamic_shared = function.max_dynamic_shared.load(Ordering::Relaxed);
    if !within(shape.grid, MAX_GRID)
        || !within(shape.block, MAX_BLOCK)
        || shape.dynamic_shared > dynamic_shared
    {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let threads: u32 = shape.block.iter().product();
    // Above `.maxntid` the driver says the same as above the device's limit.
    if threads > MAX_THREADS_PER_BLOCK.min(function.max_threads) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}
