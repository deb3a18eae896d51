//! A loaded PTX module and its kernels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ptx::control_flow::{CallGraph, analyse_calls};
use ptx::{BarrierOp, Initial, Module, StateSpace, Suspension};
use thiserror::Error;

use super::execution::Execution;
use super::limits;
use super::state::{Entry, WarpEntry};
use crate::check::LineMap;
use crate::codegen::{self, Frames, LaneAccess, NativeKernel, Places, Site};
use crate::ir::{self, KernelSummary, WarpShape};
use crate::stack;

/// One PTX module: parsed and validated. Kernels are compiled at their first launch.
pub(crate) struct Program {
    kernels: Vec<Kernel>,
    globals: Vec<GlobalVariable>,
    version: (u32, u32),
    target: u32,
}

impl Program {
    /// Parses and validates a module.
    ///
    /// # Errors
    ///
    /// A module that is malformed, or uses what is not supported, with the position of the first
    /// such place.
    pub(crate) fn load(source: &str) -> Result<Program, ptx::Error> {
        let module = ptx::parse(source)?;
        let calls = analyse_calls(&module)?;
        let globals = globals(&module);
        let (version, target) = (module.version, module.target);
        let defined = |&index: &usize| {
            module.functions[index].is_kernel && module.functions[index].is_defined
        };
        let summaries: Vec<KernelSummary> = (0..module.functions.len())
            .filter(defined)
            .map(|index| ir::summarize(&module, &calls, index))
            .collect();
        limits::check(&module, &summaries)?;
        let lines = Arc::new(LineMap::new(source));
        let source = Arc::new(Source { lines, module, calls });
        let kernels = summaries.into_iter().map(|summary| Kernel::new(&source, summary)).collect();
        Ok(Program { kernels, globals, version, target })
    }

    /// The version of the PTX language that the text is written in.
    pub(crate) fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The architecture that the text is for, as 75 for sm_75.
    pub(crate) fn target(&self) -> u32 {
        self.target
    }

    /// The names of the module's kernels, in the order of the text.
    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(Kernel::name)
    }

    /// The kernel of that name.
    pub(crate) fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name() == name)
    }

    /// The module's variables in global and constant memory, for which the caller provides memory.
    pub(crate) fn globals(&self) -> &[GlobalVariable] {
        &self.globals
    }
}

/// What kernels are compiled from.
struct Source {
    lines: Arc<LineMap>,
    module: Module,
    calls: CallGraph,
}

/// A kernel of a module.
pub(crate) struct Kernel {
    source: Arc<Source>,
    summary: KernelSummary,
    parameters: Vec<Parameter>,
    compiled: Mutex<HashMap<(CheckLevel, Execution), Arc<CompiledKernel>>>,
}

impl Kernel {
    fn new(source: &Arc<Source>, summary: KernelSummary) -> Kernel {
        let parameters = summary.parameters.iter();
        let parameters =
            parameters.map(|&(offset, bytes, align)| Parameter { offset, bytes, align });
        Kernel {
            source: Arc::clone(source),
            parameters: parameters.collect(),
            summary,
            compiled: Mutex::default(),
        }
    }

    /// The name in the PTX text.
    pub(crate) fn name(&self) -> &str {
        &self.summary.name
    }

    /// The parameters, in order.
    pub(crate) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The size of the parameters.
    pub(crate) fn parameter_bytes(&self) -> usize {
        self.parameters.last().map_or(0, |last| last.offset + last.bytes)
    }

    /// Where behind the parameters the kernel expects the address of the workspace that the blocks
    /// of a cooperative launch share, if it does: 8 bytes, zero in other launches.
    pub(crate) fn workspace(&self) -> Option<usize> {
        self.summary.workspace
    }

    /// Shared memory that the kernel declares with a size, per block.
    pub(crate) fn static_shared_bytes(&self) -> usize {
        self.summary.static_shared_bytes
    }

    /// Local memory, per thread.
    pub(crate) fn local_bytes(&self) -> usize {
        self.summary.local_bytes
    }

    /// The largest block that the kernel may be launched with.
    pub(crate) fn max_threads_per_block(&self) -> u32 {
        self.summary.max_threads.map_or(1024, |threads| threads.min(1024))
    }

    /// The kernel in the PTX text.
    pub(crate) fn function(&self) -> &ptx::Function {
        &self.source.module.functions[self.summary.function]
    }

    /// Translates the kernel to native code, or returns the translation made before.
    ///
    /// # Errors
    ///
    /// The host's processor is not supported, or the code generator refused the kernel.
    pub(crate) fn compile(
        &self,
        check: CheckLevel,
        execution: Execution,
    ) -> Result<Arc<CompiledKernel>, CompileError> {
        // Held while compiling, so that several launches at a time make one translation.
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compiled.get(&(check, execution)) {
            return Ok(Arc::clone(known));
        }
        let kernel = Arc::new(self.translate(check, execution)?);
        compiled.insert((check, execution), Arc::clone(&kernel));
        Ok(kernel)
    }

    fn translate(
        &self,
        check: CheckLevel,
        execution: Execution,
    ) -> Result<CompiledKernel, CompileError> {
        let error = |reason: String| CompileError { kernel: self.name().to_owned(), reason };
        let Source { lines, module, calls } = &*self.source;
        let kernel = ir::plan(module, calls, self.summary.function);
        let kernel =
            kernel.map_err(|ir::TooLarge| error("nested calls make it too large".to_owned()))?;
        let code = match execution {
            Execution::Warps(shape) if codegen::has_vectors() && ir::runs_in_lockstep(&kernel) => {
                translate_warps(&kernel, check, shape)
            }
            _ => None,
        };
        let code = match code {
            Some(warps) => Code::Warps(Box::new(warps)),
            None => {
                let plan = || Ok(ir::Resumable::new(&kernel.entry.function, std::iter::empty()));
                Code::Threads(codegen::contained(plan).map_err(error)?)
            }
        };
        let compiled = CompiledKernel {
            check,
            name: kernel.name.as_str().into(),
            lines: Arc::clone(lines),
            suspends: kernel.suspends,
            parameter_bytes: kernel.parameter_bytes,
            local_bytes: kernel.local_bytes,
            dynamic_shared_offset: kernel.dynamic_shared_offset,
            kernel,
            code,
            threads: OnceLock::new(),
        };
        if compiled.warps().is_none() {
            compiled.threads().map_err(|reason| error(reason.to_owned()))?;
        }
        Ok(compiled)
    }
}

/// A kernel's code for warps; nothing if the translator cannot make it, which is its fault, and not
/// one that a program need know of: its threads run one at a time instead.
fn translate_warps(kernel: &ir::Kernel, check: CheckLevel, shape: WarpShape) -> Option<Warps> {
    let translated = codegen::contained(|| {
        #[cfg(test)]
        super::tests::fallback::perhaps_panic();
        let plan = ir::Lockstep::new(kernel, shape);
        let (native, places) = codegen::compile_warps(kernel, check, &plan)?;
        let takes_turns = plan.takes_turns();
        Ok(Warps { native, places, plan, takes_turns })
    });
    let report = |reason: &String| {
        tracing::error!(
            kernel = kernel.name,
            reason,
            "the kernel cannot be translated for warps, so each thread runs by itself, slower: \
             this is a fault of the software driver, please report it"
        );
        // Tests and fuzzers are there to find such faults.
        #[cfg(any(test, fuzzing))]
        assert!(reason.contains("on purpose"), "kernel `{}`: {reason}", kernel.name);
    };
    translated.inspect_err(report).ok()
}

/// A kernel parameter's place in the parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// Bytes from the start of the buffer.
    pub(crate) offset: usize,
    /// The size in bytes.
    pub(crate) bytes: usize,
    /// The alignment in bytes.
    pub(crate) align: usize,
}

/// A module variable in global or constant memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GlobalVariable {
    /// The name in the PTX text.
    pub(crate) name: String,
    /// The size in bytes; 0 for a variable that is only declared (`.extern`).
    pub(crate) bytes: usize,
    /// The alignment in bytes.
    pub(crate) align: usize,
    pub(crate) initial: Initial,
    /// Addresses to be written over the initial contents once they are known.
    pub(crate) relocations: Vec<Relocation>,
    /// Where it lies.
    pub(crate) space: Space,
}

/// The place in an initial value that holds the address of a variable: 8 bytes, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relocation {
    /// Bytes from the start of the variable that holds the address.
    pub(crate) offset: usize,
    /// The index in [`Program::globals`] of the variable pointed to.
    pub(crate) target: usize,
    /// Added to the address.
    pub(crate) addend: i64,
}

/// The memory that a module variable lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Global memory.
    Global,
    /// Constant memory, which kernels only read.
    Const,
}

/// How much native code checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CheckLevel {
    /// Accesses inside the device's own address range pass; all others are asked for.
    Window,
    /// Every access is asked for.
    Full,
}

/// A kernel that could not be translated to native code.
#[derive(Clone, Debug, Error)]
#[error("kernel `{kernel}` could not be compiled for this host: {reason}")]
pub(crate) struct CompileError {
    /// The kernel's name.
    pub(crate) kernel: String,
    /// What the code generator said.
    pub(crate) reason: String,
}

/// A kernel as native code. Shared between the threads that run its blocks.
pub(crate) struct CompiledKernel {
    pub(super) check: CheckLevel,
    pub(super) name: Arc<str>,
    /// Where its instructions come from.
    lines: Arc<LineMap>,
    pub(super) suspends: bool,
    pub(super) parameter_bytes: usize,
    pub(super) local_bytes: usize,
    pub(super) dynamic_shared_offset: usize,
    kernel: ir::Kernel,
    code: Code,
    /// The code for one thread at a time; beside that for warps, made when first needed.
    threads: OnceLock<Result<NativeKernel<Entry>, String>>,
}

/// The way in which a kernel runs.
enum Code {
    Threads(ir::Resumable),
    Warps(Box<Warps>),
}

/// A kernel's code for warps in lockstep.
pub(super) struct Warps {
    pub(super) native: NativeKernel<WarpEntry>,
    places: Places,
    plan: ir::Lockstep,
    takes_turns: bool,
}

impl Warps {
    /// The state of a warp whose threads have all come to a state.
    pub(super) fn state_of(&self, thread_state: u32) -> u32 {
        self.places.points[thread_state as usize - 1].warp_state
    }
}

impl CompiledKernel {
    /// Whether threads may wait in loops for what others do, of other blocks too.
    pub(crate) fn spins(&self) -> bool {
        self.kernel.spins
    }

    /// The name in the PTX text.
    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Where its instructions come from.
    pub(crate) fn lines(&self) -> Arc<LineMap> {
        Arc::clone(&self.lines)
    }

    /// The code for warps in lockstep, if the kernel runs so.
    pub(super) fn warps(&self) -> Option<&Warps> {
        match &self.code {
            Code::Threads(_) => None,
            Code::Warps(warps) => Some(warps),
        }
    }

    /// The code for one thread at a time.
    pub(super) fn threads(&self) -> Result<&NativeKernel<Entry>, &str> {
        let compile = || match &self.code {
            Code::Threads(plan) => codegen::compile_threads(&self.kernel, self.check, plan, None),
            Code::Warps(warps) => {
                let points = Some(&warps.places.points[..]);
                codegen::compile_threads(&self.kernel, self.check, &warps.plan.resumable, points)
            }
        };
        // A warp in the middle of its kernel may ask for it, on a stack that is not for compilers.
        let compile = || match stack::with_room(compile) {
            Ok(compiled) => compiled,
            Err(error) => Err(format!("no memory for a stack: {error}")),
        };
        self.threads.get_or_init(compile).as_ref().map_err(String::as_str)
    }

    /// What native code takes of the stack, nested calls of recursive functions not counted.
    pub(super) fn frame_room(&self) -> usize {
        self.frames().map(|frames| frames.all).sum()
    }

    /// The largest frame of a function that is called.
    pub(super) fn largest_callee(&self) -> usize {
        self.frames().map(|frames| frames.largest_callee).max().unwrap_or(0)
    }

    /// Those of the translations that there are by now.
    fn frames(&self) -> impl Iterator<Item = Frames> {
        let warps = self.warps().map(|warps| warps.native.frames);
        let threads = self.threads.get().and_then(|native| native.as_ref().ok());
        warps.into_iter().chain(threads.map(|native| native.frames))
    }

    /// Where a thread waits that was suspended.
    pub(super) fn thread_site(&self, site: u32) -> Option<Site> {
        self.threads().ok()?.sites.get(site as usize).copied()
    }

    /// Where a warp waits that is to go on in a state; nothing if it does not wait.
    pub(super) fn wait_of_warp(&self, state: u32) -> Option<Site> {
        let before = (state as usize).checked_sub(1)?;
        self.warps()?.places.waits.get(before).copied()?
    }

    /// Whether a warp that is to go on in a state waits at the block's barrier.
    pub(super) fn is_at_barrier(&self, state: u32) -> bool {
        let wait = self.wait_of_warp(state);
        wait.is_some_and(|site| site.suspension == Suspension::Barrier(BarrierOp::Sync))
    }

    /// An operation among the lanes of a warp.
    pub(super) fn exchange(&self, site: u32) -> Option<Site> {
        self.warps()?.native.sites.get(site as usize).copied()
    }

    /// Whether warps in a chain may go on to the next one before they end.
    pub(super) fn takes_turns(&self) -> bool {
        self.warps().is_some_and(|warps| warps.takes_turns)
    }

    /// An access that lanes of a warp make one by one.
    pub(super) fn lane_access(&self, access: u32) -> Option<LaneAccess> {
        self.warps()?.native.accesses.get(access as usize).copied()
    }

    /// The size of a warp's frame.
    pub(super) fn frame_bytes(&self) -> usize {
        match &self.code {
            Code::Threads(plan) => plan.layout.bytes,
            Code::Warps(warps) => warps.plan.resumable.layout.bytes,
        }
    }
}

fn globals(module: &Module) -> Vec<GlobalVariable> {
    let listed = |index: usize| {
        let before = module.variables[..index].iter();
        before.filter(|variable| variable.space != StateSpace::Shared).count()
    };
    let variables = module.variables.iter().filter(|variable| variable.space != StateSpace::Shared);
    variables
        .map(|variable| GlobalVariable {
            name: variable.name.clone(),
            bytes: variable.bytes,
            align: variable.align,
            initial: variable.initial.clone(),
            relocations: variable
                .pointers
                .iter()
                .map(|pointer| Relocation {
                    offset: pointer.offset,
                    target: listed(pointer.target),
                    addend: pointer.addend,
                })
                .collect(),
            space: match variable.space {
                StateSpace::Const => Space::Const,
                _ => Space::Global,
            },
        })
        .collect()
}
