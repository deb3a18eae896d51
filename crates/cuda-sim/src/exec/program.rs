//! A loaded PTX module and its kernels.

use std::sync::Arc;

use thiserror::Error;

use crate::ptx;

/// One PTX module: parsed and validated. Kernels are compiled at their first launch.
pub(crate) struct Program {
    kernels: Vec<Kernel>,
    globals: Vec<GlobalVariable>,
}

impl Program {
    /// Parses and validates a module.
    ///
    /// # Errors
    ///
    /// A module that is malformed, or uses what is not supported, with the position of the first such place.
    pub(crate) fn load(source: &str) -> Result<Program, ptx::Error> {
        Err(ptx::Error {
            line: 1,
            column: 1,
            text: source.lines().next().unwrap_or_default().to_owned(),
            kind: ptx::ErrorKind::UnsupportedInstruction,
        })
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

/// A kernel of a module.
pub(crate) struct Kernel {
    name: String,
    parameters: Vec<Parameter>,
}

impl Kernel {
    /// The name in the PTX text.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The parameters, in order.
    pub(crate) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The size of the parameter buffer that a launch provides.
    pub(crate) fn parameter_bytes(&self) -> usize {
        self.parameters.last().map_or(0, |last| last.offset + last.bytes)
    }

    /// Shared memory that the kernel declares with a size, per block.
    pub(crate) fn static_shared_bytes(&self) -> usize {
        0
    }

    /// Local memory, per thread.
    pub(crate) fn local_bytes(&self) -> usize {
        0
    }

    /// The largest block that the kernel may be launched with.
    pub(crate) fn max_threads_per_block(&self) -> u32 {
        1024
    }

    /// Translates the kernel to native code, or returns the translation made before for that level.
    ///
    /// # Errors
    ///
    /// The host's processor is not supported, or the code generator refused the kernel.
    pub(crate) fn compile(&self, _check: CheckLevel) -> Result<Arc<CompiledKernel>, CompileError> {
        Err(CompileError { kernel: self.name.clone(), reason: "not available yet".to_owned() })
    }
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
    /// The initial contents: `bytes` long.
    pub(crate) init: Vec<u8>,
    /// Addresses to be written into the initial contents once they are known.
    pub(crate) relocations: Vec<Relocation>,
    /// Where it lies.
    pub(crate) space: Space,
}

/// The place in an initialiser that holds the address of a variable: 8 bytes, little-endian.
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
pub(crate) struct CompiledKernel {}
