//! Kernels of a program, and their translation.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ptx::control_flow::{CallGraph, register_pressure};
use ptx::{LineMap, Module, StateSpace};
use thiserror::Error;

use super::compiled::{CompiledKernel, KernelCode, Warps};
use super::execution::Execution;
use crate::abi::{CheckLevel, HelperAddresses};
use crate::codegen::{self, Target};
use crate::ir::{self, KernelSummary, WarpShape};

/// The text of a program after it was read: all that its kernels are compiled from.
pub(super) struct ParsedProgram {
    pub(super) lines: Arc<LineMap>,
    pub(super) module: Module,
    pub(super) calls: CallGraph,
    pub(super) helpers: HelperAddresses,
}

/// A kernel of a module.
pub struct Kernel {
    source: Arc<ParsedProgram>,
    summary: KernelSummary,
    parameters: Vec<Parameter>,
    compiled: Mutex<HashMap<(CheckLevel, Execution), Arc<CompiledKernel>>>,
}

impl Kernel {
    pub(super) fn new(source: &Arc<ParsedProgram>, summary: KernelSummary) -> Kernel {
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
    pub fn name(&self) -> &str {
        &self.summary.name
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The size of the parameters.
    pub fn parameter_bytes(&self) -> usize {
        self.parameters.last().map_or(0, |last| last.offset + last.bytes)
    }

    /// The offset behind the parameters at which the kernel expects the address of the workspace
    /// that the blocks of a cooperative launch share, if it does: 8 bytes, zero in other launches.
    pub fn workspace(&self) -> Option<usize> {
        self.summary.workspace
    }

    /// Shared memory that the kernel declares with a size, per block.
    pub fn static_shared_bytes(&self) -> usize {
        self.summary.static_shared_bytes
    }

    /// Local memory, per thread.
    pub fn local_bytes(&self) -> usize {
        self.summary.local_bytes
    }

    /// The largest block that the kernel may be launched with.
    pub fn max_threads_per_block(&self) -> u32 {
        self.summary.max_threads.map_or(1024, |threads| threads.min(1024))
    }

    /// The architecture that the kernel's text is for, as 75 for sm_75.
    pub fn target(&self) -> u32 {
        self.source.module.target
    }

    /// The registers of 32 bits that a thread needs, by our own count: a compiler for a GPU may keep
    /// more values, or compute some again. As many more are added as it keeps for itself. Where the
    /// text sets a limit, it would spill the others.
    pub fn registers(&self) -> u32 {
        const KEPT: u32 = 4;
        const MOST: u32 = 255;
        let limit = self.function().max_registers.unwrap_or(MOST);
        (register_pressure(self.function()) + KEPT).min(limit).min(MOST)
    }

    /// The constant memory of the kernel's module.
    pub fn constant_bytes(&self) -> usize {
        let variables = self.source.module.variables.iter();
        let constants = variables.filter(|variable| variable.space == StateSpace::Const);
        constants
            .fold(0, |end, variable| end.next_multiple_of(variable.align.max(1)) + variable.bytes)
    }

    /// The kernel in the PTX text.
    pub fn function(&self) -> &ptx::Function {
        &self.source.module.functions[self.summary.function]
    }

    /// Translates the kernel to native code, or returns the translation made before.
    ///
    /// # Errors
    ///
    /// The host's processor is not supported, or the code generator refused the kernel.
    pub fn compile(
        &self,
        check: CheckLevel,
        execution: Execution,
    ) -> Result<Arc<CompiledKernel>, CompileError> {
        // Held while compiling, so that several launches at a time make one translation.
        let mut compiled = self.compiled.lock();
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
        let ParsedProgram { lines, module, calls, helpers } = &*self.source;
        let kernel = ir::plan(module, calls, self.summary.function);
        let kernel =
            kernel.map_err(|ir::TooLarge| error("nested calls make it too large".to_owned()))?;
        let target = Target { check, helpers: *helpers };
        let code = match execution {
            Execution::Warps(shape) if codegen::has_vectors() && ir::runs_in_lockstep(&kernel) => {
                translate_warps(&kernel, target, shape)
            }
            _ => None,
        };
        let code = match code {
            Some(warps) => KernelCode::Warps(Box::new(warps)),
            None => {
                let plan = || Ok(ir::Resumable::new(&kernel.entry.function, std::iter::empty()));
                KernelCode::Threads(codegen::contained(plan).map_err(error)?)
            }
        };
        let compiled = CompiledKernel {
            check,
            target,
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
fn translate_warps(kernel: &ir::KernelIr, target: Target, shape: WarpShape) -> Option<Warps> {
    let translated = codegen::contained(|| {
        #[cfg(test)]
        super::broken_translator::perhaps_panic();
        let plan = ir::Lockstep::new(kernel, shape);
        let (native, points) = codegen::compile_warps(kernel, target, &plan)?;
        let takes_turns = plan.takes_turns();
        Ok(Warps { native, points, plan, takes_turns })
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
pub struct Parameter {
    /// Bytes from the start of the buffer.
    pub offset: usize,
    /// The size in bytes.
    pub bytes: usize,
    /// The alignment in bytes.
    pub align: usize,
}

/// A kernel that could not be translated to native code.
#[derive(Clone, Debug, Error)]
#[error("kernel `{kernel}` could not be compiled for this host: {reason}")]
pub struct CompileError {
    /// The kernel's name.
    pub kernel: String,
    /// The code generator's message.
    pub reason: String,
}
