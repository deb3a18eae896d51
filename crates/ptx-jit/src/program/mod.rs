//! A loaded PTX module and its kernels.

#[cfg(test)]
pub(crate) mod broken_translator;
mod compiled;
mod execution;
mod globals;
mod kernel;
mod limits;

use std::sync::Arc;

use ptx::LineMap;
use ptx::control_flow::CallGraph;

use self::globals::globals;
use self::kernel::ParsedProgram;
use crate::abi::HelperAddresses;
use crate::ir::{self, KernelSummary};

pub use self::compiled::CompiledKernel;
pub use self::execution::{Execution, ExecutionMode};
pub use self::globals::{GlobalVariable, Relocation, Space};
pub use self::kernel::{CompileError, Kernel, Parameter};
pub use self::limits::MAX_STATIC_SHARED_BYTES;

/// One PTX module: parsed and validated. Kernels are compiled at their first launch.
pub struct Program {
    kernels: Vec<Kernel>,
    globals: Vec<GlobalVariable>,
    target: u32,
}

impl Program {
    /// Parses and validates a module, whose code will call helpers at those addresses.
    ///
    /// # Errors
    /// Those of [`Program::load`].
    pub(crate) fn link(source: &str, helpers: HelperAddresses) -> Result<Program, ptx::Error> {
        let module = ptx::parse(source)?;
        let calls = CallGraph::new(&module)?;
        let globals = globals(&module);
        let target = module.target;
        let defined = |&index: &usize| {
            module.functions[index].is_kernel && module.functions[index].is_defined
        };
        let summaries: Vec<KernelSummary> = (0..module.functions.len())
            .filter(defined)
            .map(|index| ir::summarize(&module, &calls, index))
            .collect();
        limits::check(&module, &summaries)?;
        let lines = Arc::new(LineMap::new(source));
        let source = Arc::new(ParsedProgram { lines, module, calls, helpers });
        let kernels = summaries.into_iter().map(|summary| Kernel::new(&source, summary)).collect();
        Ok(Program { kernels, globals, target })
    }

    /// The architecture that the text is for, as 75 for sm_75.
    pub fn target(&self) -> u32 {
        self.target
    }

    /// The names of the module's kernels, in the order of the text.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(Kernel::name)
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name() == name)
    }

    /// The module's variables in global and constant memory, for which the caller provides memory.
    pub fn globals(&self) -> &[GlobalVariable] {
        &self.globals
    }
}
