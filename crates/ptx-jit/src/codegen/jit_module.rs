//! Cranelift's module for code that is run at once: its settings, its memory, and what its code may call.

use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{ModuleError, default_libcall_names};

use super::arena::CodeMemory;
use super::array_functions::ArrayFunction;
use crate::abi::{Helper, HelperAddresses};
use crate::ir::KernelIr;

/// Cranelift's settings for the code of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeSettings {
    allocation: RegisterAllocation,
    optimization: Optimization,
}

/// The way in which values are given registers of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegisterAllocation {
    /// With ranges that are split and moved until they fit: the better code. Its time grows faster
    /// than the code.
    Backtracking,
    /// In one pass, with more values in memory.
    SinglePass,
}

/// The order of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Optimization {
    /// Equal values are computed once, outside of loops if possible, and each right before its first
    /// use.
    Speed,
    /// Instructions stay where they are.
    None,
}

impl CodeSettings {
    /// The settings for short functions.
    pub(super) const SHORT: CodeSettings = CodeSettings {
        allocation: RegisterAllocation::Backtracking,
        optimization: Optimization::Speed,
    };

    /// The settings for a kernel.
    pub(super) fn of_kernel(kernel: &KernelIr) -> CodeSettings {
        /// The longest kernel, in instructions of PTX, whose values are given registers with care.
        /// Those that are longer are unrolled tiles, whose values are in memory most of the time in
        /// any case.
        const MAX_WITH_CARE: usize = 600;
        /// The longest block, in instructions of PTX, that is optimised. Loads stay in their order
        /// while arithmetic moves to the first use of what it computes, which is the end of an
        /// unrolled loop: all that the loop loads would lie in memory until then.
        const MAX_MOVED: usize = 64;
        let callees = kernel.callees.iter().map(|(_, callee)| callee);
        let functions = || std::iter::once(&kernel.entry).chain(callees.clone());
        let instructions: usize = functions().map(|code| code.function.body.len()).sum();
        let blocks = functions().flat_map(|code| &code.graph.blocks);
        let longest = blocks.map(|block| block.instructions.len()).max().unwrap_or(0);
        CodeSettings {
            allocation: match instructions <= MAX_WITH_CARE {
                true => RegisterAllocation::Backtracking,
                false => RegisterAllocation::SinglePass,
            },
            optimization: match longest <= MAX_MOVED {
                true => Optimization::Speed,
                false => Optimization::None,
            },
        }
    }

    /// The values of `regalloc_algorithm` and `opt_level`.
    fn names(self) -> [&'static str; 2] {
        let allocation = match self.allocation {
            RegisterAllocation::Backtracking => "backtracking",
            RegisterAllocation::SinglePass => "single_pass",
        };
        let optimization = match self.optimization {
            Optimization::Speed => "speed",
            Optimization::None => "none",
        };
        [allocation, optimization]
    }
}

/// A module whose code can call the helpers, and functions at some more addresses.
pub(super) fn new_module(
    helpers: HelperAddresses,
    others: &[(String, usize)],
    settings: CodeSettings,
) -> Result<JITModule, String> {
    let [allocation, optimization] = settings.names();
    let mut flags = settings::builder();
    // What is verified here is each step inside of Cranelift, beside what `ModuleBuilder` looks at.
    let verify = if cfg!(test) { "true" } else { "false" };
    let values = [
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("opt_level", optimization),
        ("regalloc_algorithm", allocation),
        // In code for warps, it has the record of the warp.
        ("enable_pinned_reg", "true"),
        ("enable_verifier", verify),
    ];
    for (name, value) in values {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let isa = cranelift_native::builder().map_err(str::to_owned)?;
    let isa = isa.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())?;
    let memory = CodeMemory::new().map_err(|error| format!("no memory for code: {error}"))?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    for helper in Helper::ALL {
        builder.symbol(helper.name(), helpers(*helper));
    }
    builder.symbol("memcpy", libc::memcpy as *const u8);
    for (name, address) in others {
        builder.symbol(name.as_str(), *address as *const u8);
    }
    ArrayFunction::add_symbols(&mut builder);
    builder.memory_provider(Box::new(memory));
    let mut module = JITModule::new(builder);
    ArrayFunction::declare_all(&mut module)?;
    Ok(module)
}

/// The text of an error of Cranelift's.
pub(super) fn describe(error: ModuleError) -> String {
    // The plain text of a compilation error only says that there was one.
    match error {
        ModuleError::Compilation(inner) => format!("{inner:?}"),
        other => other.to_string(),
    }
}
