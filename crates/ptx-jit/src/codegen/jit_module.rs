//! Cranelift's module for code that is run at once: its settings, its memory, and what its code may call.

use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{ModuleError, default_libcall_names};

use super::arena::CodeMemory;
use super::array_functions::ArrayFunction;
use crate::abi::{Helper, HelperAddresses};

/// The way in which values are given registers of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegisterAllocation {
    /// With ranges that are split and moved until they fit: the better code. Its time grows faster
    /// than the code.
    Backtracking,
    /// In one pass, with more values in memory.
    SinglePass,
}

impl RegisterAllocation {
    /// The longest kernel, in instructions of PTX, whose values are given registers with care. Those
    /// that are longer are unrolled tiles, whose values are in memory most of the time in any case.
    const LONGEST: usize = 600;

    /// The way for a kernel of so many instructions.
    pub(super) fn of_length(instructions: usize) -> RegisterAllocation {
        match instructions <= RegisterAllocation::LONGEST {
            true => RegisterAllocation::Backtracking,
            false => RegisterAllocation::SinglePass,
        }
    }

    /// The name of the setting.
    fn name(self) -> &'static str {
        match self {
            RegisterAllocation::Backtracking => "backtracking",
            RegisterAllocation::SinglePass => "single_pass",
        }
    }
}

/// A module whose code can call the helpers, and functions at some more addresses.
pub(super) fn new_module(
    helpers: HelperAddresses,
    others: &[(String, usize)],
    allocation: RegisterAllocation,
) -> Result<JITModule, String> {
    let mut flags = settings::builder();
    // What is verified here is each step inside of Cranelift, beside what `ModuleBuilder` looks at.
    let verify = if cfg!(test) { "true" } else { "false" };
    let settings = [
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("opt_level", "speed"),
        ("regalloc_algorithm", allocation.name()),
        // In code for warps, it has the record of the warp.
        ("enable_pinned_reg", "true"),
        ("enable_verifier", verify),
    ];
    for (name, value) in settings {
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
